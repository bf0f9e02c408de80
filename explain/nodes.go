package explain

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/volsim/volsim/api"
	"github.com/volsim/volsim/internal/controllers/schedule"
	"github.com/volsim/volsim/internal/core/match"
	"github.com/volsim/volsim/internal/core/objects"
)

// nodeReason renders why the scheduler rejected a node for a pod: what the node has, and what the pod needs instead; needed is "" where
// got says it all.
func (x *explainer) nodeReason(pod *corev1.Pod, r schedule.NodeResult) (got, needed string) {
	node, reasons := x.nodes[r.Node], strings.Join(r.Reasons, ", ")
	switch r.Rule {
	case "":
		return "", ""
	case "SCHED-024":
		return x.nodeConstraint(pod, node, r)
	case "SCHED-070":
		return fmt.Sprintf("claim %s is being provisioned for node %s", r.Claim, x.claims[r.Claim].Annotations[objects.AnnSelectedNode]), ""
	case "SCHED-102":
		return fmt.Sprintf("no free volume for claim %s is reachable, and storage class %q does not create volumes",
			r.Claim, objects.ClassOf(x.claims[r.Claim])), ""
	case "SCHED-103":
		class := objects.ClassOf(x.claims[r.Claim])
		terms := topologyTerms(x.classes[class])
		return describeNamed(node, termKeys(terms)), fmt.Sprintf("%s, the allowedTopologies of storage class %q", match.DescribeTerms(terms), class)
	case "SCHED-110":
		if pv := x.volumes[r.Volume]; pv != nil {
			return describeNamed(node, termKeys(pv.Spec.NodeAffinity.Required.NodeSelectorTerms)), fmt.Sprintf("%s to reach volume %s", match.DescribeAffinity(pv), pv.Name)
		}
		return reasons, "labels that the node affinity of the volume accepts"
	case "SCHED-112":
		return x.describeCapacity(node, x.claims[r.Claim])
	case "SCHED-113":
		if r.Claim != "" {
			return fmt.Sprintf("claim %s is bound to volume %s, which does not exist", r.Claim, r.Volume), ""
		}
		return reasons, ""
	case "SCHED-183":
		return "a pod there uses the same disk", ""
	case "SCHED-184":
		if r.Claim != "" {
			return fmt.Sprintf("another pod uses claim %s, which is ReadWriteOncePod", r.Claim), ""
		}
		return reasons, ""
	case "SCHED-202":
		return describeLabels(zoneLabels(node.Labels)), describeZones(r.Zones) + " (where the volume is)"
	case "SCHED-316":
		for _, other := range x.Pods {
			if port, conflict := objects.HostPortConflict(pod, other); conflict && other.Spec.NodeName == r.Node && !objects.Terminated(other) {
				return fmt.Sprintf("pod %s uses host port %s", api.KeyOf(other), port), ""
			}
		}
		return reasons, ""
	case "SCHED-216":
		return fmt.Sprintf("its attachment limit is used up (%s)", x.describeLimits(r.Node)), ""
	}
	return fmt.Sprintf("filter %s: %s", r.Plugin, reasons), ""
}

// nodeConstraint renders a rejection by a filter that checks the node itself (SCHED-024).
func (x *explainer) nodeConstraint(pod *corev1.Pod, node *corev1.Node, r schedule.NodeResult) (got, needed string) {
	switch r.Plugin {
	case "NodeUnschedulable":
		return "cordoned (spec.unschedulable is true)", ""
	case "TaintToleration":
		return fmt.Sprintf("the pod does not tolerate taint %s", strings.Join(untolerated(pod, node), ", ")), ""
	case "NodeAffinity":
		return describeNamed(node, selectionKeys(pod)), describeSelection(pod)
	case "NodeResourcesFit":
		return describeShortages(x.scheduler.Shortages(pod, node.Name))
	}
	return strings.Join(r.Reasons, ", "), ""
}

// untolerated returns the taints of a node that exclude the pod, without the one that says again that the node is cordoned.
func untolerated(pod *corev1.Pod, node *corev1.Node) []string {
	var taints []string
	for i := range node.Spec.Taints {
		taint := &node.Spec.Taints[i]
		if taint.Key == corev1.TaintNodeUnschedulable && node.Spec.Unschedulable {
			continue
		}
		if taint.Effect != corev1.TaintEffectPreferNoSchedule && !objects.Tolerated(pod, taint) {
			taints = append(taints, taint.ToString())
		}
	}
	return taints
}

// termKeys returns the keys of the labels and fields that the terms of a node selector name.
func termKeys(terms []corev1.NodeSelectorTerm) (keys []string) {
	for _, term := range terms {
		for _, r := range slices.Concat(term.MatchExpressions, term.MatchFields) {
			keys = append(keys, r.Key)
		}
	}
	return keys
}

// describeNamed renders the labels of a node with these keys; metadata.name is its name: "zone=a, no label disk".
func describeNamed(node *corev1.Node, keys []string) string {
	slices.Sort(keys)
	var parts []string
	for _, key := range slices.Compact(keys) {
		value, ok := node.Labels[key]
		if key == metav1.ObjectNameField {
			value, ok = node.Name, true
		}
		if ok {
			parts = append(parts, key+"="+value)
		} else {
			parts = append(parts, "no label "+key)
		}
	}
	return strings.Join(parts, ", ")
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
		return "none"
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
