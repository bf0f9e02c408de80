package schedule

import (
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/volsim/volsim/api"
	"github.com/volsim/volsim/internal/core/objects"
)

// preFilterRule is the rule behind the answer of a plugin that looked at the pod alone.
func preFilterRule(s status) string {
	text := s.message()
	switch {
	case strings.HasPrefix(text, "waiting for ephemeral volume controller"):
		return "SCHED-042"
	case strings.Contains(text, "bound to non-existent persistentvolume"):
		return "SCHED-043"
	case strings.HasSuffix(text, "is being deleted"):
		return "SCHED-044"
	case strings.HasSuffix(text, "(pod is not owner)"):
		return "SCHED-045"
	case text == reasonImmediate:
		return "SCHED-050"
	case s.plugin == volumeRestrictions:
		// SCHED-180: it misses a claim before VolumeBinding does.
		return "SCHED-041"
	}
	// SCHED-064
	return "SCHED-200"
}

// explain fills in which rule turned the node down, and by what.
func (c *cycle) explain(v *NodeVerdict, at place) {
	v.Want, v.Got = "what filter "+v.Plugin+" asks for", strings.Join(v.Reasons, ", ")
	switch v.Plugin {
	case nodeUnschedulable:
		v.Rule, v.Want, v.Got = "SCHED-024", "a node that is not cordoned", "spec.unschedulable is true"
	case taintToleration:
		v.Rule, v.Want, v.Got = "SCHED-024", "no taint that the pod does not tolerate", c.taints(at.node)
	case nodeAffinity:
		v.Rule, v.Want, v.Got = "SCHED-024", "labels that the node selector and affinity of the pod accept", describeLabels(at.node.Labels)
	case nodeResourcesFit:
		v.Rule, v.Want, v.Got = "SCHED-024", "room for what the pod requests", strings.Join(v.Reasons, ", ")
	case volumeRestrictions:
		c.explainRestrictions(v)
	case nodeVolumeLimits:
		v.Rule, v.Want = "SCHED-216", "no more volumes than the CSIDriver can attach to the node"
		v.Got = fmt.Sprintf("allocatable.count %s is used up", describeLimits(c.limitsOf(at.node.Name)))
	case volumeBinding:
		c.explainBinding(v, at.node)
	case volumeZone:
		v.Rule, v.Want, v.Got = "SCHED-202", "the zone of the volume: "+describeZones(c.zones), describeLabels(zoned(at.node.Labels))
	}
}

func (c *cycle) taints(node *corev1.Node) string {
	var names []string
	for i := range node.Spec.Taints {
		taint := &node.Spec.Taints[i]
		if taint.Effect != corev1.TaintEffectPreferNoSchedule && !objects.Tolerated(c.pod, taint) {
			names = append(names, taint.ToString())
		}
	}
	return "taint " + strings.Join(names, ", ")
}

func (c *cycle) explainRestrictions(v *NodeVerdict) {
	if slices.Contains(v.Reasons, reasonDiskConflict) {
		v.Rule, v.Want, v.Got = "SCHED-183", "disks that no other pod on the node has", "a pod there has the same disk"
		return
	}
	v.Rule, v.Want = "SCHED-184", "a ReadWriteOncePod claim that no other pod uses, on whatever node"
	for _, key := range namedClaims(c.pod) {
		_, name := api.SplitKey(key)
		if slices.Contains(c.restrictions.single, name) && c.look.inUse(key) {
			v.Claim, v.Got = key, fmt.Sprintf("claim %s is used by another pod", key)
			return
		}
	}
}

// explainBinding names the claim for which VolumeBinding turned the node down.
func (c *cycle) explainBinding(v *NodeVerdict, node *corev1.Node) {
	switch v.Reasons[0] {
	case reasonNoVolume:
		v.Rule, v.Want = "SCHED-113", "volumes that exist"
		for _, claim := range c.binding.bound {
			if _, ok := c.look.assumedVolume(claim.Spec.VolumeName); !ok {
				v.Claim, v.Got = api.KeyOf(claim), fmt.Sprintf("claim %s is bound to volume %q, which does not exist", api.KeyOf(claim), claim.Spec.VolumeName)
				return
			}
		}
	case reasonNodeConflict:
		v.Rule, v.Want = "SCHED-110", "labels that the node affinity of the volume accepts"
		for _, claim := range c.binding.bound {
			if pv, ok := c.look.assumedVolume(claim.Spec.VolumeName); ok && !objects.AdmitsNode(pv, node.Labels) {
				v.Claim = api.KeyOf(claim)
				v.Want = fmt.Sprintf("a node in the reach of volume %q: %s", pv.Name, DescribeAffinity(pv))
				v.Got = describeLabels(relevant(node.Labels, pv))
				return
			}
		}
	case reasonSpace:
		v.Rule, v.Want, v.Got = "SCHED-112", "a CSIStorageCapacity that the claim fits into, for a segment of the node", "none is large enough"
		v.Claim = c.firstOpen(node)
	case reasonBindConflict:
		c.explainUnbound(v, node)
	}
}

// firstOpen is the claim for which nothing was found on the node, when it is the only one; else the first that waits.
func (c *cycle) firstOpen(node *corev1.Node) string {
	for _, claim := range c.binding.delayed {
		if why, err := c.provisionable([]*corev1.PersistentVolumeClaim{claim}, node); err == nil && why != "" {
			return api.KeyOf(claim)
		}
	}
	return ""
}

// explainUnbound says why a claim that waits for the scheduler can get nothing on the node.
func (c *cycle) explainUnbound(v *NodeVerdict, node *corev1.Node) {
	for _, claim := range c.binding.delayed {
		// SCHED-070
		if selected, ok := claim.Annotations[objects.AnnSelectedNode]; ok && selected != node.Name {
			v.Rule, v.Claim = "SCHED-070", api.KeyOf(claim)
			v.Want = fmt.Sprintf("node %q, for which claim %s is being provisioned", selected, v.Claim)
			v.Got = fmt.Sprintf("node %q", node.Name)
			return
		}
	}
	v.Rule, v.Claim = "SCHED-111", c.firstOpen(node)
	claim, _ := c.look.assumedClaim(v.Claim)
	if claim == nil {
		return
	}
	name := objects.ClassOf(claim)
	class, _ := c.look.class(name)
	switch {
	case class == nil:
	case class.Provisioner == "" || class.Provisioner == noProvisioner:
		// SCHED-102
		v.Rule, v.Want = "SCHED-102", fmt.Sprintf("a free volume of class %q for claim %s that the node reaches", name, v.Claim)
		v.Got = "none, and the class makes no volumes"
	default:
		// SCHED-103
		v.Rule, v.Want, v.Got = "SCHED-103", fmt.Sprintf("labels in the allowedTopologies of class %q", name), describeLabels(node.Labels)
	}
}

// DescribeAffinity spells the node affinity of a volume, for people to read: `topology.kubernetes.io/zone in [a b]`.
func DescribeAffinity(pv *corev1.PersistentVolume) string {
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

// relevant are the labels of a node that the affinity of a volume speaks of.
func relevant(labels map[string]string, pv *corev1.PersistentVolume) map[string]string {
	asked := map[string]string{}
	for _, term := range pv.Spec.NodeAffinity.Required.NodeSelectorTerms {
		for _, r := range term.MatchExpressions {
			if value, ok := labels[r.Key]; ok {
				asked[r.Key] = value
			}
		}
	}
	return asked
}

func zoned(labels map[string]string) map[string]string {
	zones := map[string]string{}
	for _, label := range zoneLabels {
		if value, ok := labels[label.key]; ok {
			zones[label.key] = value
		}
	}
	return zones
}

func describeZones(zones []zoneLabel) string {
	var parts []string
	for _, zone := range zones {
		parts = append(parts, fmt.Sprintf("%s in %v", zone.key, zone.values))
	}
	return strings.Join(parts, " and ")
}

func describeLabels(labels map[string]string) string {
	if len(labels) == 0 {
		return "no such labels"
	}
	var parts []string
	for _, key := range sortedKeys(labels) {
		parts = append(parts, key+"="+labels[key])
	}
	return strings.Join(parts, ",")
}

func describeLimits(limits map[string]int) string {
	var parts []string
	for _, driver := range sortedKeys(limits) {
		parts = append(parts, fmt.Sprintf("%d of %s", limits[driver], driver))
	}
	return strings.Join(parts, ", ")
}
