package mount

import (
	"maps"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/volsim/volsim/internal/core/engine"
	"github.com/volsim/volsim/internal/core/kubeletstatus"
)

// watch begins the watches of drivers, of the Node and of its pods.
func (k *kubelet) watch() {
	k.drivers.Handle(engine.Handler[*storagev1.CSIDriver]{
		Add: func(d *storagev1.CSIDriver) { k.driversChanged(); k.registrar.watchLimit(d.Name) },
		Update: func(old, d *storagev1.CSIDriver) {
			k.driversChanged()
			// MNT-360: other changes leave the period as it is.
			if limitPeriod(old) != limitPeriod(d) {
				k.registrar.watchLimit(d.Name)
			}
		},
		Delete: func(d *storagev1.CSIDriver) { k.driversChanged(); k.registrar.watchLimit(d.Name) },
	})
	k.infNode.Handle(engine.Handler[*corev1.Node]{
		Add:    func(node *corev1.Node) { k.nodeChanged(node) },
		Update: func(_, node *corev1.Node) { k.nodeChanged(node) },
		Delete: func(*corev1.Node) { k.nodeChanged(nil) },
	})
	k.infPods.Handle(engine.Handler[*corev1.Pod]{
		Add:    func(pod *corev1.Pod) { k.podChanged(pod) },
		Update: func(_, pod *corev1.Pod) { k.podChanged(pod) },
		Delete: k.podDeleted,
	})
	k.watching = true
}

// podChanged receives a new or changed pod from the watch.
func (k *kubelet) podChanged(pod *corev1.Pod) {
	if k.node.partitioned {
		return
	}
	k.pods[pod.UID] = pod
	w, known := k.workers[pod.UID]
	if !known {
		w = k.newWorker(pod)
		k.health.podsChanged()
		// NODE-091: a pod that was not ready before the kubelet resumed is not ready now.
		w.unready = k.resumed && markedNotReady(pod)
	}
	changed := known && instructs(w.pod, pod)
	w.pod = pod
	k.node.runtime.podChanged(pod)
	w.repair()
	w.reconcileGates()
	switch {
	case w.state == podRejected && (changed || pod.DeletionTimestamp != nil):
		// MNT-404: now the pod ends like every other.
		w.end(corev1.PodFailed)
	case pod.DeletionTimestamp != nil, !known && terminal(pod.Status.Phase):
		w.end("")
	case changed:
		w.syncNow()
	}
	k.status.extendHeartbeats()
	k.populator.ticker.Arm()
}

// instructs reports whether a new version of a pod says something new to the kubelet: all but its status does (MNT-377).
func instructs(old, pod *corev1.Pod) bool {
	return pod.Generation != old.Generation || !maps.Equal(pod.Labels, old.Labels) || !maps.Equal(pod.Annotations, old.Annotations)
}

// podDeleted receives the deletion of a pod from the watch.
func (k *kubelet) podDeleted(pod *corev1.Pod) {
	if k.node.partitioned {
		return
	}
	delete(k.pods, pod.UID)
	k.health.podsChanged()
	k.status.extendHeartbeats()
	k.populator.ticker.Arm()
	k.housekeeping.ticker.ArmBackground()
	w, ok := k.workers[pod.UID]
	if !ok {
		return
	}
	w.deleted = true
	w.signal.Broadcast()
	if w.state == podFinished {
		k.forgetWorker(w)
		return
	}
	w.end("")
}

// forgetWorker drops a worker that has nothing left to do.
func (k *kubelet) forgetWorker(w *podWorker) {
	delete(k.workers, w.uid)
	k.forgetTokens(w.uid)
	k.node.nodes.unwatchObjects(w)
}

// nodeChanged receives the Node from the watch.
func (k *kubelet) nodeChanged(node *corev1.Node) {
	if k.node.partitioned {
		return
	}
	k.object = node
	if node == nil {
		k.status.awaitNode()
		return
	}
	// MNT-174: a volume may be attached now.
	k.reconciler.ticker.Arm()
	k.status.reportIfChanged()
	switch {
	case kubeletstatus.Changed(node, node.Status.VolumesInUse, k.status.bootID()):
		k.status.ticker.Arm()
	case node.Spec.Unschedulable != k.status.last.unschedulable:
		// MNT-368: Settle does not wait for the Event.
		k.status.ticker.ArmBackground()
	}
}

// driversChanged requests what depends on CSIDriver objects.
func (k *kubelet) driversChanged() {
	// MNT-080, MNT-930: the populator asks the plugins again whether volumes are attachable.
	k.populator.ticker.Arm()
	for _, uid := range sorted(k.workers) {
		k.workers[uid].requeue(false)
	}
}

// diskChanged requests passes that depend on what is mounted.
func (k *kubelet) diskChanged() {
	k.housekeeping.ticker.ArmBackground()
	if k.reconciler.diskBlocked {
		k.reconciler.diskBlocked = false
		k.reconciler.ticker.ArmBackground()
	}
}

// relist processes the changes that the kubelet missed during a partition. A kubelet that does not watch yet has missed none: it would
// never see the end of a pod that is added here.
func (k *kubelet) relist() {
	if !k.watching {
		return
	}
	node, _ := k.infNode.Get(k.node.name)
	k.nodeChanged(node)
	listed := map[types.UID]bool{}
	for _, pod := range k.infPods.List() {
		listed[pod.UID] = true
	}
	for _, uid := range sorted(k.pods) {
		if !listed[uid] {
			k.podDeleted(k.pods[uid])
		}
	}
	for _, pod := range k.infPods.List() {
		if k.pods[pod.UID] != pod {
			k.podChanged(pod)
		}
	}
	k.sourcesReady = true
	k.status.ticker.Arm()
	k.reconciler.ticker.Arm()
	k.populator.ticker.Arm()
	k.housekeeping.ticker.ArmBackground()
}
