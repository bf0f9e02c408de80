package explain_test

import (
	"math/rand"
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/volsim/volsim/api"
	"github.com/volsim/volsim/explain"
	"github.com/volsim/volsim/fake"
	"github.com/volsim/volsim/internal/proof/reasons"
)

// Claims with the same demand share one search for a volume. An answer is the same as without the claims that were explained before.
func TestClaimsShareSearches(t *testing.T) {
	pick := func(r *rand.Rand, of ...string) string { return of[r.Intn(len(of))] }
	for seed := range int64(50) {
		r := rand.New(rand.NewSource(seed))
		var objs, claims []api.Object
		for _, name := range []string{"a", "b", "c", "d", "e", "f", "g", "h"} {
			claim := fake.Claim(name, pick(r, "1Gi", "5Gi"), fake.InClass(pick(r, "", "fast", "late")), fake.Modes(pick(r, "RWO", "RWX")))
			switch r.Intn(6) {
			case 0:
				claim.Spec.Selector = &metav1.LabelSelector{MatchLabels: map[string]string{"tier": pick(r, "gold", "silver")}}
			case 1:
				claim.Spec.Selector = &metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{{Key: "tier", Operator: "malformed"}}}
			}
			claims = append(claims, claim)
		}
		for _, name := range []string{"v1", "v2", "v3", "v4", "v5", "v6"} {
			pv := fake.Volume(name, pick(r, "1Gi", "3Gi", "10Gi"), fake.InClass(pick(r, "", "fast", "late")), fake.Modes(pick(r, "RWO", "RWX")))
			pv.Labels = map[string]string{"tier": pick(r, "gold", "silver")}
			pv.Status.Phase = corev1.VolumeAvailable
			if r.Intn(3) == 0 {
				pv.Spec.ClaimRef = &corev1.ObjectReference{Namespace: "default", Name: pick(r, "a", "b", "other")}
			}
			objs = append(objs, pv)
		}
		objs = append(append(objs, claims...), fake.Class("fast", "kubernetes.io/no-provisioner"),
			fake.Class("late", "kubernetes.io/no-provisioner", fake.WaitForFirstConsumer()))
		s := reasons.SnapshotOf(t, objs...)
		all := explain.New(s)
		for _, claim := range claims {
			want, err := explain.New(s).Object(api.RefTo(claim))
			require.NoError(t, err)
			got, err := all.Object(api.RefTo(claim))
			require.NoError(t, err)
			require.Equal(t, want, got, "seed %d", seed)
		}
	}
}
