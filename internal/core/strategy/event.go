package strategy

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// Event is the strategy for Events.
var Event = Of[*coreEvent]{
	Shallow: func(event *coreEvent) *coreEvent {
		c := *event
		return &c
	},
	ValidateCreate: validateEvent,
	ValidateUpdate: func(event, _ *coreEvent) field.ErrorList { return validateEvent(event) },
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

// validateEvent requires that an event is in the namespace of its object, or in "default" if the object has none.
func validateEvent(event *coreEvent) field.ErrorList {
	namespace := event.InvolvedObject.Namespace
	if namespace == event.Namespace || namespace == "" && event.Namespace == metav1.NamespaceDefault {
		return nil
	}
	return field.ErrorList{field.Invalid(field.NewPath("involvedObject", "namespace"), namespace, "does not match event.namespace")}
}
