package plain

import (
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"

	"github.com/volsim/volsim/api"
)

// writeSame is Write for the kinds that are written most often, if target is of the kind of obj. What target has already stays: a copy of its
// resource list would be the largest part of a claim.
func writeSame(obj, target api.Object) bool {
	switch obj := obj.(type) {
	case *corev1.Pod:
		if target, ok := target.(*corev1.Pod); ok {
			obj.DeepCopyInto(target)
			return true
		}
	case *corev1.PersistentVolume:
		if target, ok := target.(*corev1.PersistentVolume); ok {
			rest, spec := *obj, target.Spec
			keeps := [...]bool{hasList(spec.Capacity, &rest.Spec.Capacity), hasModes(spec.AccessModes, &rest.Spec.AccessModes), has(spec.VolumeMode, &rest.Spec.VolumeMode)}
			rest.DeepCopyInto(target)
			keep(keeps[0], &target.Spec.Capacity, spec.Capacity)
			keep(keeps[1], &target.Spec.AccessModes, spec.AccessModes)
			keep(keeps[2], &target.Spec.VolumeMode, spec.VolumeMode)
			return true
		}
	case *corev1.PersistentVolumeClaim:
		if target, ok := target.(*corev1.PersistentVolumeClaim); ok {
			rest, spec := *obj, target.Spec
			keeps := [...]bool{hasList(spec.Resources.Requests, &rest.Spec.Resources.Requests), hasModes(spec.AccessModes, &rest.Spec.AccessModes),
				has(spec.VolumeMode, &rest.Spec.VolumeMode), has(spec.StorageClassName, &rest.Spec.StorageClassName)}
			rest.DeepCopyInto(target)
			keep(keeps[0], &target.Spec.Resources.Requests, spec.Resources.Requests)
			keep(keeps[1], &target.Spec.AccessModes, spec.AccessModes)
			keep(keeps[2], &target.Spec.VolumeMode, spec.VolumeMode)
			keep(keeps[3], &target.Spec.StorageClassName, spec.StorageClassName)
			return true
		}
	}
	return false
}

// These report whether the target has a field already, in memory of its own, and take it off what is copied then.

func hasList(own corev1.ResourceList, field *corev1.ResourceList) bool {
	return len(own) > 0 && maps.Equal(own, *field) && take(field)
}

func hasModes(own []corev1.PersistentVolumeAccessMode, field *[]corev1.PersistentVolumeAccessMode) bool {
	return len(own) > 0 && slices.Equal(own, *field) && take(field)
}

func has[T comparable](own *T, field **T) bool {
	return own != nil && *field != nil && *own == **field && take(field)
}

func take[T any](field *T) bool {
	var none T
	*field = none
	return true
}

func keep[T any](keeps bool, field *T, own T) {
	if keeps {
		*field = own
	}
}
