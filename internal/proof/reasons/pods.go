package reasons

import (
	"time"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/volsim/volsim/api"
	"github.com/volsim/volsim/explain"
	"github.com/volsim/volsim/fake"
	"github.com/volsim/volsim/internal/core/objects"
)

const scheduler = "kube-scheduler"

// ranked returns a pod with a priority.
func ranked(pod *corev1.Pod, priority int32) *corev1.Pod {
	return With(pod, func(p *corev1.Pod) { p.Spec.Priority = &priority })
}

// PodsWithoutANode ask about the pod p, which waits for the scheduler.
func PodsWithoutANode() []Row {
	claim, pv := BoundPair()
	_, local := BoundPair(fake.FromNodes("n2"))
	_, zonal := BoundPair(fake.Labels(corev1.LabelTopologyZone, "a"))
	single := With(claim.DeepCopy(), func(c *corev1.PersistentVolumeClaim) {
		c.Spec.AccessModes = []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOncePod}
	})
	late := fake.Class("late", Driver, fake.WaitForFirstConsumer())
	static := fake.Class("static", "kubernetes.io/no-provisioner", fake.WaitForFirstConsumer())
	topology := With(fake.Class("late", Driver, fake.WaitForFirstConsumer()), func(c *storagev1.StorageClass) {
		c.AllowedTopologies = []corev1.TopologySelectorTerm{{MatchLabelExpressions: []corev1.TopologySelectorLabelRequirement{{Key: "zone",
			Values: []string{"b"}}}}}
	})
	waiting := fake.Claim("data", "10Gi", fake.InClass("late"))
	yes := true
	counts := &storagev1.CSIDriver{ObjectMeta: metav1.ObjectMeta{Name: Driver}, Spec: storagev1.CSIDriverSpec{StorageCapacity: &yes}}
	elsewhere := &storagev1.CSIStorageCapacity{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "other"}, StorageClassName: "other"}
	owned := func(uid string) *corev1.PersistentVolumeClaim {
		return With(fake.Claim("p-scratch", "1Gi", fake.InClass("fast")), func(c *corev1.PersistentVolumeClaim) {
			c.OwnerReferences = []metav1.OwnerReference{{APIVersion: "v1", Kind: "Pod", Name: "p", UID: "uid-" + "p", Controller: &yes}}
			if uid != "" {
				c.OwnerReferences = nil
			}
		})
	}
	greedy := With(User("p", ""), func(p *corev1.Pod) {
		p.Spec.Containers[0].Resources.Requests = corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("4")}
	})
	small := With(fake.Node("n1"), func(n *corev1.Node) {
		n.Status.Allocatable = corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("2")}
	})
	choosy := With(User("p", ""), func(p *corev1.Pod) { p.Spec.NodeSelector = map[string]string{"disk": "fast"} })
	disk := func(name, node string) *corev1.Pod {
		return With(User(name, node), func(p *corev1.Pod) {
			p.Spec.Volumes = []corev1.Volume{{Name: "d",
				VolumeSource: corev1.VolumeSource{AWSElasticBlockStore: &corev1.AWSElasticBlockStoreVolumeSource{VolumeID: "vol-1"}}}}
		})
	}
	unbound := func(message string) []api.Object {
		return []api.Object{With(User("p", ""), func(p *corev1.Pod) {
			p.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodScheduled, Status: corev1.ConditionFalse, Reason: "SchedulerError",
				Message: `running PreBind plugin "VolumeBinding": ` + message}}
		}), fake.Node("n1"), claim, pv}
	}
	return asking("pod/p", []Row{
		{Rule: "SCHED-024", Name: "its claim is also that of a pod with a node",
			Objs: []api.Object{With(User("p", ""), func(p *corev1.Pod) { p.Spec.NodeSelector = map[string]string{"zone": "b"} }), fake.Node("n1"),
				fake.Claim("data", "10Gi", fake.InClass("late")), fake.Class("late", Driver, fake.WaitForFirstConsumer()), CSIDriver(),
				fake.Pod("other", fake.Claims("data"), fake.OnNode("n1"))}, Actor: Admin, Candidate: "SCHED-024"},
		{Rule: "SCHED-020", Name: "a gate blocks it",
			Objs: []api.Object{With(User("p", ""),
				func(p *corev1.Pod) { p.Spec.SchedulingGates = []corev1.PodSchedulingGate{{Name: "wait"}} })}, Actor: Admin},
		{Rule: "SCHED-022", Name: "there are no nodes", Objs: []api.Object{User("p", "")}, Actor: Admin},
		{Rule: "SCHED-026", Name: "a node fits", Objs: []api.Object{User("p", ""), fake.Node("n1"), claim, pv}, When: explain.Automatic,
			Actor: scheduler},
		{Rule: "SCHED-163", Name: "its claim is being provisioned",
			Objs: []api.Object{User("p", ""), fake.Node("n1"), late, fake.Claim("data", "1Gi", fake.InClass("late"), selected("n1")),
				CSIDriver()}, Root: "BIND-057", When: explain.Automatic, Actor: scheduler},
		{Rule: "SCHED-024", Name: "SCHED-024: the node is cordoned",
			Objs:  []api.Object{User("p", ""), With(fake.Node("n1"), func(n *corev1.Node) { n.Spec.Unschedulable = true }), claim, pv},
			Actor: Admin, Candidate: "SCHED-024"},
		{Rule: "SCHED-024", Name: "SCHED-024: the node is tainted",
			Objs: []api.Object{User("p", ""), tainted(fake.Node("n1"), "gpu"), claim, pv}, Actor: Admin, Candidate: "SCHED-024"},
		{Rule: "SCHED-024", Name: "SCHED-024: the node is not selected", Objs: []api.Object{choosy, fake.Node("n1"), claim, pv},
			Actor: Admin, Candidate: "SCHED-024"},
		{Rule: "SCHED-024", Name: "SCHED-024: the node is too small", Objs: []api.Object{greedy, small, claim, pv}, Actor: Admin,
			Candidate: "SCHED-024"},
		{Rule: "SCHED-041", Name: "its claim is missing", Objs: []api.Object{User("p", ""), fake.Node("n1")}, Actor: Admin},
		{Rule: "SCHED-042", Name: "its ephemeral claim is not made yet", Objs: []api.Object{ephemeral("p"), fake.Node("n1")},
			When: explain.Automatic, Actor: "ephemeral-volume-controller"},
		{Rule: "SCHED-043", Name: "its claim is Lost",
			Objs: []api.Object{User("p", ""), fake.Node("n1"),
				fake.Claim("data", "1Gi", fake.Phase("Lost"), fake.VolumeName("gone"), fake.Annotations(objects.AnnBindCompleted, "yes"))},
			Root: "BIND-060b", Actor: scheduler},
		{Rule: "SCHED-044", Name: "its claim is being deleted",
			Objs: []api.Object{User("p", ""), fake.Node("n1"), Deleting(fake.Claim("data", "1Gi"), objects.ClaimProtectionFinalizer),
				Runs(User("q", "n1"))}, Root: "PROT-026", Actor: scheduler},
		{Rule: "SCHED-045", Name: "a claim of the name is not its own",
			Objs: []api.Object{ephemeral("p"), fake.Node("n1"), With(owned("other"), func(c *corev1.PersistentVolumeClaim) {
				c.Spec.VolumeName, c.Annotations, c.UID, c.Status.Phase = "pv", map[string]string{objects.AnnBindCompleted: "yes"}, "c1", "Bound"
			}), pv}, Actor: Admin},
		{Rule: "SCHED-050", Name: "its claim finds no volume",
			Objs: []api.Object{User("p", ""), fake.Node("n1"), fake.Claim("data", "1Gi")}, Root: "BIND-058", Actor: scheduler},
		{Rule: "SCHED-050", Name: "its claim is about to be bound",
			Objs: []api.Object{User("p", ""), fake.Node("n1"), fake.Claim("data", "1Gi"), Available("v", "1Gi")}, Root: "BIND-054",
			When: explain.Automatic, Actor: scheduler},
		{Rule: "SCHED-050", Name: "SCHED-048: the class of its claim is missing",
			Objs: []api.Object{User("p", ""), fake.Node("n1"), fake.Claim("data", "1Gi", fake.InClass("gone"))}, Root: "PROV-021", Actor: scheduler},
		{Rule: "SCHED-050", Name: "SCHED-049: its claim names a volume that is missing",
			Objs: []api.Object{User("p", ""), fake.Node("n1"), late,
				fake.Claim("data", "1Gi", fake.InClass("late"), fake.VolumeName("gone"))}, Root: "BIND-059a", Actor: scheduler},
		{Rule: "SCHED-026", Name: "SCHED-187: a pod that has ended leaves the claim to others",
			Objs: []api.Object{User("p", ""), With(User("q", "n1"), func(p *corev1.Pod) { p.Status.Phase = corev1.PodSucceeded }),
				fake.Node("n1"), single, pv}, When: explain.Automatic, Actor: scheduler},
		{Rule: "SCHED-150", Name: "its node was gone", Objs: unbound(`binding volumes: failed to get node "n1": x`),
			When: explain.Automatic, Actor: scheduler},
		{Rule: "SCHED-151", Name: "it was gone", Objs: unbound(`binding volumes: pod does not exist any more: x`), When: explain.Automatic,
			Actor: scheduler},
		{Rule: "SCHED-152", Name: "the volume that was chosen was gone", Objs: unbound(`binding volumes: failed to check binding: x`),
			When: explain.Automatic, Actor: scheduler},
		{Rule: "SCHED-154", Name: "SCHED-162: the volume is out of reach",
			Objs: unbound(`binding volumes: pv "pv" node affinity doesn't match node "n1": x`), When: explain.Automatic, Actor: scheduler},
		{Rule: "SCHED-155", Name: "the volume was freed", Objs: unbound(`binding volumes: ClaimRef got reset for pv "pv"`),
			When: explain.Automatic, Actor: scheduler},
		{Rule: "SCHED-157", Name: "its claim was gone", Objs: unbound(`binding volumes: failed to check provisioning pvc: x`),
			When: explain.Automatic, Actor: scheduler},
		{Rule: "SCHED-159", Name: "its claim lost its annotations",
			Objs: unbound(`binding volumes: selectedNode annotation reset for PVC "data"`), When: explain.Automatic, Actor: scheduler},
		{Rule: "SCHED-160", Name: "the provisioner gave its claim back",
			Objs: unbound(`binding volumes: provisioning failed for PVC "data"`), When: explain.Automatic, Actor: scheduler},
		{Rule: "SCHED-167", Name: "its claims took too long", Objs: unbound(`binding volumes: context deadline exceeded`),
			When: explain.Automatic, Actor: scheduler},
		{Rule: "SCHED-143", Name: "a write of the scheduler failed", Objs: unbound(`Operation cannot be fulfilled`),
			When: explain.Automatic, Actor: scheduler},
		{Rule: "BIND-016", Name: "SCHED-021: it is being deleted, and a finalizer keeps it",
			Objs: []api.Object{Deleting(User("p", ""), "x/y"), fake.Node("n1"), claim, pv}, Actor: Admin},
		{Rule: "SCHED-024", Name: "SCHED-102, RECL-003: a local volume is being recycled",
			Objs: []api.Object{User("p", ""), fake.Node("n1"), static, fake.Claim("data", "10Gi", fake.InClass("static")),
				recycled("old", "12Gi", fake.InClass("static"), fake.Annotations(objects.AnnBoundByController, "yes"))},
			Backends: set(fake.NFS()), Root: "RECL-003", When: explain.Automatic, Actor: scheduler, Candidate: "SCHED-102"},
		{Rule: "SCHED-024", Name: "SCHED-084: the volume reserved for its claim is elsewhere",
			Objs: []api.Object{User("p", ""), fake.Node("n1"), static, fake.Claim("data", "10Gi", fake.InClass("static")),
				Available("pv", "10Gi", fake.InClass("static"), fake.ForClaim("data"), fake.FromNodes("n2"))}, Root: "BIND-054",
			Actor: Admin, Candidate: "SCHED-102"},
		{Rule: "SCHED-024", Name: "SCHED-215: its own leftover attachment counts twice",
			Objs: []api.Object{User("p", ""), fake.Node("n1"), claim, pv, withCount("n1", 1), Attachment("n1", true)}, Actor: Admin,
			Candidate: "SCHED-216"},
		{Rule: "SCHED-200", Name: "its volume is gone", Objs: []api.Object{User("p", ""), fake.Node("n1"), claim, fake.Volume("other", "1Gi")}, Root: "BIND-060b",
			Actor: scheduler},
		{Rule: "SCHED-237", Name: "SCHED-088: a malformed selector",
			Objs: []api.Object{User("p", ""), fake.Node("n1"), late, Available("v", "1Gi"),
				With(waiting.DeepCopy(), func(c *corev1.PersistentVolumeClaim) {
					c.Spec.Selector = &metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{{Key: "a", Operator: "Near"}}}
				})}, Root: "BIND-053", Actor: scheduler},
		{Rule: "SCHED-024", Name: "SCHED-070: its claim goes to another node",
			Objs: []api.Object{User("p", ""), With(fake.Node("n2"), func(n *corev1.Node) { n.Spec.Unschedulable = true }), fake.Node("n1"),
				late, fake.Claim("data", "1Gi", fake.InClass("late"), selected("n2"))}, Root: "BIND-057", When: explain.Automatic,
			Actor: scheduler, Candidate: "SCHED-070"},
		{Rule: "SCHED-071", Name: "its claim goes to a node that is gone",
			Objs: []api.Object{User("p", ""), fake.Node("n1"), late, fake.Claim("data", "1Gi", fake.InClass("late"), selected("gone"))},
			Root: "BIND-057", When: explain.Automatic, Actor: scheduler, Candidate: "SCHED-070",
			Dumped: &Dumped{Root: "XPROV-026", When: explain.Automatic, Actor: scheduler}},
		{Rule: "SCHED-071", Name: "XPROV-026: the provisioner gives its claim back",
			Objs: []api.Object{User("p", ""), fake.Node("n1"), late, CSIDriver(),
				fake.Claim("data", "1Gi", fake.InClass("late"), selected("gone"))}, Root: "XPROV-026", When: explain.Automatic,
			Actor: scheduler, Candidate: "SCHED-070"},
		{Rule: "SCHED-024", Name: "SCHED-102: no local volume is left",
			Objs: []api.Object{User("p", ""), fake.Node("n1"), static, fake.Claim("data", "10Gi", fake.InClass("static")),
				Available("small", "1Gi", fake.InClass("static"))}, Actor: Admin, Candidate: "SCHED-102"},
		{Rule: "SCHED-024", Name: "SCHED-103: the class does not provision there",
			Objs: []api.Object{User("p", ""), fake.Node("n1"), topology, waiting}, Actor: Admin, Candidate: "SCHED-103"},
		{Rule: "SCHED-024", Name: "SCHED-110: its volume is elsewhere", Objs: []api.Object{User("p", ""), fake.Node("n1"), claim, local},
			Actor: Admin, Candidate: "SCHED-110"},
		{Rule: "SCHED-024", Name: "SCHED-112: there is no room", Objs: []api.Object{User("p", ""), fake.Node("n1"), late, waiting, counts, elsewhere},
			Actor: Admin, Candidate: "SCHED-112"},
		{Rule: "SCHED-024", Name: "SCHED-113: the volume of its own claim is gone",
			Objs: []api.Object{ephemeral("p"), fake.Node("n1"), With(owned(""), func(c *corev1.PersistentVolumeClaim) {
				c.Spec.VolumeName, c.Annotations = "gone", map[string]string{objects.AnnBindCompleted: "yes"}
			})}, Root: "BIND-060b", Actor: Admin, Candidate: "SCHED-113"},
		{Rule: "SCHED-024", Name: "SCHED-183: another pod has the disk",
			Objs: []api.Object{disk("p", ""), disk("q", "n1"), fake.Node("n1")}, Actor: Admin, Candidate: "SCHED-183"},
		{Rule: "SCHED-024", Name: "SCHED-184: another pod has the claim",
			Objs: []api.Object{User("p", ""), Runs(User("q", "n1")), fake.Node("n1"), single, pv}, Actor: Admin, Candidate: "SCHED-184"},
		{Rule: "SCHED-024", Name: "SCHED-184: the pod that has the claim is going",
			Objs: []api.Object{User("p", ""), Deleting(Runs(User("q", "n1"))), fake.Node("n1"), single, pv}, Root: "MNT-387",
			When: explain.Automatic, After: time.Minute, Actor: scheduler, Candidate: "SCHED-184"},
		{Rule: "SCHED-024", Name: "SCHED-234: a pod of lower priority has the claim, and is evicted",
			Objs: []api.Object{ranked(User("p", ""), 1), Runs(User("q", "n1")), fake.Node("n1"), single, pv}, When: explain.Automatic, Actor: scheduler,
			Candidate: "SCHED-184"},
		{Rule: "SCHED-234", Name: "it is evicted for a pod of higher priority",
			Objs: []api.Object{Runs(User("p", "n1")), ranked(User("q", ""), 1), fake.Node("n1"), single, pv}, When: explain.Automatic, Actor: scheduler},
		{Rule: "SCHED-024", Name: "SCHED-202: its volume is in another zone",
			Objs: []api.Object{User("p", ""), labelled(fake.Node("n1"), corev1.LabelTopologyZone, "b"), claim, zonal}, Actor: Admin,
			Candidate: "SCHED-202"},
		{Rule: "SCHED-024", Name: "SCHED-216: the node can attach no more",
			Objs: []api.Object{User("p", ""), fake.Node("n1"), claim, pv, withCount("n1", 0)}, Actor: Admin, Candidate: "SCHED-216"},
	})
}
