package strategy

import (
	"fmt"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// Event is the strategy for Events.
var Event = Of[*coreEvent]{
	Shallow: func(event *coreEvent) *coreEvent {
		c := *event
		return &c
	},
	ValidateCreate: validateEvent,
	ValidateUpdate: validateEventUpdate,
	// A stored Event belongs to both groups.
	Encode: func(event *coreEvent) { event.TypeMeta = metav1.TypeMeta{} },
	Equal: func(a, b *coreEvent) bool {
		// These fields differ between two counts of the same event, so they are compared before all others.
		if a.Count != b.Count || a.Message != b.Message {
			return false
		}
		x, y := *a, *b
		x.TypeMeta, y.TypeMeta = metav1.TypeMeta{}, metav1.TypeMeta{}
		x.ObjectMeta, y.ObjectMeta = metav1.ObjectMeta{}, metav1.ObjectMeta{}
		return storedEqual(&x, &y)
	},
}

// validateEvent validates an Event (API-545). One whose apiVersion is that of the group events.k8s.io is validated as a new Event of that group.
func validateEvent(event *coreEvent) field.ErrorList {
	errs := validateAnyEvent(event)
	if !OfEventsGroup(event) {
		return errs
	}
	errs = append(errs, ValidateGenerateName(&event.ObjectMeta)...)
	errs = append(errs, unqualifiedFinalizers(event)...)
	errs = append(errs, validateSeries(event)...)
	unset := func(set bool, name string) {
		if set {
			errs = append(errs, field.Invalid(field.NewPath(name), "", "needs to be unset"))
		}
	}
	// API-545: in this group, the fields of the core group are not used.
	if event.EventTime.IsZero() {
		errs = append(errs, field.Required(field.NewPath("eventTime"), ""))
	}
	if event.Type != corev1.EventTypeNormal && event.Type != corev1.EventTypeWarning {
		errs = append(errs, field.Invalid(field.NewPath("type"), "", "has invalid value: "+event.Type))
	}
	unset(!event.FirstTimestamp.IsZero(), "firstTimestamp")
	unset(!event.LastTimestamp.IsZero(), "lastTimestamp")
	unset(event.Count != 0, "count")
	unset(event.Source.Component != "" || event.Source.Host != "", "source")
	return errs
}

// unqualifiedFinalizers reports finalizers without a domain, which only Events of the core group may have.
func unqualifiedFinalizers(event *coreEvent) field.ErrorList {
	var errs field.ErrorList
	for i, name := range event.Finalizers {
		if !strings.Contains(name, "/") && !slices.Contains(StandardFinalizers, name) {
			errs = append(errs, field.Invalid(MetaPath("finalizers").Index(i), name, NotStandard))
		}
	}
	return errs
}

// OfEventsGroup reports whether an Event was sent in the group events.k8s.io.
func OfEventsGroup(event *coreEvent) bool {
	return event.APIVersion == eventsv1.SchemeGroupVersion.String()
}

// validateAnyEvent validates what both groups require.
func validateAnyEvent(event *coreEvent) field.ErrorList {
	var errs field.ErrorList
	namespace := event.InvolvedObject.Namespace
	elsewhere := field.Invalid(field.NewPath("involvedObject", "namespace"), namespace, "does not match event.namespace")
	if event.EventTime.IsZero() {
		// API-545: an Event is in the namespace of its object, or in "default" if the object has none.
		if namespace != event.Namespace && (namespace != "" || event.Namespace != metav1.NamespaceDefault) {
			errs = append(errs, elsewhere)
		}
		return errs
	}
	// API-545: one with a time says which controller did what and why. Its object may be in another namespace.
	if namespace == "" && event.Namespace != metav1.NamespaceDefault && event.Namespace != metav1.NamespaceSystem {
		errs = append(errs, elsewhere)
	}
	controller := field.NewPath("reportingComponent")
	if OfEventsGroup(event) {
		controller = field.NewPath("reportingController")
	}
	if event.ReportingController == "" {
		errs = append(errs, field.Required(controller, ""))
	}
	errs = AppendInvalid(errs, controller, event.ReportingController, validation.IsQualifiedName(event.ReportingController))
	for _, text := range []struct {
		name, value string
		limit       int
		optional    bool
	}{
		{"reportingInstance", event.ReportingInstance, 128, false}, {"action", event.Action, 128, false}, {"reason", event.Reason, 128, false},
		{"message", event.Message, 1024, true},
	} {
		if text.value == "" && !text.optional {
			errs = append(errs, field.Required(field.NewPath(text.name), ""))
		}
		if len(text.value) > text.limit {
			errs = append(errs, field.Invalid(field.NewPath(text.name), "", fmt.Sprintf("can have at most %d characters", text.limit)))
		}
	}
	return errs
}

// validateSeries validates how often an Event of the group events.k8s.io was seen.
func validateSeries(event *coreEvent) field.ErrorList {
	var errs field.ErrorList
	if event.Series == nil {
		return nil
	}
	if event.Series.Count < 2 {
		errs = append(errs, field.Invalid(field.NewPath("series.count"), "", "should be at least 2"))
	}
	if event.Series.LastObservedTime.IsZero() {
		errs = append(errs, field.Required(field.NewPath("series.lastObservedTime"), ""))
	}
	return errs
}

// validateEventUpdate validates an update of an Event (API-545).
func validateEventUpdate(event, old *coreEvent) field.ErrorList {
	errs := validateAnyEvent(event)
	if !OfEventsGroup(event) {
		return errs
	}
	errs = append(errs, unqualifiedFinalizers(event)...)
	if !storedEqual(&event.Series, &old.Series) {
		errs = append(errs, validateSeries(event)...)
	}
	// API-545: in the group events.k8s.io, nothing but the series changes.
	same := func(equal bool, name string, value any) {
		if !equal {
			errs = append(errs, field.Invalid(field.NewPath(name), internalForm{value}, Immutable))
		}
	}
	same(event.InvolvedObject == old.InvolvedObject, "involvedObject", event.InvolvedObject)
	same(event.Reason == old.Reason, "reason", event.Reason)
	same(event.Message == old.Message, "message", event.Message)
	same(event.Source == old.Source, "source", event.Source)
	same(event.FirstTimestamp.Equal(&old.FirstTimestamp), "firstTimestamp", event.FirstTimestamp)
	same(event.LastTimestamp.Equal(&old.LastTimestamp), "lastTimestamp", event.LastTimestamp)
	same(event.Count == old.Count, "count", event.Count)
	same(event.Reason == old.Reason, "reason", event.Reason)
	same(event.Type == old.Type, "type", event.Type)
	same(event.EventTime.Truncate(time.Microsecond).Equal(old.EventTime.Truncate(time.Microsecond)), "eventTime", event.EventTime)
	same(event.Action == old.Action, "action", event.Action)
	same(storedEqual(&event.Related, &old.Related), "related", event.Related)
	same(event.ReportingController == old.ReportingController, "reportingController", event.ReportingController)
	same(event.ReportingInstance == old.ReportingInstance, "reportingInstance", event.ReportingInstance)
	return errs
}
