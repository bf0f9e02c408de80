package engine

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"
)

// A queue drops its records of finished keys, and releases most of the memory of a burst.
func TestQueueDropsKeys(t *testing.T) {
	const keys, rounds = 5000, 3
	tests := []struct {
		name  string
		pause time.Duration // between the keys
		takes time.Duration // to work on one
	}{
		{"all at once", 0, 0},
		{"all at once, and it takes time", 0, time.Millisecond},
		{"one after the other, and the queue is never empty", time.Millisecond, 3 * time.Millisecond},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			e, err := New(Config{})
			if err != nil {
				t.Fatal(err)
			}
			synced := map[string]int{}
			var queue *Queue
			actor, err := e.NewActor("a", func(a *Actor) {
				queue = a.NewQueue(QueueConfig{Name: "queue", Workers: 4, Sync: func(p *Process, key string) error {
					synced[key]++
					p.Sleep(tt.takes)
					if n := queue.busy.len; n < 1 || n > queue.keys.len()+4 {
						t.Errorf("%d keys are busy, and %d of them wait for 4 workers", n, queue.keys.len())
					}
					if n := queue.busy.idle; tt.pause > 0 && n > recordsAtOnce {
						t.Errorf("%d unused records of keys are kept", n)
					}
					return nil
				}})
			})
			if err != nil {
				t.Fatal(err)
			}
			for range rounds {
				actor.Go("adds", func(p *Process) {
					for i := range keys {
						queue.Add(fmt.Sprint(i))
						if tt.pause > 0 {
							p.Sleep(tt.pause)
						}
					}
				})
				if err := e.Settle(time.Hour); err != nil {
					t.Fatal(err)
				}
				if n := queue.busy.len; n != 0 || len(queue.busy.all()) != 0 {
					t.Fatalf("%d keys are busy in a queue with nothing to do: %v", n, queue.busy.all())
				}
				if idle, chains := queue.busy.idle, len(queue.busy.chains); idle > recordsIdle || chains > recordsIdle {
					t.Fatalf("%d records and %d chains are kept, want at most %d", idle, chains, recordsIdle)
				}
			}
			for i := range keys {
				if n := synced[fmt.Sprint(i)]; n != rounds {
					t.Fatalf("key %d was synced %d times, want %d", i, n, rounds)
				}
			}
		})
	}
}

// A set of keys has each key that was added and not removed, and records that were removed serve again.
func TestKeySet(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	var set keySet
	model := map[string]*queued{}
	for range 20_000 {
		key := fmt.Sprint(rng.IntN(300))
		item := set.get(key)
		if item != model[key] {
			t.Fatalf("get(%s) = %v, want %v", key, item, model[key])
		}
		switch {
		case item == nil:
			item = set.add(key)
			if item.key != key || item.dirty || item.working {
				t.Fatalf("add(%s) = %+v, want a new record", key, item)
			}
			item.dirty = true
			model[key] = item
		case rng.IntN(2) == 0:
			if again := set.add(key); again != item {
				t.Fatalf("add(%s) = %v, want the record that the key has, %v", key, again, item)
			}
		default:
			set.remove(item)
			delete(model, key)
		}
		if set.len != len(model) || len(set.all()) != len(model) {
			t.Fatalf("the set has %d keys and lists %d, want %d", set.len, len(set.all()), len(model))
		}
	}
}
