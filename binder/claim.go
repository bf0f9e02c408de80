package binder

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"

	"github.com/volsim/volsim/api"
	"github.com/volsim/volsim/internal/core/engine"
	"github.com/volsim/volsim/internal/core/objects"
)

// syncClaim brings one claim a step nearer to where it belongs. Its phase, finalizers and deletionTimestamp play no part: a claim
// that is being deleted is still bound and provisioned for (BIND-051).
func (c *controller) syncClaim(p *engine.Process, claim *corev1.PersistentVolumeClaim) error {
	// BIND-050: the annotation about CSI migration is put right first.
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
	// BIND-051: the annotation, not the phase, says whether the claim was ever bound.
	if !isBindCompleted(claim) {
		if claim.Spec.VolumeName == "" {
			return c.syncUnboundClaim(p, claim)
		}
		return c.syncReservingClaim(p, claim)
	}
	return c.syncBoundClaim(p, claim)
}

// syncUnboundClaim looks for a volume for a claim that names none.
func (c *controller) syncUnboundClaim(p *engine.Process, claim *corev1.PersistentVolumeClaim) error {
	// BIND-052: a class without binding mode leaves it open what to do.
	delayed, err := c.isDelayed(claim)
	if err != nil {
		return err
	}
	// BIND-053: so does a selector that cannot be read. PROV-011: of a delayed claim only a volume that points at it is found.
	pv, rule, err := c.own.Match(claim, delayed)
	if err != nil {
		return fmt.Errorf("find a volume for claim %s: %w", api.KeyOf(claim), err)
	}
	if pv != nil {
		// BIND-054
		p.Decide(rule, claim, "synchronizing unbound PersistentVolumeClaim: volume found")
		return c.bind(p, pv, claim)
	}
	// BIND-055, PROV-001: no volume without class will do, so the claim gets the default class, if there is one.
	if class := c.defaultClassFor(claim); class != nil {
		return c.assignClass(p, claim, class)
	}
	_, nodeSelected := claim.Annotations[objects.AnnSelectedNode]
	switch {
	case delayed && !nodeSelected:
		// BIND-056: the scheduler has to place a pod first.
		reason, text := waitingFor(c.waitingPods(claim))
		p.Decide("BIND-056", claim, "synchronizing unbound PersistentVolumeClaim: no volume found, waiting for a consumer")
		c.events.Event(p, claim, corev1.EventTypeNormal, reason, text)
	case objects.ClassOf(claim) != "":
		// BIND-057: somebody may make a volume. The status stays as it is, whatever it is.
		p.Decide("BIND-057", claim, "synchronizing unbound PersistentVolumeClaim: no volume found, provisioning")
		return c.provision(p, claim)
	default:
		// BIND-058: nobody will.
		p.Decide("BIND-058", claim, "synchronizing unbound PersistentVolumeClaim: no volume found")
		c.events.Event(p, claim, corev1.EventTypeNormal, "FailedBinding",
			"no persistent volumes available for this claim and no storage class is set")
	}
	_, err = c.setClaimStatus(p, claim, corev1.ClaimPending, nil)
	return err
}

// syncReservingClaim deals with a claim that names its volume but was never bound. Binding mode and selector play no part.
func (c *controller) syncReservingClaim(p *engine.Process, claim *corev1.PersistentVolumeClaim) error {
	pv, ok := c.own.Get(claim.Spec.VolumeName)
	switch {
	case !ok:
		// BIND-059a: the volume may still come.
		p.Decide("BIND-059a", claim, "synchronizing unbound PersistentVolumeClaim: volume requested and not found, will try again next time")
	case pv.Spec.ClaimRef == nil:
		satisfies, why := Satisfies(claim, pv)
		if satisfies {
			// BIND-059c
			p.Decide("BIND-059c", claim, "synchronizing unbound PersistentVolumeClaim: volume requested, is unbound, bind it")
			return c.bind(p, pv, claim)
		}
		// BIND-059b: it is free, but will not do.
		p.Decide("BIND-059b", claim, "synchronizing unbound PersistentVolumeClaim: volume requested does not satisfy the claim")
		c.events.Event(p, claim, corev1.EventTypeWarning, "VolumeMismatch", `Cannot bind to requested volume "`+pv.Name+`": `+why)
	case objects.IsMine(pv, claim):
		// BIND-059d: both name each other; that settles it, whatever sizes and modes say.
		p.Decide("BIND-059d", claim, "synchronizing unbound PersistentVolumeClaim: volume already bound, finishing the binding")
		return c.bind(p, pv, claim)
	default:
		p.Decide("BIND-059e", claim, "synchronizing unbound PersistentVolumeClaim: volume already bound to a different claim")
		text := `volume "` + pv.Name + `" already bound to a different claim.`
		c.events.Event(p, claim, corev1.EventTypeWarning, "FailedBinding", text)
		if _, byController := claim.Annotations[objects.AnnBoundByController]; byController {
			// BIND-059f: a controller chose this volume, so something is wrong; it is not the user's to wait for.
			return fmt.Errorf("claim %s was bound by a controller, and %s", api.KeyOf(claim), text)
		}
		// BIND-059e: the user chose it and may wait for it.
	}
	_, err := c.setClaimStatus(p, claim, corev1.ClaimPending, nil)
	return err
}

// syncBoundClaim checks that a claim which was bound once still has its volume.
func (c *controller) syncBoundClaim(p *engine.Process, claim *corev1.PersistentVolumeClaim) error {
	if claim.Spec.VolumeName == "" {
		// BIND-060a
		return c.loseClaim(p, "BIND-060a", claim, "ClaimLost", "Bound claim has lost reference to PersistentVolume. Data on the volume is lost!")
	}
	pv, ok := c.own.Get(claim.Spec.VolumeName)
	switch {
	case !ok:
		// BIND-060b
		return c.loseClaim(p, "BIND-060b", claim, "ClaimLost", "Bound claim has lost its PersistentVolume. Data on the volume is lost!")
	case pv.Spec.ClaimRef == nil:
		// BIND-060c: the volume forgot the claim, or came back new; it is taken again unseen.
		p.Decide("BIND-060c", claim, "synchronizing bound PersistentVolumeClaim: volume is unbound, fixing")
		return c.bind(p, pv, claim)
	case pv.Spec.ClaimRef.UID == claim.UID:
		// BIND-060d: all is well, or a bind was left half done. RECL-044: also while the volume is being deleted.
		p.Decide("BIND-060d", claim, "synchronizing bound PersistentVolumeClaim: claim is already correctly bound")
		return c.bind(p, pv, claim)
	default:
		// BIND-060e: an empty uid is a different one, too.
		return c.loseClaim(p, "BIND-060e", claim, "ClaimMisbound", "Two claims are bound to the same volume, this one is bound incorrectly")
	}
}

// isDelayed is the delay flag of a claim.
func (c *controller) isDelayed(claim *corev1.PersistentVolumeClaim) (bool, error) {
	name := objects.ClassOf(claim)
	if name == "" {
		return false, nil
	}
	// PROV-010: a class that does not exist delays nothing.
	class, ok := c.infClasses.Get(name)
	if !ok {
		return false, nil
	}
	return objects.IsDelayed(class)
}

// defaultClassFor is the class that a claim without one is to get, nil if it has one or there is none to get.
func (c *controller) defaultClassFor(claim *corev1.PersistentVolumeClaim) *storagev1.StorageClass {
	// PROV-001
	if objects.HasClass(claim) {
		return nil
	}
	return objects.DefaultClass(c.infClasses.List())
}

// assignClass gives the default class to a claim that was created without one.
func (c *controller) assignClass(p *engine.Process, claim *corev1.PersistentVolumeClaim, class *storagev1.StorageClass) error {
	p.Decide("PROV-003", claim, "claim without a class gets the default class %s", class.Name)
	assigned := *claim
	assigned.Spec.StorageClassName = &class.Name
	// PROV-003, BIND-023: the answer is not kept; the event of the update brings the claim back.
	if _, err := c.api.Claims.Update(p, &assigned); err != nil {
		return fmt.Errorf("assign class %s to claim %s: %w", class.Name, api.KeyOf(claim), err)
	}
	return nil
}

// loseClaim is a transition to Lost, with its event (BIND-077).
func (c *controller) loseClaim(p *engine.Process, rule string, claim *corev1.PersistentVolumeClaim, reason, text string) error {
	// BIND-077: a claim that is Lost already is left as it is.
	if claim.Status.Phase == corev1.ClaimLost {
		return nil
	}
	p.Decide(rule, claim, text)
	lost, err := c.setClaimStatus(p, claim, corev1.ClaimLost, nil)
	if err != nil {
		return err
	}
	c.events.Event(p, lost, corev1.EventTypeWarning, reason, text)
	return nil
}

func isBindCompleted(claim *corev1.PersistentVolumeClaim) bool {
	_, ok := claim.Annotations[objects.AnnBindCompleted]
	return ok
}
