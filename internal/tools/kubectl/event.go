package kubectl

import (
	"cmp"
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/volsim/volsim/api"
	"github.com/volsim/volsim/internal/core/objects"
)

// About reports whether an Event is about the object.
func About(e *corev1.Event, ref api.Ref) bool {
	namespace, name := objects.SplitKey(ref.Key)
	return e.InvolvedObject.Kind == string(ref.Kind) && e.InvolvedObject.Name == name && e.InvolvedObject.Namespace == namespace
}

func lastSeen(e *corev1.Event) metav1.Time {
	if e.LastTimestamp.IsZero() {
		return metav1.Time{Time: e.EventTime.Time}
	}
	return e.LastTimestamp
}

// inOrderOfTime sorts Events by the time at which they were last seen.
func inOrderOfTime(objs []api.Object) []api.Object {
	sorted := slices.Clone(objs)
	slices.SortStableFunc(sorted, func(a, b api.Object) int {
		return lastSeen(a.(*corev1.Event)).Compare(lastSeen(b.(*corev1.Event)).Time)
	})
	return sorted
}

// firstObserved returns when an Event was first seen.
func firstObserved(e *corev1.Event) metav1.Time {
	if e.FirstTimestamp.IsZero() {
		return metav1.Time{Time: e.EventTime.Time}
	}
	return e.FirstTimestamp
}

// lastObserved returns when an Event was last seen, also one of a series.
func lastObserved(e *corev1.Event) metav1.Time {
	switch {
	case e.Series != nil:
		return metav1.Time{Time: e.Series.LastObservedTime.Time}
	case e.LastTimestamp.IsZero():
		return firstObserved(e)
	}
	return e.LastTimestamp
}

func eventSource(e *corev1.Event) string {
	component := cmp.Or(e.Source.Component, e.ReportingController)
	if host := cmp.Or(e.Source.Host, e.ReportingInstance); host != "" {
		component += ", " + host
	}
	return component
}
