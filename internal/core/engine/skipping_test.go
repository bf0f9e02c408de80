package engine_test

import (
	"testing"

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
		want       bool
	}{
		{"no injector", nil, false, true},
		{"no injector, and no skipping", nil, true, false},
		{"an injector that cannot predict", engine.InjectorFunc(func(api.Call) api.Fault { return api.Fault{} }), false, false},
		{"a fault for the actor", &predictor{"kubelet/n1"}, false, false},
		{"a fault for another actor", &predictor{"kubelet/n2"}, false, true},
		{"a fault for another actor, and no skipping", &predictor{"kubelet/n2"}, true, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			e := newEngine(t, engine.Config{Injector: tt.injector, NoSkipping: tt.noSkipping})
			a := startActor(t, e, "kubelet/n1", func(*engine.Actor) {})
			if got := a.Skips(); got != tt.want {
				t.Errorf("Skips = %t, want %t", got, tt.want)
			}
		})
	}
}

// An actor resumes what it skipped when a fault is armed that may hit it: at the next run, once, in each of its lives.
func TestOnResumed(t *testing.T) {
	faults := &predictor{}
	e := newEngine(t, engine.Config{Injector: faults})
	resumed := 0
	a := startActor(t, e, "a", func(a *engine.Actor) { a.OnResumed(func() { resumed++ }) })
	for _, step := range []struct {
		name  string
		actor string
		want  int
	}{
		{"no fault", "", 0},
		{"a fault for another actor", "b", 0},
		{"a fault for this one", "a", 1},
		{"the same fault", "a", 1},
		{"none any more", "", 1},
		{"a new one", "a", 2},
	} {
		faults.actor = step.actor
		if e.Advance(1); resumed != step.want {
			t.Errorf("%s: resumed %d times, want %d", step.name, resumed, step.want)
		}
	}
	faults.actor = ""
	e.Advance(1)
	a.Crash()
	faults.actor = "a"
	if e.Advance(1); resumed != 2 {
		t.Errorf("resumed %d times without a life, want 2", resumed)
	}
}
