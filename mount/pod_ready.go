package mount

import (
	"slices"
	"strconv"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/volsim/volsim/api"
	"github.com/volsim/volsim/internal/core/engine"
)

// statusSyncPeriod is how often a kubelet compares the status of each pod with the one that it wrote last (NODE-091).
const statusSyncPeriod = 10 * time.Second

// restoreReady writes the status of a running pod again that another writer, such as the node lifecycle controller, marked as not ready
// (NODE-091).
func (w *podWorker) restoreReady() {
	if w.restoring || !w.needsRestoring() {
		return
	}
	w.restoring = true
	since := w.k.actor.Engine().Now().Sub(w.k.began)
	w.k.actor.After(statusSyncPeriod-since%statusSyncPeriod, "readiness of pod "+api.KeyOf(w.pod), func(p *engine.Process) {
		w.restoring = false
		if w.needsRestoring() && !w.k.node.partitioned {
			w.publish(p, "", w.currentStatus)
		}
	})
}

// reconcileGates writes the status at once if a change of the pod's other conditions changes whether it is ready (MNT-389).
func (w *podWorker) reconcileGates() {
	if w.reconciling || !w.gatesChanged() {
		return
	}
	w.reconciling = true
	w.k.actor.After(0, "readiness gates of pod "+api.KeyOf(w.pod), func(p *engine.Process) {
		w.reconciling = false
		if w.gatesChanged() && !w.k.node.partitioned {
			w.publish(p, "", w.currentStatus)
		}
	})
}

// gatesChanged reports whether the pod has readiness gates, and another status than its conditions require.
func (w *podWorker) gatesChanged() bool {
	return len(w.pod.Spec.ReadinessGates) > 0 && w.started && !w.state.ending() && w.k.node.runtime.runs(w.uid) && !w.hasStatus(w.pod, w.currentStatus)
}

// needsRestoring reports whether the containers of the pod run, and another writer marked it as not ready since this kubelet wrote that it
// is ready.
func (w *podWorker) needsRestoring() bool {
	return markedNotReady(w.pod) && w.started && !w.state.ending() && !w.unready && w.k.node.runtime.runs(w.uid) &&
		w.status.written != nil && !markedNotReady(w.status.written) && version(w.pod) > version(w.status.written)
}

// version returns the version of a pod as a number. The watch may show a version that is older than the kubelet's own write.
func version(pod *corev1.Pod) uint64 {
	v, _ := strconv.ParseUint(pod.ResourceVersion, 10, 64)
	return v
}

// markedNotReady reports whether a pod has the condition Ready with status False.
func markedNotReady(pod *corev1.Pod) bool {
	return slices.ContainsFunc(pod.Status.Conditions, func(c corev1.PodCondition) bool {
		return c.Type == corev1.PodReady && c.Status == corev1.ConditionFalse
	})
}
