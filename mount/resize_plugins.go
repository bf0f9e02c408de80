package mount

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"

	"github.com/volsim/volsim/internal/core/backends"
	"github.com/volsim/volsim/internal/core/engine"
	"github.com/volsim/volsim/mount/internal/volumes"
	"github.com/volsim/volsim/storage"
)

// nodeExpand asks the driver to expand what is on the volume (MNT-424).
func (c csiPlugin) nodeExpand(p *engine.Proc, spec *volumes.Spec, req resizeRequest) error {
	source := spec.CSI()
	driver, ok := c.k.cfg.Backends.Driver(source.Driver)
	if !ok || c.k.node.unregistered[source.Driver] {
		// MNT-420, MNT-422: the only error after which nothing is known and nothing told.
		return volumes.TransientError{Err: fmt.Errorf("driver name %s not found in the list of registered CSI drivers", source.Driver)}
	}
	if !backends.Can(driver, storage.NodeExpand) {
		// MNT-422
		return notSupportedError{fmt.Errorf("NodeExpand is not supported by the CSI driver %s", source.Driver)}
	}
	call := c.k.nodeExpandCall(driver, spec, req)
	err := c.k.ask(p, driver, storage.NodeExpand, source.VolumeHandle, call, func() error { return nil })
	switch {
	case err == nil:
		return nil
	case storage.CodeOf(err) == storage.FailedPrecondition:
		// MNT-419
		return fmt.Errorf("Expander.NodeExpand failed to expand the volume : %w", inUseError{err})
	case backends.Infeasible(err):
		// MNT-416
		return infeasibleError{fmt.Errorf("Expander.NodeExpand failed to expand the volume %w", err)}
	}
	// MNT-422: wrapped, so that an answer that never came counts as final.
	return fmt.Errorf("Expander.NodeExpand failed to expand the volume : %w", err)
}

// nodeExpandable reports that CSI volumes are: whether the driver agrees is found out by asking (MNT-405).
func (c csiPlugin) nodeExpandable(spec *volumes.Spec) bool { return spec.CSI() != nil }

func (c csiPlugin) stagingPath(spec *volumes.Spec) string { return c.k.layout.CSIStaging(spec.Name()) }

// nodeExpandable reports whether the plugin can expand what is on a volume.
func (t treePlugin) nodeExpandable(spec *volumes.Spec) bool {
	b := t.backend()
	return spec.PV != nil && b != nil && backends.Can(b, storage.NodeExpand)
}

func (t treePlugin) stagingPath(spec *volumes.Spec) string { return t.globalMapPath(spec) + "/staging" }

func (t treePlugin) nodeExpand(p *engine.Proc, spec *volumes.Spec, req resizeRequest) error {
	call := t.k.nodeExpandCall(t.backend(), spec, req)
	return t.k.ask(p, t.backend(), storage.NodeExpand, spec.ID(), call, func() error { return nil })
}

// nodeExpandCall makes the call to a backend.
func (k *kubelet) nodeExpandCall(b storage.Backend, spec *volumes.Spec, req resizeRequest) func() error {
	ask := storage.NodeExpandRequest{ID: spec.ID(), Node: k.node.name, Path: req.volumePath, StagingPath: req.stagingPath, Size: req.size}
	if spec.Block() {
		ask.VolumeMode = corev1.PersistentVolumeBlock
	}
	return func() error {
		_, err := b.(storage.NodeExpander).NodeExpand(ask)
		return err
	}
}
