// Package openapi makes the schemas of OpenAPI documents from the Go types of Kubernetes.
package openapi

import (
	"reflect"
	"slices"
	"strings"

	apiextensions "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apiresource "k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/intstr"

	apiregistrationv1 "github.com/volsim/volsim/internal/apiserver/apiregistration/v1"
)

// object is a JSON object. Its keys are encoded in the order of their names.
type object = map[string]any

// Schemas are the schemas of a document, by their names. Structs that a schema refers to are added with it.
type Schemas map[string]any

// RefTo returns a reference to the schema of that name.
func RefTo(name string) map[string]any { return object{"$ref": "#/components/schemas/" + name} }

var registration = reflect.TypeFor[apiregistrationv1.APIService]()

// Name returns the name of the schema of a Go type: io.k8s.api.core.v1.Pod for example.
func Name(t reflect.Type) string {
	if t.PkgPath() == registration.PkgPath() {
		return "io.k8s.kube-aggregator.pkg.apis.apiregistration.v1." + t.Name()
	}
	domain, path, _ := strings.Cut(t.PkgPath(), "/")
	parts := strings.Split(domain, ".")
	slices.Reverse(parts)
	return strings.Join(parts, ".") + "." + strings.ReplaceAll(path, "/", ".") + "." + t.Name()
}

// Reference returns the reference to the schema of a struct, and adds the schema to the document.
func (d Schemas) Reference(t reflect.Type) object {
	name := Name(t)
	if _, ok := d[name]; ok {
		return RefTo(name)
	}
	s := object{}
	d[name] = s // it may refer to itself
	docs := FieldDocs(t)
	if text := docs[""]; text != "" {
		s["description"] = text
	}
	if special, ok := specialSchemas[t]; ok {
		for key, value := range special {
			s[key] = value
		}
		return RefTo(name)
	}
	s["type"] = "object"
	properties, required := object{}, []string{}
	d.addFields(t, properties, &required)
	if len(properties) > 0 {
		s["properties"] = properties
	}
	key := factKey(t)
	if known, ok := schemaRequired[key]; ok {
		required = slices.Clone(known)
	}
	if kind := schemaMaps[key]; kind != "" {
		s["x-kubernetes-map-type"] = kind
	}
	if len(required) > 0 {
		slices.Sort(required)
		s["required"] = required
	}
	if slices.Contains(atomicStructs, t.Name()) {
		s["x-kubernetes-map-type"] = "atomic"
	}
	return RefTo(name)
}

// specialSchemas are those of types that encode themselves.
var specialSchemas = map[reflect.Type]object{
	reflect.TypeFor[apiresource.Quantity](): {"oneOf": []object{{"type": "string"}, {"type": "number"}}},
	reflect.TypeFor[intstr.IntOrString]():   {"format": "int-or-string", "oneOf": []object{{"type": "integer"}, {"type": "string"}}},
	reflect.TypeFor[metav1.Time]():          {"type": "string", "format": "date-time"},
	reflect.TypeFor[metav1.MicroTime]():     {"type": "string", "format": "date-time"},
	reflect.TypeFor[metav1.Duration]():      {"type": "string"},
	reflect.TypeFor[metav1.FieldsV1]():      {"type": "object"},
	reflect.TypeFor[runtime.RawExtension](): {"type": "object"},
	reflect.TypeFor[metav1.Patch]():         {"type": "object"},

	reflect.TypeFor[apiextensions.JSON]():                         {},
	reflect.TypeFor[apiextensions.JSONSchemaPropsOrArray]():       {},
	reflect.TypeFor[apiextensions.JSONSchemaPropsOrBool]():        {},
	reflect.TypeFor[apiextensions.JSONSchemaPropsOrStringArray](): {},
}

// atomicStructs are the structs that an apply replaces as a whole, which their Go types do not say.
var atomicStructs = []string{
	"ConfigMapKeySelector", "LabelSelector", "LocalObjectReference", "NodeSelector", "NodeSelectorTerm", "ObjectFieldSelector", "ObjectReference",
	"OwnerReference", "ResourceFieldSelector", "SecretKeySelector", "SecretReference", "TopologySelectorTerm", "TypedLocalObjectReference",
}

// listKeys are the keys of lists that are maps, and not only by their patchMergeKey: by struct and field.
var listKeys = map[string][]string{
	"Container.ports": {"containerPort", "protocol"}, "EphemeralContainer.ports": {"containerPort", "protocol"},
	"ServiceSpec.ports": {"port", "protocol"}, "PodSpec.topologySpreadConstraints": {"topologyKey", "whenUnsatisfiable"},
	"ResourceRequirements.claims": {"name"},
}

// setLists are the lists that are sets.
var setLists = []string{"ObjectMeta.finalizers", "NodeSpec.podCIDRs"}

// addFields adds the fields of a struct, and the names of those that are required.
func (d Schemas) addFields(t reflect.Type, properties object, required *[]string) {
	docs := FieldDocs(t)
	for i := range t.NumField() {
		f := t.Field(i)
		name, options, _ := strings.Cut(f.Tag.Get("json"), ",")
		switch {
		case name == "-" || !f.IsExported():
			continue
		case name == "" && f.Anonymous:
			d.addFields(f.Type, properties, required)
			continue
		case name == "":
			continue
		}
		optional := strings.Contains(options, "omitempty") || strings.Contains(options, "omitzero")
		property := d.field(f.Type, !optional)
		addFacts(property, factKey(t)+"."+name)
		if text := docs[name]; text != "" {
			property["description"] = text
		}
		d.addMergeFacts(property, t, f, name)
		properties[name] = property
		if !optional {
			*required = append(*required, name)
		}
	}
}

// addMergeFacts adds how patches and applies merge a field.
func (d Schemas) addMergeFacts(property object, t reflect.Type, f reflect.StructField, name string) {
	strategy, key := f.Tag.Get("patchStrategy"), f.Tag.Get("patchMergeKey")
	if strategy != "" {
		property["x-kubernetes-patch-strategy"] = strategy
	}
	if key != "" {
		property["x-kubernetes-patch-merge-key"] = key
	}
	if f.Type.Kind() != reflect.Slice || property["type"] != "array" {
		return
	}
	keys := listKeys[t.Name()+"."+name]
	if keys == nil && key != "" {
		keys = []string{key}
	}
	known := schemaLists[factKey(t)+"."+name]
	switch {
	case strings.HasSuffix(t.Name(), "List") && name == "items":
	case len(known) == 1 && (known[0] == "set" || known[0] == "atomic"):
		property["x-kubernetes-list-type"] = known[0]
	case known != nil:
		property["x-kubernetes-list-type"], property["x-kubernetes-list-map-keys"] = "map", known
	case keys != nil:
		property["x-kubernetes-list-type"], property["x-kubernetes-list-map-keys"] = "map", keys
	case slices.Contains(setLists, t.Name()+"."+name):
		property["x-kubernetes-list-type"] = "set"
	default:
		property["x-kubernetes-list-type"] = "atomic"
	}
}

// factKey returns the name of a struct in the tables of facts.
func factKey(t reflect.Type) string {
	name := strings.TrimPrefix(Name(t), "io.k8s.api.")
	return strings.TrimPrefix(name, "io.k8s.apimachinery.pkg.apis.")
}

// addFacts adds what the Go type of a field does not show.
func addFacts(property object, key string) {
	if values, ok := schemaEnums[key]; ok {
		property["enum"] = strings.Split(values, "|")
	}
	if value, ok := schemaDefaults[key]; ok {
		property["default"] = value
	}
	if kind := schemaMaps[key]; kind != "" {
		property["x-kubernetes-map-type"] = kind
	}
}

// field returns the schema of a field. withDefault adds the zero value that a missing field has.
func (d Schemas) field(t reflect.Type, withDefault bool) object {
	switch t.Kind() {
	case reflect.Pointer:
		s := d.field(t.Elem(), false)
		delete(s, "default") // nothing is the default
		return s
	case reflect.Struct:
		_, special := specialSchemas[t]
		s := object{"allOf": []object{d.Reference(t)}}
		if !special {
			s["default"] = object{}
		}
		return s
	case reflect.Slice:
		if t.Elem().Kind() == reflect.Uint8 {
			return object{"type": "string", "format": "byte"}
		}
		return object{"type": "array", "items": d.field(t.Elem(), true)}
	case reflect.Map:
		return object{"type": "object", "additionalProperties": d.field(t.Elem(), true)}
	}
	kind, format, zero := primitive(t)
	s := object{"type": kind}
	if format != "" {
		s["format"] = format
	}
	if withDefault {
		s["default"] = zero
	}
	return s
}

func primitive(t reflect.Type) (kind, format string, zero any) {
	switch t.Kind() {
	case reflect.Bool:
		return "boolean", "", false
	case reflect.Int32, reflect.Uint32:
		return "integer", "int32", 0
	case reflect.Int, reflect.Int64, reflect.Uint64:
		return "integer", "int64", 0
	case reflect.Float32, reflect.Float64:
		return "number", "double", 0
	case reflect.String:
		return "string", "", ""
	}
	return "object", "", object{}
}

// FieldDocs returns what the authors of an API type say about its fields, by their names in JSON; "" is the type itself.
func FieldDocs(t reflect.Type) map[string]string {
	if documented, ok := reflect.New(t).Interface().(interface{ SwaggerDoc() map[string]string }); ok {
		return documented.SwaggerDoc()
	}
	return nil
}
