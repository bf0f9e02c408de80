package mount

import (
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"

	"github.com/volsim/volsim/api"
	"github.com/volsim/volsim/internal/core/engine"
	"github.com/volsim/volsim/internal/core/kubeletstatus"
)

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

// reject ends a pod that the node cannot take (MNT-383).
func (w *worker) reject(p *engine.Proc, reason, text string) {
	w.k.event(p, w.pod, corev1.EventTypeWarning, reason, "%s", text)
	// MNT-383: Failed from the beginning, and then as every pod that ends.
	w.reason, w.message = reason, "Pod was rejected: "+text
	w.end(corev1.PodFailed)
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
		w.persist(p, func(pod *corev1.Pod) corev1.PodStatus {
			return kubeletstatus.Terminated(pod, w.exit, w.reason, w.message)
		})
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
		k.retryLater(p)
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
	return len(k.actual.PodMounts(uid, true)) > 0 || len(k.node.disk.MountsUnder(k.layout.PodVolumes(uid))) > 0
}

// finish is the last part: nothing of the pod is left, so it may go from the API (MNT-387).
func (w *worker) finish(p *engine.Proc) {
	if !w.ran && w.reason == "" && !w.gone && !terminal(w.pod.Status.Phase) {
		w.persist(p, func(pod *corev1.Pod) corev1.PodStatus { return kubeletstatus.Terminated(pod, corev1.PodFailed, "", "") })
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
			return p.API().Pods.Delete(p, api.KeyOf(w.pod), api.DeleteOptions{GracePeriodSeconds: &now, UID: w.uid})
		})
		if err == nil || apierrors.IsNotFound(err) || apierrors.IsConflict(err) {
			break
		}
		w.k.retryLater(p)
	}
	if _, managed := w.k.pods[w.uid]; !managed {
		w.k.forget(w)
	}
}
