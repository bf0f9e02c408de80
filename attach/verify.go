package attach

import (
	"maps"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/volsim/volsim/internal/core/engine"
	"github.com/volsim/volsim/internal/core/objects"
)

const verifyOperation = "verify_volumes_are_attached_per_node"

// verifier knows when the controller last looked whether what it takes to be attached is, and whether looking again could show
// anything new.
type verifier struct {
	last    time.Time
	pending bool
}

// unverified is called when something happens that a verification could find.
func (c *controller) unverified() {
	if c.cfg.DisableSync || c.verifier.pending {
		return
	}
	c.verifier.pending = true
	c.catchUp(c.actor.Engine().Now().Add(1))
	c.awaitVerification()
}

// awaitVerification has the reconciler pass when it is time to verify.
func (c *controller) awaitVerification() {
	// ATT-120: the first tick more than a period after the last time.
	due := c.verifier.last.Add(c.cfg.SyncPeriod)
	c.reconciler.ArmInBackground(due.Sub(c.actor.Engine().Now()))
}

// catchUp counts the verifications before the given time that were left out because they would have found nothing.
func (c *controller) catchUp(before time.Time) {
	due := c.reconciler.TickAfter(c.verifier.last.Add(c.cfg.SyncPeriod))
	if !due.Before(before) {
		return
	}
	// From there on they are all the same time apart.
	apart := c.reconciler.TickAfter(due.Add(c.cfg.SyncPeriod)).Sub(due)
	c.verifier.last = due.Add(before.Add(-1).Sub(due).Truncate(apart))
}

// verifyIfDue has what is attached verified, now and then (ATT-120).
func (c *controller) verifyIfDue(p *engine.Proc) {
	if c.cfg.DisableSync {
		return
	}
	// ATT-120: strictly more than the period.
	due := p.Now().Sub(c.verifier.last) > c.cfg.SyncPeriod
	if due {
		c.verifier.last = p.Now()
	}
	switch {
	case !c.verifier.pending:
		return
	case !due:
		c.awaitVerification()
		return
	}
	c.verifier.pending = false
	byNode := c.actual.confirmed()
	for _, node := range slices.Sorted(maps.Keys(byNode)) {
		volumes := c.verifiable(byNode[node])
		// ATT-081: without a key a verification excludes nothing and is excluded by nothing.
		_ = c.ops.Run(engine.OperationKey{}, verifyOperation, func(p *engine.Proc) error {
			c.verify(p, node, volumes)
			return nil
		})
	}
}

// known is a volume whose spec is known.
type known struct {
	volume corev1.UniqueVolumeName
	spec   objects.VolumeSpec
}

// verifiable picks the volumes that can be verified.
func (c *controller) verifiable(volumes []corev1.UniqueVolumeName) []known {
	var list []known
	for _, volume := range volumes {
		// ATT-121: of a volume without a spec nothing can be asked. An in-tree plugin is taken at its word.
		if spec := c.actual.spec(volume); spec.CSI() != nil {
			list = append(list, known{volume, spec})
		}
	}
	return list
}

// verify finds the volumes that are not attached to the node any more, and forgets them there (ATT-122).
func (c *controller) verify(p *engine.Proc, node string, volumes []known) {
	var lost []known
	for _, k := range volumes {
		if !c.isAttached(p, node, k.spec) {
			lost = append(lost, k)
		}
	}
	for _, k := range lost {
		// ATT-122: nothing is detached; if it is desired it will be attached again.
		at := pair{k.volume, node}
		p.Decide("ATT-122", k.spec.PV, "%s is no longer attached to node %s: forget it there", k.volume, node)
		c.actual.markDetached(at)
		c.review(at)
	}
}

// isAttached asks whether a CSI volume is attached to the node (ATT-121).
func (c *controller) isAttached(p *engine.Proc, node string, spec objects.VolumeSpec) bool {
	source := spec.CSI()
	// ATT-121: what needs no attaching cannot have been lost.
	if driver := c.driverObject(source.Driver); driver != nil && driver.Spec.AttachRequired != nil && !*driver.Spec.AttachRequired {
		return true
	}
	name := objects.AttachmentName(source.VolumeHandle, source.Driver, node)
	// ATT-121: that it is being deleted does not matter.
	if va, ok := c.infAttachments.Get(name); ok {
		return va.Status.Attached
	}
	// ATT-121: the cache may lag; any error counts as not attached.
	va, err := p.API().Attachments.Get(p, name)
	return err == nil && va.Status.Attached
}
