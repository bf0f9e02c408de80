package objects

// Annotations that controllers read and write. Only the presence of a key counts, unless its line says that the value is read.
const (
	// BIND-001a: on a claim that finished a bind once. It selects the bound branch of claim sync from then on.
	AnnBindCompleted = "pv.kubernetes.io/bind-completed"
	// BIND-001b: on a volume or a claim whose pointer to the other a controller installed, not the object's author.
	AnnBoundByController = "pv.kubernetes.io/bound-by-controller"
	// BIND-001c: on a claim; the value is the name of the node that the scheduler chose.
	AnnSelectedNode = "volume.kubernetes.io/selected-node"
	// BIND-001d: on a claim, always written together; the value is the name of the provisioner that must act.
	AnnStorageProvisioner     = "volume.kubernetes.io/storage-provisioner"
	AnnBetaStorageProvisioner = "volume.beta.kubernetes.io/storage-provisioner"
	// BIND-001e: on a volume that was provisioned dynamically; the value is the name of the plugin or driver.
	AnnProvisionedBy = "pv.kubernetes.io/provisioned-by"
	// BIND-001f: on a volume or a claim; the value is the CSI driver that took over from an in-tree plugin.
	AnnMigratedTo = "pv.kubernetes.io/migrated-to"
	// BIND-001g: on a volume or a claim; the value is its class and wins over the field, even when it is "".
	AnnStorageClass = "volume.beta.kubernetes.io/storage-class"
	// BIND-001h: on a volume; the value is its capacity before an unfinished expansion.
	AnnPreResizeCapacity = "volume.alpha.kubernetes.io/pre-resize-capacity"
	// BIND-001i: on a storage class; either key with exactly the value "true" marks a default class.
	AnnDefaultClass     = "storageclass.kubernetes.io/is-default-class"
	AnnBetaDefaultClass = "storageclass.beta.kubernetes.io/is-default-class"
)

// AnnManagedAttach marks a Node whose volumes the attach/detach controller attaches; its value does not matter (ATT-021).
const AnnManagedAttach = "volumes.kubernetes.io/controller-managed-attach-detach"

// AnnYes is the value that controllers write where only presence counts.
const AnnYes = "yes"

// Finalizers that hold volumes and claims.
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
