package storage

import "maps"
import corev1 "k8s.io/api/core/v1"
import "k8s.io/apimachinery/pkg/types"

// Segment is a place from which volumes can be reached, such as {"topology.example.com/zone": "a"}.
type Segment map[string]string

func (s Segment) Equal(other Segment) bool { return maps.Equal(s, other) }

// PodRef identifies the pod that a volume is mounted for.
type PodRef struct {
	Namespace, Name string
	UID             types.UID
}

// String is namespace/name.
func (p PodRef) String() string { return p.Namespace + "/" + p.Name }

// Same compares by UID; by name when one side has no UID.
func (p PodRef) Same(other PodRef) bool {
	if p.UID != "" && other.UID != "" {
		return p.UID == other.UID
	}
	return p.Namespace == other.Namespace && p.Name == other.Name
}

// CreateRequest asks for a volume. Only Name must be set.
type CreateRequest struct {
	Name  string // identifies the request; the name of the PersistentVolume to be
	Size  int64  // bytes wanted; 0 leaves it to the backend
	Limit int64  // most bytes allowed; 0 is no limit
	// Modes are the claim's access modes; none stands for ReadWriteOnce.
	Modes        []corev1.PersistentVolumeAccessMode
	VolumeMode   corev1.PersistentVolumeMode // "" is Filesystem
	Parameters   map[string]string           // of the class
	MountOptions []string                    // of the class
	Class        string                      // name of the class, for in-tree plugins
	Claim        types.NamespacedName        // the claim, for in-tree plugins
	Node         string                      // the selected node, "" if none
	// Requisite are the segments of which the volume must be reachable from at least one; Preferred those to try first, in
	// order. For drivers with topology; none is no requirement.
	Requisite, Preferred []Segment
	// Content is the data source the volume is to be filled from; nil is an empty volume.
	Content *corev1.TypedObjectReference
}

// CreateResponse describes the volume made.
type CreateResponse struct {
	ID   string // the volumeHandle; for in-tree plugins the name asked for
	Size int64  // bytes; 0 means as requested (XPROV-030)
	// Source is what goes into the PersistentVolume. In-tree plugins only.
	Source corev1.PersistentVolumeSource
	// Context goes into volumeAttributes. CSI drivers only.
	Context map[string]string
	// Topology are the segments that can reach the volume. CSI drivers with topology only.
	Topology []Segment
	// Content confirms that the data source of the request was used (XPROV-033).
	Content bool
}

// DeleteRequest asks to destroy a volume.
type DeleteRequest struct {
	ID     string
	Source *corev1.PersistentVolumeSource // of the PersistentVolume, for in-tree plugins; may be nil
	UID    types.UID                      // of the PersistentVolume, "" if there is none
}

// RecycleRequest asks to scrub a volume.
type RecycleRequest struct {
	ID     string
	Source *corev1.PersistentVolumeSource
}

// AttachRequest asks to make a volume available at a node. Mode is the one mode that stands for those of the PersistentVolume
// (ATT-176); "" is ReadWriteOnce.
type AttachRequest struct {
	ID, Node string
	Mode     corev1.PersistentVolumeAccessMode
	ReadOnly bool
	Context  map[string]string // volumeAttributes
}

// AttachResponse carries what the node needs to find the volume.
type AttachResponse struct {
	Context map[string]string // becomes attachmentMetadata
}

// DetachRequest is the opposite. Without Node it means every node.
type DetachRequest struct {
	ID, Node string
}

// StageRequest asks to mount a volume on a node, at Path, for all pods there. Mode is the first access mode of the
// PersistentVolume (MNT-301); "" is ReadWriteOnce.
type StageRequest struct {
	ID, Node, Path string
	Mode           corev1.PersistentVolumeAccessMode
	VolumeMode     corev1.PersistentVolumeMode // "" is Filesystem
	FSType         string
	MountOptions   []string
	AttachContext  map[string]string // AttachResponse.Context
	Context        map[string]string // volumeAttributes
	// Group is the group that the files are to belong to, nil for none. Only a driver that mounts with a group is told (MountGrouper).
	Group *int64
}

// UnstageRequest is the opposite.
type UnstageRequest struct {
	ID, Node, Path string
}

// PublishRequest asks to give a volume to a pod, at the path Target.
type PublishRequest struct {
	ID, Node, Target string
	StagingPath      string // where it is staged; "" if the backend does not stage
	Pod              PodRef
	Mode             corev1.PersistentVolumeAccessMode // as in StageRequest
	VolumeMode       corev1.PersistentVolumeMode       // "" is Filesystem
	ReadOnly         bool
	FSType           string
	MountOptions     []string
	AttachContext    map[string]string
	Context          map[string]string
	Source           *corev1.PersistentVolumeSource // for in-tree plugins; may be nil
	Group            *int64                         // as in StageRequest
}

// UnpublishRequest is the opposite.
type UnpublishRequest struct {
	ID, Node, Target string
}

// ExpandRequest asks for a larger volume.
type ExpandRequest struct {
	ID         string
	Size       int64 // bytes wanted
	Limit      int64 // most bytes allowed; 0 is no limit
	VolumeMode corev1.PersistentVolumeMode
}

// ExpandResponse tells the size reached, and whether a node has to do the rest.
type ExpandResponse struct {
	Size          int64
	NodeExpansion bool
}

// NodeExpandRequest asks to make use of the volume's size on a node.
type NodeExpandRequest struct {
	ID, Node    string
	Path        string // where it is published
	StagingPath string
	Size        int64 // bytes wanted; 0 is all there is
	VolumeMode  corev1.PersistentVolumeMode
}

// NodeExpandResponse tells the size reached; 0 means as requested.
type NodeExpandResponse struct {
	Size int64
}

// ModifyRequest asks to give a volume other properties. Those that are not named stay.
type ModifyRequest struct {
	ID         string
	Parameters map[string]string // of the VolumeAttributesClass
}
