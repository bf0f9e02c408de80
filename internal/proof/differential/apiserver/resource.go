package apiserver

import (
	"bytes"
	"encoding/json"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/volsim/volsim/api"
	"github.com/volsim/volsim/internal/core/store"
)

// resource is one kind that is served.
type resource struct {
	schema.GroupVersionResource
	kind api.Kind
	// head is the beginning of each object's JSON: kind and apiVersion.
	head []byte
	// empty returns an object to decode into.
	empty func() api.Object
	// watch calls fn for each change after a version, like store.Table.Watch.
	watch func(from uint64, match func(api.Object) bool, fn func(change)) (stop func(), err error)

	changes int // so far, including the one being delivered

	// The last encoded object: each change is encoded once for several watches.
	last    api.Object
	encoded []byte
}

// change is a api.Change of any kind.
type change struct {
	changeType api.ChangeType
	object     api.Object
}

func resourcesOf(s *store.Store) []*resource {
	core := schema.GroupVersion{Version: "v1"}
	storage := schema.GroupVersion{Group: "storage.k8s.io", Version: "v1"}
	return []*resource{
		newResource[corev1.PersistentVolume](core, "persistentvolumes", s.Volumes),
		newResource[corev1.PersistentVolumeClaim](core, "persistentvolumeclaims", s.Claims),
		newResource[corev1.Pod](core, "pods", s.Pods),
		newResource[corev1.Node](core, "nodes", s.Nodes),
		newResource[corev1.Event](core, "events", s.Events),
		newResource[storagev1.StorageClass](storage, "storageclasses", s.Classes),
		newResource[storagev1.VolumeAttributesClass](storage, "volumeattributesclasses", s.AttributesClasses),
		newResource[storagev1.VolumeAttachment](storage, "volumeattachments", s.Attachments),
		newResource[storagev1.CSIDriver](storage, "csidrivers", s.CSIDrivers),
		newResource[storagev1.CSINode](storage, "csinodes", s.CSINodes),
		newResource[storagev1.CSIStorageCapacity](storage, "csistoragecapacities", s.Capacities),
	}
}

// pointer is a pointer to S that is an object.
type pointer[S any] interface {
	*S
	api.Object
}

func newResource[S any, T pointer[S]](gv schema.GroupVersion, name string, table *store.Table[T]) *resource {
	kind := table.Kind()
	return &resource{
		GroupVersionResource: gv.WithResource(name),
		kind:                 kind,
		head:                 fmt.Appendf(nil, `{"kind":%q,"apiVersion":%q`, kind, gv.String()),
		empty:                func() api.Object { return T(new(S)) },
		watch: func(from uint64, match func(api.Object) bool, fn func(change)) (func(), error) {
			w, err := table.Watch(store.WatchOptions[T]{From: from, Match: func(obj T) bool { return match(obj) }},
				func(c api.Change[T]) { fn(change{c.Type, c.Object}) })
			if err != nil {
				return nil, err
			}
			return w.Stop, nil
		},
	}
}

// count counts the changes from now on. It must be called before any watch.
func (r *resource) count() {
	everything := func(api.Object) bool { return true }
	if _, err := r.watch(0, everything, func(change) { r.changes++ }); err != nil {
		panic(err) // a new store has no history to miss
	}
}

func (s *Server) resource(gvr schema.GroupVersionResource) *resource {
	for _, r := range s.resources {
		if r.GroupVersionResource == gvr {
			return r
		}
	}
	return nil
}

// encode returns the JSON of a stored object with its kind. The caller holds the server's lock.
func (r *resource) encode(obj api.Object) ([]byte, error) {
	if obj == r.last {
		return r.encoded, nil
	}
	data, err := r.marshal(obj)
	if err == nil {
		r.last, r.encoded = obj, data
	}
	return data, err
}

func (r *resource) marshal(obj api.Object) ([]byte, error) {
	data, err := json.Marshal(obj)
	if err != nil {
		return nil, fmt.Errorf("encode %s: %w", api.RefTo(obj), err)
	}
	if bytes.HasPrefix(data, []byte(`{"kind":`)) || bytes.HasPrefix(data, []byte(`{"apiVersion":`)) {
		return data, nil // it names its kind itself
	}
	out := make([]byte, 0, len(r.head)+len(data))
	out = append(out, r.head...)
	out = append(out, ',')
	return append(out, data[1:]...), nil
}

func (r *resource) decode(data []byte) (api.Object, error) {
	obj := r.empty()
	if err := json.Unmarshal(data, obj); err != nil {
		return nil, fmt.Errorf("decode %s: %w", r.kind, err)
	}
	// Stored objects have no TypeMeta.
	obj.GetObjectKind().SetGroupVersionKind(schema.GroupVersionKind{})
	if node, ok := obj.(*storagev1.CSINode); ok {
		// The store does not distinguish an empty list from none.
		for i := range node.Spec.Drivers {
			if len(node.Spec.Drivers[i].TopologyKeys) == 0 {
				node.Spec.Drivers[i].TopologyKeys = nil
			}
		}
	}
	return obj, nil
}

// fieldsOf returns the fields that a field selector may name.
func (r *resource) fieldsOf(obj api.Object) fields.Set {
	set := fields.Set{"metadata.name": obj.GetName(), "metadata.namespace": obj.GetNamespace()}
	switch obj := obj.(type) {
	case *corev1.Pod:
		set["spec.nodeName"] = obj.Spec.NodeName
		set["spec.schedulerName"] = obj.Spec.SchedulerName
		set["status.phase"] = string(obj.Status.Phase)
	case *corev1.Event:
		set["involvedObject.kind"] = obj.InvolvedObject.Kind
		set["involvedObject.namespace"] = obj.InvolvedObject.Namespace
		set["involvedObject.name"] = obj.InvolvedObject.Name
		set["involvedObject.uid"] = string(obj.InvolvedObject.UID)
		set["reason"] = obj.Reason
		set["type"] = obj.Type
	}
	return set
}
