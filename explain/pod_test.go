package explain_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"

	"github.com/volsim/volsim/api"
	"github.com/volsim/volsim/explain"
	"github.com/volsim/volsim/fake"
	"github.com/volsim/volsim/internal/core/objects"
	"github.com/volsim/volsim/internal/proof/reasons"
)

// SCHED-102: a node without a volume for the claim lists why it rejects each volume of the class.
func TestVolumesRejectedForANode(t *testing.T) {
	x, err := explain.New(reasons.SnapshotOf(t, reasons.User("p", ""), fake.Node("n1"),
		fake.Class("static", "kubernetes.io/no-provisioner", fake.WaitForFirstConsumer()), fake.Claim("data", "10Gi", fake.InClass("static")),
		reasons.Available("far", "10Gi", fake.InClass("static"), fake.FromNodes("n2")),
		reasons.Available("small", "1Gi", fake.InClass("static")), reasons.Available("other", "10Gi"))).Object(api.Ref{Kind: api.Pod,
		Key: "default/p"})
	require.NoError(t, err)
	require.Len(t, x.Candidates, 1)
	var rules []string
	for _, c := range x.Candidates[0].Candidates {
		rules = append(rules, c.Name+" "+c.Rule)
	}
	require.Equal(t, []string{"far MATCH-022", "small MATCH-011"}, rules, x.String())
}

// ATT-045: if the start of the controller's wait is known, the six minutes count from there.
func TestForcedDetachCountsFromStartOfWait(t *testing.T) {
	claim, pv := reasons.BoundPair()
	s := reasons.SnapshotOf(t, reasons.User("p", "n1"), reasons.ManagedNode("n1", false, false),
		reasons.NotReady(reasons.ManagedNode("n2", true, true)), claim, pv, reasons.Attachment("n2", true))
	since := reasons.Now.Add(-2 * time.Minute)
	s.DetachPendingSince = func(volume corev1.UniqueVolumeName, node string) (time.Time, bool) {
		return since, volume == objects.CSIVolumeName(reasons.Driver, "h1") && node == "n2"
	}
	x, err := explain.New(s).Object(api.Ref{Kind: api.Pod, Key: "default/p"})
	require.NoError(t, err)
	require.Equal(t, since.Add(6*time.Minute), x.Changes.At, x.String())
	require.Contains(t, x.String(), "attached to node n2 since 2026-03-01T11:00:00Z")
}

// ATT-145, MIG-002: a source in the pod whose plugin a CSI driver replaces is attached first.
func TestSourceInPodIsAttached(t *testing.T) {
	pod := reasons.User("p", "n1")
	pod.Spec.Volumes = []corev1.Volume{{Name: "data", VolumeSource: corev1.VolumeSource{
		AWSElasticBlockStore: &corev1.AWSElasticBlockStoreVolumeSource{VolumeID: "vol-1"}}}}
	pod.Spec.Containers[0].VolumeMounts = []corev1.VolumeMount{{Name: "data", MountPath: "/data"}}
	x, err := explain.New(reasons.SnapshotOf(t, pod, reasons.ManagedNode("n1", false, false))).Object(api.Ref{Kind: api.Pod, Key: "default/p"})
	require.NoError(t, err)
	require.Equal(t, "ATT-068", x.Rule, x.String())
	require.Equal(t, "volume data is not attached to node n1", x.Why)
}

// MNT-316: what to do about a mount that lacks an object or a key.
func TestMissingFiles(t *testing.T) {
	for _, tc := range []struct{ cause, want string }{
		{`configmap "settings" not found`, "create ConfigMap default/settings"},
		{`secret "key" not found`, "create Secret default/key"},
		{`configmap references non-existent config key: a`, "add key a to the ConfigMap that the volume names"},
		{`references non-existent secret key: tls.crt`, "add key tls.crt to the Secret that the volume names"},
		{`[configmap "settings" not found, secret "key" not found]`, "create ConfigMap default/settings"},
	} {
		pod := fake.Pod("p", fake.OnNode("n1"))
		x, err := explain.New(reasons.SnapshotOf(t, pod, reasons.ManagedNode("n1", false, false),
			reasons.Event(pod, "FailedMount", `MountVolume.SetUp failed for volume "v" : `+tc.cause))).Object(api.Ref{Kind: api.Pod, Key: "default/p"})
		require.NoError(t, err)
		require.Contains(t, x.String(), "to do      "+tc.want, tc.cause)
	}
}

// MNT-403: what to do about a pod that its node rejected.
func TestRejectedPod(t *testing.T) {
	for reason, todo := range map[string]string{
		"NodeAffinity": "label node n1 (it has no label disk, the pod needs disk=ssd (node selector)), or let the scheduler choose a node",
		"NodePorts":    "stop what uses the host port on the node, or let the scheduler choose a node",
		"OutOfcpu":     "free up resources of the node, or let the scheduler choose a node",
	} {
		pod := fake.Pod("p", fake.OnNode("n1"))
		pod.Spec.NodeSelector = map[string]string{"disk": "ssd"}
		pod.Status = corev1.PodStatus{Phase: corev1.PodFailed, Reason: reason, Message: "Pod was rejected: Predicate " + reason + " failed: some reason"}
		x, err := explain.New(reasons.SnapshotOf(t, pod, fake.Node("n1"))).Object(api.Ref{Kind: api.Pod, Key: "default/p"})
		require.NoError(t, err)
		require.Equal(t, "MNT-403", x.Rule, x.String())
		require.Equal(t, "the kubelet of node n1 rejected it, and a rejected pod is not retried", x.Why)
		require.Contains(t, x.String(), "to do      "+todo)
	}
}
