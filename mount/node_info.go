package mount

import (
	"encoding/json"
	"fmt"

	corev1 "k8s.io/api/core/v1"

	"github.com/volsim/volsim/api"
	"github.com/volsim/volsim/internal/core/engine"
	"github.com/volsim/volsim/internal/core/objects"
	"github.com/volsim/volsim/storage"
)

// annNodeIDs is on a Node; the value is a JSON object with the ID of the node at each driver that describes it.
const annNodeIDs = "csi.volume.kubernetes.io/nodeid"

// describe writes what a driver returns about the node into the Node: the ID into an annotation, the topology into labels (MNT-362). A topology
// is written even if the Node has it.
func (dr *driverRegistrar) describe(p *engine.Process, driver string, info storage.NodeInfo) error {
	node, err := dr.k.getNode(p)
	if err != nil {
		return fmt.Errorf("error updating Node object with CSI driver node info: %w", err)
	}
	var annotation string // "" if it stays
	ids := map[string]string{}
	if old := node.Annotations[annNodeIDs]; old != "" {
		if err := json.Unmarshal([]byte(old), &ids); err != nil {
			// MNT-362: an annotation that cannot be read stays.
			return fmt.Errorf("failed to parse node's %q annotation value (%q) err=%w", annNodeIDs, old, err)
		}
	}
	if ids[driver] != info.ID {
		ids[driver] = info.ID
		text, err := json.Marshal(ids)
		if err != nil {
			return err
		}
		annotation = string(text)
	}
	for _, key := range objects.SortedKeys(info.Topology) {
		value, exists := node.Labels[key]
		if exists && value != info.Topology[key] {
			// MNT-362: a label with another value is an error.
			return fmt.Errorf("detected topology value collision: driver reported %q:%q but existing label is %q:%q", key, info.Topology[key], key, value)
		}
	}
	if annotation == "" && len(info.Topology) == 0 {
		return nil
	}
	// MNT-362: the Node is written before the CSINode, by a patch of its status.
	_, err = reach(dr.k, func() (*corev1.Node, error) {
		return p.API().Nodes.PatchWith(p, dr.k.node.name, func(newest *corev1.Node) error {
			if annotation != "" {
				newest.Annotations = objects.MergeStrings(newest.Annotations, map[string]string{annNodeIDs: annotation})
			}
			if len(info.Topology) > 0 {
				newest.Labels = objects.MergeStrings(newest.Labels, info.Topology)
			}
			return nil
		}, api.Status)
	})
	return err
}

// describes reports whether the driver describes its nodes.
func (dr *driverRegistrar) describes(driver string) bool {
	b, ok := dr.k.node.nodes.backends.Driver(driver)
	if !ok {
		return false
	}
	_, described := b.(storage.NodeDescriber)
	return described
}
