package storage

import (
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
)

// Backend is a storage system as the control plane sees it. Its name is that of a CSI driver, or of an in-tree plugin, which
// begins with "kubernetes.io/"; it never changes. The interfaces below say what else a backend can do.
//
// All methods are called one at a time. They must not block, and must give the same answers to the same history of calls: no wall
// clock, no randomness, no map order. Replies get lost, so every operation may be repeated after it succeeded: creating by name,
// deleting, attaching, mounting and their opposites are idempotent, as the CSI specification requires. Requests belong to the
// caller and are read only. A call that panics fails with code [Internal].
type Backend interface {
	Name() string
}

// Creator makes volumes. A repeated name asks for the same volume again; with other properties the error has code AlreadyExists.
type Creator interface {
	Create(CreateRequest) (CreateResponse, error)
}

// Deleter destroys volumes with their data. An unknown volume is already deleted: nil. For a volume that is in use a CSI driver
// returns code FailedPrecondition, an in-tree plugin [VolumeInUse] (RECL-027).
type Deleter interface {
	Delete(DeleteRequest) error
}

// Recycler scrubs the data off a volume, so that it can be claimed again. In-tree plugins only.
type Recycler interface {
	Recycle(RecycleRequest) error
}

// Attacher makes volumes available on nodes. Detaching a volume that is not attached succeeds.
type Attacher interface {
	Attach(AttachRequest) (AttachResponse, error)
	Detach(DetachRequest) error
}

// Stager mounts a volume once per node, before it is published to pods there. Unstaging a volume that is not staged succeeds.
type Stager interface {
	Stage(StageRequest) error
	Unstage(UnstageRequest) error
}

// Publisher mounts a volume on a node for one pod. Unpublishing a volume that is not published succeeds.
type Publisher interface {
	Publish(PublishRequest) error
	Unpublish(UnpublishRequest) error
}

// Expander grows a volume in the storage system. A volume that is already large enough is a success.
type Expander interface {
	Expand(ExpandRequest) (ExpandResponse, error)
}

// NodeExpander grows the file system of a volume on a node where it is staged or published.
type NodeExpander interface {
	NodeExpand(NodeExpandRequest) (NodeExpandResponse, error)
}

// Modifier changes properties of a volume, in use or not: its VolumeAttributesClass. Parameters that the volume already has are
// a success; those that no volume can have are code InvalidArgument. CSI drivers only.
type Modifier interface {
	Modify(ModifyRequest) error
}

// Supporter marks an in-tree plugin, and says of which volume sources it is in charge. The source may be nil.
type Supporter interface {
	Supports(*corev1.PersistentVolumeSource) bool
}

// Preparer is an in-tree plugin that may refuse to provision before Create is called: "Failed to create provisioner" (PROV-044).
type Preparer interface {
	Prepare(CreateRequest) error
}

// Delayer says how long a call takes. The caller waits that long, then the call takes effect. id is the volume's handle, or for
// Create its name. A backend that is no Delayer answers at once; a negative delay counts as zero.
type Delayer interface {
	Delay(op Op, id string) time.Duration
}

// Rebooter is notified when a node loses everything that is staged or published on it.
type Rebooter interface {
	Reboot(node string)
}

// AttachLimiter says how many volumes of the driver a node can have attached; a negative limit is no limit.
type AttachLimiter interface {
	AttachLimit(node string) int32
}

// PublishedLister is a driver that lists which volumes are attached to which nodes (LIST_VOLUMES_PUBLISHED_NODES): names of nodes by
// volume handle. The external attacher compares VolumeAttachments with that list at intervals (ATT-181).
type PublishedLister interface {
	Published() (map[string][]string, error)
}

// Describer is a backend with [Capabilities]. A backend that is none has the zero value.
type Describer interface {
	Capabilities() Capabilities
}

// Capabilities says what a backend's methods do not show. The zero value is a backend that can do what its methods promise, and
// nothing of what is listed here.
type Capabilities struct {
	// Without lists operations that the backend has a method for and cannot do; none by default.
	Without []Op
	// TopologyKeys are keys of node labels. A CSI driver with keys has volumes that only some nodes can reach
	// (VOLUME_ACCESSIBILITY_CONSTRAINTS). With none, every node reaches every volume, and CreateResponse.Topology is ignored.
	TopologyKeys []string
	// MountGroup is a CSI driver that mounts volumes so that their files belong to a group (VOLUME_MOUNT_GROUP). Without it the kubelet
	// changes the files itself.
	MountGroup bool
	// MountOptions is an in-tree plugin that accepts mount options (PROV-043). CSI drivers always do.
	MountOptions bool
	// RecyclerPod is an in-tree plugin that has a pod scrub its volumes, as NFS and hostPath do (RECL-070). The pod calls Recycle.
	RecyclerPod bool
	// NoBlock is a CSI driver whose provisioner rejects claims for block volumes (XPROV-021).
	NoBlock bool
}

// InTreePrefix begins the names of in-tree plugins.
const InTreePrefix = "kubernetes.io/"

// IsInTree reports whether the backend is an in-tree plugin and not a CSI driver: by its name, or because it is a [Supporter].
func IsInTree(b Backend) bool {
	if _, ok := b.(Supporter); ok {
		return true
	}
	return strings.HasPrefix(b.Name(), InTreePrefix)
}

// Handle returns the ID under which backends know the volume: the volumeHandle of a CSI source, else the name of the PersistentVolume.
// So two PersistentVolumes with the same CSI handle are one volume, and two with the same NFS path are two volumes.
func Handle(pv *corev1.PersistentVolume) string {
	if csi := pv.Spec.CSI; csi != nil {
		return csi.VolumeHandle
	}
	return pv.Name
}
