package attach

import (
	"fmt"
	"slices"

	storagev1 "k8s.io/api/storage/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/volsim/volsim/api"
	"github.com/volsim/volsim/internal/core/engine"
	"github.com/volsim/volsim/internal/core/objects"
	"github.com/volsim/volsim/storage"
)

// detach detaches a volume with the driver and removes the finalizer of the VolumeAttachment (ATT-175).
func (a *attacher) detach(p *engine.Process, va *storagev1.VolumeAttachment) error {
	// ATT-175, step 0: without the finalizer nothing was attached (ATT-173).
	if !a.takeForced(va.Name) && !slices.Contains(va.Finalizers, a.opts.Finalizer) {
		return nil
	}
	if err := a.unpublish(p, va); err != nil {
		a.saveDetachError(p, va, err)
		return fmt.Errorf("failed to detach: %w", err)
	}
	return nil
}

// unpublish does steps 1 to 5 of ATT-175, from the call of the driver to the removal of the finalizer.
func (a *attacher) unpublish(p *engine.Process, va *storagev1.VolumeAttachment) error {
	// ATT-175, ATT-177, step 1: the volume may be being deleted; if it is gone, each attempt fails.
	pv, err := a.volumeOf(va)
	switch {
	case a.opts.Plain:
	case err != nil:
		return err
	case pv.Spec.CSI == nil:
		return fmt.Errorf("PersistentVolume %q is no volume of a CSI driver", pv.Name)
	}
	// ATT-175, step 3: after any error, also NotFound, the volume is not detached.
	req := storage.NodeRequest{ID: handleOf(pv, va), Node: va.Spec.NodeName}
	if pv != nil && pv.Spec.CSI != nil && !a.opts.Plain {
		// ATT-183: the secret is that of the attachment.
		if req.Secrets, err = publishSecrets(p, pv); err != nil {
			return err
		}
	}
	if req.NodeID, err = a.nodeID(va, true); err != nil {
		return err
	}
	err = a.calls.Call(p, storage.Detach, req.ID, req.Node, func() error { return a.backend.(storage.Attacher).Detach(req) })
	if err != nil {
		return err
	}
	return a.markDetached(p, va)
}

// markDetached removes the finalizer, then clears status.attached (steps 4 and 5 of ATT-175).
func (a *attacher) markDetached(p *engine.Process, va *storagev1.VolumeAttachment) error {
	// ATT-175, step 4: the finalizer is removed first, so that after a crash the driver is not called again.
	if rest, has := objects.WithoutFinalizer(va.Finalizers, a.opts.Finalizer); has {
		_, err := p.API().Attachments.PatchWith(p, va.Name, func(newest *storagev1.VolumeAttachment) error {
			newest.Finalizers = rest
			return nil
		}, api.Main)
		if err != nil && !apierrors.IsNotFound(err) {
			return fmt.Errorf("could not mark as detached: %w", err)
		}
	}
	_, err := p.API().Attachments.PatchWith(p, va.Name, func(newest *storagev1.VolumeAttachment) error {
		newest.Status.Attached, newest.Status.DetachError, newest.Status.AttachmentMetadata = false, nil, nil
		return nil
	}, api.Status)
	// ATT-175, step 5: NotFound is usual, because the object is gone without its finalizer.
	if err != nil && !apierrors.IsNotFound(err) {
		return fmt.Errorf("could not mark as detached: %w", err)
	}
	return nil
}
