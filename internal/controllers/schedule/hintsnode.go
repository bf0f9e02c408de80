package schedule

import (
	"maps"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"

	"github.com/volsim/volsim/api"
	"github.com/volsim/volsim/internal/core/objects"
	"github.com/volsim/volsim/internal/core/podresources"
)

// nodesOf returns a node before and after a change; before is nil for a new node.
func nodesOf(c change) (before, now *corev1.Node) {
	if c.old != nil {
		before = c.old.(*corev1.Node)
	}
	return before, c.new.(*corev1.Node)
}

// nodeChanged reports whether a node changed in a field that filters read.
func nodeChanged(old, node *corev1.Node) bool {
	return old.Spec.Unschedulable != node.Spec.Unschedulable ||
		!maps.Equal(old.Labels, node.Labels) ||
		!equality.Semantic.DeepEqual(old.Spec.Taints, node.Spec.Taints) ||
		!equality.Semantic.DeepEqual(old.Status.Allocatable, node.Status.Allocatable)
}

// toleratesMore reports whether the change is one of this pod's own tolerations.
func toleratesMore(pod *corev1.Pod, c change) bool {
	return c.kind == api.Pod && c.what == updated && c.new.GetUID() == pod.UID &&
		!equality.Semantic.DeepEqual(c.old.(*corev1.Pod).Spec.Tolerations, c.new.(*corev1.Pod).Spec.Tolerations)
}

// hintUnschedulable reports whether a node is no longer cordoned, or the pod now tolerates cordoned nodes.
func hintUnschedulable(pod *corev1.Pod, c change) bool {
	if c.kind != api.Node {
		return toleratesMore(pod, c) && objects.Tolerated(c.new.(*corev1.Pod), cordoned)
	}
	before, now := nodesOf(c)
	return !now.Spec.Unschedulable && (before == nil || before.Spec.Unschedulable)
}

// hintTaints reports whether the taints of a node no longer exclude the pod, or the pod tolerates more.
func hintTaints(pod *corev1.Pod, c change) bool {
	if c.kind != api.Node {
		return toleratesMore(pod, c)
	}
	before, now := nodesOf(c)
	return !untolerated(pod, now) && (before == nil || untolerated(pod, before))
}

// hintAffinity reports whether a node now matches the pod's node selector and affinity.
func hintAffinity(pod *corev1.Pod, c change) bool {
	if c.kind != api.Node {
		return false
	}
	before, now := nodesOf(c)
	return objects.SelectsNode(pod, now) && (before == nil || !objects.SelectsNode(pod, before))
}

// hintPorts reports whether a pod that had one of the pod's ports left its node, or a node is new (SCHED-317).
func hintPorts(pod *corev1.Pod, c change) bool {
	switch {
	case c.kind == api.Pod && c.what == deleted:
		gone := c.old.(*corev1.Pod)
		return placed(gone) && sharePort(pod, gone)
	case c.kind == api.Node:
		return c.what == added
	}
	return false
}

// hintResources reports whether a pod left its node, or a large enough node has more of a resource that the pod needs.
func hintResources(pod *corev1.Pod, c change) bool {
	switch {
	case c.kind == api.Pod && c.what == deleted:
		return placed(c.old.(*corev1.Pod))
	case c.kind == api.Pod && c.what == updated:
		return needsLess(pod, c.old.(*corev1.Pod), c.new.(*corev1.Pod))
	case c.kind != api.Node:
		return false
	}
	before, now := nodesOf(c)
	requests, allocatable := podresources.Requests(pod), podresources.Of(now.Status.Allocatable)
	if reasons, _ := lacking(requests, nil, allocatable, 0); len(reasons) > 0 {
		return false
	}
	if before == nil {
		return true
	}
	had := podresources.Of(before.Status.Allocatable)
	grew := func(name corev1.ResourceName) bool {
		limit, limited := had[name]
		now, still := allocatable[name]
		return limited && (!still || now > limit)
	}
	for name, amount := range requests {
		if amount > 0 && grew(name) {
			return true
		}
	}
	return grew(corev1.ResourcePods)
}

// needsLess reports whether a pod on a node now requests less of a resource that the waiting pod needs, or the waiting pod itself requests
// less of anything.
func needsLess(waiting, old, pod *corev1.Pod) bool {
	before, now := podresources.Requests(old), podresources.Requests(pod)
	if pod.UID == waiting.UID {
		for name, amount := range before {
			if now[name] < amount {
				return true
			}
		}
		return false
	}
	if pod.Spec.NodeName == "" {
		return false
	}
	for name, amount := range podresources.Requests(waiting) {
		if amount > 0 && now[name] < before[name] {
			return true
		}
	}
	return false
}
