package binder

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
)

// Annotations that the controller reads and writes. Only the presence of a key counts, unless its line says that the
// value is read.
const (
	// BIND-001a: on a claim that finished a bind once. It selects the bound branch of claim sync from then on.
	AnnBindCompleted = "pv.kubernetes.io/bind-completed"
	// BIND-001b: on a volume or a claim whose pointer to the other a controller installed, not the object's author.
	AnnBoundByController = "pv.kubernetes.io/bound-by-controller"
	// BIND-001c: on a claim; the value is the name of the node that the scheduler chose.
	AnnSelectedNode = "volume.kubernetes.io/selected-node"
	// BIND-001d: on a claim, always written together; the value is the name of the provisioner that must act.
	AnnStorageProvisioner     = "volume.kubernetes.io/storage-provisioner"
	AnnBetaStorageProvisioner = "volume.beta.kubernetes.io/storage-provisioner"
	// BIND-001e: on a volume that was provisioned dynamically; the value is the name of the plugin or driver.
	AnnProvisionedBy = "pv.kubernetes.io/provisioned-by"
	// BIND-001f: on a volume or a claim; the value is the CSI driver that took over from an in-tree plugin.
	AnnMigratedTo = "pv.kubernetes.io/migrated-to"
	// BIND-001g: on a volume or a claim; the value is its class and wins over the field, even when it is "".
	AnnStorageClass = "volume.beta.kubernetes.io/storage-class"
	// BIND-001h: on a volume; the value is its capacity before an unfinished expansion.
	AnnPreResizeCapacity = "volume.alpha.kubernetes.io/pre-resize-capacity"
	// BIND-001i: on a storage class; either key with exactly the value "true" marks a default class.
	AnnDefaultClass     = "storageclass.kubernetes.io/is-default-class"
	AnnBetaDefaultClass = "storageclass.beta.kubernetes.io/is-default-class"
)

// AnnYes is the value that the controller writes where only presence counts.
const AnnYes = "yes"

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

// HasClass reports whether the claim says anything about its class. An explicit "" is a class: it asks for none and
// keeps the default class away (BIND-002).
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

// IsMine reports whether the volume points at this very claim: name and namespace equal, and the uid equal or still
// empty (BIND-003).
func IsMine(pv *corev1.PersistentVolume, claim *corev1.PersistentVolumeClaim) bool {
	ref := pv.Spec.ClaimRef
	return ref != nil && ref.Name == claim.Name && ref.Namespace == claim.Namespace &&
		(ref.UID == "" || ref.UID == claim.UID)
}

// IsDelayed reports whether claims of the class wait for their first pod before they are bound: the delay flag of
// PROV-010. A nil class, one that does not exist, delays nothing. The error says that the class has no
// volumeBindingMode (BIND-052).
func IsDelayed(class *storagev1.StorageClass) (bool, error) {
	if class == nil {
		return false, nil
	}
	// BIND-052: an API server fills the field in, but a cache may hold what no API server saw.
	if class.VolumeBindingMode == nil {
		return false, fmt.Errorf("storage class %q has no volumeBindingMode", class.Name)
	}
	return *class.VolumeBindingMode == storagev1.VolumeBindingWaitForFirstConsumer, nil
}

// DefaultClass picks the class for claims without one: among the classes marked as default the newest, ties by name
// (PROV-002). It is nil when no class is marked. The order of classes does not matter.
func DefaultClass(classes []*storagev1.StorageClass) *storagev1.StorageClass {
	var chosen *storagev1.StorageClass
	for _, class := range classes {
		if !isDefault(class) {
			continue
		}
		if chosen == nil || newer(class, chosen) {
			chosen = class
		}
	}
	return chosen
}

// isDefault reports whether the class is marked as default (BIND-001i).
func isDefault(class *storagev1.StorageClass) bool {
	return class.Annotations[AnnDefaultClass] == "true" || class.Annotations[AnnBetaDefaultClass] == "true"
}

// newer reports whether PROV-002 prefers a to b.
func newer(a, b *storagev1.StorageClass) bool {
	// PROV-002: newest creationTimestamp, ties by name ascending.
	if order := a.CreationTimestamp.Compare(b.CreationTimestamp.Time); order != 0 {
		return order > 0
	}
	return a.Name < b.Name
}
