package engine_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/volsim/volsim/internal/core/engine"
)

const ms = time.Millisecond

// newTicker adds an actor whose ticker has a period of 100 ms, unless cfg says otherwise.
func newTicker(t *testing.T, e *engine.Engine, cfg engine.TickerConfig) *engine.Ticker {
	t.Helper()
	var ticker *engine.Ticker
	cfg.Name = "tick"
	if cfg.Period == 0 {
		cfg.Period = 100 * ms
	}
	startActor(t, e, "actor", func(a *engine.Actor) { ticker = a.NewTicker(cfg) })
	return ticker
}

func TestTicker(t *testing.T) {
	tests := []struct {
		name string
		cfg  engine.TickerConfig
		took time.Duration // how long each pass takes
		pass func(e *engine.Engine, t *engine.Ticker)
		do   func(e *engine.Engine, t *engine.Ticker)
		want []string
	}{
		{name: "not armed, it does nothing", do: func(*engine.Engine, *engine.Ticker) {}},
		{
			name: "armed at the start it runs at once, once",
			do:   func(_ *engine.Engine, t *engine.Ticker) { t.Arm(); t.ArmBackground() },
			want: []string{"0s"},
		},
		{
			name: "the first tick may be later",
			cfg:  engine.TickerConfig{First: 30 * ms},
			do:   func(_ *engine.Engine, t *engine.Ticker) { t.Arm() },
			want: []string{"30ms"},
		},
		{
			name: "armed later it runs on the grid, once",
			do: func(e *engine.Engine, t *engine.Ticker) {
				e.Advance(1234 * ms)
				t.Arm()
				e.Advance(20 * ms)
				t.Arm()
				t.ArmBackground()
			},
			want: []string{"1.3s"},
		},
		{
			name: "armed on a tick it has missed that one",
			do:   func(e *engine.Engine, t *engine.Ticker) { e.Advance(300 * ms); t.Arm() },
			want: []string{"400ms"},
		},
		{
			name: "armed on its first tick it has missed it, unless that was the start",
			cfg:  engine.TickerConfig{First: 100 * ms},
			do:   func(e *engine.Engine, t *engine.Ticker) { e.Advance(100 * ms); t.Arm() },
			want: []string{"200ms"},
		},
		{
			name: "armed on a tick it has not missed it if other events come first",
			cfg:  engine.TickerConfig{Rank: 1},
			do: func(e *engine.Engine, t *engine.Ticker) {
				a, _ := e.Actor("actor")
				a.After(300*ms, "request", func(p *engine.Process) {
					for range 5 {
						p.Sleep(0)
					}
					t.Arm()
				})
			},
			want: []string{"300ms"},
		},
		{
			name: "armed after other events of the instant, and after passes of its rank, it has missed it",
			cfg:  engine.TickerConfig{Rank: 1},
			do: func(e *engine.Engine, t *engine.Ticker) {
				a, _ := e.Actor("actor")
				a.After(300*ms, "request", func(p *engine.Process) {
					p.AfterPasses(2)
					t.Arm()
				})
			},
			want: []string{"400ms"},
		},
		{
			name: "armed on a tick after the engine has ended a run there, it has missed it",
			cfg:  engine.TickerConfig{Rank: 1},
			do:   func(e *engine.Engine, t *engine.Ticker) { e.Advance(300 * ms); t.Arm() },
			want: []string{"400ms"},
		},
		{
			name: "it can be armed for the next tick all the same",
			cfg:  engine.TickerConfig{Rank: 1},
			do:   func(e *engine.Engine, t *engine.Ticker) { e.Advance(300 * ms); t.ArmNext() },
			want: []string{"400ms"},
		},
		{
			name: "armed for later it runs at the first tick after that time",
			do:   func(e *engine.Engine, t *engine.Ticker) { t.ArmAt(e.Now().Add(500 * ms)) },
			want: []string{"600ms"},
		},
		{
			name: "armed for later it runs at that time if other events come first",
			cfg:  engine.TickerConfig{Rank: 1},
			do:   func(e *engine.Engine, t *engine.Ticker) { t.ArmAt(e.Now().Add(500 * ms)) },
			want: []string{"500ms"},
		},
		{
			name: "the earliest request counts, and one pass answers all",
			do: func(e *engine.Engine, t *engine.Ticker) {
				e.Advance(50 * ms)
				t.ArmAt(e.Now().Add(900 * ms))
				t.ArmAt(e.Now().Add(300 * ms))
				t.ArmBackgroundAt(e.Now().Add(310 * ms))
				e.Advance(2000 * ms)
			},
			want: []string{"400ms"},
		},
		{
			name: "armed again after a pass it runs a period later",
			do: func(e *engine.Engine, t *engine.Ticker) {
				t.Arm()
				e.Advance(0)
				t.Arm()
				e.Advance(150 * ms)
				t.Arm()
			},
			want: []string{"0s", "100ms", "200ms"},
		},
		{
			name: "the grid moves with the end of a pass that takes time",
			took: 30 * ms,
			do: func(e *engine.Engine, t *engine.Ticker) {
				t.Arm()
				e.Advance(500 * ms)
				t.Arm()
			},
			want: []string{"0s", "530ms"},
		},
		{
			name: "a fixed grid does not move",
			cfg:  engine.TickerConfig{Fixed: true},
			took: 30 * ms,
			do: func(e *engine.Engine, t *engine.Ticker) {
				t.Arm()
				e.Advance(450 * ms)
				t.Arm()
			},
			want: []string{"0s", "500ms"},
		},
		{
			name: "of the ticks of a fixed grid that come during a pass one is kept",
			cfg:  engine.TickerConfig{Fixed: true},
			took: 250 * ms,
			pass: func(e *engine.Engine, t *engine.Ticker) {
				if since(e) < time.Second {
					t.Arm()
				}
			},
			do:   func(_ *engine.Engine, t *engine.Ticker) { t.Arm() },
			want: []string{"0s", "250ms", "500ms", "750ms", "1s"},
		},
		{
			name: "a pass that arms its ticker, and takes longer than the period, never overlaps itself",
			took: 250 * ms,
			pass: func(e *engine.Engine, t *engine.Ticker) {
				if since(e) < time.Second {
					t.Arm()
				}
			},
			do:   func(_ *engine.Engine, t *engine.Ticker) { t.Arm() },
			want: []string{"0s", "350ms", "700ms", "1.05s"},
		},
		{
			name: "armed from elsewhere during a pass it runs a period after the end of that",
			took: 250 * ms,
			do: func(e *engine.Engine, t *engine.Ticker) {
				t.Arm()
				e.Advance(10 * ms)
				t.ArmBackground()
				e.Advance(200 * ms)
				t.Arm()
			},
			want: []string{"0s", "350ms"},
		},
		{
			name: "reset it forgets requests, and the next tick is a period away",
			do: func(e *engine.Engine, t *engine.Ticker) {
				e.Advance(50 * ms)
				t.Arm()
				t.Reset(70 * ms)
				e.Advance(100 * ms)
				t.Arm()
				e.Advance(100 * ms)
				t.ArmBackground()
			},
			want: []string{"190ms", "260ms"},
		},
		{
			name: "stopped it does nothing until it is armed again",
			do: func(e *engine.Engine, t *engine.Ticker) {
				e.Advance(50 * ms)
				t.Arm()
				t.Stop()
				e.Advance(100 * ms)
				t.Arm()
			},
			want: []string{"200ms"},
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			e := newEngine(t, engine.Config{})
			var got []string
			var ticker *engine.Ticker
			tt.cfg.Pass = func(p *engine.Process) {
				got = append(got, fmt.Sprint(since(e)))
				if tt.pass != nil {
					tt.pass(e, ticker)
				}
				p.Sleep(tt.took)
			}
			ticker = newTicker(t, e, tt.cfg)
			tt.do(e, ticker)
			e.Advance(time.Minute)
			if !slices.Equal(got, tt.want) {
				t.Errorf("passes at %v, want %v", got, tt.want)
			}
			if pending := e.Pending(); len(pending) != 0 {
				t.Errorf("pending: %q", pending)
			}
		})
	}
}

// A ticker that is armed during its pass, or after it at the same instant, runs at the next tick, whatever the order of events.
func TestTickerOnePassPerTick(t *testing.T) {
	for _, fixed := range []bool{false, true} {
		for _, rank := range []uint8{0, 1} {
			for seed := range int64(10) {
				t.Run(fmt.Sprintf("fixed=%v rank=%d seed=%d", fixed, rank, seed), func(t *testing.T) {
					e := newEngine(t, engine.Config{Seed: seed})
					var got []time.Duration
					var ticker *engine.Ticker
					ticker = newTicker(t, e, engine.TickerConfig{Fixed: fixed, Rank: rank, First: 100 * ms, Pass: func(p *engine.Process) {
						if got = append(got, since(e)); len(got) >= 10 {
							return
						}
						ticker.Arm()
						a, _ := e.Actor("actor")
						a.After(0, "request", func(*engine.Process) { ticker.Arm() })
					}})
					ticker.Arm()
					e.Advance(350 * ms)
					if want := []time.Duration{100 * ms, 200 * ms, 300 * ms}; !slices.Equal(got, want) {
						t.Errorf("passes at %v, want %v", got, want)
					}
				})
			}
		}
	}
}

// Settle waits for the requests in the foreground, also if one in the background brings the pass, and for passes that have begun.
func TestTickerSettle(t *testing.T) {
	e := newEngine(t, engine.Config{})
	passes := 0
	ticker := newTicker(t, e, engine.TickerConfig{Period: time.Second, Pass: func(*engine.Process) { passes++ }})
	ticker.ArmBackgroundAt(e.Now().Add(3 * time.Second))
	ticker.ArmAt(e.Now().Add(5 * time.Second))
	if err := e.Settle(time.Hour); err != nil {
		t.Fatal(err)
	}
	if passes != 1 || since(e) != 4*time.Second {
		t.Errorf("Settle ran %d passes until %v, want 1 until 4s", passes, since(e))
	}
	ticker.ArmBackground()
	if err := e.Settle(time.Hour); err != nil || passes != 1 {
		t.Errorf("Settle = %v after %d passes, want nil after 1: the rest is background", err, passes)
	}
	if e.Advance(time.Second); passes != 2 {
		t.Errorf("%d passes after the next tick, want 2", passes)
	}
}

// A ticker ends with the life of its actor; arming it later does nothing, and the next life has a grid of its own.
func TestTickerAfterCrash(t *testing.T) {
	e := newEngine(t, engine.Config{})
	d := &diary{e: e}
	var ticker *engine.Ticker
	a := startActor(t, e, "a", func(a *engine.Actor) {
		ticker = a.NewTicker(engine.TickerConfig{Name: "tick", Period: time.Second, Pass: d.noted("pass")})
		ticker.Arm()
	})
	old := ticker
	e.Advance(300 * ms)
	old.Arm()
	a.Crash()
	old.Arm()
	e.Advance(5 * time.Second)
	a.Start()
	e.Advance(100 * ms)
	ticker.Arm()
	e.Advance(time.Hour)
	d.want(t, "0s pass", "5.3s pass", "6.3s pass")
}
