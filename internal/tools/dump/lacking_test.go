package dump_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/volsim/volsim/internal/tools/dump"
)

// Objects of a small cluster.
const (
	lackingPod = `{"apiVersion":"v1","kind":"Pod","metadata":{"name":"p","namespace":"a","uid":"p"},"spec":{"nodeName":"n1","containers":[{"name":"c","image":"i"}],
"volumes":[{"name":"d","persistentVolumeClaim":{"claimName":"c"}}]},"status":{"phase":"Running"}}`
	lackingVolume = `{"apiVersion":"v1","kind":"PersistentVolume","metadata":{"name":"v","uid":"v","annotations":{"pv.kubernetes.io/provisioned-by":"d"}},
"spec":{"capacity":{"storage":"1Gi"},"accessModes":["ReadWriteOnce"],"csi":{"driver":"d","volumeHandle":"h"},"claimRef":{"namespace":"a","name":"c","uid":"c"}},
"status":{"phase":"Bound"}}`
	lackingClaim = `{"apiVersion":"v1","kind":"PersistentVolumeClaim","metadata":{"name":"w","namespace":"a","uid":"w"},"spec":{"storageClassName":"fast",
"accessModes":["ReadWriteOnce"],"resources":{"requests":{"storage":"1Gi"}}},"status":{"phase":"Pending"}}`
	lackingDeleted = `{"apiVersion":"v1","kind":"PersistentVolumeClaim","metadata":{"name":"x","namespace":"a","uid":"x","deletionTimestamp":"2026-03-01T11:00:00Z",
"finalizers":["kubernetes.io/pvc-protection"]},"spec":{"volumeName":"v","accessModes":["ReadWriteOnce"],"resources":{"requests":{"storage":"1Gi"}}},"status":{"phase":"Bound"}}`
	lackingNode   = `{"apiVersion":"v1","kind":"Node","metadata":{"name":"n1","uid":"n"}}`
	lackingEvent  = `{"apiVersion":"v1","kind":"Event","metadata":{"name":"e","namespace":"a","uid":"e"},"involvedObject":{"kind":"Pod","name":"p","namespace":"a"}}`
	lackingDriver = `{"apiVersion":"storage.k8s.io/v1","kind":"CSIDriver","metadata":{"name":"d","uid":"d"},"spec":{"attachRequired":false}}`
)

// TestLacking: a dump without a kind on which the answer depends says so, with the command that adds it.
func TestLacking(t *testing.T) {
	for _, tt := range []struct {
		name, rule string
		objs       []string
		lacks      string
	}{
		{"pods without nodes", "SCHED-022", []string{lackingPod, lackingClaim}, "nodes, storageclasses, events"},
		{"a claim without its class", "PROV-021", []string{lackingClaim, lackingEvent}, "storageclasses"},
		{"a claim that waits, without Events", "XPROV-026", []string{lackingClaim}, "storageclasses, events"},
		{"pods without their claims", "MNT-072a", []string{lackingPod, lackingNode}, "persistentvolumeclaims"},
		{"a claim that is deleted, without pods", "PROT-026", []string{lackingDeleted, lackingEvent}, "pods, storageclasses"},
		{"a volume of a driver", "ATT-068", []string{lackingVolume, lackingPod, lackingNode}, "storageclasses, csidrivers, csinodes, volumeattachments"},
		{"a volume of a driver that attaches nothing", "ATT-068", []string{lackingVolume, lackingPod, lackingNode, lackingDriver}, "storageclasses, csinodes"},
		{"a node alone", "", []string{lackingNode}, ""},
	} {
		t.Run(tt.rule+" "+tt.name, func(t *testing.T) {
			d, err := dump.Read([]byte(strings.Join(tt.objs, "\n")))
			require.NoError(t, err)
			c, err := d.Start(dump.Options{Still: true})
			require.NoError(t, err)
			defer c.Close()
			notes := strings.Join(c.Notes, "\n")
			if tt.lacks == "" {
				require.Empty(t, notes)
				return
			}
			require.Contains(t, notes, "The dump has no "+tt.lacks+", and the answer depends on them.")
			require.Contains(t, notes, "kubectl get "+strings.ReplaceAll(tt.lacks, ", ", ",")+" -A -o yaml > more.yaml")
		})
	}
}
