package graph_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"

	"github.com/volsim/volsim"
	"github.com/volsim/volsim/api"
	"github.com/volsim/volsim/fake"
	"github.com/volsim/volsim/internal/tools/graph"
	"github.com/volsim/volsim/trace"
)

func TestReasons(t *testing.T) {
	pv, pvc := api.Ref{Kind: api.PersistentVolume, Key: "pv"}, api.Ref{Kind: api.PersistentVolumeClaim, Key: "default/data"}
	decide := func(actor, rule string, about api.Ref) trace.Entry {
		return trace.Entry{Type: trace.Decision, Actor: actor, Rule: rule, Object: about}
	}
	writePV := trace.Entry{Type: trace.Write, Actor: "binder", Object: pv, New: fake.Volume("pv", "1Gi", fake.ForClaim("data"))}
	writePVC := trace.Entry{Type: trace.Write, Actor: "binder", Object: pvc, New: fake.Claim("data", "1Gi", fake.VolumeName("pv"))}
	pvc2 := api.Ref{Kind: api.PersistentVolumeClaim, Key: "default/other"}
	by := func(activity, cause uint64, e trace.Entry) trace.Entry {
		e.Activity, e.Cause = activity, cause
		return e
	}
	name := "pv"
	writeVA := trace.Entry{Type: trace.Write, Actor: "binder", Object: api.Ref{Kind: api.VolumeAttachment, Key: "va"},
		New: &storagev1.VolumeAttachment{Spec: storagev1.VolumeAttachmentSpec{Source: storagev1.VolumeAttachmentSource{PersistentVolumeName: &name}}}}
	for _, tt := range []struct {
		name    string
		entries []trace.Entry
		write   trace.Entry
		want    string
	}{
		{"nothing was decided", nil, writePV, ""},
		{"another actor decided", []trace.Entry{decide("other", "BIND-062", pv)}, writePV, ""},
		{"the object's own", []trace.Entry{decide("binder", "BIND-062", pv)}, writePV, "BIND-062"},
		{"that of the claim", []trace.Entry{decide("binder", "MATCH-020", pvc)}, writePV, "MATCH-020"},
		{"the newer one of volume and claim", []trace.Entry{decide("binder", "BIND-062", pv), decide("binder", "MATCH-020", pvc)}, writePV,
			"MATCH-020"},
		{"of a claim always its own", []trace.Entry{decide("binder", "MATCH-020", pvc), decide("binder", "BIND-065b", pv)}, writePVC,
			"MATCH-020"},
		{"that of the volume, if the claim has none", []trace.Entry{decide("binder", "BIND-065b", pv)}, writePVC, "BIND-065b"},
		{"an attachment's volume", []trace.Entry{decide("binder", "ATT-068", pv)}, writeVA, "ATT-068"},
		{"a workload's notes are no decisions", []trace.Entry{decide("binder", "", pv)}, writePV, ""},
		{"its own activity, whatever others of the actor decide meanwhile",
			[]trace.Entry{by(1, 0, decide("binder", "MATCH-020", pvc)), by(2, 0, decide("binder", "BIND-062", pv))},
			by(1, 0, writePV), "MATCH-020"},
		{"an operation that runs",
			[]trace.Entry{by(2, 1, decide("binder", "RECL-065", pv)), by(3, 0, decide("binder", "BIND-064", pv)),
				by(3, 0, decide("binder", "RECL-008", pv))},
			by(2, 1, writePV), "RECL-065"},
		{"an operation that decides nothing itself",
			[]trace.Entry{by(1, 0, decide("binder", "RECL-004", pv)), by(3, 0, decide("binder", "BIND-062", pv))}, by(2, 1, writePV), "RECL-004"},
		{"who asked for who asked", []trace.Entry{by(1, 0, decide("binder", "RECL-004", pv)), by(2, 1, decide("binder", "BIND-062", pvc2))},
			by(3, 2, writePV), "RECL-004"},
		{"no activity that has to do with it decided anything", []trace.Entry{by(1, 0, decide("binder", "BIND-062", pv))}, by(2, 0, writePV), ""},
		{"a crash", []trace.Entry{decide("binder", "BIND-062", pv), {Type: trace.Crashed, Actor: "binder"}}, writePV, ""},
		{"no write", []trace.Entry{decide("binder", "BIND-062", pv)},
			trace.Entry{Type: trace.Emitted, Actor: "binder", Object: pv, New: &corev1.Pod{}}, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var r graph.Reasons
			for n, e := range tt.entries {
				e.Seq = uint64(n + 1)
				r.Add(e)
			}
			got, ok := r.Behind(tt.write)
			require.Equal(t, tt.want, got.Rule)
			require.Equal(t, tt.want != "", ok)
		})
	}
}

// TestReasonsOfSeeds: in every order of events, a claim and a volume are bound because they match, although other workers of the same
// controller make decisions about the volume meanwhile.
func TestReasonsOfSeeds(t *testing.T) {
	for seed := range int64(60) {
		c, err := volsim.New(volsim.Config{Seed: seed})
		require.NoError(t, err)
		require.NoError(t, c.Create(fake.Volume("a", "1Gi"), fake.Claim("x", "1Gi"), fake.Volume("b", "1Gi"), fake.Claim("y", "1Gi")))
		require.NoError(t, c.Advance(time.Minute))
		claims, volumes := graph.NewMachine(api.PersistentVolumeClaim), graph.NewMachine(api.PersistentVolume)
		claims.Observe(c.Trace())
		volumes.Observe(c.Trace())
		require.Contains(t, claims.Transitions(), graph.Transition{From: "Pending", To: "Bound", Reason: "MATCH-020", Count: 2}, "seed %d", seed)
		require.Contains(t, volumes.Transitions(), graph.Transition{From: "Available", To: "Bound", Reason: "MATCH-020", Count: 2},
			"seed %d", seed)
		require.Contains(t, volumes.Transitions(), graph.Transition{From: "Pending", To: "Available", Reason: "BIND-062", Count: 2},
			"seed %d", seed)
		c.Close()
	}
}
