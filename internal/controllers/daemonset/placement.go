package daemonset

import (
	"slices"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/volsim/volsim/internal/core/objects"
)

// admits reports whether a pod of the set should run on a node, and whether one that runs there may stay (DS-002).
func admits(set *appsv1.DaemonSet, node *corev1.Node) (run, stay bool) {
	template := &set.Spec.Template.Spec
	if template.NodeName != "" && template.NodeName != node.Name {
		return false, false
	}
	pod := &corev1.Pod{Spec: *template}
	pod.Spec.Tolerations = tolerations(template)
	// DS-002: node selector and required node affinity of the template.
	if !objects.SelectsNode(pod, node) {
		return false, false
	}
	run, stay = true, true
	for i := range node.Spec.Taints {
		taint := &node.Spec.Taints[i]
		if objects.Tolerated(pod, taint) {
			continue
		}
		switch taint.Effect {
		case corev1.TaintEffectNoExecute:
			return false, false
		case corev1.TaintEffectNoSchedule:
			// DS-002: a taint NoSchedule keeps new pods off, and lets others stay.
			run = false
		}
	}
	return run, stay
}

// tolerations returns those of the template and of every daemon pod (DS-004).
func tolerations(spec *corev1.PodSpec) []corev1.Toleration {
	all := slices.Clone(spec.Tolerations)
	add := func(key string, effect corev1.TaintEffect) {
		want := corev1.Toleration{Key: key, Operator: corev1.TolerationOpExists, Effect: effect}
		i := slices.IndexFunc(all, func(t corev1.Toleration) bool { return t.MatchToleration(&want) })
		if i < 0 {
			all = append(all, want)
			return
		}
		// DS-004: a toleration for a limited time becomes one without a limit.
		all[i] = want
	}
	// DS-004: failing nodes, cordoned nodes, and nodes under pressure are tolerated.
	add(corev1.TaintNodeNotReady, corev1.TaintEffectNoExecute)
	add(corev1.TaintNodeUnreachable, corev1.TaintEffectNoExecute)
	add(corev1.TaintNodeDiskPressure, corev1.TaintEffectNoSchedule)
	add(corev1.TaintNodeMemoryPressure, corev1.TaintEffectNoSchedule)
	add(corev1.TaintNodePIDPressure, corev1.TaintEffectNoSchedule)
	add(corev1.TaintNodeUnschedulable, corev1.TaintEffectNoSchedule)
	if spec.HostNetwork {
		add(corev1.TaintNodeNetworkUnavailable, corev1.TaintEffectNoSchedule)
	}
	return all
}

// onNode returns the affinity of a pod for one node: the required terms of the template are replaced (DS-003).
func onNode(affinity *corev1.Affinity, node string) *corev1.Affinity {
	c := affinity.DeepCopy()
	if c == nil {
		c = &corev1.Affinity{}
	}
	if c.NodeAffinity == nil {
		c.NodeAffinity = &corev1.NodeAffinity{}
	}
	c.NodeAffinity.RequiredDuringSchedulingIgnoredDuringExecution = &corev1.NodeSelector{NodeSelectorTerms: []corev1.NodeSelectorTerm{{
		MatchFields: []corev1.NodeSelectorRequirement{{Key: metav1.ObjectNameField, Operator: corev1.NodeSelectorOpIn, Values: []string{node}}},
	}}}
	return c
}
