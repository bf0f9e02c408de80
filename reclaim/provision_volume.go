package reclaim

import (
	"errors"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/volsim/volsim/api"
	"github.com/volsim/volsim/internal/core/backends"
	"github.com/volsim/volsim/internal/core/engine"
	"github.com/volsim/volsim/internal/core/intree"
	"github.com/volsim/volsim/internal/core/objects"
	"github.com/volsim/volsim/storage"
)

func (c *provisioner) syncVolumeKey(p *engine.Process, name string) error {
	pv, ok := c.volumes.Get(name)
	if !ok {
		return nil
	}
	return c.retryOrGiveUp(c.volumeQueue, name, c.syncVolume(p, pv))
}

// syncVolume adds or removes the finalizer of a volume, and deletes the volume when it is released (XPROV-050).
func (c *provisioner) syncVolume(p *engine.Process, pv *corev1.PersistentVolume) error {
	if !responsible(pv, c.isMine) {
		return nil
	}
	pv, err := c.syncFinalizer(p, pv)
	if err != nil {
		return err
	}
	wanted, why := deleteWanted(pv, !c.cfg.NoFinalizer)
	if !wanted {
		if p.Tracing() && pv.Spec.ClaimRef != nil && pv.Status.Phase != corev1.VolumeBound {
			p.Decide("XPROV-052", pv, "the volume is not deleted: %s", why)
		}
		return nil
	}
	return c.deleteVolume(p, pv)
}

// responsible reports whether a volume belongs to an external-provisioner (XPROV-050). isMine accepts the names of that provisioner.
func responsible(pv *corev1.PersistentVolume, isMine func(provisioner string) bool) bool {
	if provisioner, provisioned := pv.Annotations[objects.AnnProvisionedBy]; provisioned {
		// XPROV-050: a dynamic volume belongs to its provisioner, and to the driver that it is migrated to.
		return isMine(provisioner) || isMine(pv.Annotations[objects.AnnMigratedTo])
	}
	// XPROV-050: a static CSI volume belongs to its driver.
	if pv.Spec.CSI != nil {
		return isMine(pv.Spec.CSI.Driver)
	}
	// XPROV-050: a static in-tree volume belongs to the driver that it is migrated to.
	return isMine(pv.Annotations[objects.AnnMigratedTo])
}

// refusal is why a volume is not deleted: a text and what it ends in. The two are put together only where somebody reads them.
type refusal struct{ text, value string }

func (r refusal) String() string { return r.text + r.value }

// deleteWanted reports whether a volume should be deleted, or why not (XPROV-052). The CSI sidecar adds no condition.
func deleteWanted(pv *corev1.PersistentVolume, finalizer bool) (wanted bool, why refusal) {
	terminating := pv.DeletionTimestamp != nil
	switch {
	// XPROV-052: without the finalizer, the asset of a volume that is being deleted is deleted already.
	case finalizer && terminating && !slices.Contains(pv.Finalizers, objects.ExternalFinalizer):
		return false, refusal{text: "it is being deleted and has no external finalizer"}
	// XPROV-052: with finalizers switched off, the same is assumed of each volume that is being deleted.
	case !finalizer && terminating:
		return false, refusal{text: "it is being deleted"}
	// XPROV-052: only Released volumes are deleted, never Failed ones. RECL-046: a volume that is never Released keeps its finalizer, and a
	// deletion does not end.
	case pv.Status.Phase != corev1.VolumeReleased:
		return false, refusal{"its phase is ", string(pv.Status.Phase)}
	// XPROV-052: with another policy than Delete the asset stays.
	case pv.Spec.PersistentVolumeReclaimPolicy != corev1.PersistentVolumeReclaimDelete:
		return false, refusal{"its policy is ", string(pv.Spec.PersistentVolumeReclaimPolicy)}
	}
	return true, refusal{}
}

// deleteVolume deletes the asset of a volume, then the volume (XPROV-053). A retry repeats both (XPROV-055).
func (c *provisioner) deleteVolume(p *engine.Process, pv *corev1.PersistentVolume) error {
	if p.Tracing() {
		p.Decide("XPROV-052", pv, "driver %s deletes the volume", c.name)
	}
	if err := c.deleteVolumeAsset(p, pv); errors.Is(err, errIgnored) {
		// XPROV-053: the driver leaves the volume to another provisioner.
		c.resync.ArmBackground()
		return nil
	} else if err != nil {
		// XPROV-053: after an error the phase stays Released.
		c.event(p, pv, corev1.EventTypeWarning, reasonVolumeFailedDelete, err.Error())
		return err
	}
	// XPROV-055: after an error from here on the retry calls the driver again, which must be idempotent.
	if _, err := p.API().Volumes.Delete(p, pv.Name, api.DeleteOptions{}); err != nil {
		return err
	}
	if c.cfg.NoFinalizer || len(pv.Finalizers) == 0 {
		return nil
	}
	// XPROV-053: the finalizer is removed from the volume as the informer has it, which may lag.
	seen, ok := c.volumes.Get(pv.Name)
	if !ok || !slices.Contains(seen.Finalizers, objects.ExternalFinalizer) {
		return nil
	}
	if _, err := patchFinalizer(p, seen, objects.WithoutFinalizer); err != nil && !apierrors.IsNotFound(err) {
		return err
	}
	return nil
}

// deleteVolumeAsset deletes the asset of a volume with the driver.
func (c *provisioner) deleteVolumeAsset(p *engine.Process, pv *corev1.PersistentVolume) error {
	// XPROV-053: the sidecar rejects volumes that are neither CSI volumes nor can be translated into one.
	translated, err := intree.Volume(pv)
	if err != nil {
		return err
	}
	if !c.cfg.AnySource && translated.Spec.CSI == nil {
		return errors.New("invalid CSI PV")
	}
	// XPROV-054: a volume with a VolumeAttachment is not deleted.
	if backends.Can(c.driver.backend, storage.Attach) {
		if va, attached := c.attachments.FirstByIndex(c.byVolume, pv.Name); attached {
			return errors.New("persistentvolume " + pv.Name + " is still attached to node " + va.Spec.NodeName)
		}
	}
	secret, err := c.deletionSecret(pv)
	if err != nil {
		return err
	}
	// XPROV-057: a Secret that cannot be read does not prevent the deletion.
	secrets, _ := readSecret(p, secret)
	if err := c.deleteHandle(p, storage.DeleteRequest{ID: backends.Handle(translated), Source: &translated.Spec.PersistentVolumeSource, UID: pv.UID,
		Secrets: secrets}); err != nil {
		return err
	}
	// XPROV-065: there is more room where the volume was.
	c.capacities.changedAt(pv)
	return nil
}

func (c *provisioner) deleteHandle(p *engine.Process, req storage.DeleteRequest) error {
	deleter, ok := c.driver.backend.(storage.Provisioner)
	if !ok || !backends.Can(c.driver.backend, storage.Delete) {
		return fmt.Errorf("CSI driver %s does not support dynamic provisioning: plugin CREATE_DELETE_VOLUME capability is missing", c.name)
	}
	return c.driver.call(p, storage.Delete, req.ID, func() error { return deleter.Delete(backends.OwnDelete(req)) })
}
