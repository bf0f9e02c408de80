package schedule

import (
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"

	"github.com/volsim/volsim/fake"
)

// TestLimits: whether a pod fits on node n1, where driver d attaches up to 2 volumes unless the objects say otherwise.
func TestLimits(t *testing.T) {
	const full = "node(s) exceed max volume count"
	volume := func(name string) *corev1.PersistentVolume {
		return fake.Volume(name, "1Gi", fake.CSISource("d", "h-"+name))
	}
	held := objs{volume("a"), boundClaim("a", "a"), volume("b"), boundClaim("b", "b"), volume("c"), boundClaim("c", "c")}
	pod := fake.Pod("p", fake.Claims("c"))
	limit := csiNode("n1", map[string]int32{"d": 2})
	on := func(name string, claims ...string) *corev1.Pod {
		return fake.Pod(name, fake.OnNode("n1"), fake.Claims(claims...))
	}
	for _, tc := range []struct {
		rule, name string
		objs       objs
		pod        *corev1.Pod
		want       string
	}{
		{"SCHED-210", "no volumes", objs{csiNode("n1", map[string]int32{"d": 0})}, fake.Pod("p"), ""},
		{"SCHED-211", "the claim is missing", objs{limit}, fake.Pod("p", fake.Claims("nosuch")),
			`looking up PVC default/nosuch: persistentvolumeclaim "nosuch" not found`},
		{"SCHED-045", "the claim is of another pod", objs{limit, fake.Claim("p-s", "1Gi")}, fake.Pod("p", fake.Ephemeral("s", "1Gi", "wait")),
			`running "NodeVolumeLimits" filter plugin: PVC default/p-s was not created for pod default/p (pod is not owner)`},
		{"SCHED-212", "the volume is counted", append(objs{limit, on("q", "a"), on("r", "b")}, held...), pod, full},
		{"SCHED-212", "a claim without volume counts for its class",
			append(objs{limit, on("q", "a"), on("r", "b"), waitClass("d"), waitingClaim("w", "1Gi")}, held...),
			fake.Pod("p", fake.Claims("w")), full},
		{"SCHED-212", "so does one whose volume is gone",
			objs{csiNode("n1", map[string]int32{"d": 0}), waitClass("d"), boundClaim("w", "gone", fake.InClass("wait"))},
			fake.Pod("p", fake.Claims("w")), full},
		{"SCHED-212", "one without class does not", objs{csiNode("n1", map[string]int32{"d": 0}), fake.Claim("w", "1Gi")},
			fake.Pod("p", fake.Claims("w")), ""},
		{"SCHED-212", "nor one that is no CSI volume",
			objs{csiNode("n1", map[string]int32{"d": 0}), fake.Volume("v", "1Gi"), boundClaim("w", "v")}, fake.Pod("p", fake.Claims("w")), ""},
		{"SCHED-212", "but one of a plugin that the driver replaced", objs{csiNode("n1", map[string]int32{"ebs.csi.aws.com": 0}),
			with(fake.Volume("v", "1Gi"), func(pv *corev1.PersistentVolume) {
				pv.Spec.PersistentVolumeSource = corev1.PersistentVolumeSource{
					AWSElasticBlockStore: &corev1.AWSElasticBlockStoreVolumeSource{VolumeID: "vol-1"}}
			}), boundClaim("w", "v")}, fake.Pod("p", fake.Claims("w")), full},
		{"SCHED-212", "a class of such a plugin", objs{csiNode("n1", map[string]int32{"ebs.csi.aws.com": 0}), waitClass("kubernetes.io/aws-ebs"),
			waitingClaim("w", "1Gi")}, fake.Pod("p", fake.Claims("w")), full},
		{"SCHED-210, SCHED-212", "its source in the pod", objs{csiNode("n1", map[string]int32{"pd.csi.storage.gke.io": 0})},
			with(fake.Pod("p"), inline(corev1.VolumeSource{GCEPersistentDisk: &corev1.GCEPersistentDiskVolumeSource{PDName: "d"}})), full},
		{"SCHED-212", "not those of vSphere", objs{csiNode("n1", map[string]int32{"csi.vsphere.vmware.com": 0})},
			with(fake.Pod("p"), inline(corev1.VolumeSource{VsphereVolume: &corev1.VsphereVirtualDiskVolumeSource{VolumePath: "p"}})), ""},
		{"SCHED-213", "the limit is unknown", append(objs{on("q", "a"), on("r", "b")}, held...), pod, ""},
		{"SCHED-214", "two pods, one volume", append(objs{limit, on("q", "a"), on("r", "a")}, held...), pod, ""},
		{"SCHED-214", "a claim that is missing is not counted", append(objs{limit, on("q", "a"), on("r", "nosuch")}, held...), pod, ""},
		{"SCHED-214", "attachments count", append(objs{limit, attachment("x", "d", "n1", "a"), attachment("y", "d", "n1", "b")}, held...),
			pod, full},
		{"SCHED-214", "to this node", append(objs{limit, attachment("x", "d", "n1", "a"), attachment("y", "d", "n2", "b")}, held...), pod, ""},
		{"SCHED-214", "but not again for a pod's volume", append(objs{limit, on("q", "a"), attachment("x", "d", "n1", "a")}, held...), pod, ""},
		{"SCHED-215", "the volume is there for another pod", append(objs{limit, on("q", "a"), on("r", "c")}, held...), pod, ""},
		{"SCHED-215, ATT-191", "its own attachment is counted twice",
			append(objs{limit, on("q", "a"), attachment("x", "d", "n1", "c")}, held...), pod, full},
		{"SCHED-216", "zero is a limit", append(objs{csiNode("n1", map[string]int32{"d": 0})}, held...), pod, full},
		{"SCHED-216", "no count is none", append(objs{csiNode("n1", map[string]int32{"d": -1}), on("q", "a"), on("r", "b")}, held...), pod, ""},
		{"SCHED-217", "another driver", append(objs{csiNode("n1", map[string]int32{"e": 0}), on("q", "a"), on("r", "b")}, held...), pod, ""},
		{"SCHED-218", "a volume that the driver makes for the pod", objs{csiNode("n1", map[string]int32{"d": 0})},
			with(fake.Pod("p"), inline(corev1.VolumeSource{CSI: &corev1.CSIVolumeSource{Driver: "d"}})), ""},
	} {
		t.Run(tc.rule+" "+tc.name, func(t *testing.T) {
			node := fake.Node("n1")
			f := newFixture(t, Config{}, tc.objs...)
			f.onNodes(tc.objs...)
			c := newCycle(f.lookups(), tc.pod)
			c.preFilterLimits()
			c.binding.skip, c.restrictions.skip = true, true
			csiNode, _ := f.look.csiNode("n1")
			slot := &nodeSlot{csiNode: csiNode, limits: limitsOf(csiNode)}
			slot.set(node, 0)
			f.pods.move("n1", &slot.pods)
			s := c.filter(f.state(slot))
			got := s.message()
			if s.err != nil {
				got = s.err.Error()
			}
			if got != tc.want {
				t.Errorf("filter(%s) by %s = %q, want %q", tc.pod.Name, tc.rule, got, tc.want)
			}
		})
	}
}

// TestDisks is SCHED-185.
func TestDisks(t *testing.T) {
	ebs := func(id string) corev1.VolumeSource {
		return corev1.VolumeSource{AWSElasticBlockStore: &corev1.AWSElasticBlockStoreVolumeSource{VolumeID: id, ReadOnly: true}}
	}
	iscsi := func(iqn, portal string, ro bool) corev1.VolumeSource {
		return corev1.VolumeSource{ISCSI: &corev1.ISCSIVolumeSource{IQN: iqn, TargetPortal: portal, ReadOnly: ro}}
	}
	rbd := func(image string, ro bool, monitors ...string) corev1.VolumeSource {
		return corev1.VolumeSource{RBD: &corev1.RBDVolumeSource{CephMonitors: monitors, RBDPool: "p", RBDImage: image, ReadOnly: ro}}
	}
	for _, tc := range []struct {
		name string
		a, b corev1.VolumeSource
		want bool
	}{
		{"GCE: one writes", gce("d", true), gce("d", false), true},
		{"GCE: both read", gce("d", true), gce("d", true), false},
		{"GCE: two disks", gce("d", false), gce("e", false), false},
		{"EBS: even for reading", ebs("v"), ebs("v"), true},
		{"iSCSI: the portal does not matter", iscsi("i", "a", false), iscsi("i", "b", true), true},
		{"iSCSI: both read", iscsi("i", "a", true), iscsi("i", "a", true), false},
		{"RBD: a monitor in common", rbd("i", false, "a", "b"), rbd("i", true, "b", "c"), true},
		{"RBD: none in common", rbd("i", false, "a"), rbd("i", false, "b"), false},
		{"RBD: another image", rbd("i", false, "a"), rbd("j", false, "a"), false},
		{"two sorts", gce("d", false), ebs("d"), false},
	} {
		a, b := with(fake.Pod("a"), inline(tc.a)), with(fake.Pod("b"), inline(tc.b))
		require.Equal(t, tc.want, disksConflict(a, b), "SCHED-185: %s", tc.name)
		require.Equal(t, tc.want, disksConflict(b, a), "SCHED-185: %s, the other way", tc.name)
	}
}

// TestFilterOther: what keeps a pod off a node besides its volumes.
func TestFilterOther(t *testing.T) {
	taints := func(taints ...corev1.Taint) func(*corev1.Node) {
		return func(n *corev1.Node) { n.Spec.Taints = taints }
	}
	tolerates := func(t corev1.Toleration) func(*corev1.Pod) {
		return func(p *corev1.Pod) { p.Spec.Tolerations = []corev1.Toleration{t} }
	}
	dedicated := corev1.Taint{Key: "dedicated", Value: "db", Effect: corev1.TaintEffectNoSchedule}
	large := with(fake.Node("n1"), allocatable("cpu", "2", "memory", "4Gi", "pods", "2"))
	for _, tc := range []struct {
		name string
		node *corev1.Node
		pod  *corev1.Pod
		on   []*corev1.Pod
		want string
		code code
	}{
		{"a taint", with(fake.Node("n1"), taints(dedicated)), fake.Pod("p"), nil, reasonTaint, unresolvable},
		{"a taint that is tolerated", with(fake.Node("n1"), taints(dedicated)),
			with(fake.Pod("p"), tolerates(corev1.Toleration{Key: "dedicated", Value: "db"})), nil, "", success},
		{"another value", with(fake.Node("n1"), taints(dedicated)),
			with(fake.Pod("p"), tolerates(corev1.Toleration{Key: "dedicated", Value: "web"})), nil, reasonTaint, unresolvable},
		{"all are tolerated", with(fake.Node("n1"), taints(dedicated)),
			with(fake.Pod("p"), tolerates(corev1.Toleration{Operator: corev1.TolerationOpExists})), nil, "", success},
		{"a taint that only discourages", with(fake.Node("n1"), taints(corev1.Taint{Key: "k", Effect: corev1.TaintEffectPreferNoSchedule})),
			fake.Pod("p"), nil, "", success},
		{"a node selector", fake.Node("n1"),
			with(fake.Pod("p"), func(p *corev1.Pod) { p.Spec.NodeSelector = map[string]string{"disk": "ssd"} }), nil, reasonAffinity, unresolvable},
		{"the name of a node", fake.Node("n1"), with(fake.Pod("p"), wants("metadata.name", "n2")), nil, reasonAffinity, unresolvable},
		{"the name of this node", fake.Node("n1"), with(fake.Pod("p"), wants("metadata.name", "n1")), nil, "", success},
		{"a taken port", fake.Node("n1"), withPort("p", 80, ""), []*corev1.Pod{withPort("q", 80, "")}, reasonPorts, unschedulable},
		{"another port", fake.Node("n1"), withPort("p", 80, ""), []*corev1.Pod{withPort("q", 81, "")}, "", success},
		{"no room", large, requesting("p", "1", "1Gi"), []*corev1.Pod{requesting("q", "1500m", "1Gi")}, "Insufficient cpu", unschedulable},
		{"never room", large, requesting("p", "3", "8Gi"), nil, "Insufficient cpu, Insufficient memory", unresolvable},
		{"too many", large, fake.Pod("p"), []*corev1.Pod{fake.Pod("q"), fake.Pod("r")}, "Too many pods", unschedulable},
		{"a node that does not say", fake.Node("n1"), requesting("p", "100", "1Ti"), nil, "", success},
		{"room", large, requesting("p", "500m", "1Gi"), []*corev1.Pod{requesting("q", "1500m", "1Gi")}, "", success},
	} {
		f := newFixture(t, Config{})
		c := newCycle(f.lookups(), tc.pod)
		require.Equal(t, success, c.preFilter().code)
		at := newNodeState(tc.node, tc.on)
		s := c.filter(&at)
		require.Equal(t, tc.want, s.message(), "SCHED-024: %s", tc.name)
		require.Equal(t, tc.code, s.code, "SCHED-024: %s", tc.name)
	}
}
