package engine_test

import (
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/volsim/volsim/api"
	"github.com/volsim/volsim/internal/core/engine"
	"github.com/volsim/volsim/trace"
)

// TestSlowCalls checks the trace of calls that are slow because of the backend, a fault or both, with and without a limit.
func TestSlowCalls(t *testing.T) {
	errLate, errDown := errors.New("late"), errors.New("down")
	tests := []struct {
		rule, name      string
		latency, budget time.Duration // no budget: Backend
		fault           api.Fault
		err             error
		effect          bool
		want            []string
	}{
		{"MNT-006", "at once", 0, 0, api.Fault{}, nil, true, []string{"0s end <nil>"}},
		{"MNT-006", "by itself", 2 * time.Second, 0, api.Fault{}, nil, true, []string{"0s begin <nil>", "2s end <nil>"}},
		{"MNT-006", "by a fault", 0, 0, api.Fault{Delay: time.Second}, nil, true, []string{"0s begin <nil>", "1s end <nil>"}},
		{"MNT-006", "by both, and in vain", time.Second, 0, api.Fault{Delay: time.Second, Err: errDown}, errDown, false,
			[]string{"0s begin <nil>", "2s end down"}},
		{"MNT-006", "the reply is lost", time.Second, 0, api.Fault{Err: errDown, Effect: true}, errDown, true,
			[]string{"0s begin <nil>", "1s end <nil>"}},
		{"MNT-006", "within the limit", 2 * time.Second, 2 * time.Second, api.Fault{}, nil, true, []string{"0s begin <nil>", "2s end <nil>"}},
		{"MNT-006", "too slow", 3 * time.Second, 2 * time.Second, api.Fault{}, errLate, false, []string{"0s begin <nil>", "2s end late"}},
		{"MNT-006", "made too slow", time.Second, 2 * time.Second, api.Fault{Delay: 5 * time.Second}, errLate, false,
			[]string{"0s begin <nil>", "2s end late"}},
	}
	for _, tt := range tests {
		t.Run(tt.rule+" "+tt.name, func(t *testing.T) {
			log := &trace.Trace{}
			e := newEngine(t, engine.Config{Trace: log, Injector: engine.InjectorFunc(func(api.Call) api.Fault { return tt.fault })})
			effect, err := false, error(nil)
			_, failed := e.NewActor("a", func(a *engine.Actor) {
				a.Go("call", func(p *engine.Process) {
					call := api.Call{Target: "disk", Verb: "Attach", Key: "v"}
					do := func() error { effect = true; return nil }
					if tt.budget > 0 {
						err = p.BackendWithin(call, tt.latency, tt.budget, errLate, do)
					} else {
						err = p.Backend(call, tt.latency, do)
					}
				})
			})
			if failed != nil {
				t.Fatal(failed)
			}
			e.Advance(time.Minute)
			if err != tt.err || effect != tt.effect {
				t.Errorf("the call: %v, effect %v, want %v, %v", err, effect, tt.err, tt.effect)
			}
			var got []string
			for entry := range log.Entries() {
				if entry.Type == trace.Storage {
					got = append(got, fmt.Sprint(entry.Time.Sub(engine.DefaultStart), " ", entry.Verb, " ", entry.Err))
				}
			}
			if !slices.Equal(got, tt.want) {
				t.Errorf("traced %q, want %q", got, tt.want)
			}
		})
	}
}
