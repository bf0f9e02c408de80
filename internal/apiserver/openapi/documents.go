package openapi

import (
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	apiextensions "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/volsim/volsim/internal/apiserver/definition"
	"github.com/volsim/volsim/internal/apiserver/discovery"
	"github.com/volsim/volsim/internal/apiserver/resources"
)

// Documents makes the documents of a server. It is not safe for concurrent use.
type Documents struct {
	table   *resources.Table
	patches func(*resources.Resource) []types.PatchType
	known   map[schema.GroupVersion][]byte
}

// NewDocuments returns the documents of a table of resources. patches returns the types of patches that a resource accepts.
func NewDocuments(table *resources.Table, patches func(*resources.Resource) []types.PatchType) *Documents {
	return &Documents{table, patches, map[schema.GroupVersion][]byte{}}
}

// PathOf returns the path of a group in one version: api/v1 or apis/GROUP/VERSION.
func PathOf(gv schema.GroupVersion) string {
	if gv.Group == "" {
		return "api/" + gv.Version
	}
	return "apis/" + gv.String()
}

// Index returns the list of the documents.
func (d *Documents) Index() ([]byte, error) {
	paths := object{}
	for _, gv := range d.table.GroupVersions() {
		_, hash, err := d.Of(gv)
		if err != nil {
			return nil, err
		}
		paths[PathOf(gv)] = object{"serverRelativeURL": "/openapi/v3/" + PathOf(gv) + "?hash=" + hash}
	}
	return json.Marshal(object{"paths": paths})
}

// Of returns the document of a group in one version, and its hash. Documents of groups with Go types do not change.
func (d *Documents) Of(gv schema.GroupVersion) (data []byte, hash string, err error) {
	if known, ok := d.known[gv]; ok {
		return known, hashOf(known), nil
	}
	doc := document{Documents: d, Schemas: Schemas{}}
	paths, custom := object{}, false
	for _, r := range d.table.All() {
		if r.GroupVersion() == gv {
			doc.addPaths(paths, r)
			custom = custom || r.Custom
		}
	}
	data, err = json.Marshal(object{
		"openapi": "3.0.0", "info": object{"title": "Kubernetes", "version": discovery.Version.GitVersion}, "paths": paths,
		"components": object{"schemas": doc.Schemas},
	})
	if err == nil && !custom {
		d.known[gv] = data
	}
	return data, hashOf(data), err
}

func hashOf(data []byte) string { return fmt.Sprintf("%X", sha256.Sum256(data)) }

// document collects the schemas that an OpenAPI document needs.
type document struct {
	*Documents
	Schemas
}

// addPaths adds the paths of a resource.
func (d document) addPaths(paths object, r *resources.Resource) {
	root := "/" + PathOf(r.GroupVersion()) + "/"
	if r.Review {
		var inPath []string
		if r.Namespaced {
			root += "namespaces/{namespace}/"
			inPath = []string{"namespace"}
		}
		paths[root+r.Resource] = d.pathItem(r, r.GVK(), inPath, resources.VerbCreate)
		return
	}
	if r.Namespaced {
		paths[root+r.Resource] = d.pathItem(r, r.GVK(), nil, resources.VerbList)
		root += "namespaces/{namespace}/"
	}
	var inPath []string
	if r.Namespaced {
		inPath = append(inPath, "namespace")
	}
	paths[root+r.Resource] = d.pathItem(r, r.GVK(), inPath, resources.VerbList, resources.VerbCreate, resources.VerbDeleteCollection)
	inPath = append(slices.Clip(inPath), "name")
	paths[root+r.Resource+"/{name}"] = d.pathItem(r, r.GVK(), inPath, resources.VerbGet, resources.VerbUpdate, resources.VerbPatch, resources.VerbDelete)
	for _, sub := range r.AllSubresources() {
		paths[root+r.Resource+"/{name}/"+sub.Name] = d.pathItem(r, sub.Kind, inPath, sub.Verbs...)
	}
}

// methods are the HTTP methods of verbs, in lower case.
var methods = map[string]string{
	resources.VerbGet: "get", resources.VerbList: "get", resources.VerbCreate: "post", resources.VerbUpdate: "put", resources.VerbPatch: "patch", resources.VerbDelete: "delete",
	resources.VerbDeleteCollection: "delete",
}

// actions maps verbs to their names in OpenAPI documents, where the names differ.
var actions = map[string]string{resources.VerbCreate: "post", resources.VerbUpdate: "put"}

// pathItem describes a path: the operations for the verbs on objects of a kind, and the parameters in the path.
func (d document) pathItem(r *resources.Resource, gvk schema.GroupVersionKind, inPath []string, verbs ...string) object {
	item := object{}
	var parameters []object
	for _, name := range inPath {
		parameters = append(parameters, object{"name": name, "in": "path", "required": true, "schema": object{"type": "string", "uniqueItems": true}})
	}
	parameters = append(parameters, query("pretty", "string"))
	item["parameters"] = parameters
	for _, verb := range verbs {
		action := verb
		if known, ok := actions[verb]; ok {
			action = known
		}
		result := d.kind(r, gvk)
		switch verb {
		case resources.VerbList:
			result = d.listOf(r, gvk)
		case resources.VerbDelete, resources.VerbDeleteCollection:
			if !r.KeepsDeleted || verb == resources.VerbDeleteCollection {
				result = d.Reference(reflect.TypeFor[metav1.Status]())
			}
		}
		operation := object{
			"operationId":         verb + strings.Join(strings.Split(r.Group, "."), "") + r.Version + r.KindName + gvk.Kind,
			"responses":           object{"200": object{"description": "OK", "content": object{runtime.ContentTypeJSON: object{"schema": result}}}},
			"tags":                []string{strings.ReplaceAll(PathOf(r.GroupVersion())[len("api"):], "/", "_")},
			"x-kubernetes-action": action,
			"x-kubernetes-group-version-kind": object{
				"group": gvk.Group, "version": gvk.Version, "kind": gvk.Kind,
			},
		}
		// API-519: a list is left out when it is empty.
		if parameters := d.parameters(verb); len(parameters) > 0 {
			operation["parameters"] = parameters
		}
		if body := d.requestBody(verb, r, gvk); body != nil {
			operation["requestBody"] = body
		}
		item[methods[verb]] = operation
	}
	return item
}

func query(name, kind string) object {
	return object{"name": name, "in": "query", "schema": object{"type": kind, "uniqueItems": true}}
}

// parameters describes the query parameters of a verb.
func (d document) parameters(verb string) []object {
	kinds := map[string]string{
		"limit": "integer", "timeoutSeconds": "integer", "gracePeriodSeconds": "integer", "watch": "boolean", "allowWatchBookmarks": "boolean",
		"sendInitialEvents": "boolean", "force": "boolean", "orphanDependents": "boolean",
	}
	names := map[string][]string{
		resources.VerbCreate: {"dryRun", "fieldManager", "fieldValidation"}, resources.VerbUpdate: {"dryRun", "fieldManager", "fieldValidation"},
		resources.VerbPatch:  {"dryRun", "fieldManager", "fieldValidation", "force"},
		resources.VerbDelete: {"dryRun", "gracePeriodSeconds", "orphanDependents", "propagationPolicy"},
		resources.VerbList: {
			"allowWatchBookmarks", "continue", "fieldSelector", "labelSelector", "limit", "resourceVersion", "resourceVersionMatch",
			"sendInitialEvents", "timeoutSeconds", "watch",
		},
		resources.VerbDeleteCollection: {
			"continue", "dryRun", "fieldSelector", "gracePeriodSeconds", "labelSelector", "limit", "orphanDependents", "propagationPolicy",
			"resourceVersion", "resourceVersionMatch", "sendInitialEvents", "timeoutSeconds",
		},
	}
	var list []object
	for _, name := range names[verb] {
		kind := kinds[name]
		if kind == "" {
			kind = "string"
		}
		list = append(list, query(name, kind))
	}
	return list
}

func (d document) requestBody(verb string, r *resources.Resource, gvk schema.GroupVersionKind) object {
	content := object{}
	switch verb {
	case resources.VerbCreate, resources.VerbUpdate:
		content["*/*"] = object{"schema": d.kind(r, gvk)}
	case resources.VerbDelete, resources.VerbDeleteCollection:
		content["*/*"] = object{"schema": d.Reference(reflect.TypeFor[metav1.DeleteOptions]())}
		return object{"content": content}
	case resources.VerbPatch:
		for _, patchType := range d.patches(r) {
			content[string(patchType)] = object{"schema": d.Reference(reflect.TypeFor[metav1.Patch]())}
		}
	default:
		return nil
	}
	return object{"content": content, "required": true}
}

// untyped are the Go types of kinds that the store keeps without a type.
var untyped = map[schema.GroupVersionKind]reflect.Type{
	apiextensions.SchemeGroupVersion.WithKind("CustomResourceDefinition"): reflect.TypeFor[apiextensions.CustomResourceDefinition](),
}

// kind returns the reference to the schema of a kind. Other kinds without a Go type may have any fields, custom kinds those of their definition.
func (d document) kind(r *resources.Resource, gvk schema.GroupVersionKind) object {
	t := untyped[gvk]
	if obj, err := resources.Scheme().New(gvk); err == nil {
		t = reflect.TypeOf(obj).Elem()
	}
	if t != nil {
		reference := d.Reference(t)
		d.Schemas[Name(t)].(object)["x-kubernetes-group-version-kind"] = []object{{
			"group": gvk.Group, "version": gvk.Version, "kind": gvk.Kind,
		}}
		return reference
	}
	group := strings.Split(gvk.Group, ".")
	slices.Reverse(group)
	name := strings.Join(append(group, gvk.Version, gvk.Kind), ".")
	described := object{"type": "object", "x-kubernetes-preserve-unknown-fields": true}
	if v := d.table.Definition(r); v != nil && v.Schema != nil && gvk == r.GVK() {
		described = maps.Clone(object(v.Schema)) // API-406: kubectl explain shows it
	}
	properties := maps.Clone(object(definition.Schema(described).Child("properties")))
	if properties == nil {
		properties = object{}
	}
	docs := metav1.TypeMeta{}.SwaggerDoc()
	for _, field := range []string{"apiVersion", "kind"} {
		properties[field] = object{"type": "string", "description": docs[field]}
	}
	properties["metadata"] = object{"allOf": []object{d.Reference(reflect.TypeFor[metav1.ObjectMeta]())}, "default": object{},
		"description": metav1.PartialObjectMetadata{}.SwaggerDoc()["metadata"]}
	described["properties"] = properties
	described["x-kubernetes-group-version-kind"] = []object{{"group": gvk.Group, "version": gvk.Version, "kind": gvk.Kind}}
	d.Schemas[name] = described
	return RefTo(name)
}

// listOf returns the reference to the schema of a list.
func (d document) listOf(r *resources.Resource, gvk schema.GroupVersionKind) object {
	list := gvk
	list.Kind += "List"
	if resources.Scheme().Recognizes(list) {
		return d.kind(r, list)
	}
	return d.kind(r, gvk)
}
