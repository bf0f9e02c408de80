package engine

import (
	"errors"
	"testing"
	"time"

	"github.com/volsim/volsim/api"
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
		reply      error // of the call
	}{
		{"MNT-006", "in time", time.Minute, api.Fault{}, time.Minute, true, nil, nil},
		{"MNT-006", "just in time", 2 * time.Minute, api.Fault{}, 2 * time.Minute, true, nil, nil},
		{"MNT-006", "too slow", 3 * time.Minute, api.Fault{}, 2 * time.Minute, false, late, nil},
		{"MNT-006", "slowed down", time.Minute, api.Fault{Delay: time.Hour}, 2 * time.Minute, false, late, nil},
		{"MNT-006", "a fault", 0, api.Fault{Err: lost}, 0, false, lost, nil},
		{"MNT-006", "a lost reply", time.Second, api.Fault{Err: lost, Effect: true}, time.Second, true, lost, nil},
		{"MNT-006", "a late reply", 0, api.Fault{}, time.Minute, true, lateIn(time.Minute), lateIn(time.Minute)},
		{"MNT-006", "a reply after the limit", time.Second, api.Fault{}, 2 * time.Minute, true, lateIn(time.Hour), lateIn(time.Hour)},
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
				got = p.BackendWithin(api.Call{Target: "d"}, tc.latency, 2*time.Minute, late, func() error { effect = true; return tc.reply })
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

// lateIn is an error of a call whose reply arrives later.
type lateIn time.Duration

func (l lateIn) Error() string { return "late" }

func (l lateIn) ReplyAfter() time.Duration { return time.Duration(l) }
