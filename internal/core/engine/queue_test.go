package engine_test

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/volsim/volsim/internal/core/engine"
	"github.com/volsim/volsim/trace"
)

var errSync = errors.New("sync failed")

// queueWorld is an actor with one queue. Each key takes as long to sync as took says, and fails as often as failing says.
type queueWorld struct {
	e       *engine.Engine
	d       *diary
	queue   *engine.Queue
	took    map[string]time.Duration
	failing map[string]int
}

func newQueueWorld(t *testing.T, cfg engine.QueueConfig) *queueWorld {
	w := &queueWorld{e: newEngine(t, engine.Config{}), took: map[string]time.Duration{}, failing: map[string]int{}}
	w.d = &diary{e: w.e}
	cfg.Name = "q"
	cfg.Sync = func(p *engine.Process, key string) error {
		w.d.note(key)
		p.Sleep(w.took[key])
		if w.failing[key] > 0 {
			w.failing[key]--
			return errSync
		}
		return nil
	}
	startActor(t, w.e, "a", func(a *engine.Actor) { w.queue = a.NewQueue(cfg) })
	return w
}

func (w *queueWorld) add(keys ...string) {
	for _, key := range keys {
		w.queue.Add(key)
	}
}

func TestQueue(t *testing.T) {
	tests := []struct {
		rule    string
		name    string
		workers int
		took    map[string]time.Duration
		failing map[string]int
		do      func(w *queueWorld)
		want    []string
	}{
		{
			rule: "BIND-034", name: "first in, first out, each key once",
			do:   func(w *queueWorld) { w.add("b", "a", "b", "c", "a") },
			want: []string{"0s b", "0s a", "0s c"},
		},
		{
			rule: "BIND-034", name: "a key added while it is worked on comes once more, behind the others",
			took: map[string]time.Duration{"a": time.Second},
			do: func(w *queueWorld) {
				w.add("a", "b")
				w.e.Advance(time.Second / 2)
				w.add("a", "a", "c")
			},
			want: []string{"0s a", "1s b", "1s c", "1s a"},
		},
		{
			rule: "BIND-034", name: "one worker works on one key at a time",
			took: map[string]time.Duration{"a": time.Second, "b": time.Second},
			do:   func(w *queueWorld) { w.add("a", "b", "c") },
			want: []string{"0s a", "1s b", "2s c"},
		},
		{
			rule: "BIND-034", name: "two workers work on two keys, and never on the same one",
			workers: 2,
			took:    map[string]time.Duration{"a": 2 * time.Second, "b": 3 * time.Second},
			do: func(w *queueWorld) {
				w.add("a", "b", "c")
				w.e.Advance(time.Second)
				w.add("a", "b")
			},
			want: []string{"0s a", "0s b", "2s c", "2s a", "3s b"},
		},
		{
			rule: "BIND-035", name: "a key that failed comes again after 5 ms, 10 ms, 20 ms",
			failing: map[string]int{"a": 3},
			do:      func(w *queueWorld) { w.add("a") },
			want:    []string{"0s a", "5ms a", "15ms a", "35ms a"},
		},
		{
			rule: "BIND-035", name: "another trigger is sooner, and the retry comes as well",
			failing: map[string]int{"a": 1},
			do: func(w *queueWorld) {
				w.add("a")
				w.e.Advance(2 * time.Millisecond)
				w.add("a")
			},
			want: []string{"0s a", "2ms a", "5ms a"},
		},
		{
			rule: "BIND-035", name: "a key that fails and was added meanwhile comes at once, and the retry as well",
			took:    map[string]time.Duration{"a": time.Second},
			failing: map[string]int{"a": 1},
			do: func(w *queueWorld) {
				w.add("a")
				w.e.Advance(time.Second / 2)
				w.add("a")
			},
			want: []string{"0s a", "1s a", "2s a"},
		},
		{
			rule: "BIND-036", name: "success resets the failures of the key",
			failing: map[string]int{"a": 2},
			do: func(w *queueWorld) {
				w.add("a")
				w.e.Advance(time.Second)
				w.failing["a"] = 1
				w.add("a")
			},
			want: []string{"0s a", "5ms a", "15ms a", "1s a", "1.005s a"},
		},
		{
			rule: "BIND-036", name: "the failures of another key stay",
			failing: map[string]int{"a": 2, "b": 1},
			do:      func(w *queueWorld) { w.add("a", "b") },
			want:    []string{"0s a", "0s b", "5ms a", "5ms b", "15ms a"},
		},
		{
			rule: "BIND-034", name: "of several delays the shortest counts",
			do: func(w *queueWorld) {
				w.queue.AddAfter("a", 3*time.Second)
				w.queue.AddAfter("a", time.Second)
				w.queue.AddAfter("a", 2*time.Second)
				w.queue.AddAfter("b", 0)
				w.queue.AddAfter("c", -time.Second)
			},
			want: []string{"0s b", "0s c", "1s a"},
		},
		{
			rule: "BIND-034", name: "a delay replaces a longer one of a check in the background",
			do: func(w *queueWorld) {
				w.queue.AddInBackground("a", 3*time.Second)
				w.queue.AddAfter("a", time.Second)
				w.queue.AddInBackground("a", 2*time.Second)
			},
			want: []string{"1s a"},
		},
		{
			rule: "BIND-034", name: "a delay stands although the key comes sooner",
			do: func(w *queueWorld) {
				w.queue.AddAfter("a", time.Second)
				w.add("a")
			},
			want: []string{"0s a", "1s a"},
		},
	}
	for _, test := range tests {
		t.Run(test.rule+" "+test.name, func(t *testing.T) {
			w := newQueueWorld(t, engine.QueueConfig{Workers: test.workers})
			maps.Copy(w.took, test.took)
			maps.Copy(w.failing, test.failing)
			test.do(w)
			w.e.Advance(time.Hour)
			w.d.want(t, test.want...)
			if w.queue.Len() != 0 || w.queue.Failures("a") != 0 {
				t.Errorf("in the end %d keys are queued and a has %d failures, want none", w.queue.Len(), w.queue.Failures("a"))
			}
		})
	}
}

func TestQueueForget(t *testing.T) {
	w := newQueueWorld(t, engine.QueueConfig{})
	for range 3 {
		w.queue.AddRateLimited("a")
	}
	if got := w.queue.Failures("a"); got != 3 {
		t.Errorf("Failures = %d, want 3", got)
	}
	w.queue.Forget("a")
	if got := w.queue.Failures("a"); got != 0 {
		t.Errorf("Failures after Forget = %d, want 0", got)
	}
	w.e.Advance(time.Hour)
	w.d.want(t, "5ms a") // the shortest of the three
}

// BIND-004: max(5 ms·2^n, token bucket), the exponential part at most 1000 s; bucket 10/s, burst 100.
func TestDefaultLimiter(t *testing.T) {
	t.Run("BIND-004 exponential", func(t *testing.T) {
		l := engine.DefaultLimiter()
		now, want := time.Duration(0), 5*time.Millisecond
		for n := range 80 {
			if got := l.When("a", now); got != want {
				t.Fatalf("When of failure %d = %v, want %v", n, got, want)
			}
			want = min(2*want, 1000*time.Second)
			now += 1000 * time.Second // the bucket is full again
		}
		l.Forget("a")
		if got := l.When("a", now); got != 5*time.Millisecond {
			t.Errorf("When after Forget = %v, want 5ms", got)
		}
	})
	t.Run("BIND-004 bucket", func(t *testing.T) {
		l := engine.DefaultLimiter()
		when := func(i int, now, want time.Duration) {
			t.Helper()
			if got := l.When(fmt.Sprint(i), now); got != want {
				t.Errorf("When of key %d at %v = %v, want %v", i, now, got, want)
			}
		}
		for i := range 100 {
			when(i, 0, 5*time.Millisecond)
		}
		when(100, 0, 100*time.Millisecond)
		when(101, 0, 200*time.Millisecond)
		when(102, 0, 300*time.Millisecond)
		// After 250 ms two and a half tokens have come; three are owed.
		when(103, 250*time.Millisecond, 150*time.Millisecond)
		// A long rest fills the bucket, and not more than that.
		for i := range 100 {
			when(1000+i, time.Hour, 5*time.Millisecond)
		}
		when(2000, time.Hour, 100*time.Millisecond)
	})
	t.Run("BIND-004 both", func(t *testing.T) {
		l := engine.DefaultLimiter()
		for i := range 100 {
			l.When(fmt.Sprint(i), 0)
		}
		// The longer of the two delays counts.
		want := []time.Duration{100, 200, 300, 400, 500, 600, 700, 800, 1280, 2560}
		for n, ms := range want {
			if got := l.When("a", 0); got != ms*time.Millisecond {
				t.Errorf("When of failure %d = %v, want %v", n, got, ms*time.Millisecond)
			}
		}
	})
}

// No key is processed by two workers at a time, and each key is processed after it was last added.
func TestQueueLosesNothing(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		e := newEngine(t, engine.Config{Seed: int64(rapid.IntRange(0, 5).Draw(rt, "seed"))})
		workers := rapid.IntRange(1, 3).Draw(rt, "workers")
		active, added, synced := map[string]bool{}, map[string]time.Duration{}, map[string]time.Duration{}
		running := 0
		var queue *engine.Queue
		startActor(t, e, "a", func(a *engine.Actor) {
			queue = a.NewQueue(engine.QueueConfig{Name: "q", Workers: workers, Sync: func(p *engine.Process, key string) error {
				if running++; active[key] || running > workers {
					rt.Fatalf("%s is worked on twice, or %d keys at once by %d workers", key, running, workers)
				}
				active[key] = true
				synced[key] = since(e)
				p.Sleep(time.Duration(rapid.IntRange(0, 3).Draw(rt, "took")))
				active[key] = false
				running--
				if rapid.IntRange(0, 3).Draw(rt, "fails") == 0 {
					return errSync
				}
				return nil
			}})
		})
		for range rapid.IntRange(1, 30).Draw(rt, "adds") {
			key := rapid.SampledFrom([]string{"a", "b", "c", "d"}).Draw(rt, "key")
			if rapid.Bool().Draw(rt, "delayed") {
				queue.AddAfter(key, time.Duration(rapid.IntRange(0, 5).Draw(rt, "delay")))
			} else {
				queue.Add(key)
			}
			added[key] = since(e)
			e.Advance(time.Duration(rapid.IntRange(0, 2).Draw(rt, "advance")))
		}
		if err := e.Settle(time.Hour); err != nil {
			rt.Fatalf("Settle: %v", err)
		}
		for _, key := range slices.Sorted(maps.Keys(added)) {
			if at, ok := synced[key]; !ok || at < added[key] {
				rt.Errorf("%s was added at %v and worked on at %v (%v)", key, added[key], at, ok)
			}
		}
	})
}

// TestQueueRetries lists how the result of a sync decides about the next one of its key.
func TestQueueRetries(t *testing.T) {
	broken := errors.New("broken")
	later := &engine.Retry{Err: broken, After: 7 * time.Second}
	idle := &engine.Retry{Err: broken, Background: true}
	tests := []struct {
		name     string
		results  []error
		single   bool
		add      time.Duration // when the key is added again
		want     []string      // syncs, and the delays that OnFailure gets
		settled  time.Duration // when Settle returns
		recorded int           // failures
	}{
		{name: "errors are retried after a growing delay", results: []error{broken, broken}, settled: 3 * time.Second, recorded: 2,
			want: []string{"0s sync", "0s again in 1s", "1s sync", "1s again in 2s", "3s sync"}},
		{name: "a wrapped retry with a delay of its own does not count", results: []error{fmt.Errorf("wrapped: %w", later), broken},
			settled: 8 * time.Second, recorded: 2, want: []string{"0s sync", "7s sync", "7s again in 1s", "8s sync"}},
		{name: "Settle does not wait for a retry in the background, which counts", results: []error{idle, broken}, settled: 0, recorded: 2,
			want: []string{"0s sync", "1s sync", "1s again in 2s", "3s sync"}},
		{name: "success resets the delay", results: []error{broken, nil, broken}, add: 10 * time.Second, settled: time.Second, recorded: 2,
			want: []string{"0s sync", "0s again in 1s", "1s sync", "10s sync", "10s again in 1s", "11s sync"}},
		{name: "an object that is gone does not", results: []error{broken, engine.Gone, broken}, add: 10 * time.Second, settled: time.Second,
			recorded: 2, want: []string{"0s sync", "0s again in 1s", "1s sync", "10s sync", "10s again in 2s", "12s sync"}},
		{name: "a key that is added comes again when its delay is over", results: []error{later}, add: time.Second, settled: 7 * time.Second,
			recorded: 1, want: []string{"0s sync", "1s sync", "7s sync"}},
		{name: "with a single retry it does not", single: true, results: []error{later}, add: time.Second, settled: time.Second, recorded: 1,
			want: []string{"0s sync", "1s sync"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			log := &trace.Trace{}
			e := newEngine(t, engine.Config{Trace: log})
			d := &diary{e: e}
			startActor(t, e, "a", func(a *engine.Actor) {
				n := 0
				q := a.NewQueue(engine.QueueConfig{
					Name: "keys", Limiter: engine.NewLimiter(time.Second, time.Minute, 0, 0), SingleRetry: tt.single,
					Sync: func(*engine.Process, string) error {
						d.note("sync")
						if n++; n <= len(tt.results) {
							return tt.results[n-1]
						}
						return nil
					},
					OnFailure: func(_ *engine.Process, _ string, delay time.Duration, _ error) { d.note("again in " + delay.String()) },
				})
				q.Add("key")
				if tt.add > 0 {
					a.Background(tt.add, "add", func(*engine.Process) { q.Add("key") })
				}
			})
			if err := e.Settle(time.Hour); err != nil || since(e) != tt.settled {
				t.Errorf("Settle = %v until %v, want nil until %v", err, since(e), tt.settled)
			}
			e.Advance(time.Hour)
			d.want(t, tt.want...)
			failed := 0
			for entry := range log.Entries() {
				if entry.Type == trace.KeyFailed {
					failed++
				}
			}
			if failed != tt.recorded {
				t.Errorf("%d failures are recorded, want %d", failed, tt.recorded)
			}
		})
	}
}
