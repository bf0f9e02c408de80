package resources

import (
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/version"
)

// Group is an API group with the versions in which it has resources, the preferred one first.
type Group struct {
	Name     string
	Versions []schema.GroupVersion
}

// groupOrder has the groups of kube-apiserver in the order of discovery (API-510): that of their priorities.
var groupOrder = []string{
	"", "apiregistration.k8s.io", "apps", "events.k8s.io", "authentication.k8s.io", "authorization.k8s.io", "autoscaling", "batch", "certificates.k8s.io",
	"networking.k8s.io", "policy", "rbac.authorization.k8s.io", "storage.k8s.io", "admissionregistration.k8s.io", "apiextensions.k8s.io", "scheduling.k8s.io",
	"coordination.k8s.io", "node.k8s.io", "discovery.k8s.io", "resource.k8s.io", "flowcontrol.apiserver.k8s.io",
}

// compareGroups compares places in the order of discovery: other groups come last, by name.
func compareGroups(a, b *Group) int {
	x, y := slices.Index(groupOrder, a.Name), slices.Index(groupOrder, b.Name)
	if x >= 0 && y >= 0 {
		return x - y
	}
	if x < 0 && y < 0 {
		return strings.Compare(a.Name, b.Name)
	}
	return y - x
}

// Groups lists the groups that have resources, in the order of discovery.
func (t *Table) Groups() []*Group {
	var found []*Group
	byName := map[string]*Group{}
	for _, r := range t.All() {
		g := byName[r.Group]
		if g == nil {
			g = &Group{Name: r.Group}
			byName[r.Group] = g
			found = append(found, g)
		}
		if gv := r.GroupVersion(); !slices.Contains(g.Versions, gv) {
			g.Versions = append(g.Versions, gv)
		}
	}
	slices.SortFunc(found, compareGroups)
	for _, g := range found {
		// API-304: the preferred version of a group is the newest stable one, whichever of its kinds has it.
		slices.SortFunc(g.Versions, func(a, b schema.GroupVersion) int {
			return -version.CompareKubeAwareVersionStrings(a.Version, b.Version)
		})
	}
	return found
}

// GroupVersions lists the versions of all groups.
func (t *Table) GroupVersions() []schema.GroupVersion {
	var found []schema.GroupVersion
	for _, g := range t.Groups() {
		found = append(found, g.Versions...)
	}
	return found
}
