package storage

import (
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
)

// Segment is a set of node labels that nodes with access to a volume have, such as {"topology.example.com/zone": "a"}.
type Segment map[string]string

// PodRef identifies the pod that a volume is mounted for.
type PodRef struct {
	Namespace, Name string    // of the pod
	UID             types.UID // of the pod; "" if it is not known
}

// String returns namespace/name.
func (p PodRef) String() string { return p.Namespace + "/" + p.Name }

// CreateRequest asks for a volume. Only Name must be set.
type CreateRequest struct {
	Name         string                              // identifies the request, and becomes the name of the PersistentVolume
	Size         int64                               // bytes requested; 0 leaves the size to the backend
	Limit        int64                               // maximum size in bytes; 0 is no limit
	Modes        []corev1.PersistentVolumeAccessMode // of the claim; none means ReadWriteOnce
	VolumeMode   corev1.PersistentVolumeMode         // of the claim; "" is Filesystem
	Parameters   map[string]string                   // of the class
	MountOptions []string                            // of the class
	Class        string                              // name of the class, for in-tree plugins
	Claim        types.NamespacedName                // the claim, for in-tree plugins
	Node         string                              // the selected node; "" if none
	Requisite    []Segment                           // at least one of them must reach the volume; none is no requirement
	Preferred    []Segment                           // segments to try first, in order
	Content      *corev1.TypedObjectReference        // the data source to fill the volume from; nil is an empty volume
}

// CreateResponse describes the new volume.
type CreateResponse struct {
	ID       string                        // the volumeHandle; for in-tree plugins the requested name
	Size     int64                         // bytes; 0 means as requested (XPROV-030)
	Source   corev1.PersistentVolumeSource // source of the PersistentVolume; in-tree plugins only
	Context  map[string]string             // volumeAttributes of the PersistentVolume; CSI drivers only
	Topology []Segment                     // segments that reach the volume; CSI drivers with topology only
	Content  bool                          // confirms that the data source of the request was used (XPROV-033)
}

// DeleteRequest asks to destroy a volume.
type DeleteRequest struct {
	ID     string                         // of the volume
	Source *corev1.PersistentVolumeSource // of the PersistentVolume, for in-tree plugins; may be nil
	UID    types.UID                      // of the PersistentVolume; "" if there is none
}

// RecycleRequest asks to scrub a volume.
type RecycleRequest struct {
	ID     string                         // of the volume
	Source *corev1.PersistentVolumeSource // of the PersistentVolume; may be nil
}

// AttachRequest asks to make a volume available on a node.
type AttachRequest struct {
	ID, Node string                            // of the volume; name of the node
	Mode     corev1.PersistentVolumeAccessMode // the one mode that represents those of the PersistentVolume (ATT-176); "" is ReadWriteOnce
	ReadOnly bool                              // attach for reading only
	Context  map[string]string                 // volumeAttributes
}

// AttachResponse is what the node needs to find the volume.
type AttachResponse struct {
	Context map[string]string // becomes attachmentMetadata
}

// DetachRequest undoes an attachment.
type DetachRequest struct {
	ID, Node string // of the volume; name of the node, "" for every node
}

// StageRequest asks to mount a volume on a node for all pods there.
type StageRequest struct {
	ID, Node, Path string                            // of the volume; name of the node; where to mount
	Mode           corev1.PersistentVolumeAccessMode // the first mode of the PersistentVolume (MNT-301); "" is ReadWriteOnce
	VolumeMode     corev1.PersistentVolumeMode       // "" is Filesystem
	FSType         string                            // "" leaves it to the backend
	MountOptions   []string                          // of the PersistentVolume
	AttachContext  map[string]string                 // AttachResponse.Context
	Context        map[string]string                 // volumeAttributes
	Group          *int64                            // group of the files, only with Capabilities.MountGroup; nil for none
}

// UnstageRequest undoes a StageRequest.
type UnstageRequest struct {
	ID, Node, Path string // of the volume; name of the node; where it is mounted
}

// PublishRequest asks to mount a volume for a pod.
type PublishRequest struct {
	ID, Node, Target string                            // of the volume; name of the node; where to mount
	StagingPath      string                            // where it is staged; "" if the backend does not stage
	Pod              PodRef                            // the pod
	Mode             corev1.PersistentVolumeAccessMode // as in StageRequest
	VolumeMode       corev1.PersistentVolumeMode       // "" is Filesystem
	ReadOnly         bool                              // mount for reading only
	FSType           string                            // "" leaves it to the backend
	MountOptions     []string                          // of the PersistentVolume
	AttachContext    map[string]string                 // AttachResponse.Context
	Context          map[string]string                 // volumeAttributes
	Source           *corev1.PersistentVolumeSource    // for in-tree plugins; may be nil
	Group            *int64                            // as in StageRequest
}

// UnpublishRequest undoes a PublishRequest.
type UnpublishRequest struct {
	ID, Node, Target string // of the volume; name of the node; where it is mounted
}

// ExpandRequest asks for a larger volume.
type ExpandRequest struct {
	ID         string                      // of the volume
	Size       int64                       // bytes requested
	Limit      int64                       // maximum size in bytes; 0 is no limit
	VolumeMode corev1.PersistentVolumeMode // "" is Filesystem
}

// ExpandResponse is the result of an ExpandRequest.
type ExpandResponse struct {
	Size          int64 // bytes that the volume has now
	NodeExpansion bool  // the file system must be grown on a node
}

// NodeExpandRequest asks to grow the file system of a volume on a node.
type NodeExpandRequest struct {
	ID, Node    string                      // of the volume; name of the node
	Path        string                      // where it is published
	StagingPath string                      // where it is staged; "" if the backend does not stage
	Size        int64                       // bytes requested; 0 is all there is
	VolumeMode  corev1.PersistentVolumeMode // "" is Filesystem
}

// NodeExpandResponse is the result of a NodeExpandRequest.
type NodeExpandResponse struct {
	Size int64 // bytes; 0 means as requested
}

// ModifyRequest asks to change properties of a volume. Properties that it does not name stay.
type ModifyRequest struct {
	ID         string            // of the volume
	Parameters map[string]string // of the VolumeAttributesClass
}

// DataHolder is a backend whose volumes pods can write and read. The volume must be published to the pod on the
// node; on a backend that attaches, it must also be attached there. Containers on simulated nodes use it.
type DataHolder interface {
	Write(id string, pod PodRef, node string, at time.Time) (Write, error)
	Read(id string, pod PodRef, node string) (Write, error)
}

// Write is one write of a pod. It replaces the content of the volume. The zero value is an empty volume.
type Write struct {
	Version int       // counts the writes in a volume's life, from 1
	Pod     PodRef    // which pod wrote
	Node    string    // on which node
	At      time.Time // in virtual time
}
