package mount

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/volsim/volsim/internal/core/kubeletstatus"
)

// podChanged takes a new or changed pod from the watch.
func (k *kubelet) podChanged(pod *corev1.Pod) {
	if k.node.partitioned {
		return
	}
	k.pods[pod.UID] = pod
	w, known := k.workers[pod.UID]
	if !known {
		w = k.newWorker(pod)
	}
	w.pod = pod
	switch {
	case pod.DeletionTimestamp != nil, !known && terminal(pod.Status.Phase):
		w.end("")
	}
	k.heartbeat()
	k.populator.Arm()
}

// podDeleted takes the end of a pod from the watch.
func (k *kubelet) podDeleted(pod *corev1.Pod) {
	if k.node.partitioned {
		return
	}
	delete(k.pods, pod.UID)
	k.heartbeat()
	k.populator.Arm()
	k.housekeeping.Rest()
	w, ok := k.workers[pod.UID]
	if !ok {
		return
	}
	w.gone = true
	w.signal.Broadcast()
	if w.finished {
		k.forget(w)
		return
	}
	w.end("")
}

// forget drops a worker that has nothing left to do.
func (k *kubelet) forget(w *worker) {
	delete(k.workers, w.uid)
	k.node.nodes.forget(w)
}

// nodeChanged takes the Node from the watch.
func (k *kubelet) nodeChanged(node *corev1.Node) {
	if k.node.partitioned {
		return
	}
	k.object = node
	if node == nil {
		return
	}
	// MNT-174: a volume may be attached now.
	k.reconciler.Arm()
	k.watchInUse()
	if !kubeletstatus.Ready(node) || node.Status.NodeInfo.BootID != k.bootID() {
		k.status.Arm()
	}
}

// driversChanged looks again at what depends on CSIDriver objects.
func (k *kubelet) driversChanged() {
	// MNT-080, MNT-930
	k.populator.Arm()
	for _, uid := range sorted(k.workers) {
		k.workers[uid].stir(false)
	}
}

// diskChanged follows changes of what is mounted.
func (k *kubelet) diskChanged() {
	k.housekeeping.Rest()
	if k.blocked {
		k.blocked = false
		k.reconciler.Rest()
	}
}

// relist makes up for the changes that a partition kept from the kubelet. A kubelet that does not watch yet has missed none, and would
// never be told of the end of a pod that it takes now.
func (k *kubelet) relist() {
	if !k.watching {
		return
	}
	node, _ := k.infNode.Get(k.node.name)
	k.nodeChanged(node)
	listed := map[types.UID]bool{}
	for pod := range k.infPods.All() {
		listed[pod.UID] = true
	}
	for _, uid := range sorted(k.pods) {
		if !listed[uid] {
			k.podDeleted(k.pods[uid])
		}
	}
	for pod := range k.infPods.All() {
		if k.pods[pod.UID] != pod {
			k.podChanged(pod)
		}
	}
	k.sourcesReady = true
	k.status.Arm()
	k.reconciler.Arm()
	k.populator.Arm()
	k.housekeeping.Rest()
	k.faulted()
}
