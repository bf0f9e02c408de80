package seqmap

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
)

type thing struct {
	Link[thing]
	n int
}

func newThing(key string, n int) *thing {
	t := &thing{n: n}
	t.Key = key
	return t
}

// TestLikeAMap adds and deletes values at random and looks them up in order, backwards and at random: the results are those of a Go map.
func TestLikeAMap(t *testing.T) {
	for seed := range uint64(200) {
		random := rand.New(rand.NewPCG(seed, 0))
		var m Map[thing, *thing]
		model := map[string]*thing{}
		keys := make([]string, 1+random.IntN(40))
		for i := range keys {
			// Some keys have a namespace; some are a suffix of another.
			keys[i] = strings.TrimPrefix(fmt.Sprintf("%s/%03d", []string{"", "a", "ab", "default"}[random.IntN(4)], i), "/")
		}
		check := func(key string) {
			t.Helper()
			if got := m.Get(key); got != model[key] {
				t.Fatalf("seed %d: Get(%q) is %v, want %v", seed, key, got, model[key])
			}
			namespace, name, ok := strings.Cut(key, "/")
			if !ok {
				namespace, name = "", key
			}
			if got := m.GetNamed(namespace, name); got != model[key] {
				t.Fatalf("seed %d: GetNamed(%q, %q) is %v, want %v", seed, namespace, name, got, model[key])
			}
		}
		for n := range 300 {
			key := keys[random.IntN(len(keys))]
			switch old := model[key]; {
			case random.IntN(3) == 0:
				check(key)
			case random.IntN(10) == 0:
				for _, key := range keys {
					check(key)
				}
			case random.IntN(10) == 0:
				for i := range keys {
					check(keys[i])
					check(keys[len(keys)-1-i])
				}
			case old == nil:
				model[key] = newThing(key, n)
				m.Put(model[key])
			default:
				m.Delete(old)
				delete(model, key)
				if random.IntN(3) == 0 { // the same value again
					model[key] = old
					m.Put(old)
				}
			}
		}
		if m.Len() != len(model) {
			t.Fatalf("seed %d: %d things, want %d", seed, m.Len(), len(model))
		}
		all := 0
		for each := range m.All() {
			if all++; model[each.Key] != each {
				t.Fatalf("seed %d: All yields %v, want %v", seed, each, model[each.Key])
			}
		}
		if all != len(model) {
			t.Fatalf("seed %d: All yields %d things, want %d", seed, all, len(model))
		}
	}
}

// TestNames checks that a namespace and a name match no other key, even one of the same letters.
func TestNames(t *testing.T) {
	var m Map[thing, *thing]
	m.Put(newThing("a/bc", 0))
	for range 2 {
		for _, miss := range [][2]string{{"ab", "c"}, {"a", "b"}, {"", "bc"}, {"a/b", "c"}, {"a", "bcd"}, {"b", "bc"}} {
			if got := m.GetNamed(miss[0], miss[1]); got != nil {
				t.Errorf("GetNamed(%q, %q) is %v, want nothing", miss[0], miss[1], got)
			}
		}
		if m.GetNamed("a", "bc") == nil {
			t.Error("a/bc is not found")
		}
	}
	long := strings.Repeat("x", 253)
	m.Put(newThing(long+"/"+long, 1))
	m.Put(newThing("z", 2))
	m.Get("z")
	if got := m.GetNamed(long, long); got == nil || got.n != 1 {
		t.Errorf("a long name finds %v", got)
	}
}

// TestInTurn checks that two alternating walks in the order of insertion find values without the Go map, from the second one on.
func TestInTurn(t *testing.T) {
	var m Map[thing, *thing]
	key := func(i int) string { return fmt.Sprintf("default/%03d", i) }
	for i := range 100 {
		m.Put(newThing(key(i), i))
	}
	m.Get(key(0))
	m.Get(key(50))
	m.byKey = nil
	for i := 1; i < 50; i++ {
		for _, at := range []int{i, i, 50 + i} {
			if got := m.Get(key(at)); got == nil || got.n != at {
				t.Fatalf("Get(%q) is %v", key(at), got)
			}
			if got := m.GetNamed("default", key(at)[8:]); got == nil || got.n != at {
				t.Fatalf("GetNamed(%q) is %v", key(at), got)
			}
		}
	}
}

func TestNoAllocations(t *testing.T) {
	var m Map[thing, *thing]
	for i := range 100 {
		m.Put(newThing(fmt.Sprintf("default/%03d", i), i))
	}
	names := []string{"070", "003", "099"}
	if n := testing.AllocsPerRun(100, func() {
		for _, name := range names {
			m.GetNamed("default", name)
		}
	}); n != 0 {
		t.Errorf("%v allocations", n)
	}
}
