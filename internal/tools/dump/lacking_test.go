package dump_test

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"

	"github.com/volsim/volsim/api"
	"github.com/volsim/volsim/explain"
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
	lackingPending = `{"apiVersion":"v1","kind":"Pod","metadata":{"name":"u","namespace":"a","uid":"u"},"spec":{"containers":[{"name":"c","image":"i"}],
"volumes":[{"name":"d","persistentVolumeClaim":{"claimName":"w"}}]},
"status":{"phase":"Pending","conditions":[{"type":"PodScheduled","status":"False","message":"0/6 nodes are available."}]}}`
	lackingAttachment = `{"apiVersion":"storage.k8s.io/v1","kind":"VolumeAttachment","metadata":{"name":"va","uid":"va"},"spec":{"attacher":"d","nodeName":"n1",
"source":{"persistentVolumeName":"v"}},"status":{"attached":false}}`
	lackingModified = `{"apiVersion":"v1","kind":"PersistentVolumeClaim","metadata":{"name":"m","namespace":"a","uid":"m"},"spec":{"volumeAttributesClassName":"gold",
"storageClassName":"","accessModes":["ReadWriteOnce"],"resources":{"requests":{"storage":"1Gi"}}},"status":{"phase":"Pending"}}`
	lackingClass = `{"apiVersion":"storage.k8s.io/v1","kind":"StorageClass","metadata":{"name":"fast","uid":"fast"},"provisioner":"d",
"volumeBindingMode":"WaitForFirstConsumer"}`
	lackingCapacity = `{"apiVersion":"storage.k8s.io/v1","kind":"CSIDriver","metadata":{"name":"d","uid":"d"},"spec":{"storageCapacity":true}}`
	lackingNode     = `{"apiVersion":"v1","kind":"Node","metadata":{"name":"n1","uid":"n"},"status":{"allocatable":{"pods":"9"},"conditions":[{"type":"Ready","status":"True"}]}}`
	lackingEvent    = `{"apiVersion":"v1","kind":"Event","metadata":{"name":"e","namespace":"a","uid":"e"},"involvedObject":{"kind":"Pod","name":"p","namespace":"a"}}`
	lackingDriver   = `{"apiVersion":"storage.k8s.io/v1","kind":"CSIDriver","metadata":{"name":"d","uid":"d"},"spec":{"attachRequired":false}}`
)

// TestLacking: a dump without a kind on which the answer depends says so, with the command that adds it.
func TestLacking(t *testing.T) {
	for _, tt := range []struct {
		name, rule string
		objs       []string
		lacks      string
	}{
		{"pods without nodes", "SCHED-022", []string{lackingPending, lackingClaim}, "nodes, storageclasses, events"},
		{"attachments without volumes", "ATT-172", []string{lackingAttachment, lackingNode}, "persistentvolumes"},
		{"a claim without its VolumeAttributesClass", "VAC-006", []string{lackingModified, lackingEvent}, "volumeattributesclasses"},
		{"a claim without its class", "PROV-021", []string{lackingClaim, lackingEvent}, "storageclasses"},
		{"a claim that waits, without Events", "XPROV-026", []string{lackingClaim}, "storageclasses, events"},
		{"pods without their claims", "MNT-072a", []string{lackingPod, lackingNode}, "persistentvolumeclaims"},
		{"a claim that is deleted, without pods", "PROT-026", []string{lackingDeleted, lackingEvent}, "pods, storageclasses"},
		{"a volume of a driver", "ATT-068", []string{lackingVolume, lackingPod, lackingNode}, "storageclasses, csidrivers, csinodes, volumeattachments"},
		{"a volume of a driver that attaches nothing", "ATT-068", []string{lackingVolume, lackingPod, lackingNode, lackingDriver}, "storageclasses, csinodes"},
		{"a node alone", "", []string{lackingNode}, ""},
		{"a namespace alone", "", []string{`{"apiVersion":"v1","kind":"Namespace","metadata":{"name":"a","uid":"a"}}`}, ""},
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

// TestAssumed: what a dump names, and has no object of its kind, is assumed to exist.
func TestAssumed(t *testing.T) {
	for _, tt := range []struct {
		name, rule string
		objs       []string
		note       string
		pod        string
		phase      corev1.PodPhase
		why        string
	}{
		{"the nodes of pods", "NODE-074", []string{lackingPod, lackingVolume}, "The dump has no nodes: those that it names (1) are assumed to be Ready.",
			"a/p", corev1.PodRunning, "it runs on node n1"},
		{"no node for a pod that fits nowhere", "SCHED-024", []string{lackingPod, lackingVolume, lackingPending, lackingClaim, lackingClass},
			"The dump has no nodes: those that it names (1) are assumed", "a/u", corev1.PodPending, "the dump has none that would show more: 0/6 nodes are available."},
		{"capacity", "SCHED-112", []string{lackingPending, lackingNode, lackingClaim, lackingClass, lackingCapacity},
			"The dump has no csistoragecapacities: room for every claim is assumed.", "a/u", corev1.PodRunning, "a node fits"},
	} {
		t.Run(tt.rule+" "+tt.name, func(t *testing.T) {
			d, err := dump.Read([]byte(strings.Join(tt.objs, "\n")))
			require.NoError(t, err)
			c, err := d.Start(dump.Options{})
			require.NoError(t, err)
			defer c.Close()
			require.Contains(t, strings.Join(c.Notes, "\n"), tt.note)
			x, err := explain.New(c.Snapshot()).Object(api.Ref{Kind: api.Pod, Key: tt.pod})
			require.NoError(t, err)
			require.Contains(t, x.Why, tt.why)
			require.NoError(t, c.Advance(10*time.Minute))
			pod, err := c.Pods.Get(tt.pod)
			require.NoError(t, err)
			require.Equal(t, tt.phase, pod.Status.Phase)
		})
	}
}
