package binder

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"

	"github.com/volsim/volsim/internal/core/objects"
)

// The annotations of BIND-001; package objects says what each means.
const (
	AnnBindCompleted          = objects.AnnBindCompleted
	AnnBoundByController      = objects.AnnBoundByController
	AnnSelectedNode           = objects.AnnSelectedNode
	AnnStorageProvisioner     = objects.AnnStorageProvisioner
	AnnBetaStorageProvisioner = objects.AnnBetaStorageProvisioner
	AnnProvisionedBy          = objects.AnnProvisionedBy
	AnnMigratedTo             = objects.AnnMigratedTo
	AnnStorageClass           = objects.AnnStorageClass
	AnnPreResizeCapacity      = objects.AnnPreResizeCapacity
	AnnDefaultClass           = objects.AnnDefaultClass
	AnnBetaDefaultClass       = objects.AnnBetaDefaultClass
	// AnnYes is the value written where only the presence of a key counts.
	AnnYes = objects.AnnYes
)

// ClassOf is the name of the claim's storage class, "" for none (BIND-002).
func ClassOf(claim *corev1.PersistentVolumeClaim) string { return objects.ClassOf(claim) }

// HasClass reports whether the claim says anything about its class; an explicit "" does (BIND-002).
func HasClass(claim *corev1.PersistentVolumeClaim) bool { return objects.HasClass(claim) }

// ClassOfVolume is the name of the volume's storage class, "" for none (BIND-002).
func ClassOfVolume(pv *corev1.PersistentVolume) string { return objects.ClassOfVolume(pv) }

// IsMine reports whether the volume points at this very claim (BIND-003).
func IsMine(pv *corev1.PersistentVolume, claim *corev1.PersistentVolumeClaim) bool {
	return objects.IsMine(pv, claim)
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
