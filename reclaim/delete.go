package reclaim

import (
	"errors"
	"fmt"

	corev1 "k8s.io/api/core/v1"

	"github.com/volsim/volsim/api"
	"github.com/volsim/volsim/internal/core/engine"
	"github.com/volsim/volsim/internal/core/objects"
	"github.com/volsim/volsim/storage"
)

// deleteVolume is the operation that deletes the asset of a released volume and then the volume (RECL-020 to RECL-029). pv is the
// volume as it was when the operation was started.
func (r *Reclaimer) deleteVolume(p *engine.Proc, pv *corev1.PersistentVolume) error {
	deleter, rule, err := FindDeleter(r.backends, pv)
	if err != nil {
		// RECL-020: without a plugin there is nothing to back off from.
		p.Decide("RECL-020", pv, "no plugin can delete the volume (%s)", rule)
		// RECL-029: a volume that has changed since then makes this write a conflict, and so does the Failed of an earlier run that
		// was still on its way when this one was started (RECL-039). RECL-038: once Failed, there is no write.
		_, err = r.host.SetVolumePhaseWithEvent(p, pv, corev1.VolumeFailed, corev1.EventTypeWarning, reasonVolumeFailedDelete, err.Error())
		return err
	}
	// RECL-021: somebody else deletes it.
	if deleter == nil {
		p.Decide("RECL-021", pv, "the volume is an external provisioner's to delete (%s)", rule)
		return nil
	}
	// RECL-022: an earlier run may have deleted it meanwhile.
	live, err := p.API().Volumes.Get(p, pv.Name)
	if err != nil {
		p.Decide("RECL-022", pv, "the volume cannot be read")
		return nil
	}
	// RECL-023: somebody may have claimed it meanwhile.
	if !Released(live, r.host.OwnClaim) {
		p.Decide("RECL-023", pv, "the volume is not released any more")
		return nil
	}
	// RECL-024: the asset that the captured volume describes.
	p.Decide("RECL-024", pv, "plugin %s deletes the asset (%s)", deleter.Name(), rule)
	if err := deleteAsset(p, deleter, pv); err != nil {
		return r.deleteFailed(p, pv, err)
	}
	// RECL-025: nothing is left to protect.
	if err := r.removeInTreeFinalizer(p, pv.Name); err != nil {
		return r.deleteFailed(p, pv, err)
	}
	// RECL-026, RECL-028: no Event. If the write fails, a later sync of the volume comes by here again.
	if _, err := p.API().Volumes.Delete(p, pv.Name, api.DeleteOptions{}); err != nil {
		p.Decide("RECL-026", pv, "the volume could not be deleted: %v", err)
	}
	return nil
}

// deleteAsset has a plugin delete what the volume describes (RECL-024).
func deleteAsset(p *engine.Proc, plugin storage.Backend, pv *corev1.PersistentVolume) error {
	deleter, ok := plugin.(storage.Deleter)
	if !ok {
		// RECL-024: the lookup finds no such plugin; another way here must not end in a panic.
		return fmt.Errorf("failed to create deleter for volume %q: plugin %s cannot delete", pv.Name, plugin.Name())
	}
	id := storage.Handle(pv)
	return ask(p, plugin, storage.Delete, id, func() error {
		return deleter.Delete(storage.DeleteRequest{ID: id, Source: &pv.Spec.PersistentVolumeSource, UID: pv.UID})
	})
}

// removeInTreeFinalizer takes the deletion finalizer off the newest version of the volume (RECL-025).
func (r *Reclaimer) removeInTreeFinalizer(p *engine.Proc, name string) error {
	live, err := p.API().Volumes.Get(p, name)
	if err != nil {
		return err
	}
	finalizers, changed := without(live.Finalizers, objects.InTreeFinalizer)
	if !changed {
		return nil
	}
	edited := volumeWith(live, finalizers)
	if _, err := p.API().Volumes.Update(p, edited); err != nil {
		return fmt.Errorf("persistent volume controller can't update finalizer: %w", err)
	}
	// RECL-025: the copy as it was edited, still under the old version.
	r.host.CacheVolume(edited)
	return nil
}

// deleteFailed records that the asset is still there (RECL-027). It never returns nil: the operation backs off (RECL-037).
func (r *Reclaimer) deleteFailed(p *engine.Proc, pv *corev1.PersistentVolume, failure error) error {
	// RECL-027: a volume in use needs time, it has not failed.
	if errors.Is(failure, storage.ErrVolumeInUse) {
		p.Decide("RECL-027", pv, "the asset is in use")
		r.host.Event(p, pv, corev1.EventTypeNormal, reasonVolumeDelete, failure.Error())
		return failure
	}
	p.Decide("RECL-027", pv, "deletion failed: %v", failure)
	// RECL-027, RECL-029: the first failure shows; the write conflicts if the volume has changed since the operation was started.
	_, err := r.host.SetVolumePhaseWithEvent(p, pv, corev1.VolumeFailed, corev1.EventTypeWarning, reasonVolumeFailedDelete, failure.Error())
	if err != nil {
		return err
	}
	return failure
}
