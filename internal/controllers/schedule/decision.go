package schedule

import (
	"slices"

	corev1 "k8s.io/api/core/v1"

	"github.com/volsim/volsim/api"
	"github.com/volsim/volsim/internal/core/objects"
)

// Decision is the result of one attempt to find a node for a pod.
type Decision struct {
	// Rule and Message are set if the pod is rejected before any node is filtered (SCHED-022, SCHED-023) or a plugin returns an error
	// (SCHED-237); otherwise they are empty.
	Rule, Message string
	// Plugin is the plugin that rejected the pod before any node was filtered, "" if none did. Unresolvable is true if evictions cannot
	// change that (SCHED-234).
	Plugin       string
	Unresolvable bool
	// Nodes has the result for each node, by name; empty if no node was filtered.
	Nodes []NodeResult
}

// Fits reports whether the pod fits on a node.
func (d Decision) Fits() bool {
	return slices.ContainsFunc(d.Nodes, NodeResult.Fits)
}

// NodeResult is the result of the filters for a pod on a node.
type NodeResult struct {
	Node string
	// Rule is that of the first filter that rejects the node, "" if the pod fits (SCHED-024). Plugin is the name of that filter, and Reasons
	// are its reasons as the condition of the pod counts them (SCHED-233).
	Rule, Plugin string
	Reasons      []string
	// Unresolvable is true if evictions cannot change the rejection (SCHED-234).
	Unresolvable bool
	// Claim is the key of the claim that caused the rejection, Volume the name of the PersistentVolume; "" if there is none.
	Claim, Volume string
	// Zones are the zone and region labels that the pod's volumes require, for SCHED-202.
	Zones []Zone
}

// Fits reports whether the pod fits on the node.
func (r NodeResult) Fits() bool { return r.Rule == "" }

// Zone is a zone or region label of a volume. A node matches if its label has one of the values.
type Zone struct {
	Key    string
	Values []string // sorted
}

// attribute fills in the rule behind a rejection of the node, and the claim and volume that caused it.
func (c *cycle) attribute(r *NodeResult, node *corev1.Node) {
	switch r.Plugin {
	case nodeUnschedulable, taintToleration, nodeAffinity, nodeResourcesFit:
		r.Rule = "SCHED-024"
	case nodePorts:
		r.Rule = "SCHED-316"
	case podTopologySpread:
		r.Rule = map[string]string{reasonNoDomain: "SCHED-304", reasonSpread: "SCHED-305"}[r.Reasons[0]]
	case interPodAffinity:
		r.Rule = map[string]string{reasonPodAffinity: "SCHED-292", reasonPodAntiAffinity: "SCHED-294", reasonExcluded: "SCHED-295"}[r.Reasons[0]]
	case volumeRestrictions:
		c.attributeRestrictions(r)
	case nodeVolumeLimits:
		r.Rule = "SCHED-216"
	case volumeBinding:
		c.attributeBinding(r, node)
	case volumeZone:
		r.Rule = "SCHED-202"
		for _, zone := range c.zones {
			r.Zones = append(r.Zones, Zone{zone.key, zone.values})
		}
	}
}

func (c *cycle) attributeRestrictions(r *NodeResult) {
	if slices.Contains(r.Reasons, reasonDiskConflict) {
		r.Rule = "SCHED-183"
		return
	}
	r.Rule = "SCHED-184"
	for _, key := range namedClaims(c.pod) {
		_, name := objects.SplitKey(key)
		if slices.Contains(c.restrictions.single, name) && c.look.inUse(key) {
			r.Claim = key
			return
		}
	}
}

// attributeBinding finds the claim for which VolumeBinding rejected the node.
func (c *cycle) attributeBinding(r *NodeResult, node *corev1.Node) {
	switch r.Reasons[0] {
	case reasonNoVolume:
		r.Rule = "SCHED-113"
		for _, claim := range c.binding.bound {
			if _, ok := c.look.assumedVolume(claim.Spec.VolumeName); !ok {
				r.Claim, r.Volume = api.KeyOf(claim), claim.Spec.VolumeName
				return
			}
		}
	case reasonNodeConflict:
		r.Rule = "SCHED-110"
		for _, claim := range c.binding.bound {
			if pv, ok := c.look.assumedVolume(claim.Spec.VolumeName); ok && !objects.AdmitsNode(pv, node.Labels) {
				r.Claim, r.Volume = api.KeyOf(claim), pv.Name
				return
			}
		}
	case reasonSpace:
		r.Rule, r.Claim = "SCHED-112", c.firstUnprovisionable(node)
	case reasonBindConflict:
		c.attributeUnbound(r, node)
	}
}

// attributeUnbound finds the delayed claim that gets no volume on the node, and why.
func (c *cycle) attributeUnbound(r *NodeResult, node *corev1.Node) {
	for _, claim := range c.binding.delayed {
		// SCHED-070: the claim is being provisioned for another node.
		if selected, ok := claim.Annotations[objects.AnnSelectedNode]; ok && selected != node.Name {
			r.Rule, r.Claim = "SCHED-070", api.KeyOf(claim)
			return
		}
	}
	r.Rule, r.Claim = "SCHED-111", c.firstUnprovisionable(node)
	claim, ok := c.look.assumedClaim(r.Claim)
	if !ok {
		return
	}
	class, ok := c.look.class(objects.ClassOf(claim))
	switch {
	case !ok:
	case class.Provisioner == "" || class.Provisioner == noProvisioner:
		// SCHED-102: no free volume is reachable, and the class provisions none.
		r.Rule = "SCHED-102"
	default:
		// SCHED-103: the class does not allow the topology of the node.
		r.Rule = "SCHED-103"
	}
}

// firstUnprovisionable returns the key of the first delayed claim that cannot be provisioned for the node, "" if each can.
func (c *cycle) firstUnprovisionable(node *corev1.Node) string {
	for _, claim := range c.binding.delayed {
		if why, err := c.provisionable([]*corev1.PersistentVolumeClaim{claim}, node); err == nil && why != "" {
			return api.KeyOf(claim)
		}
	}
	return ""
}
