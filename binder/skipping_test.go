package binder_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/volsim/volsim"
	"github.com/volsim/volsim/api"
	"github.com/volsim/volsim/fake"
	"github.com/volsim/volsim/internal/core/actors"
	"github.com/volsim/volsim/internal/core/engine"
	"github.com/volsim/volsim/storage"
)

// reads is an injector that has no faults, reports that none may hit anything, and counts what the controller reads.
type reads int

func (r *reads) Inject(call api.Call) api.Fault {
	if call.Actor == actors.PersistentVolume && call.Verb == "get" {
		*r++
	}
	return api.Fault{}
}

func (*reads) Active(string) bool { return false }

// TestSkippedReads: the sync of a released volume whose claim has a namesake reads that claim. Resyncs skip it, unless a fault may hit the
// read.
func TestSkippedReads(t *testing.T) {
	get := fake.Match{Actor: actors.PersistentVolume, Verb: "get", Kind: "PersistentVolumeClaim", Key: "default/c"}
	for _, tt := range []struct {
		rule, name string
		restart    bool
		match      fake.Match
		after      time.Duration // in which nothing happens
		skip       int
		want       time.Duration // since the cluster began: a multiple of 15 s; zero is never
	}{
		{"BIND-061", "by the next resync", false, get, 10*time.Minute + 2*time.Second, 0, 10*time.Minute + 15*time.Second},
		{"BIND-032", "by each", false, get, 10*time.Minute + 2*time.Second, 3, 11 * time.Minute},
		{"BIND-032", "of whatever life of the controller", true, get, 10*time.Minute + 2*time.Second, 0, 10*time.Minute + 15*time.Second},
		{"BIND-061", "and no sync reads another claim", false, fake.Match{Actor: actors.PersistentVolume, Verb: "get", Key: "default/d"},
			10 * time.Minute, 0, 0},
	} {
		t.Run(tt.rule+" "+tt.name, func(t *testing.T) {
			var idle reads
			c, err := volsim.New(volsim.Config{Injector: &idle, Without: []string{volsim.Kubelets}})
			require.NoError(t, err)
			defer c.Close()
			require.NoError(t, c.Create(fake.Volume("pv", "1Gi"), fake.Claim("c", "1Gi", fake.VolumeName("pv"))))
			require.NoError(t, c.Settle())
			require.NoError(t, c.Delete(fake.Claim("c", "1Gi")))
			require.NoError(t, c.Settle())
			require.NoError(t, c.Create(fake.Claim("c", "1Gi", fake.InClass("none"))))
			if tt.restart {
				require.NoError(t, c.Advance(30*time.Second-c.Now().Sub(engine.DefaultStart)))
				require.NoError(t, c.Crash(actors.PersistentVolume))
				require.NoError(t, c.Restart(actors.PersistentVolume))
			}
			require.NoError(t, c.Advance(time.Minute))
			before := idle
			require.NoError(t, c.Advance(tt.after-c.Now().Sub(engine.DefaultStart)))
			require.Equal(t, before, idle, "reads of an idle controller")
			rule := c.Faults.Fail(tt.match, storage.Errorf(storage.Internal, "no")).Skip(tt.skip).Once()
			if tt.want == 0 {
				require.NoError(t, c.Advance(time.Hour))
				require.Zero(t, rule.Fired())
				return
			}
			require.NoError(t, c.Advance(tt.want-tt.after-time.Millisecond))
			require.Zero(t, rule.Fired(), "before the resync")
			require.NoError(t, c.Advance(2*time.Millisecond))
			require.Equal(t, 1, rule.Fired())
			before = idle
			require.NoError(t, c.Advance(time.Hour))
			require.LessOrEqual(t, int(idle-before), 2, "reads once the fault is gone")
		})
	}
}
