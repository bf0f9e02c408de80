package store

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

var eventStrategy = strategy[*coreEvent]{
	shallow: func(event *coreEvent) *coreEvent {
		c := *event
		return &c
	},
	validateCreate: validateEvent,
	validateUpdate: func(event, _ *coreEvent) field.ErrorList { return validateEvent(event) },
	equal: func(a, b *coreEvent) bool {
		// What differs between two counts of the same event, ahead of the walk over everything.
		if a.Count != b.Count || a.Message != b.Message {
			return false
		}
		x, y := *a, *b
		x.TypeMeta, y.TypeMeta = metav1.TypeMeta{}, metav1.TypeMeta{}
		x.ObjectMeta, y.ObjectMeta = metav1.ObjectMeta{}, metav1.ObjectMeta{}
		return storedEqual(&x, &y)
	},
}

// validateEvent sees to it that an event is kept where its object is: in the object's namespace, or in "default" when the object
// has none.
func validateEvent(event *coreEvent) field.ErrorList {
	namespace := event.InvolvedObject.Namespace
	if namespace == event.Namespace || namespace == "" && event.Namespace == metav1.NamespaceDefault {
		return nil
	}
	return field.ErrorList{field.Invalid(field.NewPath("involvedObject", "namespace"), namespace, "does not match event.namespace")}
}
