package engine_test

import (
	"slices"
	"testing"

	"github.com/volsim/volsim/api"
	"github.com/volsim/volsim/internal/core/engine"
)

// oracle has no faults, and knows which calls they wait for.
type oracle struct {
	verbs []string
	heard []func()
}

func (*oracle) Inject(api.Call) api.Fault { return api.Fault{} }

func (o *oracle) Awaits(call api.Call) bool {
	return call.Actor == "kubelet/n1" && slices.Contains(o.verbs, call.Verb)
}

func (o *oracle) OnFault(fn func()) { o.heard = append(o.heard, fn) }

// TestAwaited: an actor is told whether a fault waits for a call of its. Whoever injects faults and cannot tell may have one for any.
func TestAwaited(t *testing.T) {
	for _, tt := range []struct {
		name     string
		injector api.Injector
		actor    string
		want     bool
	}{
		{"nobody injects anything", nil, "kubelet/n1", false},
		{"somebody who cannot tell", engine.InjectorFunc(func(api.Call) api.Fault { return api.Fault{} }), "kubelet/n1", true},
		{"somebody who knows of one", &oracle{verbs: []string{"get"}}, "kubelet/n1", true},
		{"of none", &oracle{}, "kubelet/n1", false},
		{"of none for this actor", &oracle{verbs: []string{"get"}}, "kubelet/n2", false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			e := newEngine(t, engine.Config{Injector: tt.injector})
			var a *engine.Actor
			if _, err := e.NewActor(tt.actor, func(self *engine.Actor) { a = self }); err != nil {
				t.Fatal(err)
			}
			if got := a.Awaited(api.Call{Target: api.APIServer, Verb: "get"}); got != tt.want {
				t.Errorf("Awaited = %t, want %t", got, tt.want)
			}
			heard := 0
			e.OnFault(func() { heard++ })
			o, knows := tt.injector.(*oracle)
			if !knows {
				return
			}
			for _, fn := range o.heard {
				fn()
			}
			if heard != 1 {
				t.Errorf("OnFault was heard %d times, want 1", heard)
			}
		})
	}
}
