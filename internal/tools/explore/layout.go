package explore

import (
	"reflect"
	"strings"
	"time"

	"github.com/tidwall/btree"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/volsim/volsim/api"
	"github.com/volsim/volsim/binder"
	"github.com/volsim/volsim/internal/core/backends"
	"github.com/volsim/volsim/internal/core/engine"
	"github.com/volsim/volsim/internal/core/plain"
	"github.com/volsim/volsim/internal/core/store"
)

// layout says how reader reads the values of a struct or pointer type.
type layout struct {
	opaque  bool // not at all
	object  bool // a pointer to an object
	process bool // a pointer to a process
	tree    bool // a pointer to a tree
	// location is a time.Location.
	location bool
	fields   []fieldLayout
}

type fieldLayout struct {
	index      int
	difference bool // see differenceTag
	version    bool // the resourceVersion of a reference
}

// differenceTag is the value of the struct tag "explore" that marks a counter of which code uses only the difference between two readings
// within one process, as it does with engine.Process.Effects.
const differenceTag = "difference"

// opaque are the types whose values are not read: the observer reports on them, they do not change, they only make Events, or they are
// copies that save memory. A generic type stands for all its instances.
var opaque = typeSet(
	reflect.TypeFor[engine.Actor](), reflect.TypeFor[engine.Engine](), reflect.TypeFor[engine.API](), reflect.TypeFor[engine.Queue](),
	reflect.TypeFor[engine.Recorder](), reflect.TypeFor[engine.Timer](), reflect.TypeFor[store.Store](),
	reflect.TypeFor[backends.Set](),
).with(
	// These are the types behind engine.Client and Informer, and store.Table and Index.
	typeName{enginePath, "client"}, typeName{enginePath, "informer"}, typeName{storePath, "table"}, typeName{storePath, "index"},
	// Its maps equal those that would be made without it.
	typeName{binderPath, "sharedAnnotations"},
)

var enginePath, storePath = reflect.TypeFor[engine.Engine]().PkgPath(), reflect.TypeFor[store.Store]().PkgPath()

var binderPath = reflect.TypeFor[binder.Config]().PkgPath()

// trees are read by their items in order: their nodes hold numbers that count copies in the whole process.
var trees = typeSet(reflect.TypeFor[btree.BTreeG[int]]())

// unread are fields of objects that are not read: their value follows from that of the others, or is read as an index among versions.
var unread = map[reflect.Type]string{
	reflect.TypeFor[resource.Quantity](): "s",
	reflect.TypeFor[plain.Object]():      "shared",
	reflect.TypeFor[metav1.ObjectMeta](): "ResourceVersion",
}

// typeName returns a type without its type parameters.
type typeName struct{ path, name string }

func nameOf(t reflect.Type) typeName {
	name, _, _ := strings.Cut(t.Name(), "[")
	return typeName{t.PkgPath(), name}
}

type typeNames map[typeName]bool

func (set typeNames) with(names ...typeName) typeNames {
	for _, name := range names {
		set[name] = true
	}
	return set
}

func typeSet(types ...reflect.Type) typeNames {
	set := typeNames{}
	for _, t := range types {
		set[nameOf(t)] = true
	}
	return set
}

var objectType = reflect.TypeFor[api.Object]()

func newLayout(t reflect.Type) *layout {
	if t.Kind() == reflect.Pointer {
		name := nameOf(t.Elem())
		return &layout{
			opaque: opaque[name], object: t.Implements(objectType), process: t == reflect.TypeFor[*engine.Process](), tree: trees[name],
		}
	}
	l := &layout{opaque: opaque[nameOf(t)], location: t == reflect.TypeFor[time.Location]()}
	for i := range t.NumField() {
		f := t.Field(i)
		if name, ok := unread[t]; ok && name == f.Name {
			continue
		}
		l.fields = append(l.fields, fieldLayout{
			index: i, difference: f.Tag.Get("explore") == differenceTag,
			version: t == reflect.TypeFor[corev1.ObjectReference]() && f.Name == "ResourceVersion",
		})
	}
	return l
}
