package explore

import (
	"bytes"
	"fmt"
	"math"
	"reflect"
	"slices"
	"sync"
	"unsafe"

	"github.com/volsim/volsim/api"
	"github.com/volsim/volsim/internal/core/engine"
)

// codec reads the values of one type. It was made for the type once, because reflection on each value takes several times as long.
type codec struct {
	// read reads the value at an address.
	read func(r *reader, at unsafe.Pointer)
	// follow reads what a pointer points to, if the type is that of pointers.
	follow func(r *reader, to unsafe.Pointer)
	name   string // of the type
}

// readValue reads a value of the type.
func (c *codec) readValue(r *reader, v reflect.Value) {
	switch {
	case c.follow != nil:
		c.follow(r, v.UnsafePointer())
	case v.CanAddr():
		c.read(r, unsafe.Pointer(v.UnsafeAddr()))
	default:
		copied := reflect.New(v.Type())
		copied.Elem().Set(v)
		c.read(r, copied.UnsafePointer())
	}
}

// codecs has a codec for each type that was read. Codecs do not change, so explorations that run side by side share them.
var codecs struct {
	done  sync.Map
	mutex sync.Mutex
	begun map[reflect.Type]*codec // those of types that refer to each other, until all are done
}

func codecOf(t reflect.Type) *codec {
	if c, ok := codecs.done.Load(t); ok {
		return c.(*codec)
	}
	codecs.mutex.Lock()
	defer codecs.mutex.Unlock()
	codecs.begun = map[reflect.Type]*codec{}
	c := newCodec(t)
	for t, c := range codecs.begun {
		codecs.done.LoadOrStore(t, c)
	}
	return c
}

// newCodec returns a codec that is complete once codecOf returns.
func newCodec(t reflect.Type) *codec {
	if c, ok := codecs.done.Load(t); ok {
		return c.(*codec)
	}
	if c, ok := codecs.begun[t]; ok {
		return c
	}
	c := &codec{name: t.String()}
	codecs.begun[t] = c
	switch t.Kind() {
	case reflect.String:
		c.read = func(r *reader, at unsafe.Pointer) { r.text(*(*string)(at)) }
	case reflect.Slice, reflect.Array:
		c.read = readerOfList(t)
	case reflect.Map:
		c.read = readerOfMap(t)
	case reflect.Struct:
		c.read = readerOfStruct(t)
	case reflect.Interface:
		c.read = readerOfInterface(t)
	case reflect.Pointer:
		c.follow = followerOf(t, c)
		c.read = func(r *reader, at unsafe.Pointer) { c.follow(r, *(*unsafe.Pointer)(at)) }
	default:
		c.read = readerOfScalar(t)
	}
	return c
}

func readerOfScalar(t reflect.Type) func(*reader, unsafe.Pointer) {
	switch t.Kind() {
	case reflect.Bool:
		return func(r *reader, at unsafe.Pointer) { r.flag(*(*bool)(at)) }
	case reflect.Int, reflect.Int64, reflect.Uint, reflect.Uint64, reflect.Uintptr:
		return func(r *reader, at unsafe.Pointer) { r.number(*(*uint64)(at)) }
	case reflect.Int8:
		return func(r *reader, at unsafe.Pointer) { r.number(uint64(*(*int8)(at))) }
	case reflect.Int16:
		return func(r *reader, at unsafe.Pointer) { r.number(uint64(*(*int16)(at))) }
	case reflect.Int32:
		return func(r *reader, at unsafe.Pointer) { r.number(uint64(*(*int32)(at))) }
	case reflect.Uint8:
		return func(r *reader, at unsafe.Pointer) { r.number(uint64(*(*uint8)(at))) }
	case reflect.Uint16:
		return func(r *reader, at unsafe.Pointer) { r.number(uint64(*(*uint16)(at))) }
	case reflect.Uint32:
		return func(r *reader, at unsafe.Pointer) { r.number(uint64(*(*uint32)(at))) }
	case reflect.Float32, reflect.Float64:
		return func(r *reader, at unsafe.Pointer) { r.number(math.Float64bits(reflect.NewAt(t, at).Elem().Float())) }
	case reflect.Complex64, reflect.Complex128:
		return func(r *reader, at unsafe.Pointer) { r.text(fmt.Sprint(reflect.NewAt(t, at).Elem().Complex())) }
	}
	// Functions, channels.
	return func(r *reader, at unsafe.Pointer) { r.flag(*(*unsafe.Pointer)(at) == nil) }
}

func readerOfList(t reflect.Type) func(*reader, unsafe.Pointer) {
	element, size := newCodec(t.Elem()), t.Elem().Size()
	readAll := func(r *reader, first unsafe.Pointer, n int) {
		r.length(n)
		for i := range n {
			element.read(r, unsafe.Add(first, uintptr(i)*size))
		}
	}
	switch {
	case t.Kind() == reflect.Array:
		n := t.Len()
		return func(r *reader, at unsafe.Pointer) { readAll(r, at, n) }
	case t.Elem().Kind() == reflect.Uint8:
		return func(r *reader, at unsafe.Pointer) {
			data := *(*[]byte)(at)
			r.length(len(data))
			r.out = append(r.out, data...)
		}
	}
	return func(r *reader, at unsafe.Pointer) {
		list := *(*[]struct{})(at) // of any type: only where it is, and how long
		readAll(r, unsafe.Pointer(unsafe.SliceData(list)), len(list))
	}
}

// readerOfMap reads the entries in the order of their keys.
func readerOfMap(t reflect.Type) func(*reader, unsafe.Pointer) {
	key, value := newCodec(t.Key()), newCodec(t.Elem())
	room := sync.Pool{New: func() any { return &mapEntry{key: reflect.New(t.Key()), value: reflect.New(t.Elem())} }}
	return func(r *reader, at unsafe.Pointer) {
		m := reflect.NewAt(t, at).Elem()
		n := m.Len()
		r.length(n)
		if n == 0 {
			return
		}
		e := room.Get().(*mapEntry)
		defer e.free(&room)
		e.iter.Reset(m)
		if n == 1 {
			e.next()
			key.read(r, e.key.UnsafePointer())
			value.read(r, e.value.UnsafePointer())
			return
		}
		type entry struct{ from, to, value int }
		entries, values := make([]entry, 0, n), reflect.MakeSlice(reflect.SliceOf(t.Elem()), n, n)
		texts := r.tracker.newReader()
		texts.object = r.object
		for i := 0; e.next(); i++ {
			from := len(texts.out)
			key.read(texts, e.key.UnsafePointer())
			clear(texts.seen)
			entries = append(entries, entry{from, len(texts.out), i})
			values.Index(i).Set(e.value.Elem())
		}
		slices.SortFunc(entries, func(a, b entry) int { return bytes.Compare(texts.out[a.from:a.to], texts.out[b.from:b.to]) })
		for _, e := range entries {
			r.out = append(r.out, texts.out[e.from:e.to]...)
			value.read(r, values.Index(e.value).Addr().UnsafePointer())
		}
		texts.free()
	}
}

// mapEntry has an entry of a map, one after the other.
type mapEntry struct {
	iter       reflect.MapIter
	key, value reflect.Value // pointers
}

// next sets the next entry, and reports whether there is one.
func (e *mapEntry) next() bool {
	if !e.iter.Next() {
		return false
	}
	e.key.Elem().SetIterKey(&e.iter)
	e.value.Elem().SetIterValue(&e.iter)
	return true
}

// free puts the memory of the entry back.
func (e *mapEntry) free(room *sync.Pool) {
	e.iter.Reset(reflect.Value{})
	e.key.Elem().SetZero()
	e.value.Elem().SetZero()
	room.Put(e)
}

func readerOfStruct(t reflect.Type) func(*reader, unsafe.Pointer) {
	how := newLayout(t)
	if how.opaque {
		return func(*reader, unsafe.Pointer) {}
	}
	type field struct {
		*codec
		fieldLayout
		offset uintptr
	}
	var fields []field
	for _, f := range how.fields {
		of := t.Field(f.index)
		// The other fields of a location are caches.
		if !how.location || of.Name == "name" || of.Name == "zone" {
			fields = append(fields, field{newCodec(of.Type), f, of.Offset})
		}
	}
	return func(r *reader, at unsafe.Pointer) {
		for i := range fields {
			f := &fields[i]
			switch {
			case f.difference:
				r.counters = append(r.counters, *(*uint64)(unsafe.Add(at, f.offset)))
			case f.version && r.object && r.unversioned != nil && at == unsafe.Pointer(r.unversioned):
			default:
				f.read(r, unsafe.Add(at, f.offset))
			}
		}
	}
}

func readerOfInterface(t reflect.Type) func(*reader, unsafe.Pointer) {
	return func(r *reader, at unsafe.Pointer) {
		v := reflect.NewAt(t, at).Elem()
		if v.IsNil() {
			r.text("")
			return
		}
		v = v.Elem()
		c := codecOf(v.Type())
		r.text(c.name)
		c.readValue(r, v)
	}
}

// followerOf returns codec.follow of c.
func followerOf(t reflect.Type, c *codec) func(*reader, unsafe.Pointer) {
	how := newLayout(t)
	if how.opaque {
		return func(*reader, unsafe.Pointer) {}
	}
	var element *codec
	if !how.tree && !how.process {
		element = newCodec(t.Elem())
	}
	return func(r *reader, to unsafe.Pointer) {
		r.flag(to == nil)
		switch {
		case to == nil:
			return
		case how.object && !r.object:
			d := r.tracker.content(reflect.NewAt(t.Elem(), to).Interface().(api.Object))
			r.out = append(r.out, d[:]...)
			return
		case how.process:
			d := r.tracker.process((*engine.Process)(to))
			r.out = append(r.out, d[:]...)
			return
		}
		p := place{to, c}
		if n, ok := r.seen[p]; ok {
			r.number(uint64(n))
			return
		}
		r.seen[p] = len(r.seen) + 1
		r.number(0)
		if how.tree {
			r.readTree(reflect.NewAt(t.Elem(), to))
			return
		}
		element.read(r, to)
	}
}

// readTree reads the items of a tree in order.
func (r *reader) readTree(tree reflect.Value) {
	r.number(uint64(tree.MethodByName("Len").Call(nil)[0].Int()))
	scan := tree.MethodByName("Scan")
	yield := func(item []reflect.Value) []reflect.Value {
		r.read(item[0])
		return []reflect.Value{reflect.ValueOf(true)}
	}
	scan.Call([]reflect.Value{reflect.MakeFunc(scan.Type().In(0), yield)})
}
