package store

import (
	"github.com/volsim/volsim/api"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// GroupVersionKind returns the full name of a kind, in core/v1 or storage.k8s.io/v1, or the zero value for an unknown kind.
func GroupVersionKind(k api.Kind) schema.GroupVersionKind {
	for _, r := range resources {
		if r.kind == k {
			return schema.GroupVersionKind{Group: r.group, Version: "v1", Kind: string(k)}
		}
	}
	return schema.GroupVersionKind{}
}

// Kinds lists every simulated kind, in the order in which an administrator would apply them.
func Kinds() []api.Kind {
	kinds := make([]api.Kind, len(resources))
	for i, r := range resources {
		kinds[i] = r.kind
	}
	return kinds
}

// resource is one row of the resource matrix (API-030).
type resource struct {
	kind          api.Kind
	group         string // "" is core
	plural        string
	namespaced    bool // API-009
	status        bool // has a /status subresource
	unconditional bool // an update without resourceVersion overwrites (API-012)
	graceful      bool // deletion has a grace period (API-062)
}

const storageGroup = "storage.k8s.io"

// resources is the resource matrix (API-030, API-009).
var resources = []resource{
	{kind: api.StorageClass, group: storageGroup, plural: "storageclasses", unconditional: true},
	{kind: api.VolumeAttributesClass, group: storageGroup, plural: "volumeattributesclasses", unconditional: true},
	{kind: api.CSIDriver, group: storageGroup, plural: "csidrivers"},
	{kind: api.Node, plural: "nodes", status: true, unconditional: true},
	{kind: api.CSINode, group: storageGroup, plural: "csinodes"},
	{kind: api.CSIStorageCapacity, group: storageGroup, plural: "csistoragecapacities", namespaced: true},
	{kind: api.PersistentVolume, plural: "persistentvolumes", status: true, unconditional: true},
	{kind: api.PersistentVolumeClaim, plural: "persistentvolumeclaims", namespaced: true, status: true, unconditional: true},
	{kind: api.Pod, plural: "pods", namespaced: true, status: true, unconditional: true, graceful: true},
	{kind: api.VolumeAttachment, group: storageGroup, plural: "volumeattachments", status: true},
	{kind: api.Event, plural: "events", namespaced: true, unconditional: true},
}

func resourceOf(k api.Kind) resource {
	for _, r := range resources {
		if r.kind == k {
			return r
		}
	}
	panic("store: no resource of kind " + string(k))
}

// groupResource returns the name of the resource in errors: plural, with the group for all but core (API-026).
func (r resource) groupResource() schema.GroupResource {
	return schema.GroupResource{Group: r.group, Resource: r.plural}
}

func (r resource) groupKind() schema.GroupKind {
	return schema.GroupKind{Group: r.group, Kind: string(r.kind)}
}
