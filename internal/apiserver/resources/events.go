package resources

import (
	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/volsim/volsim/api"
)

// An Event of the group events.k8s.io is an Event of the core group under other names of its fields.

// newEvents returns the resource of the group events.k8s.io. Its objects are those of the core group.
func newEvents(r *Resource) *Resource {
	r.Kind, r.Simulated = api.Event, true
	r.Empty = func() api.Object { return NewObject(CoreGroup.WithKind("Event")) }
	r.Stored = func(obj api.Object) (api.Object, error) { return coreEvent(obj.(*eventsv1.Event)), nil }
	r.Presented = func(obj api.Object) (api.Object, error) { return namedEvent(obj.(*corev1.Event)), nil }
	r.Selectable = func(obj api.Object) fields.Set {
		core := eventFields(obj)
		set := fields.Set{"reason": core["reason"], "type": core["type"], "reportingController": core["reportingComponent"]}
		for _, name := range []string{"kind", "namespace", "name", "uid", "apiVersion", "resourceVersion", "fieldPath"} {
			set["regarding."+name] = core["involvedObject."+name]
		}
		return set
	}
	return r
}

func coreEvent(e *eventsv1.Event) *corev1.Event {
	out := &corev1.Event{
		TypeMeta:   metav1.TypeMeta{APIVersion: eventsv1.SchemeGroupVersion.String()}, // validation depends on it (API-545)
		ObjectMeta: e.ObjectMeta, InvolvedObject: e.Regarding, Related: e.Related, Reason: e.Reason, Message: e.Note, Type: e.Type,
		Action: e.Action, EventTime: e.EventTime, ReportingController: e.ReportingController, ReportingInstance: e.ReportingInstance,
		Source: e.DeprecatedSource, FirstTimestamp: e.DeprecatedFirstTimestamp, LastTimestamp: e.DeprecatedLastTimestamp, Count: e.DeprecatedCount,
	}
	if e.Series != nil {
		out.Series = &corev1.EventSeries{Count: e.Series.Count, LastObservedTime: e.Series.LastObservedTime}
	}
	return out
}

func namedEvent(e *corev1.Event) *eventsv1.Event {
	out := &eventsv1.Event{
		ObjectMeta: e.ObjectMeta, Regarding: e.InvolvedObject, Related: e.Related, Reason: e.Reason, Note: e.Message, Type: e.Type,
		Action: e.Action, EventTime: e.EventTime, ReportingController: e.ReportingController, ReportingInstance: e.ReportingInstance,
		DeprecatedSource: e.Source, DeprecatedFirstTimestamp: e.FirstTimestamp, DeprecatedLastTimestamp: e.LastTimestamp, DeprecatedCount: e.Count,
	}
	if e.Series != nil {
		out.Series = &eventsv1.EventSeries{Count: e.Series.Count, LastObservedTime: e.Series.LastObservedTime}
	}
	return out
}

var eventsKind = schema.GroupVersionKind{Group: eventsv1.GroupName, Version: "v1", Kind: "Event"}
