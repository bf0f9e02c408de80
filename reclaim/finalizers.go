package reclaim

import corev1 "k8s.io/api/core/v1"

// volumeWith returns a copy of the volume with other finalizers. It shares everything else.
func volumeWith(pv *corev1.PersistentVolume, finalizers []string) *corev1.PersistentVolume {
	edited := *pv
	edited.Finalizers = finalizers
	return &edited
}

// claimWith returns a copy of the claim with other finalizers. It shares everything else.
func claimWith(claim *corev1.PersistentVolumeClaim, finalizers []string) *corev1.PersistentVolumeClaim {
	edited := *claim
	edited.Finalizers = finalizers
	return &edited
}
