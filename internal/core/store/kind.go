package store

import (
	"github.com/volsim/volsim/api"
	"github.com/volsim/volsim/internal/core/objkinds"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// GroupVersionKind returns the full name of a kind in its preferred version, or the zero value for an unknown kind. It does not know the
// kinds of CustomResourceDefinitions; see Store.GroupVersionKind.
func GroupVersionKind(k api.Kind) schema.GroupVersionKind {
	if r, ok := typedResource(k); ok {
		return schema.GroupVersionKind{Group: r.group, Version: "v1", Kind: string(k)}
	}
	if known := objkinds.Get(string(k)); known != nil {
		return known.GroupVersionKind()
	}
	return schema.GroupVersionKind{}
}

// HasTypedTable reports whether the store has a table of its own for the kind, whose objects are of a Go type of k8s.io/api. Objects of other kinds
// are *plain.Object.
func HasTypedTable(k api.Kind) bool {
	_, ok := typedResource(k)
	return ok
}

// Kinds lists the kinds with typed tables, in the order in which an administrator would apply them. Store.Kinds lists the others, too.
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
	other         bool // has no typed table
	custom        bool // is that of a CustomResourceDefinition
	anyFinalizers bool // finalizers need no domain (API-037)
	names         nameRule
}

// nameRule is the syntax of the names of a kind (API-032).
type nameRule int

const (
	subdomainNames nameRule = iota
	labelNames
	segmentNames // anything that can be one segment of a path
	addressNames // IP addresses
)

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
	{kind: api.Event, plural: "events", namespaced: true, unconditional: true, names: segmentNames, anyFinalizers: true},
}

// typedResource returns the resource of a kind with a typed table.
func typedResource(k api.Kind) (resource, bool) {
	for _, r := range resources {
		if r.kind == k {
			return r, true
		}
	}
	return resource{}, false
}

func resourceOf(k api.Kind) resource {
	r, ok := typedResource(k)
	if !ok {
		panic("store: no resource of kind " + string(k))
	}
	return r
}

// groupResource returns the name of the resource in errors: plural, with the group for all but core (API-026).
func (r resource) groupResource() schema.GroupResource {
	return schema.GroupResource{Group: r.group, Resource: r.plural}
}

func (r resource) groupKind() schema.GroupKind {
	kind, _ := objkinds.Split(string(r.kind))
	return schema.GroupKind{Group: r.group, Kind: kind}
}
