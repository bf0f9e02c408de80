package schedule

import (
	"slices"

	corev1 "k8s.io/api/core/v1"

	"github.com/volsim/volsim/internal/core/objects"
)

// filterUnschedulable keeps pods off a node that was cordoned.
func (c *cycle) filterUnschedulable(at place) status {
	if at.node.Spec.Unschedulable && !objects.Tolerated(c.pod, cordoned) {
		return rejectFor(reasonUnschedulable)
	}
	return status{}
}

// cordoned is the taint that stands for spec.unschedulable.
var cordoned = &corev1.Taint{Key: corev1.TaintNodeUnschedulable, Effect: corev1.TaintEffectNoSchedule}

// filterTaints keeps pods off a node with a taint that they do not tolerate.
func (c *cycle) filterTaints(at place) status {
	if untolerated(c.pod, at.node) {
		return rejectFor(reasonTaint)
	}
	return status{}
}

// untolerated reports whether a taint keeps the pod off the node.
func untolerated(pod *corev1.Pod, node *corev1.Node) bool {
	return slices.ContainsFunc(node.Spec.Taints, func(taint corev1.Taint) bool {
		return (taint.Effect == corev1.TaintEffectNoSchedule || taint.Effect == corev1.TaintEffectNoExecute) && !objects.Tolerated(pod, &taint)
	})
}

// filterAffinity keeps a pod to the nodes that it asks for.
func (c *cycle) filterAffinity(at place) status {
	if !objects.SelectsNode(c.pod, at.node) {
		return rejectFor(reasonAffinity)
	}
	return status{}
}

// filterResources keeps pods off a node that has too little left.
func (c *cycle) filterResources(at place) status {
	if len(at.node.Status.Allocatable) == 0 {
		return status{}
	}
	reasons, resolvable := lacking(c.requests, at.used, amountsOf(at.node.Status.Allocatable), at.n)
	switch {
	case len(reasons) == 0:
		return status{}
	case resolvable:
		return reject(reasons...)
	}
	return rejectFor(reasons...)
}
