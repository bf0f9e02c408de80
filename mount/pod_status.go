package mount

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/volsim/volsim/internal/core/engine"
	"github.com/volsim/volsim/internal/core/kubeletdefs"
	"github.com/volsim/volsim/internal/core/kubeletstatus"
)

// podStatusWriter keeps the status of a pod that was written last.
type podStatusWriter struct {
	// written is the pod when its status was last written, or last found up to date.
	written *corev1.Pod
	// failed says that the last write failed, retrying that a timer is set to write the status again.
	failed, retrying bool
}

// computeStatus computes a status from the stored pod. If it returns the same status, nothing is written.
type computeStatus func(l *kubeletstatus.Lists, pod *corev1.Pod) corev1.PodStatus

// errOtherPod is the error of a write when the API has another pod of that name.
var errOtherPod = fmt.Errorf("the pod is gone")

// writeStatus reads the pod and writes its status. It repeats a write that conflicts.
func (w *podWorker) writeStatus(p *engine.Process, compute computeStatus) error {
	var err error
	for range statusTries {
		err = w.tryWriteStatus(p, compute)
		if err == nil || !apierrors.IsConflict(err) {
			break
		}
	}
	return err
}

func (w *podWorker) tryWriteStatus(p *engine.Process, compute computeStatus) error {
	pod, err := reach(w.k, func() (*corev1.Pod, error) { return p.API().Pods.Get(p, w.key) })
	if err != nil {
		return err
	}
	if pod.UID != w.uid {
		return errOtherPod
	}
	lists := &w.k.node.nodes.lists
	status := compute(lists, pod)
	if kubeletstatus.Same(&status, &pod.Status) {
		w.status.written = pod
		return nil
	}
	kubeletstatus.Complete(lists, &status, pod, w.status.written, p.Now())
	changed := *pod
	changed.Status = status
	written, err := reach(w.k, func() (*corev1.Pod, error) { return p.API().Pods.ReplaceStatus(p, &changed) })
	if err == nil {
		w.status.written = written
	}
	return err
}

// hasStatus reports whether the pod has the status already.
func (w *podWorker) hasStatus(pod *corev1.Pod, compute computeStatus) bool {
	status := compute(&w.k.node.nodes.lists, pod)
	return kubeletstatus.Same(&status, &pod.Status)
}

// publish writes the status of a pod that is not ending. A failed write is repeated later, independently of the next sync. phase is the
// phase that compute returns, "" if that depends on the pod.
func (w *podWorker) publish(p *engine.Process, phase corev1.PodPhase, compute computeStatus) {
	if written := w.status.written; written != nil && !w.status.failed && (phase == "" || phase == written.Status.Phase) &&
		w.hasStatus(written, compute) && (w.pod == written || w.hasStatus(w.pod, compute)) {
		// MNT-380: neither the last write nor the watch shows another status, so no request is made.
		return
	}
	err := w.writeStatus(p, compute)
	w.status.failed = err != nil && err != errOtherPod && !apierrors.IsNotFound(err)
	if !w.status.failed || w.status.retrying {
		return
	}
	w.status.retrying = true
	again, name := w.k.actor.After, "status of pod "+w.key
	if w.k.node.partitioned {
		again = w.k.actor.Background
	}
	again(kubeletdefs.RetryPeriod, name, func(p *engine.Process) {
		w.status.retrying = false
		if w.status.failed && !w.state.ending() {
			w.publish(p, "", w.currentStatus)
		}
	})
}

// currentStatus is the status of a pod whose containers run, or do not run yet. A pod that ends keeps the status it has.
func (w *podWorker) currentStatus(l *kubeletstatus.Lists, pod *corev1.Pod) corev1.PodStatus {
	switch {
	case w.state.ending():
		return pod.Status
	case w.k.node.runtime.runs(w.uid):
		return w.withReadiness(l, pod, kubeletstatus.Running(l, pod))
	}
	return kubeletstatus.Waiting(l, pod)
}

// withReadiness returns the status of a pod whose containers run and are ready: the kubelet knows that, whatever the API says (NODE-091).
func (w *podWorker) withReadiness(l *kubeletstatus.Lists, pod *corev1.Pod, status corev1.PodStatus) corev1.PodStatus {
	if w.unready {
		return status
	}
	return kubeletstatus.AsReady(l, pod, status)
}

// persist repeats writeStatus until it succeeds, or until the pod is gone.
func (w *podWorker) persist(p *engine.Process, compute computeStatus) {
	for !w.deleted {
		err := w.writeStatus(p, compute)
		if err == nil || err == errOtherPod || apierrors.IsNotFound(err) {
			return
		}
		w.k.retryLater(p)
	}
}
