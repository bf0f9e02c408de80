package mount

import (
	"time"

	"github.com/volsim/volsim/api"
	"github.com/volsim/volsim/internal/core/engine"
	"github.com/volsim/volsim/internal/core/kubeletdefs"
	"github.com/volsim/volsim/mount/internal/volumes"
)

// Upstream syncs every pod once a minute. For a pod that runs well, such a sync finds the same again. It is skipped, and scheduled again
// as soon as something that it reads changes, at the time that the periodic sync would have had. A demand says why a sync is needed.

// demand is why a sync is needed, in increasing order of urgency.
type demand int

const (
	notDemanded demand = iota
	// demandStale: the last sync could not read the volumes of the pod again.
	demandStale
	// demandChanged: something changed that the sync may find.
	demandChanged
	// demandWork: the sync will find something to do, so Settle waits for it.
	demandWork
)

// nextSync is the timer of the next sync. The zero value means that none is scheduled.
type nextSync struct {
	due        time.Time
	foreground bool // Settle waits for it
	timer      *engine.Timer
}

func (n *nextSync) stop() {
	if n.timer != nil {
		n.timer.Stop()
	}
	*n = nextSync{}
}

// pause waits until the next sync is due, or until the pod ends. err is the result of the last sync.
func (w *podWorker) pause(p *engine.Process, err error) {
	w.lastSync, w.lastError = p.Now(), err
	if err != nil {
		p.Decide("MNT-009", w.pod, "sync failed: %v", err)
		// MNT-009, MNT-160: a failed sync is repeated soon.
		w.state = w.state.after(syncFailed)
		w.schedule(w.lastSync.Add(kubeletdefs.RetryPeriod), w.demand >= demandChanged)
	} else {
		w.state = w.state.after(syncSucceeded)
		if w.needsPeriodicSync() {
			// MNT-009, MNT-069: the periodic sync; skipped for all other pods.
			w.state = w.state.after(somethingChanged)
			w.schedule(w.lastSync.Add(kubeletdefs.SyncPeriod), w.demand == demandWork)
		}
	}
	for !w.state.ending() && (w.next.due.IsZero() || p.Now().Before(w.next.due)) {
		// The timer gives the signal.
		w.signal.Wait(p, 0)
	}
	w.next.stop()
	if !w.state.ending() {
		w.state = w.state.after(syncDue)
	}
}

// needsPeriodicSync reports whether the next periodic sync may find something, or must run because a fault waits for its requests.
func (w *podWorker) needsPeriodicSync() bool {
	return w.demand > notDemanded || !w.k.skips() || w.remounts()
}

// schedule sets the time of the next sync. Settle waits for a sync in the foreground.
func (w *podWorker) schedule(t time.Time, foreground bool) {
	if w.next.timer != nil {
		w.next.timer.Stop()
	}
	w.next.due, w.next.foreground = t, foreground
	wake := func(*engine.Process) { w.signal.Broadcast() }
	left, name := t.Sub(w.k.actor.Engine().Now()), "next sync of pod "+api.KeyOf(w.pod)
	if foreground {
		w.next.timer = w.k.actor.After(left, name, wake)
	} else {
		w.next.timer = w.k.actor.Background(left, name, wake)
	}
}

// requeue notes that the next sync may find something new. It schedules the sync of an idle pod in the background. With foreground, the
// retry of a failed sync is promoted to the foreground.
func (w *podWorker) requeue(foreground bool) {
	w.demand = max(w.demand, demandChanged)
	switch {
	case w.state == podRetrying && foreground && !w.next.foreground:
		w.schedule(w.next.due, true)
	case w.state == podIdle:
		// The next of the periodic syncs, of which those in between were skipped.
		period := kubeletdefs.SyncPeriod
		past := w.k.actor.Engine().Now().Sub(w.lastSync)
		w.state = w.state.after(somethingChanged)
		w.schedule(w.lastSync.Add((past/period+1)*period), false)
	}
}

// promote moves the next sync to the foreground, because it will find something to do.
func (w *podWorker) promote() {
	w.demand = demandWork
	if (w.state == podRetrying || w.state == podScheduled) && !w.next.foreground {
		w.schedule(w.next.due, true)
	}
}

// volumesStale schedules another sync, because the volumes of the pod could not be read again.
func (w *podWorker) volumesStale() {
	switch w.state {
	case podIdle, podScheduled:
		w.requeue(false)
		if w.served == demandWork && !w.k.node.partitioned {
			w.promote()
		}
	case podRetrying:
		// The retry will read them.
	default:
		w.demand = max(w.demand, demandStale)
	}
}

// remounts reports whether the pod has volumes that each sync sets up again.
func (w *podWorker) remounts() bool {
	for _, v := range w.k.actual.Volumes() {
		if ap, ok := v.Pods.Get(w.uid); ok && v.Spec != nil && ap.Spec.Plugin.Driver != "" &&
			volumes.RequiresRemount(ap.Spec, w.k.CSIDriver(ap.Spec.Plugin.Driver)) {
			return true
		}
	}
	return false
}

// retryLater waits until the next attempt. While the API server cannot be reached, Settle does not wait for it.
func (k *kubelet) retryLater(p *engine.Process) {
	if !k.node.partitioned {
		p.Sleep(kubeletdefs.RetryPeriod)
		return
	}
	var over engine.Signal
	k.actor.Background(kubeletdefs.RetryPeriod, p.String()+" tries again", func(*engine.Process) { over.Broadcast() })
	over.Wait(p, 0)
}
