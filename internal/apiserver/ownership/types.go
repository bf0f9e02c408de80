package ownership

import (
	"encoding/json"
	"fmt"
	"sync"

	appsv1 "k8s.io/api/apps/v1"
	autoscalingv1 "k8s.io/api/autoscaling/v1"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/managedfields"
	"k8s.io/kube-openapi/pkg/validation/spec"
	"sigs.k8s.io/structured-merge-diff/v6/typed"
	"sigs.k8s.io/structured-merge-diff/v6/value"

	"github.com/volsim/volsim/api"
	"github.com/volsim/volsim/internal/apiserver/definition"
	"github.com/volsim/volsim/internal/apiserver/kinds"
	"github.com/volsim/volsim/internal/apiserver/resources"
	"github.com/volsim/volsim/internal/core/plain"
)

// typeConverter returns the types of a resource as the OpenAPI document of its group describes them. Kinds without a schema have atomic
// fields.
func (f *Tracker) typeConverter(r *resources.Resource) (managedfields.TypeConverter, error) {
	switch {
	case r.Custom && f.Resources.Definition(r) != nil:
		return f.customTypes(r), nil
	case !r.Typed && r.Kind != resources.DefinitionKind:
		return managedfields.NewDeducedTypeConverter(), nil
	}
	switch {
	case r == resources.Scales:
		return f.documented(appsv1.SchemeGroupVersion) // its document has the type of the subresource
	case r.Kind == kinds.Autoscaler:
		return f.documented(autoscalingv1.SchemeGroupVersion, autoscalingv2.SchemeGroupVersion) // a manager may have used either
	}
	return f.documented(r.GroupVersion())
}

// documented returns the types in the OpenAPI documents of a group in some versions. The first of them decides which these are.
func (f *Tracker) documented(versions ...schema.GroupVersion) (managedfields.TypeConverter, error) {
	if known, ok := f.types[versions[0]]; ok {
		return known, nil
	}
	converter, err := f.read(versions)
	if err != nil {
		return nil, err
	}
	f.types[versions[0]] = &goTypes{TypeConverter: converter, known: map[schema.GroupVersionKind]typed.ParseableType{}}
	return f.types[versions[0]], nil
}

// readTypes are the types that were read from documents, by the first version. Those of the kinds with Go types are the same in each cluster, and
// reading them takes as long as a small test.
var readTypes sync.Map

func (f *Tracker) read(versions []schema.GroupVersion) (managedfields.TypeConverter, error) {
	if known, ok := readTypes.Load(versions[0]); ok {
		return known.(managedfields.TypeConverter), nil
	}
	var document struct {
		Components struct {
			Schemas map[string]*spec.Schema `json:"schemas"`
		} `json:"components"`
	}
	for _, gv := range versions {
		data, _, err := f.Documents.Of(gv)
		if err != nil {
			return nil, err
		}
		if err := json.Unmarshal(data, &document); err != nil {
			return nil, fmt.Errorf("read the OpenAPI document of %s: %w", gv, err)
		}
	}
	converter, err := managedfields.NewTypeConverter(document.Components.Schemas, false)
	if err != nil {
		return nil, err
	}
	readTypes.Store(versions[0], converter)
	return converter, nil
}

// goTypes converts objects for the field manager. An object of a Go type conforms to the schema, which was made from that type, so it is not
// validated for an update: that would take as long as the rest of the update. An apply is validated, because duplicates in its lists are errors.
type goTypes struct {
	managedfields.TypeConverter
	known map[schema.GroupVersionKind]typed.ParseableType
}

// ObjectToTyped implements managedfields.TypeConverter.
func (t *goTypes) ObjectToTyped(obj runtime.Object, opts ...typed.ValidationOptions) (*typed.TypedValue, error) {
	if _, ok := obj.(*unstructured.Unstructured); ok || len(opts) != 1 || opts[0] != typed.AllowDuplicates {
		return t.TypeConverter.ObjectToTyped(obj, opts...)
	}
	gvk := obj.GetObjectKind().GroupVersionKind()
	kind, ok := t.known[gvk]
	if !ok {
		tv, err := t.TypeConverter.ObjectToTyped(obj, opts...)
		if err != nil {
			return nil, err
		}
		kind = typed.ParseableType{TypeRef: tv.TypeRef(), Schema: tv.Schema()}
		t.known[gvk] = kind
	}
	v, err := value.NewValueReflect(obj)
	if err != nil {
		return nil, err
	}
	return typed.AsTypedUnvalidated(v, kind.Schema, kind.TypeRef), nil
}

// fieldTypes makes and converts the objects of one resource.
type fieldTypes struct {
	tracker  *Tracker
	resource *resources.Resource
}

// New implements runtime.ObjectCreater.
func (t fieldTypes) New(gvk schema.GroupVersionKind) (runtime.Object, error) {
	if t.resource.Typed {
		obj := resources.NewObject(gvk)
		obj.GetObjectKind().SetGroupVersionKind(gvk)
		return obj, nil
	}
	u := &unstructured.Unstructured{}
	u.SetGroupVersionKind(gvk)
	if t.resource.Kind == resources.DefinitionKind {
		// API-527: every definition has these fields, so no manager owns them.
		u.Object["spec"], u.Object["status"] = object{"names": object{}}, object{"acceptedNames": object{}}
	}
	return u, nil
}

// Default implements runtime.ObjectDefaulter. The store sets defaults.
func (fieldTypes) Default(runtime.Object) {}

// ConvertToVersion implements runtime.ObjectConvertor. Versions of a kind differ in their name only, unless a webhook converts them.
func (t fieldTypes) ConvertToVersion(in runtime.Object, to runtime.GroupVersioner) (runtime.Object, error) {
	gvk, ok := to.KindForGroupVersionKinds([]schema.GroupVersionKind{in.GetObjectKind().GroupVersionKind()})
	if !ok {
		return nil, fmt.Errorf("convert %s: no such version", in.GetObjectKind().GroupVersionKind())
	}
	u, ok := in.(*unstructured.Unstructured)
	switch {
	case !ok && t.resource.Kind == kinds.Autoscaler:
		converted := kinds.ConvertAutoscaler(in.(api.Object), gvk.Version)
		converted.GetObjectKind().SetGroupVersionKind(gvk)
		return converted, nil
	case !ok:
		return in, nil
	case t.resource.Kind == resources.DefinitionKind:
		merged, err := definition.Merged(runtime.DeepCopyJSON(u.Object), false)
		if err != nil {
			return nil, fmt.Errorf("unable to convert unstructured object to %v: %w", u.GroupVersionKind(), err)
		}
		return plain.Unstructured(merged)
	case !t.resource.Typed:
		if u.GroupVersionKind() == gvk {
			return u, nil
		}
		if conversion := t.tracker.Resources.ConversionOf(t.resource); conversion != nil {
			obj, err := plain.From(u)
			if err != nil {
				return nil, err
			}
			converted, err := t.tracker.Convert(conversion, obj, gvk.Version)
			if err != nil {
				return nil, err
			}
			return plain.Unstructured(converted)
		}
		c := &unstructured.Unstructured{Object: make(map[string]any, len(u.Object))}
		for name, value := range u.Object {
			c.Object[name] = value
		}
		c.SetGroupVersionKind(gvk)
		return c, nil
	}
	typed := resources.NewObject(u.GroupVersionKind())
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(u.Object, typed); err != nil {
		// API-553: the applied object does not fit the type.
		return nil, fmt.Errorf("unable to convert unstructured object to %v: %w", u.GroupVersionKind(), err)
	}
	typed = kinds.ConvertAutoscaler(typed, gvk.Version)
	typed.GetObjectKind().SetGroupVersionKind(gvk)
	return typed, nil
}

// Convert implements runtime.ObjectConvertor. Nothing calls it.
func (fieldTypes) Convert(in, out, _ any) error {
	return fmt.Errorf("convert %T to %T: not supported", in, out)
}

// ConvertFieldLabel implements runtime.ObjectConvertor. Nothing calls it.
func (fieldTypes) ConvertFieldLabel(_ schema.GroupVersionKind, label, value string) (string, string, error) {
	return label, value, nil
}

var _ runtime.ObjectDefaulter = fieldTypes{}
