package differential

import (
	"fmt"
	"maps"

	appsv1 "k8s.io/api/apps/v1"
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
	g.groups(add)
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

// groups adds services and controllers, whose pods are spread by default.
func (g *schedulingGenerator) groups(add func(api.Object)) {
	meta := func(name string) metav1.ObjectMeta {
		return metav1.ObjectMeta{Namespace: pick(g.generator, "default", "default", "default", "other"), Name: name, UID: types.UID("uid-group-" + name)}
	}
	for i := range pick(g.generator, 0, 1, 1, 2) {
		service := &corev1.Service{ObjectMeta: meta(fmt.Sprintf("service%d", i))}
		service.Spec.Selector = pick(g.generator, map[string]string{"app": "a"}, map[string]string{"app": "a"}, map[string]string{"tier": "x"}, nil)
		add(service)
	}
	if g.chance(2) {
		set := &appsv1.StatefulSet{ObjectMeta: meta("set")}
		set.Spec.Selector, set.Spec.Template.Labels = workloadSelector(g.selector())
		add(set)
	}
	if g.chance(2) {
		set := &appsv1.ReplicaSet{ObjectMeta: meta("set")}
		set.Spec.Selector, set.Spec.Template.Labels = workloadSelector(g.selector())
		add(set)
	}
	if g.chance(3) {
		rc := &corev1.ReplicationController{ObjectMeta: meta("set")}
		rc.Spec.Selector = map[string]string{"app": "a"}
		rc.Spec.Template = &corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: rc.Spec.Selector}}
		add(rc)
	}
}

// weighted returns preferred terms.
func (g *schedulingGenerator) weighted() []corev1.WeightedPodAffinityTerm {
	var terms []corev1.WeightedPodAffinityTerm
	for _, term := range g.podTerms() {
		terms = append(terms, corev1.WeightedPodAffinityTerm{Weight: int32(pick(g.generator, 1, 7, 50, 100)), PodAffinityTerm: term})
	}
	return terms
}

// prefer gives a pod what only scores nodes: preferred affinity, a controller, images and requests.
func (g *schedulingGenerator) prefer(pod *corev1.Pod) {
	affinity := pod.Spec.Affinity
	if affinity == nil {
		affinity = &corev1.Affinity{}
	}
	if g.chance(3) {
		if affinity.PodAffinity == nil {
			affinity.PodAffinity = &corev1.PodAffinity{}
		}
		affinity.PodAffinity.PreferredDuringSchedulingIgnoredDuringExecution = g.weighted()
		pod.Spec.Affinity = affinity
	}
	if g.chance(3) {
		if affinity.PodAntiAffinity == nil {
			affinity.PodAntiAffinity = &corev1.PodAntiAffinity{}
		}
		affinity.PodAntiAffinity.PreferredDuringSchedulingIgnoredDuringExecution = g.weighted()
		pod.Spec.Affinity = affinity
	}
	if g.chance(3) {
		affinity.NodeAffinity = &corev1.NodeAffinity{PreferredDuringSchedulingIgnoredDuringExecution: []corev1.PreferredSchedulingTerm{
			{Weight: int32(1 + g.IntN(100)), Preference: corev1.NodeSelectorTerm{MatchExpressions: []corev1.NodeSelectorRequirement{
				{Key: "rack", Operator: pick(g.generator, corev1.NodeSelectorOpExists, corev1.NodeSelectorOpDoesNotExist)}}}},
			{Weight: int32(1 + g.IntN(100)), Preference: corev1.NodeSelectorTerm{MatchFields: []corev1.NodeSelectorRequirement{
				{Key: metav1.ObjectNameField, Operator: pick(g.generator, corev1.NodeSelectorOpIn, corev1.NodeSelectorOpNotIn), Values: []string{"n2"}}}}},
		}}
		pod.Spec.Affinity = affinity
	}
	if g.chance(3) {
		owner := metav1.OwnerReference{APIVersion: "apps/v1", Kind: pick(g.generator, "StatefulSet", "ReplicaSet", "DaemonSet"), Name: "set", UID: "uid-group-set",
			Controller: new(true)}
		if g.chance(4) {
			owner.APIVersion, owner.Kind = "v1", "ReplicationController"
		}
		pod.OwnerReferences = []metav1.OwnerReference{owner}
	}
	if g.chance(2) {
		pod.Spec.Containers[0].Resources.Requests = amounts("cpu", pick(g.generator, "100m", "500m", "0"), "memory", pick(g.generator, "64Mi", "1Gi", "3Gi"))
	}
	if g.chance(4) {
		second := corev1.Container{Name: "d", Image: pick(g.generator, "big", "registry.example.com:5000/big:1")}
		second.Resources.Requests = pick(g.generator, nil, amounts("cpu", "200m"), amounts("memory", "512Mi"))
		pod.Spec.Containers = append(pod.Spec.Containers, second)
	}
	if g.chance(6) {
		init := corev1.Container{Name: "init", Image: "i"}
		init.Resources.Requests = amounts("memory", "2Gi")
		init.RestartPolicy = pick(g.generator, nil, new(corev1.ContainerRestartPolicyAlways))
		pod.Spec.InitContainers = []corev1.Container{init}
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
	if g.about == "crowd" {
		defer g.prefer(pod)
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
			WhenUnsatisfiable:  pick(g.generator, corev1.DoNotSchedule, corev1.DoNotSchedule, corev1.ScheduleAnyway, corev1.ScheduleAnyway),
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

// workloadSelector returns the selector, or another one if a workload cannot have it, and labels that it matches.
func workloadSelector(selector *metav1.LabelSelector) (*metav1.LabelSelector, map[string]string) {
	if selector == nil || len(selector.MatchLabels)+len(selector.MatchExpressions) == 0 {
		selector = &metav1.LabelSelector{MatchLabels: map[string]string{"app": "a"}}
	}
	labels := map[string]string{"tier": "x"}
	for _, e := range selector.MatchExpressions {
		if e.Operator == metav1.LabelSelectorOpDoesNotExist {
			delete(labels, e.Key)
		}
	}
	maps.Copy(labels, selector.MatchLabels)
	return selector, labels
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
