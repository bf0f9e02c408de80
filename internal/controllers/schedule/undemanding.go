package schedule

import (
	"github.com/volsim/volsim/internal/core/intree"
	"github.com/volsim/volsim/internal/core/podresources"
)

// undemanding reports whether the filters accept the pod on every node that accepts its requests. Then a search need not run them: it looks at
// hundreds of nodes, most of which accept most pods. It is asked after preFilter.
func (c *cycle) undemanding() bool {
	spec := &c.pod.Spec
	if c.hostPorts || len(spec.NodeSelector) > 0 || spec.Affinity != nil && spec.Affinity.NodeAffinity != nil {
		return false
	}
	if !c.restrictions.skip || len(c.zones) > 0 || len(c.spread.constraints) > 0 || !c.affinity.skip {
		return false
	}
	// SCHED-210 to SCHED-217: on a node without limits, NodeVolumeLimits only fails for a claim that VolumeBinding has found by now, or for a
	// volume in the pod that cannot be translated.
	for i := range spec.Volumes {
		volume := &spec.Volumes[i]
		if volume.PersistentVolumeClaim != nil || volume.Ephemeral != nil {
			continue
		}
		if _, ok := intree.PluginInPod(volume); ok {
			return false
		}
	}
	return c.reachedAnywhere()
}

// reachedAnywhere reports whether every node reaches the pod's volumes, and none is left to find (SCHED-060).
func (c *cycle) reachedAnywhere() bool {
	if c.binding.skip {
		return true
	}
	c.readBound()
	for _, pv := range c.binding.volumes {
		if pv == nil || pv.Spec.NodeAffinity != nil {
			return false
		}
		// SCHED-063: such a volume has another affinity on some nodes.
		if _, ok := intree.PluginOf(&pv.Spec.PersistentVolumeSource); ok {
			return false
		}
	}
	return len(c.binding.delayed) == 0
}

// accepts reports whether the node certainly accepts an undemanding pod with these requests.
func (slot *nodeSlot) accepts(requests podresources.Amounts) bool {
	at := &slot.at
	if !at.open || len(slot.limits) > 0 {
		return false
	}
	if len(at.allocatable) == 0 {
		return true
	}
	reasons, _ := lacking(requests, slot.pods.used, at.allocatable, slot.pods.n)
	return len(reasons) == 0
}
