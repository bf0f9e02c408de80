package volsim_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/volsim/volsim"
	"github.com/volsim/volsim/api"
	"github.com/volsim/volsim/fake"
	"github.com/volsim/volsim/internal/core/engine"
	"github.com/volsim/volsim/storage"
)

// TestInjectors: Faults apply before the injector of the configuration, and both hit requests that would be skipped otherwise.
func TestInjectors(t *testing.T) {
	read := fake.Match{Actor: "kubelet/n1", Verb: "get", Kind: "PersistentVolumeClaim"}
	none := engine.InjectorFunc(func(api.Call) api.Fault { return api.Fault{} })
	for _, tt := range []struct {
		name     string
		injector func() (api.Injector, *fake.Rule) // and a rule of it, if it has one
		first    bool                              // Faults has a rule
		met      string                            // by a claim that a pod has had for an hour: by which rule first
	}{
		{"none", func() (api.Injector, *fake.Rule) { return nil, nil }, true, "first"},
		{"one that cannot predict", func() (api.Injector, *fake.Rule) { return none, nil }, true, "first"},
		{"another of rules", func() (api.Injector, *fake.Rule) {
			f := fake.NewFaults()
			return f, f.Fail(read, storage.Errorf(storage.Internal, "no")).Skip(100).Once()
		}, false, "second"},
		{"both", func() (api.Injector, *fake.Rule) {
			f := fake.NewFaults()
			return f, f.Fail(read, storage.Errorf(storage.Internal, "no")).Skip(100).Once()
		}, true, "first"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			injector, second := tt.injector()
			c := newCluster(t, volsim.Config{Backends: []storage.Backend{fake.CSI("disk.example.com")}, Injector: injector})
			require.NoError(t, c.Create(fake.Node("n1"), fake.Class("fast", "disk.example.com"), fake.Claim("data", "1Gi", fake.InClass("fast")),
				fake.Pod("p", fake.Claims("data"), fake.OnNode("n1"))))
			require.NoError(t, c.Advance(30*time.Minute))
			met := func(rule *fake.Rule) bool { return rule != nil && rule.Fired() > 0 }
			require.False(t, met(second))
			var first *fake.Rule
			if tt.first {
				first = c.Faults.Fail(read, storage.Errorf(storage.Internal, "no")).Once()
			}
			for range 200 * 60 {
				require.NoError(t, c.Advance(time.Second))
				if met(first) || met(second) {
					break
				}
			}
			require.Equal(t, tt.met == "first", met(first))
			require.Equal(t, tt.met == "second", met(second))
		})
	}
}
