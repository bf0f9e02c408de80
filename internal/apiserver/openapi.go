package apiserver

import (
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"reflect"
	"slices"
	"strings"

	apiextensions "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/volsim/volsim/internal/apiserver/definition"
	"github.com/volsim/volsim/internal/apiserver/openapi"
)

// object is a JSON object. Its keys are encoded in the order of their names.
type object = map[string]any

// serveOpenAPI answers requests for the index of OpenAPI documents and for the documents. It returns nil for other paths.
func (s *Server) serveOpenAPI(req *http.Request) *answer {
	rest, ok := strings.CutPrefix(strings.TrimSuffix(req.URL.Path, "/"), "/openapi/v3")
	if !ok || rest != "" && rest[0] != '/' {
		return nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if rest == "" {
		data, err := s.openAPIIndex()
		if err != nil {
			return failure(req, nil, err)
		}
		return &answer{code: http.StatusOK, contentType: runtime.ContentTypeJSON, data: data}
	}
	for _, gv := range s.groupVersions() {
		if rest != "/"+pathOf(gv) {
			continue
		}
		data, hash, err := s.openAPIDocument(gv)
		if err != nil {
			return failure(req, nil, err)
		}
		if given := req.URL.Query().Get("hash"); given != "" && given != hash {
			location := *req.URL
			location.RawQuery = "hash=" + hash
			return &answer{
				code: http.StatusMovedPermanently, contentType: "text/plain; charset=utf-8", header: http.Header{"Location": {location.String()}},
			}
		}
		return &answer{code: http.StatusOK, contentType: runtime.ContentTypeJSON, data: data, header: http.Header{"Etag": {`"` + hash + `"`}}}
	}
	return failure(req, nil, errNoRoute)
}

// pathOf returns the path of a group in one version: api/v1 or apis/GROUP/VERSION.
func pathOf(gv schema.GroupVersion) string {
	if gv.Group == "" {
		return "api/" + gv.Version
	}
	return "apis/" + gv.String()
}

func (s *Server) openAPIIndex() ([]byte, error) {
	paths := object{}
	for _, gv := range s.groupVersions() {
		_, hash, err := s.openAPIDocument(gv)
		if err != nil {
			return nil, err
		}
		paths[pathOf(gv)] = object{"serverRelativeURL": "/openapi/v3/" + pathOf(gv) + "?hash=" + hash}
	}
	return json.Marshal(object{"paths": paths})
}

// openAPIDocument returns the document of a group in one version, and its hash. Documents of groups with Go types do not change.
func (s *Server) openAPIDocument(gv schema.GroupVersion) (data []byte, hash string, err error) {
	if known, ok := s.documents[gv]; ok {
		return known, hashOf(known), nil
	}
	d := document{server: s, Schemas: openapi.Schemas{}}
	paths, custom := object{}, false
	for _, r := range s.resources.all() {
		if r.GroupVersion() == gv {
			d.addPaths(paths, r)
			custom = custom || r.custom
		}
	}
	data, err = json.Marshal(object{
		"openapi": "3.0.0", "info": object{"title": "Kubernetes", "version": serverVersion.GitVersion}, "paths": paths,
		"components": object{"schemas": d.Schemas},
	})
	if err == nil && !custom {
		s.documents[gv] = data
	}
	return data, hashOf(data), err
}

func hashOf(data []byte) string { return fmt.Sprintf("%X", sha256.Sum256(data)) }

// document collects the schemas that an OpenAPI document needs.
type document struct {
	server *Server
	openapi.Schemas
}

// addPaths adds the paths of a resource.
func (d document) addPaths(paths object, r *resource) {
	root := "/" + pathOf(r.GroupVersion()) + "/"
	if r.review {
		var inPath []string
		if r.namespaced {
			root += "namespaces/{namespace}/"
			inPath = []string{"namespace"}
		}
		paths[root+r.Resource] = d.pathItem(r, r.gvk(), inPath, verbCreate)
		return
	}
	if r.namespaced {
		paths[root+r.Resource] = d.pathItem(r, r.gvk(), nil, verbList)
		root += "namespaces/{namespace}/"
	}
	var inPath []string
	if r.namespaced {
		inPath = append(inPath, "namespace")
	}
	paths[root+r.Resource] = d.pathItem(r, r.gvk(), inPath, verbList, verbCreate, verbDeleteCollection)
	inPath = append(slices.Clip(inPath), "name")
	paths[root+r.Resource+"/{name}"] = d.pathItem(r, r.gvk(), inPath, verbGet, verbUpdate, verbPatch, verbDelete)
	for _, sub := range r.allSubresources() {
		paths[root+r.Resource+"/{name}/"+sub.name] = d.pathItem(r, sub.kind, inPath, sub.verbs...)
	}
}

// methods are the HTTP methods of verbs, in lower case.
var methods = map[string]string{
	verbGet: "get", verbList: "get", verbCreate: "post", verbUpdate: "put", verbPatch: "patch", verbDelete: "delete",
	verbDeleteCollection: "delete",
}

// actions maps verbs to their names in OpenAPI documents, where the names differ.
var actions = map[string]string{verbCreate: "post", verbUpdate: "put"}

// pathItem describes a path: the operations for the verbs on objects of a kind, and the parameters in the path.
func (d document) pathItem(r *resource, gvk schema.GroupVersionKind, inPath []string, verbs ...string) object {
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
		case verbList:
			result = d.listOf(r, gvk)
		case verbDelete, verbDeleteCollection:
			if !r.keepsDeleted || verb == verbDeleteCollection {
				result = d.Reference(reflect.TypeFor[metav1.Status]())
			}
		}
		operation := object{
			"operationId":         verb + strings.Join(strings.Split(r.Group, "."), "") + r.Version + r.kindName + gvk.Kind,
			"responses":           object{"200": object{"description": "OK", "content": object{runtime.ContentTypeJSON: object{"schema": result}}}},
			"tags":                []string{strings.ReplaceAll(pathOf(r.GroupVersion())[len("api"):], "/", "_")},
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
		verbCreate: {"dryRun", "fieldManager", "fieldValidation"}, verbUpdate: {"dryRun", "fieldManager", "fieldValidation"},
		verbPatch:  {"dryRun", "fieldManager", "fieldValidation", "force"},
		verbDelete: {"dryRun", "gracePeriodSeconds", "orphanDependents", "propagationPolicy"},
		verbList: {
			"allowWatchBookmarks", "continue", "fieldSelector", "labelSelector", "limit", "resourceVersion", "resourceVersionMatch",
			"sendInitialEvents", "timeoutSeconds", "watch",
		},
		verbDeleteCollection: {
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

func (d document) requestBody(verb string, r *resource, gvk schema.GroupVersionKind) object {
	content := object{}
	switch verb {
	case verbCreate, verbUpdate:
		content["*/*"] = object{"schema": d.kind(r, gvk)}
	case verbDelete, verbDeleteCollection:
		content["*/*"] = object{"schema": d.Reference(reflect.TypeFor[metav1.DeleteOptions]())}
		return object{"content": content}
	case verbPatch:
		for _, patchType := range patchTypes {
			if d.server.accepts(r, patchType) {
				content[string(patchType)] = object{"schema": d.Reference(reflect.TypeFor[metav1.Patch]())}
			}
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
func (d document) kind(r *resource, gvk schema.GroupVersionKind) object {
	t := untyped[gvk]
	if obj, err := servedTypes().New(gvk); err == nil {
		t = reflect.TypeOf(obj).Elem()
	}
	if t != nil {
		reference := d.Reference(t)
		d.Schemas[openapi.Name(t)].(object)["x-kubernetes-group-version-kind"] = []object{{
			"group": gvk.Group, "version": gvk.Version, "kind": gvk.Kind,
		}}
		return reference
	}
	group := strings.Split(gvk.Group, ".")
	slices.Reverse(group)
	name := strings.Join(append(group, gvk.Version, gvk.Kind), ".")
	described := object{"type": "object", "x-kubernetes-preserve-unknown-fields": true}
	if v := d.server.resources.definition(r); v != nil && v.schema != nil && gvk == r.gvk() {
		described = maps.Clone(object(v.schema)) // API-406: kubectl explain shows it
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
	return openapi.RefTo(name)
}

// listOf returns the reference to the schema of a list.
func (d document) listOf(r *resource, gvk schema.GroupVersionKind) object {
	list := gvk
	list.Kind += "List"
	if servedTypes().Recognizes(list) {
		return d.kind(r, list)
	}
	return d.kind(r, gvk)
}
