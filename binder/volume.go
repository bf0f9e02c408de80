package binder

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/volsim/volsim/api"
	"github.com/volsim/volsim/internal/core/engine"
	"github.com/volsim/volsim/internal/core/klog"
	"github.com/volsim/volsim/internal/core/objects"
)

// syncVolume moves one volume a step towards its phase, or reclaims it (BIND-061 to BIND-068). Its deletionTimestamp does not matter.
func (c *controller) syncVolume(p *engine.Process, pv *corev1.PersistentVolume) error {
	c.log.Info(4, "Synchronizing PersistentVolume", volumeName(pv), klog.Value("volumeStatus", statusOfVolume{pv}))
	// BIND-061: annotations and finalizers are repaired first, in one write.
	pv, err := c.repairVolume(p, pv)
	if err != nil {
		return err
	}
	ref := pv.Spec.ClaimRef
	if ref == nil {
		// BIND-062: the volume is free, whatever its phase was.
		c.log.Info(4, "Synchronizing PersistentVolume, volume is unused", volumeName(pv))
		p.Decide("BIND-062", pv, "synchronizing PersistentVolume: volume is unused")
		_, err := c.SetVolumePhase(p, pv, corev1.VolumeAvailable, "")
		return err
	}
	if ref.UID == "" {
		// BIND-063: the volume is reserved for a claim that does not name it yet.
		c.log.Info(4, "Synchronizing PersistentVolume, volume is pre-bound to claim", claimOfRef(pv), volumeName(pv))
		p.Decide("BIND-063", pv, "synchronizing PersistentVolume: volume is pre-bound to claim %s", api.Key(ref.Namespace, ref.Name))
		_, err := c.SetVolumePhase(p, pv, corev1.VolumeAvailable, "")
		return err
	}
	c.log.Info(4, "Synchronizing PersistentVolume, volume is bound to claim", claimOfRef(pv), volumeName(pv))
	claim, err := c.claimOf(p, pv)
	if err != nil {
		return err
	}
	switch {
	case claim == nil:
		return c.releaseUnclaimed(p, pv)
	case claim.Spec.VolumeName == "":
		return c.syncUnboundClaimOf(p, pv, claim)
	case claim.Spec.VolumeName == pv.Name:
		// BIND-066: both name each other.
		c.log.Info(4, "Synchronizing PersistentVolume, all is bound", volumeName(pv))
		if p.Tracing() {
			p.Decide("BIND-066", pv, "synchronizing PersistentVolume: volume is bound to claim %s", api.KeyOf(claim))
		}
		_, err := c.SetVolumePhase(p, pv, corev1.VolumeBound, "")
		return err
	case isProvisioned(pv) && pv.Spec.PersistentVolumeReclaimPolicy == corev1.PersistentVolumeReclaimDelete:
		// BIND-067: the volume was made for a claim that took another one; no other claim may have it.
		p.Decide("BIND-067", pv, "synchronizing PersistentVolume: volume was provisioned for a claim that is bound to another volume")
		if !isReleased(pv) {
			c.log.Info(2, "Dynamically provisioned volume is released and it will be deleted", volumeName(pv))
		}
		return c.release(p, pv)
	}
	return c.unbindFromOther(p, pv)
}

// releaseUnclaimed releases a volume whose claim does not exist any more (BIND-064). Failed is not overwritten.
func (c *controller) releaseUnclaimed(p *engine.Process, pv *corev1.PersistentVolume) error {
	if p.Tracing() {
		p.Decide("BIND-064", pv, "synchronizing PersistentVolume: claim %s not found", api.Key(pv.Spec.ClaimRef.Namespace, pv.Spec.ClaimRef.Name))
	}
	if !isReleased(pv) {
		c.log.Info(2, "Volume is released and reclaim policy will be executed", volumeName(pv),
			klog.String("reclaimPolicy", pv.Spec.PersistentVolumeReclaimPolicy))
	}
	if err := c.release(p, pv); err != nil {
		return err
	}
	if pv.Spec.PersistentVolumeReclaimPolicy == corev1.PersistentVolumeReclaimRetain {
		c.log.Info(4, "PersistentVolume references a claim that is not found", claimOfRef(pv), klog.String("claimUID", pv.Spec.ClaimRef.UID), volumeName(pv))
	}
	return nil
}

// syncUnboundClaimOf lets the claim of a volume be synced if that can bind the two: the claim names no volume yet.
func (c *controller) syncUnboundClaimOf(p *engine.Process, pv *corev1.PersistentVolume, claim *corev1.PersistentVolumeClaim) error {
	if objects.VolumeModeOf(claim.Spec.VolumeMode) != objects.VolumeModeOf(pv.Spec.VolumeMode) {
		// BIND-065a: they name each other but cannot be bound.
		p.Decide("BIND-065a", pv, "synchronizing PersistentVolume: volumeMode differs from that of the claim")
		c.events.Event(p, pv, corev1.EventTypeWarning, "VolumeMismatch",
			"Cannot bind PersistentVolume to requested PersistentVolumeClaim %q due to incompatible volumeMode.", claim.Name)
		c.events.Event(p, claim, corev1.EventTypeWarning, "VolumeMismatch",
			"Cannot bind PersistentVolume %q to requested PersistentVolumeClaim due to incompatible volumeMode.", pv.Name)
		return nil
	}
	// BIND-065b, PROV-034: the sync of the claim binds them.
	if _, byController := pv.Annotations[objects.AnnBoundByController]; byController {
		c.log.Info(4, "Synchronizing PersistentVolume, volume not bound yet, waiting for syncClaim to fix it", volumeName(pv))
	} else {
		c.log.Info(4, "Synchronizing PersistentVolume, volume was bound and got unbound (by user?), waiting for syncClaim to fix it",
			volumeName(pv))
	}
	p.Decide("BIND-065b", pv, "synchronizing PersistentVolume: volume not bound yet, waiting for syncClaim to fix it")
	c.dirty.effects++
	c.claimQueue.Add(c.store.Claims.KeyOf(claim))
	return nil
}

// unbindFromOther removes the claimRef of a volume whose claim is bound to another volume (BIND-068).
func (c *controller) unbindFromOther(p *engine.Process, pv *corev1.PersistentVolume) error {
	if _, byController := pv.Annotations[objects.AnnBoundByController]; byController {
		c.log.Info(4, "Synchronizing PersistentVolume, volume is bound by controller to a claim that is bound to another volume, unbinding",
			volumeName(pv))
	} else {
		c.log.Info(4, "Synchronizing PersistentVolume, volume is bound by user to a claim that is bound to another volume, "+
			"waiting for the claim to get unbound", volumeName(pv))
	}
	p.Decide("BIND-068", pv, "synchronizing PersistentVolume: claim is bound to another volume, unbinding")
	return c.Unbind(p, pv)
}

// repairVolume corrects the migrated-to annotation and the deletion finalizers of a volume.
func (c *controller) repairVolume(p *engine.Process, pv *corev1.PersistentVolume) (*corev1.PersistentVolume, error) {
	annotations, annotationsChanged := objects.RepairVolumeMigration(pv, c.cfg.Migration)
	finalizers, finalizersChanged := pv.Finalizers, false
	if c.reclaimer != nil {
		finalizers, finalizersChanged = c.reclaimer.Finalizers(pv)
	}
	if !annotationsChanged && !finalizersChanged {
		return pv, nil
	}
	p.Decide("BIND-061", pv, "annotation migrated-to and deletion finalizers are put right")
	repaired := *pv
	repaired.Annotations, repaired.Finalizers = annotations, finalizers
	updated, err := c.updateVolume(p, &repaired)
	if err != nil {
		// BIND-108: the error keeps its text, but is not a conflict for the caller.
		return nil, fmt.Errorf("migration annotations and finalizers of volume %s: %v", pv.Name, err)
	}
	return updated, nil
}

// claimOf returns the claim that a volume points at by uid, nil if it does not exist any more (BIND-061).
func (c *controller) claimOf(p *engine.Process, pv *corev1.PersistentVolume) (*corev1.PersistentVolumeClaim, error) {
	ref := pv.Spec.ClaimRef
	claim, ok := c.ownClaim(ref.Namespace, ref.Name)
	if ok && claim.UID == ref.UID {
		c.logClaimFound(pv, claim)
		return claim, nil
	}
	if !ok && !isReleased(pv) {
		// BIND-061: a cache alone is not enough to release a volume; the API server is asked.
		key := api.Key(ref.Namespace, ref.Name)
		claim, ok = c.infClaims.Get(key)
		if !ok {
			live, err := c.api.Claims.Get(p, key)
			if err != nil && !apierrors.IsNotFound(err) {
				return nil, err
			}
			claim, ok = live, err == nil
			if ok {
				c.dirty.effects++
			}
		}
	}
	if !ok {
		c.log.Info(4, "Synchronizing PersistentVolume, claim not found", claimOfRef(pv), volumeName(pv))
		return nil, nil
	}
	c.logClaimFound(pv, claim)
	if claim.UID == pv.Spec.ClaimRef.UID {
		return claim, nil
	}
	// BIND-061: the cache has another claim of that name, and may lag; the API server is asked.
	c.log.Info(4, "Maybe cached claim is not the newest one, we should fetch it from apiserver", claimOfRef(pv))
	live, err := c.api.Claims.Get(p, api.Key(ref.Namespace, ref.Name))
	switch {
	case apierrors.IsNotFound(err):
		c.log.Info(4, claimReplaced, claimOfRef(pv), volumeName(pv)) // upstream compares an empty claim
		return nil, nil
	case err != nil:
		return nil, err
	case live.UID != pv.Spec.ClaimRef.UID:
		c.log.Info(4, claimReplaced, claimOfRef(pv), volumeName(pv))
		return nil, nil
	}
	c.log.Info(4, "Synchronizing PersistentVolume, claim has a same UID with pv.ClaimRef", claimOfRef(pv), volumeName(pv))
	c.dirty.effects++ // The server's answer may change before the caches do.
	return live, nil
}

const claimReplaced = "Synchronizing PersistentVolume, claim has a newer UID than pv.ClaimRef, the old one must have been deleted"

// logClaimFound logs that there is a claim of the name in the claimRef.
func (c *controller) logClaimFound(pv *corev1.PersistentVolume, claim *corev1.PersistentVolumeClaim) {
	c.log.Info(4, "Synchronizing PersistentVolume, claim found", claimOfRef(pv), klog.Value("claimStatus", statusOfClaim{claim}), volumeName(pv))
}

// ownClaim returns a claim from the own cache.
func (c *controller) ownClaim(namespace, name string) (*corev1.PersistentVolumeClaim, bool) {
	if entry := c.own.ClaimNamed(namespace, name); entry != nil {
		return entry.Claim, true
	}
	return nil, false
}

// release marks a volume whose claim does not exist any more as Released, and reclaims it.
func (c *controller) release(p *engine.Process, pv *corev1.PersistentVolume) error {
	if !isReleased(pv) {
		// BIND-105: if this write fails, the volume is not reclaimed.
		released, err := c.SetVolumePhase(p, pv, corev1.VolumeReleased, "")
		if err != nil {
			return err
		}
		pv = released
	}
	if c.reclaimer == nil {
		return nil
	}
	return c.reclaimer.Reclaim(p, pv)
}

// isReleased reports whether the phase of a volume says that its claim is gone.
func isReleased(pv *corev1.PersistentVolume) bool {
	return pv.Status.Phase == corev1.VolumeReleased || pv.Status.Phase == corev1.VolumeFailed
}

func isProvisioned(pv *corev1.PersistentVolume) bool {
	_, ok := pv.Annotations[objects.AnnProvisionedBy]
	return ok
}
