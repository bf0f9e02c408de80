package match

import (
	"math"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
)

// capacityOf returns the storage capacity of the volume, 0 when it has no such entry.
func capacityOf(pv *corev1.PersistentVolume) resource.Quantity {
	return pv.Spec.Capacity[corev1.ResourceStorage]
}

// requestOf returns the storage that the claim asks for, 0 when it has no such entry.
func requestOf(claim *corev1.PersistentVolumeClaim) resource.Quantity {
	return claim.Spec.Resources.Requests[corev1.ResourceStorage]
}

// sizeOf maps a quantity to an integer for fast comparison. Different sizes compare as their quantities do. Equal sizes
// mean equal quantities when both are exact; otherwise the quantities themselves must be compared.
func sizeOf(q resource.Quantity) (size int64, exact bool) {
	switch size, exact = q.AsInt64(); {
	case exact && size >= 0:
		return size, true
	case q.Sign() < 0:
		return -1, false
	case q.CmpInt64(math.MaxInt64) >= 0:
		return math.MaxInt64, false
	}
	return q.Value(), false // rounded up
}
