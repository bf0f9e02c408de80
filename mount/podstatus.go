package mount

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/volsim/volsim/api"
	"github.com/volsim/volsim/internal/core/engine"
	"github.com/volsim/volsim/internal/core/kubeletstatus"
)

// computed is a status worked out from the pod as it is; unchanged says that there is nothing to write.
type computed func(pod *corev1.Pod) corev1.PodStatus

// errOtherPod says that a pod of the name is another one by now.
var errOtherPod = fmt.Errorf("the pod is gone")

// writeStatus writes a status of the pod.
func (w *worker) writeStatus(p *engine.Proc, compute computed) error {
	var err error
	for range statusTries {
		err = w.tryStatus(p, compute)
		if !apierrors.IsConflict(err) {
			break
		}
	}
	return err
}

func (w *worker) tryStatus(p *engine.Proc, compute computed) error {
	key := api.KeyOf(w.pod)
	pod, err := reach(w.k, func() (*corev1.Pod, error) { return p.API().Pods.Get(p, key) })
	if err != nil {
		return err
	}
	if pod.UID != w.uid {
		return errOtherPod
	}
	if same(pod, compute) {
		w.written = pod
		return nil
	}
	status := compute(pod)
	kubeletstatus.Stamp(&status, p.Now())
	changed := *pod
	changed.Status = status
	written, err := reach(w.k, func() (*corev1.Pod, error) { return p.API().Pods.UpdateStatus(p, &changed) })
	if err == nil {
		w.written = written
	}
	return err
}

// same reports whether the pod has the status already.
func same(pod *corev1.Pod, compute computed) bool {
	status := compute(pod)
	return kubeletstatus.Same(&status, &pod.Status)
}

// publish writes the status of a pod that goes on. One that could not be written is tried again later, whether or not the pod is synced
// by then.
func (w *worker) publish(p *engine.Proc, compute computed) {
	if w.written != nil && !w.unwritten && same(w.written, compute) && same(w.pod, compute) {
		// MNT-380: neither what was written nor what the watch shows says otherwise, so nobody asks.
		return
	}
	err := w.writeStatus(p, compute)
	w.unwritten = err != nil && err != errOtherPod && !apierrors.IsNotFound(err)
	if !w.unwritten || w.publishing {
		return
	}
	w.publishing = true
	again, name := w.k.actor.After, "status of pod "+api.KeyOf(w.pod)
	if w.k.node.partitioned {
		again = w.k.actor.Background
	}
	again(w.k.cfg.RetryPeriod, name, func(p *engine.Proc) {
		w.publishing = false
		if w.unwritten && !w.ending {
			w.publish(p, w.currentStatus)
		}
	})
}

// currentStatus is that of a pod whose containers run, or do not run yet. Of one that ends others tell.
func (w *worker) currentStatus(pod *corev1.Pod) corev1.PodStatus {
	switch {
	case w.ending:
		return pod.Status
	case w.k.node.runtime.runs(w.uid):
		return kubeletstatus.Running(pod)
	}
	return kubeletstatus.Waiting(pod)
}

// persist is writeStatus until it is written, or the pod is gone.
func (w *worker) persist(p *engine.Proc, compute computed) {
	for !w.gone {
		err := w.writeStatus(p, compute)
		if err == nil || err == errOtherPod || apierrors.IsNotFound(err) {
			return
		}
		w.k.retryLater(p)
	}
}
