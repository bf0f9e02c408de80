package apiserver

import (
	"fmt"
	"strings"

	authenticationv1 "k8s.io/api/authentication/v1"
	autoscalingv1 "k8s.io/api/autoscaling/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/volsim/volsim/api"
	"github.com/volsim/volsim/internal/core/objkinds"
	"github.com/volsim/volsim/internal/core/plain"
	"github.com/volsim/volsim/internal/core/store"
	"github.com/volsim/volsim/internal/core/strategy"
)

// resource is one row of the table of resources: a kind under its name in paths.
type resource struct {
	schema.GroupVersionResource
	kind         api.Kind
	kindName     string // as in objects
	singular     string
	shortNames   []string
	categories   []string
	namespaced   bool
	status       bool // it has the subresource status
	statusAlone  bool // whose updates leave the metadata as it is
	subresources []subresource
	// simulated kinds have Go types in the store, the others are plain data. typed kinds have a Go type in requests and answers. custom kinds
	// are those of CustomResourceDefinitions.
	simulated, typed, custom bool
	// review: objects are not stored. A create answers a question, or binds a pod.
	review bool
	// keepsDeleted reports that the answer to a delete is the deleted object, and not a Status.
	keepsDeleted bool
	// createsOnUpdate reports that an update of an absent object creates it.
	createsOnUpdate bool
	// sample is an object without fields of the Go type of a typed kind, to read only; nil if objects are not stored.
	sample api.Object
	// empty returns an object to decode into.
	empty func() api.Object
	// storedType is the kind of stored objects that are plain data.
	storedType metav1.TypeMeta
	// selectable returns the fields that a field selector may name, besides metadata.name and metadata.namespace, with their values. Nil
	// is none.
	selectable func(obj api.Object) fields.Set

	// stored and presented convert between the Go type of the store and that of requests and answers. Nil if they are the same.
	stored, presented func(api.Object) (api.Object, error)

	definition *definedVersion // of a custom kind, as last read

	changes int // so far, including the one being delivered; see Server.count
}

// subresource is a subresource other than status.
type subresource struct {
	name  string
	kind  schema.GroupVersionKind // of the body
	verbs []string
}

// resourceBindings is the older form of the subresource binding of a pod, which clients of objects use.
const resourceBindings = "bindings"

var coreGroup = schema.GroupVersion{Version: "v1"}

// newResource returns the resource of a kind in one version.
func newResource(kind *objkinds.Kind, version string) *resource {
	gvk := schema.GroupVersionKind{Group: kind.Group, Version: version, Kind: kind.Kind}
	stored := kind.GroupVersionKind()
	storedType := metav1.TypeMeta{Kind: stored.Kind, APIVersion: stored.GroupVersion().String()}
	r := &resource{
		GroupVersionResource: gvk.GroupVersion().WithResource(kind.Plural), kind: api.Kind(kind.Name()), kindName: kind.Kind,
		singular: kind.Names()[1], shortNames: kind.Short, categories: kind.Categories, namespaced: kind.Namespaced, status: kind.Status,
		statusAlone: kind.StatusAlone, custom: kind.Custom,
		empty: func() api.Object {
			return &plain.Object{TypeMeta: storedType}
		},
		storedType: storedType,
	}
	if kind.Custom && kind.Scale {
		r.subresources = append(r.subresources, scaleSubresource())
	}
	return r
}

func scaleSubresource() subresource {
	return subresource{subresourceScale, scales.gvk(), []string{verbGet, verbPatch, verbUpdate}}
}

// complete adds what only some kinds have.
func (r *resource) complete() {
	gvk := r.gvk()
	if store.HasTypedTable(r.kind) {
		r.simulated = true
		r.empty = func() api.Object { return newTyped(gvk) }
	}
	switch r.kind {
	case api.PersistentVolume, api.PersistentVolumeClaim, api.CSIDriver, api.CSINode, api.StorageClass, api.VolumeAttachment,
		api.VolumeAttributesClass, "Namespace", "PodTemplate", "ResourceQuota", "Service", "ServiceAccount":
		r.keepsDeleted = true
	case api.Event:
		r.selectable = eventFields
	case api.Node:
		r.selectable = func(obj api.Object) fields.Set {
			return fields.Set{"spec.unschedulable": fmt.Sprint(obj.(*corev1.Node).Spec.Unschedulable)}
		}
	case api.Pod:
		r.keepsDeleted, r.selectable = true, podFields
		r.subresources = []subresource{
			{subresourceBinding, coreGroup.WithKind("Binding"), []string{verbCreate}},
			{string(strategy.EphemeralContainers), coreGroup.WithKind("Pod"), []string{verbGet, verbPatch, verbUpdate}},
			{subresourceEviction, schema.GroupVersionKind{Group: "policy", Version: "v1", Kind: "Eviction"}, []string{verbCreate}},
		}
	}
	r.addRefused()
	switch r.kind {
	case "CertificateSigningRequest.certificates.k8s.io":
		r.subresources = append(r.subresources, subresource{subresourceApproval, gvk, []string{verbGet, verbPatch, verbUpdate}})
		r.selectable = contentFields("spec.signerName")
	case "ServiceAccount":
		r.subresources = append(r.subresources, subresource{subresourceToken, authenticationv1.SchemeGroupVersion.WithKind("TokenRequest"), []string{verbCreate}})
	case "Namespace":
		r.subresources = append(r.subresources, subresource{subresourceFinalize, gvk, []string{verbUpdate}})
		r.selectable = contentFields("status.phase")
	case "Secret":
		r.selectable = contentFields("type")
	case "Job.batch":
		r.selectable = numberField("status.successful", "succeeded")
	case "ReplicationController":
		r.selectable = numberField("status.replicas", "replicas")
	case "Service":
		r.selectable = contentFields("spec.clusterIP", "spec.type")
	}
	if kind := objkinds.Get(string(r.kind)); kind != nil && kind.Scale {
		r.subresources = append(r.subresources, scaleSubresource())
	}
	r.keepsDeleted = r.keepsDeleted || r.Group == "resource.k8s.io"
	switch r.kind {
	case api.Event, "Endpoints", "Lease.coordination.k8s.io", "LimitRange", "RuntimeClass.node.k8s.io", "Service":
		r.createsOnUpdate = true
	default:
		r.createsOnUpdate = r.Group == "rbac.authorization.k8s.io"
	}
}

// refused are the subresources that discovery lists and the server does not carry out, by resource, with the reason.
var refused = map[api.Kind][]struct {
	subresource
	reason string
}{
	api.Pod: {
		{subresource{"attach", coreGroup.WithKind("PodAttachOptions"), []string{verbCreate, verbGet}}, noContainers},
		{subresource{"exec", coreGroup.WithKind("PodExecOptions"), []string{verbCreate, verbGet}}, noContainers},
		{subresource{subresourceLog, coreGroup.WithKind("Pod"), []string{verbGet}}, noContainers},
		{subresource{"portforward", coreGroup.WithKind("PodPortForwardOptions"), []string{verbCreate, verbGet}}, noContainers},
		{subresource{"proxy", coreGroup.WithKind("PodProxyOptions"), proxyVerbs}, noNetwork},
		{subresource{"resize", coreGroup.WithKind("Pod"), []string{verbGet, verbPatch, verbUpdate}}, noContainers},
	},
	api.Node:  {{subresource{"proxy", coreGroup.WithKind("NodeProxyOptions"), proxyVerbs}, noNetwork}},
	"Service": {{subresource{"proxy", coreGroup.WithKind("ServiceProxyOptions"), proxyVerbs}, noNetwork}},
}

const (
	noContainers = "no containers run in volsim"
	noNetwork    = "volsim has no network"
)

var proxyVerbs = []string{verbCreate, verbDelete, verbGet, verbPatch, verbUpdate}

// addRefused adds the subresources of the table refused.
func (r *resource) addRefused() {
	for _, sub := range refused[r.kind] {
		r.subresources = append(r.subresources, sub.subresource)
	}
}

// refusal returns why the server does not carry out requests for a subresource, "" if it does.
func (r *resource) refusal(name string) string {
	for _, sub := range refused[r.kind] {
		if sub.name == name {
			return sub.reason
		}
	}
	return ""
}

// contentFields returns the function that selects fields of objects that are plain data.
func contentFields(paths ...string) func(api.Object) fields.Set {
	return func(obj api.Object) fields.Set {
		set := fields.Set{}
		for _, path := range paths {
			text, _, _ := unstructured.NestedString(obj.(*plain.Object).Content(), strings.Split(path, ".")...)
			set[path] = text
		}
		return set
	}
}

// numberField is a selectable field with the number in the status that has another name (API-444).
func numberField(path, name string) func(api.Object) fields.Set {
	return func(obj api.Object) fields.Set {
		n, _, _ := unstructured.NestedInt64(obj.(*plain.Object).Content(), "status", name)
		return fields.Set{path: fmt.Sprint(n)}
	}
}

func (r *resource) gvk() schema.GroupVersionKind { return r.GroupVersion().WithKind(r.kindName) }

// verbs lists the verbs of the resource, in the order of discovery.
func (r *resource) verbs() []string {
	if r.review {
		return []string{verbCreate}
	}
	if r.kind == store.NamespaceKind {
		return []string{"create", "delete", "get", "list", "patch", "update", "watch"}
	}
	if r.custom {
		return []string{"delete", "deletecollection", "get", "list", "patch", "create", "update", "watch"}
	}
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

// presentable returns a stored object in the Go type of answers, to read only. Custom objects have that of the store, with the version of the resource.
func (r *resource) presentable(obj api.Object) (any, error) {
	data, ok := obj.(*plain.Object)
	switch {
	case r.presented != nil:
		return r.presented(obj)
	case !ok:
		return obj, nil
	case r.typed:
		return data.SharedAs(r.sample)
	}
	versioned := *data
	versioned.SetGroupVersionKind(r.gvk())
	return &versioned, nil
}

// storable returns a decoded object in the Go type of the store.
func (r *resource) storable(obj api.Object) (api.Object, error) {
	if r.stored != nil {
		return r.stored(obj)
	}
	if r.simulated {
		obj.GetObjectKind().SetGroupVersionKind(schema.GroupVersionKind{})
		return obj, nil
	}
	data, err := plain.Take(obj)
	if err != nil {
		return nil, err
	}
	data.TypeMeta = r.storedType
	return data, nil
}

// scales stands for the resource in bodies of the subresource.
var scales = &resource{
	GroupVersionResource: autoscalingv1.SchemeGroupVersion.WithResource("scales"), kind: "Scale.autoscaling", kindName: "Scale", typed: true,
	namespaced: true,
}
