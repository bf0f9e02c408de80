package explain_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"

	"github.com/volsim/volsim/api"
	"github.com/volsim/volsim/explain"
	"github.com/volsim/volsim/fake"
	"github.com/volsim/volsim/internal/core/actors"
	"github.com/volsim/volsim/internal/core/snapshot"
	"github.com/volsim/volsim/internal/proof/reasons"
)

// TestRefusals: what a policy or a webhook refuses does not change by itself.
func TestRefusals(t *testing.T) {
	pv, claim, other := fake.Volume("v", "1Gi"), fake.Claim("data", "1Gi"), fake.Claim("other", "9Gi")
	pv.Status.Phase = corev1.VolumeAvailable
	refused := func(rule, verb string, obj api.Object, err string) snapshot.Refusal {
		return snapshot.Refusal{Actor: actors.PersistentVolume, Verb: verb, Object: api.RefTo(obj), Rule: rule, Err: err}
	}
	for _, tt := range []struct {
		rule, name string
		claim      api.Object
		refusal    snapshot.Refusal
		want       string
	}{
		{"API-420", "the volume that fits", claim, refused("API-420", "update", pv, "no"), `
  because    the last update of pv/v by persistentvolume-controller was refused: no (API-420)
  next       persistentvolume-controller syncs the claim
  to do      change what refuses the update of pv/v, or the object so that it is accepted
  changes    only when you act: persistentvolume-controller tries again, and is refused while nothing changes
  note       otherwise: volume v fits (MATCH-020) (BIND-054)`},
		{"API-391", "the status of the claim", claim, refused("API-391", "update-status", claim, "no"), `
  because    the last update of the status of pvc/default/data by persistentvolume-controller was refused: no (API-391)
  next       persistentvolume-controller syncs the claim
  to do      change what refuses the update of the status of pvc/default/data, or the object so that it is accepted
  changes    only when you act: persistentvolume-controller tries again, and is refused while nothing changes
  note       otherwise: volume v fits (MATCH-020) (BIND-054)`},
		{"API-391", "the user has to act anyway", other, refused("API-391", "update", other, "no"), `
  to do      create a volume that fits
  changes    only when you act: the PersistentVolume controller syncs it every 15s with the same result
  note       the last update of pvc/default/other by persistentvolume-controller was refused: no (API-391)`},
		{"API-391", "another object", claim, refused("API-391", "update", other, "no"), `
  changes    automatically: with the next sync of the claim, within 15s (BIND-032)`},
	} {
		t.Run(tt.rule+" "+tt.name, func(t *testing.T) {
			s := reasons.SnapshotOf(t, pv, claim, other)
			s.Refusals = []snapshot.Refusal{tt.refusal}
			e, err := explain.New(s).Object(api.RefTo(tt.claim))
			require.NoError(t, err)
			require.True(t, strings.HasSuffix(e.String(), tt.want), "%s", e)
		})
	}
}
