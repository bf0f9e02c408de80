package apiserver

import (
	"cmp"
	"slices"
	"strings"

	authenticationv1 "k8s.io/api/authentication/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/volsim/volsim/api"
	"github.com/volsim/volsim/internal/apiserver/kinds"
	"github.com/volsim/volsim/internal/core/objkinds"
	"github.com/volsim/volsim/internal/core/store"
)

// resourceTable has the resources of a cluster: those that Kubernetes serves, and those of custom kinds, which come and go with their definitions.
// The server's lock guards it, except for served, which may be called at any time.
type resourceTable struct {
	store   *store.Store
	builtin []*resource                               // does not change
	byName  map[schema.GroupVersionResource]*resource // those of builtin
	byKind  map[api.Kind]*resource                    // those of builtin
	custom  map[schema.GroupVersionResource]*resource // those that were used
}

func newResourceTable(s *store.Store) *resourceTable {
	t := &resourceTable{store: s, builtin: builtinResources(), byName: map[schema.GroupVersionResource]*resource{}, byKind: map[api.Kind]*resource{},
		custom: map[schema.GroupVersionResource]*resource{}}
	for _, r := range t.builtin {
		t.byName[r.GroupVersionResource] = r
		if r.presented == nil {
			t.byKind[r.kind] = r
		}
	}
	return t
}

// served returns the resource of that name if Kubernetes serves it, or nil.
func (t *resourceTable) served(gvr schema.GroupVersionResource) *resource { return t.byName[gvr] }

// named returns the resource of that name, or nil.
func (t *resourceTable) named(gvr schema.GroupVersionResource) *resource {
	for _, r := range t.all() {
		if r.GroupVersionResource == gvr {
			return r
		}
	}
	return nil
}

// all returns the resources that Kubernetes serves, in the order of discovery, followed by those of custom kinds.
func (t *resourceTable) all() []*resource {
	all := t.builtin
	for _, kind := range t.store.CustomKinds() {
		for _, version := range kind.Versions {
			r := newResource(kind, version)
			if known := t.custom[r.GroupVersionResource]; known != nil && known.namespaced == r.namespaced && known.kind == r.kind && known.status == r.status &&
				len(known.subresources) == len(r.subresources) && known.singular == r.singular && slices.Equal(known.shortNames, r.shortNames) &&
				slices.Equal(known.categories, r.categories) {
				all = append(all[:len(all):len(all)], known)
				continue
			}
			t.custom[r.GroupVersionResource] = r
			all = append(all[:len(all):len(all)], r)
		}
	}
	return all
}

// ofKind returns the resource of a kind, or nil. Of a custom kind it is that of the storage version.
func (t *resourceTable) ofKind(kind api.Kind) *resource {
	if r := t.byKind[kind]; r != nil {
		return r
	}
	var first *resource
	for _, r := range t.all() {
		if r.kind != kind {
			continue
		}
		if c := t.conversionOf(r); c == nil || c.storage == r.Version {
			return r
		}
		if first == nil {
			first = r
		}
	}
	return first
}

// equivalent returns the other resources with the same objects.
func (t *resourceTable) equivalent(r *resource) []*resource {
	var list []*resource
	if !r.custom && r.kind != api.Event && r.kind != kinds.Autoscaler {
		return nil
	}
	for _, other := range t.all() {
		if other != r && other.kind == r.kind && !other.review {
			list = append(list, other)
		}
	}
	return list
}

// definition returns what the definition of a custom resource says, or nil for other resources.
func (t *resourceTable) definition(r *resource) *definedVersion {
	if !r.custom {
		return nil
	}
	obj, err := t.store.Get(definitionKind, api.Key("", r.Resource+"."+r.Group))
	if err != nil {
		return nil // a kind that needs no definition
	}
	if known := r.definition; known != nil && known.version == obj.GetResourceVersion() {
		return known
	}
	r.definition = readDefinedVersion(obj, r.Version)
	return r.definition
}

// conversionOf returns how the objects of a resource are converted, nil if their versions differ in the name only.
func (t *resourceTable) conversionOf(r *resource) *conversion {
	if v := t.definition(r); v != nil {
		return v.conversion
	}
	return nil
}

// scalePaths returns where objects of a resource have the fields of their scale. It reports false for a resource without one.
func (t *resourceTable) scalePaths(r *resource) (scaleFields, bool) {
	if v := t.definition(r); v != nil {
		return v.scale, v.scale.spec != nil
	}
	kind := t.store.Describe(r.kind)
	if kind == nil || !kind.Scale {
		return scaleFields{}, false
	}
	return scaleFields{spec: []string{"spec", "replicas"}, status: []string{"status", "replicas"}, selector: []string{"spec", "selector"}}, true
}

// builtinResources returns the resources that Kubernetes serves, in the order of discovery: by group, then by name.
func builtinResources() []*resource {
	var list []*resource
	for _, kind := range objkinds.All() {
		r := newResource(kind, kind.Version())
		if r.typed = servedTypes().Recognizes(r.gvk()); r.typed {
			r.sample = newTyped(r.gvk())
		}
		if r.gvk() == eventsKind {
			list = append(list, newEvents(r))
			continue
		}
		r.complete()
		list = append(list, r)
		if r.kind == kinds.Autoscaler {
			list = append(list, newAutoscalers(r))
		}
	}
	list = append(list, newReviews()...)
	list = append(list, &resource{
		GroupVersionResource: coreGroup.WithResource(resourceBindings), kind: "Binding", kindName: "Binding", singular: "binding", namespaced: true,
		typed: true, review: true,
	})
	slices.SortStableFunc(list, func(a, b *resource) int {
		return cmp.Or(strings.Compare(a.Group, b.Group), strings.Compare(a.Resource, b.Resource))
	})
	return list
}

// newReviews returns the resources that answer who the client is and what it may do.
func newReviews() []*resource {
	var list []*resource
	for _, kind := range []schema.GroupVersionKind{
		authenticationv1.SchemeGroupVersion.WithKind("SelfSubjectReview"),
		authenticationv1.SchemeGroupVersion.WithKind("TokenReview"),
		authorizationv1.SchemeGroupVersion.WithKind("LocalSubjectAccessReview"),
		authorizationv1.SchemeGroupVersion.WithKind("SelfSubjectAccessReview"),
		authorizationv1.SchemeGroupVersion.WithKind("SelfSubjectRulesReview"),
		authorizationv1.SchemeGroupVersion.WithKind("SubjectAccessReview"),
	} {
		name := strings.ToLower(kind.Kind)
		list = append(list, &resource{
			GroupVersionResource: kind.GroupVersion().WithResource(name + "s"), kind: api.Kind(kind.Kind + "." + kind.Group),
			kindName: kind.Kind, singular: name, namespaced: kind.Kind == "LocalSubjectAccessReview", typed: true, review: true,
		})
	}
	return list
}
