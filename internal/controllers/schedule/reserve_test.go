package schedule

import (
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"

	"github.com/volsim/volsim/fake"
	"github.com/volsim/volsim/internal/core/engine"
	"github.com/volsim/volsim/internal/core/objects"
)

func TestReserve(t *testing.T) {
	pod := fake.Pod("p", fake.Claims("c", "d", "e"))
	f := newFixture(t, Config{}, fake.Node("n1"), fake.Node("n2"), waitClass("x"),
		free("v1", "1Gi"), free("v2", "2Gi", fake.ForClaim("d")),
		waitingClaim("c", "1Gi"), waitingClaim("d", "2Gi"), waitingClaim("e", "3Gi"))
	node, why, c := f.find(pod)
	require.Equal(t, "n1", node, why)
	r, err := f.reserve(pod, node, claimKeysOf(pod), c.found[node])
	require.NoError(t, err)
	require.False(t, r.allBound)
	require.Len(t, r.bindings, 2)

	claim, _ := f.inf.claims.Get("default/c")
	ref := r.bindings[0].pv.Spec.ClaimRef
	require.Equal(t, corev1.ObjectReference{Kind: "PersistentVolumeClaim", APIVersion: "v1", Namespace: "default", Name: "c", UID: claim.UID,
		ResourceVersion: claim.ResourceVersion}, *ref, "SCHED-131")
	require.Equal(t, map[string]string{"pv.kubernetes.io/bound-by-controller": "yes"}, r.bindings[0].pv.Annotations,
		"SCHED-131, SCHED-003: free before")
	require.NotEmpty(t, r.bindings[1].pv.Spec.ClaimRef.UID, "SCHED-131: the reservation is completed")
	require.Empty(t, r.bindings[1].pv.Annotations, "SCHED-131: but it is the user's")
	require.Equal(t, "n1", r.provisions[0].Annotations["volume.kubernetes.io/selected-node"], "SCHED-001, SCHED-142")

	assumed, _ := f.volumes.get("v1")
	require.Equal(t, "c", assumed.Spec.ClaimRef.Name, "SCHED-132: later cycles see it")
	stored, _ := f.inf.volumes.Get("v1")
	require.Nil(t, stored.Spec.ClaimRef, "SCHED-132: not the stored volume")

	// Another pod with the claim goes to the node for which the claim will be provisioned.
	other := fake.Pod("q", fake.Claims("e"))
	other.Spec.NodeSelector = map[string]string{corev1.LabelHostname: "n2"}
	node, why, _ = f.find(other)
	require.Empty(t, node, "SCHED-136")
	require.Contains(t, why, "didn't find available persistent volumes to bind", "SCHED-136")
	other.Spec.NodeSelector = nil
	node, _, _ = f.find(other)
	require.Equal(t, "n1", node, "SCHED-136")

	f.unreserve(r)
	assumed, _ = f.volumes.get("v1")
	require.Nil(t, assumed.Spec.ClaimRef, "SCHED-135")
	undecided, _ := f.claims.get("default/e")
	require.Empty(t, undecided.Annotations, "SCHED-135")
}

func TestReserveNothing(t *testing.T) {
	pod := fake.Pod("p", fake.Claims("c"))
	f := newFixture(t, Config{}, fake.Node("n1"), boundClaim("c", "v"), fake.Volume("v", "1Gi"))
	_, _, c := f.find(pod)
	r, err := f.reserve(pod, "n1", claimKeysOf(pod), c.found["n1"])
	require.NoError(t, err)
	require.True(t, r.allBound, "SCHED-130")
}

func TestReserveOutOfSync(t *testing.T) {
	pod := fake.Pod("p", fake.Claims("c", "d"))
	f := newFixture(t, Config{}, fake.Node("n1"), waitClass("x"), free("v1", "1Gi"), waitingClaim("c", "1Gi"), waitingClaim("d", "2Gi"))
	_, _, c := f.find(pod)
	decided := c.found["n1"].provisions[0].ResourceVersion
	f.load(waitingClaim("d", "2Gi", fake.Labels("a", "b")))
	now, _ := f.inf.claims.Get("default/d")
	_, err := f.reserve(pod, "n1", claimKeysOf(pod), c.found["n1"])
	require.EqualError(t, err, `"default/d" is out of sync (stored: `+now.ResourceVersion+`, assume: `+decided+`)`, "SCHED-133")
	assumed, _ := f.volumes.get("v1")
	require.Nil(t, assumed.Spec.ClaimRef, "SCHED-133: what was assumed before is taken back")
	require.Error(t, f.claims.assume(waitingClaim("nosuch", "1Gi")), "SCHED-133: nor one that is gone")
}

func TestAssumeCache(t *testing.T) {
	f := newFixture(t, Config{}, waitingClaim("c", "1Gi"))
	stored, _ := f.inf.claims.Get("default/c")
	require.NoError(t, f.claims.assume(withNode(stored, "n1")))
	got, ok := f.claims.get("default/c")
	require.True(t, ok)
	require.Equal(t, "n1", got.Annotations[objects.AnnSelectedNode], "SCHED-134")
	f.claims.delivered(stored)
	got, _ = f.claims.get("default/c")
	require.Equal(t, "n1", got.Annotations[objects.AnnSelectedNode], "SCHED-134: the same version again changes nothing")
	f.load(waitingClaim("c", "1Gi", fake.Labels("a", "b")))
	got, _ = f.claims.get("default/c")
	require.Empty(t, got.Annotations, "SCHED-134: another version ends it, whichever")
	newer, _ := f.inf.claims.Get("default/c")
	f.claims.delivered(newer)
	require.Empty(t, f.claims.assumed, "SCHED-134")
	require.NoError(t, f.claims.assume(withNode(newer, "n1")))
	f.claims.restore(stored)
	require.NotEmpty(t, f.claims.assumed, "SCHED-135: what was assumed on a newer version stays")
	f.claims.restore(newer)
	require.Empty(t, f.claims.assumed, "SCHED-135")
	require.NoError(t, f.claims.assume(withNode(newer, "n1")))
	f.claims.deleted(newer)
	require.Empty(t, f.claims.assumed, "SCHED-134: deleted")
}

// TestCandidates: a cycle collects its candidate volumes once, assumed versions included.
func TestCandidates(t *testing.T) {
	f := newFixture(t, Config{}, fake.Node("n1"), waitClass("x"), free("v1", "1Gi"), free("v2", "2Gi"), waitingClaim("c", "1Gi"))
	pv, _ := f.inf.volumes.Get("v1")
	bound, changed := withClaim(pv, waitingClaim("other", "1Gi"))
	require.True(t, changed)
	require.NoError(t, f.volumes.assume(bound))
	_, _, c := f.find(fake.Pod("p", fake.Claims("c")))
	require.Equal(t, "v2", c.found["n1"].bindings[0].pv.Name, "SCHED-052: the other one is taken, if only in memory")
}

// TestPreemptionOfHolders: who holds a claim for one pod goes for one that is more important.
func TestPreemptionOfHolders(t *testing.T) {
	pod := with(fake.Pod("p", fake.Claims("c")), priority(10))
	shared := objs{fake.Node("n1"), fake.Node("n2"), boundClaim("c", "v", fake.Modes("RWOP")), fake.Volume("v", "1Gi")}
	for _, tc := range []struct {
		name   string
		holder *corev1.Pod
		want   string
	}{
		{"less important", with(fake.Pod("h", fake.OnNode("n2"), fake.Claims("c")), priority(5)), ""},
		{"as important", with(fake.Pod("h", fake.OnNode("n2"), fake.Claims("c")), priority(10)),
			"no new claims to deallocate, preemption: 0/2 nodes are available: 2 No preemption victims found for incoming pod."},
	} {
		all := append(append(objs{}, shared...), tc.holder)
		f := newFixture(t, Config{}, all...)
		f.onNodes(all...)
		c := newCycle(f.lookups(), pod)
		var d *fitError
		f.actor.Go("test", func(p *engine.Process) {
			_, err := f.findNode(p, c)
			d = err.(*fitError)
		})
		f.engine.Advance(0)
		nominate := f.postFilter(c, &d.diagnosis)
		require.Equal(t, tc.want, d.diagnosis.after, "SCHED-186, SCHED-234: %s", tc.name)
		if tc.want == "" {
			require.Equal(t, "n2", *nominate, "SCHED-186: %s", tc.name)
		}
	}
	// The count decreases for the name of a claim, in any namespace.
	r := podRestrictions{single: []string{"c"}, inUse: 1}
	require.Zero(t, r.without(fake.Pod("elsewhere/h", fake.Claims("c"))).inUse, "SCHED-186")
	require.Equal(t, 1, r.without(fake.Pod("h", fake.Claims("d"))).inUse, "SCHED-186")
	require.Equal(t, 2, r.with(fake.Pod("h", fake.Claims("c"))).inUse, "SCHED-188")
}

// TestExpectedPods: a pod that a node was cleared for counts there as if it had come, also for claims that one pod at a time may use.
func TestExpectedPods(t *testing.T) {
	for _, tc := range []struct {
		rule, name string
		expected   int32 // the priority of the pod that is nominated
		want       string
	}{
		{"SCHED-188", "it has the claim", 20, ""},
		{"SCHED-188", "it is less important", 5, "n1"},
	} {
		f := newFixture(t, Config{}, fake.Node("n1"), boundClaim("c", "v", fake.Modes("RWOP")), fake.Volume("v", "1Gi"))
		f.nominate(with(fake.Pod("first", fake.Claims("c")),
			func(p *corev1.Pod) { p.Spec.Priority, p.Status.NominatedNodeName = &tc.expected, "n1" }))
		// Its disk makes the plugin examine the node: no other pod uses the claim yet (SCHED-182).
		node, _, _ := f.find(with(with(fake.Pod("p", fake.Claims("c")), inline(gce("disk", true))), priority(10)))
		require.Equal(t, tc.want, node, "%s: %s", tc.rule, tc.name)
	}
}

// TestPreemptionFails: the pod's message names the failure on the only node where preemption could help.
func TestPreemptionFails(t *testing.T) {
	stranger := with(fake.Pod("s", fake.OnNode("n1"), fake.Ephemeral("own", "1Gi", "wait")), priority(50))
	all := objs{fake.Node("n1"), waitClass("d"), csiNode("n1", map[string]int32{"d": 5}), fake.Claim("s-own", "1Gi", fake.InClass("wait")),
		boundClaim("c", "v", fake.Modes("RWOP")), fake.Volume("v", "1Gi", fake.CSISource("d", "v")), stranger,
		with(fake.Pod("h", fake.OnNode("n1"), fake.Claims("c")), priority(5))}
	f := newFixture(t, Config{}, all...)
	f.onNodes(all...)
	_, why, _ := f.find(with(fake.Pod("p", fake.Claims("c")), priority(10)))
	require.Equal(t, "0/1 nodes are available: 1 "+reasonPodConflict+`. preemption: running "NodeVolumeLimits" filter plugin: `+
		"PVC default/s-own was not created for pod default/s (pod is not owner)", why, "SCHED-241")
}

// TestOutOfReach: what a wait for volumes ends with when the node does not reach one.
func TestOutOfReach(t *testing.T) {
	const cannot = `for 'Gt', 'Lt' operators, the value must be an integer`
	for _, tc := range []struct {
		rule, name string
		term       corev1.NodeSelectorTerm
		want       string
	}{
		{"SCHED-154", "other labels", expression("rack", corev1.NodeSelectorOpGt, "5"), "no matching NodeSelectorTerms"},
		{"SCHED-154", "a term that makes no sense", expression("rack", corev1.NodeSelectorOpGt, "x"),
			`nodeSelectorTerms[0].matchExpressions[0].values[0]: Invalid value: "x": ` + cannot},
	} {
		err := outOfReach(with(fake.Volume("v", "1Gi"), affine(tc.term)), fake.Node("n1"))
		require.EqualError(t, err, `pv "v" node affinity doesn't match node "n1": `+tc.want, "%s: %s", tc.rule, tc.name)
	}
}
