package plain

import (
	"maps"

	corev1 "k8s.io/api/core/v1"

	"github.com/volsim/volsim/api"
)

// writeSame is Write for the kinds that are written most often, if target is of the kind of obj. A resource list that target has already
// stays: a copy of it would be the largest part of a claim.
func writeSame(obj, target api.Object) bool {
	switch obj := obj.(type) {
	case *corev1.Pod:
		if target, ok := target.(*corev1.Pod); ok {
			obj.DeepCopyInto(target)
			return true
		}
	case *corev1.PersistentVolume:
		if target, ok := target.(*corev1.PersistentVolume); ok {
			rest, capacity := *obj, target.Spec.Capacity
			has := len(capacity) > 0 && maps.Equal(capacity, obj.Spec.Capacity)
			if has {
				rest.Spec.Capacity = nil
			}
			rest.DeepCopyInto(target)
			if has {
				target.Spec.Capacity = capacity
			}
			return true
		}
	case *corev1.PersistentVolumeClaim:
		if target, ok := target.(*corev1.PersistentVolumeClaim); ok {
			rest, requests := *obj, target.Spec.Resources.Requests
			has := len(requests) > 0 && maps.Equal(requests, obj.Spec.Resources.Requests)
			if has {
				rest.Spec.Resources.Requests = nil
			}
			rest.DeepCopyInto(target)
			if has {
				target.Spec.Resources.Requests = requests
			}
			return true
		}
	}
	return false
}
