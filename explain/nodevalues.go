package explain

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/volsim/volsim/internal/controllers/schedule"
	"github.com/volsim/volsim/internal/core/match"
	"github.com/volsim/volsim/internal/core/objects"
)

// describeShortages renders what a node has left of the resources that a pod needs, and what the pod requests.
func describeShortages(all []schedule.Shortage) (got, needed string) {
	var has, wants []string
	for i := range all {
		s := &all[i]
		has = append(has, fmt.Sprintf("%s: %s free of %s", s.Reason(), &s.Free, &s.Allocatable))
		wants = append(wants, s.Requests.String())
	}
	return strings.Join(has, " and "), strings.Join(wants, " and ")
}

// describeSelection renders the node selector and the required node affinity of a pod.
func describeSelection(pod *corev1.Pod) string {
	var parts []string
	if len(pod.Spec.NodeSelector) > 0 {
		parts = append(parts, describeLabels(pod.Spec.NodeSelector)+" (node selector)")
	}
	if a := pod.Spec.Affinity; a != nil && a.NodeAffinity != nil && a.NodeAffinity.RequiredDuringSchedulingIgnoredDuringExecution != nil {
		parts = append(parts, match.DescribeTerms(a.NodeAffinity.RequiredDuringSchedulingIgnoredDuringExecution.NodeSelectorTerms)+" (node affinity)")
	}
	return strings.Join(parts, " and ")
}

// selectionKeys returns the keys of the labels and fields that the node selector and the required node affinity of a pod name.
func selectionKeys(pod *corev1.Pod) []string {
	keys := slices.Collect(maps.Keys(pod.Spec.NodeSelector))
	if a := pod.Spec.Affinity; a != nil && a.NodeAffinity != nil && a.NodeAffinity.RequiredDuringSchedulingIgnoredDuringExecution != nil {
		keys = append(keys, termKeys(a.NodeAffinity.RequiredDuringSchedulingIgnoredDuringExecution.NodeSelectorTerms)...)
	}
	return keys
}

// topologyTerms returns the allowedTopologies of a class as the terms of a node selector.
func topologyTerms(class *storagev1.StorageClass) []corev1.NodeSelectorTerm {
	if class == nil {
		return nil
	}
	terms := make([]corev1.NodeSelectorTerm, len(class.AllowedTopologies))
	for i, term := range class.AllowedTopologies {
		for _, r := range term.MatchLabelExpressions {
			terms[i].MatchExpressions = append(terms[i].MatchExpressions,
				corev1.NodeSelectorRequirement{Key: r.Key, Operator: corev1.NodeSelectorOpIn, Values: r.Values})
		}
	}
	return terms
}

// describeCapacity renders the CSIStorageCapacities of a node for the class of a claim, and what the claim needs (SCHED-112).
func (x *explainer) describeCapacity(node *corev1.Node, claim *corev1.PersistentVolumeClaim) (got, needed string) {
	if claim == nil {
		return "no CSIStorageCapacity for this node has room for the claim", ""
	}
	var has []string
	for _, capacity := range sorted(x.Capacities) {
		selector, err := metav1.LabelSelectorAsSelector(capacity.NodeTopology)
		if capacity.StorageClassName == objects.ClassOf(claim) && err == nil && selector.Matches(labels.Set(node.Labels)) && capacity.Capacity != nil {
			text := capacity.Capacity.String()
			if most := capacity.MaximumVolumeSize; most != nil {
				text += fmt.Sprintf(" (at most %s for a volume)", most)
			}
			has = append(has, text)
		}
	}
	request := claim.Spec.Resources.Requests[corev1.ResourceStorage]
	if len(has) == 0 {
		return "it has no CSIStorageCapacity", request.String()
	}
	return "CSIStorageCapacity " + strings.Join(slices.Compact(has), ", "), request.String()
}
