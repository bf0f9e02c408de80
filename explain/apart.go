package explain

import (
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"

	"github.com/volsim/volsim/internal/core/match"
	"github.com/volsim/volsim/internal/core/objects"
)

// apart reports whether two volumes of the pod are where no node can be, such as in two zones, and says what ends that (SCHED-110).
func (x *explainer) apart(e *Explanation, pod *corev1.Pod) bool {
	var volumes []*corev1.PersistentVolume
	for _, key := range objects.ClaimsOf(pod) {
		claim, ok := x.claims[key]
		if !ok {
			continue
		}
		if pv, ok := x.volumes[claim.Spec.VolumeName]; ok {
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
