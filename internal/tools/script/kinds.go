package script

import (
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"

	"github.com/volsim/volsim"
	"github.com/volsim/volsim/api"
	"github.com/volsim/volsim/internal/core/objects"
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

// namespaced holds the kinds with a namespace.
var namespaced = map[api.Kind]bool{
	api.PersistentVolumeClaim: true, api.Pod: true, api.CSIStorageCapacity: true, api.Event: true,
}

// kindOf returns the kind with this name.
func kindOf(name string) (api.Kind, error) {
	short := strings.ToLower(name)
	for _, suffix := range []string{".storage.k8s.io", ".v1", ".v1.storage.k8s.io"} {
		short = strings.TrimSuffix(short, suffix)
	}
	for kind, names := range kindNames {
		if slices.Contains(names, short) {
			return kind, nil
		}
	}
	var known []string
	for _, kind := range store.Kinds() {
		names := kindNames[kind]
		known = append(known, names[min(2, len(names)-1)])
	}
	return "", fmt.Errorf("%s is not simulated: want one of the kinds %s", name, strings.Join(known, ", "))
}

// plural returns the plural name of a kind with its API group.
func plural(kind api.Kind) string { return withGroup(kind, kindNames[kind][0]) }

// singular returns the singular name of a kind with its API group, as kubectl prints it before a name.
func singular(kind api.Kind) string { return withGroup(kind, strings.ToLower(string(kind))) }

func withGroup(kind api.Kind, name string) string {
	if group := store.GroupVersionKind(kind).Group; group != "" {
		return name + "." + group
	}
	return name
}

// defaultNamespace is the namespace of objects that name none.
const defaultNamespace = "default"

// refTo returns the reference to an object of this kind named "name" or "namespace/name".
func refTo(kind api.Kind, name, namespace string) (api.Ref, error) {
	ns, base, qualified := strings.Cut(name, "/")
	if !qualified {
		ns, base = "", name
	}
	switch {
	case base == "" || strings.Contains(base, "/") || qualified && ns == "":
		return api.Ref{}, fmt.Errorf("invalid object %q: want KIND/NAME or KIND/NAMESPACE/NAME", string(kind)+"/"+name)
	case !namespaced[kind] && qualified:
		return api.Ref{}, fmt.Errorf("invalid object: %s has no namespace; write %s/%s", kind, singular(kind), base)
	case !namespaced[kind]:
		return api.Ref{Kind: kind, Key: base}, nil
	case qualified && namespace != "" && namespace != ns:
		return api.Ref{}, fmt.Errorf("object %s is in namespace %s, but -n is %s", name, ns, namespace)
	case ns == "" && namespace != "":
		ns = namespace
	case ns == "":
		ns = defaultNamespace
	}
	return api.Ref{Kind: kind, Key: api.Key(ns, base)}, nil
}

// refOf reads KIND/NAME or KIND/NAMESPACE/NAME.
func refOf(word, namespace string) (api.Ref, error) {
	kindName, name, ok := strings.Cut(word, "/")
	if !ok {
		return api.Ref{}, fmt.Errorf("invalid object %q: want KIND/NAME or KIND/NAMESPACE/NAME", word)
	}
	kind, err := kindOf(kindName)
	if err != nil {
		return api.Ref{}, err
	}
	return refTo(kind, name, namespace)
}

// refsOf reads one or more objects in the forms of kubectl: KIND NAME..., or KIND/NAME...
func refsOf(words []string, namespace string) ([]api.Ref, error) {
	var refs []api.Ref
	if len(words) == 0 {
		return nil, fmt.Errorf("missing object: want KIND/NAME or KIND NAME")
	}
	if strings.Contains(words[0], "/") {
		for _, w := range words {
			ref, err := refOf(w, namespace)
			if err != nil {
				return nil, err
			}
			refs = append(refs, ref)
		}
		return refs, nil
	}
	kind, err := kindOf(words[0])
	if err != nil {
		return nil, err
	}
	if len(words) == 1 {
		return nil, fmt.Errorf("missing name of the %s", kind)
	}
	for _, name := range words[1:] {
		ref, err := refTo(kind, name, namespace)
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

// emptyObject returns an object that has only this kind, namespace and name.
func emptyObject(ref api.Ref) api.Object {
	obj := tables[ref.Kind].named()
	namespace, name := objects.SplitKey(ref.Key)
	obj.SetNamespace(namespace)
	obj.SetName(name)
	return obj
}

// notFound returns the error of kubectl for a missing object.
func notFound(ref api.Ref) error {
	_, name := objects.SplitKey(ref.Key)
	return fmt.Errorf("%s %q not found", plural(ref.Kind), name)
}
