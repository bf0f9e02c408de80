package explain_test

import (
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"

	"github.com/volsim/volsim/api"
	"github.com/volsim/volsim/explain"
	"github.com/volsim/volsim/fake"
	"github.com/volsim/volsim/internal/core/objects"
	"github.com/volsim/volsim/internal/proof/reasons"
)

// The explanation of a terminating claim notes what happens to the data (RECL-002, RECL-003, RECL-004, RECL-005).
func TestFate(t *testing.T) {
	for policy, want := range map[corev1.PersistentVolumeReclaimPolicy]string{
		corev1.PersistentVolumeReclaimDelete:  "it is deleted with its data (RECL-004)",
		corev1.PersistentVolumeReclaimRecycle: "its data is removed and it becomes Available (RECL-003)",
		corev1.PersistentVolumeReclaimRetain:  "it stays with its data (RECL-002)",
		"Shred":                               `its reclaim policy "Shred" is unknown, so it becomes Failed (RECL-005)`,
	} {
		claim, pv := reasons.BoundPair(fake.Policy(policy))
		x, err := explain.New(reasons.SnapshotOf(t, reasons.Deleting(claim, objects.ClaimProtectionFinalizer), pv)).Object(api.RefTo(claim))
		require.NoError(t, err)
		require.Len(t, x.Notes, 1)
		require.Contains(t, x.Notes[0], want)
	}
}
