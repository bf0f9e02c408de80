package plugin

import (
	"fmt"

	"k8s.io/apimachinery/pkg/types"

	"github.com/volsim/volsim/internal/core/engine"
	"github.com/volsim/volsim/mount/internal/volumes"

	"github.com/volsim/volsim/internal/core/backends"
	"github.com/volsim/volsim/internal/core/objects"
	"github.com/volsim/volsim/storage"
)

// Condition asks the CSI driver of a volume that is mounted for a pod what is wrong with it (MNT-345). It returns "" for nothing, and for
// a volume without a condition.
func (h *Host) Condition(p *engine.Process, spec *volumes.Spec, pod types.UID, path string) (problem string, err error) {
	if spec.Plugin.Name != objects.CSIPluginName {
		return "", nil
	}
	driver, ok := h.Backends.Driver(spec.Plugin.Driver)
	if !ok || !h.registered(spec.Plugin.Driver) {
		// MNT-345: nothing is known about a driver that may be restarting.
		return "", fmt.Errorf("driver name %s not found in the list of registered CSI drivers", spec.Plugin.Driver)
	}
	// MNT-345: only a driver with GET_VOLUME_STATS and VOLUME_CONDITION has conditions.
	if !backends.Can(driver, storage.NodeCondition) {
		return "", nil
	}
	req := storage.NodeRequest{ID: spec.ID(), Node: h.Node, TargetPath: path}
	if spec.Inline != nil {
		req.ID = objects.InlineHandle(pod, spec.Name())
	}
	err = h.call(p, backendCall{backend: driver, op: storage.NodeCondition, id: req.ID, pod: pod}, func() error {
		problem, err = driver.(storage.ConditionReporter).NodeCondition(req)
		return err
	}, nil)
	return problem, err
}
