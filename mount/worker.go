package mount

import (
	"errors"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/volsim/volsim/api"
	"github.com/volsim/volsim/internal/core/engine"
	"github.com/volsim/volsim/internal/core/kubeletstatus"
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
	unwritten   bool        // the last status could not be written
	written     *corev1.Pod // the pod as it was when its status was last written, or found to be as it should
	publishing  bool        // and will be tried again

	// While it pauses between syncs:
	paused     bool
	failedSync bool
	failure    error // of the last sync
	dirty      bool  // something changed that the next sync might see
	urgent     bool  // and it will do something about it
	hurried    bool  // the last sync was urgent
	stale      bool  // it could not read again what is desired
	synced     time.Time
	due        time.Time
	eager      bool
	timer      *engine.Timer
}

// newWorker starts a worker for a pod.
func (k *kubelet) newWorker(pod *corev1.Pod) *worker {
	w := &worker{k: k, uid: pod.UID, pod: pod, ran: pod.Status.Phase == corev1.PodRunning || k.node.runtime.runs(pod.UID)}
	k.workers[pod.UID] = w
	k.node.nodes.listen(w)
	k.actor.Go("pod "+api.KeyOf(pod), w.run)
	// What ended while no kubelet ran is seen at once.
	if c, ok := k.node.runtime.running[pod.UID]; ok && c.exit != "" {
		w.end(c.exit)
	}
	return w
}

// run is the life of a pod on a node.
func (w *worker) run(p *engine.Proc) {
	if !w.ending && !w.k.node.runtime.runs(w.uid) {
		// MNT-380: the status comes first.
		w.publish(p, kubeletstatus.Waiting)
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

// sync brings the pod to where it should be (MNT-380).
func (w *worker) sync(p *engine.Proc) error {
	k := w.k
	w.stale, w.hurried = false, w.urgent
	w.dirty, w.urgent = false, false
	// MNT-380: the directories, then the volumes, then the containers, of whatever kind.
	for _, dir := range []string{k.layout.PodVolumes(w.uid), k.layout.Pod(w.uid) + "/plugins"} {
		if err := k.node.disk.Mkdir(dir); err != nil {
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

// startContainers starts what does not run, and says so.
func (w *worker) startContainers(p *engine.Proc) error {
	k := w.k
	status := kubeletstatus.StillRunning
	if !k.node.runtime.runs(w.uid) {
		status = kubeletstatus.Running
		c, err := k.newContainer(w.pod)
		if err != nil {
			return err
		}
		k.node.runtime.start(c)
		p.Decide("MNT-380", w.pod, "containers run")
	}
	w.ran = true
	w.publish(p, status)
	return nil
}
