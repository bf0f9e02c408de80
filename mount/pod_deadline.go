package mount

import (
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/volsim/volsim/internal/core/engine"
)

const (
	deadlineReason  = "DeadlineExceeded"
	deadlineMessage = "Pod was active on the node longer than the specified deadline"
)

// deadline returns when the pod must have ended (MNT-401).
func (w *podWorker) deadline() (at time.Time, ok bool) {
	start, seconds := w.status.known.StartTime, w.pod.Spec.ActiveDeadlineSeconds
	if start == nil || seconds == nil {
		return at, false
	}
	return start.Add(time.Duration(*seconds) * time.Second), true
}

// endIfOverdue ends a pod whose deadline is over. Otherwise it requests a sync for that time, for which Settle does not wait.
func (w *podWorker) endIfOverdue(p *engine.Process) {
	at, ok := w.deadline()
	switch {
	case !ok:
	case at.After(p.Now()):
		w.stopDeadline()
		if !w.state.ending() {
			// MNT-401: it takes effect in a sync. SIM: at once.
			w.overdue = w.k.actor.Background(at.Sub(p.Now()), "deadline of "+w.key, func(*engine.Process) { w.syncNow() })
		}
	default:
		w.k.Event(p, w.pod, corev1.EventTypeNormal, deadlineReason, deadlineMessage)
		w.reason, w.message = deadlineReason, deadlineMessage
		w.end(corev1.PodFailed)
	}
}

// stopDeadline withdraws the sync for the deadline.
func (w *podWorker) stopDeadline() {
	if w.overdue != nil {
		w.overdue.Stop()
	}
}
