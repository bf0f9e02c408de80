package mount

import (
	"time"

	"github.com/volsim/volsim/api"
	"github.com/volsim/volsim/internal/core/engine"
	"github.com/volsim/volsim/mount/internal/volumes"
)

// pause waits for the time of the next sync, or the end of the pod (MNT-009).
func (w *worker) pause(p *engine.Proc, err error) {
	w.synced, w.failedSync, w.failure, w.paused = p.Now(), err != nil, err, true
	if err != nil {
		p.Decide("MNT-009", w.pod, "sync failed: %v", err)
	}
	switch {
	case w.failedSync:
		// MNT-009, MNT-160: after a failure soon.
		w.wakeAt(w.synced.Add(w.k.cfg.RetryPeriod), w.dirty)
	case w.dirty, w.stale, w.k.cfg.EverySync, w.remounts(), w.awaited():
		// MNT-009, MNT-069: that of a pod that runs well is left out, unless a fault waits for it.
		w.wakeAt(w.synced.Add(w.k.cfg.SyncPeriod), w.urgent)
	}
	for !w.ending && (w.due.IsZero() || p.Now().Before(w.due)) {
		// The timer gives the signal.
		w.signal.Wait(p, 0)
	}
	if w.timer != nil {
		w.timer.Stop()
	}
	w.paused, w.failedSync, w.timer, w.due, w.eager = false, false, nil, time.Time{}, false
}

// wakeAt ends the pause at a time.
func (w *worker) wakeAt(t time.Time, eager bool) {
	if w.timer != nil {
		w.timer.Stop()
	}
	w.due, w.eager = t, eager
	wake := func(*engine.Proc) { w.signal.Broadcast() }
	left, name := t.Sub(w.k.actor.Engine().Now()), "next sync of pod "+api.KeyOf(w.pod)
	if eager {
		w.timer = w.k.actor.After(left, name, wake)
	} else {
		w.timer = w.k.actor.Background(left, name, wake)
	}
}

// stir notes that the next sync might find something new. That of a pod that runs well is left out otherwise, and that of one that
// waits is background work.
func (w *worker) stir(eager bool) {
	w.dirty = true
	switch {
	case !w.paused || w.ending:
	case w.failedSync:
		if eager && !w.eager {
			w.wakeAt(w.due, true)
		}
	case w.due.IsZero():
		// Syncs that would have changed nothing came every so often.
		period := w.k.cfg.SyncPeriod
		past := w.k.actor.Engine().Now().Sub(w.synced)
		w.wakeAt(w.synced.Add((past/period+1)*period), false)
	}
}

// hurry has the sync that the pod is stirred for be more than background work: it will find something to do.
func (w *worker) hurry() {
	w.urgent = true
	if w.paused && !w.ending && !w.eager && !w.due.IsZero() {
		w.wakeAt(w.due, true)
	}
}

// outdated has another sync come though the last one may have succeeded: the pod's volumes could not be read again.
func (w *worker) outdated() {
	if !w.paused {
		w.stale = true
		return
	}
	if w.failedSync {
		return // there will be one soon
	}
	w.stir(false)
	if w.hurried && !w.k.node.partitioned {
		w.hurry()
	}
}

// remounts reports whether the pod has volumes that each sync sets up again.
func (w *worker) remounts() bool {
	for _, v := range w.k.actual.Volumes() {
		if ap, ok := v.Pods.Get(w.uid); ok && v.Spec != nil && ap.Spec.Plugin.Driver != "" &&
			volumes.RequiresRemount(ap.Spec, w.k.driver(ap.Spec.Plugin.Driver)) {
			return true
		}
	}
	return false
}

// retryLater lets the time until the next attempt pass. While the API server cannot be reached that is background work.
func (k *kubelet) retryLater(p *engine.Proc) {
	if !k.node.partitioned {
		p.Sleep(k.cfg.RetryPeriod)
		return
	}
	var over engine.Signal
	k.actor.Background(k.cfg.RetryPeriod, p.String()+" tries again", func(*engine.Proc) { over.Broadcast() })
	over.Wait(p, 0)
}
