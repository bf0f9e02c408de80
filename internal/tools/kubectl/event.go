package kubectl

import (
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

func eventSource(e *corev1.Event) string {
	component := e.Source.Component
	if component == "" {
		component = e.ReportingController
	}
	if e.Source.Host != "" {
		component += ", " + e.Source.Host
	}
	return component
}
