package upstream

import (
	"slices"
	"strconv"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/volsim/volsim/internal/core/kubeletstatus"
)

// statusSyncPeriod is how often a kubelet compares the status of each pod with the one that it wrote last (NODE-091).
const statusSyncPeriod = 10 * time.Second

// restoreReady writes the status of a running pod again that another writer marked as not ready. The caller holds the lock.
func (w *podWorker) restoreReady() {
	if w.restoring || !w.needsRestoring() {
		return
	}
	w.restoring = true
	pause := statusSyncPeriod - time.Since(w.k.began)%statusSyncPeriod
	w.k.cluster.Running.Go(func() {
		if sleepUntil(w.k.ctx, pause) != nil {
			return
		}
		needed := false
		w.locked(func() { w.restoring, needed = false, w.needsRestoring() })
		if needed {
			w.publish(w.k.ctx, stillReady)
		}
	})
}

func (w *podWorker) needsRestoring() bool {
	return markedNotReady(w.pod) && w.started && !w.ending && w.k.runs(w.uid) && w.written != nil && !markedNotReady(w.written) &&
		version(w.pod) > version(w.written)
}

// stillReady is the status of a pod whose containers run: it is ready, whatever the API server says.
func stillReady(l *kubeletstatus.Lists, pod *corev1.Pod) corev1.PodStatus {
	return kubeletstatus.AsReady(l, pod, kubeletstatus.StillRunning(l, pod))
}

// nowReady is the status of a pod whose containers have just been started.
func nowReady(l *kubeletstatus.Lists, pod *corev1.Pod) corev1.PodStatus {
	return kubeletstatus.AsReady(l, pod, kubeletstatus.Running(l, pod))
}

func version(pod *corev1.Pod) uint64 {
	v, _ := strconv.ParseUint(pod.ResourceVersion, 10, 64) // ours is a number
	return v
}

func markedNotReady(pod *corev1.Pod) bool {
	return slices.ContainsFunc(pod.Status.Conditions, func(c corev1.PodCondition) bool {
		return c.Type == corev1.PodReady && c.Status == corev1.ConditionFalse
	})
}
