package engine_test

import (
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/volsim/volsim/internal/core/engine"
	"github.com/volsim/volsim/internal/core/store"
)

// TestReachableTypes: no package that imports the engine reaches a generic struct with methods, by fields and signatures. It would compile all
// of them again (see store.Table).
func TestReachableTypes(t *testing.T) {
	r := reach{seen: map[reflect.Type]bool{}}
	for _, from := range []reflect.Type{
		reflect.TypeFor[*engine.Engine](), reflect.TypeFor[*engine.Actor](), reflect.TypeFor[*engine.Process](), reflect.TypeFor[*engine.API](),
		reflect.TypeFor[*engine.Queue](), reflect.TypeFor[*store.Store](),
	} {
		r.visit(from)
	}
	assert.Greater(t, len(r.seen), 200)
	assert.Empty(t, r.generic)
}

type reach struct {
	seen    map[reflect.Type]bool
	generic []string
}

func (r *reach) visit(t reflect.Type) {
	if r.seen[t] {
		return
	}
	r.seen[t] = true
	ours := slices.Contains([]string{reflect.TypeFor[engine.Engine]().PkgPath(), reflect.TypeFor[store.Store]().PkgPath()}, t.PkgPath())
	if t.Kind() == reflect.Struct && ours && strings.Contains(t.Name(), "[") && reflect.PointerTo(t).NumMethod() > 0 {
		r.generic = append(r.generic, t.String())
	}
	for i := range t.NumMethod() {
		r.visit(t.Method(i).Type)
	}
	switch t.Kind() {
	case reflect.Pointer, reflect.Slice, reflect.Array, reflect.Chan:
		r.visit(t.Elem())
	case reflect.Map:
		r.visit(t.Key())
		r.visit(t.Elem())
	case reflect.Struct:
		for i := range t.NumField() {
			r.visit(t.Field(i).Type)
		}
	case reflect.Func:
		for i := range t.NumIn() {
			r.visit(t.In(i))
		}
		for i := range t.NumOut() {
			r.visit(t.Out(i))
		}
	}
}
