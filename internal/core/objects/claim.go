package objects

import (
	corev1 "k8s.io/api/core/v1"
)

// ClassOf returns the name of the storage class of a claim, or "" for none (BIND-002).
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

// HasClass reports whether the claim sets its class. An explicit "" counts: it requests no class and prevents the default class
// (BIND-002).
func HasClass(claim *corev1.PersistentVolumeClaim) bool {
	_, ok := claim.Annotations[AnnStorageClass]
	return ok || claim.Spec.StorageClassName != nil
}

// ClassOfVolume returns the name of the storage class of a volume, or "" for none (BIND-002).
func ClassOfVolume(pv *corev1.PersistentVolume) string {
	if class, ok := pv.Annotations[AnnStorageClass]; ok {
		return class
	}
	return pv.Spec.StorageClassName
}

// IsMine reports whether the claimRef of the volume refers to this claim: name and namespace are equal, and the uid is equal or empty
// (BIND-003).
func IsMine(pv *corev1.PersistentVolume, claim *corev1.PersistentVolumeClaim) bool {
	ref := pv.Spec.ClaimRef
	return ref != nil && ref.Name == claim.Name && ref.Namespace == claim.Namespace &&
		(ref.UID == "" || ref.UID == claim.UID)
}

// VolumeModeOf returns the mode, or Filesystem for nil.
func VolumeModeOf(mode *corev1.PersistentVolumeMode) corev1.PersistentVolumeMode {
	if mode == nil {
		return corev1.PersistentVolumeFilesystem
	}
	return *mode
}

// DataSourceOf returns the data source of a claim with its namespace, as the provisioner reads it; nil for none. dataSource comes first.
func DataSourceOf(claim *corev1.PersistentVolumeClaim) *corev1.TypedObjectReference {
	if source := claim.Spec.DataSource; source != nil {
		return &corev1.TypedObjectReference{APIGroup: source.APIGroup, Kind: source.Kind, Name: source.Name, Namespace: &claim.Namespace}
	}
	if source := claim.Spec.DataSourceRef; source != nil {
		ref := *source
		if ValueOf(ref.Namespace) == "" {
			ref.Namespace = &claim.Namespace
		}
		return &ref
	}
	return nil
}

// ValueOf returns the string, or "" for nil.
func ValueOf(s *string) string {
	if s == nil {
		return ""
	}
	return *s
}
