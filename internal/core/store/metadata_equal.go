package store

import (
	"maps"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// sameMeta reports whether both would be stored as the same bytes (API-014), except for resourceVersion, managedFields and selfLink.
func sameMeta(a, b *metav1.ObjectMeta) bool {
	return a.Name == b.Name && a.Namespace == b.Namespace && a.UID == b.UID &&
		a.GenerateName == b.GenerateName && a.Generation == b.Generation &&
		sameSecond(&a.CreationTimestamp, &b.CreationTimestamp) &&
		sameSecond(a.DeletionTimestamp, b.DeletionTimestamp) &&
		equalPointers(a.DeletionGracePeriodSeconds, b.DeletionGracePeriodSeconds) &&
		sameStrings(a.Labels, b.Labels) && sameStrings(a.Annotations, b.Annotations) &&
		sameOwners(a.OwnerReferences, b.OwnerReferences) &&
		(sameSlice(a.Finalizers, b.Finalizers) || slices.Equal(a.Finalizers, b.Finalizers))
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
	return sameMap(a, b) || maps.Equal(a, b)
}

func sameOwners(a, b []metav1.OwnerReference) bool {
	if len(a) != len(b) {
		return false
	}
	if sameSlice(a, b) {
		return true
	}
	for i := range a {
		x, y := &a[i], &b[i]
		if x.APIVersion != y.APIVersion || x.Kind != y.Kind || x.Name != y.Name || x.UID != y.UID ||
			!equalPointers(x.Controller, y.Controller) || !equalPointers(x.BlockOwnerDeletion, y.BlockOwnerDeletion) {
			return false
		}
	}
	return true
}

// sameSlice reports whether a and b are the same memory, or both empty.
func sameSlice[E any](a, b []E) bool {
	return len(a) == len(b) && (len(a) == 0 || &a[0] == &b[0])
}

func equalPointers[V comparable](a, b *V) bool {
	return a == b || a != nil && b != nil && *a == *b
}
