package storage

import "strings"
import "time"
import corev1 "k8s.io/api/core/v1"

// Backend is a storage system as the control plane sees it. The name is that of a CSI driver, or of an in-tree plugin, which
// begins with "kubernetes.io/"; it never changes. What else a backend can do is said by the interfaces below that it implements;
// ask [Can].
//
// All methods are called one at a time. They must not block, and must answer the same for the same history of calls: no wall
// clock, no chance, no map order. Every operation may come again although it succeeded, since replies get lost: creating by name,
// deleting, attaching, mounting and their opposites are idempotent, as the CSI specification has it. Requests belong to the
// caller: read only. A method that panics counts as having failed with code Internal ([Safely]).
type Backend interface {
	Name() string
}

// Creator makes volumes. The same name asks for the same volume again; with other properties the answer is code AlreadyExists.
type Creator interface {
	Create(CreateRequest) (CreateResponse, error)
}

// Deleter destroys volumes with their data. An unknown volume is already deleted: nil. A volume that cannot go because it is
// used is code FailedPrecondition from a CSI driver and [VolumeInUse] from an in-tree plugin (RECL-027).
type Deleter interface {
	Delete(DeleteRequest) error
}

// Recycler scrubs the data off a volume, which may then be claimed again. In-tree plugins only.
type Recycler interface {
	Recycle(RecycleRequest) error
}

// Attacher makes volumes available at nodes. Detaching what is not attached succeeds.
type Attacher interface {
	Attach(AttachRequest) (AttachResponse, error)
	Detach(DetachRequest) error
}

// Stager mounts a volume once per node, before any pod there gets it. Unstaging what is not staged succeeds.
type Stager interface {
	Stage(StageRequest) error
	Unstage(UnstageRequest) error
}

// Publisher gives a volume on a node to one pod. Unpublishing what is not published succeeds.
type Publisher interface {
	Publish(PublishRequest) error
	Unpublish(UnpublishRequest) error
}

// Expander grows a volume on the storage side. A volume that is large enough already is a success.
type Expander interface {
	Expand(ExpandRequest) (ExpandResponse, error)
}

// NodeExpander grows what is on the volume, on a node where it is staged or published.
type NodeExpander interface {
	NodeExpand(NodeExpandRequest) (NodeExpandResponse, error)
}

// Modifier changes properties of a volume that is in use or not: its VolumeAttributesClass. Parameters that the volume has already are
// a success; those that no volume can have are code InvalidArgument. CSI drivers only.
type Modifier interface {
	Modify(ModifyRequest) error
}

// Supporter marks an in-tree plugin: it is in charge of volumes with the sources that it supports. The source may be nil.
type Supporter interface {
	Supports(*corev1.PersistentVolumeSource) bool
}

// Delayer says how long a call takes. The call waits so long and then takes effect. id is the volume's handle, or the name for
// Create. A backend that is no Delayer answers at once.
type Delayer interface {
	Delay(op Op, id string) time.Duration
}

// Capable lets a backend deny what its methods seem to promise; see [Can].
type Capable interface {
	Can(op Op) bool
}

// MountOptioner tells whether an in-tree plugin takes mount options; without it, it does not (PROV-043). CSI drivers always do.
type MountOptioner interface {
	SupportsMountOptions() bool
}

// Topological tells whether the volumes of a CSI driver can be reached from some nodes only (VOLUME_ACCESSIBILITY_CONSTRAINTS).
// Without it they are taken to be reachable from everywhere, and CreateResponse.Topology is not looked at.
type Topological interface {
	HasTopology() bool
}

// Rebooter is told when a node loses everything that is staged or published on it.
type Rebooter interface {
	Reboot(node string)
}

// InTreePrefix begins the names of in-tree plugins.
const InTreePrefix = "kubernetes.io/"

// IsInTree reports whether the backend is an in-tree plugin, and not a CSI driver: by its name, or because it is a [Supporter].
func IsInTree(b Backend) bool {
	if _, ok := b.(Supporter); ok {
		return true
	}
	return strings.HasPrefix(b.Name(), InTreePrefix)
}

// TakesMountOptions reports whether a class of the backend may have mount options.
func TakesMountOptions(b Backend) bool {
	if !IsInTree(b) {
		return true
	}
	// PROV-043: a plugin that says nothing does not support them.
	m, ok := b.(MountOptioner)
	return ok && m.SupportsMountOptions()
}

// HasTopology reports whether the backend is [Topological] and says yes.
func HasTopology(b Backend) bool {
	t, ok := b.(Topological)
	return ok && t.HasTopology()
}

// DelayOf is how long the call takes: what a [Delayer] says, else zero. Less than zero is zero, and so is a Delayer that panics.
func DelayOf(b Backend, op Op, id string) time.Duration {
	d, ok := b.(Delayer)
	if !ok {
		return 0
	}
	var delay time.Duration
	if err := Safely(b.Name(), op, func() error { delay = d.Delay(op, id); return nil }); err != nil {
		return 0
	}
	return max(delay, 0)
}

// Handle is the ID under which backends know the volume: the volumeHandle of a CSI source, else the name of the PersistentVolume.
// So two PersistentVolumes with one CSI handle are one volume, while two with one NFS path are two.
func Handle(pv *corev1.PersistentVolume) string {
	if csi := pv.Spec.CSI; csi != nil {
		return csi.VolumeHandle
	}
	return pv.Name
}
