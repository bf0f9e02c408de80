package mount

import (
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/volsim/volsim/internal/core/engine"
	"github.com/volsim/volsim/internal/core/kubeletstatus"
)

// end begins the end of the pod: from now on no volume is mounted for it. phase is the phase in which its containers ended, "" if they
// still have to be stopped.
func (w *podWorker) end(phase corev1.PodPhase) {
	w.signal.Broadcast()
	if w.exit == "" {
		w.exit = phase
	}
	if w.state.ending() {
		return
	}
	// MNT-370: later versions of the pod make no difference.
	w.initialized = kubeletstatus.Initialized(w.pod)
	// MNT-356: the worker stops waiting for volumes.
	w.state = w.state.after(endRequested)
	if w.k.populator.ticker != nil {
		w.k.populator.ticker.Arm()
	}
}

// disrupt ends a pod for the sake of others. The reason and the message are those of a pod that fails, the last text is that of its condition DisruptionTarget.
func (w *podWorker) disrupt(reason, message, disruption string) {
	w.reason, w.message, w.disruption = reason, message, disruption
	w.end("")
}

// reject ends a pod that the node cannot run (MNT-383).
func (w *podWorker) reject(p *engine.Process, reason, text string) {
	w.k.Event(p, w.pod, corev1.EventTypeWarning, reason, "%s", text)
	// MNT-383: the pod fails without having started, and then ends like every other pod.
	w.reason, w.message = reason, "Pod was rejected: "+text
	w.end(corev1.PodFailed)
}

// stop leads the pod through its end.
func (w *podWorker) stop(p *engine.Process) {
	w.ticker.Stop()
	if w.exit == "" {
		// MNT-401: a deadline that passed while the worker waited shows in the end.
		w.endIfOverdue(p)
	}
	w.stopDeadline()
	w.stopContainers(p)
	w.unmount(p)
}

// stopContainers is the first step of the end (MNT-387).
func (w *podWorker) stopContainers(p *engine.Process) {
	k := w.k
	for w.held() {
		w.signal.Wait(p, 0)
	}
	c, runs := k.node.runtime.running[w.uid]
	if runs && c.exit == "" {
		if stop := w.stopTime(); stop > 0 {
			// MNT-372: the status of a pod that is being deleted is written again before its containers are stopped.
			w.report(w.currentStatus)
			p.Sleep(stop)
		}
	}
	k.node.runtime.remove(w.uid)
	// MNT-387: the populator may now drop its volumes.
	w.state = w.state.after(containersStopped)
	w.signal.Broadcast()
	k.populator.ticker.Arm()
	if w.exit == "" {
		w.exit = corev1.PodSucceeded
		if !runs {
			w.exit = corev1.PodFailed // the containers were lost, for example by a reboot
		}
	}
	if w.disruption != "" && w.exit == corev1.PodSucceeded {
		// MNT-407, MNT-488: its containers decide about the phase, and another phase has another reason.
		w.reason, w.message = "", ""
	}
	how := w.ending(runs)
	w.report(func(l *kubeletstatus.Lists, pod *corev1.Pod) corev1.PodStatus {
		status := kubeletstatus.Terminated(l, pod, how, w.exit, w.reason, w.message)
		if w.disruption != "" {
			status = kubeletstatus.Disrupted(l, status, w.disruption)
		}
		return status
	})
}

// ending returns how the containers of the pod ended (MNT-370, MNT-371). there says that the node had them.
func (w *podWorker) ending(there bool) kubeletstatus.Ending {
	switch {
	case !w.started && len(w.failures) > 0:
		return kubeletstatus.Incomplete
	case !w.started:
		return kubeletstatus.NeverStarted
	case !there:
		return kubeletstatus.Lost
	}
	return kubeletstatus.Exited
}

// held reports whether the containers of the pod are assumed not to start, or not to stop.
func (w *podWorker) held() bool { return w.k.opts.Holds != nil && w.k.opts.Holds(w.pod) }

// stopTime is how long the containers take to exit.
func (w *podWorker) stopTime() time.Duration {
	stop := w.k.cfg.StopTime
	if grace := w.pod.DeletionGracePeriodSeconds; grace != nil && *grace > 0 {
		stop = min(stop, time.Duration(*grace)*time.Second)
	}
	return stop
}

// unmount is the second step of the end: it waits until no volume is mounted for the pod (MNT-387).
func (w *podWorker) unmount(p *engine.Process) {
	w.wait = w.newPoll(p, nil)
	w.wait.then(w.unmounted)
}

// unmounted goes on when the wait of unmount has ended: it repeats a wait that failed, and otherwise begins the wait of left (MNT-387).
func (w *podWorker) unmounted(p *engine.Process) {
	k := w.k
	if k.unmountError(w.uid, w.wait.err) != nil {
		// MNT-009: a failed attempt is repeated after RetryPeriod.
		k.retryLater(p)
		w.unmount(p)
		return
	}
	// MNT-014: the first look also comes after passes, so after what the end of the containers wakes.
	p.ExpectPasses(rankPoll)
	p.WaitThen(passed, w.left)
}

// passed ends a wait for passes.
func passed(bool) bool { return true }

// left waits until nothing of the pod is left on the node's disk, or may be mounted (MNT-387).
func (w *podWorker) left(p *engine.Process) {
	start := p.Now()
	// MNT-011, MNT-387: this wait has no limit.
	for w.mayHaveMounts() {
		w.signal.Wait(p, 0)
		past := p.Now().Sub(start)
		if rest := past % leftoverPeriod; rest > 0 {
			p.Sleep(leftoverPeriod - rest)
		}
	}
	w.finish(p)
}

// mayHaveMounts reports whether anything is, or may be, mounted for the pod.
func (w *podWorker) mayHaveMounts() bool {
	// MNT-387, MNT-902: the actual state, uncertain mounts included, and the disk.
	return w.k.actual.HasMounts(w.uid, true) || w.k.node.disk.MountedUnder(w.volumesDir)
}

// finish is the last step of the end: nothing of the pod is left on the node, so its object may be deleted (MNT-387).
func (w *podWorker) finish(p *engine.Process) {
	k := w.k
	w.state = w.state.after(volumesUnmounted)
	k.housekeeping.ticker.ArmBackground()
	// MNT-388: a pod that ended by itself stays in the API until a user or a controller deletes it.
	k.statuses.finish(w)
	if _, managed := k.pods[w.uid]; !managed {
		k.forgetWorker(w)
	}
}
