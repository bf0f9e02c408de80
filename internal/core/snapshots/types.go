// Package snapshots has the kinds of external-snapshotter v8 as Go types: VolumeSnapshot, VolumeSnapshotContent and VolumeSnapshotClass.
// Their JSON is that of the API.
//
// The types of external-snapshotter's own client module are not used here, because that module requires client-go. Users may pass them to a
// cluster: the store converts any Go type of these kinds.
package snapshots

import (
	"encoding/json"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/volsim/volsim/api"
	"github.com/volsim/volsim/internal/core/objkinds"
	"github.com/volsim/volsim/internal/core/plain"
)

// The kinds.
const (
	SnapshotKind api.Kind = "VolumeSnapshot." + objkinds.SnapshotGroup
	ContentKind  api.Kind = "VolumeSnapshotContent." + objkinds.SnapshotGroup
	ClassKind    api.Kind = "VolumeSnapshotClass." + objkinds.SnapshotGroup
)

// Names in objects, which users and components of other projects may read and write.
const (
	// SourceFinalizer is that of every snapshot, BoundFinalizer that of one whose content is deleted with it.
	SourceFinalizer = "snapshot.storage.kubernetes.io/volumesnapshot-as-source-protection"
	BoundFinalizer  = "snapshot.storage.kubernetes.io/volumesnapshot-bound-protection"
	GroupFinalizer  = "snapshot.storage.kubernetes.io/volumesnapshot-in-group-protection"
	// ContentFinalizer keeps a content until its snapshot is deleted in the storage system.
	ContentFinalizer = "snapshot.storage.kubernetes.io/volumesnapshotcontent-bound-protection"
	// ClaimFinalizer keeps a claim while a snapshot is taken of it.
	ClaimFinalizer = "snapshot.storage.kubernetes.io/pvc-as-source-protection"
	// RestoreFinalizer is put on a snapshot by the external-provisioner while a volume is created from it.
	RestoreFinalizer = "provisioner.storage.kubernetes.io/volumesnapshot-as-source-protection"

	DefaultClass    = "snapshot.storage.kubernetes.io/is-default-class"
	BeingCreated    = "snapshot.storage.kubernetes.io/volumesnapshot-being-created"
	BeingDeleted    = "snapshot.storage.kubernetes.io/volumesnapshot-being-deleted"
	SecretName      = "snapshot.storage.kubernetes.io/deletion-secret-name"
	SecretNamespace = "snapshot.storage.kubernetes.io/deletion-secret-namespace"
	GroupHandle     = "groupsnapshot.storage.k8s.io/volumeGroupSnapshotHandle"
	ModeChange      = "snapshot.storage.kubernetes.io/allow-volume-mode-change"
)

// The deletion policies of a content.
const (
	Delete = "Delete"
	Retain = "Retain"
)

// Snapshot is a VolumeSnapshot.
type Snapshot struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`
	Spec              SnapshotSpec    `json:"spec"`
	Status            *SnapshotStatus `json:"status,omitempty"`
}

// SnapshotSpec is the desired state of a snapshot.
type SnapshotSpec struct {
	Source struct {
		Claim   *string `json:"persistentVolumeClaimName,omitempty"`
		Content *string `json:"volumeSnapshotContentName,omitempty"`
	} `json:"source"`
	Class *string `json:"volumeSnapshotClassName,omitempty"`
}

// SnapshotStatus is written by the snapshot controller.
type SnapshotStatus struct {
	Content     *string            `json:"boundVolumeSnapshotContentName,omitempty"`
	Created     *metav1.Time       `json:"creationTime,omitempty"`
	Ready       *bool              `json:"readyToUse,omitempty"`
	RestoreSize *resource.Quantity `json:"restoreSize,omitempty"`
	Error       *Error             `json:"error,omitempty"`
	Group       *string            `json:"volumeGroupSnapshotName,omitempty"`
}

// Content is a VolumeSnapshotContent.
type Content struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`
	Spec              ContentSpec    `json:"spec"`
	Status            *ContentStatus `json:"status,omitempty"`
}

// ContentSpec names the snapshot in the storage system, or the volume to take it of.
type ContentSpec struct {
	Snapshot       corev1.ObjectReference `json:"volumeSnapshotRef"`
	DeletionPolicy string                 `json:"deletionPolicy"`
	Driver         string                 `json:"driver"`
	Class          *string                `json:"volumeSnapshotClassName,omitempty"`
	Source         struct {
		Volume   *string `json:"volumeHandle,omitempty"`
		Snapshot *string `json:"snapshotHandle,omitempty"`
	} `json:"source"`
	Mode *corev1.PersistentVolumeMode `json:"sourceVolumeMode,omitempty"`
}

// ContentStatus is written by the csi-snapshotter.
type ContentStatus struct {
	Handle      *string `json:"snapshotHandle,omitempty"`
	Created     *int64  `json:"creationTime,omitempty"` // in nanoseconds since 1970
	RestoreSize *int64  `json:"restoreSize,omitempty"`
	Ready       *bool   `json:"readyToUse,omitempty"`
	Error       *Error  `json:"error,omitempty"`
	GroupHandle *string `json:"volumeGroupSnapshotHandle,omitempty"`
}

// Class is a VolumeSnapshotClass.
type Class struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`
	Driver            string            `json:"driver"`
	Parameters        map[string]string `json:"parameters,omitempty"`
	DeletionPolicy    string            `json:"deletionPolicy"`
}

// Error is the last error in a status.
type Error struct {
	Time    *metav1.Time `json:"time,omitempty"`
	Message *string      `json:"message,omitempty"`
}

// DeepCopyObject implements runtime.Object.
func (s *Snapshot) DeepCopyObject() runtime.Object { return Copy(s) }

// DeepCopyObject implements runtime.Object.
func (c *Content) DeepCopyObject() runtime.Object { return Copy(c) }

// DeepCopyObject implements runtime.Object.
func (c *Class) DeepCopyObject() runtime.Object { return Copy(c) }

// Copy returns a copy that shares nothing.
func Copy[T any](obj *T) *T {
	c := new(T)
	convert(obj, c)
	return c
}

// Of returns an object, as it is stored or read, as a Snapshot, Content or Class that shares nothing with it. Fields of another type than
// that of the API, which only a write without validation can store, are empty.
func Of[T any](obj api.Object) *T {
	t := new(T)
	if data, err := json.Marshal(obj); err == nil {
		_ = json.Unmarshal(data, t)
	}
	return t
}

// Plain returns a Snapshot, Content or Class as the store has it.
func Plain(obj api.Object) *plain.Object {
	o := &plain.Object{}
	convert(obj, o)
	return o
}

func convert(from, to any) {
	data, err := json.Marshal(from)
	if err == nil {
		err = json.Unmarshal(data, to)
	}
	if err != nil {
		panic(fmt.Sprintf("snapshots: convert %T: %v", from, err)) // all fields can be converted
	}
}

// IsReady reports whether a volume can be created from the snapshot.
func (s *Snapshot) IsReady() bool { return s.Status != nil && s.Status.Ready != nil && *s.Status.Ready }

// Bound returns the name of the content that the status names; "" for none.
func (s *Snapshot) Bound() string {
	if s.Status == nil || s.Status.Content == nil {
		return ""
	}
	return *s.Status.Content
}

// ContentName is the name of the content that is created for the snapshot.
func (s *Snapshot) ContentName() string { return "snapcontent-" + string(s.UID) }

// IsReady reports whether a volume can be created from the snapshot of the content.
func (c *Content) IsReady() bool { return c.Status != nil && c.Status.Ready != nil && *c.Status.Ready }

// IsOf reports whether the content refers to this snapshot, by name and uid.
func (c *Content) IsOf(s *Snapshot) bool {
	ref := c.Spec.Snapshot
	return ref.Name == s.Name && ref.Namespace == s.Namespace && ref.UID == s.UID
}
