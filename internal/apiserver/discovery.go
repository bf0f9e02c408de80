package apiserver

import (
	"crypto/sha256"
	"crypto/sha512"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"

	apidiscoveryv2 "k8s.io/api/apidiscovery/v2"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/version"

	"github.com/volsim/volsim/api"
)

// discoveryGroup is the group of the newer form of discovery: one document for all groups.
var discoveryGroup = schema.GroupVersion{Group: "apidiscovery.k8s.io", Version: "v2"}

func isDiscovery(as schema.GroupVersionKind) bool {
	return as == discoveryGroup.WithKind("APIGroupDiscoveryList")
}

// serveDiscovery answers requests that are not for objects: discovery, version, health and metrics. It returns nil for others.
func (s *Server) serveDiscovery(req *http.Request) *answer {
	if a := serveHealth(req); a != nil {
		return a
	}
	path := strings.TrimSuffix(req.URL.Path, "/")
	if strings.Count(path, "/") > 3 {
		return nil // longer than /apis/GROUP/VERSION
	}
	s.mu.Lock()
	document, convertible := s.document(path)
	s.mu.Unlock()
	if document == nil {
		return nil
	}
	if req.Method != http.MethodGet {
		return failure(req, nil, errMethod())
	}
	f, err := negotiate(req, convertible)
	if err != nil {
		return failure(req, nil, err)
	}
	contentType := f.contentType()
	s.mu.Lock()
	value := document(f)
	s.mu.Unlock()
	if text, ok := value.(metricsText); ok {
		return &answer{code: http.StatusOK, contentType: metricsType, data: []byte(text)}
	}
	if f.as != nil {
		contentType += ";g=" + f.as.Group + ";v=" + f.as.Version + ";as=" + f.as.Kind
	}
	data, err := json.Marshal(value)
	if err == nil {
		data, err = f.write(data)
	}
	if err != nil {
		return failure(req, nil, err)
	}
	if f.as == nil {
		return &answer{code: http.StatusOK, contentType: contentType, data: data}
	}
	// API-518: a client that knows the document gets 304.
	tag := strconv.Quote(fmt.Sprintf("%X", sha512.Sum512(data)))
	a := &answer{code: http.StatusOK, contentType: contentType, data: data, header: http.Header{"Vary": {"Accept"}, "Etag": {tag}}}
	if req.Header.Get("If-None-Match") == tag {
		a.code, a.data = http.StatusNotModified, nil
	}
	return a
}

// document returns the function that makes the document at a path, in a format, and the types to which it can be converted. It returns
// nil for a path without one. The caller has the lock.
func (s *Server) document(path string) (make func(format) any, convertible func(schema.GroupVersionKind) bool) {
	fixed := func(value any) func(format) any { return func(format) any { return value } }
	switch path {
	case "/api":
		return func(f format) any {
			if f.as != nil {
				return s.groupDiscovery(func(group string) bool { return group == "" })
			}
			return s.coreVersions()
		}, isDiscovery
	case "/apis":
		return func(f format) any {
			if f.as != nil {
				return s.groupDiscovery(func(group string) bool { return group != "" })
			}
			return s.groupList()
		}, isDiscovery
	case "/metrics":
		return func(format) any { return s.metrics() }, nothingConvertible
	case "/metrics/slis":
		return fixed(healthMetrics()), nothingConvertible
	case "/version":
		return fixed(serverVersion), nothingConvertible
	case "":
		return fixed(metav1.RootPaths{Paths: s.paths()}), nothingConvertible
	}
	if group, ok := strings.CutPrefix(path, "/apis/"); ok {
		for _, g := range s.groups() {
			if group == g.name && group != "" {
				return fixed(g.document()), nothingConvertible
			}
			for _, gv := range g.versions {
				if group == gv.String() {
					return fixed(s.resourceList(gv)), nothingConvertible
				}
			}
		}
	}
	if path == "/api/v1" {
		return fixed(s.resourceList(coreGroup)), nothingConvertible
	}
	return nil, nil
}

// serverVersion is the version of Kubernetes that the server simulates.
var serverVersion = version.Info{
	Major: "1", Minor: "36", EmulationMajor: "1", EmulationMinor: "36", MinCompatibilityMajor: "1", MinCompatibilityMinor: "35",
	GitVersion: "v1.36.3", GitCommit: "", GitTreeState: "clean", BuildDate: "1970-01-01T00:00:00Z",
	GoVersion: "go1.26.0", Compiler: "gc", Platform: "linux/amd64",
}

// group is an API group with the versions in which it has resources, the preferred one first.
type group struct {
	name     string
	versions []schema.GroupVersion
}

// groupOrder has the groups of kube-apiserver in the order of discovery (API-510): that of their priorities.
var groupOrder = []string{
	"", "apiregistration.k8s.io", "apps", "events.k8s.io", "authentication.k8s.io", "authorization.k8s.io", "autoscaling", "batch", "certificates.k8s.io",
	"networking.k8s.io", "policy", "rbac.authorization.k8s.io", "storage.k8s.io", "admissionregistration.k8s.io", "apiextensions.k8s.io", "scheduling.k8s.io",
	"coordination.k8s.io", "node.k8s.io", "discovery.k8s.io", "resource.k8s.io", "flowcontrol.apiserver.k8s.io",
}

// compareGroups compares places in the order of discovery: other groups come last, by name.
func compareGroups(a, b *group) int {
	x, y := slices.Index(groupOrder, a.name), slices.Index(groupOrder, b.name)
	if x >= 0 && y >= 0 {
		return x - y
	}
	if x < 0 && y < 0 {
		return strings.Compare(a.name, b.name)
	}
	return y - x
}

// groups lists the groups that have resources, in the order of discovery.
func (s *Server) groups() []*group {
	var found []*group
	byName := map[string]*group{}
	for _, r := range s.resources.all() {
		g := byName[r.Group]
		if g == nil {
			g = &group{name: r.Group}
			byName[r.Group] = g
			found = append(found, g)
		}
		if gv := r.GroupVersion(); !slices.Contains(g.versions, gv) {
			g.versions = append(g.versions, gv)
		}
	}
	slices.SortFunc(found, compareGroups)
	for _, g := range found {
		// API-304: the preferred version of a group is the newest stable one, whichever of its kinds has it.
		slices.SortFunc(g.versions, func(a, b schema.GroupVersion) int {
			return -version.CompareKubeAwareVersionStrings(a.Version, b.Version)
		})
	}
	return found
}

// groupVersions lists the versions of all groups.
func (s *Server) groupVersions() []schema.GroupVersion {
	var found []schema.GroupVersion
	for _, g := range s.groups() {
		found = append(found, g.versions...)
	}
	return found
}

// paths lists the paths of the root document.
func (s *Server) paths() []string {
	paths := []string{"/api", "/api/v1", "/apis", "/apis/", "/metrics", "/metrics/slis", "/openapi/v2", "/openapi/v3", "/openapi/v3/", "/version"}
	paths = append(paths, healthPaths()...)
	for _, g := range s.groups() {
		if g.name == "" {
			continue
		}
		paths = append(paths, "/apis/"+g.name)
		for _, gv := range g.versions {
			paths = append(paths, "/apis/"+gv.String())
		}
	}
	slices.Sort(paths)
	return paths
}

func (s *Server) coreVersions() metav1.APIVersions {
	return metav1.APIVersions{
		TypeMeta: metav1.TypeMeta{Kind: "APIVersions"}, Versions: []string{"v1"},
		ServerAddressByClientCIDRs: []metav1.ServerAddressByClientCIDR{{ClientCIDR: "0.0.0.0/0", ServerAddress: "127.0.0.1"}},
	}
}

func (s *Server) groupList() metav1.APIGroupList {
	list := metav1.APIGroupList{TypeMeta: metav1.TypeMeta{Kind: "APIGroupList", APIVersion: "v1"}, Groups: []metav1.APIGroup{}}
	for _, g := range s.groups() {
		if g.name != "" {
			document := g.document()
			document.TypeMeta = metav1.TypeMeta{}
			list.Groups = append(list.Groups, document)
		}
	}
	return list
}

func (g *group) document() metav1.APIGroup {
	document := metav1.APIGroup{TypeMeta: metav1.TypeMeta{Kind: "APIGroup", APIVersion: "v1"}, Name: g.name}
	for _, gv := range g.versions {
		document.Versions = append(document.Versions, metav1.GroupVersionForDiscovery{GroupVersion: gv.String(), Version: gv.Version})
	}
	document.PreferredVersion = document.Versions[0]
	return document
}

// resourceList lists the resources and subresources of a group.
func (s *Server) resourceList(gv schema.GroupVersion) metav1.APIResourceList {
	list := metav1.APIResourceList{
		TypeMeta: metav1.TypeMeta{Kind: "APIResourceList", APIVersion: "v1"}, GroupVersion: gv.String(), APIResources: []metav1.APIResource{},
	}
	if gv.Group == "" {
		list.TypeMeta.APIVersion = ""
	}
	for _, r := range s.resources.all() {
		if r.GroupVersion() != gv {
			continue
		}
		resource := metav1.APIResource{
			Name: r.Resource, SingularName: r.singular, Namespaced: r.namespaced, Kind: r.kindName, Verbs: r.verbs(),
			ShortNames: r.shortNames, Categories: r.categories,
		}
		if !r.review {
			resource.StorageVersionHash = storageVersionHash(r.gvk())
		}
		list.APIResources = append(list.APIResources, resource)
		for _, sub := range r.allSubresources() {
			resource := metav1.APIResource{Name: r.Resource + "/" + sub.name, Namespaced: r.namespaced, Kind: sub.kind.Kind, Verbs: sub.verbs}
			if sub.kind.GroupVersion() != gv {
				resource.Group, resource.Version = sub.kind.Group, sub.kind.Version
			}
			list.APIResources = append(list.APIResources, resource)
		}
	}
	return list
}

// allSubresources returns the subresources with status, in the order of their names. Of a custom resource, status is the first.
func (r *resource) allSubresources() []subresource {
	subs := slices.Clone(r.subresources)
	if r.status {
		subs = append(subs, subresource{string(api.Status), r.gvk(), []string{verbGet, verbPatch, verbUpdate}})
	}
	slices.SortFunc(subs, func(a, b subresource) int {
		if r.custom {
			return -strings.Compare(a.name, b.name)
		}
		return strings.Compare(a.name, b.name)
	})
	return subs
}

// storageVersionHash identifies the version in which a kind is stored.
func storageVersionHash(gvk schema.GroupVersionKind) string {
	sum := sha256.Sum256([]byte(gvk.Group + "/" + gvk.Version + "/" + gvk.Kind))
	return base64.StdEncoding.EncodeToString(sum[:8])
}

// groupDiscovery returns the newer form of discovery for some groups.
func (s *Server) groupDiscovery(wanted func(group string) bool) apidiscoveryv2.APIGroupDiscoveryList {
	list := apidiscoveryv2.APIGroupDiscoveryList{
		TypeMeta: metav1.TypeMeta{Kind: "APIGroupDiscoveryList", APIVersion: discoveryGroup.String()},
		Items:    []apidiscoveryv2.APIGroupDiscovery{},
	}
	for _, g := range s.groups() {
		if !wanted(g.name) {
			continue
		}
		group := apidiscoveryv2.APIGroupDiscovery{}
		group.Name = g.name
		for _, gv := range g.versions {
			v := apidiscoveryv2.APIVersionDiscovery{Version: gv.Version, Freshness: apidiscoveryv2.DiscoveryFreshnessCurrent}
			for _, r := range s.resources.all() {
				if r.GroupVersion() == gv {
					v.Resources = append(v.Resources, r.discovery())
				}
			}
			group.Versions = append(group.Versions, v)
		}
		list.Items = append(list.Items, group)
	}
	return list
}

func (r *resource) discovery() apidiscoveryv2.APIResourceDiscovery {
	kind := func(gvk schema.GroupVersionKind) *metav1.GroupVersionKind {
		// API-518: the version is that of the resource unless it is named; a definition always names it.
		if gvk.GroupVersion() == r.GroupVersion() && !r.custom {
			return &metav1.GroupVersionKind{Kind: gvk.Kind}
		}
		return &metav1.GroupVersionKind{Group: gvk.Group, Version: gvk.Version, Kind: gvk.Kind}
	}
	d := apidiscoveryv2.APIResourceDiscovery{
		Resource: r.Resource, ResponseKind: kind(r.gvk()), Scope: apidiscoveryv2.ScopeCluster, SingularResource: r.singular,
		Verbs: r.verbs(), ShortNames: r.shortNames, Categories: r.categories,
	}
	if r.namespaced {
		d.Scope = apidiscoveryv2.ScopeNamespace
	}
	for _, sub := range r.allSubresources() {
		d.Subresources = append(d.Subresources, apidiscoveryv2.APISubresourceDiscovery{
			Subresource: sub.name, ResponseKind: kind(sub.kind), Verbs: sub.verbs,
		})
	}
	return d
}
