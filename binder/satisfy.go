package binder

import (
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"

	"github.com/volsim/volsim/internal/core/objects"
)

// Satisfies reports whether the volume can serve a claim that names it in volumeName (MATCH-030). If it cannot, why is
// the text that ends the VolumeMismatch event. Phase, claimRef, selector and node affinity are not looked at.
func Satisfies(claim *corev1.PersistentVolumeClaim, pv *corev1.PersistentVolume) (ok bool, why string) {
	// MATCH-030: six tests in this order.
	capacity, request := capacityOf(pv), requestOf(claim)
	switch {
	case pv.DeletionTimestamp != nil:
		return false, fmt.Sprintf("the volume is marked for deletion %q", pv.Name)
	case capacity.Value() < request.Value(): // whole bytes here, unlike MATCH-011
		return false, "requested PV is too small"
	case ClassOfVolume(pv) != ClassOf(claim):
		return false, "storageClassName does not match"
	case objects.ValueOf(pv.Spec.VolumeAttributesClassName) != objects.ValueOf(claim.Spec.VolumeAttributesClassName):
		return false, "volumeAttributesClassName does not match"
	case volumeModeMismatch(claim, pv):
		return false, "incompatible volumeMode"
	case !accessModesMatch(claim, pv):
		return false, "incompatible accessMode"
	}
	return true, ""
}

// volumeModeMismatch reports whether claim and volume differ in volumeMode; nil is Filesystem.
func volumeModeMismatch(claim *corev1.PersistentVolumeClaim, pv *corev1.PersistentVolume) bool {
	return objects.VolumeModeOf(claim.Spec.VolumeMode) != objects.VolumeModeOf(pv.Spec.VolumeMode)
}

// accessModesMatch reports whether the volume has every access mode of the claim. Modes are compared as they are
// spelled, unknown ones too.
func accessModesMatch(claim *corev1.PersistentVolumeClaim, pv *corev1.PersistentVolume) bool {
	for _, mode := range claim.Spec.AccessModes {
		if !slices.Contains(pv.Spec.AccessModes, mode) {
			return false
		}
	}
	return true
}
