package snapshots

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/volsim/volsim/api"
	"github.com/volsim/volsim/internal/core/objkinds"
)

// The kinds of group snapshots.
const (
	GroupKind        api.Kind = "VolumeGroupSnapshot." + objkinds.GroupSnapshotGroup
	GroupContentKind api.Kind = "VolumeGroupSnapshotContent." + objkinds.GroupSnapshotGroup
	GroupClassKind   api.Kind = "VolumeGroupSnapshotClass." + objkinds.GroupSnapshotGroup
)

// Kinds are the kinds for which external-snapshotter has controllers.
var Kinds = []api.Kind{SnapshotKind, ContentKind, ClassKind, GroupKind, GroupContentKind, GroupClassKind}

// Names in the objects of group snapshots.
const (
	// GroupBoundFinalizer keeps a group snapshot until its content is gone.
	GroupBoundFinalizer = "groupsnapshot.storage.kubernetes.io/volumegroupsnapshot-bound-protection"
	// GroupContentFinalizer keeps a content until its group snapshot is deleted in the storage system.
	GroupContentFinalizer = "groupsnapshot.storage.kubernetes.io/volumegroupsnapshotcontent-bound-protection"

	DefaultGroupClass    = "groupsnapshot.storage.kubernetes.io/is-default-class"
	GroupBeingCreated    = "groupsnapshot.storage.kubernetes.io/volumegroupsnapshot-being-created"
	GroupBeingDeleted    = "groupsnapshot.storage.kubernetes.io/volumegroupsnapshot-being-deleted"
	GroupSecretName      = "groupsnapshot.storage.kubernetes.io/deletion-secret-name"
	GroupSecretNamespace = "groupsnapshot.storage.kubernetes.io/deletion-secret-namespace"
)

// Group is a VolumeGroupSnapshot.
type Group struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`
	Spec              GroupSpec    `json:"spec"`
	Status            *GroupStatus `json:"status,omitempty"`
}

// GroupSpec is the desired state of a group snapshot.
type GroupSpec struct {
	Source struct {
		Selector *metav1.LabelSelector `json:"selector,omitempty"`
		Content  *string               `json:"volumeGroupSnapshotContentName,omitempty"`
	} `json:"source"`
	Class *string `json:"volumeGroupSnapshotClassName,omitempty"`
}

// GroupStatus is written by the snapshot controller.
type GroupStatus struct {
	Content *string      `json:"boundVolumeGroupSnapshotContentName,omitempty"`
	Created *metav1.Time `json:"creationTime,omitempty"`
	Ready   *bool        `json:"readyToUse,omitempty"`
	Error   *Error       `json:"error,omitempty"`
}

// GroupContent is a VolumeGroupSnapshotContent.
type GroupContent struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`
	Spec              GroupContentSpec    `json:"spec"`
	Status            *GroupContentStatus `json:"status,omitempty"`
}

// GroupContentSpec names the group snapshot in the storage system, or the volumes to take it of.
type GroupContentSpec struct {
	Group          corev1.ObjectReference `json:"volumeGroupSnapshotRef"`
	DeletionPolicy string                 `json:"deletionPolicy"`
	Driver         string                 `json:"driver"`
	Class          *string                `json:"volumeGroupSnapshotClassName,omitempty"`
	Source         struct {
		Volumes []string      `json:"volumeHandles,omitempty"`
		Handles *GroupHandles `json:"groupSnapshotHandles,omitempty"`
	} `json:"source"`
}

// GroupHandles are the handles of a group snapshot that exists.
type GroupHandles struct {
	Group     string   `json:"volumeGroupSnapshotHandle"`
	Snapshots []string `json:"volumeSnapshotHandles"`
}

// GroupContentStatus is written by the csi-snapshotter.
type GroupContentStatus struct {
	Handle  *string      `json:"volumeGroupSnapshotHandle,omitempty"`
	Created *metav1.Time `json:"creationTime,omitempty"`
	Ready   *bool        `json:"readyToUse,omitempty"`
	Error   *Error       `json:"error,omitempty"`
	Members []MemberInfo `json:"volumeSnapshotInfoList,omitempty"`
}

// MemberInfo is one snapshot of a group.
type MemberInfo struct {
	Volume      string `json:"volumeHandle,omitempty"`
	Snapshot    string `json:"snapshotHandle,omitempty"`
	Created     *int64 `json:"creationTime,omitempty"` // in nanoseconds since 1970
	Ready       *bool  `json:"readyToUse,omitempty"`
	RestoreSize *int64 `json:"restoreSize,omitempty"`
}

// DeepCopyObject implements runtime.Object.
func (g *Group) DeepCopyObject() runtime.Object { return Copy(g) }

// DeepCopyObject implements runtime.Object.
func (c *GroupContent) DeepCopyObject() runtime.Object { return Copy(c) }

// IsReady reports whether all snapshots of the group are ready.
func (g *Group) IsReady() bool { return g.Status != nil && g.Status.Ready != nil && *g.Status.Ready }

// Bound returns the name of the content that the status names; "" for none.
func (g *Group) Bound() string {
	if g.Status == nil || g.Status.Content == nil {
		return ""
	}
	return *g.Status.Content
}

// ContentName is the name of the content that is created for the group snapshot.
func (g *Group) ContentName() string { return "groupsnapcontent-" + string(g.UID) }

// Owner returns the owner reference of the snapshots of the group.
func (g *Group) Owner() metav1.OwnerReference {
	return metav1.OwnerReference{APIVersion: objkinds.GroupSnapshotGroup + "/v1", Kind: "VolumeGroupSnapshot", Name: g.Name, UID: g.UID}
}

// IsReady reports whether all snapshots of the content are ready.
func (c *GroupContent) IsReady() bool {
	return c.Status != nil && c.Status.Ready != nil && *c.Status.Ready
}

// IsOf reports whether the content refers to this group snapshot, by name and uid.
func (c *GroupContent) IsOf(g *Group) bool {
	ref := c.Spec.Group
	return ref.Name == g.Name && ref.Namespace == g.Namespace && ref.UID == g.UID
}
