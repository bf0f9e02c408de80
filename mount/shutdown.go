package mount

import (
	"maps"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/volsim/volsim/internal/core/engine"
	"github.com/volsim/volsim/internal/core/objects"
)

const shutdownMessage = "Pod was terminated in response to imminent node shutdown."

// ShutDown shuts the node down gracefully: it ends the pods group by group, those of the lowest priority first, and then powers the node
// off (MNT-488). graceByPriority maps the lowest priority of each group to the time that its pods have to stop and to unmount their
// volumes. Pods of a lower priority belong to the first group. Without groups, the node is powered off in the next event. If the kubelet does not
// run, nothing happens.
func (n *Node) ShutDown(graceByPriority map[int32]time.Duration) {
	k := n.kubelet
	if k == nil {
		return
	}
	graces := maps.Clone(graceByPriority)
	priorities := objects.SortedKeys(graces)
	k.actor.Go("shutdown", func(p *engine.Process) {
		for i, priority := range priorities {
			var workers []*podWorker
			for _, uid := range sorted(k.workers) {
				if w := k.workers[uid]; w.state != podFinished && w.state != podRejected && shutdownGroup(w.pod, priorities) == i {
					w.disrupt("Terminated", shutdownMessage, shutdownMessage)
					workers = append(workers, w)
				}
			}
			// MNT-488: the next group follows, even if pods of this one still have volumes.
			if err := k.waitForAllPodsUnmount(p, workers, graces[priority]); err != nil {
				p.Decide("MNT-488", k.nodeRef(), "pods of priority %d still have volumes: %v", priority, err)
			}
		}
		n.lose()
		n.kubeletActor.Crash()
	})
}

// shutdownGroup returns the index of the group that a pod belongs to. priorities are the lowest ones of each group, sorted.
func shutdownGroup(pod *corev1.Pod, priorities []int32) int {
	var priority int32
	if pod.Spec.Priority != nil {
		priority = *pod.Spec.Priority
	}
	group := 0
	for i, lowest := range priorities {
		if lowest <= priority {
			group = i
		}
	}
	return group
}
