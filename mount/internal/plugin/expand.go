package plugin

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"

	"github.com/volsim/volsim/internal/core/backends"
	"github.com/volsim/volsim/internal/core/engine"
	"github.com/volsim/volsim/mount/internal/volumes"
	"github.com/volsim/volsim/storage"
)

// ExpandRequest is the argument of NodeExpand: the paths of the volume on the node, and the requested size in bytes.
type ExpandRequest struct {
	VolumePath, StagingPath string
	Size                    int64
}

// Errors of an expansion that need special treatment (MNT-415, MNT-416, MNT-419). They may be wrapped.
type (
	NotSupportedError struct{ error }
	InfeasibleError   struct{ error }
	InUseError        struct{ error }
)

// NodeExpand calls the driver to expand the volume on the node (MNT-424).
func (c csiPlugin) NodeExpand(p *engine.Process, spec *volumes.Spec, req ExpandRequest) error {
	source, begun := spec.CSI(), p.Now()
	driver, ok := c.h.Backends.Driver(source.Driver)
	if !ok || !c.h.registered(source.Driver) {
		// MNT-420, MNT-422: the only transient error: nothing is known, and nothing is recorded.
		return volumes.TransientError{Err: fmt.Errorf("driver name %s not found in the list of registered CSI drivers", source.Driver)}
	}
	if !backends.Can(driver, storage.NodeExpand) {
		// MNT-422: a driver without the capability is not called.
		return NotSupportedError{fmt.Errorf("NodeExpand is not supported by the CSI driver %s", source.Driver)}
	}
	// MNT-314: a failed read of the Secret is a final error, as one of the driver.
	secrets, err := c.secret(p, source.NodeExpandSecretRef)
	if err != nil {
		return fmt.Errorf("expander.NodeExpand failed to get NodeExpandSecretRef %s/%s: %w", source.NodeExpandSecretRef.Namespace,
			source.NodeExpandSecretRef.Name, err)
	}
	call := c.h.nodeExpandCall(driver, spec, req, secrets)
	err = c.h.call(p, backendCall{begun: begun, backend: driver, op: storage.NodeExpand, id: source.VolumeHandle}, call, nil)
	switch {
	case err == nil:
		return nil
	case storage.CodeOf(err) == storage.FailedPrecondition:
		// MNT-419: the driver does not expand volumes in use.
		return fmt.Errorf("Expander.NodeExpand failed to expand the volume : %w", InUseError{err})
	case backends.Infeasible(err):
		// MNT-416: the driver cannot provide this size.
		return InfeasibleError{fmt.Errorf("Expander.NodeExpand failed to expand the volume %w", err)}
	}
	// MNT-422: the error is wrapped, so even a timeout counts as final.
	return fmt.Errorf("Expander.NodeExpand failed to expand the volume : %w", err)
}

// CanExpandOnNode is true for every CSI volume: whether the driver supports it shows when it is called (MNT-405).
func (c csiPlugin) CanExpandOnNode(spec *volumes.Spec) bool { return spec.CSI() != nil }

func (c csiPlugin) StagingPath(spec *volumes.Spec) string { return c.h.Layout.CSIStaging(spec.Name()) }

// isLocal reports whether the volume is a directory or a device of the node.
func isLocal(spec *volumes.Spec) bool {
	source := spec.Source()
	return source != nil && source.Local != nil
}

// CanExpandOnNode reports whether the backend of the plugin expands volumes on nodes. A local volume always counts as expandable (MNT-405).
func (t inTreePlugin) CanExpandOnNode(spec *volumes.Spec) bool {
	if isLocal(spec) {
		return true
	}
	b := t.backend()
	return spec.PV != nil && b != nil && backends.Can(b, storage.NodeExpand)
}

func (t inTreePlugin) StagingPath(spec *volumes.Spec) string {
	return t.GlobalMapPath(spec) + "/staging"
}

func (t inTreePlugin) NodeExpand(p *engine.Process, spec *volumes.Spec, req ExpandRequest) error {
	if isLocal(spec) {
		// MNT-424: a directory is as large as it is; the file system of a device fills it.
		return nil
	}
	call := t.h.nodeExpandCall(t.backend(), spec, req, nil)
	return t.h.call(p, backendCall{backend: t.backend(), op: storage.NodeExpand, id: spec.ID()}, call, nil)
}

// nodeExpandCall returns the call to a backend.
func (h *Host) nodeExpandCall(b storage.Backend, spec *volumes.Spec, req ExpandRequest, secrets map[string]string) func() error {
	ask := storage.NodeRequest{ID: spec.ID(), Node: h.Node, TargetPath: req.VolumePath, StagingPath: req.StagingPath, Size: req.Size}
	if spec.Block() {
		ask.VolumeMode = corev1.PersistentVolumeBlock
	}
	if source := spec.CSI(); source != nil {
		// MNT-424: the request has the volume capability of the volume.
		ask.Mode, ask.Secrets = spec.AccessMode(), secrets
		if !spec.Block() {
			ask.FSType, ask.MountOptions = source.FSType, spec.PV.Spec.MountOptions
		}
	}
	return func() error {
		_, err := b.(storage.NodeExpander).NodeExpand(backends.OwnNode(ask))
		return err
	}
}
