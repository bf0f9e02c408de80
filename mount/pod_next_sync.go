package mount

import (
	"time"

	"github.com/volsim/volsim/internal/core/engine"
	"github.com/volsim/volsim/internal/core/kubeletdefs"
	"github.com/volsim/volsim/mount/internal/volumes"
)

// Upstream syncs every pod once a minute. For a pod that runs well, such a sync finds the same again, so it is skipped until something
// changes that it reads. It then comes at the time that the periodic sync would have had.

// demand is why a sync is needed, in increasing order of urgency. There is more than one reason because Settle waits for some syncs only.
type demand int

const (
	notDemanded demand = iota
	// demandStale: the last sync could not read the volumes of the pod again. Settle waits for no sync.
	demandStale
	// demandChanged: something changed that the sync may find. Settle waits for the retry of a failed sync, but for no periodic sync.
	demandChanged
	// demandWork: the sync will find something to do, so Settle waits for it.
	demandWork
)

// makeTicker creates the ticker of the periodic syncs and retries. Each tick counts from the end of the last sync.
func (w *podWorker) makeTicker(name string) {
	w.ticker = w.k.actor.NewTicker(engine.TickerConfig{
		Name: name, Period: kubeletdefs.SyncPeriod,
		Pass: func(*engine.Process) {
			w.due = true
			w.signal.Broadcast()
		},
		// MNT-009: each periodic sync reads the volumes of the pod.
		Idle: func() (time.Time, bool) { return time.Time{}, w.state == podSynced && !w.due },
	})
}

// pause waits until the next sync is due, or until the pod ends. err is the result of the last sync.
func (w *podWorker) pause(p *engine.Process, err error) {
	if w.state.ending() {
		w.stop(p)
		return
	}
	w.lastSync, w.lastError, w.due = p.Now(), err, w.instructed
	if err != nil {
		p.Decide("MNT-009", w.pod, "sync failed: %v", err)
		// MNT-009, MNT-160: a failed sync is repeated soon.
		w.state = w.state.after(syncFailed)
		w.ticker.Reset(kubeletdefs.RetryPeriod)
		w.arm(w.demand >= demandChanged)
	} else {
		w.state = w.state.after(syncSucceeded)
		// MNT-009: the periodic sync.
		w.ticker.Reset(kubeletdefs.SyncPeriod)
		if w.demand > notDemanded || w.remounts() {
			w.arm(w.demand == demandWork)
		}
		w.ticker.ArmIdle()
	}
	w.signal.ThenWhen(p, func() bool { return w.state.ending() || w.due }, w.resume)
}

// resume ends a pause.
func (w *podWorker) resume(p *engine.Process) {
	w.ticker.Reset(kubeletdefs.SyncPeriod)
	if !w.state.ending() {
		w.state = w.state.after(syncDue)
	}
	w.sync(p)
}

// arm requests the next sync. Settle waits for a sync in the foreground.
func (w *podWorker) arm(foreground bool) {
	if foreground {
		w.ticker.Arm()
	} else {
		w.ticker.ArmBackground()
	}
}

// syncNow requests a sync at once, or after the one that goes on, because the pod has changed (MNT-377).
func (w *podWorker) syncNow() {
	w.instructed = true
	if w.state == podSynced || w.state == podRetrying {
		w.due = true
		w.signal.Broadcast()
	}
}

// requeue notes that the next sync may find something new. It requests the periodic sync in the background. With foreground, it moves the
// retry of a failed sync to the foreground.
func (w *podWorker) requeue(foreground bool) {
	w.demand = max(w.demand, demandChanged)
	if !w.due && (w.state == podSynced || w.state == podRetrying) {
		w.arm(w.state == podRetrying && foreground)
	}
}

// promote moves the next sync to the foreground, because it will find something to do.
func (w *podWorker) promote() {
	w.demand = demandWork
	if !w.due && (w.state == podSynced || w.state == podRetrying) {
		w.ticker.Arm()
	}
}

// volumesStale requests another sync, because the volumes of the pod could not be read again.
func (w *podWorker) volumesStale() {
	switch w.state {
	case podSynced:
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

// remounts reports whether the pod has volumes that each sync sets up again, with a call to a driver or with an error.
func (w *podWorker) remounts() bool {
	for v, ap := range w.k.actual.VolumesOf(w.uid) {
		if v.Spec == nil || !volumes.RequiresRemount(ap.Spec, w.k.CSIDriver(ap.Spec.Plugin.Driver)) {
			continue
		}
		if ap.Spec.Plugin.Driver != "" || w.k.plugins.Lacks(ap.Spec.Inline, w.pod) {
			return true
		}
	}
	return false
}

// retryLater waits until the next attempt.
func (k *kubelet) retryLater(p *engine.Process) { k.rest(p, kubeletdefs.RetryPeriod) }

// rest waits until something is tried again. While the API server cannot be reached, Settle does not wait for it.
func (k *kubelet) rest(p *engine.Process, pause time.Duration) {
	if !k.node.partitioned {
		p.Sleep(pause)
		return
	}
	var over engine.Signal
	k.actor.Background(pause, p.String()+" tries again", func(*engine.Process) { over.Broadcast() })
	over.Wait(p, 0)
}
