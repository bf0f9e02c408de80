package graph_test

import (
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"

	"github.com/volsim/volsim/engine"
	"github.com/volsim/volsim/fake"
	"github.com/volsim/volsim/internal/graph"
	"github.com/volsim/volsim/store"
)

func TestReasons(t *testing.T) {
	pv, pvc := store.Ref{Kind: store.PersistentVolume, Key: "pv"}, store.Ref{Kind: store.PersistentVolumeClaim, Key: "default/data"}
	decide := func(actor, rule string, about store.Ref) engine.Entry {
		return engine.Entry{Type: engine.Decision, Actor: actor, Rule: rule, Object: about}
	}
	writePV := engine.Entry{Type: engine.Write, Actor: "binder", Object: pv, New: fake.Volume("pv", "1Gi", fake.ForClaim("data"))}
	writePVC := engine.Entry{Type: engine.Write, Actor: "binder", Object: pvc, New: fake.Claim("data", "1Gi", fake.VolumeName("pv"))}
	name := "pv"
	writeVA := engine.Entry{Type: engine.Write, Actor: "binder", Object: store.Ref{Kind: store.VolumeAttachment, Key: "va"},
		New: &storagev1.VolumeAttachment{Spec: storagev1.VolumeAttachmentSpec{Source: storagev1.VolumeAttachmentSource{PersistentVolumeName: &name}}}}
	for _, tt := range []struct {
		name    string
		entries []engine.Entry
		write   engine.Entry
		want    string
	}{
		{"nothing was decided", nil, writePV, ""},
		{"somebody else decided", []engine.Entry{decide("other", "BIND-062", pv)}, writePV, ""},
		{"the object's own", []engine.Entry{decide("binder", "BIND-062", pv)}, writePV, "BIND-062"},
		{"that of the claim", []engine.Entry{decide("binder", "MATCH-020", pvc)}, writePV, "MATCH-020"},
		{"the newer one of volume and claim", []engine.Entry{decide("binder", "BIND-062", pv), decide("binder", "MATCH-020", pvc)}, writePV, "MATCH-020"},
		{"of a claim always its own", []engine.Entry{decide("binder", "MATCH-020", pvc), decide("binder", "BIND-065b", pv)}, writePVC, "MATCH-020"},
		{"that of the volume, if the claim has none", []engine.Entry{decide("binder", "BIND-065b", pv)}, writePVC, "BIND-065b"},
		{"an attachment's volume", []engine.Entry{decide("binder", "ATT-068", pv)}, writeVA, "ATT-068"},
		{"a workload's notes are no decisions", []engine.Entry{decide("binder", "", pv)}, writePV, ""},
		{"an operation that runs", []engine.Entry{decide("binder", "RECL-065", pv), decide("binder", "BIND-064", pv), decide("binder", "RECL-008", pv)}, writePV, "RECL-065"},
		{"a crash", []engine.Entry{decide("binder", "BIND-062", pv), {Type: engine.Lifecycle, Actor: "binder", Text: "crashed"}}, writePV, ""},
		{"no write", []engine.Entry{decide("binder", "BIND-062", pv)}, engine.Entry{Type: engine.Emitted, Actor: "binder", Object: pv, New: &corev1.Pod{}}, ""},
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
