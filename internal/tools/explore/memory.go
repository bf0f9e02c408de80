package explore

import (
	"fmt"
	"reflect"
	"slices"
	"strings"

	"github.com/volsim/volsim/api"
	"github.com/volsim/volsim/internal/core/engine"
)

// reader reads the memory of an actor by reflection, all that hangs on what it keeps. What the engine itself tells of (informers, queues,
// the store) is left out, and so are Events. Functions are taken to be constant.
type reader struct {
	tracker *tracker
	seen    map[place]int
	out     []byte
	// counters are numbers of which only differences are used, in the order in which they were met.
	counters []uint64
}

type place struct {
	at  uintptr
	typ reflect.Type
}

// differences names counters of which code uses only the difference between two readings within one activity, as it does with
// engine.Proc.Effects.
var differences = map[string]bool{"binder.restless.nudges": true}

// unread are fields that say nothing about what the rest holds: trees number their copies through the whole process.
var unread = map[string]bool{"btree.BTreeG.isoid": true, "btree.node.isoid": true}

// opaque are types of which nothing is read, by package and name without type parameters: what the engine tells of, what does not change, and
// what makes Events.
var opaque = map[string]bool{
	"engine.Actor": true, "engine.Engine": true, "engine.API": true, "engine.Client": true, "engine.Informer": true, "engine.Queue": true,
	"engine.Recorder": true, "store.Store": true, "store.Index": true, "store.Table": true, "backends.Set": true,
}

// memory is the digest of what an actor keeps, and its counters.
func (t *tracker) memory(a *engine.Actor) (digest, []uint64) {
	r := &reader{tracker: t, seen: map[place]int{}}
	for _, root := range a.Memory() {
		r.read(reflect.ValueOf(root))
	}
	return digest{}.mix(r.out), r.counters
}

func typeName(t reflect.Type) string {
	path := t.PkgPath()
	name, _, _ := strings.Cut(t.Name(), "[")
	return path[strings.LastIndex(path, "/")+1:] + "." + name
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
	if opaque[typeName(v.Type().Elem())] {
		return
	}
	if v.Type().Implements(objectType) || v.Type() == reflect.TypeFor[*engine.Proc]() {
		// By its address, for what is read from a field that is not exported cannot be taken out of it.
		switch shared := reflect.NewAt(v.Type().Elem(), v.UnsafePointer()).Interface().(type) {
		case api.Object:
			d := r.tracker.content(shared)
			r.out = append(r.out, d[:]...)
		case *engine.Proc:
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
	r.read(v.Elem())
}

func (r *reader) readStruct(v reflect.Value) {
	name := typeName(v.Type())
	if opaque[name] {
		return
	}
	r.say("{")
	for i := range v.NumField() {
		switch field := name + "." + v.Type().Field(i).Name; {
		case unread[field]:
		case differences[field]:
			r.counters = append(r.counters, v.Field(i).Uint())
		default:
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
