// Package replies checks replies of a CSI driver without which no cluster can use it.
package replies

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	spec "github.com/container-storage-interface/spec/lib/go/csi"
	"k8s.io/apimachinery/pkg/util/validation"
)

// Error is the error for a reply to GetPluginInfo.
type Error struct {
	Text     string // what is wrong
	Required string // what the section of the specification about the RPC requires
	Reply    *spec.GetPluginInfoResponse
}

// Error returns what is wrong.
func (e *Error) Error() string { return e.Text }

// maxName is the limit for names of drivers and the segments of topologies, in bytes.
const maxName = 63

// PluginInfo returns an error for a driver without a name that Kubernetes accepts.
func PluginInfo(info *spec.GetPluginInfoResponse) *Error {
	e := &Error{Reply: info, Required: "name is REQUIRED; it MUST follow domain name notation, with at most 63 characters of [a-zA-Z0-9.-], and begin and end with an alphanumeric one"}
	switch name := info.GetName(); {
	case name == "":
		e.Text = "the reply to GetPluginInfo has an empty name"
	case len(name) > maxName:
		e.Text = fmt.Sprintf("the reply to GetPluginInfo has a name of %d characters: %q", len(name), name)
	case len(validation.IsDNS1123Subdomain(strings.ToLower(name))) > 0:
		e.Text = fmt.Sprintf("the reply to GetPluginInfo has name %q, which is no domain name", name)
	case strings.ToLower(name) != name:
		e.Text = fmt.Sprintf("the reply to GetPluginInfo has name %q, which has capital letters", name)
		e.Required = "the specification allows capital letters in the name, and Kubernetes does not: no CSIDriver object can have such a name"
	default:
		return nil
	}
	return e
}

// maxNodeID is the limit for node_id, in bytes.
const maxNodeID = 256

// NodeInfo returns what is wrong with a reply to NodeGetInfo, and what is required; "" for nothing.
func NodeInfo(info *spec.NodeGetInfoResponse) (text, required string) {
	switch id := info.GetNodeId(); {
	case id == "":
		return "an empty node_id", "node_id is REQUIRED: ControllerPublishVolume refers to the node by it"
	case len(id) > maxNodeID:
		return fmt.Sprintf("a node_id of %d bytes", len(id)), fmt.Sprintf("the size of node_id SHALL NOT exceed %d bytes", maxNodeID)
	}
	return Topology(info.GetAccessibleTopology())
}

// Topology returns what is wrong with the segments of an accessible_topology, and what is required; "" for nothing.
func Topology(t *spec.Topology) (text, required string) {
	const keys = "the keys of accessible_topology have the form [prefix/]name: the name MUST have at most 63 characters of [a-zA-Z0-9._-], and begin and " +
		"end with an alphanumeric one; the prefix MUST be a domain name of at most 63 lower-case characters"
	lower := map[string]string{}
	for _, key := range slices.Sorted(maps.Keys(t.GetSegments())) {
		value, prefix := t.GetSegments()[key], ""
		if i := strings.Index(key, "/"); i >= 0 {
			prefix = key[:i]
		}
		other, twice := lower[strings.ToLower(key)]
		lower[strings.ToLower(key)] = key
		switch {
		case len(validation.IsQualifiedName(key)) > 0 || len(prefix) > maxName:
			return fmt.Sprintf("accessible_topology with the invalid key %q", key), keys
		case twice:
			return fmt.Sprintf("accessible_topology with the keys %q and %q", other, key),
				"the keys of accessible_topology are case-insensitive: two of them MUST NOT differ in case only"
		case value == "" || len(validation.IsValidLabelValue(value)) > 0:
			return fmt.Sprintf("accessible_topology with the invalid value %q of %q", value, key),
				"the values of accessible_topology MUST have 1 to 63 characters of [a-zA-Z0-9._-], and begin and end with an alphanumeric one"
		}
	}
	return "", ""
}
