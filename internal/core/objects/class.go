package objects

import (
	"fmt"

	storagev1 "k8s.io/api/storage/v1"
)

// IsDelayed reports whether claims of the class wait for their first pod before they are bound: the delay flag of
// PROV-010. A nil class stands for one that does not exist; it delays nothing. The error says that the class has no
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

// DefaultClass returns the class for claims without one: among the classes marked as default the newest, ties by name
// (PROV-002); nil when no class is marked. The order of classes does not matter.
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
