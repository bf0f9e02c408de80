// Package objname reads and writes names of objects as users type them: pvc/namespace/name, pv/name.
package objname

import (
	"fmt"
	"slices"
	"strings"

	"github.com/volsim/volsim/api"
	"github.com/volsim/volsim/internal/core/objkinds"
)

// kinds lists the names of kinds that Parse accepts before the slash. Of prints the first one.
var kinds = []struct {
	kind       api.Kind
	names      []string
	namespaced bool
}{
	{api.PersistentVolumeClaim, []string{"pvc", "pvcs", "persistentvolumeclaim", "persistentvolumeclaims"}, true},
	{api.PersistentVolume, []string{"pv", "pvs", "persistentvolume", "persistentvolumes"}, false},
	{api.Pod, []string{"pod", "po", "pods"}, true},
	{api.Node, []string{"node", "no", "nodes"}, false},
	{api.StorageClass, []string{"sc", "storageclass", "storageclasses"}, false},
	{api.VolumeAttachment, []string{"va", "volumeattachment", "volumeattachments"}, false},
	{api.CSIDriver, []string{"csidriver", "csidrivers"}, false},
	{api.CSINode, []string{"csinode", "csinodes"}, false},
}

// Parse reads the name of an object: pvc/namespace/name, pod/namespace/name, pv/name, node/name, sc/name, va/name and so on. A claim or a
// pod without a namespace is in "default", and namespace/name without a kind is a claim.
func Parse(text string) (api.Ref, error) { return ParseIn("default", text) }

// ParseIn is Parse for a claim or a pod without a namespace in the given namespace.
func ParseIn(namespace, text string) (api.Ref, error) {
	parts := strings.Split(text, "/")
	for _, part := range parts {
		if part == "" {
			return api.Ref{}, fmt.Errorf("invalid object name %q: want pvc/namespace/name, pod/namespace/name or pv/name", text)
		}
	}
	for _, k := range kinds {
		if !slices.Contains(k.names, strings.ToLower(parts[0])) {
			continue
		}
		switch {
		case k.namespaced && len(parts) == 3:
			return api.Ref{Kind: k.kind, Key: api.Key(parts[1], parts[2])}, nil
		case k.namespaced && len(parts) == 2:
			return api.Ref{Kind: k.kind, Key: api.Key(namespace, parts[1])}, nil
		case !k.namespaced && len(parts) == 2:
			return api.Ref{Kind: k.kind, Key: parts[1]}, nil
		}
		return api.Ref{}, fmt.Errorf("invalid %[2]s name %[1]q: want %[3]s", text, k.kind, example(k.names[0], k.namespaced))
	}
	if isKind(parts[0]) {
		return api.Ref{}, fmt.Errorf("invalid object name %q: want one of the kinds %s; for a claim, write pvc/namespace/name", text, listed())
	}
	if len(parts) == 2 {
		return api.Ref{Kind: api.PersistentVolumeClaim, Key: api.Key(parts[0], parts[1])}, nil
	}
	return api.Ref{}, fmt.Errorf("invalid object name %q: want pvc/namespace/name, pod/namespace/name or pv/name", text)
}

// isKind reports whether kubectl knows the text as a kind.
func isKind(text string) bool {
	text = strings.ToLower(text)
	return slices.ContainsFunc(objkinds.All(), func(k *objkinds.Kind) bool { return slices.Contains(k.Names(), text) })
}

// listed returns the shortest name of each kind.
func listed() string {
	names := make([]string, len(kinds))
	for i, k := range kinds {
		names[i] = k.names[0]
	}
	return strings.Join(names, ", ")
}

func example(kind string, namespaced bool) string {
	if namespaced {
		return kind + "/namespace/name"
	}
	return kind + "/name"
}

// Of returns the name of an object: pvc/namespace/name, pv/name.
func Of(ref api.Ref) string {
	for _, k := range kinds {
		if k.kind == ref.Kind {
			return k.names[0] + "/" + ref.Key
		}
	}
	return strings.ToLower(string(ref.Kind)) + "/" + ref.Key
}
