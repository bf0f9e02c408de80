package mount

import (
	"slices"
	"strconv"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/volsim/volsim/api"
	"github.com/volsim/volsim/internal/core/engine"
	"github.com/volsim/volsim/internal/core/kubeletdefs"
	"github.com/volsim/volsim/internal/core/kubeletstatus"
	"github.com/volsim/volsim/mount/internal/volumes"
)

// statusReporter registers the node (node_registration.go) and reports its status: volumes in use, readiness and boot (MNT-172).
type statusReporter struct {
	k      *kubelet
	ticker *engine.Ticker
	last   report
	// list is reused by reportIfChanged, recorded by inUse.
	list, recorded []corev1.UniqueVolumeName
}

// report contains the fields of the last report that the status reporter remembers.
type report struct {
	registered bool
	sent       time.Time
	// reported is the list of volumes in use in the last report; known is false before the first report.
	reported []corev1.UniqueVolumeName
	known    bool
	// due says that a report is due even if nothing has changed.
	due bool
	// failed says that the last round failed.
	failed bool
	// unschedulable is what the last round that saw the Node found.
	unschedulable bool
	// until is when unchanged reports end after the last change of a pod or an attachment.
	until time.Time
}

// inUse appends the volumes in use, in order (MNT-170), to an empty list.
func (sr *statusReporter) inUse(names []corev1.UniqueVolumeName) []corev1.UniqueVolumeName {
	recorded := sr.recorded[:0]
	sr.k.actual.EachVolume(func(v *volumes.ActualVolume) bool {
		// MNT-170, MNT-928: a recorded volume, if it is known to be attached.
		if v.Attachable == volumes.Attachable {
			recorded = append(recorded, v.Name)
		}
		return true
	})
	sr.recorded = recorded
	sr.k.desired.EachVolume(func(v *volumes.DesiredVolume) bool {
		// MNT-170: a desired volume, if it has to be attached.
		if !v.Attachable {
			return true
		}
		for len(recorded) > 0 && recorded[0] <= v.Name {
			if recorded[0] < v.Name {
				names = append(names, recorded[0])
			}
			recorded = recorded[1:]
		}
		names = append(names, v.Name)
		return true
	})
	return append(names, recorded...)
}

// reportIfChanged requests a report if the volumes in use differ from the last report.
func (sr *statusReporter) reportIfChanged() {
	if !sr.k.reconciler.statesSynced {
		return
	}
	inUse := sr.inUse(sr.list[:0])
	sr.list = inUse
	if !sr.last.known || !slices.Equal(inUse, sr.last.reported) || sr.awaited() ||
		sr.k.object != nil && !slices.Equal(sr.k.object.Status.VolumesInUse, inUse) {
		sr.ticker.Arm()
	}
}

// awaited reports whether a volume cannot be verified before the next report, because it was unmounted to get another label.
func (sr *statusReporter) awaited() (awaited bool) {
	sr.k.desired.EachVolume(func(v *volumes.DesiredVolume) bool {
		if v.Attachable && !v.ReportedInUse {
			_, known := sr.k.actual.Volume(v.Name)
			// MNT-043, MNT-336: the new pod's volume is not marked as reported, although the list has it.
			awaited = !known
		}
		return !awaited
	})
	return awaited
}

// pass is one round of the node's status (MNT-172). Rounds that would find and write nothing make no requests, and are skipped.
func (sr *statusReporter) pass(p *engine.Process) {
	// MNT-365: the first round begins with the registration.
	sr.register(p)
	var err error
	for try := range statusTries {
		if err = sr.tryReport(p, try > 0); err == nil {
			sr.last.failed = false
			sr.scheduleReport()
			return
		}
	}
	sr.last.failed = true
	if apierrors.IsNotFound(err) {
		sr.awaitNode()
		return
	}
	// MNT-160: the next round tries again.
	sr.ticker.ArmBackground()
}

// awaitNode is called while there is no Node object. When it comes back, the watch requests a round. The rounds until then fail, so they are
// skipped, unless their requests take time: then they delay the rounds after them (MNT-172).
func (sr *statusReporter) awaitNode() {
	if sr.k.actor.Engine().Latency() > 0 {
		sr.ticker.ArmBackground()
	} else {
		sr.ticker.ArmIdle()
	}
}

// nextIdleRound returns when the next round is due that makes requests although nothing has changed.
func (sr *statusReporter) nextIdleRound() (at time.Time, ok bool) {
	if sr.k.watching && sr.k.object == nil {
		// MNT-172: each round reads the missing Node object.
		return time.Time{}, true
	}
	// MNT-008: the next unchanged report.
	return sr.nextReport(), sr.k.watching && sr.last.known
}

// seenNode returns the Node object as the watch shows it.
func (sr *statusReporter) seenNode() (*corev1.Node, error) {
	if sr.k.object == nil {
		return nil, apierrors.NewNotFound(corev1.Resource("nodes"), sr.k.node.name)
	}
	return sr.k.object, nil
}

// tryReport computes the status, writes it if needed, and marks the reported volumes as in use. again says that an earlier try of this
// round has failed.
func (sr *statusReporter) tryReport(p *engine.Process, again bool) error {
	// MNT-172, MNT-934: the first try uses the watched object, later tries read it from the API server.
	node, err := sr.seenNode()
	if again {
		node, err = sr.k.getNode(p)
	}
	if err != nil {
		return err
	}
	inUse := node.Status.VolumesInUse
	if sr.k.reconciler.statesSynced {
		// MNT-171, MNT-462: until then, the list of the previous kubelet is kept.
		inUse = sr.inUse(nil)
	}
	sr.noteChanges(p, node)
	now := p.Now()
	// MNT-008, MNT-172: a changed status is written at once, an unchanged one after ReportPeriod.
	if kubeletstatus.Changed(node, inUse, sr.bootID()) || now.Sub(sr.last.sent) >= sr.period() {
		report := kubeletstatus.Report(node, inUse, sr.bootID(), now)
		// A request during the write asks for another report.
		due := sr.last.due
		sr.last.due = false
		node, err = reach(sr.k, func() (*corev1.Node, error) {
			return p.API().Nodes.PatchWith(p, sr.k.node.name, report, api.Status)
		})
		if err != nil {
			// MNT-172: after a failed write, no volume is marked.
			sr.last.due = sr.last.due || due
			return err
		}
		sr.last.sent = p.Now()
		// MNT-172: the object that the API server returned counts.
		inUse = node.Status.VolumesInUse
	}
	sr.last.reported, sr.last.known = slices.Clone(inUse), true
	if sr.k.desired.MarkReportedInUse(inUse) {
		sr.k.reconciler.ticker.Arm()
	}
	return nil
}

// noteChanges emits the Events of a round about the Node as it was before (MNT-368, MNT-485). A try that fails is no reason not to repeat them.
func (sr *statusReporter) noteChanges(p *engine.Process, node *corev1.Node) {
	event := func(eventType, reason, text string, args ...any) {
		// [SIM] Events of a kubelet name its node also as uid.
		ref := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: node.Name, UID: types.UID(node.Name)}}
		sr.k.Event(p, ref, eventType, reason, text, args...)
	}
	// MNT-485: the boot ID in the status is that of an earlier boot.
	if text := kubeletstatus.Rebooted(node, sr.bootID()); text != "" {
		event(corev1.EventTypeWarning, "Rebooted", "%s", text)
	}
	note := func(reason string) {
		event(corev1.EventTypeNormal, reason, "Node %s status is now: %s", node.Name, reason)
	}
	if sr.k.opts.Recorded {
		return
	}
	// MNT-368: the node was not ready, or may now be used for pods again, or no more.
	if kubeletstatus.Recovers(node) {
		note("NodeReady")
	}
	if node.Spec.Unschedulable == sr.last.unschedulable {
		return
	}
	if sr.last.unschedulable = node.Spec.Unschedulable; sr.last.unschedulable {
		note("NodeNotSchedulable")
	} else {
		note("NodeSchedulable")
	}
}

// extraHeartbeats is how many unchanged reports a node makes after a change of its pods or attachments: an operation of the attach/detach
// controller that was running may end that much later.
const extraHeartbeats = 3

// extendHeartbeats makes unchanged reports for a while: something happened from which the attach/detach controller may draw conclusions.
func (sr *statusReporter) extendHeartbeats() {
	sr.last.due = true
	sr.last.until = sr.k.actor.Engine().Now().Add(extraHeartbeats * (kubeletdefs.ReportPeriod + sr.k.cfg.StatusPeriod))
	sr.scheduleReport()
}

// mayBeObserved reports whether an unchanged report could change what the attach/detach controller does. From such a report it learns only
// that a volume is not in use that it assumes to be (ATT-044). It assumes that at the end of an attachment, and at its start for each
// VolumeAttachment. So reports are made while there is a VolumeAttachment for a volume that the node does not use, and for a while after
// changes.
func (sr *statusReporter) mayBeObserved() bool {
	now := sr.k.actor.Engine().Now()
	return sr.k.opts.EveryReport || sr.last.due || now.Before(sr.last.until) ||
		sr.k.node.nodes.hasUnusedAttachment(sr.k.node.name, sr.last.reported)
}

// scheduleReport schedules the next unchanged report (MNT-008), unless the attach/detach controller could learn nothing from it.
func (sr *statusReporter) scheduleReport() {
	if sr.k.watching && sr.last.known && sr.mayBeObserved() {
		sr.ticker.ArmBackgroundAt(sr.nextReport())
	}
}

// nextReport returns when the next unchanged report is due.
func (sr *statusReporter) nextReport() time.Time {
	if !sr.last.failed {
		// Skipped reports would have come every so many rounds. One that failed is still due.
		every := (sr.period() + sr.k.cfg.StatusPeriod - 1) / sr.k.cfg.StatusPeriod * sr.k.cfg.StatusPeriod
		if late := sr.k.actor.Engine().Now().Sub(sr.last.sent) / every; late > 0 {
			sr.last.sent = sr.last.sent.Add(late * every)
		}
	}
	return sr.last.sent.Add(sr.period())
}

// period is how long an unchanged status is not reported (MNT-008).
func (sr *statusReporter) period() time.Duration {
	if sr.k.opts.Recorded {
		return kubeletdefs.ReportPeriod + 1
	}
	return kubeletdefs.ReportPeriod
}

// bootID returns the ID of the node's current boot.
func (sr *statusReporter) bootID() string {
	n := sr.k.node
	if n.bootID == "" {
		n.bootID = n.name + "-boot-" + strconv.Itoa(n.boots)
	}
	return n.bootID
}
