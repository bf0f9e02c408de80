package attach

import (
	"slices"

	corev1 "k8s.io/api/core/v1"

	"github.com/volsim/volsim/api"
	"github.com/volsim/volsim/internal/core/engine"
	"github.com/volsim/volsim/internal/core/klog"
)

// writeNodeStatuses writes the dirty reports of all nodes (ATT-111).
func (c *controller) writeNodeStatuses(p *engine.Process) {
	lists := map[string][]corev1.AttachedVolume{}
	nodes := c.actual.dirtyNodes()
	for _, node := range nodes {
		lists[node], _ = c.actual.take(node)
	}
	for _, node := range nodes {
		// ATT-111: after an error the other nodes are still written. The failed one is retried in the next pass.
		_ = c.patchNode(p, node, lists[node])
	}
}

// writeNodeStatus writes the report of one node if it is dirty, with all of its changes (ATT-112).
func (c *controller) writeNodeStatus(p *engine.Process, node string) error {
	volumes, dirty := c.actual.take(node)
	if !dirty {
		return nil
	}
	return c.patchNode(p, node, volumes)
}

// patchNode writes volumesAttached into a node's status. After an error the report is dirty again.
func (c *controller) patchNode(p *engine.Process, name string, volumes []corev1.AttachedVolume) error {
	node, ok := c.infNodes.Get(name)
	if !ok {
		// ATT-113: without a Node object nothing is written until it is created again (ATT-115).
		c.log.nodes.Info(2, "Could not update node status. Failed to find node in NodeInformer cache", nodeName(name),
			klog.String("err", `node "`+name+`" not found`))
		return nil
	}
	if _, err := p.API().Nodes.PatchWith(p, name, attachedPatch(node.Status.VolumesAttached, volumes), api.Status); err != nil {
		// ATT-113: any error is retried, also NotFound.
		c.actual.markDirty(name)
		c.wake()
		c.log.nodes.Info(2, "Could not update node status; re-marking for update", nodeName(name), klog.Err(err))
		return err
	}
	return nil
}

// attachedPatch returns the patch from the cached list to the wanted one. It replaces the list as a whole, or removes it if it is empty
// (ATT-110).
func attachedPatch(cached, wanted []corev1.AttachedVolume) func(newest *corev1.Node) error {
	return func(newest *corev1.Node) error {
		switch {
		// ATT-114: if the cache lags, the patch can be empty although the stored list differs.
		case slices.Equal(cached, wanted):
		case len(wanted) == 0:
			newest.Status.VolumesAttached = nil
		default:
			newest.Status.VolumesAttached = wanted
		}
		return nil
	}
}
