package engine_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/volsim/volsim/api"
	"github.com/volsim/volsim/internal/core/engine"
)

// predictor injects nothing, and reports that its faults may hit one actor.
type predictor struct{ actor string }

func (*predictor) Inject(api.Call) api.Fault { return api.Fault{} }

func (p *predictor) Active(actor string) bool { return p.actor == actor }

func TestSkips(t *testing.T) {
	for _, tt := range []struct {
		name       string
		injector   api.Injector
		noSkipping bool
		isolated   bool
		want       bool
	}{
		{name: "no injector", want: true},
		{name: "no injector, and no skipping", noSkipping: true},
		{name: "an injector that cannot predict", injector: engine.InjectorFunc(func(api.Call) api.Fault { return api.Fault{} })},
		{name: "a fault for the actor", injector: &predictor{"kubelet/n1"}},
		{name: "a fault for the actor, which is cut off", injector: &predictor{"kubelet/n1"}, isolated: true, want: true},
		{name: "a fault for another actor", injector: &predictor{"kubelet/n2"}, want: true},
		{name: "a fault for another actor, and no skipping", injector: &predictor{"kubelet/n2"}, noSkipping: true},
		{name: "no skipping of an actor that is cut off", noSkipping: true, isolated: true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			e := newEngine(t, engine.Config{Injector: tt.injector, NoSkipping: tt.noSkipping})
			passes, full := 0, 0
			startActor(t, e, "kubelet/n1", func(a *engine.Actor) {
				a.SetIsolated(tt.isolated)
				ticker := a.NewTicker(engine.TickerConfig{
					Name: "tick", Period: time.Second, First: time.Second, Idle: engine.EveryTick,
					Pass: func(*engine.Process) { passes++ },
					Full: func(*engine.Process) { full++ },
				})
				ticker.ArmAt(a.Engine().Now().Add(4500 * ms))
			})
			if err := e.Settle(time.Minute); err != nil {
				t.Fatal(err)
			}
			e.Advance(10 * time.Second)
			wantPasses, wantFull := 1, 0
			if !tt.want {
				wantPasses, wantFull = 0, 11 // the first answers the request
			}
			if passes != wantPasses || full != wantFull {
				t.Errorf("%d passes that omit requests and %d full ones, want %d and %d", passes, full, wantPasses, wantFull)
			}
		})
	}
}

// The engine requests idle passes, at their ticks, from the time when a fault is armed that may hit the actor until there is none any more.
func TestIdlePasses(t *testing.T) {
	for _, tt := range []struct {
		name string
		idle func() (time.Time, bool)
		rank uint8
		do   func(e *engine.Engine, a *engine.Actor, ticker *engine.Ticker, faults *predictor)
		want []string
	}{
		{
			name: "none without a fault",
			do:   func(e *engine.Engine, _ *engine.Actor, _ *engine.Ticker, _ *predictor) { e.Advance(time.Minute) },
		},
		{
			name: "none for a fault for another actor",
			do: func(e *engine.Engine, _ *engine.Actor, _ *engine.Ticker, faults *predictor) {
				faults.actor = "b"
				e.Advance(time.Minute)
			},
		},
		{
			name: "at each tick while there is a fault",
			do: func(e *engine.Engine, _ *engine.Actor, _ *engine.Ticker, faults *predictor) {
				e.Advance(10500 * ms)
				faults.actor = "a"
				e.Advance(2 * time.Second)
				faults.actor = ""
				e.Advance(5 * time.Second)
				faults.actor = "a"
				e.Advance(time.Second)
			},
			want: []string{"11s", "12s", "13s", "18s"},
		},
		{
			name: "also for the next fault after one was used up during a run",
			do: func(e *engine.Engine, a *engine.Actor, _ *engine.Ticker, faults *predictor) {
				faults.actor = "a"
				a.After(1500*ms, "request", func(*engine.Process) { faults.actor = "" })
				e.Advance(5500 * ms)
				faults.actor = "a"
				e.Advance(time.Second)
			},
			want: []string{"0s", "1s", "2s", "6s"},
		},
		{
			name: "what was due at this instant is over",
			do: func(e *engine.Engine, _ *engine.Actor, _ *engine.Ticker, faults *predictor) {
				e.Advance(10 * time.Second)
				faults.actor = "a"
				e.Advance(1500 * ms)
			},
			want: []string{"11s"},
		},
		{
			name: "also if other events come first",
			rank: 2,
			do: func(e *engine.Engine, _ *engine.Actor, _ *engine.Ticker, faults *predictor) {
				e.Advance(10 * time.Second)
				faults.actor = "a"
				e.Advance(1500 * ms)
			},
			want: []string{"11s"},
		},
		{
			name: "only when the ticker says",
			idle: func() (time.Time, bool) { return engine.DefaultStart.Add(20 * time.Second), true },
			do: func(e *engine.Engine, _ *engine.Actor, _ *engine.Ticker, faults *predictor) {
				faults.actor = "a"
				e.Advance(22500 * ms)
			},
			want: []string{"21s", "22s"},
		},
		{
			name: "never if the ticker has none",
			idle: func() (time.Time, bool) { return time.Time{}, false },
			do: func(e *engine.Engine, _ *engine.Actor, _ *engine.Ticker, faults *predictor) {
				faults.actor = "a"
				e.Advance(time.Minute)
			},
		},
		{
			name: "from the end of a time in which the actor was cut off",
			do: func(e *engine.Engine, a *engine.Actor, _ *engine.Ticker, faults *predictor) {
				a.SetIsolated(true)
				faults.actor = "a"
				e.Advance(5500 * ms)
				a.SetIsolated(false)
				e.Advance(time.Second)
			},
			want: []string{"6s"},
		},
		{
			name: "none after a stop",
			do: func(e *engine.Engine, _ *engine.Actor, ticker *engine.Ticker, faults *predictor) {
				faults.actor = "a"
				e.Advance(1500 * ms)
				ticker.Stop()
				e.Advance(time.Minute)
			},
			want: []string{"0s", "1s"},
		},
		{
			name: "in each life of the actor",
			do: func(e *engine.Engine, a *engine.Actor, _ *engine.Ticker, faults *predictor) {
				e.Advance(1500 * ms)
				a.Crash()
				faults.actor = "a"
				e.Advance(5 * time.Second)
				a.Start()
				e.Advance(time.Second)
			},
			want: []string{"6.5s", "7.5s"},
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			faults := &predictor{}
			e := newEngine(t, engine.Config{Injector: faults})
			if tt.idle == nil {
				tt.idle = engine.EveryTick
			}
			var got []string
			var ticker *engine.Ticker
			a := startActor(t, e, "a", func(a *engine.Actor) {
				ticker = a.NewTicker(engine.TickerConfig{
					Name: "tick", Period: time.Second, Rank: tt.rank, Idle: tt.idle,
					Pass: func(*engine.Process) { got = append(got, fmt.Sprint(since(e))) },
				})
			})
			tt.do(e, a, ticker, faults)
			if !slices.Equal(got, tt.want) {
				t.Errorf("passes at %v, want %v", got, tt.want)
			}
		})
	}
}
