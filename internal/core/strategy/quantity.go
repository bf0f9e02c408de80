package strategy

import (
	"maps"

	corev1 "k8s.io/api/core/v1"
	apiresource "k8s.io/apimachinery/pkg/api/resource"
)

// Package resource of apimachinery parses quantities (API-080), writes them in canonical form (API-081), caps and rounds them at a
// billionth (API-082), and compares them by value (API-083). This file contains what it leaves to its users.

// roundToMilli rounds every quantity of the list up to thousandths, away from zero (API-082). It returns the list itself if that changes
// nothing, and a copy otherwise.
func roundToMilli(list corev1.ResourceList) corev1.ResourceList {
	if quantity, only := OnlyStorage(list); only && quantity.RoundUp(apiresource.Milli) {
		return list
	}
	rounded := list
	copied := false
	for name, quantity := range list {
		// API-082: lists of resources keep no more than three decimal places.
		if quantity.RoundUp(apiresource.Milli) {
			continue
		}
		if !copied {
			rounded, copied = maps.Clone(list), true
		}
		rounded[name] = quantity
	}
	return rounded
}

// OnlyStorage returns the storage in a list, and whether the list contains nothing else. Most lists do, and a lookup in a map is cheaper
// than an iteration.
func OnlyStorage(list corev1.ResourceList) (apiresource.Quantity, bool) {
	if len(list) != 1 {
		return apiresource.Quantity{}, false
	}
	storage, ok := list[corev1.ResourceStorage]
	return storage, ok
}

// isNegative reports whether the quantity is below zero (API-084: parsing lets such values through).
func isNegative(q apiresource.Quantity) bool { return q.Sign() < 0 }

// isWhole reports whether the quantity has no decimal places down to thousandths.
func isWhole(q apiresource.Quantity) bool { return q.MilliValue()%1000 == 0 }
