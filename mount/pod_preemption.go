package mount

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/volsim/volsim/internal/core/engine"
	"github.com/volsim/volsim/internal/core/objects"
	"github.com/volsim/volsim/internal/core/podresources"
)

const (
	preemptedReason  = "Preempting"
	preemptedMessage = "Preempted in order to admit critical pod"
	makesRoom        = "Pod was preempted by Kubelet to accommodate a critical pod."
)

// makeRoom stops other pods, so that a critical pod finds the resources that it lacks (MNT-407). It returns why the pod is rejected all the same.
func (w *podWorker) makeRoom(p *engine.Process) refusal {
	k := w.k
	var victims []*podWorker
	k.others(w.pod, func(other *podWorker) {
		if preemptable(w.pod, other.pod) {
			victims = append(victims, other)
		}
	})
	victims, lacking := chooseVictims(victims, needsOf(w.refusal.lacking))
	if len(lacking) > 0 {
		return refusal{reason: "UnexpectedAdmissionError", message: "Unexpected error while attempting to recover from admission failure: preemption: " +
			"error finding a set of pods to preempt: no set of running pods found to reclaim resources: " + lacking.String()}
	}
	for _, v := range victims {
		k.Event(p, v.pod, corev1.EventTypeWarning, preemptedReason, preemptedMessage)
		v.disrupt(preemptedReason, preemptedMessage, makesRoom)
		// MNT-407: one after the other, and the pod waits until their containers have stopped.
		if !v.stopped(p) {
			k.Event(p, v.pod, corev1.EventTypeWarning, "ExceededGracePeriod", "Container runtime did not kill the pod within specified grace period.")
		}
	}
	return refusal{}
}

// stopped waits until the containers of a pod have stopped, for one and a half times its grace period and at least 10 s (MNT-407).
func (w *podWorker) stopped(p *engine.Process) bool {
	limit := 10 * time.Second
	if grace := w.pod.Spec.TerminationGracePeriodSeconds; grace != nil {
		limit = max(limit, time.Duration(*grace)*3*time.Second/2)
	}
	for end := p.Now().Add(limit); !w.state.containersGone(); {
		left := end.Sub(p.Now())
		if left <= 0 || !w.signal.Wait(p, left) && !w.state.containersGone() {
			return false
		}
	}
	return true
}

// preemptable reports whether a pod may be stopped for a critical one (MNT-407).
func preemptable(critical, other *corev1.Pod) bool {
	if !objects.IsCriticalPod(other) {
		return true
	}
	return *critical.Spec.Priority > *other.Spec.Priority
}

// need is a resource that has to become free.
type need struct {
	name   corev1.ResourceName
	amount int64
}

type needs []need

func needsOf(lacking []shortage) (all needs) {
	for _, s := range lacking {
		all = append(all, need{s.name, s.requested - (s.capacity - s.used)})
	}
	return all
}

func (n needs) String() string {
	var b strings.Builder
	for _, need := range n {
		fmt.Fprintf(&b, "(res: %v, q: %d), ", need.name, need.amount)
	}
	return "[" + b.String() + "]"
}

// without returns what is needed after these pods have gone.
func (n needs) without(pods ...*podWorker) (left needs) {
	for _, need := range n {
		for _, w := range pods {
			need.amount -= w.requested(need.name)
		}
		if need.amount > 0 {
			left = append(left, need)
		}
	}
	return left
}

// distance says how much is left when a pod goes: the sum of the squares of the parts of each need.
func (n needs) distance(w *podWorker) (sum float64) {
	for _, need := range n {
		if left := float64(need.amount - w.requested(need.name)); left > 0 {
			sum += left / float64(need.amount) * left / float64(need.amount)
		}
	}
	return sum
}

// requested returns what a pod requests of a resource, and 1 of the pods that a node allows.
func (w *podWorker) requested(name corev1.ResourceName) int64 {
	if name == corev1.ResourcePods {
		return 1
	}
	if w.requests == nil {
		w.requests = podresources.Requests(w.pod)
	}
	return w.requests[name]
}

// chooseVictims returns the pods to stop, those of the lowest quality of service first, or what is lacking even without all of them (MNT-407).
func chooseVictims(pods []*podWorker, n needs) (victims []*podWorker, lacking needs) {
	if lacking = n.without(pods...); len(lacking) > 0 {
		return nil, lacking
	}
	slices.SortFunc(pods, func(a, b *podWorker) int { return strings.Compare(a.key, b.key) })
	var classes [3][]*podWorker
	for _, w := range pods {
		i := slices.Index([]corev1.PodQOSClass{corev1.PodQOSBestEffort, corev1.PodQOSBurstable}, w.pod.Status.QOSClass)
		if i < 0 {
			i = 2
		}
		classes[i] = append(classes[i], w)
	}
	best, burstable, guaranteed := classes[0], classes[1], classes[2]
	// MNT-407: as few guaranteed pods as possible, then as few burstable ones.
	guaranteed = nearest(guaranteed, n.without(best...).without(burstable...))
	burstable = nearest(burstable, n.without(best...).without(guaranteed...))
	best = nearest(best, n.without(burstable...).without(guaranteed...))
	return slices.Concat(best, burstable, guaranteed), nil
}

// nearest chooses pods that meet the needs, one after the other: the one with the smallest distance, and of several the one that requests least. Together
// the pods meet them.
func nearest(pods []*podWorker, n needs) (chosen []*podWorker) {
	for len(n) > 0 {
		next := slices.MinFunc(pods, func(a, b *podWorker) int {
			return cmp.Or(cmp.Compare(n.distance(a), n.distance(b)),
				cmp.Compare(a.requested(corev1.ResourceMemory), b.requested(corev1.ResourceMemory)),
				cmp.Compare(a.requested(corev1.ResourceCPU), b.requested(corev1.ResourceCPU)))
		})
		n, chosen = n.without(next), append(chosen, next)
		pods = slices.DeleteFunc(slices.Clone(pods), func(w *podWorker) bool { return w == next })
	}
	return chosen
}
