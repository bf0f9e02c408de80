package strategy

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apiresource "k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/conversion"
)

// There are two kinds of equality. Semantic equality decides whether a field that may not change has changed: quantities compare by value
// and times by instant. Equality as stored decides whether a write would change a byte (API-014): quantities compare by their
// text (API-083) and times by the second (API-006). In both, nil and empty lists and maps are the same.

// SemanticEqual is semantic equality of any two values of one type, by reflection.
func SemanticEqual(a, b any) bool { return equality.Semantic.DeepEqual(a, b) }

// storedEqual is equality as stored of any two values of one type, by reflection.
func storedEqual(a, b any) bool { return asStored.DeepEqual(a, b) }

var asStored = conversion.EqualitiesOrDie(
	sameQuantity,
	func(a, b metav1.Time) bool { return sameSecond(&a, &b) },
	func(a, b metav1.MicroTime) bool { return a.UnixMicro() == b.UnixMicro() },
)

// sameQuantity reports whether both have the same text. It compares values and formats before it renders the texts, because the format
// rarely differs.
func sameQuantity(a, b apiresource.Quantity) bool {
	return a == b || a.Cmp(b) == 0 && (a.Format == b.Format || a.String() == b.String())
}

// equalQuantity reports whether both have the same value.
func equalQuantity(a, b apiresource.Quantity) bool { return a == b || a.Cmp(b) == 0 }

// equalLists compares lists of resources by the given equality of their quantities.
func equalLists(a, b corev1.ResourceList, equal func(a, b apiresource.Quantity) bool) bool {
	if SameMap(a, b) {
		return true
	}
	if len(a) != len(b) {
		return false
	}
	if x, only := OnlyStorage(a); only {
		y, ok := b[corev1.ResourceStorage]
		return ok && equal(x, y)
	}
	for name, x := range a {
		if y, ok := b[name]; !ok || !equal(x, y) {
			return false
		}
	}
	return true
}

// sameVolume is equality as stored of two volumes, except for metadata.
func sameVolume(a, b *corePV) bool {
	return sameVolumeSpec(&a.Spec, &b.Spec) && a.Status.Phase == b.Status.Phase && a.Status.Message == b.Status.Message &&
		a.Status.Reason == b.Status.Reason && sameSecond(a.Status.LastPhaseTransitionTime, b.Status.LastPhaseTransitionTime)
}

func sameVolumeSpec(a, b *corev1.PersistentVolumeSpec) bool {
	return EqualPointers(a.ClaimRef, b.ClaimRef) &&
		a.PersistentVolumeReclaimPolicy == b.PersistentVolumeReclaimPolicy &&
		a.StorageClassName == b.StorageClassName &&
		EqualPointers(a.VolumeMode, b.VolumeMode) &&
		EqualPointers(a.VolumeAttributesClassName, b.VolumeAttributesClassName) &&
		slices.Equal(a.AccessModes, b.AccessModes) &&
		slices.Equal(a.MountOptions, b.MountOptions) &&
		equalLists(a.Capacity, b.Capacity, sameQuantity) &&
		equalSources(&a.PersistentVolumeSource, &b.PersistentVolumeSource) &&
		(a.NodeAffinity == b.NodeAffinity || storedEqual(a.NodeAffinity, b.NodeAffinity))
}

// equalSources is equality of either kind, because a source has neither quantities nor times.
func equalSources(a, b *volumeSource) bool { return *a == *b || SemanticEqual(a, b) }

// sameClaim is equality as stored of two claims, except for metadata.
func sameClaim(a, b *corePVC) bool {
	return equalClaimSpecs(&a.Spec, &b.Spec, sameQuantity) && sameClaimStatus(&a.Status, &b.Status)
}

// equalClaimSpecs compares specs of claims by the given equality of their quantities.
func equalClaimSpecs(a, b *corev1.PersistentVolumeClaimSpec, equal func(a, b apiresource.Quantity) bool) bool {
	return a.VolumeName == b.VolumeName &&
		EqualPointers(a.StorageClassName, b.StorageClassName) &&
		EqualPointers(a.VolumeMode, b.VolumeMode) &&
		EqualPointers(a.VolumeAttributesClassName, b.VolumeAttributesClassName) &&
		slices.Equal(a.AccessModes, b.AccessModes) &&
		equalLists(a.Resources.Requests, b.Resources.Requests, equal) &&
		equalLists(a.Resources.Limits, b.Resources.Limits, equal) &&
		(a.Selector == b.Selector || SemanticEqual(a.Selector, b.Selector)) &&
		(a.DataSource == b.DataSource || SemanticEqual(a.DataSource, b.DataSource)) &&
		(a.DataSourceRef == b.DataSourceRef || SemanticEqual(a.DataSourceRef, b.DataSourceRef))
}

func sameClaimStatus(a, b *corev1.PersistentVolumeClaimStatus) bool {
	return a.Phase == b.Phase &&
		EqualPointers(a.CurrentVolumeAttributesClassName, b.CurrentVolumeAttributesClassName) &&
		EqualPointers(a.ModifyVolumeStatus, b.ModifyVolumeStatus) &&
		slices.Equal(a.AccessModes, b.AccessModes) &&
		equalLists(a.Capacity, b.Capacity, sameQuantity) &&
		equalLists(a.AllocatedResources, b.AllocatedResources, sameQuantity) &&
		equalMaps(a.AllocatedResourceStatuses, b.AllocatedResourceStatuses) &&
		(SameSlice(a.Conditions, b.Conditions) || slices.EqualFunc(a.Conditions, b.Conditions, sameClaimCondition))
}

func sameClaimCondition(a, b corev1.PersistentVolumeClaimCondition) bool {
	return a.Type == b.Type && a.Status == b.Status && a.Reason == b.Reason && a.Message == b.Message &&
		sameSecond(&a.LastProbeTime, &b.LastProbeTime) && sameSecond(&a.LastTransitionTime, &b.LastTransitionTime)
}
