package engine

import (
	"errors"
	"github.com/volsim/volsim/api"
	"testing"
	"time"
)

func TestBackendWithin(t *testing.T) {
	late, lost := errors.New("too late"), errors.New("lost")
	for _, tc := range []struct {
		rule, name string
		latency    time.Duration
		fault      api.Fault
		took       time.Duration
		effect     bool
		want       error
	}{
		{"MNT-006", "in time", time.Minute, api.Fault{}, time.Minute, true, nil},
		{"MNT-006", "just in time", 2 * time.Minute, api.Fault{}, 2 * time.Minute, true, nil},
		{"MNT-006", "too slow", 3 * time.Minute, api.Fault{}, 2 * time.Minute, false, late},
		{"MNT-006", "slowed down", time.Minute, api.Fault{Delay: time.Hour}, 2 * time.Minute, false, late},
		{"MNT-006", "a fault", 0, api.Fault{Err: lost}, 0, false, lost},
		{"MNT-006", "a lost reply", time.Second, api.Fault{Err: lost, Effect: true}, time.Second, true, lost},
	} {
		e, err := New(Config{Injector: InjectorFunc(func(api.Call) api.Fault { return tc.fault })})
		if err != nil {
			t.Fatal(err)
		}
		start, effect := e.Now(), false
		var got error
		var took time.Duration
		if _, err := e.NewActor("a", func(a *Actor) {
			a.Go("call", func(p *Process) {
				got = p.BackendWithin(api.Call{Target: "d"}, tc.latency, 2*time.Minute, late, func() error { effect = true; return nil })
				took = p.Now().Sub(start)
			})
		}); err != nil {
			t.Fatal(err)
		}
		e.Advance(2 * time.Hour)
		if got != tc.want || effect != tc.effect || took != tc.took {
			t.Errorf("%s: %s: BackendWithin = %v after %v (effect %v), want %v after %v (effect %v)", tc.rule, tc.name, got, took, effect, tc.want, tc.took, tc.effect)
		}
	}
}
