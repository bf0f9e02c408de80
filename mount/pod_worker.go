package mount

import (
	"errors"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/volsim/volsim/internal/core/engine"
	"github.com/volsim/volsim/internal/core/kubeletstatus"
	"github.com/volsim/volsim/internal/core/podresources"
	"github.com/volsim/volsim/mount/internal/volumes"
)

// podWorker leads one pod from its arrival at the node to its end: it waits for the volumes, starts the containers, and at the end stops
// them, waits until the volumes are unmounted and deletes the pod from the API. Pods are identified by uid.
type podWorker struct {
	k   *kubelet
	uid types.UID
	key string
	pod *corev1.Pod // as last seen
	// objects are the keys of the pod in Nodes.byObject.
	objects []string
	// volumesDir and pluginsDir are directories of the pod on the node.
	volumesDir, pluginsDir string
	// signal wakes the worker when something about the pod's volumes changes, or when its end begins.
	signal engine.Signal

	state podState
	// deleted says that the API no longer has the pod.
	deleted bool
	// started says that containers of the pod were started at some time, by this kubelet or an earlier one.
	started bool
	// failures are the containers that could not be created when the kubelet last tried, if the pod has not started.
	failures []kubeletstatus.Failure
	// lacksFiles says that they only lack Secrets and ConfigMaps.
	lacksFiles bool
	// unready says that the pod was not ready when the kubelet resumed.
	unready bool
	// initialized says that the pod had been initialized when its end began.
	initialized bool
	// exit is the phase in which the containers ended by themselves, or Failed for a rejected pod; "" otherwise.
	exit corev1.PodPhase
	// refusal is why the node rejects the pod.
	refusal refusal
	// requests are the resources that the pod requests. They are computed when they are first read.
	requests podresources.Amounts
	// reason and message are those of a rejection or a node shutdown, disruption is the message of the condition DisruptionTarget that goes with it.
	reason, message, disruption string
	status                      podStatus
	// wait is the current wait for the volumes, or the last one.
	wait *poll

	// demand is why the next sync is needed, served why the last one was.
	demand, served demand
	lastSync       time.Time
	lastError      error
	// overdue requests the sync at the pod's deadline.
	overdue *engine.Timer
	// ticker wakes the worker for the next sync; due says that it has.
	ticker *engine.Ticker
	due    bool
	// instructed says that the pod has changed since the last sync began.
	instructed bool
}

const (
	nextSyncOf = "next sync of "
	podOf      = "pod "
)

// newWorker starts a worker for a pod.
func (k *kubelet) newWorker(pod *corev1.Pod) *podWorker {
	w := &podWorker{k: k, uid: pod.UID, pod: pod, started: pod.Status.Phase == corev1.PodRunning || k.node.runtime.runs(pod.UID)}
	// The names of the worker and of its ticker, and the key, are parts of one string.
	ticker := nextSyncOf + podOf + pod.Namespace + "/" + pod.Name
	name := ticker[len(nextSyncOf):]
	w.key = name[len(podOf):]
	w.volumesDir, w.pluginsDir = k.layout.PodVolumes(pod.UID), k.layout.PodPlugins(pod.UID)
	k.workers[pod.UID] = w
	if k.mustAdmit(pod) {
		w.refusal = k.refusalOf(pod, k.knownNode())
	}
	w.makeTicker(ticker)
	k.node.nodes.watchObjects(w)
	k.actor.Go(name, w.run)
	// Containers that ended while no kubelet ran are noticed at once.
	if c, ok := k.node.runtime.running[pod.UID]; ok && c.exit != "" {
		w.end(c.exit)
	}
	return w
}

// run leads the pod through its states. Many workers wait at the same time, so the waits of a pod that runs well are made with WaitThen:
// each of the following functions is the next step of the worker, and the last thing it does is to begin the wait for the one after it.
func (w *podWorker) run(p *engine.Process) {
	if w.refusal.refuses() {
		p.Sleep(rejectionTime)
		if !w.state.ending() && !w.admit(p) {
			w.rejectNow(p)
			return
		}
	}
	if !w.state.ending() && !w.k.node.runtime.runs(w.uid) {
		// MNT-380: the status comes first.
		w.report(kubeletstatus.Waiting)
	}
	w.sync(p)
}

// sync waits for the volumes of the pod, unless the pod ends (MNT-380).
func (w *podWorker) sync(p *engine.Process) {
	if w.state.ending() {
		w.stop(p)
		return
	}
	if w.endIfOverdue(p); w.state.ending() {
		w.stop(p)
		return
	}
	k := w.k
	w.served, w.demand, w.instructed = w.demand, notDemanded, false
	// MNT-380: first the directories, then the volumes, then all containers.
	for _, dir := range [...]string{w.volumesDir, w.pluginsDir} {
		if err := k.node.disk.Mkdir(dir); err != nil {
			w.pause(p, err)
			return
		}
	}
	used := volumes.UsedBy(w.pod)
	if len(used) == 0 {
		// MNT-350: no container uses a volume.
		w.pause(p, w.startContainers(p))
		return
	}
	w.wait = w.newPoll(p, used)
	w.wait.then(w.waited)
}

// waited starts the containers if the volumes of the pod are mounted (MNT-380).
func (w *podWorker) waited(p *engine.Process) {
	k := w.k
	err := k.mountError(p, w.uid, w.wait.used, w.wait.err)
	var limit limitError
	switch {
	case err == nil && !w.state.ending():
		err = w.startContainers(p)
	case err == nil:
	case errors.As(err, &limit):
		// MNT-383: the node cannot attach more volumes, so it rejects the pod.
		w.reject(p, "VolumeAttachmentLimitExceeded", limit.Error())
	case errors.Is(err, errDeadline), errors.Is(err, errCanceled):
		// MNT-382, MNT-900: a wait that ended emits no Event.
	default:
		// MNT-381: any other error emits an Event.
		k.Event(p, w.pod, corev1.EventTypeWarning, "FailedMount", "Unable to attach or mount volumes: %s", err.Error())
	}
	w.pause(p, err)
}

// startContainers starts the containers unless they run, and publishes the status.
func (w *podWorker) startContainers(p *engine.Process) error {
	k := w.k
	status := func(l *kubeletstatus.Lists, pod *corev1.Pod) corev1.PodStatus {
		return w.withReadiness(l, pod, kubeletstatus.StillRunning(l, pod))
	}
	if !k.node.runtime.runs(w.uid) {
		if w.held() {
			return nil
		}
		// MNT-385: whether the volumes are still mounted is checked again here.
		failures, mounts := k.failures(w.pod)
		w.failures, w.lacksFiles = failures, len(failures) > 0 && !mounts
		if len(failures) > 0 {
			return w.cannotStart(p)
		}
		k.node.runtime.start(k.newContainer(w.pod))
		// NODE-091: its containers are ready now, whatever was before.
		w.unready, status = false, w.currentStatus
		p.Decide("MNT-380", w.pod, "containers run")
	}
	w.started = true
	w.report(status)
	return nil
}

// cannotStart reports the containers that cannot be created (MNT-378). SIM: the others do not use their volumes before all of them run, and the status is
// that of the failed attempt at once; upstream the next sync writes it, a second later.
func (w *podWorker) cannotStart(p *engine.Process) error {
	for _, f := range w.failures {
		// MNT-378: each attempt emits an Event for each of them.
		w.k.Event(p, w.pod, corev1.EventTypeWarning, "Failed", "Error: %s", f.Message)
	}
	w.report(func(l *kubeletstatus.Lists, pod *corev1.Pod) corev1.PodStatus {
		return kubeletstatus.Failing(l, pod, w.failures)
	})
	return errors.New(w.failures[0].Message)
}
