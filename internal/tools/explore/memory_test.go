package explore

import (
	"path"
	"reflect"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"

	"github.com/volsim/volsim"
	"github.com/volsim/volsim/api"
	"github.com/volsim/volsim/fake"
	"github.com/volsim/volsim/internal/core/actors"
	"github.com/volsim/volsim/internal/core/engine"
	"github.com/volsim/volsim/internal/core/internals"
)

// functions returns the fields of function type that are reachable from a type, except in opaque types.
func functions(t reflect.Type, seen map[reflect.Type]bool) (all []string) {
	if seen[t] || t.Kind() == reflect.Pointer && t.Implements(objectType) {
		return nil
	}
	seen[t] = true
	switch t.Kind() {
	case reflect.Pointer, reflect.Slice, reflect.Array:
		return functions(t.Elem(), seen)
	case reflect.Map:
		return append(functions(t.Key(), seen), functions(t.Elem(), seen)...)
	case reflect.Struct:
		if opaque[nameOf(t)] {
			return nil
		}
		for i := range t.NumField() {
			if f := t.Field(i); f.Type.Kind() == reflect.Func {
				all = append(all, path.Base(nameOf(t).path)+"."+nameOf(t).name+"."+f.Name)
			} else {
				all = append(all, functions(f.Type, seen)...)
			}
		}
	}
	return all
}

// TestFunctionsInMemory lists the functions in the memory of the PersistentVolume controller. Reflection cannot read what they refer to, so
// each was reviewed: configuration, hooks of tests, the orders of trees, a method of the ticker itself, and the clock of the log. None of
// them changes state.
func TestFunctionsInMemory(t *testing.T) {
	c, err := volsim.New(volsim.Config{})
	require.NoError(t, err)
	defer c.Close()
	a, ok := internals.Engine(c).Actor(actors.PersistentVolume)
	require.True(t, ok)
	require.Len(t, a.Memory(), 1)
	all := functions(reflect.TypeOf(a.Memory()[0]), map[reflect.Type]bool{})
	slices.Sort(all)
	require.Equal(t, []string{
		"binder.Config.Migration", "binder.Config.NewReclaimer", "btree.BTreeG.less", "engine.NestedOperations.After", "engine.NestedOperations.Before",
		"engine.Ticker.pass", "engine.TickerConfig.Full", "engine.TickerConfig.Idle", "engine.TickerConfig.Pass",
		"klog.Log.now",
	}, all)
}

// TestMemory checks that the digest of an actor's memory covers everything reachable and is deterministic.
func TestMemory(t *testing.T) {
	read := func(capacity string, steps int) digest {
		c, err := volsim.New(volsim.Config{})
		require.NoError(t, err)
		defer c.Close()
		require.NoError(t, c.Create(fake.Volume("a", capacity), fake.Volume("b", "2Gi"), fake.Claim("data", "1Gi")))
		for range steps {
			c.Step()
		}
		tr := newTracker(&Run{Engine: internals.Engine(c), Independent: independent}, func(api.Kind, api.Object) {}, actorSets{})
		a, ok := internals.Engine(c).Actor(actors.PersistentVolume)
		require.True(t, ok)
		require.NotEmpty(t, a.Memory())
		d, counters := tr.memory(a)
		require.Len(t, counters, 1)
		return d
	}
	require.Equal(t, read("1Gi", 500), read("1Gi", 500))
	require.NotEqual(t, read("1Gi", 500), read("3Gi", 500))
	require.NotEqual(t, read("1Gi", 500), read("1Gi", 5))

	// Cycles, sharing, and maps.
	type node struct {
		next *node
		by   map[string]*node
		pv   *corev1.PersistentVolume
		f    func()
		any  any
	}
	e, err := engine.New(engine.Config{})
	require.NoError(t, err)
	tr := newTracker(&Run{Engine: e}, func(api.Kind, api.Object) {}, actorSets{})
	digestOf := func(root any) digest {
		r := tr.newReader()
		r.read(reflect.ValueOf(root))
		return r.close()
	}
	ring := func(names ...string) *node {
		first := &node{by: map[string]*node{}, pv: fake.Volume("a", "1Gi"), any: 7}
		first.next = first
		for _, name := range names {
			first.by[name] = first
		}
		return first
	}
	require.Equal(t, digestOf(ring("x", "y", "z")), digestOf(ring("z", "y", "x")))
	require.NotEqual(t, digestOf(ring("x", "y")), digestOf(ring("x", "z")))
	other := ring("x")
	other.by["x"] = &node{}
	require.NotEqual(t, digestOf(ring("x")), digestOf(other))
	other = ring("x")
	other.pv = fake.Volume("a", "2Gi")
	require.NotEqual(t, digestOf(ring("x")), digestOf(other))
	other = ring("x")
	other.any = "7"
	require.NotEqual(t, digestOf(ring("x")), digestOf(other))
	other = ring("x")
	other.f = func() {}
	require.NotEqual(t, digestOf(ring("x")), digestOf(other))
}

// TestOpaqueTypes: the types behind interfaces are opaque, too.
func TestOpaqueTypes(t *testing.T) {
	c, err := volsim.New(volsim.Config{})
	require.NoError(t, err)
	defer c.Close()
	e := internals.Engine(c)
	a, ok := e.Actor(actors.PersistentVolume)
	require.True(t, ok)
	for _, v := range []any{e.API().Volumes, a.Views()[0], e.Store().Volumes, e.Store().PodsByNode} {
		require.True(t, newLayout(reflect.TypeOf(v)).opaque, "%T", v)
	}
}
