package attach

import (
	"errors"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/volsim/volsim/api"
	"github.com/volsim/volsim/internal/core/engine"
	"github.com/volsim/volsim/internal/core/objects"
	"github.com/volsim/volsim/trace"
)

// ATT-083: the names of the two operations.
const (
	attachOperation = "volume_attach"
	detachOperation = "volume_detach"
)

// reconcile is a pass of the reconciler (ATT-061). It costs nothing while the two worlds agree: then it does not take place.
func (c *controller) reconcile(p *engine.Proc) {
	c.catchUp(p.Now())
	// ATT-061: detaching comes first, so that a volume that moves gets free.
	c.detachUndesired(p)
	c.attachDesired(p)
	c.writeNodeStatuses(p)
	c.verifyIfDue(p)
}

// operationKey is what operations on the volume exclude each other by (ATT-081).
func operationKey(spec objects.VolumeSpec, at pair) engine.OperationKey {
	// ATT-081, ATT-088: a volume for a single node has one operation in the whole cluster, and one delay. ATT-089: so detaching it
	// here and attaching it there take turns.
	if !objects.MultiAttachAllowed(spec) {
		return engine.OperationKey{Volume: string(at.volume)}
	}
	return engine.OperationKey{Volume: string(at.volume), Node: at.node}
}

// undesired is a volume to be detached, as it was when the pass began.
type undesired struct {
	at      pair
	spec    objects.VolumeSpec
	mounted bool
}

func (c *controller) detachUndesired(p *engine.Proc) {
	var list []undesired
	for _, at := range c.work.toDetach() {
		list = append(list, undesired{at, c.actual.spec(at.volume), c.actual.mounted(at)})
	}
	for _, u := range list {
		// A pod may have come while an earlier one was being written.
		if !c.desired.has(u.at) {
			c.detachOne(p, u)
		}
	}
}

// detachOne starts the detachment of a volume, or finds why not yet (ATT-062). Once it runs nothing stops it (ATT-080), also not that
// the node's taint is taken away again (ATT-197).
func (c *controller) detachOne(p *engine.Proc, u undesired) {
	key := operationKey(u.spec, u.at)
	// ATT-062, ATT-087, ATT-090: before anything else, or an operation that ends now would be followed by a second one.
	if !c.ops.Startable(key, detachOperation) {
		// ATT-062, ATT-213: the node's status still has the volume, and the 6 minutes do not begin.
		c.awaitRetry(key, detachOperation)
		return
	}
	// ATT-062: an operation may have ended meanwhile.
	entry, ok := c.actual.get(u.at)
	if !ok {
		return
	}
	elapsed := c.actual.requestDetach(entry, p.Now())
	node, _ := c.infNodes.Get(u.at.node)
	facts := DetachFacts{
		Mounted:      u.mounted,
		OutOfService: OutOfService(node),
		// ATT-063: strictly more, and not if it is disabled.
		Expired: elapsed > maxWaitForUnmount && !c.cfg.DisableForceDetach,
		Healthy: Healthy(node),
	}
	decision := DecideDetach(facts)
	if !decision.Detach {
		// ATT-062: the volume stays in the node's status.
		c.awaitUnmount(p, u, entry, facts, decision, elapsed)
		return
	}
	c.recordDetach(p, u, node, entry.requested, decision)
	// ATT-066: the node must not begin to mount what is about to go.
	c.actual.unreport(u.at)
	if err := c.writeNodeStatus(p, u.at.node); err != nil {
		// ATT-067: nothing has happened; the same pass writes it again.
		c.actual.report(u.at)
		c.stir()
		return
	}
	if err := c.startDetach(key, u, decision.Verify); err != nil {
		// ATT-067: nothing runs.
		c.actual.report(u.at)
		p.Decide("ATT-067", c.subject(u.spec, node), "detaching %s from node %s could not begin: %v", u.at.volume, u.at.node, err)
		c.retry(key, detachOperation, err)
	}
}

// awaitUnmount sees to it that a volume that stays mounted is looked at again when that could matter.
func (c *controller) awaitUnmount(p *engine.Proc, u undesired, entry *attachment, facts DetachFacts, decision DetachDecision, elapsed time.Duration) {
	if entry.waiting != decision.Why {
		entry.waiting = decision.Why
		node, _ := c.infNodes.Get(u.at.node)
		c.recordDetach(p, u, node, entry.requested, decision)
	}
	// A node that is ready is waited for without limit; if it changes, that is an event.
	if !facts.Healthy && !c.cfg.DisableForceDetach {
		c.reconciler.ArmAfter(maxWaitForUnmount - elapsed)
	}
}

// recordDetach adds the decision about a detachment, wanted since that time, to the trace.
func (c *controller) recordDetach(p *engine.Proc, u undesired, node *corev1.Node, since time.Time, decision DetachDecision) {
	if !p.Tracing() {
		return
	}
	text := "detach %s from node %s: %s"
	if !decision.Detach {
		text = "do not detach %s from node %s yet: %s"
	}
	p.Record(trace.Entry{
		Type: trace.Decision, Rule: "ATT-064", Object: api.RefTo(c.subject(u.spec, node)),
		Text: fmt.Sprintf(text, u.at.volume, u.at.node, decision.Why),
		Detach: &trace.Detach{
			Volume: string(u.at.volume), Node: u.at.node, Since: since, Waiting: !decision.Detach, Forced: decision.Forced, Why: decision.Why,
		},
	})
}

// subject is what a decision about a volume is recorded with: the PersistentVolume, or the node if it is not known.
func (c *controller) subject(spec objects.VolumeSpec, node *corev1.Node) api.Object {
	switch {
	case spec.PV != nil:
		return spec.PV
	case node != nil:
		return node
	}
	return &corev1.Node{}
}

func (c *controller) attachDesired(p *engine.Proc) {
	for _, at := range c.work.toAttach() {
		if v, ok := c.desired.get(at); ok {
			c.attachOne(p, at, v)
		}
	}
}

// attachOne starts the attachment of a volume, or finds why not (ATT-068).
func (c *controller) attachOne(p *engine.Proc, at pair, v *desiredVolume) {
	key := operationKey(v.spec, at)
	// ATT-068, ATT-087: a delay is not looked at here.
	if c.ops.Running(key) {
		return
	}
	if c.actual.state(at) == attached {
		// ATT-073: what is asked for after it was undesired is not to be detached.
		c.actual.touch(at)
		c.review(at)
		return
	}
	// ATT-069, ATT-070: only what is attached for sure is in the way.
	if elsewhere := c.actual.attachedTo(at.volume); len(elsewhere) > 0 && !objects.MultiAttachAllowed(v.spec) {
		c.reportMultiAttach(p, at, v, elsewhere)
		return
	}
	pods := v.podList()
	err := c.ops.Run(key, attachOperation, func(p *engine.Proc) error { return c.attachVolume(p, at, v.spec, pods) })
	if err == nil {
		// ATT-074, ATT-190: neither the state of the node nor its limit was looked at.
		p.Decide("ATT-068", c.subject(v.spec, nil), "attach %s to node %s for %d pod(s)", at.volume, at.node, len(pods))
		return
	}
	c.retry(key, attachOperation, err)
}

// reportMultiAttach tells the pods that they wait for other pods (ATT-071).
func (c *controller) reportMultiAttach(p *engine.Proc, at pair, v *desiredVolume, elsewhere []string) {
	// ATT-071: once, as long as the volume is desired here; who comes later is not told.
	if v.multiAttachReported {
		return
	}
	v.multiAttachReported = true
	p.Decide("ATT-070", c.subject(v.spec, nil), "do not attach %s to node %s: it is attached to %v and allows one node only", at.volume, at.node, elsewhere)
	blocking := c.desired.podsOn(at.volume, elsewhere)
	for _, pod := range v.podList() {
		c.events.Event(p, pod, corev1.EventTypeWarning, reasonFailed, multiAttachText(v.spec, pod.Namespace, blocking))
	}
}

// retry has the reconciler come back when an operation that could not start can.
func (c *controller) retry(key engine.OperationKey, operation string, err error) {
	switch {
	case errors.Is(err, engine.ErrBackoff):
		c.awaitRetry(key, operation)
	case errors.Is(err, engine.ErrRunning):
		// Its end brings the reconciler back.
	default:
		// ATT-214: the next tick.
		c.reconciler.Arm()
	}
}

// awaitRetry has the reconciler come back after the delay of an operation that failed. One that runs comes back by itself.
func (c *controller) awaitRetry(key engine.OperationKey, operation string) {
	if wait, backsOff := c.ops.RetryAfter(key, operation); backsOff {
		// ATT-084: the first tick after it.
		c.reconciler.ArmAfter(wait)
	}
}
