// Package plain has objects of kinds without rules of their own: the store keeps them as data, with the metadata of any other object.
package plain

import (
	"encoding/json"
	"fmt"
	"maps"
	"reflect"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	kjson "sigs.k8s.io/json"

	"github.com/volsim/volsim/api"
)

// Object is an object of any kind. Its JSON is that of the API.
type Object struct {
	metav1.TypeMeta
	metav1.ObjectMeta
	// Content are the fields other than apiVersion, kind and metadata. A value is nil, a bool, an int64, a float64, a string, a []any or a
	// map[string]any, as in an Unstructured.
	Content map[string]any
	// shared is the object in the Go type that Shared was asked for.
	shared api.Object
	source source
}

// source is the object of a Go type from which a content was made. It says what the content says until that is replaced.
type source struct {
	typed   api.Object
	content map[string]any
}

// of reports whether the source says what a content says. Contents are replaced, never written to, once there is a source.
func (s source) of(content map[string]any) bool {
	return s.typed != nil && reflect.ValueOf(s.content).UnsafePointer() == reflect.ValueOf(content).UnsafePointer()
}

// DeepCopyObject returns a copy that shares nothing.
func (o *Object) DeepCopyObject() runtime.Object {
	if o == nil {
		return nil
	}
	c := &Object{TypeMeta: o.TypeMeta, Content: runtime.DeepCopyJSON(o.Content)}
	o.ObjectMeta.DeepCopyInto(&c.ObjectMeta)
	return c
}

// MarshalJSON returns the object as the API server does.
func (o *Object) MarshalJSON() ([]byte, error) {
	doc := maps.Clone(o.Content)
	if doc == nil {
		doc = map[string]any{}
	}
	doc["apiVersion"], doc["kind"], doc["metadata"] = o.APIVersion, o.Kind, &o.ObjectMeta
	return json.Marshal(doc)
}

// UnmarshalJSON reads an object. Unknown fields of the metadata are dropped.
func (o *Object) UnmarshalJSON(data []byte) error {
	var head struct {
		metav1.TypeMeta `json:",inline"`
		Metadata        metav1.ObjectMeta `json:"metadata"`
	}
	if err := kjson.UnmarshalCaseSensitivePreserveInts(data, &head); err != nil {
		return err
	}
	var doc map[string]any
	if err := kjson.UnmarshalCaseSensitivePreserveInts(data, &doc); err != nil {
		return err
	}
	if doc == nil {
		return fmt.Errorf("null is not an object")
	}
	for _, name := range heads {
		delete(doc, name)
	}
	*o = Object{TypeMeta: head.TypeMeta, ObjectMeta: head.Metadata, Content: doc}
	return nil
}

// From returns obj as an Object that shares nothing with it. apiVersion and kind are empty if obj, of a Go type, does not name them.
func From(obj api.Object) (*Object, error) {
	if o, ok := obj.(*Object); ok {
		return o.DeepCopyObject().(*Object), nil
	}
	if meta, ok := metaOf(obj); ok {
		o, err := fromType(obj)
		if err != nil {
			return nil, err
		}
		meta.DeepCopyInto(&o.ObjectMeta)
		return o, nil
	}
	data, err := json.Marshal(obj)
	if err != nil {
		return nil, err
	}
	o := &Object{}
	if err := o.UnmarshalJSON(data); err != nil {
		return nil, err
	}
	return o, nil
}

// Take is From for an object that was made for this call alone and belongs to the result from then on: it need not be made again for SharedAs.
func Take(obj api.Object) (*Object, error) {
	meta, ok := metaOf(obj)
	if _, isPlain := obj.(*Object); isPlain || !ok {
		return From(obj)
	}
	o, err := fromType(obj)
	if err != nil {
		return nil, err
	}
	o.ObjectMeta, o.source = *meta, source{obj, o.Content}
	return o, nil
}

// fromType is From for an object of a Go type, without the metadata.
func fromType(obj api.Object) (*Object, error) {
	o := &Object{}
	bare := Shallow(obj)
	*bare.(metav1.ObjectMetaAccessor).GetObjectMeta().(*metav1.ObjectMeta) = metav1.ObjectMeta{} // it is not needed twice
	content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(bare)
	if err != nil {
		return nil, err
	}
	o.Content = content
	o.APIVersion, o.Kind = obj.GetObjectKind().GroupVersionKind().ToAPIVersionAndKind()
	for _, name := range heads {
		delete(content, name)
	}
	if isEmpty(content["status"]) {
		// Go types have a status even if it is not set.
		delete(content, "status")
	}
	return o, nil
}

// Shallow returns a copy of an object of a Go type that shares everything that obj points to.
func Shallow(obj api.Object) api.Object {
	c := reflect.New(reflect.TypeOf(obj).Elem())
	c.Elem().Set(reflect.ValueOf(obj).Elem())
	return c.Interface().(api.Object)
}

// heads are the fields that are no content.
var heads = [...]string{"apiVersion", "kind", "metadata"}

// metaOf returns the metadata of an object of a Go type. An Unstructured has none.
func metaOf(obj api.Object) (*metav1.ObjectMeta, bool) {
	accessor, ok := obj.(metav1.ObjectMetaAccessor)
	if !ok {
		return nil, false
	}
	meta, ok := accessor.GetObjectMeta().(*metav1.ObjectMeta)
	return meta, ok
}

// isEmpty reports whether v is an object without fields, or with fields that are all empty.
func isEmpty(v any) bool {
	fields, ok := v.(map[string]any)
	if !ok {
		return false
	}
	for _, value := range fields {
		if !isEmpty(value) {
			return false
		}
	}
	return true
}

// Unstructured returns an object of any type as an Unstructured that shares nothing with it.
func Unstructured(obj api.Object) (*unstructured.Unstructured, error) {
	u := &unstructured.Unstructured{}
	if err := Write(obj, u); err != nil {
		return nil, err
	}
	return u, nil
}

// Write replaces what target points to by a copy of obj, which may have another Go type. A target of a Go type of its kind keeps its
// apiVersion and kind.
func Write(obj, target api.Object) error {
	if reflect.TypeOf(obj) == reflect.TypeOf(target) {
		reflect.ValueOf(target).Elem().Set(reflect.ValueOf(obj.DeepCopyObject()).Elem())
		return nil
	}
	if o, ok := obj.(*Object); ok {
		if meta, ok := metaOf(target); ok {
			return writeType(o, target, meta)
		}
	}
	data, err := json.Marshal(obj)
	if err != nil {
		return err
	}
	if u, ok := target.(*unstructured.Unstructured); ok {
		var doc map[string]any
		if err := kjson.UnmarshalCaseSensitivePreserveInts(data, &doc); err != nil {
			return err
		}
		gvk := obj.GetObjectKind().GroupVersionKind()
		if gvk.Empty() {
			gvk = u.GroupVersionKind()
		}
		u.Object = doc
		u.SetGroupVersionKind(gvk)
		return nil
	}
	value, gvk := reflect.ValueOf(target).Elem(), target.GetObjectKind().GroupVersionKind()
	value.SetZero()
	if err := kjson.UnmarshalCaseSensitivePreserveInts(data, target); err != nil {
		return err
	}
	target.GetObjectKind().SetGroupVersionKind(gvk)
	return nil
}

// writeType is Write for a target of a Go type.
func writeType(o *Object, target api.Object, meta *metav1.ObjectMeta) error {
	value, gvk := reflect.ValueOf(target).Elem(), target.GetObjectKind().GroupVersionKind()
	value.SetZero()
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(o.Content, target); err != nil {
		return err
	}
	o.ObjectMeta.DeepCopyInto(meta)
	target.GetObjectKind().SetGroupVersionKind(gvk)
	return nil
}

// Copy returns a copy that shares the metadata's maps and the content.
func (o *Object) Copy() *Object {
	return &Object{TypeMeta: o.TypeMeta, ObjectMeta: o.ObjectMeta, Content: o.Content, source: o.source}
}

// Shared returns a stored object as a T. The result is converted once, and shared: it is read-only, as the stored object is. It is the zero
// value of T for content that does not have the fields of T, which only a write without validation can store.
func Shared[T api.Object](obj *Object) T {
	if typed, ok := obj.shared.(T); ok {
		return typed
	}
	typed, err := As[T](obj)
	if err != nil {
		typed = reflect.New(reflect.TypeFor[T]().Elem()).Interface().(T)
	}
	obj.shared = typed
	return typed
}

// SharedAs is Shared for the Go type of target, which becomes the result unless the object was converted to that type before.
func (o *Object) SharedAs(target api.Object) (api.Object, error) {
	if reflect.TypeOf(o.shared) == reflect.TypeOf(target) {
		return o.shared, nil
	}
	if o.source.of(o.Content) && reflect.TypeOf(o.source.typed) == reflect.TypeOf(target) {
		gvk := target.GetObjectKind().GroupVersionKind()
		target = Shallow(o.source.typed)
		meta, _ := metaOf(target)
		*meta = o.ObjectMeta
		target.GetObjectKind().SetGroupVersionKind(gvk)
		o.source.typed = target
	} else if err := Write(o, target); err != nil {
		return nil, err
	}
	o.shared = target
	return target, nil
}

// As returns obj as a T. It returns obj itself if that is its type, else a converted copy.
func As[T api.Object](obj api.Object) (T, error) {
	if typed, ok := obj.(T); ok {
		return typed, nil
	}
	var none T
	typed, ok := reflect.New(reflect.TypeFor[T]().Elem()).Interface().(T)
	if !ok {
		return none, fmt.Errorf("%T is not a pointer to a struct", none)
	}
	return typed, Write(obj, typed)
}
