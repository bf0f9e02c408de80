package schedule

import (
	"slices"

	corev1 "k8s.io/api/core/v1"

	"github.com/volsim/volsim/internal/core/objects"
)

// filterUnschedulable rejects a cordoned node.
func (c *cycle) filterUnschedulable(at *nodeState) status {
	if at.node.Spec.Unschedulable && !objects.Tolerated(c.pod, cordoned) {
		return rejectFor(reasonUnschedulable)
	}
	return status{}
}

// cordoned is the taint that represents spec.unschedulable.
var cordoned = &corev1.Taint{Key: corev1.TaintNodeUnschedulable, Effect: corev1.TaintEffectNoSchedule}

// filterTaints rejects a node with a taint that the pod does not tolerate.
func (c *cycle) filterTaints(at *nodeState) status {
	if untolerated(c.pod, at.node) {
		return rejectFor(reasonTaint)
	}
	return status{}
}

// untolerated reports whether the node has a taint that excludes the pod.
func untolerated(pod *corev1.Pod, node *corev1.Node) bool {
	return slices.ContainsFunc(node.Spec.Taints, func(taint corev1.Taint) bool {
		return (taint.Effect == corev1.TaintEffectNoSchedule || taint.Effect == corev1.TaintEffectNoExecute) && !objects.Tolerated(pod, &taint)
	})
}

// filterAffinity rejects a node that the pod's node selector or node affinity excludes.
func (c *cycle) filterAffinity(at *nodeState) status {
	if !objects.SelectsNode(c.pod, at.node) {
		return rejectFor(reasonAffinity)
	}
	return status{}
}

// filterPorts rejects a node on which another pod has a port that the pod needs.
func (c *cycle) filterPorts(at *nodeState) status {
	// SCHED-316: a conflict ends when the other pod goes.
	if c.hostPorts && slices.ContainsFunc(at.pods(), func(other *corev1.Pod) bool { return sharePort(c.pod, other) }) {
		return reject(reasonPorts)
	}
	return status{}
}

// sharePort reports whether two pods need the same port of a node.
func sharePort(a, b *corev1.Pod) bool {
	_, conflict := objects.HostPortConflict(a, b)
	return conflict
}

// filterResources rejects a node without enough free resources.
func (c *cycle) filterResources(at *nodeState) status {
	if len(at.allocatable) == 0 {
		return status{}
	}
	reasons, resolvable := lacking(c.requests, at.on.used, at.allocatable, at.on.n)
	switch {
	case len(reasons) == 0:
		return status{}
	case resolvable:
		return reject(reasons...)
	}
	return rejectFor(reasons...)
}
