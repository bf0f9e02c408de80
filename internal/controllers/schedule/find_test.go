package schedule

import (
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/volsim/volsim/api"
	"github.com/volsim/volsim/fake"
	"github.com/volsim/volsim/internal/core/objects"
)

const (
	gaZone   = corev1.LabelTopologyZone
	betaZone = corev1.LabelFailureDomainBetaZone
	unhelped = " no new claims to deallocate, preemption: 0/1 nodes are available: 1 Preemption is not helpful for scheduling."
	victims  = " no new claims to deallocate, preemption: 0/1 nodes are available: 1 No preemption victims found for incoming pod."
)

type objs = []api.Object

// TestFindNode: which node a pod gets, or why it gets none. A name of a node is a node; anything longer is the message.
func TestFindNode(t *testing.T) {
	owned := func(claim *corev1.PersistentVolumeClaim, pod string) *corev1.PersistentVolumeClaim {
		claim.OwnerReferences = []metav1.OwnerReference{{Kind: "Pod", APIVersion: "v1", Name: "p", UID: types.UID(pod), Controller: new(true)}}
		return claim
	}
	n1 := fake.Node("n1")
	pod := fake.Pod("p", uid("pod-uid"), fake.Claims("c"))
	scratch := fake.Pod("p", uid("pod-uid"), fake.Ephemeral("scratch", "1Gi", "wait"))
	// A node that only the key of the driver describes, and a volume in its zone.
	ebsNode := fake.Node("n1", fake.Labels("topology.ebs.csi.aws.com/zone", "us-east-1a"))
	ebsVolume := with(with(fake.Volume("pv", "1Gi"), func(pv *corev1.PersistentVolume) {
		pv.Spec.PersistentVolumeSource = corev1.PersistentVolumeSource{
			AWSElasticBlockStore: &corev1.AWSElasticBlockStoreVolumeSource{VolumeID: "vol-1"}}
	}), affine(corev1.NodeSelectorTerm{MatchExpressions: []corev1.NodeSelectorRequirement{
		{Key: corev1.LabelTopologyZone, Operator: corev1.NodeSelectorOpIn, Values: []string{"us-east-1a"}}}}))
	inZone := func(node, plugin string) *storagev1.CSINode {
		return with(csiNode(node, nil), func(n *storagev1.CSINode) { n.Annotations = map[string]string{migratedPlugins: plugin} })
	}
	for _, tc := range []struct {
		rule, name string
		objs       objs
		pod        *corev1.Pod
		want       string
	}{
		{"SCHED-022", "no nodes", objs{}, fake.Pod("p"), "no nodes available to schedule pods"},
		{"SCHED-040", "no claims", objs{n1}, fake.Pod("p"), "n1"},
		{"SCHED-026", "equal nodes go by name", objs{fake.Node("b"), fake.Node("a")}, fake.Pod("p"), "a"},
		{"SCHED-041", "the claim is missing", objs{n1}, pod, `0/1 nodes are available: persistentvolumeclaim "c" not found. not found`},
		{"SCHED-042", "the claim of an ephemeral volume is missing", objs{n1}, scratch,
			`0/1 nodes are available: waiting for ephemeral volume controller to create the persistentvolumeclaim "p-scratch". not found`},
		{"SCHED-043", "the claim is lost", objs{n1, fake.Claim("c", "1Gi", fake.VolumeName("pv"), fake.Phase("Lost"))}, pod,
			`0/1 nodes are available: persistentvolumeclaim "c" bound to non-existent persistentvolume "pv". not found`},
		{"SCHED-044", "the claim is being deleted",
			objs{n1, with(fake.Claim("c", "1Gi", fake.Finalizers("x/y")), func(c *corev1.PersistentVolumeClaim) {
				c.DeletionTimestamp = &metav1.Time{Time: metav1.Now().Time}
			})}, pod, `0/1 nodes are available: persistentvolumeclaim "c" is being deleted. not found`},
		{"SCHED-045", "another pod's ephemeral claim", objs{n1, owned(waitingClaim("p-scratch", "1Gi"), "other")}, scratch,
			"0/1 nodes are available: PVC default/p-scratch was not created for pod default/p (pod is not owner). not found"},
		{"SCHED-046", "the first volume that is wrong decides", objs{n1, fake.Claim("b", "1Gi", fake.VolumeName("pv"), fake.Phase("Lost"))},
			fake.Pod("p", fake.Ephemeral("scratch", "1Gi", "wait"), fake.Claims("b")),
			`0/1 nodes are available: waiting for ephemeral volume controller to create the persistentvolumeclaim "p-scratch". not found`},
		{"SCHED-047", "bound is the annotation, not the phase", objs{n1, fake.Volume("pv", "1Gi"), waitClass("x"),
			fake.Claim("c", "1Gi", fake.VolumeName("pv"), fake.Phase("Bound"), fake.InClass("wait"))}, pod,
			"0/1 nodes are available: pod has unbound immediate PersistentVolumeClaims. not found"},
		{"SCHED-048", "a class that does not exist does not wait", objs{n1, waitingClaim("c", "1Gi")}, pod,
			"0/1 nodes are available: pod has unbound immediate PersistentVolumeClaims. not found"},
		{"SCHED-048", "no class does not wait", objs{n1, fake.Claim("c", "1Gi")}, pod,
			"0/1 nodes are available: pod has unbound immediate PersistentVolumeClaims. not found"},
		{"SCHED-049", "the user named a volume",
			objs{n1, waitClass("x"), waitingClaim("c", "1Gi", fake.VolumeName("pv")), free("pv", "1Gi")}, pod,
			"0/1 nodes are available: pod has unbound immediate PersistentVolumeClaims. not found"},
		{"SCHED-050", "immediate and not bound", objs{n1, fake.Class("now", "x"), fake.Claim("c", "1Gi", fake.InClass("now"))}, pod,
			"0/1 nodes are available: pod has unbound immediate PersistentVolumeClaims. not found"},

		{"SCHED-060", "a volume that the node does not reach",
			objs{n1, boundClaim("c", "pv"), fake.Volume("pv", "1Gi", fake.FromNodes("n2"))}, pod,
			"0/1 nodes are available: 1 node(s) didn't match PersistentVolume's node affinity." + unhelped},
		{"SCHED-110", "both nodes are counted",
			objs{n1, fake.Node("n2"), boundClaim("c", "pv"), fake.Volume("pv", "1Gi", fake.FromNodes("n3"))}, pod,
			"0/2 nodes are available: 2 node(s) didn't match PersistentVolume's node affinity. no new claims to deallocate, preemption: 0/2 nodes are available: 2 Preemption is not helpful for scheduling."},
		{"SCHED-060", "the node that reaches it",
			objs{n1, fake.Node("n2"), boundClaim("c", "pv"), fake.Volume("pv", "1Gi", fake.FromNodes("n2"))}, pod, "n2"},
		{"SCHED-063", "the driver that replaced the plugin has its own key", objs{inZone("n1", "kubernetes.io/aws-ebs"), ebsNode,
			boundClaim("c", "pv"), ebsVolume}, pod, "n1"},
		{"SCHED-063", "a CSINode without the plugin", objs{inZone("n1", "kubernetes.io/gce-pd"), ebsNode, boundClaim("c", "pv"), ebsVolume}, pod,
			"0/1 nodes are available: 1 node(s) didn't match PersistentVolume's node affinity." + unhelped},
		{"SCHED-061", "an empty term matches nothing",
			objs{n1, boundClaim("c", "pv"), with(fake.Volume("pv", "1Gi"), affine(corev1.NodeSelectorTerm{}))}, pod,
			"0/1 nodes are available: 1 node(s) didn't match PersistentVolume's node affinity." + unhelped},
		{"SCHED-062", "NotIn holds without the label", objs{n1, boundClaim("c", "pv"),
			with(fake.Volume("pv", "1Gi"), affine(expression("gpu", corev1.NodeSelectorOpNotIn, "yes")))}, pod, "n1"},
		{"SCHED-062", "Gt wants an integer",
			objs{fake.Node("n1", fake.Labels("size", "big")), fake.Node("n2", fake.Labels("size", "7")), boundClaim("c", "pv"),
				with(fake.Volume("pv", "1Gi"), affine(expression("size", corev1.NodeSelectorOpGt, "5")))}, pod, "n2"},
		{"SCHED-062", "fields do not restrict", objs{n1, boundClaim("c", "pv"), with(fake.Volume("pv", "1Gi"), affine(corev1.NodeSelectorTerm{
			MatchFields: []corev1.NodeSelectorRequirement{{Key: "metadata.name", Operator: corev1.NodeSelectorOpIn, Values: []string{"n2"}}},
		}))}, pod, "n1"},
		{"SCHED-064", "the volume of a claim is gone", objs{n1, boundClaim("c", "pv")}, pod,
			`0/1 nodes are available: persistentvolume "pv" not found. not found`},
		{"SCHED-113", "the volume of an ephemeral claim is gone", objs{n1, owned(boundClaim("p-scratch", "pv"), "pod-uid")}, scratch,
			"0/1 nodes are available: 1 node(s) unavailable due to one or more pvc(s) bound to non-existent pv(s)." + unhelped},
		{"SCHED-114", "two reasons on one node",
			objs{n1, waitClass(noProvisioner), owned(boundClaim("p-scratch", "pv"), "pod-uid"), waitingClaim("c", "1Gi")},
			fake.Pod("p", uid("pod-uid"), fake.Ephemeral("scratch", "1Gi", "wait"), fake.Claims("c")),
			"0/1 nodes are available: 1 node(s) didn't find available persistent volumes to bind, 1 node(s) unavailable due to one or more pvc(s) bound to non-existent pv(s)." + unhelped},

		{"SCHED-070", "the claim goes to its node",
			objs{n1, fake.Node("n2"), waitClass("x"), waitingClaim("c", "1Gi", fake.Annotations(objects.AnnSelectedNode, "n2"))}, pod, "n2"},
		{"SCHED-070", "and is not matched again",
			objs{n1, waitClass(noProvisioner), free("pv", "1Gi"), waitingClaim("c", "1Gi", fake.Annotations(objects.AnnSelectedNode, "n1"))}, pod,
			"0/1 nodes are available: 1 node(s) didn't find available persistent volumes to bind." + unhelped},
		{"SCHED-071", "to a node that is gone",
			objs{n1, waitClass("x"), waitingClaim("c", "1Gi", fake.Annotations(objects.AnnSelectedNode, "n9"))}, pod,
			"0/1 nodes are available: 1 node(s) didn't find available persistent volumes to bind." + unhelped},
		{"SCHED-072", "what has no volume is provisioned", objs{n1, waitClass("x"), waitingClaim("c", "1Gi")}, pod, "n1"},
		{"SCHED-111", "no volume and no provisioner", objs{n1, waitClass(noProvisioner), waitingClaim("c", "1Gi")}, pod,
			"0/1 nodes are available: 1 node(s) didn't find available persistent volumes to bind." + unhelped},

		{"SCHED-102", "no provisioner, but a volume",
			objs{n1, fake.Node("n2"), waitClass(noProvisioner), free("pv", "1Gi", fake.FromNodes("n2")), waitingClaim("c", "1Gi")}, pod, "n2"},
		{"SCHED-103", "the topology of the class",
			objs{n1, fake.Node("n2", fake.Labels(gaZone, "z2")), topology(waitClass("x"), values(gaZone, "z1"), values(gaZone, "z2")),
				waitingClaim("c", "1Gi")}, pod, "n2"},
		{"SCHED-103", "nowhere", objs{n1, topology(waitClass("x"), values(gaZone, "z1")), waitingClaim("c", "1Gi")}, pod,
			"0/1 nodes are available: 1 node(s) didn't find available persistent volumes to bind." + unhelped},
		{"SCHED-103", "a term without expressions matches nothing",
			objs{n1, topology(waitClass("x"), corev1.TopologySelectorTerm{}), waitingClaim("c", "1Gi")}, pod,
			"0/1 nodes are available: 1 node(s) didn't find available persistent volumes to bind." + unhelped},
		{"SCHED-100", "the first claim that cannot be provisioned decides",
			objs{n1, waitClass("x"), driver("x", true), capacity("a/c", "5Gi", "", everywhere()), waitingClaim("c", "9Gi"),
				waitingClaim("d", "1Gi")},
			fake.Pod("p", fake.Claims("c", "d")), "0/1 nodes are available: 1 node(s) did not have enough free storage." + unhelped},
		{"SCHED-104", "a driver that does not track capacity", objs{n1, waitClass("x"), driver("x", false), waitingClaim("c", "1Gi")}, pod, "n1"},
		{"SCHED-104", "no driver at all", objs{n1, waitClass("x"), waitingClaim("c", "1Gi")}, pod, "n1"},
		{"SCHED-105", "any namespace counts",
			objs{n1, waitClass("x"), driver("x", true), capacity("elsewhere/c", "5Gi", "", everywhere()), waitingClaim("c", "5Gi")}, pod, "n1"},
		{"SCHED-105", "the maximum size goes first",
			objs{n1, waitClass("x"), driver("x", true), capacity("a/c", "50Gi", "4Gi", everywhere()), waitingClaim("c", "5Gi")}, pod,
			"0/1 nodes are available: 1 node(s) did not have enough free storage." + unhelped},
		{"SCHED-105", "no topology is nowhere",
			objs{n1, waitClass("x"), driver("x", true), capacity("a/c", "50Gi", "", nil), waitingClaim("c", "5Gi")}, pod,
			"0/1 nodes are available: 1 node(s) did not have enough free storage." + unhelped},
		{"SCHED-105", "no figure is nothing",
			objs{n1, waitClass("x"), driver("x", true), capacity("a/c", "", "", everywhere()), waitingClaim("c", "1")}, pod,
			"0/1 nodes are available: 1 node(s) did not have enough free storage." + unhelped},
		{"SCHED-105", "where the node's labels say",
			objs{n1, fake.Node("n2", fake.Labels("rack", "r")), waitClass("x"), driver("x", true),
				capacity("a/c", "50Gi", "", at("rack", "r")), waitingClaim("c", "5Gi")}, pod, "n2"},
		{"SCHED-106", "topology before capacity",
			objs{n1, topology(waitClass("x"), values(gaZone, "z1")), driver("x", true), waitingClaim("c", "1Gi")}, pod,
			"0/1 nodes are available: 1 node(s) didn't find available persistent volumes to bind." + unhelped},
		{"SCHED-112", "full", objs{n1, waitClass("x"), driver("x", true), waitingClaim("c", "1Gi")}, pod,
			"0/1 nodes are available: 1 node(s) did not have enough free storage." + unhelped},
		{"SCHED-107", "two claims are not added up",
			objs{n1, waitClass("x"), driver("x", true), capacity("a/c", "5Gi", "", everywhere()), waitingClaim("c", "5Gi"),
				waitingClaim("d", "5Gi")},
			fake.Pod("p", fake.Claims("c", "d")), "n1"},

		{"SCHED-180", "VolumeRestrictions misses the claim first", objs{n1}, fake.Pod("p", fake.Claims("c"), fake.Ephemeral("s", "1Gi", "x")),
			`0/1 nodes are available: persistentvolumeclaim "c" not found. not found`},
		{"SCHED-181", "one pod at a time",
			objs{n1, fake.Node("n2"), boundClaim("c", "pv", fake.Modes("RWOP")), fake.Volume("pv", "1Gi"),
				fake.Pod("holder", fake.OnNode("n1"), fake.Claims("c"))}, pod,
			"0/2 nodes are available: 2 " + reasonPodConflict +
				". no new claims to deallocate, preemption: 0/2 nodes are available: 2 No preemption victims found for incoming pod."},
		{"SCHED-184", "on the node of the other pod too",
			objs{n1, boundClaim("c", "pv", fake.Modes("RWOP")), fake.Volume("pv", "1Gi"),
				fake.Pod("holder", fake.OnNode("n1"), fake.Claims("c"))}, pod,
			"0/1 nodes are available: 1 node(s) unavailable due to PersistentVolumeClaim with ReadWriteOncePod access mode already in-use by another pod." + victims},
		{"SCHED-181", "of the same namespace",
			objs{n1, boundClaim("c", "pv", fake.Modes("RWOP")), fake.Volume("pv", "1Gi"),
				fake.Pod("other/holder", fake.OnNode("n1"), fake.Claims("c"))}, pod, "n1"},
		{"SCHED-181", "not one whose node was deleted",
			objs{n1, boundClaim("c", "pv", fake.Modes("RWOP")), fake.Volume("pv", "1Gi"),
				fake.Pod("holder", fake.OnNode("gone"), fake.Claims("c"))}, pod, "n1"},
		{"SCHED-182", "no pod uses it", objs{n1, boundClaim("c", "pv", fake.Modes("RWOP")), fake.Volume("pv", "1Gi")}, pod, "n1"},
		{"SCHED-183", "the disk is there for another pod", objs{n1, with(fake.Pod("holder", fake.OnNode("n1")), inline(gce("d", false)))},
			with(fake.Pod("p"), inline(gce("d", true))),
			"0/1 nodes are available: 1 node(s) had no available disk." + victims},
		{"SCHED-183", "but on another node it is free",
			objs{n1, fake.Node("n2"), with(fake.Pod("holder", fake.OnNode("n1")), inline(gce("d", false)))},
			with(fake.Pod("p"), inline(gce("d", true))), "n2"},

		{"SCHED-200", "a claim that waits has no zone", objs{n1, waitClass("x"), waitingClaim("c", "1Gi")}, pod, "n1"},
		{"SCHED-200", "a claim without a name does not exist", objs{n1}, fake.Pod("p", fake.Claims("")),
			`0/1 nodes are available: persistentvolumeclaim "" not found. not found`},
		{"SCHED-201", "labels that say nothing",
			objs{fake.Node("n1", fake.Labels(gaZone, "z9")), boundClaim("c", "pv"), fake.Volume("pv", "1Gi", fake.Labels(gaZone, "z1__"))},
			pod, "n1"},
		{"SCHED-202", "the wrong zone",
			objs{fake.Node("n1", fake.Labels(gaZone, "z2")), boundClaim("c", "pv"), fake.Volume("pv", "1Gi", fake.Labels(gaZone, "z1"))}, pod,
			"0/1 nodes are available: 1 node(s) had no available volume zone." + unhelped},
		{"SCHED-011", "one of several zones",
			objs{fake.Node("n1", fake.Labels(gaZone, "z2")), boundClaim("c", "pv"),
				fake.Volume("pv", "1Gi", fake.Labels(gaZone, "z1__ z2"))}, pod, "n1"},
		{"SCHED-202", "a node without zones takes all",
			objs{n1, boundClaim("c", "pv"), fake.Volume("pv", "1Gi", fake.Labels(gaZone, "z1"))}, pod, "n1"},
		{"SCHED-202", "an old label finds a new one",
			objs{fake.Node("n1", fake.Labels(gaZone, "z1")), boundClaim("c", "pv"), fake.Volume("pv", "1Gi", fake.Labels(betaZone, "z1"))},
			pod, "n1"},
		{"SCHED-010", "a new label finds no old one",
			objs{fake.Node("n1", fake.Labels(betaZone, "z1")), boundClaim("c", "pv"), fake.Volume("pv", "1Gi", fake.Labels(gaZone, "z1"))}, pod,
			"0/1 nodes are available: 1 node(s) had no available volume zone." + unhelped},

		{"SCHED-024", "only the first plugin speaks",
			objs{with(fake.Node("n1"), func(n *corev1.Node) { n.Spec.Unschedulable = true }), boundClaim("c", "pv"),
				fake.Volume("pv", "1Gi", fake.FromNodes("n2"))}, pod,
			"0/1 nodes are available: 1 node(s) were unschedulable." + unhelped},
		{"SCHED-233", "reasons are sorted as text", objs{
			with(fake.Node("n1"), func(n *corev1.Node) { n.Spec.Taints = []corev1.Taint{{Key: "k", Effect: corev1.TaintEffectNoSchedule}} }),
			fake.Node("n2"), boundClaim("c", "pv"), fake.Volume("pv", "1Gi", fake.FromNodes("n3"))}, pod,
			"0/2 nodes are available: 1 node(s) didn't match PersistentVolume's node affinity, 1 node(s) had untolerated taint(s). no new claims to deallocate, preemption: 0/2 nodes are available: 2 Preemption is not helpful for scheduling."},

		{"SCHED-290", "another namespace does not count", objs{n1, labeled("other/a", "n1", "a")}, affinity(fake.Pod("p"), to("a", host)),
			oneOf(reasonPodAffinity) + unhelped},
		{"SCHED-290", "a namespace by name", objs{n1, labeled("other/a", "n1", "a")},
			affinity(fake.Pod("p"), corev1.PodAffinityTerm{LabelSelector: app("a"), TopologyKey: host, Namespaces: []string{"other"}}), "n1"},
		{"SCHED-290", "a selector that cannot be parsed", objs{n1}, affinity(fake.Pod("p"), corev1.PodAffinityTerm{TopologyKey: host,
			LabelSelector: &metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{{Key: "a", Operator: "Near"}}}}),
			`0/1 nodes are available: parsing pod: "Near" is not a valid label selector operator. not found`},
		{"SCHED-291", "a pod whose node was deleted does not count", objs{n1, labeled("a", "gone", "a")}, affinity(fake.Pod("p"), to("a", host)),
			oneOf(reasonPodAffinity) + unhelped},
		{"SCHED-292", "next to the pod", objs{n1, fake.Node("n2"), labeled("a", "n2", "a")}, affinity(fake.Pod("p"), to("a", host)), "n2"},
		{"SCHED-292", "in the zone of the pod", objs{n1, zoned("n2", "z1"), zoned("n3", "z2"), labeled("a", "n3", "a")},
			affinity(fake.Pod("p"), to("a", gaZone)), "n3"},
		{"SCHED-292", "two pods do not add up", objs{n1, labeled("a", "n1", "a"), labeled("b", "n1", "b")},
			affinity(fake.Pod("p"), to("a", host), to("b", host)), oneOf(reasonPodAffinity) + unhelped},
		{"SCHED-293", "the first of a group", objs{n1}, affinity(labeled("p", "", "a"), to("a", host)), "n1"},
		{"SCHED-293", "but the label is needed", objs{n1}, affinity(labeled("p", "", "a"), to("a", gaZone)), oneOf(reasonPodAffinity) + unhelped},
		{"SCHED-293", "the second follows it", objs{n1, fake.Node("n2"), labeled("a", "n2", "a")}, affinity(labeled("p", "", "a"), to("a", host)),
			"n2"},
		{"SCHED-294", "away from the pod", objs{n1, fake.Node("n2"), labeled("a", "n1", "a")}, exclusion(fake.Pod("p"), to("a", host)), "n2"},
		{"SCHED-294", "nowhere else", objs{n1, labeled("a", "n1", "a")}, exclusion(fake.Pod("p"), to("a", host)),
			oneOf(reasonPodAntiAffinity) + victims},
		{"SCHED-294", "a node without the label is free", objs{n1, labeled("a", "n1", "a")}, exclusion(fake.Pod("p"), to("a", gaZone)), "n1"},
		{"SCHED-295", "the other pod excludes it", objs{n1, exclusion(labeled("a", "n1", "a"), to("b", host))}, labeled("p", "", "b"),
			oneOf(reasonExcluded) + victims},
		{"SCHED-295", "but not on another node", objs{n1, fake.Node("n2"), exclusion(labeled("a", "n1", "a"), to("b", host))}, labeled("p", "", "b"),
			"n2"},
		{"SCHED-296", "without the victim", objs{n1, with(labeled("a", "n1", "a"), priority(-1))}, exclusion(fake.Pod("p"), to("a", host)),
			oneOf(reasonPodAntiAffinity)},

		{"SCHED-300", "ScheduleAnyway forbids nothing", objs{n1, fake.Node("n2"), labeled("a", "n1", "a")},
			spread(labeled("p", "", "a"), func(c *corev1.TopologySpreadConstraint) { c.WhenUnsatisfiable = corev1.ScheduleAnyway }), "n2"},
		{"SCHED-300", "ScheduleAnyway forbids nothing, alone", objs{n1, labeled("a", "n1", "a")},
			spread(labeled("p", "", "a"), func(c *corev1.TopologySpreadConstraint) { c.WhenUnsatisfiable = corev1.ScheduleAnyway }), "n1"},
		{"SCHED-301", "the pod's own label is required", objs{n1, fake.Node("n2"), labeled("a", "n1", "a")},
			spread(fake.Pod("p", fake.Labels("app", "a", "version", "2")), func(c *corev1.TopologySpreadConstraint) {
				c.MatchLabelKeys = []string{"version"}
			}), "n1"},
		{"SCHED-302", "a node that its selector excludes does not count", objs{n1, fake.Node("n2"), labeled("a", "n1", "a")},
			with(spread(labeled("p", "", "a"), nil), func(p *corev1.Pod) { p.Spec.NodeSelector = map[string]string{host: "n1"} }), "n1"},
		{"SCHED-302", "it counts if node affinity is ignored", objs{n1, fake.Node("n2"), labeled("a", "n1", "a")},
			with(spread(labeled("p", "", "a"), func(c *corev1.TopologySpreadConstraint) {
				c.NodeAffinityPolicy = new(corev1.NodeInclusionPolicyIgnore)
			}), func(p *corev1.Pod) { p.Spec.NodeSelector = map[string]string{host: "n1"} }),
			"0/2 nodes are available: 1 " + reasonAffinity + ", 1 " + reasonSpread + ". no new claims to deallocate, preemption: 0/2 nodes are " +
				"available: 1 No preemption victims found for incoming pod, 1 Preemption is not helpful for scheduling."},
		{"SCHED-302", "a tainted node counts unless taints are honored", objs{n1, taintedNode("n2"), labeled("a", "n1", "a")},
			spread(labeled("p", "", "a"), func(c *corev1.TopologySpreadConstraint) {
				c.NodeTaintsPolicy = new(corev1.NodeInclusionPolicyHonor)
			}), "n1"},
		{"SCHED-303", "a terminating pod does not count", objs{n1, fake.Node("n2"), with(labeled("a", "n1", "a"), func(p *corev1.Pod) {
			p.DeletionTimestamp, p.Finalizers = &metav1.Time{Time: time.Unix(1, 0)}, []string{"x/y"}
		})}, spread(labeled("p", "", "a"), nil), "n1"},
		{"SCHED-304", "the label is missing", objs{n1}, spread(labeled("p", "", "a"), func(c *corev1.TopologySpreadConstraint) {
			c.TopologyKey = gaZone
		}), oneOf(reasonNoDomain) + unhelped},
		{"SCHED-305", "to the emptier node", objs{n1, fake.Node("n2"), labeled("a", "n1", "a")}, spread(labeled("p", "", "a"), nil), "n2"},
		{"SCHED-305", "a skew of two is allowed", objs{n1, fake.Node("n2"), labeled("a", "n1", "a")},
			spread(labeled("p", "", "a"), func(c *corev1.TopologySpreadConstraint) { c.MaxSkew = 2 }), "n1"},
		{"SCHED-305", "too few domains", objs{n1, labeled("a", "n1", "a")},
			spread(labeled("p", "", "a"), func(c *corev1.TopologySpreadConstraint) { c.MinDomains = new(int32(2)) }), oneOf(reasonSpread) + victims},
		{"SCHED-306", "without the victim", objs{n1, with(labeled("a", "n1", "a"), priority(-1))},
			spread(labeled("p", "", "a"), func(c *corev1.TopologySpreadConstraint) { c.MinDomains = new(int32(2)) }), oneOf(reasonSpread)},
	} {
		t.Run(tc.rule+" "+tc.name, func(t *testing.T) {
			f := newFixture(t, Config{}, tc.objs...)
			f.onNodes(tc.objs...)
			got, why, _ := f.find(tc.pod)
			if got == "" {
				got = why
			}
			if got != tc.want {
				t.Errorf("findNode(%s) by %s\n got %q\nwant %q", tc.pod.Name, tc.rule, got, tc.want)
			}
		})
	}
}
