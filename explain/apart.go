package explain

import (
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"

	"github.com/volsim/volsim/internal/controllers/schedule"
	"github.com/volsim/volsim/internal/core/match"
	"github.com/volsim/volsim/internal/core/objects"
)

// apart reports whether two volumes of the pod are where no node can be, such as in two zones, and says what ends that (SCHED-110).
func (x *explainer) apart(e *Explanation, pod *corev1.Pod) bool {
	var volumes []*corev1.PersistentVolume
	for _, key := range objects.ClaimsOf(pod) {
		if pv := x.volumeOf(key); pv != nil {
			volumes = append(volumes, pv)
		}
	}
	for i, a := range volumes {
		for _, b := range volumes[i+1:] {
			if disjoint(a, b) {
				e.todo(fmt.Sprintf("restore the data of one of its volumes to where the other is, or give them to different pods: volume %s needs a node with %s, and volume %s one with %s",
					a.Name, match.DescribeAffinity(a), b.Name, match.DescribeAffinity(b)))
				return true
			}
		}
	}
	return false
}

// volumeOf returns the volume that a claim names; nil if there is none.
func (x *explainer) volumeOf(key string) *corev1.PersistentVolume {
	if claim, ok := x.claims[key]; ok {
		return x.volumes[claim.Spec.VolumeName]
	}
	return nil
}

// withItsNode reports whether a volume of the pod is on one machine that is no node of the cluster, and says what ends that (SCHED-110).
func (x *explainer) withItsNode(e *Explanation, pod *corev1.Pod) bool {
	for _, key := range objects.ClaimsOf(pod) {
		pv := x.volumeOf(key)
		if pv == nil {
			continue
		}
		if host := objects.MissingHost(pv, x.Nodes); host != "" {
			e.todo(fmt.Sprintf("bring node %[1]s back: volume %[2]s is on this machine, and no node of the cluster has label %[3]s=%[1]s", host, pv.Name,
				corev1.LabelHostname))
			e.todo(fmt.Sprintf("or give up the data: delete claim %s and the pod, and create both again", key))
			return true
		}
	}
	return false
}

// outsideOfClass says what makes a node fit for a pod whose claim gets a volume in some topologies only (SCHED-103). freed is how to free a node there.
func (x *explainer) outsideOfClass(e *Explanation, pod *corev1.Pod, freed string) {
	for _, key := range objects.ClaimsOf(pod) {
		claim, ok := x.claims[key]
		if !ok || claim.Spec.VolumeName != "" {
			continue
		}
		if class, ok := x.classes[objects.ClassOf(claim)]; ok && len(class.AllowedTopologies) > 0 {
			todo := fmt.Sprintf("%s or add a node that the allowedTopologies of storage class %q select, or correct these", freed, class.Name)
			if !slices.ContainsFunc(x.Nodes, func(node *corev1.Node) bool { return schedule.TopologyAllows(class, node) }) {
				todo = fmt.Sprintf("correct the allowedTopologies of storage class %q, which select no node, or add a node that they select", class.Name)
			}
			e.todo(todo)
			return
		}
	}
}

// disjoint reports whether no node can satisfy the node affinities of both volumes: each has one term, and these want a label with different
// values.
func disjoint(a, b *corev1.PersistentVolume) bool {
	wantedByB := wanted(b)
	for _, of := range wanted(a) {
		for _, other := range wantedByB {
			if of.Key == other.Key && !slices.ContainsFunc(of.Values, func(value string) bool { return slices.Contains(other.Values, value) }) {
				return true
			}
		}
	}
	return false
}

// wanted returns the labels of which a volume wants one of several values, if it wants the same of all nodes.
func wanted(pv *corev1.PersistentVolume) []corev1.NodeSelectorRequirement {
	if pv.Spec.NodeAffinity == nil || pv.Spec.NodeAffinity.Required == nil || len(pv.Spec.NodeAffinity.Required.NodeSelectorTerms) != 1 {
		return nil
	}
	return slices.DeleteFunc(slices.Clone(pv.Spec.NodeAffinity.Required.NodeSelectorTerms[0].MatchExpressions),
		func(of corev1.NodeSelectorRequirement) bool { return of.Operator != corev1.NodeSelectorOpIn })
}
