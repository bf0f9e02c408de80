package resources

import (
	"fmt"
	"slices"
	"strings"

	authenticationv1 "k8s.io/api/authentication/v1"
	autoscalingv1 "k8s.io/api/autoscaling/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/volsim/volsim/api"
	"github.com/volsim/volsim/internal/core/objkinds"
	"github.com/volsim/volsim/internal/core/plain"
	"github.com/volsim/volsim/internal/core/store"
	"github.com/volsim/volsim/internal/core/strategy"
)

// Resource is one row of the table of resources: a kind under its name in paths.
type Resource struct {
	schema.GroupVersionResource
	Kind         api.Kind
	KindName     string // as in objects
	Singular     string
	ShortNames   []string
	Categories   []string
	Namespaced   bool
	Status       bool // it has the subresource status
	StatusAlone  bool // whose updates leave the metadata as it is
	Subresources []Subresource
	// Simulated kinds have Go types in the store, the others are plain data. Typed kinds have a Go type in requests and answers. Custom kinds
	// are those of CustomResourceDefinitions.
	Simulated, Typed, Custom bool
	// Review: objects are not stored. A create answers a question, or binds a pod.
	Review bool
	// KeepsDeleted reports that the answer to a delete is the deleted object, and not a Status.
	KeepsDeleted bool
	// CreatesOnUpdate reports that an update of an absent object creates it.
	CreatesOnUpdate bool
	// Sample is an object without fields of the Go type of a typed kind, to read only; nil if objects are not stored.
	Sample api.Object
	// Empty returns an object to decode into.
	Empty func() api.Object
	// storedType is the kind of stored objects that are plain data.
	storedType metav1.TypeMeta
	// Selectable returns the fields that a field selector may name, besides metadata.name and metadata.namespace, with their values. Nil
	// is none.
	Selectable func(obj api.Object) fields.Set

	// Stored and Presented convert between the Go type of the store and that of requests and answers. Nil if they are the same.
	Stored, Presented func(api.Object) (api.Object, error)

	definition *DefinedVersion // of a custom kind, as last read

	// Changes counts the changes of objects so far, including the one being delivered. The server counts them only if something needs the number.
	Changes int
}

// Subresource is a subresource other than status.
type Subresource struct {
	Name  string
	Kind  schema.GroupVersionKind // of the body
	Verbs []string
}

// Bindings is the older form of the subresource binding of a pod, which clients of objects use.
const Bindings = "bindings"

var CoreGroup = schema.GroupVersion{Version: "v1"}

// newResource returns the resource of a kind in one version.
func newResource(kind *objkinds.Kind, version string) *Resource {
	gvk := schema.GroupVersionKind{Group: kind.Group, Version: version, Kind: kind.Kind}
	stored := kind.GroupVersionKind()
	storedType := metav1.TypeMeta{Kind: stored.Kind, APIVersion: stored.GroupVersion().String()}
	r := &Resource{
		GroupVersionResource: gvk.GroupVersion().WithResource(kind.Plural), Kind: api.Kind(kind.Name()), KindName: kind.Kind,
		Singular: kind.Names()[1], ShortNames: kind.Short, Categories: kind.Categories, Namespaced: kind.Namespaced, Status: kind.Status,
		StatusAlone: kind.StatusAlone, Custom: kind.Custom,
		Empty: func() api.Object {
			return &plain.Object{TypeMeta: storedType}
		},
		storedType: storedType,
	}
	if kind.Custom && kind.Scale {
		r.Subresources = append(r.Subresources, scaleSubresource())
	}
	return r
}

func scaleSubresource() Subresource {
	return Subresource{SubresourceScale, Scales.GVK(), []string{VerbGet, VerbPatch, VerbUpdate}}
}

// complete adds what only some kinds have.
func (r *Resource) complete() {
	gvk := r.GVK()
	if store.HasTypedTable(r.Kind) {
		r.Simulated = true
		r.Empty = func() api.Object { return NewObject(gvk) }
	}
	switch r.Kind {
	case api.PersistentVolume, api.PersistentVolumeClaim, api.CSIDriver, api.CSINode, api.StorageClass, api.VolumeAttachment,
		api.VolumeAttributesClass, "Namespace", "PodTemplate", "ResourceQuota", "Service", "ServiceAccount":
		r.KeepsDeleted = true
	case api.Event:
		r.Selectable = eventFields
	case api.Node:
		r.Selectable = func(obj api.Object) fields.Set {
			return fields.Set{"spec.unschedulable": fmt.Sprint(obj.(*corev1.Node).Spec.Unschedulable)}
		}
	case api.Pod:
		r.KeepsDeleted, r.Selectable = true, podFields
		r.Subresources = []Subresource{
			{SubresourceBinding, CoreGroup.WithKind("Binding"), []string{VerbCreate}},
			{string(strategy.EphemeralContainers), CoreGroup.WithKind("Pod"), []string{VerbGet, VerbPatch, VerbUpdate}},
			{string(strategy.Resize), CoreGroup.WithKind("Pod"), []string{VerbGet, VerbPatch, VerbUpdate}},
			{SubresourceEviction, schema.GroupVersionKind{Group: "policy", Version: "v1", Kind: "Eviction"}, []string{VerbCreate}},
		}
	}
	r.addRefused()
	switch r.Kind {
	case "CertificateSigningRequest.certificates.k8s.io":
		r.Subresources = append(r.Subresources, Subresource{SubresourceApproval, gvk, []string{VerbGet, VerbPatch, VerbUpdate}})
		r.Selectable = contentFields("spec.signerName")
	case "ServiceAccount":
		r.Subresources = append(r.Subresources, Subresource{SubresourceToken, authenticationv1.SchemeGroupVersion.WithKind("TokenRequest"), []string{VerbCreate}})
	case "Namespace":
		r.Subresources = append(r.Subresources, Subresource{SubresourceFinalize, gvk, []string{VerbUpdate}})
		r.Selectable = contentFields("status.phase")
	case "Secret":
		r.Selectable = contentFields("type")
	case "Job.batch":
		r.Selectable = numberField("status.successful", "succeeded")
	case "ReplicationController":
		r.Selectable = numberField("status.replicas", "replicas")
	case "Service":
		r.Selectable = contentFields("spec.clusterIP", "spec.type")
	case "ResourceSlice.resource.k8s.io":
		r.Selectable = contentFields("spec.driver", "spec.nodeName") // API-582
	}
	if kind := objkinds.Get(string(r.Kind)); kind != nil && kind.Scale {
		r.Subresources = append(r.Subresources, scaleSubresource())
	}
	r.KeepsDeleted = r.KeepsDeleted || r.Group == "resource.k8s.io"
	switch r.Kind {
	case api.Event, "Endpoints", "Lease.coordination.k8s.io", "LimitRange", "RuntimeClass.node.k8s.io", "Service":
		r.CreatesOnUpdate = true
	default:
		r.CreatesOnUpdate = r.Group == "rbac.authorization.k8s.io"
	}
}

// refused are the subresources that discovery lists and the server does not carry out, by resource, with the reason.
var refused = map[api.Kind][]struct {
	Subresource
	reason string
}{
	api.Pod: {
		{Subresource{"attach", CoreGroup.WithKind("PodAttachOptions"), []string{VerbCreate, VerbGet}}, NoContainers},
		{Subresource{"exec", CoreGroup.WithKind("PodExecOptions"), []string{VerbCreate, VerbGet}}, NoContainers},
		{Subresource{SubresourceLog, CoreGroup.WithKind("Pod"), []string{VerbGet}}, NoContainers},
		{Subresource{"portforward", CoreGroup.WithKind("PodPortForwardOptions"), []string{VerbCreate, VerbGet}}, NoContainers},
		{Subresource{"proxy", CoreGroup.WithKind("PodProxyOptions"), proxyVerbs}, noNetwork},
	},
	api.Node:  {{Subresource{"proxy", CoreGroup.WithKind("NodeProxyOptions"), proxyVerbs}, noNetwork}},
	"Service": {{Subresource{"proxy", CoreGroup.WithKind("ServiceProxyOptions"), proxyVerbs}, noNetwork}},
}

const (
	NoContainers = "no containers run in volsim"
	noNetwork    = "volsim has no network"
)

var proxyVerbs = []string{VerbCreate, VerbDelete, VerbGet, VerbPatch, VerbUpdate}

// addRefused adds the subresources of the table refused.
func (r *Resource) addRefused() {
	for _, sub := range refused[r.Kind] {
		r.Subresources = append(r.Subresources, sub.Subresource)
	}
}

// Refusal returns why the server does not carry out requests for a subresource, "" if it does.
func (r *Resource) Refusal(name string) string {
	for _, sub := range refused[r.Kind] {
		if sub.Name == name {
			return sub.reason
		}
	}
	return ""
}

func (r *Resource) GVK() schema.GroupVersionKind { return r.GroupVersion().WithKind(r.KindName) }

// Verbs lists the verbs of the resource, in the order of discovery.
func (r *Resource) Verbs() []string {
	if r.Review {
		return []string{VerbCreate}
	}
	if r.Kind == store.NamespaceKind {
		return []string{"create", "delete", "get", "list", "patch", "update", "watch"}
	}
	if r.Custom {
		return []string{"delete", "deletecollection", "get", "list", "patch", "create", "update", "watch"}
	}
	return []string{"create", "delete", "deletecollection", "get", "list", "patch", "update", "watch"}
}

// Subresource returns the subresource of that name, or nil. It does not know status.
func (r *Resource) Subresource(name string) *Subresource {
	for i := range r.Subresources {
		if r.Subresources[i].Name == name {
			return &r.Subresources[i]
		}
	}
	return nil
}

// Presentable returns a stored object in the Go type of answers, to read only. Custom objects have that of the store, with the version of the resource.
func (r *Resource) Presentable(obj api.Object) (any, error) {
	data, ok := obj.(*plain.Object)
	switch {
	case r.Presented != nil:
		return r.Presented(obj)
	case !ok:
		return obj, nil
	case r.Typed:
		return data.SharedAs(r.Sample)
	}
	versioned := *data
	versioned.SetGroupVersionKind(r.GVK())
	return &versioned, nil
}

// Storable returns a decoded object in the Go type of the store.
func (r *Resource) Storable(obj api.Object) (api.Object, error) {
	if r.Stored != nil {
		return r.Stored(obj)
	}
	if r.Simulated {
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

// Scales stands for the resource in bodies of the subresource.
var Scales = &Resource{
	GroupVersionResource: autoscalingv1.SchemeGroupVersion.WithResource("scales"), Kind: "Scale.autoscaling", KindName: "Scale", Typed: true,
	Namespaced: true,
}

// AllSubresources returns the subresources with status, in the order of their names. Of a custom resource, status is the first.
func (r *Resource) AllSubresources() []Subresource {
	subs := slices.Clone(r.Subresources)
	if r.Status {
		subs = append(subs, Subresource{string(api.Status), r.GVK(), []string{VerbGet, VerbPatch, VerbUpdate}})
	}
	slices.SortFunc(subs, func(a, b Subresource) int {
		if r.Custom {
			return -strings.Compare(a.Name, b.Name)
		}
		return strings.Compare(a.Name, b.Name)
	})
	return subs
}
