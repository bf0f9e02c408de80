// Package plain has objects of kinds without rules of their own: the store keeps them as data, with the metadata of any other object.
package plain

import (
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"strings"

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
	// content is nil as long as it was not asked for if there is a source.
	content map[string]any
	// source is an object of a Go type that says what the content says, apart from the metadata; nil if there is none.
	source api.Object
	// shared is the object in the Go type that Shared was asked for.
	shared api.Object
}

// Content returns the fields other than apiVersion, kind and metadata. A value is nil, a bool, an int64, a float64, a string, a []any or a
// map[string]any, as in an Unstructured. A stored object's is read-only; only what SetContent was given may be modified.
func (o *Object) Content() map[string]any {
	if o.content == nil && o.source != nil {
		o.content, _ = contentOf(o.source) // Take accepts what can be converted
	}
	return o.content
}

// SetContent replaces the content.
func (o *Object) SetContent(content map[string]any) {
	if o.content != nil && reflect.ValueOf(o.content).UnsafePointer() == reflect.ValueOf(content).UnsafePointer() {
		return // the source still says the same
	}
	o.content, o.source = content, nil
}

// SetSource replaces the content by that of an object of a Go type, which belongs to o from then on. It keeps what JSON omits: an empty map is not
// the same as none.
func (o *Object) SetSource(typed api.Object) { o.content, o.shared, o.source = nil, nil, typed }

// DropStatus removes the status.
func (o *Object) DropStatus() {
	if o.source != nil {
		if status := reflect.ValueOf(o.source).Elem().FieldByName("Status"); status.IsValid() {
			source := Shallow(o.source)
			reflect.ValueOf(source).Elem().FieldByName("Status").SetZero()
			o.SetSource(source)
			return
		}
	}
	if _, has := o.Content()["status"]; has {
		o.SetContent(maps.Clone(o.Content()))
		delete(o.content, "status")
	}
}

// TakeStatus replaces the status by that of another object.
func (o *Object) TakeStatus(other *Object) {
	if o.source != nil && reflect.TypeOf(o.source) == reflect.TypeOf(other.source) {
		if status := reflect.ValueOf(other.source).Elem().FieldByName("Status"); status.IsValid() {
			source := Shallow(o.source)
			reflect.ValueOf(source).Elem().FieldByName("Status").Set(status)
			o.SetSource(source)
			return
		}
	}
	status, has := other.Content()["status"]
	if old, had := o.Content()["status"]; !has && !had || has && had && reflect.DeepEqual(old, status) {
		return
	}
	content := maps.Clone(o.Content())
	if content == nil {
		content = map[string]any{}
	}
	delete(content, "status")
	if has {
		content["status"] = status
	}
	o.SetContent(content)
}

// Field is Content()[name], without a content if that is not needed.
func (o *Object) Field(name string) any {
	if o.content == nil && o.source != nil && lacks(o.source, name) {
		return nil
	}
	return o.Content()[name]
}

// Source returns an object of a Go type that says what the content says, apart from the metadata, to read only; nil if there is none.
func (o *Object) Source() api.Object { return o.source }

// lacks reports that an object of a Go type does not have a field in its JSON. It may return false.
func lacks(obj api.Object, name string) bool {
	value := reflect.ValueOf(obj).Elem()
	for i := range value.NumField() {
		tag, options, _ := strings.Cut(value.Type().Field(i).Tag.Get("json"), ",")
		if tag == name {
			v := value.Field(i)
			return options == "omitempty" && v.Kind() != reflect.Struct && v.IsZero()
		}
	}
	return false
}

// DeepCopyObject returns a copy that shares nothing.
func (o *Object) DeepCopyObject() runtime.Object {
	if o == nil {
		return nil
	}
	c := &Object{TypeMeta: o.TypeMeta}
	if o.source != nil {
		c.source = o.source.DeepCopyObject().(api.Object)
	} else {
		c.content = runtime.DeepCopyJSON(o.content)
	}
	o.ObjectMeta.DeepCopyInto(&c.ObjectMeta)
	return c
}

// MarshalJSON returns the object as the API server does.
func (o *Object) MarshalJSON() ([]byte, error) {
	doc := maps.Clone(o.Content())
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
	*o = Object{TypeMeta: head.TypeMeta, ObjectMeta: head.Metadata, content: doc}
	return nil
}

// From returns obj as an Object that shares nothing with it. apiVersion and kind are empty if obj, of a Go type, does not name them.
func From(obj api.Object) (*Object, error) {
	if o, ok := obj.(*Object); ok {
		return o.DeepCopyObject().(*Object), nil
	}
	if meta, ok := metaOf(obj); ok {
		content, err := contentOf(obj)
		if err != nil {
			return nil, err
		}
		o := &Object{TypeMeta: kindOf(obj), content: content}
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

// Take is From for an object that was made for this call alone, by decoding JSON, and belongs to the result from then on. It is converted when the
// content is needed.
func Take(obj api.Object) (*Object, error) {
	meta, ok := metaOf(obj)
	if _, isPlain := obj.(*Object); isPlain || !ok {
		return From(obj)
	}
	return &Object{TypeMeta: kindOf(obj), ObjectMeta: *meta, source: obj}, nil
}

func kindOf(obj api.Object) (kind metav1.TypeMeta) {
	kind.APIVersion, kind.Kind = obj.GetObjectKind().GroupVersionKind().ToAPIVersionAndKind()
	return kind
}

// contentOf returns the content of an object of a Go type.
func contentOf(obj api.Object) (map[string]any, error) {
	bare, _ := Bare(obj)
	content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(bare)
	if err != nil {
		return nil, err
	}
	for _, name := range heads {
		delete(content, name)
	}
	if isEmpty(content["status"]) {
		// Go types have a status even if it is not set.
		delete(content, "status")
	}
	return content, nil
}

// Shallow returns a copy of an object of a Go type that shares everything that obj points to.
func Shallow(obj api.Object) api.Object {
	c := reflect.New(reflect.TypeOf(obj).Elem())
	c.Elem().Set(reflect.ValueOf(obj).Elem())
	return c.Interface().(api.Object)
}

// Bare returns an object of a Go type as Shallow does, but without the metadata, and the metadata; they are nil if they have another type.
func Bare(obj api.Object) (api.Object, *metav1.ObjectMeta) {
	meta, ok := metaOf(obj)
	if !ok {
		return nil, nil
	}
	bare := Shallow(obj)
	empty, _ := metaOf(bare)
	*empty = metav1.ObjectMeta{}
	return bare, meta
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
	if writeSame(obj, target) {
		return nil
	}
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
	if reflect.TypeOf(o.source) == reflect.TypeOf(target) {
		bare, _ := Bare(o.source)
		value.Set(reflect.ValueOf(bare.DeepCopyObject()).Elem())
	} else {
		value.SetZero()
		if err := runtime.DefaultUnstructuredConverter.FromUnstructured(o.Content(), target); err != nil {
			return err
		}
	}
	o.ObjectMeta.DeepCopyInto(meta)
	target.GetObjectKind().SetGroupVersionKind(gvk)
	return nil
}

// Copy returns a copy that shares the metadata's maps and the content.
func (o *Object) Copy() *Object {
	return &Object{TypeMeta: o.TypeMeta, ObjectMeta: o.ObjectMeta, content: o.content, source: o.source}
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

// SharedAs is Shared for the Go type and the kind of sample, an object without any other fields.
func (o *Object) SharedAs(sample api.Object) (api.Object, error) {
	if reflect.TypeOf(o.shared) == reflect.TypeOf(sample) {
		return o.shared, nil
	}
	var target api.Object
	if o.source != nil && reflect.TypeOf(o.source) == reflect.TypeOf(sample) {
		gvk := sample.GetObjectKind().GroupVersionKind()
		target = Shallow(o.source)
		meta, _ := metaOf(target)
		*meta = o.ObjectMeta
		target.GetObjectKind().SetGroupVersionKind(gvk)
		o.source = target // one of them is enough
	} else {
		target = Shallow(sample)
		if err := Write(o, target); err != nil {
			return nil, err
		}
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
