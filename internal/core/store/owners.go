package store

import (
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// distinctOwners leaves out owners that are given again, as the API server does before it validates them (API-036). owners itself
// stays as it is.
func distinctOwners(owners []metav1.OwnerReference) []metav1.OwnerReference {
	for i := 1; i < len(owners); i++ {
		if !hasOwner(owners[:i], owners[i:i+1]) {
			continue
		}
		distinct := slices.Clone(owners[:i])
		for j := i + 1; j < len(owners); j++ {
			if !hasOwner(distinct, owners[j:j+1]) {
				distinct = append(distinct, owners[j])
			}
		}
		return distinct
	}
	return owners
}

// hasOwner reports whether the one owner in one is among owners.
func hasOwner(owners, one []metav1.OwnerReference) bool {
	for i := range owners {
		if sameOwners(owners[i:i+1], one) {
			return true
		}
	}
	return false
}
