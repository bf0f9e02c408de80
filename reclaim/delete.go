package reclaim

import (
	"errors"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/volsim/volsim/api"
	"github.com/volsim/volsim/internal/core/backends"
	"github.com/volsim/volsim/internal/core/engine"
	"github.com/volsim/volsim/internal/core/klog"
	"github.com/volsim/volsim/internal/core/objects"
	"github.com/volsim/volsim/storage"
)

// deleteVolume is the operation that deletes the asset of a released volume and then the volume (RECL-020 to RECL-029). pv is the
// volume as it was when the operation was started.
func (r *reclaimer) deleteVolume(p *engine.Process, pv *corev1.PersistentVolume) error {
	r.log.Info(4, "DeleteVolumeOperation started", volumeName(pv))
	deleter, rule, err := FindDeleter(r.backends, pv)
	if err != nil {
		// RECL-020: without a plugin the volume is Failed, and the operation does not back off.
		p.Decide("RECL-020", pv, "no plugin can delete the volume (%s)", rule)
		// RECL-029: this write conflicts if the volume has changed since the operation was started, also if an earlier run wrote Failed that
		// the cache did not have yet (RECL-039). RECL-038: a volume that is Failed is not written again.
		_, err = r.host.SetVolumePhaseWithEvent(p, pv, corev1.VolumeFailed, corev1.EventTypeWarning, reasonVolumeFailedDelete, err.Error())
		if err != nil {
			r.log.Info(4, "DeleteVolumeOperation: failed to mark volume as failed", volumeName(pv), failureOf(err))
			return err
		}
		r.log.Info(3, "External deleter for volume requested, ignoring", volumeName(pv)) // upstream does not tell the two cases apart
		return nil
	}
	// RECL-021: an external provisioner deletes it.
	if deleter == nil {
		if p.Tracing() {
			p.Decide("RECL-021", pv, "an external provisioner deletes the volume (%s)", rule)
		}
		r.log.Info(3, "External deleter for volume requested, ignoring", volumeName(pv))
		return nil
	}
	r.log.Info(5, "Found a deleter plugin for volume", klog.String("pluginName", deleter.Name()), volumeName(pv))
	// RECL-022: an earlier run may have deleted the volume.
	live, err := p.API().Volumes.Get(p, pv.Name)
	if err != nil {
		p.Decide("RECL-022", pv, "the volume cannot be read")
		r.log.Info(3, "Error reading persistent volume", volumeName(pv), failureOf(err))
		return nil
	}
	// RECL-023: a claim may have been bound to the volume meanwhile.
	if !r.released(live) {
		p.Decide("RECL-023", pv, "the volume is not released any more")
		r.log.Info(3, "Volume no longer needs deletion, skipping", volumeName(pv))
		return nil
	}
	// RECL-024: the asset is that of the volume as it was when the operation started.
	p.Decide("RECL-024", pv, "plugin %s deletes the asset (%s)", deleter.Name(), rule)
	r.log.Info(4, "doDeleteVolume", volumeName(pv))
	if err := deleteAsset(p, deleter, pv); err != nil {
		return r.deleteFailed(p, pv, err)
	}
	r.log.Info(2, "Volume deleted", volumeName(pv))
	// RECL-025: without an asset the deletion finalizer has no use.
	if err := r.removeInTreeFinalizer(p, pv.Name); err != nil {
		return r.deleteFailed(p, pv, err)
	}
	r.log.Info(4, "DeleteVolumeOperation: success", volumeName(pv))
	// RECL-026, RECL-028: there is no Event. If the write fails, a later sync of the volume retries all of this.
	if _, err := p.API().Volumes.Delete(p, pv.Name, api.DeleteOptions{}); err != nil {
		p.Decide("RECL-026", pv, "the volume could not be deleted: %v", err)
		r.log.Info(3, "Failed to delete volume from database", volumeName(pv), failureOf(err))
	}
	return nil
}

// deleteAsset deletes the asset of the volume with a plugin (RECL-024).
func deleteAsset(p *engine.Process, plugin storage.Backend, pv *corev1.PersistentVolume) error {
	deleter, ok := plugin.(storage.Provisioner)
	if !ok {
		// RECL-024: FindDeleter returns no such plugin; this check replaces a panic.
		return fmt.Errorf("failed to create deleter for volume %q: plugin %s cannot delete", pv.Name, plugin.Name())
	}
	id := backends.Handle(pv)
	return callBackend(p, plugin, storage.Delete, id, func() error {
		return deleter.Delete(backends.OwnDelete(storage.DeleteRequest{ID: id, Source: &pv.Spec.PersistentVolumeSource, UID: pv.UID}))
	})
}

// removeInTreeFinalizer removes the deletion finalizer from the newest version of the volume (RECL-025).
func (r *reclaimer) removeInTreeFinalizer(p *engine.Process, name string) error {
	live, err := p.API().Volumes.Get(p, name)
	if err != nil {
		r.log.Error(err, "Error reading persistent volume", klog.String("volumeName", name))
		return err
	}
	finalizers, changed := objects.WithoutFinalizer(live.Finalizers, objects.InTreeFinalizer)
	if !changed {
		return nil
	}
	edited := volumeWith(live, finalizers)
	if _, err := p.API().Volumes.Update(p, edited); err != nil {
		return fmt.Errorf("persistent volume controller can't update finalizer: %w", err)
	}
	// RECL-025: the cache gets the edited copy, with the old resource version.
	r.host.CacheVolume(edited)
	r.log.Info(2, "PV in-tree protection finalizer removed from volume", volumeName(live))
	return nil
}

// deleteFailed records that the asset is still there (RECL-027). It never returns nil: the operation backs off (RECL-037).
func (r *reclaimer) deleteFailed(p *engine.Process, pv *corev1.PersistentVolume, failure error) error {
	r.log.Info(3, "Deletion of volume failed", volumeName(pv), klog.Err(failure))
	// RECL-027: a volume in use does not become Failed.
	if errors.Is(failure, backends.ErrVolumeInUse) {
		p.Decide("RECL-027", pv, "the asset is in use")
		r.host.Event(p, pv, corev1.EventTypeNormal, reasonVolumeDelete, failure.Error())
		return failure
	}
	p.Decide("RECL-027", pv, "deletion failed: %v", failure)
	// RECL-027, RECL-029: the first failure is written; the write conflicts if the volume has changed since the operation was started.
	_, err := r.host.SetVolumePhaseWithEvent(p, pv, corev1.VolumeFailed, corev1.EventTypeWarning, reasonVolumeFailedDelete, failure.Error())
	if err != nil {
		r.log.Info(4, "DeleteVolumeOperation: failed to mark volume as failed", volumeName(pv), failureOf(err))
		return err
	}
	return failure
}

// failureOf is an attribute with the error of the API server, without what our functions add to it.
func failureOf(err error) klog.Attr {
	var status *apierrors.StatusError
	if errors.As(err, &status) {
		return klog.Err(status)
	}
	return klog.Err(err)
}
