package engine

import (
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"
)

func order(a, b event) int {
	if a.before(&b) {
		return -1
	}
	return 1
}

func sequence(events []event) []uint64 {
	seqs := make([]uint64, len(events))
	for i, ev := range events {
		seqs[i] = ev.seq
	}
	return seqs
}

// The heap returns the same events as a sorted list for every sequence of operations.
func TestTimerHeap(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var heap eventHeap
		var model []event
		seq := uint64(0)
		t.Repeat(map[string]func(*rapid.T){
			"push": func(t *rapid.T) {
				seq++
				ev := event{at: time.Duration(rapid.IntRange(0, 9).Draw(t, "at")), seq: seq}
				heap.push(ev)
				model = append(model, ev)
				slices.SortFunc(model, order)
			},
			"pop": func(t *rapid.T) {
				if len(model) == 0 {
					t.Skip("empty")
				}
				if got := heap.pop(); got.seq != model[0].seq {
					t.Fatalf("pop() = %d, want %d", got.seq, model[0].seq)
				}
				model = model[1:]
			},
			"drop": func(t *rapid.T) {
				rest := uint64(rapid.IntRange(0, 3).Draw(t, "rest"))
				match := func(ev event) bool { return ev.seq%4 == rest }
				heap.drop(match)
				model = slices.DeleteFunc(model, match)
			},
			"": func(t *rapid.T) {
				first := heap.peek()
				if (first != nil) != (len(model) > 0) || first != nil && first.seq != model[0].seq {
					t.Fatalf("peek() = %v, want the first of %v", first, sequence(model))
				}
				if got, want := sequence(heap.sorted()), sequence(model); !slices.Equal(got, want) {
					t.Fatalf("sorted() = %v, want %v", got, want)
				}
			},
		})
	})
}

// The ready list is a queue as long as the first is taken; the place of any other goes to the last.
func TestReadyList(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var ready readyList
		var model []event
		seq := uint64(0)
		t.Repeat(map[string]func(*rapid.T){
			"push": func(t *rapid.T) {
				for range rapid.IntRange(1, 100).Draw(t, "n") {
					seq++
					ready.push(event{seq: seq})
					model = append(model, event{seq: seq})
				}
			},
			"take": func(t *rapid.T) {
				for range rapid.IntRange(1, 100).Draw(t, "n") {
					if len(model) == 0 {
						return
					}
					i := rapid.IntRange(0, len(model)-1).Draw(t, "i")
					var got event
					ready.takeTo(&got, i)
					if got.seq != model[i].seq {
						t.Fatalf("takeTo(%d) = %d, want %d", i, got.seq, model[i].seq)
					}
					if i == 0 {
						model = model[1:]
					} else {
						model[i] = model[len(model)-1]
						model = model[:len(model)-1]
					}
				}
			},
			"drop": func(t *rapid.T) {
				rest := uint64(rapid.IntRange(0, 3).Draw(t, "rest"))
				match := func(ev event) bool { return ev.seq%4 == rest }
				ready.drop(match)
				model = slices.DeleteFunc(model, match)
			},
			"": func(t *rapid.T) {
				if got, want := sequence(ready.all()), sequence(model); !slices.Equal(got, want) {
					t.Fatalf("all() = %v, want %v", got, want)
				}
				if ready.len() != len(model) {
					t.Fatalf("len() = %d, want %d", ready.len(), len(model))
				}
			},
		})
	})
}

// A list that never runs empty does not grow for ever.
func TestFifoMemory(t *testing.T) {
	var f fifo[int]
	for i := range 10 {
		f.push(i)
	}
	for i := range 100_000 {
		f.push(10 + i)
		if got := f.pop(); got != i {
			t.Fatalf("pop() = %d, want %d", got, i)
		}
	}
	if f.len() != 10 || cap(f.items) > 100 {
		t.Errorf("len %d and cap %d after 100,000 elements passed through, want 10 and no more than 100", f.len(), cap(f.items))
	}
}

// member counts how often it was evicted.
type member struct {
	place     membership[member]
	evictions int
}

func (m *member) membership() *membership[member] { return &m.place }
func (m *member) evict()                          { m.evictions++ }

func TestLRU(t *testing.T) {
	c := lru[member, *member]{limit: 3}
	values := map[string]*member{}
	for i, step := range []struct{ use, evicts string }{
		{"a", ""}, {"b", ""}, {"c", ""}, {"a", ""},
		{"d", "b"}, // which was used least recently
		{"a", ""}, {"c", ""}, {"b", "d"},
		{"d", "a"}, {"b", ""}, {"c", ""}, {"a", "d"},
	} {
		if values[step.use] == nil {
			values[step.use] = &member{}
		}
		before := map[string]int{}
		for key, value := range values {
			before[key] = value.evictions
		}
		c.use(values[step.use])
		for key, value := range values {
			if got, want := value.evictions > before[key], key == step.evicts; got != want || got && value.place.member() {
				t.Fatalf("step %d: use(%s) evicts %s: %v, want %v; member %v", i, step.use, key, got, want, value.place.member())
			}
		}
		if !values[step.use].place.member() || c.len > c.limit {
			t.Fatalf("step %d: use(%s): member %v, %d members, want at most %d", i, step.use, values[step.use].place.member(), c.len, c.limit)
		}
	}
}
