package explore

import (
	"fmt"
	"reflect"
	"slices"
	"strings"

	"github.com/tidwall/btree"

	"github.com/volsim/volsim/api"
	"github.com/volsim/volsim/internal/core/backends"
	"github.com/volsim/volsim/internal/core/engine"
	"github.com/volsim/volsim/internal/core/store"
)

// reader reads the memory of an actor by reflection: everything reachable from its registered state. It skips Events, and what the engine
// reports itself (informers, queues, the store). Functions count as constant.
type reader struct {
	tracker *tracker
	seen    map[place]int
	out     []byte
	// counters are numbers of which only differences are used, in the order in which the reader meets them.
	counters []uint64
}

type place struct {
	at  uintptr
	typ reflect.Type
}

// differenceTag is the value of the struct tag "explore" that marks a counter of which code uses only the difference between two readings
// within one activity, as it does with engine.Process.Effects.
const differenceTag = "difference"

// opaque are the types whose values are not read: the observer reports on them, they do not change, or they only make Events. A generic
// type stands for all its instances.
var opaque = typeSet(
	reflect.TypeFor[engine.Actor](), reflect.TypeFor[engine.Engine](), reflect.TypeFor[engine.API](), reflect.TypeFor[engine.Queue](),
	reflect.TypeFor[engine.Recorder](), reflect.TypeFor[engine.Timer](), reflect.TypeFor[engine.Client[api.Object]](),
	reflect.TypeFor[engine.Informer[api.Object]](),
	reflect.TypeFor[store.Store](), reflect.TypeFor[store.Index[api.Object]](), reflect.TypeFor[store.Table[api.Object]](),
	reflect.TypeFor[backends.Set](),
)

// trees are read by their items in order: their nodes hold numbers that count copies in the whole process.
var trees = typeSet(reflect.TypeFor[btree.BTreeG[int]]())

// typeName returns a type without its type parameters.
type typeName struct{ path, name string }

func nameOf(t reflect.Type) typeName {
	name, _, _ := strings.Cut(t.Name(), "[")
	return typeName{t.PkgPath(), name}
}

func typeSet(types ...reflect.Type) map[typeName]bool {
	set := map[typeName]bool{}
	for _, t := range types {
		set[nameOf(t)] = true
	}
	return set
}

// memory is the digest of an actor's memory, and its counters.
func (t *tracker) memory(a *engine.Actor) (digest, []uint64) {
	r := &reader{tracker: t, seen: map[place]int{}}
	for _, root := range a.Memory() {
		r.read(reflect.ValueOf(root))
	}
	return digest{}.mix(r.out), r.counters
}

var objectType = reflect.TypeFor[api.Object]()

func (r *reader) say(format string, args ...any) { r.out = fmt.Appendf(r.out, format, args...) }

func (r *reader) read(v reflect.Value) {
	switch v.Kind() {
	case reflect.Invalid:
		r.say("nil ")
	case reflect.Bool:
		r.say("%t ", v.Bool())
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		r.say("%d ", v.Int())
	case reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64, reflect.Uintptr:
		r.say("%d ", v.Uint())
	case reflect.Float32, reflect.Float64, reflect.Complex64, reflect.Complex128:
		r.say("%v ", v)
	case reflect.String:
		r.say("%q ", v.String())
	case reflect.Slice, reflect.Array:
		r.say("[%d ", v.Len())
		for i := range v.Len() {
			r.read(v.Index(i))
		}
	case reflect.Map:
		r.readMap(v)
	case reflect.Struct:
		r.readStruct(v)
	case reflect.Interface:
		if v.IsNil() {
			r.say("nil ")
			return
		}
		r.say("%s ", v.Elem().Type())
		r.read(v.Elem())
	case reflect.Pointer:
		r.readPointer(v)
	default: // functions, channels
		r.say("%t ", v.IsNil())
	}
}

func (r *reader) readPointer(v reflect.Value) {
	if v.IsNil() {
		r.say("nil ")
		return
	}
	if opaque[nameOf(v.Type().Elem())] {
		return
	}
	if v.Type().Implements(objectType) || v.Type() == reflect.TypeFor[*engine.Process]() {
		// By address, because values of unexported fields cannot be extracted.
		switch shared := reflect.NewAt(v.Type().Elem(), v.UnsafePointer()).Interface().(type) {
		case api.Object:
			d := r.tracker.content(shared)
			r.out = append(r.out, d[:]...)
		case *engine.Process:
			d := r.tracker.activity(shared)
			r.out = append(r.out, d[:]...)
		}
		return
	}
	at := place{v.Pointer(), v.Type()}
	if n, ok := r.seen[at]; ok {
		r.say("@%d ", n)
		return
	}
	r.seen[at] = len(r.seen)
	if trees[nameOf(v.Type().Elem())] {
		r.readTree(v)
		return
	}
	r.read(v.Elem())
}

// readTree reads the items of a tree in order.
func (r *reader) readTree(v reflect.Value) {
	// By address, because methods cannot be called on values of unexported fields.
	scan := reflect.NewAt(v.Type().Elem(), v.UnsafePointer()).MethodByName("Scan")
	r.say("tree")
	yield := func(item []reflect.Value) []reflect.Value {
		r.read(item[0])
		return []reflect.Value{reflect.ValueOf(true)}
	}
	scan.Call([]reflect.Value{reflect.MakeFunc(scan.Type().In(0), yield)})
}

func (r *reader) readStruct(v reflect.Value) {
	if opaque[nameOf(v.Type())] {
		return
	}
	r.say("{")
	for i := range v.NumField() {
		if v.Type().Field(i).Tag.Get("explore") == differenceTag {
			r.counters = append(r.counters, v.Field(i).Uint())
		} else {
			r.read(v.Field(i))
		}
	}
	r.say("}")
}

// readMap reads the entries in the order of their keys.
func (r *reader) readMap(v reflect.Value) {
	type entry struct {
		key   string
		value reflect.Value
	}
	var entries []entry
	for iter := v.MapRange(); iter.Next(); {
		key := &reader{tracker: r.tracker, seen: map[place]int{}}
		key.read(iter.Key())
		entries = append(entries, entry{string(key.out), iter.Value()})
	}
	slices.SortFunc(entries, func(a, b entry) int { return strings.Compare(a.key, b.key) })
	r.say("map %d ", len(entries))
	for _, e := range entries {
		r.say("%s:", e.key)
		r.read(e.value)
	}
}
