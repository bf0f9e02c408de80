package binder

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"

	"github.com/volsim/volsim/api"
	"github.com/volsim/volsim/internal/core/claimsync"
	"github.com/volsim/volsim/internal/core/engine"
	"github.com/volsim/volsim/internal/core/klog"
	"github.com/volsim/volsim/internal/core/objects"
)

// syncClaim moves one claim a step towards its volume (BIND-050 to BIND-060). Package claimsync decides; the functions in this file carry
// the decision out.
func (c *controller) syncClaim(p *engine.Process, claim *corev1.PersistentVolumeClaim) error {
	c.log.Info(4, "Synchronizing PersistentVolumeClaim", pvc(claim), klog.Value("claimStatus", statusOfClaim{claim}))
	// BIND-050: the annotation about CSI migration is repaired first.
	if annotations, changed := objects.RepairClaimMigration(claim, c.cfg.Migration); changed {
		p.Decide("BIND-050", claim, "annotation migrated-to is put right")
		repaired := *claim
		repaired.Annotations = annotations
		updated, err := c.updateClaim(p, &repaired)
		if err != nil {
			return fmt.Errorf("migration annotations of claim %s: %v", api.KeyOf(claim), err)
		}
		claim = updated
	}
	switch d := claimsync.Decide(claim, c); {
	case isBindCompleted(claim):
		return c.syncBoundClaim(p, claim, d)
	case claim.Spec.VolumeName == "":
		return c.syncUnboundClaim(p, claim, d)
	default:
		return c.syncReservingClaim(p, claim, d)
	}
}

// syncUnboundClaim carries out the decision for a claim that names no volume.
func (c *controller) syncUnboundClaim(p *engine.Process, claim *corev1.PersistentVolumeClaim, d claimsync.Decision) error {
	switch d.Rule {
	case "BIND-052":
		// BIND-052: the class has no binding mode.
		return d.Err
	case "BIND-053":
		// BIND-053: the selector is malformed.
		c.log.Info(2, "Synchronizing unbound PersistentVolumeClaim, Error finding PV for claim", pvc(claim), klog.Err(d.Err))
		return fmt.Errorf("find a volume for claim %s: %w", api.KeyOf(claim), d.Err)
	case "BIND-054":
		// BIND-054: a volume fits.
		c.log.Info(4, "Synchronizing unbound PersistentVolumeClaim, volume found", pvc(claim), volumeName(d.Volume),
			klog.Value("volumeStatus", statusOfVolume{d.Volume}))
		p.Decide(d.MatchRule, claim, "synchronizing unbound PersistentVolumeClaim: volume found")
		return c.bind(p, d.Volume, claim)
	}
	c.log.Info(4, "Synchronizing unbound PersistentVolumeClaim, no volume found", pvc(claim))
	c.log.Info(4, "Attempting to assign storage class to unbound PersistentVolumeClaim", pvc(claim))
	if d.Rule == "BIND-055" {
		// BIND-055, PROV-001: the claim gets the default class.
		return c.assignClass(p, claim, d.Class)
	}
	if !objects.HasClass(claim) {
		c.log.Info(4, "Can not assign storage class to PersistentVolumeClaim: default storage class not found", pvc(claim))
	}
	switch d.Rule {
	case "BIND-056":
		// BIND-056: the scheduler has to place a pod first.
		reason, text := waitingFor(c.waitingPods(claim))
		p.Decide("BIND-056", claim, "synchronizing unbound PersistentVolumeClaim: no volume found, waiting for a consumer")
		c.events.Event(p, claim, corev1.EventTypeNormal, reason, text)
	case "BIND-057":
		// BIND-057: a volume is provisioned. The status stays as it is, whatever it is.
		p.Decide("BIND-057", claim, "synchronizing unbound PersistentVolumeClaim: no volume found, provisioning")
		c.provision(p, claim)
		return nil
	default:
		// BIND-058: no component creates a volume for the claim.
		p.Decide("BIND-058", claim, "synchronizing unbound PersistentVolumeClaim: no volume found")
		c.events.Event(p, claim, corev1.EventTypeNormal, "FailedBinding",
			"no persistent volumes available for this claim and no storage class is set")
	}
	_, err := c.setClaimStatus(p, claim, corev1.ClaimPending, nil)
	return err
}

// syncReservingClaim carries out the decision for a claim that names its volume but was never bound.
func (c *controller) syncReservingClaim(p *engine.Process, claim *corev1.PersistentVolumeClaim, d claimsync.Decision) error {
	c.log.Info(4, "Synchronizing unbound PersistentVolumeClaim, volume requested", pvc(claim), klog.String("volumeName", claim.Spec.VolumeName))
	if d.Volume != nil {
		c.log.Info(4, "Synchronizing unbound PersistentVolumeClaim, volume requested and found", pvc(claim), volumeName(d.Volume),
			klog.Value("volumeStatus", statusOfVolume{d.Volume}))
	}
	switch d.Rule {
	case "BIND-059a":
		// BIND-059a: the volume does not exist yet.
		c.log.Info(4, "Synchronizing unbound PersistentVolumeClaim， volume requested and not found, will try again next time", pvc(claim),
			klog.String("volumeName", claim.Spec.VolumeName))
		p.Decide("BIND-059a", claim, "synchronizing unbound PersistentVolumeClaim: volume requested and not found, will try again next time")
	case "BIND-059b":
		// BIND-059b: the volume is free but does not fit.
		c.log.Info(4, "Synchronizing unbound PersistentVolumeClaim, volume is unbound, binding", pvc(claim))
		c.log.Info(4, "Can't bind the claim to volume", volumeName(d.Volume), klog.String("err", d.Mismatch))
		p.Decide("BIND-059b", claim, "synchronizing unbound PersistentVolumeClaim: volume requested does not satisfy the claim")
		c.events.Event(p, claim, corev1.EventTypeWarning, "VolumeMismatch", `Cannot bind to requested volume "`+d.Volume.Name+`": `+d.Mismatch)
	case "BIND-059c":
		// BIND-059c: the volume is free and fits.
		c.log.Info(4, "Synchronizing unbound PersistentVolumeClaim, volume is unbound, binding", pvc(claim))
		p.Decide("BIND-059c", claim, "synchronizing unbound PersistentVolumeClaim: volume requested, is unbound, bind it")
		return c.bind(p, d.Volume, claim)
	case "BIND-059d":
		// BIND-059d: both name each other.
		c.log.Info(4, "Synchronizing unbound PersistentVolumeClaim, volume already bound, finishing the binding", pvc(claim))
		p.Decide("BIND-059d", claim, "synchronizing unbound PersistentVolumeClaim: volume already bound, finishing the binding")
		return c.bind(p, d.Volume, claim)
	default:
		p.Decide("BIND-059e", claim, "synchronizing unbound PersistentVolumeClaim: volume already bound to a different claim")
		text := `volume "` + d.Volume.Name + `" already bound to a different claim.`
		if d.Rule == "BIND-059f" {
			c.log.Info(4, "Synchronizing unbound PersistentVolumeClaim, volume already bound to different claim by controller, "+
				"THIS SHOULD NEVER HAPPEN", pvc(claim), klog.Value("boundClaim", reference{d.Volume}))
		} else {
			c.log.Info(4, "Synchronizing unbound PersistentVolumeClaim, volume already bound to different claim by user, will retry later",
				pvc(claim))
		}
		c.events.Event(p, claim, corev1.EventTypeWarning, "FailedBinding", text)
		if d.Rule == "BIND-059f" {
			// BIND-059f: a controller chose this volume, so this is an error; the user did not ask to wait for the volume.
			return fmt.Errorf("claim %s was bound by a controller, and %s", api.KeyOf(claim), text)
		}
		// BIND-059e: the user chose the volume and may wait for it.
	}
	_, err := c.setClaimStatus(p, claim, corev1.ClaimPending, nil)
	return err
}

// syncBoundClaim carries out the decision for a claim that was bound before.
func (c *controller) syncBoundClaim(p *engine.Process, claim *corev1.PersistentVolumeClaim, d claimsync.Decision) error {
	if d.Volume != nil {
		c.log.Info(4, "Synchronizing bound PersistentVolumeClaim, volume found", pvc(claim), volumeName(d.Volume),
			klog.Value("volumeStatus", statusOfVolume{d.Volume}))
	}
	switch d.Rule {
	case "BIND-060a":
		// BIND-060a: the claim no longer names its volume.
		return c.loseClaim(p, "BIND-060a", claim, "ClaimLost", "Bound claim has lost reference to PersistentVolume. Data on the volume is lost!")
	case "BIND-060b":
		// BIND-060b: the volume does not exist any more.
		return c.loseClaim(p, "BIND-060b", claim, "ClaimLost", "Bound claim has lost its PersistentVolume. Data on the volume is lost!")
	case "BIND-060c":
		// BIND-060c: the volume lost its claimRef, or was created again. It is bound again without a check.
		c.log.Info(4, "Synchronizing bound PersistentVolumeClaim, volume is unbound, fixing", pvc(claim))
		p.Decide("BIND-060c", claim, "synchronizing bound PersistentVolumeClaim: volume is unbound, fixing")
		return c.bind(p, d.Volume, claim)
	case "BIND-060d":
		// BIND-060d: both name each other, or a bind is half done.
		c.log.Info(4, "Synchronizing bound PersistentVolumeClaim, claim is already correctly bound", pvc(claim))
		p.Decide("BIND-060d", claim, "synchronizing bound PersistentVolumeClaim: claim is already correctly bound")
		return c.bind(p, d.Volume, claim)
	default:
		// BIND-060e: the volume belongs to another claim.
		return c.loseClaim(p, "BIND-060e", claim, "ClaimMisbound", "Two claims are bound to the same volume, this one is bound incorrectly")
	}
}

// Volume, Class, Classes and Match implement claimsync.View on the controller's own cache of volumes and its informer for classes.
func (c *controller) Volume(name string) (*corev1.PersistentVolume, bool) { return c.own.Get(name) }

// Class returns the storage class of a name.
func (c *controller) Class(name string) (*storagev1.StorageClass, bool) {
	return c.infClasses.Get(name)
}

// Classes returns all storage classes.
func (c *controller) Classes() []*storagev1.StorageClass { return c.infClasses.List() }

// Match picks the volume for a claim that names none.
func (c *controller) Match(claim *corev1.PersistentVolumeClaim, delayed bool) (*corev1.PersistentVolume, string, error) {
	return c.own.Match(claim, delayed)
}

// assignClass gives the default class to a claim that was created without one.
func (c *controller) assignClass(p *engine.Process, claim *corev1.PersistentVolumeClaim, class *storagev1.StorageClass) error {
	p.Decide("PROV-003", claim, "claim without a class gets the default class %s", class.Name)
	c.log.Info(4, "Assigning StorageClass to PersistentVolumeClaim", pvc(claim), klog.String("storageClassName", class.Name))
	assigned := *claim
	assigned.Spec.StorageClassName = &class.Name
	// PROV-003, BIND-023: the answer is not stored in the own cache; the event of the update queues the claim again.
	if _, err := c.api.Claims.Update(p, &assigned); err != nil {
		return fmt.Errorf("assign class %s to claim %s: %w", class.Name, api.KeyOf(claim), err)
	}
	c.log.Info(4, "Successfully assigned StorageClass to PersistentVolumeClaim", pvc(claim), klog.String("storageClassName", class.Name))
	c.log.Info(4, "PersistentVolumeClaim update successful, restarting claim sync", pvc(claim))
	return nil
}

// loseClaim sets the phase Lost and emits an Event (BIND-077).
func (c *controller) loseClaim(p *engine.Process, rule string, claim *corev1.PersistentVolumeClaim, reason, text string) error {
	c.log.Info(4, "Updating updateClaimStatusWithEvent", pvc(claim), klog.String("setPhase", corev1.ClaimLost))
	// BIND-077: nothing happens if the claim is Lost already.
	if claim.Status.Phase == corev1.ClaimLost {
		c.log.Info(4, "Updating updateClaimStatusWithEvent, phase already set", pvc(claim), klog.String("phase", corev1.ClaimLost))
		return nil
	}
	p.Decide(rule, claim, text)
	lost, err := c.setClaimStatus(p, claim, corev1.ClaimLost, nil)
	if err != nil {
		return err
	}
	c.log.Info(3, "Claim changed status", pvc(claim), klog.String("phase", corev1.ClaimLost), klog.String("message", text))
	c.events.Event(p, lost, corev1.EventTypeWarning, reason, text)
	return nil
}

func isBindCompleted(claim *corev1.PersistentVolumeClaim) bool {
	_, ok := claim.Annotations[objects.AnnBindCompleted]
	return ok
}
