package schedule

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"

	"github.com/volsim/volsim/api"
	"github.com/volsim/volsim/fake"
)

// TestHints: whether a change requeues a pod that the plugin rejected.
func TestHints(t *testing.T) {
	pod := fake.Pod("p", uid("p"), fake.Claims("c"))
	scratch := fake.Pod("p", fake.Ephemeral("s", "1Gi", "wait"))
	withCSI := with(fake.Pod("p"), inline(corev1.VolumeSource{CSI: &corev1.CSIVolumeSource{Driver: "d"}}))
	disk := with(fake.Pod("p"), inline(gce("d", false)))
	add := func(obj api.Object) change { return change{kind: api.KindOf(obj), what: added, new: obj} }
	update := func(old, obj api.Object) change {
		return change{kind: api.KindOf(obj), what: updated, old: old, new: obj}
	}
	remove := func(obj api.Object) change { return change{kind: api.KindOf(obj), what: deleted, old: obj} }
	marked := fake.Node("n", fake.Labels("a", "b"))
	near, away := affinity(labeled("near", "", "b"), to("a", host)), exclusion(labeled("away", "", "b"), to("a", host))
	even := spread(labeled("even", "", "a"), nil)
	honoring := spread(labeled("even", "", "a"), func(c *corev1.TopologySpreadConstraint) { c.NodeTaintsPolicy = new(corev1.NodeInclusionPolicyHonor) })
	now := fake.Class("now", "x")
	zonal := fake.Volume("v", "1Gi", fake.Labels(gaZone, "z1"))
	tolerant := with(fake.Pod("p", uid("p"), fake.Claims("c")), func(p *corev1.Pod) {
		p.Spec.Tolerations = []corev1.Toleration{{Operator: corev1.TolerationOpExists}}
	})
	cordonedNode := with(fake.Node("n"), func(n *corev1.Node) { n.Spec.Unschedulable = true })
	tainted := with(fake.Node("n"), func(n *corev1.Node) { n.Spec.Taints = []corev1.Taint{{Key: "k", Effect: corev1.TaintEffectNoSchedule}} })
	small, large := with(fake.Node("n"), allocatable("cpu", "1")), with(fake.Node("n"), allocatable("cpu", "4"))
	hungry := requesting("p", "2", "1Gi")
	for _, tc := range []struct {
		rule, name, plugin string
		pod                *corev1.Pod
		change             change
		want               bool
	}{
		{"SCHED-260", "the pod's claim", volumeBinding, pod, update(fake.Claim("c", "1Gi"), fake.Claim("c", "2Gi")), true},
		{"SCHED-260", "its ephemeral claim", volumeBinding, scratch, add(fake.Claim("p-s", "1Gi")), true},
		{"SCHED-260", "another claim", volumeBinding, pod, add(fake.Claim("d", "1Gi")), false},
		{"SCHED-260", "another namespace", volumeBinding, pod, add(fake.Claim("other/c", "1Gi")), false},
		{"SCHED-261", "any volume", volumeBinding, pod, add(fake.Volume("v", "1Gi")), true},
		{"SCHED-261", "changed in any way", volumeBinding, pod, update(fake.Volume("v", "1Gi"), zonal), true},
		{"SCHED-262", "a node", volumeBinding, pod, add(marked), true},
		{"SCHED-262", "its labels", volumeBinding, pod, update(fake.Node("n"), marked), true},
		{"SCHED-262", "not its room", volumeBinding, pod, update(small, large), false},
		{"SCHED-263", "a class", volumeBinding, pod, add(now), true},
		{"SCHED-263", "its topologies", volumeBinding, pod, update(waitClass("x"), topology(waitClass("x"), values("a", "b"))), true},
		{"SCHED-263", "nothing else of it", volumeBinding, pod, update(waitClass("x"), waitClass("x", fake.Expandable())), false},
		{"SCHED-264", "a CSINode", volumeBinding, pod, add(csiNode("n", nil)), true},
		{"SCHED-264", "its drivers", volumeBinding, pod, update(csiNode("n", nil), csiNode("n", map[string]int32{"d": 1})), false},
		{"SCHED-013", "the plugins that were taken over", volumeBinding, pod,
			update(csiNode("n", nil), with(csiNode("n", nil), func(n *storagev1.CSINode) {
				n.Annotations = map[string]string{"storage.alpha.kubernetes.io/migrated-plugins": "kubernetes.io/gce-pd"}
			})), true},
		{"SCHED-265", "a capacity", volumeBinding, pod, add(capacity("a/c", "1Gi", "", nil)), true},
		{"SCHED-265", "that grew", volumeBinding, pod, update(capacity("a/c", "1Gi", "", nil), capacity("a/c", "2Gi", "", nil)), true},
		{"SCHED-265", "that is known now", volumeBinding, pod, update(capacity("a/c", "", "", nil), capacity("a/c", "2Gi", "", nil)), true},
		{"SCHED-265", "that shrank", volumeBinding, pod, update(capacity("a/c", "2Gi", "", nil), capacity("a/c", "1Gi", "", nil)), false},
		{"SCHED-266", "a driver stopped to track, for a pod with claims", volumeBinding, pod, update(driver("d", true), driver("d", false)),
			false},
		{"SCHED-266", "for a pod that names it", volumeBinding, withCSI, update(driver("d", true), driver("d", false)), true},
		{"SCHED-266", "it started to", volumeBinding, withCSI, update(driver("d", false), driver("d", true)), false},
		{"SCHED-266", "a new driver", volumeBinding, withCSI, add(driver("d", false)), false},
		{"SCHED-267", "the holder is gone", volumeRestrictions, pod, remove(fake.Pod("h", fake.Claims("c"))), true},
		{"SCHED-267", "in another namespace", volumeRestrictions, pod, remove(fake.Pod("other/h", fake.Claims("c"))), false},
		{"SCHED-267", "the disk is free", volumeRestrictions, disk, remove(with(fake.Pod("h"), inline(gce("d", true)))), true},
		{"SCHED-267", "another pod", volumeRestrictions, pod, remove(fake.Pod("h", fake.Claims("d"))), false},
		{"SCHED-268", "the claim is there", volumeRestrictions, pod, add(fake.Claim("c", "1Gi")), true},
		{"SCHED-278", "it changed", volumeRestrictions, pod, update(fake.Claim("c", "1Gi"), fake.Claim("c", "2Gi")), false},
		{"SCHED-278", "VolumeBinding would be notified", volumeBinding, scratch, update(fake.Claim("p-s", "1Gi"), fake.Claim("p-s", "2Gi")), true},
		{"SCHED-268", "not one of an ephemeral volume", volumeRestrictions, scratch, add(fake.Claim("p-s", "1Gi")), false},
		{"SCHED-268", "a node", volumeRestrictions, pod, add(marked), true},
		{"SCHED-268", "its labels", volumeRestrictions, pod, update(fake.Node("n"), marked), false},
		{"SCHED-269", "a class that waits", volumeZone, pod, add(waitClass("x")), true},
		{"SCHED-269", "one that does not", volumeZone, pod, add(now), false},
		{"SCHED-270", "the claim", volumeZone, pod, update(fake.Claim("c", "1Gi"), fake.Claim("c", "2Gi")), true},
		{"SCHED-270", "not an ephemeral one", volumeZone, scratch, add(fake.Claim("p-s", "1Gi")), false},
		{"SCHED-271", "a volume", volumeZone, pod, add(zonal), true},
		{"SCHED-271", "its zone", volumeZone, pod, update(fake.Volume("v", "1Gi"), zonal), true},
		{"SCHED-271", "not its size", volumeZone, pod, update(zonal, fake.Volume("v", "2Gi", fake.Labels(gaZone, "z1"))), false},
		{"SCHED-272", "a node", volumeZone, pod, add(fake.Node("n")), true},
		{"SCHED-272", "its labels", volumeZone, pod, update(fake.Node("n"), marked), true},
		{"SCHED-272", "not its room", volumeZone, pod, update(small, large), false},
		{"SCHED-279", "its taints", volumeBinding, pod, update(tainted, fake.Node("n")), true},
		{"SCHED-279", "a taint more", volumeZone, pod, update(fake.Node("n"), tainted), true},
		{"SCHED-279", "of whatever sort", volumeRestrictions, pod, update(tainted, fake.Node("n")), true},
		{"SCHED-279", "it is open again", volumeBinding, pod, update(cordonedNode, fake.Node("n")), true},
		{"SCHED-279", "it is cordoned", volumeBinding, pod, update(fake.Node("n"), cordonedNode), false},
		{"SCHED-279", "for one that asks for labels", nodeAffinity, pod, update(fake.Node("n"), tainted), true},
		{"SCHED-279", "for one that asks for room", nodeResourcesFit, hungry, update(fake.Node("n"), tainted), true},
		{"SCHED-279", "no reaction to nodes at all", nodeVolumeLimits, pod, update(tainted, fake.Node("n")), false},
		{"SCHED-273", "a CSINode", nodeVolumeLimits, pod, add(csiNode("n", nil)), true},
		{"SCHED-273", "its limit grew", nodeVolumeLimits, pod,
			update(csiNode("n", map[string]int32{"d": 1}), csiNode("n", map[string]int32{"d": 2})), true},
		{"SCHED-273", "none is zero", nodeVolumeLimits, pod,
			update(csiNode("n", map[string]int32{"d": 1}), csiNode("n", map[string]int32{"d": -1})), false},
		{"SCHED-274", "a pod with volumes left its node", nodeVolumeLimits, pod, remove(fake.Pod("h", fake.OnNode("n"), fake.Claims("d"))), true},
		{"SCHED-274", "it had no node", nodeVolumeLimits, pod, remove(fake.Pod("h", fake.Claims("d"))), false},
		{"SCHED-274", "it was nominated", nodeVolumeLimits, pod,
			remove(with(fake.Pod("h", fake.Claims("d")), func(p *corev1.Pod) { p.Status.NominatedNodeName = "n" })), true},
		{"SCHED-274", "it had no volumes", nodeVolumeLimits, pod, remove(fake.Pod("h", fake.OnNode("n"))), false},
		{"SCHED-275", "the claim", nodeVolumeLimits, scratch, add(fake.Claim("p-s", "1Gi")), true},
		{"SCHED-275", "changed", nodeVolumeLimits, pod, update(fake.Claim("c", "1Gi"), fake.Claim("c", "2Gi")), false},
		{"SCHED-276", "an attachment is gone", nodeVolumeLimits, pod, remove(attachment("a", "d", "n", "v")), true},
		{"SCHED-276", "for a pod without claims by name", nodeVolumeLimits, scratch, remove(attachment("a", "d", "n", "v")), false},
		{"SCHED-274", "it had a disk that a CSI driver took over", nodeVolumeLimits, pod,
			remove(with(fake.Pod("h", fake.OnNode("n")), inline(gce("d", true)))), true},
		{"SCHED-276", "for a pod with a disk of that driver", nodeVolumeLimits, disk,
			remove(attachment("a", "pd.csi.storage.gke.io", "n", "v")), true},
		{"SCHED-276", "of another driver", nodeVolumeLimits, disk, remove(attachment("a", "d", "n", "v")), false},
		{"SCHED-277", "a volume is gone", volumeBinding, pod, remove(fake.Volume("v", "1Gi")), false},
		{"SCHED-277", "the claim is gone", volumeBinding, pod, remove(fake.Claim("c", "1Gi")), false},
		{"SCHED-277", "a node is gone", volumeZone, pod, remove(fake.Node("n")), false},
		{"SCHED-277", "a class is gone", volumeZone, pod, remove(waitClass("x")), false},
		{"SCHED-277", "a capacity is gone", volumeBinding, pod, remove(capacity("a/c", "1Gi", "", nil)), false},
		{"SCHED-251", "opened again", nodeUnschedulable, pod, update(cordonedNode, fake.Node("n")), true},
		{"SCHED-251", "a closed node", nodeUnschedulable, pod, add(cordonedNode), false},
		{"SCHED-255", "the pod tolerates it", nodeUnschedulable, pod, update(pod, tolerant), true},
		{"SCHED-251", "the taint is off", taintToleration, pod, update(tainted, fake.Node("n")), true},
		{"SCHED-251", "still tainted", taintToleration, pod,
			update(tainted, with(fake.Node("n", fake.Labels("a", "b")), func(n *corev1.Node) { n.Spec.Taints = tainted.Spec.Taints })), false},
		{"SCHED-255", "the pod tolerates it", taintToleration, pod, update(pod, tolerant), true},
		{"SCHED-255", "another pod does", taintToleration, fake.Pod("q", uid("q")), update(pod, tolerant), false},
		{"SCHED-251", "the label that it asks for", nodeAffinity,
			with(fake.Pod("p"), func(p *corev1.Pod) { p.Spec.NodeSelector = map[string]string{"a": "b"} }), update(fake.Node("n"), marked), true},
		{"SCHED-317", "its port is free", nodePorts, withPort("p", 80, ""), remove(onNode(withPort("h", 80, ""), "n")), true},
		{"SCHED-317", "another port is", nodePorts, withPort("p", 80, ""), remove(onNode(withPort("h", 81, ""), "n")), false},
		{"SCHED-317", "of a pod without a node", nodePorts, withPort("p", 80, ""), remove(withPort("h", 80, "")), false},
		{"SCHED-317", "a node", nodePorts, withPort("p", 80, ""), add(fake.Node("n")), true},
		{"SCHED-317", "its labels", nodePorts, withPort("p", 80, ""), update(fake.Node("n"), marked), false},
		{"SCHED-279", "for one that needs a port", nodePorts, withPort("p", 80, ""), update(fake.Node("n"), tainted), true},
		{"SCHED-251", "a larger node", nodeResourcesFit, hungry, update(small, large), true},
		{"SCHED-251", "too small still", nodeResourcesFit, hungry, add(small), false},
		{"SCHED-251", "room was made", nodeResourcesFit, hungry, remove(fake.Pod("h", fake.OnNode("n"))), true},
		{"SCHED-251", "a pod made do with less", nodeResourcesFit, hungry,
			update(onNode(requesting("h", "2", "1Gi"), "n"), onNode(requesting("h", "1", "1Gi"), "n")), true},
		{"SCHED-297", "a pod that it wants to be near", interPodAffinity, near, add(labeled("a", "n", "a")), true},
		{"SCHED-297", "another pod", interPodAffinity, near, add(labeled("a", "n", "b")), false},
		{"SCHED-297", "a pod without a node", interPodAffinity, near, add(labeled("a", "", "a")), false},
		{"SCHED-297", "it got the label", interPodAffinity, near, update(labeled("a", "n", "b"), labeled("a", "n", "a")), true},
		{"SCHED-297", "the excluded pod lost its label", interPodAffinity, away, update(labeled("a", "n", "a"), labeled("a", "n", "b")), true},
		{"SCHED-297", "the labels are the same", interPodAffinity, away, update(labeled("a", "n", "a"), labeled("a", "m", "a")), false},
		{"SCHED-297", "its own label", interPodAffinity, near, update(near, labeled("near", "", "c")), true},
		{"SCHED-297", "the excluded pod is gone", interPodAffinity, away, remove(labeled("a", "n", "a")), true},
		{"SCHED-297", "a pod that excluded it is gone", interPodAffinity, labeled("p", "", "b"),
			remove(exclusion(labeled("a", "n", "a"), to("b", host))), true},
		{"SCHED-298", "a node with the label", interPodAffinity, near, add(fake.Node("n")), true},
		{"SCHED-298", "a node without it", interPodAffinity, affinity(labeled("p", "", "b"), to("a", gaZone)), add(fake.Node("n")), false},
		{"SCHED-298", "is good for anti-affinity", interPodAffinity, exclusion(labeled("p", "", "b"), to("a", gaZone)), add(fake.Node("n")), true},
		{"SCHED-298", "into another zone", interPodAffinity, affinity(labeled("p", "", "b"), to("a", gaZone)),
			update(zoned("n", "z1"), zoned("n", "z2")), true},
		{"SCHED-298", "another label", interPodAffinity, affinity(labeled("p", "", "b"), to("a", gaZone)),
			update(zoned("n", "z1"), fake.Node("n", fake.Labels(gaZone, "z1", "a", "b"))), false},
		{"SCHED-307", "a pod to be spread with", podTopologySpread, even, remove(labeled("a", "n", "a")), true},
		{"SCHED-307", "in another namespace", podTopologySpread, even, remove(labeled("other/a", "n", "a")), false},
		{"SCHED-307", "it got the label", podTopologySpread, even, update(labeled("a", "n", "b"), labeled("a", "n", "a")), true},
		{"SCHED-307", "another pod", podTopologySpread, even, add(labeled("a", "n", "b")), false},
		{"SCHED-307", "it tolerates a taint", podTopologySpread, honoring, update(honoring, with(honoring.DeepCopy(), func(p *corev1.Pod) {
			p.Spec.Tolerations = []corev1.Toleration{{Operator: corev1.TolerationOpExists}}
		})), true},
		{"SCHED-308", "a node", podTopologySpread, even, add(fake.Node("n")), true},
		{"SCHED-308", "a node is gone", podTopologySpread, even, remove(fake.Node("n")), true},
		{"SCHED-308", "its taints", podTopologySpread, even, update(fake.Node("n"), tainted), true},
		{"SCHED-308", "another label", podTopologySpread, even, update(fake.Node("n"), fake.Node("n", fake.Labels("a", "b"))), false},
	} {
		item := &queuedPod{pod: tc.pod, plugins: []string{tc.plugin}}
		if got := worthRetry(item, tc.change); got != tc.want {
			t.Errorf("%s: %s is notified of %v %s (%s): %v, want %v", tc.rule, tc.plugin, tc.change.what, tc.change.kind, tc.name, got, tc.want)
		}
		if got := Requeues(tc.plugin, tc.pod, tc.change.old, tc.change.new); got != tc.want {
			t.Errorf("%s: Requeues(%s, %s) = %v, want %v", tc.rule, tc.plugin, tc.name, got, tc.want)
		}
		item.plugins = nil
		if worthRetry(item, tc.change) {
			t.Errorf("SCHED-250: %s (%s) moved a pod that no plugin turned down", tc.plugin, tc.name)
		}
	}
}
