// Package gates holds the feature gates of Kubernetes that a cluster can turn on. All others have their defaults of v1.36.3.
package gates

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
)

// The names of the gates, as Kubernetes and the sidecars spell them. All are off by default in v1.36.3.
const (
	// CrossNamespaceVolumeDataSource: a claim may name a source in another namespace, if a ReferenceGrant there allows it.
	CrossNamespaceVolumeDataSource = "CrossNamespaceVolumeDataSource"
	// CSIVolumeHealth: kubelets report abnormal volumes in Events of the pods that use them.
	CSIVolumeHealth = "CSIVolumeHealth"
)

// Known lists the names of the gates, in order.
var Known = []string{CSIVolumeHealth, CrossNamespaceVolumeDataSource}

// Set says which gates are on. The zero value has the defaults of v1.36.3.
type Set struct {
	CrossNamespaceVolumeDataSource bool
	CSIVolumeHealth                bool
}

// New returns the set in which the named gates have these values, and the others their defaults. Any other name is an error.
func New(values map[string]bool) (Set, error) {
	var s Set
	if len(values) == 0 {
		return s, nil // a cluster starts with few allocations
	}
	for _, name := range slices.Sorted(maps.Keys(values)) {
		switch name {
		case CrossNamespaceVolumeDataSource:
			s.CrossNamespaceVolumeDataSource = values[name]
		case CSIVolumeHealth:
			s.CSIVolumeHealth = values[name]
		default:
			return Set{}, fmt.Errorf("%q is not a feature gate that is simulated; these are: %s", name, strings.Join(Known, ", "))
		}
	}
	return s, nil
}

// Parse reads values as the flag --feature-gates of Kubernetes has them: NAME=true,NAME=false. New checks the names.
func Parse(text string) (map[string]bool, error) {
	values := map[string]bool{}
	for part := range strings.SplitSeq(text, ",") {
		name, value, ok := strings.Cut(strings.TrimSpace(part), "=")
		on, err := strconv.ParseBool(value)
		if !ok || name == "" || err != nil {
			return nil, fmt.Errorf("invalid feature gate %q; want NAME=true or NAME=false, separated by commas", part)
		}
		values[name] = on
	}
	_, err := New(values)
	return values, err
}
