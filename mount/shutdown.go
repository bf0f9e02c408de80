package mount

import (
	"cmp"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/volsim/volsim/internal/core/engine"
)

// ShutdownGroup is a group of pods that go down together: those of this priority or more, up to that of the next group.
type ShutdownGroup struct {
	Priority int32
	// Grace is how long the pods of the group have, volumes included.
	Grace time.Duration
}

// ShutDown ends the pods of the node group by group, those of the lowest priority first, and then powers it off (MNT-488). It does
// nothing if the kubelet does not run. Pods below the lowest priority go with the first group.
func (n *Node) ShutDown(groups ...ShutdownGroup) {
	k := n.kubelet
	if k == nil {
		return
	}
	groups = slices.Clone(groups)
	slices.SortFunc(groups, func(a, b ShutdownGroup) int { return cmp.Compare(a.Priority, b.Priority) })
	k.actor.Go("shutdown", func(p *engine.Process) {
		for i, group := range groups {
			var workers []*podWorker
			for _, uid := range sorted(k.workers) {
				if w := k.workers[uid]; w.state != podFinished && groupOf(w.pod, groups) == i {
					w.reason, w.message = "Terminated", "Pod was terminated in response to imminent node shutdown."
					w.end(corev1.PodFailed)
					workers = append(workers, w)
				}
			}
			// MNT-488: whatever comes of it, the next group follows.
			if err := k.waitForAllPodsUnmount(p, workers, group.Grace); err != nil {
				p.Decide("MNT-488", k.nodeRef(), "pods of priority %d still have volumes: %v", group.Priority, err)
			}
		}
		n.lose()
		n.actor.Crash()
	})
}

// groupOf is the number of the group that a pod belongs to.
func groupOf(pod *corev1.Pod, groups []ShutdownGroup) int {
	priority, at := int32(0), 0
	if pod.Spec.Priority != nil {
		priority = *pod.Spec.Priority
	}
	for i, group := range groups {
		if group.Priority <= priority {
			at = i
		}
	}
	return at
}
