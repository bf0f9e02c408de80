// Package discovery has the documents in which the API server says what it serves: groups, resources, its version, and its health.
package discovery

import (
	"crypto/sha256"
	"encoding/base64"
	"slices"

	apidiscoveryv2 "k8s.io/api/apidiscovery/v2"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/version"

	"github.com/volsim/volsim/internal/apiserver/resources"
)

// Aggregation is the group of the newer form of discovery: one document for all groups.
var Aggregation = schema.GroupVersion{Group: "apidiscovery.k8s.io", Version: "v2"}

// Version is the version of Kubernetes that the server simulates.
var Version = version.Info{
	Major: "1", Minor: "36", EmulationMajor: "1", EmulationMinor: "36", MinCompatibilityMajor: "1", MinCompatibilityMinor: "35",
	GitVersion: "v1.36.3", GitCommit: "", GitTreeState: "clean", BuildDate: "1970-01-01T00:00:00Z",
	GoVersion: "go1.26.0", Compiler: "gc", Platform: "linux/amd64",
}

// Paths lists the paths of the root document.
func Paths(t *resources.Table) []string {
	paths := []string{"/api", "/api/v1", "/apis", "/apis/", "/metrics", "/metrics/slis", "/openapi/v2", "/openapi/v3", "/openapi/v3/", "/version"}
	paths = append(paths, healthPaths()...)
	for _, g := range t.Groups() {
		if g.Name == "" {
			continue
		}
		paths = append(paths, "/apis/"+g.Name)
		for _, gv := range g.Versions {
			paths = append(paths, "/apis/"+gv.String())
		}
	}
	slices.Sort(paths)
	return paths
}

// CoreVersions lists the versions of the core group.
func CoreVersions() *metav1.APIVersions {
	return &metav1.APIVersions{
		TypeMeta: metav1.TypeMeta{Kind: "APIVersions"}, Versions: []string{"v1"},
		ServerAddressByClientCIDRs: []metav1.ServerAddressByClientCIDR{{ClientCIDR: "0.0.0.0/0", ServerAddress: "127.0.0.1"}},
	}
}

// Groups lists the other groups.
func Groups(t *resources.Table) *metav1.APIGroupList {
	list := &metav1.APIGroupList{TypeMeta: metav1.TypeMeta{Kind: "APIGroupList", APIVersion: "v1"}, Groups: []metav1.APIGroup{}}
	for _, g := range t.Groups() {
		if g.Name != "" {
			document := Group(g)
			document.TypeMeta = metav1.TypeMeta{}
			list.Groups = append(list.Groups, *document)
		}
	}
	return list
}

// Group describes a group.
func Group(g *resources.Group) *metav1.APIGroup {
	document := &metav1.APIGroup{TypeMeta: metav1.TypeMeta{Kind: "APIGroup", APIVersion: "v1"}, Name: g.Name}
	for _, gv := range g.Versions {
		document.Versions = append(document.Versions, metav1.GroupVersionForDiscovery{GroupVersion: gv.String(), Version: gv.Version})
	}
	document.PreferredVersion = document.Versions[0]
	return document
}

// Resources lists the resources and subresources of a group.
func Resources(t *resources.Table, gv schema.GroupVersion) *metav1.APIResourceList {
	list := &metav1.APIResourceList{
		TypeMeta: metav1.TypeMeta{Kind: "APIResourceList", APIVersion: "v1"}, GroupVersion: gv.String(), APIResources: []metav1.APIResource{},
	}
	if gv.Group == "" {
		list.TypeMeta.APIVersion = ""
	}
	for _, r := range t.All() {
		if r.GroupVersion() != gv {
			continue
		}
		resource := metav1.APIResource{
			Name: r.Resource, SingularName: r.Singular, Namespaced: r.Namespaced, Kind: r.KindName, Verbs: r.Verbs(),
			ShortNames: r.ShortNames, Categories: r.Categories,
		}
		if !r.Review {
			resource.StorageVersionHash = storageVersionHash(r.GVK())
		}
		list.APIResources = append(list.APIResources, resource)
		for _, sub := range r.AllSubresources() {
			resource := metav1.APIResource{Name: r.Resource + "/" + sub.Name, Namespaced: r.Namespaced, Kind: sub.Kind.Kind, Verbs: sub.Verbs}
			if sub.Kind.GroupVersion() != gv {
				resource.Group, resource.Version = sub.Kind.Group, sub.Kind.Version
			}
			list.APIResources = append(list.APIResources, resource)
		}
	}
	return list
}

// storageVersionHash identifies the version in which a kind is stored.
func storageVersionHash(gvk schema.GroupVersionKind) string {
	sum := sha256.Sum256([]byte(gvk.Group + "/" + gvk.Version + "/" + gvk.Kind))
	return base64.StdEncoding.EncodeToString(sum[:8])
}

// Aggregated returns the newer form of discovery for some groups.
func Aggregated(t *resources.Table, wanted func(group string) bool) *apidiscoveryv2.APIGroupDiscoveryList {
	list := &apidiscoveryv2.APIGroupDiscoveryList{
		TypeMeta: metav1.TypeMeta{Kind: "APIGroupDiscoveryList", APIVersion: Aggregation.String()},
		Items:    []apidiscoveryv2.APIGroupDiscovery{},
	}
	for _, g := range t.Groups() {
		if !wanted(g.Name) {
			continue
		}
		group := apidiscoveryv2.APIGroupDiscovery{}
		group.Name = g.Name
		for _, gv := range g.Versions {
			v := apidiscoveryv2.APIVersionDiscovery{Version: gv.Version, Freshness: apidiscoveryv2.DiscoveryFreshnessCurrent}
			for _, r := range t.All() {
				if r.GroupVersion() == gv {
					v.Resources = append(v.Resources, aggregated(r))
				}
			}
			group.Versions = append(group.Versions, v)
		}
		list.Items = append(list.Items, group)
	}
	return list
}

// aggregated describes a resource in the newer form of discovery.
func aggregated(r *resources.Resource) apidiscoveryv2.APIResourceDiscovery {
	kind := func(gvk schema.GroupVersionKind) *metav1.GroupVersionKind {
		// API-518: the version is that of the resource unless it is named; a definition always names it.
		if gvk.GroupVersion() == r.GroupVersion() && !r.Custom {
			return &metav1.GroupVersionKind{Kind: gvk.Kind}
		}
		return &metav1.GroupVersionKind{Group: gvk.Group, Version: gvk.Version, Kind: gvk.Kind}
	}
	d := apidiscoveryv2.APIResourceDiscovery{
		Resource: r.Resource, ResponseKind: kind(r.GVK()), Scope: apidiscoveryv2.ScopeCluster, SingularResource: r.Singular,
		Verbs: r.Verbs(), ShortNames: r.ShortNames, Categories: r.Categories,
	}
	if r.Namespaced {
		d.Scope = apidiscoveryv2.ScopeNamespace
	}
	for _, sub := range r.AllSubresources() {
		d.Subresources = append(d.Subresources, apidiscoveryv2.APISubresourceDiscovery{
			Subresource: sub.Name, ResponseKind: kind(sub.Kind), Verbs: sub.Verbs,
		})
	}
	return d
}
