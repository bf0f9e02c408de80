package explain

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/volsim/volsim/internal/controllers/schedule"
	"github.com/volsim/volsim/internal/core/objects"
)

// nodeReason renders why the scheduler rejected a node for a pod: what its filter requires, and what it found.
func (x *explainer) nodeReason(pod *corev1.Pod, r schedule.NodeResult) (want, got string) {
	node, reasons := x.nodes[r.Node], strings.Join(r.Reasons, ", ")
	switch r.Rule {
	case "":
		return "", ""
	case "SCHED-024":
		return nodeConstraint(pod, node, r)
	case "SCHED-070":
		claim := x.claims[r.Claim]
		return fmt.Sprintf("node %q, for which claim %s is being provisioned", claim.Annotations[objects.AnnSelectedNode], r.Claim),
			fmt.Sprintf("node %q", r.Node)
	case "SCHED-102":
		return fmt.Sprintf("a free volume of class %q for claim %s that the node reaches", objects.ClassOf(x.claims[r.Claim]), r.Claim),
			"none, and the class makes no volumes"
	case "SCHED-103":
		return fmt.Sprintf("labels in the allowedTopologies of class %q", objects.ClassOf(x.claims[r.Claim])), describeLabels(node.Labels)
	case "SCHED-110":
		if pv := x.volumes[r.Volume]; pv != nil {
			return fmt.Sprintf("a node in the reach of volume %q: %s", pv.Name, describeAffinity(pv)), describeLabels(affinityLabels(node.Labels, pv))
		}
		return "labels that the node affinity of the volume accepts", reasons
	case "SCHED-112":
		return "a CSIStorageCapacity that the claim fits into, for a segment of the node", "none is large enough"
	case "SCHED-113":
		if r.Claim != "" {
			return "volumes that exist", fmt.Sprintf("claim %s is bound to volume %q, which does not exist", r.Claim, r.Volume)
		}
		return "volumes that exist", reasons
	case "SCHED-183":
		return "disks that no other pod on the node has", "a pod there has the same disk"
	case "SCHED-184":
		if r.Claim != "" {
			reasons = fmt.Sprintf("claim %s is used by another pod", r.Claim)
		}
		return "a ReadWriteOncePod claim that no other pod uses, on whatever node", reasons
	case "SCHED-202":
		return "the zone of the volume: " + describeZones(r.Zones), describeLabels(zoneLabels(node.Labels))
	case "SCHED-216":
		return "no more volumes than the CSIDriver can attach to the node", fmt.Sprintf("allocatable.count %s is used up", x.describeLimits(r.Node))
	}
	return "what filter " + r.Plugin + " asks for", reasons
}

// nodeConstraint renders a rejection by a filter that checks the node itself (SCHED-024).
func nodeConstraint(pod *corev1.Pod, node *corev1.Node, r schedule.NodeResult) (want, got string) {
	switch r.Plugin {
	case "NodeUnschedulable":
		return "a node that is not cordoned", "spec.unschedulable is true"
	case "TaintToleration":
		return "no taint that the pod does not tolerate", "taint " + strings.Join(untolerated(pod, node), ", ")
	case "NodeAffinity":
		return "labels that the node selector and affinity of the pod accept", describeLabels(node.Labels)
	}
	return "room for what the pod requests", strings.Join(r.Reasons, ", ")
}

// untolerated returns the taints of a node that exclude the pod.
func untolerated(pod *corev1.Pod, node *corev1.Node) []string {
	var taints []string
	for i := range node.Spec.Taints {
		taint := &node.Spec.Taints[i]
		if taint.Effect != corev1.TaintEffectPreferNoSchedule && !objects.Tolerated(pod, taint) {
			taints = append(taints, taint.ToString())
		}
	}
	return taints
}

// describeAffinity renders the node affinity of a volume: `topology.kubernetes.io/zone in [a b]`.
func describeAffinity(pv *corev1.PersistentVolume) string {
	if pv.Spec.NodeAffinity == nil || pv.Spec.NodeAffinity.Required == nil {
		return "anywhere"
	}
	var terms []string
	for _, term := range pv.Spec.NodeAffinity.Required.NodeSelectorTerms {
		var parts []string
		for _, r := range term.MatchExpressions {
			part := r.Key + " " + strings.ToLower(string(r.Operator))
			if len(r.Values) > 0 {
				part += fmt.Sprintf(" %v", r.Values)
			}
			parts = append(parts, part)
		}
		terms = append(terms, strings.Join(parts, " and "))
	}
	return strings.Join(terms, ", or ")
}

// affinityLabels returns the labels of a node that the node affinity of a volume names.
func affinityLabels(labels map[string]string, pv *corev1.PersistentVolume) map[string]string {
	named := map[string]string{}
	for _, term := range pv.Spec.NodeAffinity.Required.NodeSelectorTerms {
		for _, r := range term.MatchExpressions {
			if value, ok := labels[r.Key]; ok {
				named[r.Key] = value
			}
		}
	}
	return named
}

// zoneKeys are the labels that VolumeZone reads from nodes (SCHED-010).
var zoneKeys = []string{
	corev1.LabelFailureDomainBetaZone, corev1.LabelFailureDomainBetaRegion, corev1.LabelTopologyZone, corev1.LabelTopologyRegion,
}

// zoneLabels returns the zone and region labels of a node.
func zoneLabels(labels map[string]string) map[string]string {
	zones := map[string]string{}
	for _, key := range zoneKeys {
		if value, ok := labels[key]; ok {
			zones[key] = value
		}
	}
	return zones
}

func describeZones(zones []schedule.Zone) string {
	var parts []string
	for _, zone := range zones {
		parts = append(parts, fmt.Sprintf("%s in %v", zone.Key, zone.Values))
	}
	return strings.Join(parts, " and ")
}

func describeLabels(labels map[string]string) string {
	if len(labels) == 0 {
		return "no such labels"
	}
	var parts []string
	for _, key := range slices.Sorted(maps.Keys(labels)) {
		parts = append(parts, key+"="+labels[key])
	}
	return strings.Join(parts, ",")
}

// describeLimits renders how many volumes the drivers of a node can attach.
func (x *explainer) describeLimits(node string) string {
	csiNode := x.csiNodes[node]
	if csiNode == nil {
		return ""
	}
	limits := map[string]int32{}
	for i := range csiNode.Spec.Drivers {
		if driver := &csiNode.Spec.Drivers[i]; driver.Allocatable != nil && driver.Allocatable.Count != nil {
			limits[driver.Name] = *driver.Allocatable.Count
		}
	}
	var parts []string
	for _, driver := range slices.Sorted(maps.Keys(limits)) {
		parts = append(parts, fmt.Sprintf("%d of %s", limits[driver], driver))
	}
	return strings.Join(parts, ", ")
}
