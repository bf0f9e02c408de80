package differential

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/volsim/volsim/api"
)

// surroundings adds namespaces and disruption budgets.
func (g *schedulingGenerator) surroundings(add func(api.Object)) {
	if g.chance(2) {
		for _, name := range []string{"default", "drivers", "other"} {
			namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name, UID: types.UID("uid-ns-" + name)}}
			namespace.Status.Phase = corev1.NamespaceActive
			if g.chance(2) {
				namespace.Labels = map[string]string{"team": pick(g.generator, "t", "u")}
			}
			add(namespace)
		}
	}
	for i := range pick(g.generator, 0, 0, 1, 1, 2) {
		budget := &policyv1.PodDisruptionBudget{ObjectMeta: metav1.ObjectMeta{Namespace: pick(g.generator, "default", "default", "other"),
			Name: fmt.Sprintf("budget%d", i), UID: types.UID(fmt.Sprintf("uid-budget%d", i))}}
		budget.Spec.Selector = g.selector()
		budget.Status.DisruptionsAllowed = int32(g.IntN(2))
		if g.chance(6) {
			budget.Status.DisruptedPods = map[string]metav1.Time{"q0": metav1.NewTime(Epoch)}
		}
		add(budget)
	}
}

// sociable gives a pod labels, and often affinity or anti-affinity to other pods, or topology spread constraints.
func (g *schedulingGenerator) sociable(pod *corev1.Pod) {
	if !g.chance(6) {
		pod.Labels = map[string]string{"app": pick(g.generator, "a", "a", "b")}
	}
	if g.chance(3) {
		pod.Labels = map[string]string{"app": "a", "tier": pick(g.generator, "x", "y")}
	}
	var affinity corev1.Affinity
	if g.chance(4) {
		affinity.PodAffinity = &corev1.PodAffinity{RequiredDuringSchedulingIgnoredDuringExecution: g.podTerms()}
		pod.Spec.Affinity = &affinity
	}
	if g.chance(4) {
		affinity.PodAntiAffinity = &corev1.PodAntiAffinity{RequiredDuringSchedulingIgnoredDuringExecution: g.podTerms()}
		pod.Spec.Affinity = &affinity
	}
	if !g.chance(3) {
		return
	}
	for range pick(g.generator, 1, 1, 2) {
		sc := corev1.TopologySpreadConstraint{
			MaxSkew: int32(pick(g.generator, 1, 1, 2)), TopologyKey: g.topologyKey(), LabelSelector: g.selector(),
			WhenUnsatisfiable:  pick(g.generator, corev1.DoNotSchedule, corev1.DoNotSchedule, corev1.DoNotSchedule, corev1.ScheduleAnyway),
			NodeAffinityPolicy: pick(g.generator, nil, new(corev1.NodeInclusionPolicyHonor), new(corev1.NodeInclusionPolicyIgnore)),
			NodeTaintsPolicy:   pick(g.generator, nil, new(corev1.NodeInclusionPolicyHonor), new(corev1.NodeInclusionPolicyIgnore)),
		}
		if g.chance(4) && sc.WhenUnsatisfiable == corev1.DoNotSchedule {
			sc.MinDomains = new(int32(pick(g.generator, 1, 2, 3)))
		}
		if g.chance(6) && sc.LabelSelector != nil {
			sc.MatchLabelKeys = []string{"tier"}
		}
		pod.Spec.TopologySpreadConstraints = append(pod.Spec.TopologySpreadConstraints, sc)
	}
}

func (g *schedulingGenerator) topologyKey() string {
	return pick(g.generator, corev1.LabelHostname, corev1.LabelHostname, corev1.LabelTopologyZone, "rack")
}

func (g *schedulingGenerator) selector() *metav1.LabelSelector {
	app := func(value string) *metav1.LabelSelector {
		return &metav1.LabelSelector{MatchLabels: map[string]string{"app": value}}
	}
	return pick(g.generator, app("a"), app("a"), app("a"), app("b"), &metav1.LabelSelector{}, nil, &metav1.LabelSelector{
		MatchExpressions: []metav1.LabelSelectorRequirement{{Key: "tier", Operator: pick(g.generator, metav1.LabelSelectorOpExists,
			metav1.LabelSelectorOpDoesNotExist)}}})
}

func (g *schedulingGenerator) podTerms() []corev1.PodAffinityTerm {
	var terms []corev1.PodAffinityTerm
	for range pick(g.generator, 1, 1, 1, 2) {
		term := corev1.PodAffinityTerm{TopologyKey: g.topologyKey(), LabelSelector: g.selector()}
		switch g.IntN(8) {
		case 0:
			term.Namespaces = []string{"other"}
		case 1:
			term.NamespaceSelector = &metav1.LabelSelector{}
		case 2:
			term.Namespaces, term.NamespaceSelector = []string{"default"}, &metav1.LabelSelector{MatchLabels: map[string]string{"team": "t"}}
		}
		terms = append(terms, term)
	}
	return terms
}
