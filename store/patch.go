package store

import (
	"bytes"
	"encoding/json"
	"fmt"
	"reflect"

	"k8s.io/apimachinery/pkg/util/validation/field"
	kjson "sigs.k8s.io/json"
)

// Patch applies a JSON merge patch (RFC 7386) to the newest version of an object and carries the result through as an update
// (API-016). A patch that names a resourceVersion conflicts when that is not the stored one; any other never conflicts.
// A patch that is no JSON object, or makes the object undecodable, is a BadRequest.
func (t *Table[T]) Patch(key string, patch []byte, sub Subresource) (T, error) {
	var none T
	if err := t.checkSubresource(sub); err != nil {
		return none, err
	}
	old, ok := t.rows.Get(key)
	if !ok {
		return none, t.notFound(key)
	}
	obj, err := t.merge(old, patch)
	if err != nil {
		return none, t.badRequest("patch", err.Error())
	}
	meta, oldMeta := metaOf(obj), metaOf(old)
	// API-016: another uid is not a conflict here but an invalid change.
	if meta.UID != oldMeta.UID {
		return none, t.invalid(oldMeta.Name, field.ErrorList{field.Invalid(field.NewPath("metadata", "uid"), meta.UID, "field is immutable")})
	}
	if meta.Name != oldMeta.Name || meta.Namespace != oldMeta.Namespace {
		return none, t.badRequest("patch", "the name of the object does not match the name on the request")
	}
	if meta.ResourceVersion != oldMeta.ResourceVersion && meta.ResourceVersion != "" {
		return none, t.conflict(oldMeta.Name, errStale)
	}
	return t.replace(key, obj, old, sub, false)
}

// merge makes a new object of the old one and the patch.
func (t *Table[T]) merge(old T, patch []byte) (T, error) {
	var none T
	change, err := decodeObject(patch)
	if err != nil {
		return none, fmt.Errorf("the patch is not a JSON object: %w", err)
	}
	data, err := json.Marshal(old)
	if err != nil {
		return none, err
	}
	doc, err := decodeObject(data)
	if err != nil {
		return none, err
	}
	merged, err := json.Marshal(mergePatch(doc, change))
	if err != nil {
		return none, err
	}
	return t.decodeTyped(merged)
}

// decodeTyped reads an object of the table's kind from JSON.
func (t *Table[T]) decodeTyped(data []byte) (T, error) {
	var none T
	obj := reflect.New(reflect.TypeFor[T]().Elem()).Interface().(T)
	if err := kjson.UnmarshalCaseSensitivePreserveInts(data, obj); err != nil {
		return none, err
	}
	return obj, nil
}

// decodeObject reads a JSON object, keeping numbers as they are written.
func decodeObject(data []byte) (map[string]any, error) {
	d := json.NewDecoder(bytes.NewReader(data))
	d.UseNumber()
	var doc map[string]any
	if err := d.Decode(&doc); err != nil {
		return nil, err
	}
	if d.More() {
		return nil, fmt.Errorf("more than one JSON value")
	}
	if doc == nil {
		return nil, fmt.Errorf("null is no object")
	}
	return doc, nil
}

// mergePatch is RFC 7386 for a target that may be written to.
func mergePatch(target, patch map[string]any) map[string]any {
	if target == nil {
		target = map[string]any{}
	}
	for key, value := range patch {
		switch value := value.(type) {
		case nil:
			delete(target, key)
		case map[string]any:
			inner, _ := target[key].(map[string]any)
			target[key] = mergePatch(inner, value)
		default:
			target[key] = value
		}
	}
	return target
}
