package strategy

import (
	"maps"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// SameMeta reports whether both would be stored as the same bytes (API-014), except for resourceVersion, managedFields and selfLink.
func SameMeta(a, b *metav1.ObjectMeta) bool {
	return a.Name == b.Name && a.Namespace == b.Namespace && a.UID == b.UID &&
		a.GenerateName == b.GenerateName && a.Generation == b.Generation &&
		sameSecond(&a.CreationTimestamp, &b.CreationTimestamp) &&
		sameSecond(a.DeletionTimestamp, b.DeletionTimestamp) &&
		EqualPointers(a.DeletionGracePeriodSeconds, b.DeletionGracePeriodSeconds) &&
		sameStrings(a.Labels, b.Labels) && sameStrings(a.Annotations, b.Annotations) &&
		SameOwners(a.OwnerReferences, b.OwnerReferences) &&
		(SameSlice(a.Finalizers, b.Finalizers) || slices.Equal(a.Finalizers, b.Finalizers))
}

// sameSecond compares times as they are stored, in whole seconds (API-006).
func sameSecond(a, b *metav1.Time) bool {
	if a == b {
		return true
	}
	if a == nil || b == nil || a.IsZero() != b.IsZero() {
		return false
	}
	return a.Unix() == b.Unix()
}

func sameStrings(a, b map[string]string) bool {
	return SameMap(a, b) || maps.Equal(a, b)
}

// SameOwners reports whether both lists have the same owners in the same order.
func SameOwners(a, b []metav1.OwnerReference) bool {
	if len(a) != len(b) {
		return false
	}
	if SameSlice(a, b) {
		return true
	}
	for i := range a {
		x, y := &a[i], &b[i]
		if x.APIVersion != y.APIVersion || x.Kind != y.Kind || x.Name != y.Name || x.UID != y.UID ||
			!EqualPointers(x.Controller, y.Controller) || !EqualPointers(x.BlockOwnerDeletion, y.BlockOwnerDeletion) {
			return false
		}
	}
	return true
}

// SameSlice reports whether a and b are the same memory, or both empty.
func SameSlice[E any](a, b []E) bool {
	return len(a) == len(b) && (len(a) == 0 || &a[0] == &b[0])
}

// EqualPointers reports whether both are nil, or point to equal values.
func EqualPointers[V comparable](a, b *V) bool {
	return a == b || a != nil && b != nil && *a == *b
}
