package reclaim

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
)

// Finalizers that hold volumes and claims (section 1 of the rules).
const (
	// InTreeFinalizer keeps a volume of an in-tree plugin until its asset is deleted.
	InTreeFinalizer = "kubernetes.io/pv-controller"
	// ExternalFinalizer does the same for a volume of an external provisioner.
	ExternalFinalizer = "external-provisioner.volume.kubernetes.io/finalizer"
	// VolumeProtectionFinalizer keeps a volume while it is bound.
	VolumeProtectionFinalizer = "kubernetes.io/pv-protection"
	// ClaimProtectionFinalizer keeps a claim while pods use it.
	ClaimProtectionFinalizer = "kubernetes.io/pvc-protection"
)

// Annotations that are read or written here; package binder says what they mean (BIND-001a and following).
const (
	annProvisionedBy          = "pv.kubernetes.io/provisioned-by"
	annMigratedTo             = "pv.kubernetes.io/migrated-to"
	annSelectedNode           = "volume.kubernetes.io/selected-node"
	annAlphaSelectedNode      = "volume.alpha.kubernetes.io/selected-node"
	annStorageProvisioner     = "volume.kubernetes.io/storage-provisioner"
	annBetaStorageProvisioner = "volume.beta.kubernetes.io/storage-provisioner"
	annStorageClass           = "volume.beta.kubernetes.io/storage-class"
	annDeletionSecretName     = "volume.kubernetes.io/provisioner-deletion-secret-name"
	annDeletionSecretSpace    = "volume.kubernetes.io/provisioner-deletion-secret-namespace"
)

// inTreePrefix begins the names of all in-tree plugins.
const inTreePrefix = "kubernetes.io/"

// Reasons of Events.
const (
	reasonVolumeDelete         = "VolumeDelete"
	reasonVolumeFailedDelete   = "VolumeFailedDelete"
	reasonUnknownReclaimPolicy = "VolumeUnknownReclaimPolicy"
	reasonVolumeRecycled       = "VolumeRecycled"
	reasonVolumeFailedRecycle  = "VolumeFailedRecycle"
	reasonRecyclerPod          = "RecyclerPod"
	reasonFailedBinding        = "FailedBinding"
	reasonProvisioning         = "Provisioning"
	reasonProvisioningFailed   = "ProvisioningFailed"
	reasonProvisioned          = "ProvisioningSucceeded"
	reasonCleanupFailed        = "ProvisioningCleanupFailed"
)

// with returns the finalizers with one more at the end, unless it is there. The argument is not modified.
func with(finalizers []string, finalizer string) (_ []string, changed bool) {
	if slices.Contains(finalizers, finalizer) {
		return finalizers, false
	}
	return append(slices.Clip(slices.Clone(finalizers)), finalizer), true
}

// without returns the finalizers but for one; nil when none is left. The argument is not modified.
func without(finalizers []string, finalizer string) (_ []string, changed bool) {
	if !slices.Contains(finalizers, finalizer) {
		return finalizers, false
	}
	var rest []string
	for _, f := range finalizers {
		if f != finalizer {
			rest = append(rest, f)
		}
	}
	return rest, true
}

// volumeWith is a copy of the volume with other finalizers. It shares everything else.
func volumeWith(pv *corev1.PersistentVolume, finalizers []string) *corev1.PersistentVolume {
	edited := *pv
	edited.Finalizers = finalizers
	return &edited
}

// claimWith is a copy of the claim with other finalizers. It shares everything else.
func claimWith(claim *corev1.PersistentVolumeClaim, finalizers []string) *corev1.PersistentVolumeClaim {
	edited := *claim
	edited.Finalizers = finalizers
	return &edited
}
