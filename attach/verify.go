package attach

import (
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/volsim/volsim/internal/core/engine"
	"github.com/volsim/volsim/internal/core/objects"
)

const verifyOperation = "verify_volumes_are_attached_per_node"

// verifier schedules verifications that the attached volumes still are.
type verifier struct {
	last    time.Time // the last verification, skipped ones included
	pending bool      // a verification could find a change
}

// scheduleVerification arms the reconciler for the next verification, because that could find a change.
func (c *controller) scheduleVerification() {
	if c.cfg.SyncPeriod < 0 || c.verifier.pending {
		return
	}
	c.verifier.pending = true
	c.countSkippedVerifications(c.actor.Engine().Now().Add(1))
	c.awaitVerification()
}

// awaitVerification arms the reconciler for the next verification: the first tick more than a period after the last (ATT-120).
func (c *controller) awaitVerification() {
	c.reconciler.ArmBackgroundAt(c.verifier.last.Add(c.cfg.SyncPeriod))
}

// countSkippedVerifications sets the time of the last verification before the given time. Those in between would have found nothing.
func (c *controller) countSkippedVerifications(before time.Time) {
	if c.cfg.SyncPeriod < 0 {
		return
	}
	next := func() time.Time { return c.reconciler.TickAfter(c.verifier.last.Add(c.cfg.SyncPeriod)) }
	for due := next(); due.Before(before); due = next() {
		c.verifier.last = due
	}
}

// verifyIfDue starts a verification of all nodes if a period has passed (ATT-120).
func (c *controller) verifyIfDue(p *engine.Process) {
	if c.cfg.SyncPeriod < 0 {
		return
	}
	// ATT-120: a verification is due after strictly more than the period.
	if p.Now().Sub(c.verifier.last) <= c.cfg.SyncPeriod {
		if c.verifier.pending {
			c.awaitVerification()
		}
		return
	}
	c.verifier.last = p.Now()
	if !c.verifier.pending {
		return
	}
	c.verifier.pending = false
	byNode := c.actual.confirmed()
	for _, node := range objects.SortedKeys(byNode) {
		volumes := c.verifiable(byNode[node])
		// ATT-081: an operation without a key runs beside all others.
		_ = c.ops.Run(engine.OperationKey{}, verifyOperation, func(p *engine.Process) error {
			c.verify(p, node, volumes)
			return nil
		})
	}
}

// knownVolume is a volume whose spec is known.
type knownVolume struct {
	volume corev1.UniqueVolumeName
	spec   objects.VolumeSpec
}

// verifiable returns the volumes that can be verified.
func (c *controller) verifiable(volumes []corev1.UniqueVolumeName) []knownVolume {
	var list []knownVolume
	for _, volume := range volumes {
		// ATT-121: volumes without a spec, and of in-tree plugins, are not verified.
		if spec := c.actual.spec(volume); spec.CSI() != nil {
			list = append(list, knownVolume{volume, spec})
		}
	}
	return list
}

// verify removes the volumes from the actual state that are no longer attached to the node (ATT-122).
func (c *controller) verify(p *engine.Process, node string, volumes []knownVolume) {
	var lost []knownVolume
	for _, k := range volumes {
		if !c.isAttached(p, node, k.spec) {
			lost = append(lost, k)
		}
	}
	for _, k := range lost {
		// ATT-122: nothing is detached; a desired volume is then attached again.
		at := pair{k.volume, node}
		p.Decide("ATT-122", k.spec.PV, "%s is no longer attached to node %s: remove it from the actual state", k.volume, node)
		c.actual.markDetached(at)
		c.updateWork(at)
	}
}

// isAttached reports whether a CSI volume is attached to the node (ATT-121).
func (c *controller) isAttached(p *engine.Process, node string, spec objects.VolumeSpec) bool {
	source := spec.CSI()
	// ATT-121: a driver that requires no attaching passes.
	if driver := c.driverObject(source.Driver); driver != nil && driver.Spec.AttachRequired != nil && !*driver.Spec.AttachRequired {
		return true
	}
	name := objects.AttachmentName(source.VolumeHandle, source.Driver, node)
	// ATT-121: a VolumeAttachment that is being deleted counts.
	if va, ok := c.infAttachments.Get(name); ok {
		return va.Status.Attached
	}
	// ATT-121: if the cache lacks it, the API server decides; any error means not attached.
	va, err := p.API().Attachments.Get(p, name)
	return err == nil && va.Status.Attached
}
