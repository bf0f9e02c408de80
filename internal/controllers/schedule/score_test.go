package schedule

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/volsim/volsim/api"
	"github.com/volsim/volsim/fake"
	"github.com/volsim/volsim/internal/core/snapshot"
)

// preferring gives a pod a preferred term, or with a negative weight a preferred anti-affinity.
func preferring(pod *corev1.Pod, weight int32, term corev1.PodAffinityTerm) *corev1.Pod {
	if weight > 0 {
		pod.Spec.Affinity = &corev1.Affinity{PodAffinity: &corev1.PodAffinity{PreferredDuringSchedulingIgnoredDuringExecution: []corev1.WeightedPodAffinityTerm{
			{Weight: weight, PodAffinityTerm: term}}}}
	} else {
		pod.Spec.Affinity = &corev1.Affinity{PodAntiAffinity: &corev1.PodAntiAffinity{PreferredDuringSchedulingIgnoredDuringExecution: []corev1.WeightedPodAffinityTerm{
			{Weight: -weight, PodAffinityTerm: term}}}}
	}
	return pod
}

func avoided(name string) *corev1.Node {
	return with(fake.Node(name), func(n *corev1.Node) {
		n.Spec.Taints = []corev1.Taint{{Key: "k", Effect: corev1.TaintEffectPreferNoSchedule}}
	})
}

func withImage(name, image string, size int64) *corev1.Node {
	return with(fake.Node(name), func(n *corev1.Node) {
		n.Status.Images = []corev1.ContainerImage{{Names: []string{image}, SizeBytes: size}}
	})
}

// owned is a pod of StatefulSet db with the label app=a.
func owned(name, node string) *corev1.Pod {
	pod := labeled(name, node, "a")
	pod.OwnerReferences = []metav1.OwnerReference{{APIVersion: "apps/v1", Kind: "StatefulSet", Name: "db", Controller: new(true)}}
	return pod
}

// TestScores compares the scores of one plugin for each node, and the node that is chosen.
func TestScores(t *testing.T) {
	n1, n2 := fake.Node("n1"), fake.Node("n2")
	set := &appsv1.StatefulSet{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "db"}, Spec: appsv1.StatefulSetSpec{Selector: app("a")}}
	service := &corev1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "db"}, Spec: corev1.ServiceSpec{Selector: map[string]string{"app": "a"}}}
	roomy := func(name string) *corev1.Node { return with(fake.Node(name), allocatable("cpu", "4", "memory", "8Gi")) }
	soft := func(c *corev1.TopologySpreadConstraint) { c.WhenUnsatisfiable = corev1.ScheduleAnyway }
	soZoned := func(c *corev1.TopologySpreadConstraint) {
		c.WhenUnsatisfiable, c.TopologyKey = corev1.ScheduleAnyway, gaZone
	}
	type objs = []api.Object
	for _, tc := range []struct {
		rule, name string
		objs       objs
		pod        *corev1.Pod
		plugin     string
		want       string // the scores, and the choice
	}{
		{"SCHED-026", "equal scores: by name", objs{n2, n1}, fake.Pod("p"), taintToleration, "n1=100 n2=100 -> n1"},
		{"SCHED-121", "weights: a taint weighs more than affinity", objs{avoided("n1"), n2}, with(fake.Pod("p"), func(p *corev1.Pod) {
			p.Spec.Affinity = &corev1.Affinity{NodeAffinity: &corev1.NodeAffinity{PreferredDuringSchedulingIgnoredDuringExecution: []corev1.PreferredSchedulingTerm{
				{Weight: 1, Preference: corev1.NodeSelectorTerm{MatchFields: []corev1.NodeSelectorRequirement{
					{Key: metav1.ObjectNameField, Operator: corev1.NodeSelectorOpIn, Values: []string{"n1"}}}}}}}}
		}), nodeAffinity, "n1=100 n2=0 -> n2"},
		{"SCHED-122", "PreferNoSchedule", objs{avoided("n1"), n2}, fake.Pod("p"), taintToleration, "n1=0 n2=100 -> n2"},
		{"SCHED-122", "tolerated", objs{avoided("n1"), n2}, with(fake.Pod("p"), func(p *corev1.Pod) {
			p.Spec.Tolerations = []corev1.Toleration{{Operator: corev1.TolerationOpExists}}
		}), taintToleration, "n1=100 n2=100 -> n1"},
		{"SCHED-123", "preferred labels", objs{zoned("n1", "a"), zoned("n2", "b")}, with(fake.Pod("p"), func(p *corev1.Pod) {
			p.Spec.Affinity = &corev1.Affinity{NodeAffinity: &corev1.NodeAffinity{PreferredDuringSchedulingIgnoredDuringExecution: []corev1.PreferredSchedulingTerm{
				{Weight: 7, Preference: corev1.NodeSelectorTerm{MatchExpressions: []corev1.NodeSelectorRequirement{
					{Key: gaZone, Operator: corev1.NodeSelectorOpIn, Values: []string{"b"}}}}}}}}
		}), nodeAffinity, "n1=0 n2=100 -> n2"},
		{"SCHED-124", "the emptier node", objs{roomy("n1"), roomy("n2"), with(requesting("other", "2", "4Gi"), func(p *corev1.Pod) { p.Spec.NodeName = "n1" })},
			fake.Pod("p"), nodeResourcesFit, "n1=47 n2=97 -> n2"},
		{"SCHED-124", "pods without requests count", objs{roomy("n1"), roomy("n2"), fake.Pod("other", fake.OnNode("n1"))}, fake.Pod("p"), nodeResourcesFit,
			"n1=95 n2=97 -> n2"},
		{"SCHED-125", "even use", objs{roomy("n1"), roomy("n2"), with(requesting("other", "2", "0"), func(p *corev1.Pod) { p.Spec.NodeName = "n1" })},
			requesting("p", "0", "4Gi"), nodeResourcesBalancedAllocation, "n1=87 n2=62 -> n1"},
		{"SCHED-125", "nothing requested", objs{roomy("n1"), roomy("n2")}, fake.Pod("p"), nodeResourcesBalancedAllocation, " -> n1"},
		{"SCHED-126", "the image is there", objs{n1, withImage("n2", "big:latest", 2000<<20)}, with(fake.Pod("p"), func(p *corev1.Pod) {
			p.Spec.Containers[0].Image = "big"
		}), imageLocality, "n1=0 n2=100 -> n2"},
		{"SCHED-126", "a small one does not count", objs{n1, withImage("n2", "big:latest", 40<<20)}, with(fake.Pod("p"), func(p *corev1.Pod) {
			p.Spec.Containers[0].Image = "big"
		}), imageLocality, "n1=0 n2=0 -> n1"},
		{"SCHED-127", "pods of a StatefulSet are spread", objs{n1, n2, set, owned("db-0", "n1")}, owned("db-1", ""), podTopologySpread,
			"n1=66 n2=100 -> n2"},
		{"SCHED-127", "pods of a Service are spread", objs{n1, n2, service, labeled("a", "n1", "a")}, labeled("p", "", "a"), podTopologySpread,
			"n1=66 n2=100 -> n2"},
		{"SCHED-127", "others are not", objs{n1, n2, labeled("a", "n1", "a")}, labeled("p", "", "a"), podTopologySpread, " -> n1"},
		{"SCHED-128", "ScheduleAnyway", objs{n1, n2, labeled("a", "n1", "a")}, spread(labeled("p", "", "a"), soft), podTopologySpread, "n1=0 n2=100 -> n2"},
		{"SCHED-128", "a node without the label", objs{n1, zoned("n2", "a"), labeled("a", "n2", "a")}, spread(labeled("p", "", "a"), soZoned), podTopologySpread,
			"n1=0 n2=100 -> n2"},
		{"SCHED-129", "near the other pod", objs{n1, n2, labeled("a", "n2", "a")}, preferring(fake.Pod("p"), 1, to("a", host)), interPodAffinity,
			"n1=0 n2=100 -> n2"},
		{"SCHED-129", "away from the other pod", objs{n1, n2, labeled("a", "n1", "a")}, preferring(fake.Pod("p"), -5, to("a", host)), interPodAffinity,
			"n1=0 n2=100 -> n2"},
		{"SCHED-129", "the other pod prefers it", objs{n1, n2, preferring(labeled("a", "n2", "x"), 1, to("a", host))}, labeled("p", "", "a"), interPodAffinity,
			"n1=0 n2=100 -> n2"},
		{"SCHED-129", "the other pod requires its like", objs{n1, n2, affinity(labeled("a", "n2", "a"), to("a", host))}, labeled("p", "", "a"), interPodAffinity,
			"n1=0 n2=100 -> n2"},
	} {
		t.Run(tc.rule+" "+tc.name, func(t *testing.T) {
			f := newFixture(t, Config{}, tc.objs...)
			f.onNodes(tc.objs...)
			all := snapshot.Of(f.engine.Store(), time.Unix(0, 0))
			scores, err := NewEvaluator(&all).Scores(tc.pod)
			require.NoError(t, err)
			var got []string
			for _, node := range scores {
				for _, plugin := range node.Plugins {
					if plugin.Plugin == tc.plugin {
						got = append(got, fmt.Sprintf("%s=%d", node.Node, plugin.Score))
					}
				}
			}
			for _, kind := range snapshot.Grouping {
				table, err := f.engine.Store().Other(kind)
				require.NoError(t, err)
				f.follow(table)
			}
			f.engine.Advance(0)
			chosen, why, _ := f.find(tc.pod)
			require.Empty(t, why)
			require.Equal(t, tc.want, strings.Join(got, " ")+" -> "+chosen, tc.rule)
		})
	}
}
