package attach

import (
	"encoding/json"
	"slices"

	corev1 "k8s.io/api/core/v1"

	"github.com/volsim/volsim/api"
	"github.com/volsim/volsim/internal/core/engine"
)

// writeNodeStatuses writes the reports of all nodes that are not written (ATT-111).
func (c *controller) writeNodeStatuses(p *engine.Proc) {
	lists := map[string][]corev1.AttachedVolume{}
	nodes := c.actual.dirtyNodes()
	for _, node := range nodes {
		lists[node], _ = c.actual.take(node)
	}
	for _, node := range nodes {
		// ATT-111: a node that fails does not keep the others from being written. It is tried again in the next pass.
		_ = c.patchNode(p, node, lists[node])
	}
}

// writeNodeStatus writes the report of one node, if it is not written: all of it, whatever the reason (ATT-112).
func (c *controller) writeNodeStatus(p *engine.Proc, node string) error {
	volumes, dirty := c.actual.take(node)
	if !dirty {
		return nil
	}
	return c.patchNode(p, node, volumes)
}

// patchNode writes volumesAttached into a node's status. An error leaves the report to be written again.
func (c *controller) patchNode(p *engine.Proc, name string, volumes []corev1.AttachedVolume) error {
	node, ok := c.infNodes.Get(name)
	if !ok {
		// ATT-113: there is nothing to write to until the node is added again (ATT-115).
		return nil
	}
	if _, err := p.API().Nodes.Patch(p, name, attachedPatch(node.Status.VolumesAttached, volumes), api.Status); err != nil {
		// ATT-113: any error, that the node is gone included.
		c.actual.soil(name)
		c.stir()
		return err
	}
	return nil
}

// attachedPatch is the difference between the list as cached and as wanted. The list is replaced as a whole; an empty one is removed
// (ATT-110).
func attachedPatch(cached, wanted []corev1.AttachedVolume) []byte {
	// ATT-114: compared with a cache that lags this may be a difference too few.
	if slices.Equal(cached, wanted) {
		return []byte(`{}`)
	}
	patch := map[string]any{"status": map[string]any{"volumesAttached": wanted}}
	if len(wanted) == 0 {
		patch = map[string]any{"status": map[string]any{"volumesAttached": nil}}
	}
	data, err := json.Marshal(patch)
	if err != nil {
		panic("attach: a list of volumes cannot be written as JSON: " + err.Error())
	}
	return data
}
