package script

import (
	"bytes"
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/volsim/volsim"
	"github.com/volsim/volsim/api"
	"github.com/volsim/volsim/internal/core/manifests"
	"github.com/volsim/volsim/internal/core/objects"
	"github.com/volsim/volsim/internal/core/objkinds"
	"github.com/volsim/volsim/internal/core/similar"
	"github.com/volsim/volsim/internal/core/store"
)

// kindNames holds the names of each kind: plural, singular, then short names.
var kindNames = map[api.Kind][]string{
	api.PersistentVolume:      {"persistentvolumes", "persistentvolume", "pv", "volume"},
	api.PersistentVolumeClaim: {"persistentvolumeclaims", "persistentvolumeclaim", "pvc", "claim"},
	api.StorageClass:          {"storageclasses", "storageclass", "sc", "class"},
	api.Pod:                   {"pods", "pod", "po"},
	api.Node:                  {"nodes", "node", "no"},
	api.VolumeAttachment:      {"volumeattachments", "volumeattachment", "va", "attachment"},
	api.CSIDriver:             {"csidrivers", "csidriver"},
	api.CSINode:               {"csinodes", "csinode"},
	api.VolumeAttributesClass: {"volumeattributesclasses", "volumeattributesclass", "vac"},
	api.CSIStorageCapacity:    {"csistoragecapacities", "csistoragecapacity"},
	api.Event:                 {"events", "event", "ev"},
}

// describe returns the facts about a kind: one of Kubernetes, or one that a file of the script defines. It returns nil for others.
func (s *Script) describe(kind api.Kind) *objkinds.Kind {
	if known := objkinds.Get(string(kind)); known != nil || s == nil {
		return known
	}
	for _, custom := range s.customKinds() {
		if custom.Name() == string(kind) {
			return custom
		}
	}
	return nil
}

// customKinds returns the kinds of the CustomResourceDefinitions in the files of the script.
func (s *Script) customKinds() []*objkinds.Kind {
	var kinds []*objkinds.Kind
	for _, f := range s.archive.Files {
		if !bytes.Contains(f.Data, []byte("CustomResourceDefinition")) {
			continue
		}
		for _, m := range manifests.Scan(f.Data) {
			if kind := store.KindOfDefinition(m.Object); kind != nil {
				kinds = append(kinds, kind)
			}
		}
	}
	return kinds
}

// namespaced reports whether objects of the kind have a namespace.
func (s *Script) namespaced(kind api.Kind) bool {
	known := s.describe(kind)
	return known != nil && known.Namespaced
}

// kindOf returns the kind with this name, as kubectl accepts it: plural, singular or short, with or without version and group.
func (s *Script) kindOf(name string) (api.Kind, error) {
	short := strings.ToLower(name)
	for _, suffix := range []string{".storage.k8s.io", ".", ".v1"} {
		short = strings.TrimSuffix(short, suffix)
	}
	for kind, names := range kindNames {
		if slices.Contains(names, short) {
			return kind, nil
		}
	}
	short = strings.ToLower(name)
	for _, kind := range slices.Concat(objkinds.All(), s.customKinds()) {
		for _, known := range kind.Names() {
			rest, ok := strings.CutPrefix(short, known)
			if !ok {
				continue
			}
			version, group, _ := strings.Cut(strings.TrimPrefix(rest, "."), ".")
			if rest == "" || rest == "."+kind.Group || kind.Serves(version) && group == kind.Group {
				return api.Kind(kind.Name()), nil
			}
		}
	}
	var all []string
	for _, names := range kindNames {
		all = append(all, names...)
	}
	for _, kind := range slices.Concat(objkinds.All(), s.customKinds()) {
		all = append(all, kind.Names()...)
	}
	slices.Sort(all)
	if hint := similar.Hint(short, all); hint != "" {
		return "", fmt.Errorf("the server doesn't have a resource type %q%s", name, hint)
	}
	var known []string
	for _, kind := range store.Kinds() {
		names := kindNames[kind]
		known = append(known, names[min(2, len(names)-1)])
	}
	return "", fmt.Errorf("the server doesn't have a resource type %q; it has %s, and the other kinds of Kubernetes", name, strings.Join(known, ", "))
}

// plural returns the plural name of a kind with its API group.
func plural(kind api.Kind) string {
	if names := kindNames[kind]; names != nil {
		return withGroup(kind, names[0])
	}
	if known := objkinds.Get(string(kind)); known != nil {
		return withGroup(kind, known.Plural)
	}
	name, _ := objkinds.Split(string(kind))
	return withGroup(kind, strings.ToLower(name)+"s")
}

// singular returns the singular name of a kind with its API group, as kubectl prints it before a name.
func singular(kind api.Kind) string {
	name, _ := objkinds.Split(string(kind))
	return withGroup(kind, strings.ToLower(name))
}

func withGroup(kind api.Kind, name string) string {
	_, group := objkinds.Split(string(kind))
	if group == "" {
		group = store.GroupVersionKind(kind).Group
	}
	if group != "" {
		return name + "." + group
	}
	return name
}

// defaultNamespace is the namespace of objects that name none, in a script.
const defaultNamespace = "default"

// inNamespace returns the namespace of objects that name none.
func (s *Script) inNamespace() string {
	if s == nil || s.namespace == "" {
		return defaultNamespace
	}
	return s.namespace
}

// refTo returns the reference to an object of this kind named "name" or "namespace/name".
func (s *Script) refTo(kind api.Kind, name, namespace string) (api.Ref, error) {
	ns, base, qualified := strings.Cut(name, "/")
	if !qualified {
		ns, base = "", name
	}
	switch {
	case base == "" || strings.Contains(base, "/") || qualified && ns == "":
		return api.Ref{}, fmt.Errorf("invalid object %q: want KIND/NAME or KIND/NAMESPACE/NAME", string(kind)+"/"+name)
	case !s.namespaced(kind) && qualified:
		return api.Ref{}, fmt.Errorf("invalid object: %s has no namespace; write %s/%s", kind, singular(kind), base)
	case !s.namespaced(kind):
		return api.Ref{Kind: kind, Key: base}, nil
	case qualified && namespace != "" && namespace != ns:
		return api.Ref{}, fmt.Errorf("object %s is in namespace %s, but -n is %s", name, ns, namespace)
	case ns == "" && namespace != "":
		ns = namespace
	case ns == "":
		ns = s.inNamespace()
	}
	return api.Ref{Kind: kind, Key: api.Key(ns, base)}, nil
}

// refOf reads KIND/NAME or KIND/NAMESPACE/NAME.
func (s *Script) refOf(word, namespace string) (api.Ref, error) {
	kindName, name, ok := strings.Cut(word, "/")
	if !ok {
		return api.Ref{}, fmt.Errorf("invalid object %q: want KIND/NAME or KIND/NAMESPACE/NAME", word)
	}
	kind, err := s.kindOf(kindName)
	if err != nil {
		return api.Ref{}, err
	}
	return s.refTo(kind, name, namespace)
}

// refsOf reads one or more objects in the forms of kubectl: KIND NAME..., or KIND/NAME...
func (s *Script) refsOf(words []string, namespace string) ([]api.Ref, error) {
	var refs []api.Ref
	if len(words) == 0 {
		return nil, fmt.Errorf("missing object: want KIND/NAME or KIND NAME")
	}
	if strings.Contains(words[0], "/") {
		for _, w := range words {
			ref, err := s.refOf(w, namespace)
			if err != nil {
				return nil, err
			}
			refs = append(refs, ref)
		}
		return refs, nil
	}
	kind, err := s.kindOf(words[0])
	if err != nil {
		return nil, err
	}
	if len(words) == 1 {
		return nil, fmt.Errorf("missing name of the %s", kind)
	}
	for _, name := range words[1:] {
		ref, err := s.refTo(kind, name, namespace)
		if err != nil {
			return nil, err
		}
		refs = append(refs, ref)
	}
	return refs, nil
}

// displayName returns the name of an object as kubectl prints it, such as persistentvolume/pv1.
func displayName(ref api.Ref) string {
	_, name := objects.SplitKey(ref.Key)
	return singular(ref.Kind) + "/" + name
}

// kindTable gives access to the objects of one kind of a cluster.
type kindTable struct {
	get  func(*volsim.Cluster, string) (api.Object, error)
	list func(*volsim.Cluster) []api.Object
	// named returns an empty object.
	named func() api.Object
}

func tableOf[T api.Object](table func(*volsim.Cluster) volsim.Table[T], empty func() T) kindTable {
	return kindTable{
		get: func(c *volsim.Cluster, key string) (api.Object, error) {
			obj, err := table(c).Get(key)
			if err != nil {
				return nil, err
			}
			return obj, nil
		},
		list:  func(c *volsim.Cluster) []api.Object { return asObjects(table(c).List()) },
		named: func() api.Object { return empty() },
	}
}

func asObjects[T api.Object](list []T) []api.Object {
	objs := make([]api.Object, len(list))
	for i, obj := range list {
		objs[i] = obj
	}
	return objs
}

var tables = map[api.Kind]kindTable{
	api.PersistentVolume: tableOf(func(c *volsim.Cluster) volsim.Table[*corev1.PersistentVolume] { return c.Volumes },
		func() *corev1.PersistentVolume { return new(corev1.PersistentVolume) }),
	api.PersistentVolumeClaim: tableOf(func(c *volsim.Cluster) volsim.Table[*corev1.PersistentVolumeClaim] { return c.Claims },
		func() *corev1.PersistentVolumeClaim { return new(corev1.PersistentVolumeClaim) }),
	api.StorageClass: tableOf(func(c *volsim.Cluster) volsim.Table[*storagev1.StorageClass] { return c.Classes },
		func() *storagev1.StorageClass { return new(storagev1.StorageClass) }),
	api.VolumeAttributesClass: tableOf(func(c *volsim.Cluster) volsim.Table[*storagev1.VolumeAttributesClass] { return c.AttributesClasses },
		func() *storagev1.VolumeAttributesClass { return new(storagev1.VolumeAttributesClass) }),
	api.Pod: tableOf(func(c *volsim.Cluster) volsim.Table[*corev1.Pod] { return c.Pods },
		func() *corev1.Pod { return new(corev1.Pod) }),
	api.Node: tableOf(func(c *volsim.Cluster) volsim.Table[*corev1.Node] { return c.Nodes },
		func() *corev1.Node { return new(corev1.Node) }),
	api.VolumeAttachment: tableOf(func(c *volsim.Cluster) volsim.Table[*storagev1.VolumeAttachment] { return c.Attachments },
		func() *storagev1.VolumeAttachment { return new(storagev1.VolumeAttachment) }),
	api.CSIDriver: tableOf(func(c *volsim.Cluster) volsim.Table[*storagev1.CSIDriver] { return c.CSIDrivers },
		func() *storagev1.CSIDriver { return new(storagev1.CSIDriver) }),
	api.CSINode: tableOf(func(c *volsim.Cluster) volsim.Table[*storagev1.CSINode] { return c.CSINodes },
		func() *storagev1.CSINode { return new(storagev1.CSINode) }),
	api.CSIStorageCapacity: tableOf(func(c *volsim.Cluster) volsim.Table[*storagev1.CSIStorageCapacity] { return c.Capacities },
		func() *storagev1.CSIStorageCapacity { return new(storagev1.CSIStorageCapacity) }),
	api.Event: {
		get: func(c *volsim.Cluster, key string) (api.Object, error) {
			for _, e := range c.Events() {
				if api.KeyOf(e) == key {
					return e, nil
				}
			}
			return nil, notFound(api.Ref{Kind: api.Event, Key: key})
		},
		list:  func(c *volsim.Cluster) []api.Object { return asObjects(c.Events()) },
		named: func() api.Object { return new(corev1.Event) },
	},
}

// newObject returns an object that has only this kind.
func newObject(kind api.Kind) api.Object {
	if table, ok := tables[kind]; ok {
		return table.named()
	}
	name, group := objkinds.Split(string(kind))
	u := &unstructured.Unstructured{}
	u.SetGroupVersionKind(schema.GroupVersionKind{Group: group, Kind: name})
	if gvk := store.GroupVersionKind(kind); !gvk.Empty() {
		u.SetGroupVersionKind(gvk)
	}
	return u
}

// emptyObject returns an object that has only this kind, namespace and name.
func emptyObject(ref api.Ref) api.Object {
	obj := newObject(ref.Kind)
	namespace, name := objects.SplitKey(ref.Key)
	obj.SetNamespace(namespace)
	obj.SetName(name)
	return obj
}

// notFound returns the error of kubectl for a missing object.
func notFound(ref api.Ref) error {
	_, name := objects.SplitKey(ref.Key)
	return apierrors.NewNotFound(schema.GroupResource{Resource: plural(ref.Kind)}, name)
}
