package storage

import (
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
)

// Segment is a set of node labels, such as {"topology.example.com/zone": "a"}. It stands for the nodes that have them all.
type Segment map[string]string

// CreateRequest asks for a volume. Name is always set; the other fields may be zero.
type CreateRequest struct {
	Name         string                              // identifies the request; becomes the name of the PersistentVolume
	Size         int64                               // bytes requested; 0: the backend chooses
	Limit        int64                               // maximum size in bytes; 0: no limit
	Modes        []corev1.PersistentVolumeAccessMode // of the claim; none: ReadWriteOnce
	VolumeMode   corev1.PersistentVolumeMode         // of the claim; "": Filesystem
	Parameters   map[string]string                   // of the StorageClass
	MountOptions []string                            // of the StorageClass
	FSType       string                              // file system that the StorageClass names; "" leaves it to the backend
	Mutable      map[string]string                   // parameters of the VolumeAttributesClass of the claim
	Requisite    []Segment                           // at least one of them must reach the volume; none: no requirement
	Preferred    []Segment                           // segments to try first, in order
	Content      *corev1.TypedObjectReference        // the data source of the claim (not data); nil: an empty volume
	ContentID    string                              // handle of the volume or snapshot that Content stands for
	Secrets      map[string]string                   // content of the provisioner Secret that the StorageClass names; nil for none

	Class string               // name of the StorageClass; in-tree plugins only
	Claim types.NamespacedName // the claim; in-tree plugins only
	Node  string               // the selected node, "" if none; in-tree plugins only
}

// Volume describes a new volume.
type Volume struct {
	ID       string                        // required: the handle; for in-tree plugins the requested name
	Size     int64                         // bytes; 0 means as requested (XPROV-030)
	Context  map[string]string             // volumeAttributes of the PersistentVolume
	Topology []Segment                     // segments that reach the volume; ignored without Capabilities.TopologyKeys
	Content  bool                          // confirms that the data source of the request was used (XPROV-033)
	Source   corev1.PersistentVolumeSource // of the PersistentVolume; in-tree plugins only
}

// DeleteRequest asks to destroy a volume.
type DeleteRequest struct {
	ID  string    // handle of the volume
	UID types.UID // of the PersistentVolume; "" if there is none
	// Secrets are those of the CreateRequest, read again; nil for none, and if the Secret is gone.
	Secrets map[string]string
	Source  *corev1.PersistentVolumeSource // of the PersistentVolume; in-tree plugins only, and may be nil
}

// ExpandRequest asks for a larger volume.
type ExpandRequest struct {
	ID         string                      // handle of the volume
	Size       int64                       // bytes requested
	Limit      int64                       // maximum size in bytes; 0: no limit
	VolumeMode corev1.PersistentVolumeMode // "": Filesystem

	// The other fields are set for CSI drivers only. Mode is the one mode that represents those of the PersistentVolume, as in Attach.
	Mode         corev1.PersistentVolumeAccessMode
	FSType       string            // of the PersistentVolume
	MountOptions []string          // of the PersistentVolume
	Secrets      map[string]string // content of controllerExpandSecretRef of the PersistentVolume; nil for none
}

// CapacityRequest asks how much can still be created.
type CapacityRequest struct {
	Parameters map[string]string // of the StorageClass, all of them
	Segment    Segment           // where; empty: everywhere, for a driver without topology
}

// Capacity is how much can still be created.
type Capacity struct {
	Available int64 // bytes of all new volumes together
	Largest   int64 // bytes of the largest volume; 0: not known
}

// ModifyRequest asks to change properties of a volume.
type ModifyRequest struct {
	ID         string            // handle of the volume
	Parameters map[string]string // of the VolumeAttributesClass
	Secrets    map[string]string // content of the Secret that the PersistentVolume names for it; nil for none
}

// NodeRequest asks for an operation on a volume at a node: Attach, Detach, Stage, Unstage, Publish, Unpublish or NodeExpand. ID and Node
// are always set. The comment of each other field lists the operations that set it; it is zero in requests for the others.
type NodeRequest struct {
	ID   string // handle of the volume
	Node string // name of the node; Detach: "" is every node

	// NodeID is the name of the node at the driver, as in [NodeInfo]: Attach, Detach.
	NodeID string
	// StagingPath is where the volume is staged: Stage, Unstage; Publish and NodeExpand of a backend that stages.
	StagingPath string
	// TargetPath is where the volume is published: Publish, Unpublish, NodeExpand.
	TargetPath string
	// Pod is the pod that gets the volume: Publish.
	Pod PodRef

	// Mode is the access mode: Attach, Stage, Publish, NodeExpand. Attach has the one mode that represents those of the PersistentVolume
	// (ATT-176), the others the first of them (MNT-301). "" is ReadWriteOnce.
	Mode corev1.PersistentVolumeAccessMode
	// VolumeMode is set by Attach, Stage, Publish, NodeExpand. "" is Filesystem.
	VolumeMode corev1.PersistentVolumeMode
	// ReadOnly asks for access without writing: Attach, Publish.
	ReadOnly bool
	// FSType is the type of the file system: Attach, Stage, Publish, NodeExpand. "" leaves it to the backend, and is used for block volumes.
	FSType string
	// MountOptions are those of the PersistentVolume: Attach, Stage, Publish, NodeExpand; none for block volumes.
	MountOptions []string
	// Group is the group of the files: Stage, Publish. It is nil for none, and for a backend without Capabilities.MountGroup.
	Group *int64

	// Context has the volumeAttributes of the PersistentVolume: Attach, Stage, Publish.
	Context map[string]string
	// AttachContext is the result of Attach: Stage, Publish.
	AttachContext map[string]string

	// Secrets is the content of the Secret that the PersistentVolume, or the volume in the pod, names for the call: Attach, Detach, Stage,
	// Publish, NodeExpand. It is nil for none.
	Secrets map[string]string

	// Size is the requested size in bytes: NodeExpand. 0 is the size of the volume.
	Size int64

	// Source is that of the PersistentVolume: Publish by in-tree plugins. It may be nil.
	Source *corev1.PersistentVolumeSource
}

// PodRef identifies the pod that uses a volume.
type PodRef struct {
	Namespace, Name string    // of the pod
	UID             types.UID // of the pod; "" if it is not known
}

// String returns namespace/name.
func (p PodRef) String() string { return p.Namespace + "/" + p.Name }

// DataHolder is a backend whose volumes pods can write and read. Containers on simulated nodes use it. The volume must be published to the
// pod on the node and, if the backend attaches, be attached there. Read returns the last write, or the zero Write.
type DataHolder interface {
	Write(id string, pod PodRef, node string, at time.Time) (Write, error)
	Read(id string, pod PodRef, node string) (Write, error)
}

// ContentReporter is a backend that can say what a volume or snapshot contains, so that invariants cover restored data. ok is false for one
// that does not exist.
type ContentReporter interface {
	VolumeContent(id string) (content Write, ok bool)
	SnapshotContent(id string) (content Write, ok bool)
}

// Write is one write of a pod. It replaces the content of the volume. The zero value is an empty volume.
type Write struct {
	Version int       // counts the writes to a volume since its creation, from 1
	Pod     PodRef    // the pod that wrote
	Node    string    // the node on which it ran
	At      time.Time // in virtual time
}
