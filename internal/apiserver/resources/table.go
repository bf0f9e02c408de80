package resources

import (
	"cmp"
	"slices"
	"strings"

	authenticationv1 "k8s.io/api/authentication/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/volsim/volsim/api"
	"github.com/volsim/volsim/internal/apiserver/kinds"
	"github.com/volsim/volsim/internal/apiserver/snapshotdefinitions"
	"github.com/volsim/volsim/internal/core/objkinds"
	"github.com/volsim/volsim/internal/core/plain"
	"github.com/volsim/volsim/internal/core/store"
)

// Table has the resources of a cluster: those that Kubernetes serves, and those of custom kinds, which come and go with their definitions.
// The server's lock guards it, except for served, which may be called at any time.
type Table struct {
	store   *store.Store
	Builtin []*Resource                               // does not change
	byName  map[schema.GroupVersionResource]*Resource // those of builtin
	ByKind  map[api.Kind]*Resource                    // those of builtin
	custom  map[schema.GroupVersionResource]*Resource // those that were used
}

func NewTable(s *store.Store) *Table {
	t := &Table{store: s, Builtin: builtinResources(), byName: map[schema.GroupVersionResource]*Resource{}, ByKind: map[api.Kind]*Resource{},
		custom: map[schema.GroupVersionResource]*Resource{}}
	for _, r := range t.Builtin {
		t.byName[r.GroupVersionResource] = r
		if r.Presented == nil && t.ByKind[r.Kind] == nil {
			t.ByKind[r.Kind] = r
		}
	}
	return t
}

// Served returns the resource of that name if Kubernetes serves it, or nil.
func (t *Table) Served(gvr schema.GroupVersionResource) *Resource { return t.byName[gvr] }

// Named returns the resource of that name, or nil.
func (t *Table) Named(gvr schema.GroupVersionResource) *Resource {
	for _, r := range t.All() {
		if r.GroupVersionResource == gvr {
			return r
		}
	}
	return nil
}

// All returns the resources that Kubernetes serves, in the order of discovery, followed by those of custom kinds.
func (t *Table) All() []*Resource {
	all := t.Builtin
	for _, kind := range t.store.CustomKinds() {
		for _, version := range kind.Versions {
			r := newResource(kind, version)
			if known := t.custom[r.GroupVersionResource]; known != nil && known.Namespaced == r.Namespaced && known.Kind == r.Kind && known.Status == r.Status &&
				len(known.Subresources) == len(r.Subresources) && known.Singular == r.Singular && slices.Equal(known.ShortNames, r.ShortNames) &&
				slices.Equal(known.Categories, r.Categories) {
				all = append(all[:len(all):len(all)], known)
				continue
			}
			t.custom[r.GroupVersionResource] = r
			all = append(all[:len(all):len(all)], r)
		}
	}
	return all
}

// OfKind returns the resource of a kind, or nil. Of a custom kind it is that of the storage version.
func (t *Table) OfKind(kind api.Kind) *Resource {
	if r := t.ByKind[kind]; r != nil {
		return r
	}
	var first *Resource
	for _, r := range t.All() {
		if r.Kind != kind {
			continue
		}
		if c := t.ConversionOf(r); c == nil || c.Storage == r.Version {
			return r
		}
		if first == nil {
			first = r
		}
	}
	return first
}

// Equivalent returns the other resources with the same objects.
func (t *Table) Equivalent(r *Resource) []*Resource {
	var list []*Resource
	if !r.Custom && r.Kind != api.Event && r.Kind != kinds.Autoscaler {
		return nil
	}
	for _, other := range t.All() {
		if other != r && other.Kind == r.Kind && !other.Review {
			list = append(list, other)
		}
	}
	return list
}

// Definition returns what the definition of a custom resource says, or nil for other resources.
func (t *Table) Definition(r *Resource) *DefinedVersion {
	if !r.Custom {
		return nil
	}
	declared := t.declared(r)
	if declared == nil {
		return nil
	}
	if known := r.definition; known != nil && known.version == declared.ResourceVersion {
		return known
	}
	r.definition = readDefinedVersion(declared, r.Version)
	return r.definition
}

// declared returns the CustomResourceDefinition of a resource, or nil. The kinds of snapshots have one that is not stored (API-578).
func (t *Table) declared(r *Resource) *plain.Object {
	name := r.Resource + "." + r.Group
	if stored, err := t.store.Get(DefinitionKind, api.Key("", name)); err == nil {
		return stored.(*plain.Object)
	}
	return snapshotdefinitions.Of(name)
}

// ConversionOf returns how the objects of a resource are converted, nil if their versions differ in the name only.
func (t *Table) ConversionOf(r *Resource) *Conversion {
	if v := t.Definition(r); v != nil {
		return v.conversion
	}
	return nil
}

// ScalePaths returns where objects of a resource have the fields of their scale. It reports false for a resource without one.
func (t *Table) ScalePaths(r *Resource) (scaleFields, bool) {
	if v := t.Definition(r); v != nil {
		return v.scale, v.scale.Spec != nil
	}
	kind := t.store.Describe(r.Kind)
	if kind == nil || !kind.Scale {
		return scaleFields{}, false
	}
	return scaleFields{Spec: []string{"spec", "replicas"}, Status: []string{"status", "replicas"}, Selector: []string{"spec", "selector"}}, true
}

// builtinResources returns the resources that Kubernetes serves, in the order of discovery: by group, then by name.
func builtinResources() []*Resource {
	var list []*Resource
	for _, kind := range objkinds.All() {
		r := newResource(kind, kind.Version())
		if r.Typed = Scheme().Recognizes(r.GVK()); r.Typed {
			r.Sample = NewObject(r.GVK())
		}
		if r.GVK() == eventsKind {
			list = append(list, newEvents(r))
			continue
		}
		r.complete()
		list = append(list, r)
		switch {
		case r.Kind == kinds.Autoscaler:
			list = append(list, newAutoscalers(r))
		case kind.Custom && len(kind.Versions) > 1:
			for _, version := range kind.Versions[1:] {
				other := newResource(kind, version)
				other.complete()
				list = append(list, other)
			}
		}
	}
	list = append(list, newReviews()...)
	list = append(list, &Resource{
		GroupVersionResource: CoreGroup.WithResource(Bindings), Kind: "Binding", KindName: "Binding", Singular: "binding", Namespaced: true,
		Typed: true, Review: true,
	})
	slices.SortStableFunc(list, func(a, b *Resource) int {
		return cmp.Or(strings.Compare(a.Group, b.Group), strings.Compare(a.Resource, b.Resource))
	})
	return list
}

// newReviews returns the resources that answer who the client is and what it may do.
func newReviews() []*Resource {
	var list []*Resource
	for _, kind := range []schema.GroupVersionKind{
		authenticationv1.SchemeGroupVersion.WithKind("SelfSubjectReview"),
		authenticationv1.SchemeGroupVersion.WithKind("TokenReview"),
		authorizationv1.SchemeGroupVersion.WithKind("LocalSubjectAccessReview"),
		authorizationv1.SchemeGroupVersion.WithKind("SelfSubjectAccessReview"),
		authorizationv1.SchemeGroupVersion.WithKind("SelfSubjectRulesReview"),
		authorizationv1.SchemeGroupVersion.WithKind("SubjectAccessReview"),
	} {
		name := strings.ToLower(kind.Kind)
		list = append(list, &Resource{
			GroupVersionResource: kind.GroupVersion().WithResource(name + "s"), Kind: api.Kind(kind.Kind + "." + kind.Group),
			KindName: kind.Kind, Singular: name, Namespaced: kind.Kind == "LocalSubjectAccessReview", Typed: true, Review: true,
		})
	}
	return list
}
