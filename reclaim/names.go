package reclaim

// Annotations that only the external provisioner reads and writes.
const (
	annAlphaSelectedNode   = "volume.alpha.kubernetes.io/selected-node"
	annDeletionSecretName  = "volume.kubernetes.io/provisioner-deletion-secret-name"
	annDeletionSecretSpace = "volume.kubernetes.io/provisioner-deletion-secret-namespace"
)

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
