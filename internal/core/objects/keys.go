package objects

// Annotations that controllers read and write. Only the presence of a key counts, unless its comment says that the value is read.
const (
	// AnnBindCompleted is on a claim that finished a bind once; from then on its sync takes the branch for bound claims (BIND-001a).
	AnnBindCompleted = "pv.kubernetes.io/bind-completed"
	// AnnBoundByController is on a volume or a claim whose reference to the other was written by a controller, not by the author of the
	// object (BIND-001b).
	AnnBoundByController = "pv.kubernetes.io/bound-by-controller"
	// AnnNodeID is on a VolumeAttachment; the value is the ID of the node in the storage system (ATT-005).
	AnnNodeID = "csi.alpha.kubernetes.io/node-id"
	// AnnSelectedNode is on a claim; the value is the name of the node that the scheduler chose (BIND-001c).
	AnnSelectedNode = "volume.kubernetes.io/selected-node"
	// AnnStorageProvisioner and AnnBetaStorageProvisioner are on a claim, always written together; the value is the name of the
	// provisioner that must act (BIND-001d).
	AnnStorageProvisioner     = "volume.kubernetes.io/storage-provisioner"
	AnnBetaStorageProvisioner = "volume.beta.kubernetes.io/storage-provisioner"
	// AnnProvisionedBy is on a volume that was provisioned dynamically; the value is the name of the plugin or driver (BIND-001e).
	AnnProvisionedBy = "pv.kubernetes.io/provisioned-by"
	// AnnMigratedPlugins is on a CSINode; the value is the list of in-tree plugins that CSI drivers replaced on the node (SCHED-013).
	AnnMigratedPlugins = "storage.alpha.kubernetes.io/migrated-plugins"
	// AnnMigratedTo is on a volume or a claim; the value is the CSI driver that replaces an in-tree plugin (BIND-001f).
	AnnMigratedTo = "pv.kubernetes.io/migrated-to"
	// AnnStorageClass is on a volume or a claim; the value is its class and wins over the field, even when it is "" (BIND-001g).
	AnnStorageClass = "volume.beta.kubernetes.io/storage-class"
	// AnnPreResizeCapacity is on a volume; the value is its capacity before an unfinished expansion (BIND-001h).
	AnnPreResizeCapacity = "volume.alpha.kubernetes.io/pre-resize-capacity"
	// AnnDefaultClass and AnnBetaDefaultClass are on a storage class; either of them with exactly the value "true" marks a default class
	// (BIND-001i).
	AnnDefaultClass     = "storageclass.kubernetes.io/is-default-class"
	AnnBetaDefaultClass = "storageclass.beta.kubernetes.io/is-default-class"
	// AnnStorageResizer is on a claim that is being expanded; the value is the name of the in-tree plugin or CSI driver that expands it.
	AnnStorageResizer = "volume.kubernetes.io/storage-resizer"
	// AnnNodeExpansionNotRequired is on a claim whose expansion was finished without the kubelet.
	AnnNodeExpansionNotRequired = "volume.kubernetes.io/node-expansion-not-required"
	// AnnModifySecretName and AnnModifySecretNamespace are on a volume; the values name the secret of its modifications (VAC-015).
	AnnModifySecretName      = "volume.kubernetes.io/controller-modify-secret-name"
	AnnModifySecretNamespace = "volume.kubernetes.io/controller-modify-secret-namespace"
	// AnnManagedAttach is on a Node whose volumes the attach/detach controller attaches (ATT-021).
	AnnManagedAttach = "volumes.kubernetes.io/controller-managed-attach-detach"
)

// AnnYes is the value that controllers write where only presence counts.
const AnnYes = "yes"

// Finalizers of volumes, claims and classes.
const (
	// AttacherFinalizerPrefix begins the finalizers of external attachers.
	AttacherFinalizerPrefix = "external-attacher/"
	// InTreeFinalizer keeps a volume of an in-tree plugin until its storage is deleted.
	InTreeFinalizer = "kubernetes.io/pv-controller"
	// ExternalFinalizer does the same for a volume of an external provisioner.
	ExternalFinalizer = "external-provisioner.volume.kubernetes.io/finalizer"
	// VolumeProtectionFinalizer keeps a volume while it is bound (PROT-001).
	VolumeProtectionFinalizer = "kubernetes.io/pv-protection"
	// VACProtectionFinalizer keeps a VolumeAttributesClass while volumes and claims use it (VAC-021).
	VACProtectionFinalizer = "kubernetes.io/vac-protection"
	// ClaimProtectionFinalizer keeps a claim while pods use it (PROT-001).
	ClaimProtectionFinalizer = "kubernetes.io/pvc-protection"
)

// AttacherFinalizer returns the finalizer that the external-attacher of a driver puts on PersistentVolumes and VolumeAttachments (ATT-004).
func AttacherFinalizer(driver string) string {
	name := make([]byte, 0, len(driver)+1)
	for i := range len(driver) {
		// ATT-004: characters other than letters, digits and dashes become a dash each, also those of several bytes.
		if c := driver[i]; c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' {
			name = append(name, c)
		} else if c < 0x80 || c >= 0xC0 {
			name = append(name, '-')
		}
	}
	// ATT-004: a name must not end in a dash.
	if n := len(name); n > 0 && name[n-1] == '-' {
		name = append(name, 'X')
	}
	return AttacherFinalizerPrefix + string(name)
}
