package schedule

import (
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/volsim/volsim/api"
)

// podsOf returns a pod before and after a change; one of them is nil for a new or deleted pod.
func podsOf(c change) (before, now *corev1.Pod) {
	if c.old != nil {
		before = c.old.(*corev1.Pod)
	}
	if c.new != nil {
		now = c.new.(*corev1.Pod)
	}
	return before, now
}

// placed reports whether a pod is on a node or nominated to one.
func placed(pod *corev1.Pod) bool {
	return pod.Spec.NodeName != "" || pod.Status.NominatedNodeName != ""
}

// hintPods is the hint of InterPodAffinity (SCHED-297, SCHED-298).
func hintPods(pod *corev1.Pod, c change) bool {
	switch {
	case c.kind == api.Pod:
		return hintOtherPod(pod, c)
	case c.kind == api.Node && c.what != deleted:
		return hintDomains(pod, c)
	}
	return false
}

// hintOtherPod reports whether another pod, or the pod's own labels, changed so that affinity and anti-affinity may be satisfied.
func hintOtherPod(pod *corev1.Pod, c change) bool {
	before, now := podsOf(c)
	if c.what == updated {
		// SCHED-297: of updates only those of labels count.
		if maps.Equal(before.Labels, now.Labels) {
			return false
		}
		if pod.UID == now.UID {
			return true
		}
	}
	if now != nil && !placed(now) || before != nil && !placed(before) {
		return false
	}
	affinity, err := newPodTerms(pod, requiredAffinity(pod))
	if err != nil {
		return true
	}
	exclusion, err := newPodTerms(pod, requiredAntiAffinity(pod))
	if err != nil {
		return true
	}
	switch c.what {
	case updated:
		return !allMatch(affinity, before) && allMatch(affinity, now) || allMatch(exclusion, before) && !allMatch(exclusion, now)
	case added:
		return allMatch(affinity, now)
	}
	// SCHED-297: a deleted pod that this one excludes, or that excludes this one.
	if allMatch(exclusion, before) {
		return true
	}
	excluding, err := newPodTerms(before, requiredAntiAffinity(before))
	return err != nil || allMatch(excluding, pod)
}

// hintDomains reports whether a node joined, left or changed a domain that the pod's affinity or anti-affinity is about (SCHED-298).
func hintDomains(pod *corev1.Pod, c change) bool {
	before, now := nodesOf(c)
	changed := func(key string, joins bool) bool {
		value, has := now.Labels[key]
		if before == nil {
			// SCHED-298: a new node without the label accepts a pod with anti-affinity.
			return has || !joins
		}
		was, had := before.Labels[key]
		if had && has {
			return was != value
		}
		return joins && has || !joins && had
	}
	return slices.ContainsFunc(requiredAffinity(pod), func(t corev1.PodAffinityTerm) bool { return changed(t.TopologyKey, true) }) ||
		slices.ContainsFunc(requiredAntiAffinity(pod), func(t corev1.PodAffinityTerm) bool { return changed(t.TopologyKey, false) })
}

// hintSpread is the hint of PodTopologySpread (SCHED-307, SCHED-308).
func hintSpread(pod *corev1.Pod, c change) bool {
	constraints, err := spreadConstraints(pod, corev1.DoNotSchedule)
	switch {
	case c.kind != api.Pod && c.kind != api.Node:
		return false
	case err != nil:
		return true
	case c.kind == api.Pod:
		return hintSpreadPod(pod, c, constraints)
	}
	matched := func(obj api.Object) (*corev1.Node, bool) {
		if obj == nil {
			return nil, false
		}
		node := obj.(*corev1.Node)
		return node, hasAllKeys(node, constraints)
	}
	before, did := matched(c.old)
	now, does := matched(c.new)
	if before == nil || now == nil || did != does {
		// SCHED-308: a node with all labels was added or deleted, or an update made it one or ended that.
		return did || does
	}
	if !does {
		return false
	}
	// SCHED-308: it changed a domain, or its taints changed.
	return slices.ContainsFunc(constraints, func(sc spreadConstraint) bool { return before.Labels[sc.key] != now.Labels[sc.key] }) ||
		!equality.Semantic.DeepEqual(before.Spec.Taints, now.Spec.Taints)
}

// hintSpreadPod reports whether a pod that counts for a constraint came, left or changed its labels (SCHED-307).
func hintSpreadPod(pod *corev1.Pod, c change, constraints []spreadConstraint) bool {
	before, now := podsOf(c)
	involved := func(other *corev1.Pod) bool {
		return other == nil || other.UID == pod.UID || placed(other) && other.Namespace == pod.Namespace
	}
	if !involved(before) || !involved(now) {
		return false
	}
	matches := func(sc *spreadConstraint, other *corev1.Pod) bool { return sc.pods.Matches(labels.Set(other.Labels)) }
	if c.what == updated {
		// SCHED-307: its own tolerations decide which nodes count.
		if toleratesMore(pod, c) && slices.ContainsFunc(constraints, func(sc spreadConstraint) bool { return sc.taints }) {
			return true
		}
		return slices.ContainsFunc(constraints, func(sc spreadConstraint) bool { return matches(&sc, before) != matches(&sc, now) })
	}
	if now == nil {
		now = before
	}
	return slices.ContainsFunc(constraints, func(sc spreadConstraint) bool { return matches(&sc, now) })
}
