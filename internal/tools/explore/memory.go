package explore

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math"
	"reflect"
	"slices"
	"unsafe"

	corev1 "k8s.io/api/core/v1"

	"github.com/volsim/volsim/api"
	"github.com/volsim/volsim/internal/core/engine"
)

// reader reads values by reflection: everything reachable from the registered state of an actor, or an object. It skips Events, and what
// the engine reports itself (informers, queues, the store). Functions count as constant. It writes each value so that the text determines
// it: scalars in a fixed size, and the rest with its length or type before it.
type reader struct {
	tracker *tracker
	seen    map[place]int
	out     []byte
	// counters are numbers of which only differences are used, in the order in which the reader meets them.
	counters []uint64
	// object is true while an object is read. Of unversioned, a reference in it, the resourceVersion is not read.
	object      bool
	unversioned *corev1.ObjectReference
}

type place struct {
	at  unsafe.Pointer
	typ reflect.Type
}

// memory is the digest of an actor's memory, and its counters.
func (t *tracker) memory(a *engine.Actor) (digest, []uint64) {
	r := t.newReader()
	for _, root := range a.Memory() {
		r.read(reflect.ValueOf(root))
	}
	counters := r.counters
	return r.close(), counters
}

// newReader returns a reader. Only one of a tracker is in use at a time, except that an object is read within the memory that refers to it.
func (t *tracker) newReader() *reader {
	if n := len(t.readers); n > 0 {
		r := t.readers[n-1]
		t.readers = t.readers[:n-1]
		return r
	}
	return &reader{tracker: t, seen: map[place]int{}}
}

// close returns the digest of what was read. The reader is used again.
func (r *reader) close() digest {
	d := digest{}.mix(r.out)
	clear(r.seen)
	*r = reader{tracker: r.tracker, seen: r.seen, out: r.out[:0], counters: r.counters}
	r.counters = nil
	r.tracker.readers = append(r.tracker.readers, r)
	return d
}

func (r *reader) number(n uint64) { r.out = binary.LittleEndian.AppendUint64(r.out, n) }

func (r *reader) flag(b bool) {
	if b {
		r.out = append(r.out, 1)
	} else {
		r.out = append(r.out, 0)
	}
}

func (r *reader) text(s string) {
	r.out = binary.AppendUvarint(r.out, uint64(len(s)))
	r.out = append(r.out, s...)
}

func (r *reader) read(v reflect.Value) {
	switch v.Kind() {
	case reflect.Invalid:
		r.flag(false)
	case reflect.Bool:
		r.flag(v.Bool())
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		r.number(uint64(v.Int()))
	case reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64, reflect.Uintptr:
		r.number(v.Uint())
	case reflect.Float32, reflect.Float64:
		r.number(math.Float64bits(v.Float()))
	case reflect.Complex64, reflect.Complex128:
		r.text(fmt.Sprint(v.Complex()))
	case reflect.String:
		r.text(v.String())
	case reflect.Slice, reflect.Array:
		r.readList(v)
	case reflect.Map:
		r.readMap(v)
	case reflect.Struct:
		r.readStruct(v)
	case reflect.Interface:
		if v.IsNil() {
			r.text("")
			return
		}
		r.text(v.Elem().Type().String())
		r.read(v.Elem())
	case reflect.Pointer:
		r.readPointer(v)
	default: // functions, channels
		r.flag(v.IsNil())
	}
}

func (r *reader) readList(v reflect.Value) {
	n := v.Len()
	r.out = binary.AppendUvarint(r.out, uint64(n))
	if v.Kind() == reflect.Slice && v.Type().Elem().Kind() == reflect.Uint8 {
		r.out = append(r.out, v.Bytes()...)
		return
	}
	for i := range n {
		r.read(v.Index(i))
	}
}

func (r *reader) readPointer(v reflect.Value) {
	how := layoutOf(v.Type())
	if how.opaque {
		return
	}
	r.flag(v.IsNil())
	if v.IsNil() {
		return
	}
	if how.object && !r.object {
		// By address, because values of unexported fields cannot be extracted.
		d := r.tracker.content(reflect.NewAt(v.Type().Elem(), v.UnsafePointer()).Interface().(api.Object))
		r.out = append(r.out, d[:]...)
		return
	}
	if how.process {
		d := r.tracker.activity((*engine.Process)(v.UnsafePointer()))
		r.out = append(r.out, d[:]...)
		return
	}
	at := place{v.UnsafePointer(), v.Type()}
	if n, ok := r.seen[at]; ok {
		r.number(uint64(n))
		return
	}
	r.seen[at] = len(r.seen) + 1
	r.number(0)
	if how.tree {
		r.readTree(v)
		return
	}
	r.read(v.Elem())
}

// readTree reads the items of a tree in order.
func (r *reader) readTree(v reflect.Value) {
	// By address, because methods cannot be called on values of unexported fields.
	tree := reflect.NewAt(v.Type().Elem(), v.UnsafePointer())
	r.number(uint64(tree.MethodByName("Len").Call(nil)[0].Int()))
	scan := tree.MethodByName("Scan")
	yield := func(item []reflect.Value) []reflect.Value {
		r.read(item[0])
		return []reflect.Value{reflect.ValueOf(true)}
	}
	scan.Call([]reflect.Value{reflect.MakeFunc(scan.Type().In(0), yield)})
}

func (r *reader) readStruct(v reflect.Value) {
	how := layoutOf(v.Type())
	switch {
	case how.opaque:
		return
	case how.location:
		// The others are caches.
		r.read(v.FieldByName("name"))
		r.read(v.FieldByName("zone"))
		return
	}
	for _, f := range how.fields {
		switch {
		case f.difference:
			r.counters = append(r.counters, v.Field(f.index).Uint())
		case f.version && r.object && r.unversioned != nil && v.CanAddr() && v.UnsafeAddr() == uintptr(unsafe.Pointer(r.unversioned)):
		default:
			r.read(v.Field(f.index))
		}
	}
}

// readMap reads the entries in the order of their keys.
func (r *reader) readMap(v reflect.Value) {
	r.out = binary.AppendUvarint(r.out, uint64(v.Len()))
	switch v.Len() {
	case 0:
		return
	case 1:
		iter := v.MapRange()
		iter.Next()
		r.read(iter.Key())
		r.read(iter.Value())
		return
	}
	type entry struct{ key, value reflect.Value }
	type keyed struct {
		entry
		text []byte
	}
	entries := make([]keyed, 0, v.Len())
	for iter := v.MapRange(); iter.Next(); {
		key := &reader{tracker: r.tracker, seen: map[place]int{}, object: r.object}
		key.read(iter.Key())
		entries = append(entries, keyed{entry{iter.Key(), iter.Value()}, key.out})
	}
	slices.SortFunc(entries, func(a, b keyed) int { return bytes.Compare(a.text, b.text) })
	for _, e := range entries {
		r.out = append(r.out, e.text...)
		r.read(e.value)
	}
}
