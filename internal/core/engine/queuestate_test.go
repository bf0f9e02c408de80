package engine_test

import (
	"slices"
	"testing"
	"time"

	"github.com/volsim/volsim/internal/core/engine"
)

// told gathers what code was told.
type told struct {
	answers []int64
	queues  []int
}

func (o *told) Begin(engine.Due) bool { return true }
func (o *told) Return()               {}
func (o *told) End(f *engine.Footprint) {
	o.answers = append(o.answers, f.Answers...)
	o.queues = append(o.queues, len(f.Queues))
}

// TestAnswers: an observer receives what code reads of queues and timers, and each use of a queue.
func TestAnswers(t *testing.T) {
	limited := func() *engine.Limiter { return engine.NewLimiter(time.Second, time.Hour, 0, 0) }
	for _, tt := range []struct {
		name    string
		act     func(a *engine.Actor, q *engine.Queue)
		answers []int64
		queues  int
	}{
		{"Add", func(_ *engine.Actor, q *engine.Queue) { q.Add("x") }, nil, 1},
		{"Forget", func(_ *engine.Actor, q *engine.Queue) { q.Forget("x") }, nil, 1},
		{"Len", func(_ *engine.Actor, q *engine.Queue) { q.Len() }, []int64{0}, 1},
		{"Len of one", func(_ *engine.Actor, q *engine.Queue) { q.Add("x"); q.Len() }, []int64{1}, 2},
		{"Failures", func(_ *engine.Actor, q *engine.Queue) { q.Failures("x") }, []int64{0}, 1},
		{"AddAfter", func(_ *engine.Actor, q *engine.Queue) { q.AddAfter("x", time.Minute) }, []int64{int64(time.Minute)}, 1},
		{"AddRateLimited", func(_ *engine.Actor, q *engine.Queue) { q.AddRateLimited("x"); q.Failures("x") }, []int64{int64(time.Second), 1}, 2},
		{"AddAfter that comes too late", func(_ *engine.Actor, q *engine.Queue) { q.AddAfter("x", time.Minute); q.AddAfter("x", time.Hour) },
			[]int64{int64(time.Minute), 0}, 2},
		{"AddAfter that comes earlier", func(_ *engine.Actor, q *engine.Queue) { q.AddAfter("x", time.Hour); q.AddAfter("x", time.Minute) },
			[]int64{int64(time.Hour), 1, int64(time.Minute)}, 2},
		{"Stop", func(a *engine.Actor, _ *engine.Queue) {
			timer := a.After(time.Minute, "never", func(*engine.Process) {})
			timer.Stop()
			timer.Stop()
		}, []int64{1, 0}, 0},
	} {
		t.Run(tt.name, func(t *testing.T) {
			e := newEngine(t, engine.Config{})
			o := &told{}
			if _, err := e.NewActor("a", func(a *engine.Actor) {
				q := a.NewQueue(engine.QueueConfig{Name: "q", Limiter: limited(), Sync: func(*engine.Process, string) error { return nil }})
				a.Go("act", func(*engine.Process) { tt.act(a, q) })
			}); err != nil {
				t.Fatal(err)
			}
			e.Observe(o)
			e.Step()
			if !slices.Equal(o.answers, tt.answers) || !slices.Equal(o.queues, []int{tt.queues}) {
				t.Errorf("answers %v, queues touched %v, want %v and %d", o.answers, o.queues, tt.answers, tt.queues)
			}
		})
	}
}

// TestAppendState: queues that hold something else are told apart, and what is put off is not in them.
func TestAppendState(t *testing.T) {
	state := func(act func(e *engine.Engine, q *engine.Queue)) string {
		e := newEngine(t, engine.Config{Choose: func(int) int { return 0 }})
		var q *engine.Queue
		if _, err := e.NewActor("a", func(a *engine.Actor) {
			q = a.NewQueue(engine.QueueConfig{Name: "q", Sync: func(p *engine.Process, _ string) error {
				p.Sleep(time.Hour)
				return nil
			}})
		}); err != nil {
			t.Fatal(err)
		}
		act(e, q)
		return string(q.AppendState(nil))
	}
	works := func(e *engine.Engine, q *engine.Queue) { q.Add("x"); e.Advance(0) }
	all := map[string]string{}
	for name, act := range map[string]func(e *engine.Engine, q *engine.Queue){
		"empty":                   func(*engine.Engine, *engine.Queue) {},
		"a key":                   func(_ *engine.Engine, q *engine.Queue) { q.Add("x") },
		"another key":             func(_ *engine.Engine, q *engine.Queue) { q.Add("y") },
		"two keys":                func(_ *engine.Engine, q *engine.Queue) { q.Add("x"); q.Add("y") },
		"two keys, the other way": func(_ *engine.Engine, q *engine.Queue) { q.Add("y"); q.Add("x") },
		"a key worked on":         works,
		"one that comes again":    func(e *engine.Engine, q *engine.Queue) { works(e, q); q.Add("x") },
		"one, and another":        func(e *engine.Engine, q *engine.Queue) { works(e, q); q.Add("y") },
		"a failure":               func(_ *engine.Engine, q *engine.Queue) { q.AddRateLimited("x") },
		"a failure of another":    func(_ *engine.Engine, q *engine.Queue) { q.AddRateLimited("y") },
		"two failures":            func(_ *engine.Engine, q *engine.Queue) { q.AddRateLimited("x"); q.AddRateLimited("x") },
		"failures of two keys":    func(_ *engine.Engine, q *engine.Queue) { q.AddRateLimited("x"); q.AddRateLimited("y") },
		"a failure forgotten":     func(_ *engine.Engine, q *engine.Queue) { q.AddRateLimited("x"); q.Forget("x") },
	} {
		text := state(act)
		if other, ok := all[text]; ok {
			t.Errorf("%s and %s: both %q", name, other, text)
		}
		all[text] = name
	}
	if got, want := state(func(_ *engine.Engine, q *engine.Queue) { q.AddAfter("x", time.Minute) }), state(func(*engine.Engine, *engine.Queue) {}); got != want {
		t.Errorf("a key put off: %q, want %q", got, want)
	}
}
