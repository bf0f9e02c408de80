package engine_test

import (
	"testing"
	"time"

	"github.com/volsim/volsim/internal/core/engine"
)

func TestLoop(t *testing.T) {
	const period = 100 * time.Millisecond
	tests := []struct {
		name string
		took time.Duration                           // how long each pass takes
		pass func(p *engine.Process, l *engine.Loop) // what each pass does at its begin
		do   func(e *engine.Engine, l *engine.Loop)
		want []string
	}{
		{
			name: "without being armed it does nothing",
			do:   func(e *engine.Engine, l *engine.Loop) {},
		},
		{
			name: "armed at the start it runs at once",
			do:   func(e *engine.Engine, l *engine.Loop) { l.Arm(); l.Arm() },
			want: []string{"0s pass"},
		},
		{
			name: "armed later it runs on the grid, once",
			do: func(e *engine.Engine, l *engine.Loop) {
				e.Advance(1234 * time.Millisecond)
				l.Arm()
				e.Advance(20 * time.Millisecond)
				l.Arm()
			},
			want: []string{"1.3s pass"},
		},
		{
			name: "armed on a tick it has missed that one",
			do: func(e *engine.Engine, l *engine.Loop) {
				e.Advance(300 * time.Millisecond)
				l.Arm()
			},
			want: []string{"400ms pass"},
		},
		{
			name: "armed again after a pass it runs a period later",
			do: func(e *engine.Engine, l *engine.Loop) {
				l.Arm()
				e.Advance(0)
				l.Arm()
				e.Advance(150 * time.Millisecond)
				l.Arm()
			},
			want: []string{"0s pass", "100ms pass", "200ms pass"},
		},
		{
			name: "the grid moves to the end of a pass that takes time",
			took: 30 * time.Millisecond,
			do: func(e *engine.Engine, l *engine.Loop) {
				l.Arm()
				e.Advance(500 * time.Millisecond)
				l.Arm()
			},
			want: []string{"0s pass", "530ms pass"},
		},
		{
			name: "a pass that arms its loop, and takes longer than the period, never overlaps itself",
			took: 250 * time.Millisecond,
			pass: func(p *engine.Process, l *engine.Loop) {
				if since(p.Engine()) < time.Second {
					l.Arm()
				}
			},
			do:   func(e *engine.Engine, l *engine.Loop) { l.Arm() },
			want: []string{"0s pass", "350ms pass", "700ms pass", "1.05s pass"},
		},
		{
			name: "armed from elsewhere during a pass it runs a period after the end of that",
			took: 250 * time.Millisecond,
			do: func(e *engine.Engine, l *engine.Loop) {
				l.Arm()
				e.Advance(10 * time.Millisecond)
				l.Arm()
				e.Advance(200 * time.Millisecond)
				l.Arm()
			},
			want: []string{"0s pass", "350ms pass"},
		},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			e := newEngine(t, engine.Config{})
			d := &diary{e: e}
			var loop *engine.Loop
			startActor(t, e, "a", func(a *engine.Actor) {
				loop = a.NewLoop("loop", period, func(p *engine.Process) {
					d.note("pass")
					if test.pass != nil {
						test.pass(p, loop)
					}
					p.Sleep(test.took)
				})
			})
			test.do(e, loop)
			e.Advance(time.Hour)
			d.want(t, test.want...)
			if pending := e.Pending(); len(pending) != 0 {
				t.Errorf("pending: %q", pending)
			}
		})
	}
}

// Settle does not wait for a loop, but for a pass that has begun.
func TestLoopIsBackground(t *testing.T) {
	e := newEngine(t, engine.Config{})
	passes := 0
	startActor(t, e, "a", func(a *engine.Actor) {
		loop := a.NewLoop("loop", time.Second, func(p *engine.Process) { passes++ })
		loop.Arm()
	})
	if err := e.Settle(0); err != nil || passes != 0 {
		t.Errorf("Settle: %v, with %d passes; want none", err, passes)
	}
	e.Advance(0)
	if passes != 1 {
		t.Errorf("%d passes after the instant has passed, want 1", passes)
	}
}

// A loop ends with the life of its actor; arming it later does nothing, and the next life has a grid of its own.
func TestLoopAfterCrash(t *testing.T) {
	e := newEngine(t, engine.Config{})
	d := &diary{e: e}
	var loop *engine.Loop
	a := startActor(t, e, "a", func(a *engine.Actor) {
		loop = a.NewLoop("loop", time.Second, d.noted("pass"))
		loop.Arm()
	})
	old := loop
	e.Advance(300 * time.Millisecond)
	old.Arm()
	a.Crash()
	old.Arm()
	e.Advance(5 * time.Second)
	a.Start()
	e.Advance(100 * time.Millisecond)
	loop.Arm()
	e.Advance(time.Hour)
	d.want(t, "0s pass", "5.3s pass", "6.3s pass")
}
