package nodelifecycle

import (
	"encoding/json"

	corev1 "k8s.io/api/core/v1"

	"github.com/volsim/volsim/api"
	"github.com/volsim/volsim/internal/core/engine"
)

// syncNode updates the NoSchedule taints of a node, and then its labels. A failure is not repeated before the node changes again (NODE-053).
func (c *controller) syncNode(p *engine.Process, name string) error {
	if node, ok := c.nodes.Get(name); ok {
		if add, remove := NoScheduleChanges(node); len(add) > 0 || len(remove) > 0 {
			p.Decide("NODE-050", node, "its NoSchedule taints follow its conditions: %d to add, %d to remove", len(add), len(remove))
			c.swapTaints(p, node, add, remove)
		}
	}
	if node, ok := c.nodes.Get(name); ok {
		if labels := missingLabels(node); len(labels) > 0 {
			if err := c.writeLabels(p, name, labels); err != nil {
				p.Decide("NODE-053", node, "its labels could not be written: %v", err)
			}
		}
	}
	return nil
}

// olderLabels are older names of labels, which follow the newer ones (NODE-052).
var olderLabels = [...]struct{ newer, older string }{
	{corev1.LabelOSStable, "beta.kubernetes.io/os"},
	{corev1.LabelArchStable, "beta.kubernetes.io/arch"},
}

// missingLabels returns the labels that a node lacks or has with another value than under their newer name (NODE-052).
func missingLabels(node *corev1.Node) map[string]string {
	var missing map[string]string
	for _, label := range olderLabels {
		value, ok := node.Labels[label.newer]
		if old, has := node.Labels[label.older]; !ok || has && old == value {
			continue
		}
		if missing == nil {
			missing = map[string]string{}
		}
		missing[label.older] = value
	}
	return missing
}

// writeLabels sets labels of a node, in one try (NODE-052, NODE-053).
func (c *controller) writeLabels(p *engine.Process, name string, labels map[string]string) error {
	patch, err := json.Marshal(map[string]any{"metadata": map[string]any{"labels": labels}})
	if err != nil {
		return err
	}
	if _, err := p.API().Nodes.Get(p, name); err != nil {
		return err
	}
	_, err = p.API().Nodes.Patch(p, name, patch, api.Main)
	return err
}
