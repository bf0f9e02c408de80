package explain_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/volsim/volsim/attach"
	"github.com/volsim/volsim/explain"
	"github.com/volsim/volsim/fake"
	"github.com/volsim/volsim/internal/objects"
	"github.com/volsim/volsim/store"
)

const scheduler = "kube-scheduler"

func selected(node string) fake.Option { return fake.Annotations(objects.AnnSelectedNode, node) }

func tainted(node *corev1.Node, key string) *corev1.Node {
	node.Spec.Taints = append(node.Spec.Taints, corev1.Taint{Key: key, Value: "x", Effect: corev1.TaintEffectNoSchedule})
	return node
}

func labelled(node *corev1.Node, key, value string) *corev1.Node {
	node.Labels[key] = value
	return node
}

func ephemeral(name string) *corev1.Pod {
	return fake.Pod(name, fake.UID("uid-p"), fake.Ephemeral("scratch", "1Gi", "fast"))
}

func withCount(node string, count int32) *storagev1.CSINode {
	return &storagev1.CSINode{ObjectMeta: metav1.ObjectMeta{Name: node}, Spec: storagev1.CSINodeSpec{
		Drivers: []storagev1.CSINodeDriver{{Name: driver, NodeID: node, Allocatable: &storagev1.VolumeNodeResources{Count: &count}}}}}
}

func TestPodsWithoutANode(t *testing.T) {
	claim, pv := boundPair()
	_, local := boundPair(fake.FromNodes("n2"))
	_, zonal := boundPair(fake.Labels(corev1.LabelTopologyZone, "a"))
	single := with(claim.DeepCopy(), func(c *corev1.PersistentVolumeClaim) {
		c.Spec.AccessModes = []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOncePod}
	})
	late := fake.Class("late", driver, fake.WaitForFirstConsumer())
	static := fake.Class("static", "kubernetes.io/no-provisioner", fake.WaitForFirstConsumer())
	topology := with(fake.Class("late", driver, fake.WaitForFirstConsumer()), func(c *storagev1.StorageClass) {
		c.AllowedTopologies = []corev1.TopologySelectorTerm{{MatchLabelExpressions: []corev1.TopologySelectorLabelRequirement{{Key: "zone", Values: []string{"b"}}}}}
	})
	waiting := fake.Claim("data", "10Gi", fake.InClass("late"))
	yes := true
	counts := &storagev1.CSIDriver{ObjectMeta: metav1.ObjectMeta{Name: driver}, Spec: storagev1.CSIDriverSpec{StorageCapacity: &yes}}
	owned := func(uid string) *corev1.PersistentVolumeClaim {
		return with(fake.Claim("p-scratch", "1Gi", fake.InClass("fast")), func(c *corev1.PersistentVolumeClaim) {
			c.OwnerReferences = []metav1.OwnerReference{{APIVersion: "v1", Kind: "Pod", Name: "p", UID: "uid-" + "p", Controller: &yes}}
			if uid != "" {
				c.OwnerReferences = nil
			}
		})
	}
	greedy := with(user("p", ""), func(p *corev1.Pod) {
		p.Spec.Containers[0].Resources.Requests = corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("4")}
	})
	small := with(fake.Node("n1"), func(n *corev1.Node) {
		n.Status.Allocatable = corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("2")}
	})
	choosy := with(user("p", ""), func(p *corev1.Pod) { p.Spec.NodeSelector = map[string]string{"disk": "fast"} })
	disk := func(name, node string) *corev1.Pod {
		return with(user(name, node), func(p *corev1.Pod) {
			p.Spec.Volumes = []corev1.Volume{{Name: "d", VolumeSource: corev1.VolumeSource{AWSElasticBlockStore: &corev1.AWSElasticBlockStoreVolumeSource{VolumeID: "vol-1"}}}}
		})
	}
	for _, r := range []row{
		{rule: "SCHED-020", name: "a gate holds it", objs: []store.Object{with(user("p", ""), func(p *corev1.Pod) { p.Spec.SchedulingGates = []corev1.PodSchedulingGate{{Name: "wait"}} })}, actor: explain.Somebody},
		{rule: "SCHED-022", name: "there are no nodes", objs: []store.Object{user("p", "")}, actor: explain.Somebody},
		{rule: "SCHED-026", name: "there is a node", objs: []store.Object{user("p", ""), fake.Node("n1"), claim, pv}, when: explain.ByItself, actor: scheduler},
		{rule: "SCHED-163", name: "its claim is being provisioned", objs: []store.Object{user("p", ""), fake.Node("n1"), late, fake.Claim("data", "1Gi", fake.InClass("late"), selected("n1")), csiDriver()}, root: "BIND-057", when: explain.ByItself, actor: scheduler},
		{rule: "SCHED-024", name: "SCHED-024: the node is cordoned", objs: []store.Object{user("p", ""), with(fake.Node("n1"), func(n *corev1.Node) { n.Spec.Unschedulable = true }), claim, pv}, actor: explain.Somebody, candidate: "SCHED-024"},
		{rule: "SCHED-024", name: "SCHED-024: the node is tainted", objs: []store.Object{user("p", ""), tainted(fake.Node("n1"), "gpu"), claim, pv}, actor: explain.Somebody, candidate: "SCHED-024"},
		{rule: "SCHED-024", name: "SCHED-024: the node is not selected", objs: []store.Object{choosy, fake.Node("n1"), claim, pv}, actor: explain.Somebody, candidate: "SCHED-024"},
		{rule: "SCHED-024", name: "SCHED-024: the node is too small", objs: []store.Object{greedy, small, claim, pv}, actor: explain.Somebody, candidate: "SCHED-024"},
		{rule: "SCHED-041", name: "its claim is missing", objs: []store.Object{user("p", ""), fake.Node("n1")}, actor: explain.Somebody},
		{rule: "SCHED-042", name: "its ephemeral claim is not made yet", objs: []store.Object{ephemeral("p"), fake.Node("n1")}, when: explain.ByItself, actor: "ephemeral-volume-controller"},
		{rule: "SCHED-043", name: "its claim is Lost", objs: []store.Object{user("p", ""), fake.Node("n1"), fake.Claim("data", "1Gi", fake.Phase("Lost"), fake.VolumeName("gone"), fake.Annotations(objects.AnnBindCompleted, "yes"))}, root: "BIND-060b", actor: scheduler},
		{rule: "SCHED-044", name: "its claim is being deleted", objs: []store.Object{user("p", ""), fake.Node("n1"), deleting(fake.Claim("data", "1Gi"), objects.ClaimProtectionFinalizer), runs(user("q", "n1"))}, root: "PROT-026", actor: scheduler},
		{rule: "SCHED-045", name: "a claim of the name is not its own", objs: []store.Object{ephemeral("p"), fake.Node("n1"), with(owned("other"), func(c *corev1.PersistentVolumeClaim) {
			c.Spec.VolumeName, c.Annotations, c.UID, c.Status.Phase = "pv", map[string]string{objects.AnnBindCompleted: "yes"}, "c1", "Bound"
		}), pv}, actor: explain.Somebody},
		{rule: "SCHED-050", name: "its claim finds no volume", objs: []store.Object{user("p", ""), fake.Node("n1"), fake.Claim("data", "1Gi")}, root: "BIND-058", actor: scheduler},
		{rule: "SCHED-050", name: "its claim is about to be bound", objs: []store.Object{user("p", ""), fake.Node("n1"), fake.Claim("data", "1Gi"), available("v", "1Gi")}, root: "BIND-054", when: explain.ByItself, actor: scheduler},
		{rule: "SCHED-200", name: "its volume is gone", objs: []store.Object{user("p", ""), fake.Node("n1"), claim}, root: "BIND-060b", actor: scheduler},
		{rule: "SCHED-237", name: "SCHED-088: a malformed selector", objs: []store.Object{user("p", ""), fake.Node("n1"), late, available("v", "1Gi"), with(waiting.DeepCopy(), func(c *corev1.PersistentVolumeClaim) {
			c.Spec.Selector = &metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{{Key: "a", Operator: "Near"}}}
		}), available("v", "1Gi")}, root: "BIND-053", actor: scheduler},
		{rule: "SCHED-024", name: "SCHED-070: its claim goes to another node", objs: []store.Object{user("p", ""), with(fake.Node("n2"), func(n *corev1.Node) { n.Spec.Unschedulable = true }), fake.Node("n1"), late, fake.Claim("data", "1Gi", fake.InClass("late"), selected("n2"))}, root: "BIND-057", actor: explain.Somebody, candidate: "SCHED-070"},
		{rule: "SCHED-071", name: "its claim goes to a node that is gone", objs: []store.Object{user("p", ""), fake.Node("n1"), late, fake.Claim("data", "1Gi", fake.InClass("late"), selected("gone"))}, root: "BIND-057", actor: explain.Somebody, candidate: "SCHED-070"},
		{rule: "SCHED-071", name: "XPROV-026: the provisioner gives its claim back", objs: []store.Object{user("p", ""), fake.Node("n1"), late, csiDriver(), fake.Claim("data", "1Gi", fake.InClass("late"), selected("gone"))}, root: "BIND-057", when: explain.ByItself, actor: "external-provisioner/" + driver, candidate: "SCHED-070"},
		{rule: "SCHED-024", name: "SCHED-102: no local volume is left", objs: []store.Object{user("p", ""), fake.Node("n1"), static, fake.Claim("data", "10Gi", fake.InClass("static")), available("small", "1Gi", fake.InClass("static"))}, actor: explain.Somebody, candidate: "SCHED-102"},
		{rule: "SCHED-024", name: "SCHED-103: the class does not provision there", objs: []store.Object{user("p", ""), fake.Node("n1"), topology, waiting}, actor: explain.Somebody, candidate: "SCHED-103"},
		{rule: "SCHED-024", name: "SCHED-110: its volume is elsewhere", objs: []store.Object{user("p", ""), fake.Node("n1"), claim, local}, actor: explain.Somebody, candidate: "SCHED-110"},
		{rule: "SCHED-024", name: "SCHED-112: there is no room", objs: []store.Object{user("p", ""), fake.Node("n1"), late, waiting, counts}, actor: explain.Somebody, candidate: "SCHED-112"},
		{rule: "SCHED-024", name: "SCHED-113: the volume of its own claim is gone", objs: []store.Object{ephemeral("p"), fake.Node("n1"), with(owned(""), func(c *corev1.PersistentVolumeClaim) {
			c.Spec.VolumeName, c.Annotations = "gone", map[string]string{objects.AnnBindCompleted: "yes"}
		})}, root: "BIND-060b", actor: explain.Somebody, candidate: "SCHED-113"},
		{rule: "SCHED-024", name: "SCHED-183: another pod has the disk", objs: []store.Object{disk("p", ""), disk("q", "n1"), fake.Node("n1")}, actor: explain.Somebody, candidate: "SCHED-183"},
		{rule: "SCHED-024", name: "SCHED-184: another pod has the claim", objs: []store.Object{user("p", ""), runs(user("q", "n1")), fake.Node("n1"), single, pv}, actor: explain.Somebody, candidate: "SCHED-184"},
		{rule: "SCHED-024", name: "SCHED-184: the pod that has the claim is going", objs: []store.Object{user("p", ""), deleting(runs(user("q", "n1"))), fake.Node("n1"), single, pv}, root: "MNT-387", when: explain.ByItself, after: time.Minute, actor: explain.Somebody, candidate: "SCHED-184"},
		{rule: "SCHED-024", name: "SCHED-202: its volume is in another zone", objs: []store.Object{user("p", ""), labelled(fake.Node("n1"), corev1.LabelTopologyZone, "b"), claim, zonal}, actor: explain.Somebody, candidate: "SCHED-202"},
		{rule: "SCHED-024", name: "SCHED-216: the node can attach no more", objs: []store.Object{user("p", ""), fake.Node("n1"), claim, pv, withCount("n1", 0)}, actor: explain.Somebody, candidate: "SCHED-216"},
	} {
		t.Run(r.rule+" "+r.name, func(t *testing.T) {
			r.ask = "pod/p"
			r.check(t)
		})
	}
}

// SCHED-102: a node without a volume for the claim says why each volume of the class would not do.
func TestVolumesLookedAtForANode(t *testing.T) {
	x, err := explain.Object(store.Ref{Kind: store.Pod, Key: "default/p"}, worldOf(t, user("p", ""), fake.Node("n1"),
		fake.Class("static", "kubernetes.io/no-provisioner", fake.WaitForFirstConsumer()), fake.Claim("data", "10Gi", fake.InClass("static")),
		available("far", "10Gi", fake.InClass("static"), fake.FromNodes("n2")), available("small", "1Gi", fake.InClass("static")), available("other", "10Gi")))
	require.NoError(t, err)
	require.Len(t, x.Candidates, 1)
	var rules []string
	for _, c := range x.Candidates[0].Candidates {
		rules = append(rules, c.Name+" "+c.Rule)
	}
	require.Equal(t, []string{"far MATCH-022", "small MATCH-011"}, rules, x.String())
}

func TestPodsOnANode(t *testing.T) {
	claim, pv := boundPair()
	_, local := boundPair(fake.FromNodes("n2"))
	_, single := boundPair(fake.Modes("RWOP"))
	_, shared := boundPair(fake.Modes("RWX"))
	_, block := boundPair(fake.Block())
	_, foreign := boundPair(fake.ForClaim("data", "c9"))
	_, loose := boundPair()
	loose.Spec.ClaimRef = nil
	p := user("p", "n1")
	no := false
	plain := &storagev1.CSIDriver{ObjectMeta: metav1.ObjectMeta{Name: driver}, Spec: storagev1.CSIDriverSpec{AttachRequired: &no}}
	device := fake.Pod("p", fake.UID("uid-p"), fake.OnNode("n1"), fake.BlockClaims("data"))
	refused := with(attachment("n1", false), func(va *storagev1.VolumeAttachment) {
		va.Status.AttachError = &storagev1.VolumeError{Time: metav1.NewTime(now), Message: "no such disk"}
	})
	unmanaged := with(machine("n1", false, false), func(n *corev1.Node) { delete(n.Annotations, attach.AnnManaged) })
	outOfService := func(n *corev1.Node) *corev1.Node { return tainted(notReady(n), corev1.TaintNodeOutOfService) }
	ready := machine("n1", true, true)
	const kubelet, adc = "kubelet/n1", attach.ActorName
	mountFailed := func(message string) []store.Object {
		return []store.Object{p, ready, claim, pv, attachment("n1", true), event(p, "FailedMount", message)}
	}
	for _, r := range []row{
		{rule: "MNT-380", name: "it runs", objs: []store.Object{runs(user("p", "n1")), ready, claim, pv, attachment("n1", true)}, when: explain.Settled},
		{rule: "MNT-380", name: "it is about to start", objs: []store.Object{p, ready, claim, pv, attachment("n1", true)}, when: explain.ByItself, actor: kubelet},
		{rule: "MNT-380", name: "its node is down", objs: []store.Object{p, notReady(machine("n1", true, true)), claim, pv, attachment("n1", true)}, actor: explain.Somebody},
		{rule: "MNT-380", name: "its volume needs no attaching", objs: []store.Object{p, machine("n1", false, false), claim, pv, plain}, when: explain.ByItself, actor: kubelet},
		{rule: "MNT-072a", name: "its claim is missing", objs: []store.Object{p, ready}, actor: explain.Somebody},
		{rule: "MNT-072b", name: "its claim is going, unprotected", objs: []store.Object{p, ready, deleting(fake.Claim("data", "1Gi"), "x/y")}, root: "BIND-016", actor: kubelet},
		{rule: "MNT-072c", name: "its claim is not bound", objs: []store.Object{p, ready, fake.Claim("data", "1Gi")}, root: "BIND-058", actor: kubelet},
		{rule: "MNT-072d", name: "its claim names no volume", objs: []store.Object{p, ready, fake.Claim("data", "1Gi", fake.Phase("Bound"))}, root: "BIND-058", actor: kubelet},
		{rule: "MNT-072e", name: "a claim of the name is not its own", objs: []store.Object{with(ephemeral("p"), func(p *corev1.Pod) { p.Spec.NodeName = "n1" }), ready, fake.Claim("p-scratch", "1Gi", fake.Phase("Bound"), fake.VolumeName("pv"))}, actor: explain.Somebody},
		{rule: "MNT-072f", name: "its volume is gone", objs: []store.Object{p, ready, claim}, root: "BIND-060b", actor: kubelet},
		{rule: "MNT-072g", name: "its volume forgot the claim", objs: []store.Object{p, ready, claim, loose}, root: "BIND-060c", when: explain.ByItself, actor: kubelet},
		{rule: "MNT-072h", name: "its volume is another's", objs: []store.Object{p, ready, claim, foreign}, root: "BIND-064", actor: kubelet},
		{rule: "MNT-072k", name: "a block device is mounted", objs: []store.Object{p, ready, claim, block}, actor: explain.Somebody},
		{rule: "MNT-072l", name: "a file system is used as a device", objs: []store.Object{device, ready, claim, pv}, actor: explain.Somebody},
		{rule: "MNT-191", name: "its volume is out of reach", objs: []store.Object{p, ready, claim, local}, actor: explain.Somebody},
		{rule: "MNT-174", name: "the kubelet has not reported", objs: []store.Object{p, machine("n1", true, false), claim, pv, attachment("n1", true)}, when: explain.ByItself, actor: kubelet},
		{rule: "MNT-194", name: "another pod has its volume", objs: []store.Object{p, runs(user("q", "n1")), ready, claim, single, attachment("n1", true)}, actor: explain.Somebody},
		{rule: "ATT-021", name: "its node is not managed", objs: []store.Object{p, unmanaged, claim, pv}, actor: kubelet},
		{rule: "ATT-068", name: "nobody has begun", objs: []store.Object{p, machine("n1", false, false), claim, pv}, when: explain.ByItself, actor: adc},
		{rule: "ATT-145", name: "the driver is asked", objs: []store.Object{p, machine("n1", false, false), claim, pv, attachment("n1", false)}, root: "ATT-172", when: explain.ByItself, actor: adc},
		{rule: "ATT-145", name: "ATT-142: the driver refuses", objs: []store.Object{p, machine("n1", false, false), claim, pv, refused}, root: "ATT-142", when: explain.ByItself, actor: adc},
		{rule: "ATT-081", name: "another node is tried first", objs: []store.Object{p, machine("n1", false, false), machine("n2", false, false), claim, pv, attachment("n2", false)}, root: "ATT-172", when: explain.ByItself, actor: adc},
		{rule: "ATT-111", name: "the node does not know yet", objs: []store.Object{p, machine("n1", false, false), claim, pv, attachment("n1", true)}, when: explain.ByItself, actor: adc},
		{rule: "ATT-141", name: "it is still being detached", objs: []store.Object{p, machine("n1", false, false), claim, pv, deleting(attachment("n1", true), "external-attacher/x")}, root: "ATT-175", when: explain.ByItself, actor: adc},
		{rule: "ATT-070", name: "a pod elsewhere has it", objs: []store.Object{p, runs(user("q", "n2")), machine("n1", false, false), machine("n2", true, true), claim, pv, attachment("n2", true)}, actor: explain.Somebody},
		{rule: "ATT-070", name: "a pod elsewhere is going", objs: []store.Object{p, deleting(runs(user("q", "n2"))), machine("n1", false, false), machine("n2", true, true), claim, pv, attachment("n2", true)}, root: "MNT-387", when: explain.ByItself, after: time.Minute, actor: adc},
		{rule: "ATT-070", name: "ATT-195: a pod on a dead node has it", objs: []store.Object{p, deleting(runs(user("q", "n2"))), machine("n1", false, false), notReady(machine("n2", true, true)), claim, pv, attachment("n2", true)}, root: "ATT-195", actor: adc},
		{rule: "ATT-070", name: "ATT-196: the dead node is out of service", objs: []store.Object{p, deleting(runs(user("q", "n2"))), machine("n1", false, false), outOfService(machine("n2", true, true)), claim, pv, attachment("n2", true)}, root: "ATT-196", when: explain.ByItself, actor: adc},
		{rule: "ATT-070", name: "ATT-064: a dead node has it, without pods", objs: []store.Object{p, machine("n1", false, false), notReady(machine("n2", true, true)), claim, pv, attachment("n2", true)}, when: explain.ByItself, after: 6 * time.Minute, actor: explain.Somebody},
		{rule: "ATT-070", name: "ATT-064: it is mounted where no pod wants it", objs: []store.Object{p, machine("n1", false, false), machine("n2", true, true), claim, pv, attachment("n2", true)}, when: explain.ByItself, actor: "kubelet/n2"},
		{rule: "ATT-070", name: "ATT-064: it is about to be detached", objs: []store.Object{p, machine("n1", false, false), machine("n2", true, false), claim, pv, attachment("n2", true)}, when: explain.ByItself, actor: adc},
		{rule: "ATT-068", name: "ATT-069: many nodes may have it", objs: []store.Object{p, runs(user("q", "n2")), machine("n1", false, false), machine("n2", true, true), claim, shared, attachment("n2", true)}, when: explain.ByItself, actor: adc},
		{rule: "MNT-192", name: "no mounter", objs: mountFailed(`MountVolume.NewMounter initialization failed for volume "pv" : x`), when: explain.ByItself, actor: kubelet},
		{rule: "MNT-193", name: "mount options", objs: mountFailed(`MountVolume.MountOptionSupport check failed for volume "pv" : x`), when: explain.ByItself, actor: kubelet},
		{rule: "MNT-194", name: "an Event says that another pod has it", objs: mountFailed(`MountVolume.SetUp failed for volume "pv" : volume uses the ReadWriteOncePod access mode and is already in use by another pod`), when: explain.ByItself, actor: kubelet},
		{rule: "MNT-195", name: "waiting for the attachment", objs: mountFailed(`MountVolume.WaitForAttach failed for volume "pv" : x`), when: explain.ByItself, actor: kubelet},
		{rule: "MNT-196", name: "staging", objs: mountFailed(`MountVolume.MountDevice failed for volume "pv" : rpc error`), when: explain.ByItself, actor: kubelet},
		{rule: "MNT-197", name: "publishing", objs: mountFailed(`MountVolume.SetUp failed for volume "pv" : rpc error`), when: explain.ByItself, actor: kubelet},
		{rule: "MNT-220", name: "block: node affinity", objs: mountFailed(`MapVolume.NodeAffinity check failed for volume "pv" : x`), when: explain.ByItself, actor: kubelet},
		{rule: "MNT-222", name: "block: waiting for the attachment", objs: mountFailed(`MapVolume.WaitForAttach failed for volume "pv" : x`), when: explain.ByItself, actor: kubelet},
		{rule: "MNT-223", name: "block: staging", objs: mountFailed(`MapVolume.SetUpDevice failed for volume "pv" : x`), when: explain.ByItself, actor: kubelet},
		{rule: "MNT-225", name: "block: publishing", objs: mountFailed(`MapVolume.MapPodDevice failed for volume "pv" : x`), when: explain.ByItself, actor: kubelet},
		{rule: "MNT-227", name: "block: binding", objs: mountFailed(`MapVolume.MapBlockVolume failed for volume "pv" : x`), when: explain.ByItself, actor: kubelet},
		{rule: "MNT-381", name: "the wait failed", objs: mountFailed(`Unable to attach or mount volumes: unmounted volumes=[data]`), when: explain.ByItself, actor: kubelet},
		{rule: "RECL-066", name: "it has ended", objs: []store.Object{with(user("p", "n1"), func(p *corev1.Pod) { p.Status.Phase = corev1.PodSucceeded })}, when: explain.Settled},
		{rule: "MNT-387", name: "it is being deleted", objs: []store.Object{deleting(runs(user("p", "n1"))), ready}, when: explain.ByItself, after: time.Minute, actor: kubelet},
		{rule: "ATT-195", name: "it is being deleted on a dead node", objs: []store.Object{deleting(runs(user("p", "n1"))), notReady(machine("n1", true, true))}, actor: explain.Somebody},
		{rule: "ATT-196", name: "it is being deleted on a node out of service", objs: []store.Object{deleting(runs(user("p", "n1"))), outOfService(machine("n1", true, true))}, when: explain.ByItself, actor: attach.PodGCName},
		{rule: "BIND-016", name: "a finalizer keeps it", objs: []store.Object{deleting(user("p", "n1"), "x/y"), ready}, actor: explain.Somebody},
	} {
		t.Run(r.rule+" "+r.name, func(t *testing.T) {
			r.ask = "pod/p"
			r.check(t)
		})
	}
}

// ATT-045: when it is known since when the controller has been waiting, the six minutes are counted from there.
func TestForcedDetachIsCountedFromItsBeginning(t *testing.T) {
	claim, pv := boundPair()
	world := worldOf(t, user("p", "n1"), machine("n1", false, false), notReady(machine("n2", true, true)), claim, pv, attachment("n2", true))
	since := now.Add(-2 * time.Minute)
	world.DetachWanted = func(volume corev1.UniqueVolumeName, node string) (time.Time, bool) {
		return since, volume == objects.CSIVolumeName(driver, "h1") && node == "n2"
	}
	x, err := explain.Object(store.Ref{Kind: store.Pod, Key: "default/p"}, world)
	require.NoError(t, err)
	require.Equal(t, since.Add(6*time.Minute), x.Changes.At, x.String())
	require.Contains(t, x.String(), "attached to node n2 since 2026-03-01T11:00:00Z")
}
