package ownership

import (
	"encoding/json"
	"maps"
	"reflect"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/managedfields"
	"k8s.io/kube-openapi/pkg/validation/spec"

	"github.com/volsim/volsim/internal/apiserver/definition"
	"github.com/volsim/volsim/internal/apiserver/openapi"
	"github.com/volsim/volsim/internal/apiserver/resources"
)

// object is a JSON object. Its keys are encoded in the order of their names.
type object = map[string]any

// customTypes returns the types of the fields of a custom kind in all of its versions, as its definition describes them: server-side apply merges
// lists and maps as they say (API-330). Fields of a kind without a schema have no types, and their lists are atomic.
func (f *Tracker) customTypes(r *resources.Resource) managedfields.TypeConverter {
	schemas := openapi.Schemas{}
	meta := schemas.Reference(reflect.TypeFor[metav1.ObjectMeta]())
	for _, version := range f.Resources.All() {
		v := f.Resources.Definition(version)
		if version.Kind != r.Kind || v == nil || v.Schema == nil {
			continue
		}
		model := withMeta(v.Schema, meta, true)
		gvk := version.GVK()
		model["x-kubernetes-group-version-kind"] = []object{{"group": gvk.Group, "version": gvk.Version, "kind": gvk.Kind}}
		schemas[gvk.GroupVersion().String()+"."+gvk.Kind] = model
	}
	data, err := json.Marshal(schemas)
	if err != nil {
		return managedfields.NewDeducedTypeConverter()
	}
	var decoded map[string]*spec.Schema
	if err := json.Unmarshal(data, &decoded); err != nil {
		return managedfields.NewDeducedTypeConverter()
	}
	converter, err := managedfields.NewTypeConverter(decoded, false)
	if err != nil {
		return managedfields.NewDeducedTypeConverter()
	}
	return converter
}

// withMeta returns a schema in which objects of Kubernetes have the fields that all of them have: the root, and embedded ones.
func withMeta(n definition.Schema, meta object, isObject bool) object {
	out := object{}
	maps.Copy(out, n)
	for _, name := range []string{"items", "additionalProperties"} {
		if child := n.Child(name); child != nil {
			out[name] = withMeta(child, meta, false)
		}
	}
	properties := object{}
	for name := range n.Child("properties") {
		if child := n.Property(name); child != nil {
			properties[name] = withMeta(child, meta, false)
		}
	}
	if isObject || n.Flag("x-kubernetes-embedded-resource") {
		properties["apiVersion"], properties["kind"], properties["metadata"] = object{"type": "string"}, object{"type": "string"}, meta
	}
	if len(properties) > 0 {
		out["properties"] = properties
	}
	return out
}
