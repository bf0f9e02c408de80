// Package manifests reads objects from manifests: documents of YAML or JSON. Simulated kinds get their Go types, other kinds are
// Unstructured. [Read] and [Scan] are strict, as kubectl is; [DecodeLenient] is for dumps of other versions of Kubernetes.
package manifests

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	kjson "sigs.k8s.io/json"

	"github.com/volsim/volsim/api"
	"github.com/volsim/volsim/internal/core/decode"
	"github.com/volsim/volsim/internal/core/objects"
	"github.com/volsim/volsim/internal/core/objkinds"
	"github.com/volsim/volsim/internal/core/scheme"
)

// maxListDepth is the maximum depth of Lists within Lists.
const maxListDepth = 8

// Entry is one object of a manifest, or the error for a document that is not an object.
type Entry struct {
	Line   int // where its document begins, from 1
	Object api.Object
	Err    error
	// Doc is the text of the document that begins at Line. Items are the indexes at which the object is in a List, and in Lists within that.
	Doc   []byte
	Items []int
	// Namespace is the one that the manifest names; "" if it names none, and the object is in "default".
	Namespace string
}

// Read reads objects from YAML or JSON: any number of documents, separated by lines of ---, each an object, a List, or a
// sequence of JSON values. A namespaced object that names no namespace is put into "default", as kubectl does. Unknown and duplicate
// fields are errors. The first error ends it, and names the line in which its document begins; line numbers within its text count from
// the beginning of data, too. An object of a kind that is not simulated is an *unstructured.Unstructured. If the kind cannot be that of a
// CustomResourceDefinition either, because Kubernetes serves the API group, it is the error api.ErrUnknownKind.
func Read(data []byte) ([]api.Object, error) {
	var objs []api.Object
	for _, m := range Scan(data) {
		if m.Err != nil {
			return nil, fmt.Errorf("line %d: %w", m.Line, m.Err)
		}
		objs = append(objs, m.Object)
	}
	return objs, nil
}

// Scan is Read for callers that go on after an error: it returns every object and every error in order.
func Scan(data []byte) []Entry {
	var found []Entry
	for _, doc := range splitDocuments(data) {
		for _, m := range doc.read() {
			if m.Line == 0 {
				m.Line, m.Doc = doc.line, doc.data
			}
			found = append(found, m)
		}
	}
	return found
}

// decodeManifests decodes one JSON object, or the items of a List.
func decodeManifests(data []byte, depth int) []Entry {
	var head struct {
		APIVersion json.RawMessage `json:"apiVersion"`
		Kind       json.RawMessage `json:"kind"`
		Items      json.RawMessage `json:"items"`
		Metadata   json.RawMessage `json:"metadata"`
	}
	if !bytes.HasPrefix(bytes.TrimSpace(data), []byte{'{'}) {
		return []Entry{{Err: errors.New("not an object; a manifest needs the fields apiVersion and kind")}}
	}
	if err := kjson.UnmarshalCaseSensitivePreserveInts(data, &head); err != nil {
		return []Entry{{Err: err}}
	}
	kind := text(head.Kind)
	if isList(kind) || strings.HasSuffix(kind, "List") && bytes.HasPrefix(head.Items, []byte{'['}) {
		if depth == maxListDepth {
			return []Entry{{Err: fmt.Errorf("lists are nested more than %d deep", maxListDepth)}}
		}
		return decodeList(data, depth+1)
	}
	if err := cmp.Or(missing(head.APIVersion, head.Kind), isText("apiVersion", head.APIVersion), isText("kind", head.Kind)); err != nil {
		return []Entry{{Err: err}}
	}
	obj, err := decodeManifest(text(head.APIVersion), kind, data)
	return []Entry{{Object: obj, Err: err, Namespace: namespaceIn(head.Metadata)}}
}

// namespaceIn returns the namespace in metadata; "" if there is none. What else is wrong with metadata is found elsewhere.
func namespaceIn(metadata json.RawMessage) string {
	var fields struct {
		Namespace json.RawMessage `json:"namespace"`
	}
	if json.Unmarshal(metadata, &fields) != nil {
		return ""
	}
	return text(fields.Namespace)
}

// isList reports whether the kind is List or the list of a kind of Kubernetes, such as PodList.
func isList(kind string) bool {
	item, ok := strings.CutSuffix(kind, "List")
	return ok && (item == "" || isKind(item))
}

// isKind reports whether Kubernetes has a kind of that name, in any group.
func isKind(name string) bool {
	return slices.ContainsFunc(objkinds.All(), func(k *objkinds.Kind) bool { return k.Kind == name })
}

func decodeList(data []byte, depth int) []Entry {
	var list struct {
		APIVersion string            `json:"apiVersion"`
		Kind       string            `json:"kind"`
		Metadata   metav1.ListMeta   `json:"metadata"`
		Items      []json.RawMessage `json:"items"`
	}
	strict, err := kjson.UnmarshalStrict(data, &list)
	if err = errors.Join(append(strict, err)...); err != nil {
		return []Entry{{Err: fmt.Errorf("List: %w", err)}}
	}
	var found []Entry
	for i, item := range list.Items {
		for _, m := range decodeManifests(item, depth) {
			if m.Err != nil {
				m.Err = fmt.Errorf("item %d: %w", i, m.Err)
			}
			m.Items = append([]int{i}, m.Items...)
			found = append(found, m)
		}
	}
	return found
}

// decodeOther decodes an object of a kind that is not simulated. Of its fields only the metadata are known.
func decodeOther(data []byte, namespaced bool) (api.Object, error) {
	var head struct {
		metav1.TypeMeta `json:",inline"`
		Metadata        metav1.ObjectMeta `json:"metadata"`
	}
	var doc map[string]any
	strict, err := kjson.UnmarshalStrict(data, &doc)
	if err = errors.Join(append(strict, err)...); err != nil {
		return nil, err
	}
	if metadata, ok := doc["metadata"]; ok {
		part, err := json.Marshal(map[string]any{"metadata": metadata})
		if err != nil {
			return nil, err
		}
		strict, err := kjson.UnmarshalStrict(part, &head)
		if err = errors.Join(append(strict, err)...); err != nil {
			return nil, fmt.Errorf("%v: %w", doc["kind"], err)
		}
	}
	u := &unstructured.Unstructured{Object: doc}
	if namespaced && u.GetNamespace() == "" {
		u.SetNamespace("default")
	}
	return u, nil
}

// text decodes a JSON string. It returns "" for anything else.
func text(data json.RawMessage) string {
	var s string
	if json.Unmarshal(data, &s) != nil {
		return ""
	}
	return s
}

// missing returns an error if an object has no apiVersion or no kind.
func missing(apiVersion, kind json.RawMessage) error {
	switch noVersion, noKind := isEmpty(apiVersion), isEmpty(kind); {
	case noVersion && noKind:
		return errors.New("apiVersion and kind are missing")
	case noVersion:
		return errors.New("apiVersion is missing")
	case noKind:
		return errors.New("kind is missing")
	}
	return nil
}

func isEmpty(value json.RawMessage) bool {
	return len(value) == 0 || string(value) == "null" || string(value) == `""`
}

// isText returns an error if the value of a field is not a string.
func isText(field string, value json.RawMessage) error {
	if text(value) == "" {
		return fmt.Errorf("%s is not a string", field)
	}
	return nil
}

func decodeManifest(apiVersion, kind string, data []byte) (api.Object, error) {
	version, err := schema.ParseGroupVersion(apiVersion)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", kind, err)
	}
	name := objkinds.Name(version.Group, kind)
	known := objkinds.Get(name)
	switch {
	case known == nil && objkinds.IsGroup(version.Group), known != nil && (known.Group != version.Group || !known.Serves(version.Version)):
		return nil, objects.NoMatch(version.WithKind(kind))
	case known == nil || objects.New(api.Kind(name)) == nil:
		if t := scheme.TypeOf(version.WithKind(kind)); t != nil {
			if err := decode.Strict(data, reflect.New(t).Interface().(api.Object)); err != nil {
				return nil, fmt.Errorf("%s: %w", kind, err)
			}
		}
		return decodeOther(data, known != nil && known.Namespaced)
	}
	obj := objects.New(api.Kind(name))
	if err := decode.Strict(data, obj); err != nil {
		return nil, fmt.Errorf("%s: %w", kind, err)
	}
	if known.Namespaced && obj.GetNamespace() == "" {
		obj.SetNamespace("default")
	}
	return obj, nil
}

// DecodeLenient decodes an object of a dump, perhaps of another version of Kubernetes. It returns the paths of unknown fields, which the
// object does not have; in an object of a kind that is not simulated, no field is unknown.
func DecodeLenient(kind api.Kind, data []byte) (obj api.Object, unknown []string, err error) {
	known := objkinds.Get(string(kind))
	if obj = objects.New(kind); obj == nil {
		obj, err = decodeOther(data, known != nil && known.Namespaced)
		return obj, nil, err
	}
	if err := decode.CheckQuantities(data, reflect.TypeOf(obj)); err != nil {
		return nil, nil, err
	}
	strict, err := kjson.UnmarshalStrict(data, obj)
	if err != nil {
		return nil, nil, err
	}
	for _, problem := range strict {
		if field, ok := problem.(kjson.FieldError); ok && strings.HasPrefix(problem.Error(), "unknown field") {
			unknown = append(unknown, field.FieldPath())
		}
	}
	if known.Namespaced && obj.GetNamespace() == "" {
		obj.SetNamespace("default")
	}
	return obj, unknown, nil
}
