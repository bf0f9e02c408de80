// Package objname reads and writes names of objects as users type them: pvc/namespace/name, pv/name.
package objname

import (
	"fmt"
	"slices"
	"strings"

	"github.com/volsim/volsim/api"
	"github.com/volsim/volsim/internal/core/objkinds"
	"github.com/volsim/volsim/internal/core/similar"
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

// ParseIn is Parse for an object without a namespace in the given namespace.
func ParseIn(namespace, text string) (api.Ref, error) {
	parts := strings.Split(text, "/")
	for _, part := range parts {
		if part == "" {
			return api.Ref{}, fmt.Errorf("invalid object name %q: want KIND/NAME or KIND/NAMESPACE/NAME, such as pvc/data or pod/shop/web-0", text)
		}
	}
	kind, namespaced, known := KindOf(parts[0])
	switch {
	case !known && len(parts) == 2:
		return api.Ref{Kind: api.PersistentVolumeClaim, Key: api.Key(parts[0], parts[1])}, nil
	case !known && len(parts) > 2:
		return api.Ref{}, UnknownKind(parts[0])
	case !known:
		return api.Ref{}, fmt.Errorf("invalid object name %q: want KIND/NAME or KIND/NAMESPACE/NAME, such as pvc/data or pod/shop/web-0", text)
	case namespaced && len(parts) == 3:
		return api.Ref{Kind: kind, Key: api.Key(parts[1], parts[2])}, nil
	case namespaced && len(parts) == 2:
		return api.Ref{Kind: kind, Key: api.Key(namespace, parts[1])}, nil
	case !namespaced && len(parts) == 2:
		return api.Ref{Kind: kind, Key: parts[1]}, nil
	}
	return api.Ref{}, fmt.Errorf("invalid %s name %q: want %s", kind, text, example(Of(api.Ref{Kind: kind}), namespaced))
}

// KindOf returns the kind with a name that kubectl accepts, such as pvc, claims in the plural, or deployments.apps.
func KindOf(name string) (kind api.Kind, namespaced, known bool) {
	name = strings.ToLower(name)
	for _, k := range kinds {
		if slices.Contains(k.names, name) {
			return k.kind, k.namespaced, true
		}
	}
	bare, group, _ := strings.Cut(name, ".")
	for _, k := range objkinds.All() {
		if (group == "" || group == k.Group) && slices.Contains(k.Names(), bare) {
			return api.Kind(k.Name()), k.Namespaced, true
		}
	}
	return "", false, false
}

// explained names the kinds that volsim explains.
const explained = "pvc, pv, pod, va, namespace or a workload such as deployment"

// UnknownKind returns the error for a word that is not a kind. It lists the kinds that volsim explains, and names a similar kind.
func UnknownKind(word string) error {
	var names []string
	for _, k := range objkinds.All() {
		names = append(names, k.Names()...)
	}
	return fmt.Errorf("unknown kind %q: want %s%s", word, explained, similar.Hint(word, names))
}

// ParseArgs reads the objects of a command line as kubectl does: KIND NAME..., or names that ParseIn reads.
func ParseArgs(namespace string, args []string) ([]api.Ref, error) {
	prefix := ""
	if len(args) > 1 && !strings.Contains(args[0], "/") {
		if !IsKind(args[0]) {
			return nil, UnknownKind(args[0])
		}
		prefix, args = args[0]+"/", args[1:]
	}
	var refs []api.Ref
	for _, arg := range args {
		ref, err := ParseIn(namespace, prefix+arg)
		if err != nil {
			return nil, err
		}
		refs = append(refs, ref)
	}
	return refs, nil
}

// IsKind reports whether kubectl knows the text as a kind.
func IsKind(text string) bool {
	_, _, known := KindOf(text)
	return known
}

// example returns the form of a name, after the kind and a slash.
func example(kind string, namespaced bool) string {
	if namespaced {
		return kind + "namespace/name"
	}
	return kind + "name"
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
