package mount

import (
	"errors"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"

	"github.com/volsim/volsim/engine"
	"github.com/volsim/volsim/fake"
	"github.com/volsim/volsim/store"
)

// worker leads one pod from its arrival at the node to its end. Pods are told apart by uid.
type worker struct {
	k   *kubelet
	uid types.UID
	pod *corev1.Pod // as last seen
	// signal is given when something about the pod's volumes changes, or its end begins.
	signal engine.Signal

	ending      bool            // MNT-062: no more containers
	gone        bool            // from the API
	exit        corev1.PodPhase // how its containers ended by themselves, or why it was rejected
	reason      string          // of a rejection
	message     string
	ran         bool // containers were started at some time
	runtimeGone bool // MNT-387: no container runs or ever will
	finished    bool

	// While it pauses between syncs:
	paused     bool
	failedSync bool
	failure    error // of the last sync
	dirty      bool  // something changed that the next sync might see
	synced     time.Time
	due        time.Time
	eager      bool
	timer      *engine.Timer
}

// newWorker starts a worker for a pod.
func (k *kubelet) newWorker(pod *corev1.Pod) *worker {
	w := &worker{k: k, uid: pod.UID, pod: pod, ran: pod.Status.Phase == corev1.PodRunning}
	k.workers[pod.UID] = w
	k.node.nodes.follow(w)
	k.actor.Go("pod "+store.KeyOf(pod), w.run)
	// What ended while no kubelet ran is seen at once.
	if c, ok := k.node.runtime.running[pod.UID]; ok && c.exit != "" {
		w.end(c.exit)
	}
	return w
}

// run is the life of a pod on a node.
func (w *worker) run(p *engine.Proc) {
	if !w.ending {
		// MNT-380: the status comes first.
		w.writeStatus(p, waitingStatus)
	}
	for !w.ending {
		err := w.sync(p)
		if !w.ending {
			w.pause(p, err)
		}
	}
	w.stopContainers(p)
	w.waitForVolumes(p)
	w.finish(p)
}

// end begins the end of the pod: no volume is mounted for it any more. phase is how its containers ended, "" if they are told to.
func (w *worker) end(phase corev1.PodPhase) {
	w.signal.Broadcast()
	if w.exit == "" {
		w.exit = phase
	}
	if w.ending {
		return
	}
	// MNT-356: whatever it waits for is cancelled.
	w.ending = true
	if w.k.populator != nil {
		w.k.populator.Arm()
	}
}

// sync brings the pod to where it should be (MNT-380).
func (w *worker) sync(p *engine.Proc) error {
	k := w.k
	w.dirty = false
	// MNT-380: the directories, then the volumes, then the containers, of whatever kind.
	for _, dir := range []string{k.layout.volumes(w.uid), k.layout.pod(w.uid) + "/plugins"} {
		if err := k.node.disk.mkdir(dir); err != nil {
			return err
		}
	}
	err := k.waitForAttachAndMount(p, w)
	var limit limitError
	switch {
	case errors.As(err, &limit):
		// MNT-383
		w.reject(p, "VolumeAttachmentLimitExceeded", limit.Error())
		return err
	case errors.Is(err, errDeadline), errors.Is(err, errCanceled):
		// MNT-382, MNT-900: nothing is said about the pod.
		return err
	case err != nil:
		// MNT-381
		k.event(p, w.pod, corev1.EventTypeWarning, "FailedMount", "Unable to attach or mount volumes: %s", err.Error())
		return err
	}
	if w.ending {
		return nil
	}
	return w.startContainers(p)
}

// reject ends a pod that the node cannot take (MNT-383).
func (w *worker) reject(p *engine.Proc, reason, text string) {
	w.k.event(p, w.pod, corev1.EventTypeWarning, reason, "%s", text)
	// MNT-383: Failed from the beginning, and then as every pod that ends.
	w.reason, w.message = reason, "Pod was rejected: "+text
	w.end(corev1.PodFailed)
}

// startContainers starts what does not run, and says so.
func (w *worker) startContainers(p *engine.Proc) error {
	k := w.k
	if c, ok := k.node.runtime.running[w.uid]; !ok || c.exit != "" {
		c, err := k.newContainer(w.pod)
		if err != nil {
			return err
		}
		k.node.runtime.start(c)
		p.Decide("MNT-380", w.pod, "containers run")
	}
	w.ran = true
	w.writeStatus(p, runningStatus)
	return nil
}

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
	case w.dirty, w.remounts():
		// MNT-009, MNT-069
		w.wakeAt(w.synced.Add(w.k.cfg.SyncPeriod), false)
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
	left, name := t.Sub(w.k.actor.Engine().Now()), "next sync of pod "+store.KeyOf(w.pod)
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

// remounts reports whether the pod has volumes that each sync sets up again.
func (w *worker) remounts() bool {
	for _, v := range w.k.actual.all() {
		if ap, ok := v.pods.Get(w.uid); ok && v.spec != nil && ap.spec.plugin.Driver != "" &&
			requiresRemount(ap.spec, w.k.driver(ap.spec.plugin.Driver)) {
			return true
		}
	}
	return false
}

// stopContainers is the first part of the end (MNT-387).
func (w *worker) stopContainers(p *engine.Proc) {
	k := w.k
	c, runs := k.node.runtime.running[w.uid]
	if runs && c.exit == "" {
		if stop := w.stopTime(); stop > 0 {
			p.Sleep(stop)
		}
	}
	k.node.runtime.remove(w.uid)
	// MNT-387: from here on the populator may take its volumes.
	w.runtimeGone = true
	k.populator.Arm()
	if w.exit == "" {
		w.exit = corev1.PodSucceeded
		if !runs {
			w.exit = corev1.PodFailed // they were lost
		}
	}
	if w.ran || w.reason != "" {
		w.persist(p, func(pod *corev1.Pod) corev1.PodStatus { return terminatedStatus(pod, w.exit, w.reason, w.message) })
	}
}

// stopTime is how long the containers take to exit.
func (w *worker) stopTime() time.Duration {
	stop := w.k.cfg.StopTime
	if grace := w.pod.DeletionGracePeriodSeconds; grace != nil && *grace > 0 {
		stop = min(stop, time.Duration(*grace)*time.Second)
	}
	return stop
}

// waitForVolumes is the second part (MNT-387).
func (w *worker) waitForVolumes(p *engine.Proc) {
	k := w.k
	for k.waitForUnmount(p, w) != nil {
		// MNT-009
		p.Sleep(k.cfg.RetryPeriod)
	}
	start := p.Now()
	// MNT-011, MNT-387: without a limit.
	for k.leftovers(w.uid) {
		w.signal.Wait(p, 0)
		past := p.Now().Sub(start)
		if rest := past % leftoverPeriod; rest > 0 {
			p.Sleep(leftoverPeriod - rest)
		}
	}
}

// leftovers reports whether anything may be mounted for the pod.
func (k *kubelet) leftovers(uid types.UID) bool {
	// MNT-387, MNT-902: in memory, where uncertain counts, and on the disk.
	return len(k.actual.mountedOf(uid, true)) > 0 || len(k.node.disk.mountsUnder(k.layout.volumes(uid))) > 0
}

// finish is the last part: nothing of the pod is left, so it may go from the API (MNT-387).
func (w *worker) finish(p *engine.Proc) {
	if !w.ran && w.reason == "" && !w.gone && !terminal(w.pod.Status.Phase) {
		w.persist(p, func(pod *corev1.Pod) corev1.PodStatus { return terminatedStatus(pod, corev1.PodFailed, "", "") })
	}
	w.finished = true
	w.k.housekeeping.Rest()
	// MNT-388: a pod that ended by itself stays in the API until somebody deletes it.
	for !w.gone && w.pod.DeletionTimestamp == nil {
		w.signal.Wait(p, 0)
	}
	now := int64(0)
	for !w.gone {
		_, err := reach(w.k, func() (*corev1.Pod, error) {
			return p.API().Pods.Delete(p, store.KeyOf(w.pod), store.DeleteOptions{GracePeriodSeconds: &now, UID: w.uid})
		})
		if err == nil || apierrors.IsNotFound(err) || apierrors.IsConflict(err) {
			break
		}
		p.Sleep(w.k.cfg.RetryPeriod)
	}
	if _, managed := w.k.pods[w.uid]; !managed {
		w.k.forget(w)
	}
}

// newContainer is the containers of a pod with what its volumes give them.
func (k *kubelet) newContainer(pod *corev1.Pod) (*container, error) {
	outers, c := k.outers(pod.UID), &container{pod: pod}
	// MNT-385: looked at again, volume by volume, where they are needed.
	if err := k.checkContainers(pod); err != nil {
		return nil, err
	}
	var specs []*volumeSpec
	for i := range pod.Spec.Volumes {
		v, ok := outers[pod.Spec.Volumes[i].Name]
		if !ok {
			continue
		}
		dp, _ := v.pods.Get(pod.UID)
		specs = append(specs, dp.spec)
		cv := containerVolume{name: pod.Spec.Volumes[i].Name, id: dp.spec.ID(), readOnly: dp.spec.readOnly()}
		if dp.spec.Inline != nil && dp.spec.Inline.CSI != nil {
			cv.id = inlineHandle(pod.UID, dp.spec.Name())
		}
		cv.data, _ = dp.spec.plugin.Backend.(fake.DataHolder)
		c.volumes = append(c.volumes, cv)
	}
	// MNT-386
	c.groups = supplementalGroups(pod, specs)
	k.mountSubpaths(pod, outers)
	return c, nil
}
