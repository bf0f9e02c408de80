package engine_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/volsim/volsim/internal/core/engine"
)

func TestTicker(t *testing.T) {
	const ms = time.Millisecond
	tests := []struct {
		name string
		took time.Duration // how long each pass takes
		pass func(t *engine.Ticker, n int)
		do   func(e *engine.Engine, t *engine.Ticker)
		want []string
	}{
		{name: "not armed, it does nothing", do: func(e *engine.Engine, t *engine.Ticker) {}},
		{
			name: "armed at the start it runs at once",
			do:   func(e *engine.Engine, t *engine.Ticker) { t.Arm() },
			want: []string{"0s"},
		},
		{
			name: "armed later it runs on the grid, once",
			do: func(e *engine.Engine, t *engine.Ticker) {
				e.Advance(1234 * ms)
				t.Arm()
				e.Advance(20 * ms)
				t.Arm()
				t.ArmInBackground(0)
			},
			want: []string{"1.3s"},
		},
		{
			name: "armed on a tick it has missed that one",
			do:   func(e *engine.Engine, t *engine.Ticker) { e.Advance(300 * ms); t.Arm() },
			want: []string{"400ms"},
		},
		{
			name: "armed for later it runs at the first tick after that time",
			do:   func(e *engine.Engine, t *engine.Ticker) { e.Advance(50 * ms); t.ArmAfter(450 * ms) },
			want: []string{"600ms"},
		},
		{
			name: "the earliest wish counts, and one pass answers all",
			do: func(e *engine.Engine, t *engine.Ticker) {
				e.Advance(50 * ms)
				t.ArmAfter(900 * ms)
				t.ArmAfter(300 * ms)
				t.ArmInBackground(310 * ms)
				e.Advance(2000 * ms)
			},
			want: []string{"400ms"},
		},
		{
			name: "the grid moves with the end of a pass that takes time",
			took: 30 * ms,
			do: func(e *engine.Engine, t *engine.Ticker) {
				t.Arm()
				e.Advance(200 * ms)
				t.Arm()
			},
			want: []string{"0s", "230ms"},
		},
		{
			name: "armed during a pass it runs a period after its end",
			took: 30 * ms,
			pass: func(t *engine.Ticker, n int) {
				if n < 3 {
					t.Arm()
				}
			},
			do:   func(e *engine.Engine, t *engine.Ticker) { t.Arm() },
			want: []string{"0s", "130ms", "260ms"},
		},
	}
	for _, tt := range tests {
		e := newEngine(t, engine.Config{})
		var got []string
		var ticker *engine.Ticker
		if _, err := e.NewActor("actor", func(a *engine.Actor) {
			ticker = a.NewTicker("tick", 100*ms, func(p *engine.Process) {
				got = append(got, fmt.Sprint(since(e)))
				if tt.pass != nil {
					tt.pass(ticker, len(got))
				}
				if tt.took > 0 {
					p.Sleep(tt.took)
				}
			})
		}); err != nil {
			t.Fatal(err)
		}
		tt.do(e, ticker)
		e.Advance(time.Minute)
		if !slices.Equal(got, tt.want) {
			t.Errorf("%s: passes at %v, want %v", tt.name, got, tt.want)
		}
	}
}

// Settle waits for the passes that are work, and for no others.
func TestTickerSettle(t *testing.T) {
	e := newEngine(t, engine.Config{})
	passes := 0
	var ticker *engine.Ticker
	if _, err := e.NewActor("actor", func(a *engine.Actor) {
		ticker = a.NewTicker("tick", time.Second, func(*engine.Process) { passes++ })
	}); err != nil {
		t.Fatal(err)
	}
	ticker.ArmInBackground(time.Minute)
	ticker.ArmAfter(5 * time.Second)
	if err := e.Settle(time.Hour); err != nil {
		t.Fatal(err)
	}
	if passes != 1 || since(e) != 6*time.Second {
		t.Errorf("Settle ran %d passes until %v, want 1 until 6s", passes, since(e))
	}
	ticker.ArmInBackground(time.Minute)
	if err := e.Settle(time.Hour); err != nil || passes != 1 {
		t.Errorf("Settle = %v after %d passes, want nil after 1: the rest is background", err, passes)
	}
}
