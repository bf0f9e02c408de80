package store

import (
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// Kind names one type of object, spelled as in the field "kind" of a manifest.
type Kind string

// The kinds that a store holds.
const (
	PersistentVolume      Kind = "PersistentVolume"
	PersistentVolumeClaim Kind = "PersistentVolumeClaim"
	StorageClass          Kind = "StorageClass"
	Pod                   Kind = "Pod"
	Node                  Kind = "Node"
	VolumeAttachment      Kind = "VolumeAttachment"
	CSIDriver             Kind = "CSIDriver"
	CSINode               Kind = "CSINode"
	VolumeAttributesClass Kind = "VolumeAttributesClass"
	CSIStorageCapacity    Kind = "CSIStorageCapacity"
	Event                 Kind = "Event"
)

// GroupVersionKind is the full name of the kind: core/v1, or storage.k8s.io/v1. The zero value for an unknown kind.
func (k Kind) GroupVersionKind() schema.GroupVersionKind {
	for _, r := range resources {
		if r.kind == k {
			return schema.GroupVersionKind{Group: r.group, Version: "v1", Kind: string(k)}
		}
	}
	return schema.GroupVersionKind{}
}

// Kinds lists every kind that a store holds, in the order in which an administrator would apply them.
func Kinds() []Kind {
	kinds := make([]Kind, len(resources))
	for i, r := range resources {
		kinds[i] = r.kind
	}
	return kinds
}

// KindOf is the kind of the given Go object, "" when a store does not hold its type.
func KindOf(obj any) Kind {
	switch obj.(type) {
	case *corePV:
		return PersistentVolume
	case *corePVC:
		return PersistentVolumeClaim
	case *storageClass:
		return StorageClass
	case *corePod:
		return Pod
	case *coreNode:
		return Node
	case *volumeAttachment:
		return VolumeAttachment
	case *csiDriver:
		return CSIDriver
	case *csiNode:
		return CSINode
	case *volumeAttributesClass:
		return VolumeAttributesClass
	case *csiStorageCapacity:
		return CSIStorageCapacity
	case *coreEvent:
		return Event
	}
	return ""
}

// resource is one row of the resource matrix (API-030).
type resource struct {
	kind          Kind
	group         string // "" is core
	plural        string
	namespaced    bool // API-009
	status        bool // has a /status subresource
	unconditional bool // an update without resourceVersion overwrites (API-012)
	graceful      bool // deletion has a grace period (API-062)
}

const storageGroup = "storage.k8s.io"

// API-030, API-009: which kind has what.
var resources = []resource{
	{kind: StorageClass, group: storageGroup, plural: "storageclasses", unconditional: true},
	{kind: VolumeAttributesClass, group: storageGroup, plural: "volumeattributesclasses", unconditional: true},
	{kind: CSIDriver, group: storageGroup, plural: "csidrivers"},
	{kind: Node, plural: "nodes", status: true, unconditional: true},
	{kind: CSINode, group: storageGroup, plural: "csinodes"},
	{kind: CSIStorageCapacity, group: storageGroup, plural: "csistoragecapacities", namespaced: true},
	{kind: PersistentVolume, plural: "persistentvolumes", status: true, unconditional: true},
	{kind: PersistentVolumeClaim, plural: "persistentvolumeclaims", namespaced: true, status: true, unconditional: true},
	{kind: Pod, plural: "pods", namespaced: true, status: true, unconditional: true, graceful: true},
	{kind: VolumeAttachment, group: storageGroup, plural: "volumeattachments", status: true},
	{kind: Event, plural: "events", namespaced: true, unconditional: true},
}

func resourceOf(k Kind) resource {
	for _, r := range resources {
		if r.kind == k {
			return r
		}
	}
	panic("store: no resource of kind " + string(k))
}

// groupResource is the name errors use for the resource: plural, with the group for all but core (API-026).
func (r resource) groupResource() schema.GroupResource {
	return schema.GroupResource{Group: r.group, Resource: r.plural}
}

func (r resource) groupKind() schema.GroupKind {
	return schema.GroupKind{Group: r.group, Kind: string(r.kind)}
}
