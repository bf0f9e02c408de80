package explain

import (
	"fmt"
	"slices"
	"strings"

	"github.com/volsim/volsim/internal/core/store"
)

// kinds maps what people write before the slash to kinds. The first name of a kind is the one that explanations print.
var kinds = []struct {
	kind       store.Kind
	names      []string
	namespaced bool
}{
	{store.PersistentVolumeClaim, []string{"pvc", "pvcs", "persistentvolumeclaim", "persistentvolumeclaims"}, true},
	{store.PersistentVolume, []string{"pv", "pvs", "persistentvolume", "persistentvolumes"}, false},
	{store.Pod, []string{"pod", "po", "pods"}, true},
	{store.Node, []string{"node", "no", "nodes"}, false},
	{store.StorageClass, []string{"sc", "storageclass", "storageclasses"}, false},
	{store.VolumeAttachment, []string{"va", "volumeattachment", "volumeattachments"}, false},
	{store.CSIDriver, []string{"csidriver", "csidrivers"}, false},
	{store.CSINode, []string{"csinode", "csinodes"}, false},
}

// ParseRef reads how people name an object: pvc/namespace/name, pod/namespace/name, pv/name, node/name, sc/name, va/name and so on.
// A claim or a pod without a namespace is in "default", and namespace/name without a kind is a claim.
func ParseRef(text string) (store.Ref, error) {
	parts := strings.Split(text, "/")
	for _, part := range parts {
		if part == "" {
			return store.Ref{}, fmt.Errorf("%q names no object: write it like pvc/namespace/name, pod/namespace/name or pv/name", text)
		}
	}
	for _, k := range kinds {
		if !slices.Contains(k.names, strings.ToLower(parts[0])) {
			continue
		}
		switch {
		case k.namespaced && len(parts) == 3:
			return store.Ref{Kind: k.kind, Key: store.Key(parts[1], parts[2])}, nil
		case k.namespaced && len(parts) == 2:
			return store.Ref{Kind: k.kind, Key: store.Key("default", parts[1])}, nil
		case !k.namespaced && len(parts) == 2:
			return store.Ref{Kind: k.kind, Key: parts[1]}, nil
		}
		return store.Ref{}, fmt.Errorf("%q names no %s: write it like %s", text, k.kind, example(k.names[0], k.namespaced))
	}
	if len(parts) == 2 {
		return store.Ref{Kind: store.PersistentVolumeClaim, Key: store.Key(parts[0], parts[1])}, nil
	}
	return store.Ref{}, fmt.Errorf("%q names no object: write it like pvc/namespace/name, pod/namespace/name or pv/name", text)
}

func example(kind string, namespaced bool) string {
	if namespaced {
		return kind + "/namespace/name"
	}
	return kind + "/name"
}

// Name is how explanations name an object: pvc/namespace/name, pv/name.
func Name(ref store.Ref) string {
	for _, k := range kinds {
		if k.kind == ref.Kind {
			return k.names[0] + "/" + ref.Key
		}
	}
	return strings.ToLower(string(ref.Kind)) + "/" + ref.Key
}

func nameOf(obj store.Object) string { return Name(store.RefTo(obj)) }
