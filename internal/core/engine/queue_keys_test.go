package engine

import (
	"fmt"
	"testing"
	"time"
)

// A queue drops its records of finished keys; until then they do not prevent a key from being added again.
func TestQueueDropsKeys(t *testing.T) {
	const keys, rounds = 3000, 3
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
			synced, most := map[string]int{}, 0
			var queue *Queue
			actor, err := e.NewActor("a", func(a *Actor) {
				queue = a.NewQueue(QueueConfig{Name: "queue", Workers: 4, Sync: func(p *Process, key string) error {
					synced[key]++
					p.Sleep(tt.takes)
					if busy := queue.keys.len() + 4; len(queue.all) > 8*(busy+itemsKept)+1 {
						most = max(most, len(queue.all))
					}
					if memory := itemsKept * len(queue.blocks); memory > keys+itemsKept || tt.pause > 0 && memory > keys/2 {
						t.Errorf("memory for %d keys is kept", memory)
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
				if len(queue.all) > itemsKept || queue.busy != 0 || len(queue.unused) > itemsKept {
					t.Fatalf("%d keys in a queue with nothing to do, %d of them busy, and room for %d", len(queue.all), queue.busy, len(queue.unused))
				}
			}
			if most > 0 {
				t.Errorf("%d keys at once, most of them done", most)
			}
			for i := range keys {
				if n := synced[fmt.Sprint(i)]; n != rounds {
					t.Fatalf("key %d was synced %d times, want %d", i, n, rounds)
				}
			}
		})
	}
}
