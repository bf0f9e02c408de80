package store

import (
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// distinctOwners returns owners without duplicates, as the API server stores them (API-036). It does not modify owners.
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

// hasOwner reports whether owners contains the owner in one, a list of length 1.
func hasOwner(owners, one []metav1.OwnerReference) bool {
	for i := range owners {
		if sameOwners(owners[i:i+1], one) {
			return true
		}
	}
	return false
}
