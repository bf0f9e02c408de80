package attach

import (
	"errors"
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/volsim/volsim/api"
	"github.com/volsim/volsim/internal/core/engine"
	"github.com/volsim/volsim/internal/core/klog"
	"github.com/volsim/volsim/internal/core/objects"
	"github.com/volsim/volsim/trace"
)

// ATT-083: the names of the operations.
const (
	attachOperation = "volume_attach"
	detachOperation = "volume_detach"
)

// reconcile is a pass of the reconciler (ATT-061). Passes are skipped while desired and actual state agree.
func (c *controller) reconcile(p *engine.Process) {
	c.countSkippedVerifications(p.Now())
	// ATT-061: volumes are detached before others are attached, so that a volume that moves is free first.
	c.detachUndesired(p)
	c.attachDesired(p)
	c.writeNodeStatuses(p)
	c.verifyIfDue(p)
}

// operationKey returns the key of operations on the volume: two with the same key do not run at the same time (ATT-081).
func operationKey(spec objects.VolumeSpec, at pair) engine.OperationKey {
	// ATT-081, ATT-088: a volume for a single node has one operation and one backoff in the whole cluster. ATT-089: so it is detached from
	// one node before it is attached to another.
	if !objects.MultiAttachAllowed(spec) {
		return engine.OperationKey{Volume: string(at.volume)}
	}
	return engine.OperationKey{Volume: string(at.volume), Node: at.node}
}

// undesired is a volume to detach, as it was at the begin of the pass.
type undesired struct {
	at      pair
	spec    objects.VolumeSpec
	mounted bool
}

func (c *controller) detachUndesired(p *engine.Process) {
	pairs := c.work.toDetach()
	if len(pairs) == 0 {
		return
	}
	begin := c.actual.beginPass()
	defer c.actual.endPass()
	list := make([]undesired, 0, len(pairs))
	for _, at := range pairs {
		list = append(list, undesired{at, c.actual.spec(at.volume), c.actual.mounted(at)})
	}
	for i := 0; i < len(list); i++ {
		u, found := list[i], c.work.found
		// A pod may have come while the status for an earlier volume was written.
		if !c.desired.has(u.at) {
			c.detachOne(p, u)
		}
		if c.work.found == found {
			continue
		}
		// ATT-062: a pod may also have gone meanwhile; so volumes that are later in the order are detached in this pass.
		for _, at := range c.work.toDetach() {
			later, known := slices.BinarySearchFunc(list, at, func(u undesired, at pair) int { return byVolume(u.at, at) })
			if !known && later > i && begin.had(at) {
				list = slices.Insert(list, later, undesired{at, c.actual.spec(at.volume), begin.mounted(&c.actual, at)})
			}
		}
	}
}

// detachOne starts the detachment of a volume, or records why not yet (ATT-062). Nothing stops a detachment that runs (ATT-080), not even
// the removal of the node's taint (ATT-197).
func (c *controller) detachOne(p *engine.Process, u undesired) {
	key := operationKey(u.spec, u.at)
	// ATT-062, ATT-087, ATT-090: running operations and backoff are checked first; otherwise an operation that ends now would be followed by
	// a second one.
	if !c.ops.Startable(key, detachOperation) {
		// ATT-062, ATT-213: the node's status keeps the volume, and the 6 minutes do not start.
		c.awaitRetry(key, detachOperation)
		return
	}
	// ATT-062: the volume is gone if an operation ended meanwhile.
	entry, ok := c.actual.get(u.at)
	if !ok {
		c.log.reconciler.Info(5, "Volume detached--skipping", nodeName(u.at.node), volumeName(u.at))
		return
	}
	elapsed := c.actual.requestDetach(u.at, entry, p.Now())
	node, _ := c.infNodes.Get(u.at.node)
	facts := DetachFacts{
		Mounted:      u.mounted,
		OutOfService: objects.OutOfService(node),
		// ATT-063: strictly more than 6 minutes, unless forced detaching is disabled.
		Expired: elapsed > forceDetachAfter && !c.cfg.DisableForceDetach,
		Healthy: objects.Healthy(node),
	}
	decision, verify := DecideDetach(facts)
	decision.Volume, decision.Node, decision.Since = string(u.at.volume), u.at.node, entry.requested
	if decision.Waiting {
		// ATT-062: a volume that is not detached yet stays in the node's status.
		c.logWaiting(u.at, elapsed)
		c.awaitUnmount(p, u, entry, facts, decision, elapsed)
		return
	}
	c.recordDetach(p, u, node, decision)
	// ATT-066: the node's status loses the volume first, so that the kubelet does not start to mount it.
	c.actual.unreport(u.at)
	if err := c.writeNodeStatus(p, u.at.node); err != nil {
		// ATT-067: if that write fails, nothing is detached, and the end of the pass writes the old list again.
		c.log.reconciler.Error(err, "UpdateNodeStatusForNode failed while attempting to report volume as attached", nodeName(u.at.node),
			volumeName(u.at))
		c.actual.report(u.at)
		c.wake()
		return
	}
	c.log.reconciler.Info(5, "Starting attacherDetacher.DetachVolume", nodeName(u.at.node), volumeName(u.at))
	if facts.OutOfService {
		c.log.reconciler.Info(4, "node has out-of-service taint", nodeName(u.at.node))
	}
	if err := c.startDetach(key, u, verify); err != nil {
		// ATT-067: if the operation does not start, the volume returns to the node's status.
		c.actual.report(u.at)
		p.Decide("ATT-067", c.subject(u.spec, node), "detaching %s from node %s could not begin: %v", u.at.volume, u.at.node, err)
		if !errors.Is(err, engine.ErrBackoff) {
			c.log.reconciler.Error(err, "attacherDetacher.DetachVolume failed to start", nodeName(u.at.node), volumeName(u.at))
		}
		c.retry(key, detachOperation, err)
		return
	}
	c.logDetachStarted(u.at, facts, verify)
}

// awaitUnmount records once why a mounted volume is not detached, and arms the reconciler for the end of the 6 minutes.
func (c *controller) awaitUnmount(p *engine.Process, u undesired, entry *attachment, facts DetachFacts, decision trace.Detach,
	elapsed time.Duration) {
	if entry.waiting != decision.Why {
		entry.waiting = decision.Why
		node, _ := c.infNodes.Get(u.at.node)
		c.recordDetach(p, u, node, decision)
	}
	// For a node that is ready there is no limit; a change of the node is an event.
	if !facts.Healthy && !c.cfg.DisableForceDetach {
		c.reconciler.ArmAt(p.Now().Add(forceDetachAfter - elapsed))
	}
}

// recordDetach adds a decision about a detachment to the trace.
func (c *controller) recordDetach(p *engine.Process, u undesired, node *corev1.Node, decision trace.Detach) {
	if !p.Tracing() {
		return
	}
	text := "detach %s from node %s: %s"
	if decision.Waiting {
		text = "do not detach %s from node %s yet: %s"
	}
	p.Record(trace.Entry{
		Type: trace.Decision, Rule: "ATT-064", Object: api.RefTo(c.subject(u.spec, node)),
		Text:   fmt.Sprintf(text, u.at.volume, u.at.node, decision.Why),
		Detach: new(decision),
	})
}

// subject returns the object of trace entries about a volume: the PersistentVolume, or the node if that is not known.
func (c *controller) subject(spec objects.VolumeSpec, node *corev1.Node) api.Object {
	switch {
	case spec.PV != nil:
		return spec.PV
	case node != nil:
		return node
	}
	return &corev1.Node{}
}

func (c *controller) attachDesired(p *engine.Process) {
	for _, at := range c.work.toAttach() {
		if v, ok := c.desired.get(at); ok {
			c.attachOne(p, at, v)
		}
	}
}

// attachOne starts the attachment of a volume, or records why not (ATT-068).
func (c *controller) attachOne(p *engine.Process, at pair, v *desiredVolume) {
	key := operationKey(v.spec, at)
	// ATT-068, ATT-087: only a running operation counts here; the operation runner checks the backoff.
	if c.ops.Running(key) {
		return
	}
	if c.actual.state(at) == attached {
		// ATT-073: a volume that is desired again is not detached.
		c.actual.cancelDetach(at)
		c.updateWork(at)
		return
	}
	// ATT-069, ATT-070: a volume for one node waits while it is attached elsewhere; an uncertain attachment does not count.
	if elsewhere := c.actual.attachedTo(at.volume); len(elsewhere) > 0 && !objects.MultiAttachAllowed(v.spec) {
		c.reportMultiAttach(p, at, v, elsewhere)
		return
	}
	pods := v.pods
	err := c.ops.Run(key, attachOperation, func(p *engine.Process) error { return c.attachVolume(p, at, v.spec, pods) })
	if err == nil {
		// ATT-074, ATT-190: neither the state of the node nor its attach limit is checked.
		if c.log.reconciler.Enabled(0) {
			c.log.reconciler.Info(0, "attacherDetacher.AttachVolume started", volumeName(at), klog.String("nodeName", at.node),
				podNames("scheduledPods", pods))
		}
		if p.Tracing() {
			p.Decide("ATT-068", c.subject(v.spec, nil), "attach %s to node %s for %d pod(s)", at.volume, at.node, len(pods))
		}
		return
	}
	c.retry(key, attachOperation, err)
}

// retry arms the reconciler for when an operation that could not start can.
func (c *controller) retry(key engine.OperationKey, operation string, err error) {
	switch {
	case errors.Is(err, engine.ErrBackoff):
		c.awaitRetry(key, operation)
	case errors.Is(err, engine.ErrRunning):
		// The end of the running operation arms the reconciler.
	default:
		// ATT-214: other errors are retried at the next tick.
		c.reconciler.Arm()
	}
}

// awaitRetry arms the reconciler for the end of the backoff of an operation that failed. The end of a running one arms it anyway.
func (c *controller) awaitRetry(key engine.OperationKey, operation string) {
	if wait, backsOff := c.ops.RetryAfter(key, operation); backsOff {
		// ATT-084: the operation is retried at the first tick after its backoff.
		c.reconciler.ArmAt(c.actor.Engine().Now().Add(wait))
	}
}
