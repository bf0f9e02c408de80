package expand

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apiresource "k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/volsim/volsim/api"
	"github.com/volsim/volsim/internal/core/backends"
	"github.com/volsim/volsim/internal/core/engine"
	"github.com/volsim/volsim/internal/core/objects"
	"github.com/volsim/volsim/storage"
)

// plugin is an in-tree plugin, as far as the expand controller uses it.
type plugin struct {
	name string
	// backend expands the volume; nil: only the node does.
	backend storage.Backend
	onNode  bool // nodes have to expand file systems
}

// expandable returns the in-tree plugin that expands the volume; nil, with or without an error, if there is none.
func (c *controller) expandable(pv *corev1.PersistentVolume) (*plugin, error) {
	// EXP-015: the controller does not call FlexVolume drivers; the node expands.
	if flex := pv.Spec.FlexVolume; flex != nil {
		return &plugin{name: flex.Driver, onNode: true}, nil
	}
	backend, err := c.cfg.Backends.ExpandableBySource(&pv.Spec.PersistentVolumeSource)
	if backend == nil {
		return nil, err
	}
	return &plugin{name: backend.Name(), backend: backend, onNode: backends.Can(backend, storage.NodeExpand)}, nil
}

// expand expands a volume of an in-tree plugin (EXP-016).
func (c *controller) expand(p *engine.Process, claim *corev1.PersistentVolumeClaim, pv *corev1.PersistentVolume, plugin *plugin) error {
	step := InTreeSize(claim, pv)
	switch {
	case step.Stop:
		p.Decide("EXP-030", claim, "the node has to finish first")
		return nil
	case step.NodeOnly:
		p.Decide("EXP-030", claim, "the node has to try again")
		return c.markNodePending(p, claim, pv)
	}
	p.Decide("EXP-016", claim, "expand volume %s to %s", pv.Name, step.Size.String())
	claim, err := c.markInProgress(p, claim, plugin.name, step.Size)
	if err != nil {
		return fmt.Errorf("error updating pvc %s with resize in progress: %w", api.KeyOf(claim), err)
	}
	size, err := plugin.expand(p, pv, step.Size)
	if err != nil {
		return fmt.Errorf("error expanding pvc %s: %w", api.KeyOf(claim), err)
	}
	// EXP-016: after an error here, the claim stays in progress, and the next attempt has the same size.
	name := pv.Name
	if pv, err = capacityPatch(pv, size).apply(p, name); err != nil {
		return fmt.Errorf("error updating pv for pvc %s: error Patching PV %q with error : %w", api.KeyOf(claim), name, err)
	}
	// EXP-016: only file systems are expanded on nodes.
	if plugin.onNode && objects.VolumeModeOf(pv.Spec.VolumeMode) == corev1.PersistentVolumeFilesystem {
		return c.markNodePending(p, claim, pv)
	}
	if claim, err = c.markFinished(p, claim, size); err != nil {
		return fmt.Errorf("error marking pvc %s as resized: %w", api.KeyOf(claim), err)
	}
	c.events.Event(p, claim, corev1.EventTypeNormal, reasonResizeSuccessful, "ExpandVolume succeeded for volume "+api.KeyOf(claim))
	return nil
}

// expand calls the plugin. It returns the size that the volume has now.
func (plugin *plugin) expand(p *engine.Process, pv *corev1.PersistentVolume, size apiresource.Quantity) (apiresource.Quantity, error) {
	b := plugin.backend
	if b == nil {
		return size, nil
	}
	req := storage.ExpandRequest{ID: backends.Handle(pv), Size: size.Value(), VolumeMode: objects.VolumeModeOf(pv.Spec.VolumeMode)}
	var expanded int64
	call := api.Call{Target: b.Name(), Verb: string(storage.Expand), Key: req.ID}
	err := p.Backend(call, backends.Delay(b, storage.Expand, req.ID), func() error {
		return backends.Safely(b.Name(), storage.Expand, func() (err error) {
			expanded, _, err = b.(storage.Expander).Expand(backends.OwnExpand(req))
			return err
		})
	})
	if err != nil || expanded <= size.Value() {
		return size, err // the requested quantity, in its own notation
	}
	return objects.Bytes(expanded), nil
}

// markInProgress records in the claim that an expansion begins, and the plugin (EXP-016).
func (c *controller) markInProgress(p *engine.Process, claim *corev1.PersistentVolumeClaim, plugin string,
	size apiresource.Quantity) (*corev1.PersistentVolumeClaim, error) {
	edited := objects.CopyOfClaim(claim)
	edited.Status.Conditions = objects.MergeResizeConditions(claim.Status.Conditions, false, resizing(p))
	objects.SetResizeStatus(edited, corev1.PersistentVolumeClaimControllerResizeInProgress)
	// EXP-004: the size is allocated.
	objects.SetAllocated(edited, size)
	objects.SetClaimAnnotation(edited, objects.AnnStorageResizer, plugin)
	return patchClaim(p, claim, edited)
}

// markNodePending records in the claim that the node has to expand (EXP-023).
func (c *controller) markNodePending(p *engine.Process, claim *corev1.PersistentVolumeClaim, pv *corev1.PersistentVolume) error {
	edited := objects.CopyOfClaim(claim)
	edited.Status.Conditions = objects.MergeResizeConditions(claim.Status.Conditions, true, nodePending(p))
	objects.SetResizeStatus(edited, corev1.PersistentVolumeClaimNodeResizePending)
	claim, err := patchClaim(p, claim, edited)
	if err != nil {
		return fmt.Errorf("error marking pvc %s for node expansion: %w", api.KeyOf(claim), err)
	}
	// EXP-016: if the claim is deleted, the next claim of the volume learns the usable size from the annotation.
	if hasPreResize(pv) {
		return nil
	}
	capacity := capacityOf(claim)
	was := capacity.String()
	var patch volumePatch
	patch.setPreResize(&was)
	if _, err := patch.apply(p, pv.Name); err != nil {
		return fmt.Errorf("error updating pv %s annotation (%s) with pre-resize capacity %s: %w", pv.Name, objects.AnnPreResizeCapacity, was, err)
	}
	return nil
}

// markFinished records in the claim that the expansion is finished and nodes have nothing to do (EXP-024).
func (c *controller) markFinished(p *engine.Process, claim *corev1.PersistentVolumeClaim,
	size apiresource.Quantity) (*corev1.PersistentVolumeClaim, error) {
	edited := objects.CopyOfClaim(claim)
	edited.Status.Conditions = objects.MergeResizeConditions(claim.Status.Conditions, false)
	objects.SetResizeStatus(edited, "")
	objects.SetClaimCapacity(edited, size)
	return patchClaim(p, claim, edited)
}

// resizing returns the condition of an expansion in progress.
func resizing(p *engine.Process) corev1.PersistentVolumeClaimCondition {
	return corev1.PersistentVolumeClaimCondition{
		Type: corev1.PersistentVolumeClaimResizing, Status: corev1.ConditionTrue, LastTransitionTime: metav1.NewTime(p.Now())}
}

// nodePending returns the condition of an expansion that waits for a node (EXP-023).
func nodePending(p *engine.Process) corev1.PersistentVolumeClaimCondition {
	return corev1.PersistentVolumeClaimCondition{
		Type: corev1.PersistentVolumeClaimFileSystemResizePending, Status: corev1.ConditionTrue, LastTransitionTime: metav1.NewTime(p.Now()),
		Message: objects.ResizePendingMessage}
}
