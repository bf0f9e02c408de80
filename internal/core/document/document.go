// Package document turns objects into the documents of their manifests.
package document

import (
	"bytes"
	"encoding/json"
	"strconv"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/volsim/volsim/api"
	"github.com/volsim/volsim/internal/core/objects"
	"github.com/volsim/volsim/internal/core/plain"
	"github.com/volsim/volsim/internal/core/store"
)

// Of returns the object as the decoded JSON of its manifest, with numbers as in the JSON.
func Of(obj api.Object) map[string]any {
	// Objects that are stored as data have a JSON of their own.
	if u, isUnstructured := obj.(*unstructured.Unstructured); isUnstructured {
		// The converter does not copy its content, and the numbers in it stay as they are.
		obj = u.DeepCopy()
	}
	if !objects.IsNil(obj) && obj.GetObjectKind().GroupVersionKind().Empty() {
		// The object may be the stored one.
		obj = plain.Shallow(obj)
		SetType(obj)
	}
	if _, isPlain := obj.(*plain.Object); !isPlain {
		if doc, err := runtime.DefaultUnstructuredConverter.ToUnstructured(obj); err == nil && withNumbers(doc) {
			return doc
		}
	}
	return ofJSON(obj)
}

// SetType sets the kind of an object that has none.
func SetType(obj api.Object) {
	if gvk := store.GroupVersionKind(api.KindOf(obj)); obj.GetObjectKind().GroupVersionKind().Empty() {
		obj.GetObjectKind().SetGroupVersionKind(gvk)
	}
}

// ofJSON is Of by way of the JSON.
func ofJSON(obj api.Object) map[string]any {
	doc := make(map[string]any)
	data, err := json.Marshal(obj)
	if err != nil {
		return doc
	}
	decoder := json.NewDecoder(bytes.NewReader(data))
	decoder.UseNumber()
	if decoder.Decode(&doc) != nil {
		return make(map[string]any)
	}
	return doc
}

// withNumbers replaces the integers in a document by those of JSON. It reports false if there are other numbers.
func withNumbers(doc map[string]any) bool {
	for key, v := range doc {
		number, ok := numberOf(v)
		if !ok {
			return false
		}
		if number != "" {
			doc[key] = number
		}
	}
	return true
}

// numberOf returns the JSON number of an integer, "" for anything else, in which it replaces the integers. It reports false for other numbers.
func numberOf(v any) (number json.Number, ok bool) {
	switch v := v.(type) {
	case int64:
		return json.Number(strconv.FormatInt(v, 10)), true
	case float64:
		return "", false
	case map[string]any:
		return "", withNumbers(v)
	case []any:
		for i := range v {
			number, ok := numberOf(v[i])
			if !ok {
				return "", false
			}
			if number != "" {
				v[i] = number
			}
		}
	}
	return "", true
}
