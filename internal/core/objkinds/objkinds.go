// Package objkinds lists the kinds of objects that the API server of Kubernetes v1.36 serves by default, with the facts that decide how
// an object is stored, named and printed.
//
// Within volsim a kind has one name: that in the field "kind" of a manifest, followed by a dot and its API group unless the group is core
// or storage.k8s.io: Pod, StorageClass, Deployment.apps, Backup.example.com.
package objkinds

import (
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"
)

// StorageGroup is the API group of the kinds whose name needs no group, besides the core group.
const StorageGroup = "storage.k8s.io"

// Kind describes one kind.
type Kind struct {
	Group string // "" is core
	// Versions are the served versions, the preferred one first. Empty means v1.
	Versions []string
	Kind     string
	Plural   string
	// Singular is the singular name. Empty means the kind in lower case.
	Singular string
	// Short and Categories are names that kubectl accepts instead of the plural name.
	Short, Categories []string
	Namespaced        bool
	// Status and Scale report whether the kind has these subresources.
	Status, Scale bool
	// StatusAlone reports whether an update of the status leaves all metadata as it is. That is so for custom kinds, too.
	StatusAlone bool
	// Generation reports whether metadata.generation counts the changes of everything but metadata and status.
	Generation bool
	// Conditional reports whether an update must name the resourceVersion that it is based on.
	Conditional bool
	// Passive reports whether no controller of Kubernetes reconciles objects of the kind, or volsim has that controller.
	Passive bool
	// Custom marks the kind of a CustomResourceDefinition. The kinds of external-snapshotter, and ReferenceGrants, need none in the cluster.
	Custom bool
	// Converted reports whether a webhook converts objects between the versions of a custom kind. Otherwise they differ in the version only.
	Converted bool
}

// Name returns the name of the kind within volsim.
func (k *Kind) Name() string { return Name(k.Group, k.Kind) }

// Version returns the preferred version.
func (k *Kind) Version() string {
	if len(k.Versions) == 0 {
		return "v1"
	}
	return k.Versions[0]
}

// Serves reports whether the kind exists in that version.
func (k *Kind) Serves(version string) bool {
	if len(k.Versions) == 0 {
		return version == "v1"
	}
	return slices.Contains(k.Versions, version)
}

// GroupVersionKind returns the full name of the kind in its preferred version.
func (k *Kind) GroupVersionKind() schema.GroupVersionKind {
	return schema.GroupVersionKind{Group: k.Group, Version: k.Version(), Kind: k.Kind}
}

// Names returns the names that kubectl accepts: plural, singular, then short names.
func (k *Kind) Names() []string {
	singular := k.Singular
	if singular == "" {
		singular = strings.ToLower(k.Kind)
	}
	return append([]string{k.Plural, singular}, k.Short...)
}

// Name returns the name within volsim of a kind in an API group.
func Name(group, kind string) string {
	if group == "" || group == StorageGroup {
		return kind
	}
	return kind + "." + group
}

// Split returns the kind and the group in a name. The group is "" for core, and for storage.k8s.io.
func Split(name string) (kind, group string) {
	kind, group, _ = strings.Cut(name, ".")
	return kind, group
}

// byName finds the rows of the table of kinds.
var byName = func() map[string]*Kind {
	m := make(map[string]*Kind, len(kinds))
	for i := range kinds {
		m[kinds[i].Name()] = &kinds[i]
	}
	return m
}()

// Get returns the kind with that name, or nil.
func Get(name string) *Kind { return byName[name] }

// All lists the kinds by group, the core group first, in the order in which the server lists them.
func All() []*Kind {
	list := make([]*Kind, len(kinds))
	for i := range kinds {
		list[i] = &kinds[i]
	}
	return list
}

// IsGroup reports whether Kubernetes itself serves the API group, so that no CustomResourceDefinition can add a kind to it.
func IsGroup(group string) bool {
	return slices.ContainsFunc(kinds, func(k Kind) bool { return k.Group == group && !k.Custom })
}

// packages are the API groups whose Go package in k8s.io/api is not named like the first word of the group.
var packages = map[string]string{"core": "", "apiserverinternal": "internal.apiserver.k8s.io"}

// snapshotPackages are the packages of external-snapshotter's Go types, below its versioned module path, with their API groups.
var snapshotPackages = map[string]string{"volumesnapshot": SnapshotGroup, "volumegroupsnapshot": GroupSnapshotGroup}

// The API groups of snapshots and of group snapshots.
const (
	SnapshotGroup      = "snapshot.storage.k8s.io"
	GroupSnapshotGroup = "groupsnapshot.storage.k8s.io"
)

// GatewayGroup is the API group of the Gateway API, whose ReferenceGrants allow data sources in other namespaces.
const GatewayGroup = "gateway.networking.k8s.io"

// OfType returns the group, version and kind of a Go type of k8s.io/api or of external-snapshotter's client module, given the path of its
// package and its name. It reports false for other types.
func OfType(path, name string) (schema.GroupVersionKind, bool) {
	if module, rest, ok := strings.Cut(path, "/apis/"); ok && strings.HasPrefix(module, "github.com/kubernetes-csi/external-snapshotter/client/") {
		pkg, version, _ := strings.Cut(rest, "/")
		group, known := snapshotPackages[pkg]
		return schema.GroupVersionKind{Group: group, Version: version, Kind: name}, known
	}
	_, rest, ok := strings.Cut(path, "k8s.io/api/")
	pkg, version, more := strings.Cut(rest, "/")
	if !ok || !more || strings.Contains(version, "/") {
		return schema.GroupVersionKind{}, false
	}
	if group, ok := packages[pkg]; ok {
		return schema.GroupVersionKind{Group: group, Version: version, Kind: name}, true
	}
	for i := range kinds {
		if first, _, _ := strings.Cut(kinds[i].Group, "."); first == pkg {
			return schema.GroupVersionKind{Group: kinds[i].Group, Version: version, Kind: name}, true
		}
	}
	return schema.GroupVersionKind{}, false
}
