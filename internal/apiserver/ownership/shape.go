package ownership

import (
	"encoding/json"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"sync"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/volsim/volsim/api"
	"github.com/volsim/volsim/internal/apiserver/resources"
	"github.com/volsim/volsim/internal/core/objects"
	"github.com/volsim/volsim/internal/core/plain"
)

// ownerships remembers which managedFields writes have led to. They follow from the manager, from the managedFields before, and from the shape
// of the write: which fields it has, and which of them it changes. The values do not matter, so writes of the same sort are computed once.
type ownerships struct {
	known map[string][]metav1.ManagedFieldsEntry
	size  int // bytes of keys
}

// maxShapes is how many bytes of keys are kept. When there are more, all are dropped.
const maxShapes = 4 << 20

func (o *ownerships) keep(key []byte, entries []metav1.ManagedFieldsEntry) {
	if o.size += len(key); o.size > maxShapes || o.known == nil {
		*o = ownerships{known: map[string][]metav1.ManagedFieldsEntry{}, size: len(key)}
	}
	o.known[string(key)] = entries
}

// manyManagers is from how many managers on times matter: the oldest ones are merged.
const manyManagers = 10

// shapeOf appends the key of a write to data. ok is false for a write whose managedFields depend on more.
func shapeOf(data []byte, r *resources.Resource, sub api.Subresource, manager string, obj, old api.Object) (key []byte, ok bool) {
	if !r.Typed || r.Custom || r.Presented != nil {
		return nil, false // the fields of a custom kind change with its definition
	}
	if len(obj.GetManagedFields()) >= manyManagers || old != nil && len(old.GetManagedFields()) >= manyManagers {
		return nil, false
	}
	w := shape{data: data}
	w.text(r.Group, r.Version, r.Resource, string(sub), manager)
	if old != nil && reflect.TypeOf(obj) != reflect.TypeOf(old) {
		return nil, false
	}
	w.managers(obj)
	w.managers(old)
	o, isPlain := obj.(*plain.Object)
	if !isPlain {
		w.pair(obj, old, old != nil)
		return w.data, !w.failed
	}
	was, both := nothing, old != nil
	if both {
		was = old.(*plain.Object)
	}
	w.metadata(&o.ObjectMeta, &was.ObjectMeta, both)
	if source, before := o.Source(), was.Source(); source != nil && (!both || reflect.TypeOf(source) == reflect.TypeOf(before)) {
		w.mark('s')
		w.content(source, before, both)
	} else {
		w.pair(o.Content(), was.Content(), both)
	}
	return w.data, !w.failed
}

// nothing is an object without fields.
var nothing = &plain.Object{}

// metadata is pair for metadata, without reflection for what most objects have.
func (w *shape) metadata(now, before *metav1.ObjectMeta, both bool) {
	w.str(now.Name, before.Name, both)
	w.str(now.GenerateName, before.GenerateName, both)
	w.str(now.Namespace, before.Namespace, both)
	w.str(now.SelfLink, before.SelfLink, both)
	w.str(string(now.UID), string(before.UID), both)
	w.str(now.ResourceVersion, before.ResourceVersion, both)
	w.zero(now.Generation == 0, before.Generation == 0, both && now.Generation != before.Generation)
	if both && now.CreationTimestamp != before.CreationTimestamp {
		w.pair(now.CreationTimestamp, before.CreationTimestamp, both)
	}
	w.flag(now.CreationTimestamp.IsZero())
	w.strings(now.Labels, before.Labels, both)
	w.strings(now.Annotations, before.Annotations, both)
	if now.DeletionTimestamp != nil || before.DeletionTimestamp != nil {
		w.pair(&now.DeletionTimestamp, &before.DeletionTimestamp, both)
		w.pair(&now.DeletionGracePeriodSeconds, &before.DeletionGracePeriodSeconds, both)
	}
	if len(now.OwnerReferences)+len(now.Finalizers)+len(before.OwnerReferences)+len(before.Finalizers) > 0 {
		w.pair(&now.OwnerReferences, &before.OwnerReferences, both)
		w.pair(&now.Finalizers, &before.Finalizers, both)
	}
	w.mark('}')
}

// pair appends two values of one type.
func (w *shape) pair(now, before any, both bool) {
	w.value(reflect.ValueOf(now), reflect.ValueOf(before), both)
}

// content appends the fields of objects of a Go type other than kind and metadata.
func (w *shape) content(obj, old api.Object, both bool) {
	now, before := reflect.ValueOf(obj).Elem(), reflect.Value{}
	if both {
		before = reflect.ValueOf(old).Elem()
	}
	for i := range now.NumField() {
		if now.Type().Field(i).Anonymous {
			continue // TypeMeta and ObjectMeta
		}
		was := reflect.Value{}
		if both {
			was = before.Field(i)
		}
		w.value(now.Field(i), was, both)
	}
}

// shape is the text of two objects that says of each field what matters for its owners.
type shape struct {
	data   []byte
	failed bool
}

// text appends strings so that their borders are known.
func (w *shape) text(texts ...string) {
	for _, text := range texts {
		w.data = strconv.AppendInt(w.data, int64(len(text)), 36)
		w.data = append(w.data, ':')
		w.data = append(w.data, text...)
	}
}

func (w *shape) mark(c byte) { w.data = append(w.data, c) }

func (w *shape) flag(yes bool) {
	if yes {
		w.mark('t')
	} else {
		w.mark('f')
	}
}

// managers appends managedFields without their times.
func (w *shape) managers(obj api.Object) {
	if obj == nil {
		w.mark('n')
		return
	}
	entries := obj.GetManagedFields()
	w.mark('[')
	for i := range entries {
		e := &entries[i]
		w.text(e.Manager, string(e.Operation), e.APIVersion, e.Subresource, e.FieldsType)
		if e.FieldsV1 != nil {
			w.data = append(append(strconv.AppendInt(w.data, int64(len(e.FieldsV1.Raw)), 36), ':'), e.FieldsV1.Raw...)
		}
	}
	w.mark(']')
}

var managedFieldsType = reflect.TypeFor[[]metav1.ManagedFieldsEntry]()

// value appends a value after the write. before is the value before it if both is true; there was none if it is false.
func (w *shape) value(now, before reflect.Value, both bool) {
	switch now.Kind() {
	case reflect.Pointer, reflect.Interface:
		w.reference(now, before, both)
	case reflect.Struct:
		w.fields(now, before, both)
	case reflect.Map:
		w.entries(now, before, both)
	case reflect.Slice:
		if now.Type() != managedFieldsType {
			w.list(now, before, both)
		}
	case reflect.String, reflect.Bool, reflect.Int32, reflect.Int64, reflect.Int, reflect.Float64, reflect.Uint8:
		w.scalar(now, before, both)
	default:
		w.failed = true
	}
}

// scalar appends whether a value is zero, and whether it changes.
func (w *shape) scalar(now, before reflect.Value, both bool) {
	changed := both && !now.Equal(before)
	w.zero(now.IsZero(), changed && before.IsZero(), changed)
}

// str is scalar for a string.
func (w *shape) str(now, before string, both bool) {
	w.zero(now == "", before == "", both && now != before)
}

func (w *shape) zero(now, before, changed bool) {
	c := byte('0')
	if !now {
		c++
	}
	if changed {
		c += 2
		if !before {
			c += 2
		}
	}
	w.mark(c)
}

// reference appends what a pointer or an interface refers to.
func (w *shape) reference(now, before reflect.Value, both bool) {
	wasNil := both && before.IsNil()
	if both {
		w.flag(wasNil)
	}
	if now.IsNil() {
		if both && !wasNil {
			w.verbatim(before.Elem()) // what is removed
		}
		w.mark('n')
		return
	}
	now = now.Elem()
	if both = both && !wasNil; both {
		if before = before.Elem(); before.Type() != now.Type() {
			w.verbatim(before)
			both = false
		}
	}
	w.mark(byte(now.Kind()))
	w.value(now, before, both)
}

// fields appends a struct. One with a JSON form of its own is a value.
func (w *shape) fields(now, before reflect.Value, both bool) {
	switch t := now.Type(); {
	case t == reflect.TypeFor[metav1.Time]():
		w.time(now, before, both)
		return
	case isOpaque(t):
		w.opaque(now, before, both)
		return
	}
	w.mark('{')
	for i := range now.NumField() {
		was := reflect.Value{}
		if both {
			was = before.Field(i)
		}
		w.value(now.Field(i), was, both)
	}
	w.mark('}')
}

// time appends a time: its value does not matter.
func (w *shape) time(now, before reflect.Value, both bool) {
	if both && now.Interface() != before.Interface() {
		w.opaque(now, before, both)
		return
	}
	w.flag(both)
	w.flag(now.IsZero())
}

func (w *shape) opaque(now, before reflect.Value, both bool) {
	if both && reflect.DeepEqual(now.Interface(), before.Interface()) {
		w.mark('=')
	} else if both {
		w.mark('!')
		w.verbatim(before)
	}
	w.verbatim(now)
}

// entries appends a map.
func (w *shape) entries(now, before reflect.Value, both bool) {
	if now.Type().Key().Kind() != reflect.String {
		w.failed = true
		return
	}
	if now.Type() == reflect.TypeFor[map[string]string]() {
		was := map[string]string(nil)
		if both {
			was = before.Interface().(map[string]string)
		}
		w.strings(now.Interface().(map[string]string), was, both)
		return
	}
	w.flag(now.IsNil())
	for _, key := range keysOf(now) {
		value, was := now.MapIndex(key), reflect.Value{}
		if both {
			was = before.MapIndex(key)
		}
		w.text(key.String())
		w.flag(was.IsValid())
		w.value(value, was, was.IsValid())
	}
	w.mark('-')
	if !both {
		return
	}
	w.flag(before.IsNil())
	for _, key := range keysOf(before) {
		if !now.MapIndex(key).IsValid() {
			w.text(key.String())
			w.verbatim(before.MapIndex(key))
		}
	}
	w.mark('-')
}

// strings is entries for a map of strings.
func (w *shape) strings(now, before map[string]string, both bool) {
	w.flag(now == nil)
	var room [manyKeys]string
	for _, key := range objects.AppendSortedKeys(room[:0], now) {
		was, had := before[key]
		w.text(key)
		w.flag(had)
		w.str(now[key], was, had)
	}
	w.mark('-')
	if !both {
		return
	}
	w.flag(before == nil)
	for _, key := range objects.AppendSortedKeys(room[:0], before) {
		if _, has := now[key]; !has {
			w.text(key, before[key])
		}
	}
	w.mark('-')
}

// manyKeys is how many keys most maps do not have.
const manyKeys = 8

func keysOf(m reflect.Value) []reflect.Value {
	keys := m.MapKeys()
	slices.SortFunc(keys, func(a, b reflect.Value) int { return strings.Compare(a.String(), b.String()) })
	return keys
}

// list appends a list: values of items may be their keys.
func (w *shape) list(now, before reflect.Value, both bool) {
	if now.Len() == 0 && (!both || before.Len() == 0 && now.IsNil() == before.IsNil()) {
		w.mark('e')
		w.flag(now.IsNil())
		return
	}
	w.opaque(now, before, both)
}

// verbatim appends a value as it is.
func (w *shape) verbatim(v reflect.Value) {
	data, err := json.Marshal(v.Interface())
	if err != nil {
		w.failed = true
		return
	}
	w.text(string(data))
}

// opaqueTypes says which structs have a JSON form of their own: reflect.Type to bool.
var opaqueTypes sync.Map

func isOpaque(t reflect.Type) bool {
	if known, ok := opaqueTypes.Load(t); ok {
		return known.(bool)
	}
	opaque := reflect.PointerTo(t).Implements(reflect.TypeFor[json.Marshaler]())
	for i := range t.NumField() {
		opaque = opaque || !t.Field(i).IsExported()
	}
	opaqueTypes.Store(t, opaque)
	return opaque
}
