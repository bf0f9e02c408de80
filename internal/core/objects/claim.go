package objects

import (
	corev1 "k8s.io/api/core/v1"
)

// ClassOf is the name of the claim's storage class, "" for none (BIND-002).
func ClassOf(claim *corev1.PersistentVolumeClaim) string {
	// BIND-002: the legacy annotation wins over the field.
	if class, ok := claim.Annotations[AnnStorageClass]; ok {
		return class
	}
	if claim.Spec.StorageClassName != nil {
		return *claim.Spec.StorageClassName
	}
	return ""
}

// HasClass reports whether the claim says anything about its class. An explicit "" is a class: it asks for none and keeps the
// default class away (BIND-002).
func HasClass(claim *corev1.PersistentVolumeClaim) bool {
	_, ok := claim.Annotations[AnnStorageClass]
	return ok || claim.Spec.StorageClassName != nil
}

// ClassOfVolume is the name of the volume's storage class, "" for none (BIND-002).
func ClassOfVolume(pv *corev1.PersistentVolume) string {
	if class, ok := pv.Annotations[AnnStorageClass]; ok {
		return class
	}
	return pv.Spec.StorageClassName
}

// IsMine reports whether the volume points at this very claim: name and namespace equal, and the uid equal or still empty
// (BIND-003).
func IsMine(pv *corev1.PersistentVolume, claim *corev1.PersistentVolumeClaim) bool {
	ref := pv.Spec.ClaimRef
	return ref != nil && ref.Name == claim.Name && ref.Namespace == claim.Namespace &&
		(ref.UID == "" || ref.UID == claim.UID)
}

// VolumeModeOf is the mode a field stands for: nil is Filesystem.
func VolumeModeOf(mode *corev1.PersistentVolumeMode) corev1.PersistentVolumeMode {
	if mode == nil {
		return corev1.PersistentVolumeFilesystem
	}
	return *mode
}

// ValueOf is the string a field stands for: nil is "".
func ValueOf(s *string) string {
	if s == nil {
		return ""
	}
	return *s
}
