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
)

// resource is one row of the table of resources: a kind under its name in paths.
type resource struct {
	schema.GroupVersionResource
	kind         api.Kind
	singular     string
	shortNames   []string
	categories   []string
	namespaced   bool
	status       bool // it has the subresource status
	subresources []subresource
	// keepsDeleted reports that the answer to a delete is the deleted object, and not a Status.
	keepsDeleted bool
	// empty returns an object to decode into.
	empty func() api.Object
	// selectable returns the fields that a field selector may name, besides metadata.name and metadata.namespace, with their values. Nil
	// is none.
	selectable func(obj api.Object) fields.Set

	changes int // so far, including the one being delivered; see Server.count

	// The last encoded object: each change is encoded once for several watches.
	last    api.Object
	encoded []byte
}

// subresource is a subresource other than status.
type subresource struct {
	name  string
	kind  schema.GroupVersionKind // of the body
	verbs []string
}

var (
	coreGroup    = schema.GroupVersion{Version: "v1"}
	storageGroup = schema.GroupVersion{Group: "storage.k8s.io", Version: "v1"}
)

// newResources returns the table of resources in the order of discovery: by group, then by name.
func newResources() []*resource {
	return []*resource{
		{
			GroupVersionResource: coreGroup.WithResource("events"), kind: api.Event, singular: "event", shortNames: []string{"ev"},
			namespaced: true, empty: func() api.Object { return &corev1.Event{} }, selectable: eventFields,
		},
		{
			GroupVersionResource: coreGroup.WithResource("nodes"), kind: api.Node, singular: "node", shortNames: []string{"no"},
			status: true, empty: func() api.Object { return &corev1.Node{} },
			selectable: func(obj api.Object) fields.Set {
				return fields.Set{"spec.unschedulable": fmt.Sprint(obj.(*corev1.Node).Spec.Unschedulable)}
			},
		},
		{
			GroupVersionResource: coreGroup.WithResource("persistentvolumeclaims"), kind: api.PersistentVolumeClaim,
			singular: "persistentvolumeclaim", shortNames: []string{"pvc"}, namespaced: true, status: true, keepsDeleted: true,
			empty: func() api.Object { return &corev1.PersistentVolumeClaim{} },
		},
		{
			GroupVersionResource: coreGroup.WithResource("persistentvolumes"), kind: api.PersistentVolume, singular: "persistentvolume",
			shortNames: []string{"pv"}, status: true, keepsDeleted: true, empty: func() api.Object { return &corev1.PersistentVolume{} },
		},
		{
			GroupVersionResource: coreGroup.WithResource("pods"), kind: api.Pod, singular: "pod", shortNames: []string{"po"},
			categories: []string{"all"}, namespaced: true, status: true, keepsDeleted: true,
			subresources: []subresource{
				{"binding", coreGroup.WithKind("Binding"), []string{"create"}},
				{"eviction", schema.GroupVersionKind{Group: "policy", Version: "v1", Kind: "Eviction"}, []string{"create"}},
			},
			empty: func() api.Object { return &corev1.Pod{} }, selectable: podFields,
		},
		{
			GroupVersionResource: storageGroup.WithResource("csidrivers"), kind: api.CSIDriver, singular: "csidriver", keepsDeleted: true,
			empty: func() api.Object { return &storagev1.CSIDriver{} },
		},
		{
			GroupVersionResource: storageGroup.WithResource("csinodes"), kind: api.CSINode, singular: "csinode", keepsDeleted: true,
			empty: func() api.Object { return &storagev1.CSINode{} },
		},
		{
			GroupVersionResource: storageGroup.WithResource("csistoragecapacities"), kind: api.CSIStorageCapacity,
			singular: "csistoragecapacity", namespaced: true, empty: func() api.Object { return &storagev1.CSIStorageCapacity{} },
		},
		{
			GroupVersionResource: storageGroup.WithResource("storageclasses"), kind: api.StorageClass, singular: "storageclass",
			shortNames: []string{"sc"}, keepsDeleted: true, empty: func() api.Object { return &storagev1.StorageClass{} },
		},
		{
			GroupVersionResource: storageGroup.WithResource("volumeattachments"), kind: api.VolumeAttachment, singular: "volumeattachment",
			status: true, keepsDeleted: true, empty: func() api.Object { return &storagev1.VolumeAttachment{} },
		},
		{
			GroupVersionResource: storageGroup.WithResource("volumeattributesclasses"), kind: api.VolumeAttributesClass,
			singular: "volumeattributesclass", shortNames: []string{"vac"}, keepsDeleted: true,
			empty: func() api.Object { return &storagev1.VolumeAttributesClass{} },
		},
	}
}

func (r *resource) gvk() schema.GroupVersionKind { return r.GroupVersion().WithKind(string(r.kind)) }

// verbs lists the verbs of the resource, in the order of discovery.
func (r *resource) verbs() []string {
	return []string{"create", "delete", "deletecollection", "get", "list", "patch", "update", "watch"}
}

// subresource returns the subresource of that name, or nil. It does not know status.
func (r *resource) subresource(name string) *subresource {
	for i := range r.subresources {
		if r.subresources[i].name == name {
			return &r.subresources[i]
		}
	}
	return nil
}

// encode returns the JSON of a stored object with its kind. The caller has the server's lock.
func (r *resource) encode(obj api.Object) ([]byte, error) {
	if obj == r.last {
		return r.encoded, nil
	}
	data, err := encodeObject(obj, r.gvk())
	if err == nil {
		r.last, r.encoded = obj, data
	}
	return data, err
}

// encodeObject returns the JSON of an object with the kind, which stored objects do not name.
func encodeObject(obj any, gvk schema.GroupVersionKind) ([]byte, error) {
	data, err := json.Marshal(obj)
	if err != nil {
		return nil, fmt.Errorf("encode %s: %w", gvk.Kind, err)
	}
	if bytes.HasPrefix(data, []byte(`{"kind":`)) || bytes.HasPrefix(data, []byte(`{"apiVersion":`)) {
		return data, nil // it names its kind itself
	}
	out := fmt.Appendf(make([]byte, 0, len(data)+64), `{"kind":%q,"apiVersion":%q`, gvk.Kind, gvk.GroupVersion().String())
	if len(data) > len("{}") {
		out = append(out, ',')
	}
	return append(out, data[1:]...), nil
}

func podFields(obj api.Object) fields.Set {
	pod := obj.(*corev1.Pod)
	ip := ""
	if len(pod.Status.PodIPs) > 0 {
		ip = pod.Status.PodIPs[0].IP
	}
	return fields.Set{
		"spec.nodeName":            pod.Spec.NodeName,
		"spec.restartPolicy":       string(pod.Spec.RestartPolicy),
		"spec.schedulerName":       pod.Spec.SchedulerName,
		"spec.serviceAccountName":  pod.Spec.ServiceAccountName,
		"spec.hostNetwork":         fmt.Sprint(pod.Spec.HostNetwork),
		"status.phase":             string(pod.Status.Phase),
		"status.podIP":             ip,
		"status.podIPs":            "", // the server accepts the name and compares with nothing
		"status.nominatedNodeName": pod.Status.NominatedNodeName,
	}
}

func eventFields(obj api.Object) fields.Set {
	e := obj.(*corev1.Event)
	source := e.Source.Component
	if source == "" {
		source = e.ReportingController
	}
	return fields.Set{
		"involvedObject.kind":            e.InvolvedObject.Kind,
		"involvedObject.namespace":       e.InvolvedObject.Namespace,
		"involvedObject.name":            e.InvolvedObject.Name,
		"involvedObject.uid":             string(e.InvolvedObject.UID),
		"involvedObject.apiVersion":      e.InvolvedObject.APIVersion,
		"involvedObject.resourceVersion": e.InvolvedObject.ResourceVersion,
		"involvedObject.fieldPath":       e.InvolvedObject.FieldPath,
		"reason":                         e.Reason,
		"reportingComponent":             e.ReportingController,
		"source":                         source,
		"type":                           e.Type,
	}
}
