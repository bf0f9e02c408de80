package replicaset

import (
	"cmp"
	"math"
	"slices"
	"strconv"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/volsim/volsim/internal/controllers/workload"
	"github.com/volsim/volsim/internal/core/objects"
	"github.com/volsim/volsim/internal/core/plain"
)

// victims returns the n pods that are deleted first (RS-030).
func (u *update) victims(active []*corev1.Pod, n int, now time.Time) []*corev1.Pod {
	if n == len(active) {
		return active
	}
	onNode := u.related()
	sorted := slices.Clone(active)
	// RS-033: the order is not transitive, so the algorithm is that of upstream: insertion for up to 12 pods.
	slices.SortFunc(sorted, func(a, b *corev1.Pod) int { return before(a, b, onNode, now) })
	return sorted[:n]
}

// related counts the active pods per node that the selectors of the ReplicaSets of the same controller match (RS-030). Without a controller
// it counts none, and for ReplicationControllers neither (RS-073).
func (u *update) related() map[string]int {
	onNode := map[string]int{}
	ref := metav1.GetControllerOfNoCopy(u.set)
	// RS-073: the index of controllers has ReplicaSets only.
	if ref == nil || !u.ranked {
		return onNode
	}
	var selectors []labels.Selector
	for _, obj := range u.sets.List() {
		if owner := metav1.GetControllerOfNoCopy(obj); owner == nil || owner.UID != ref.UID || obj.Namespace != u.set.Namespace {
			continue
		}
		if s, err := metav1.LabelSelectorAsSelector(plain.Shared[*appsv1.ReplicaSet](obj).Spec.Selector); err == nil {
			selectors = append(selectors, s)
		}
	}
	for _, pod := range u.pods.List() {
		matches := func(s labels.Selector) bool { return s.Matches(labels.Set(pod.Labels)) }
		if pod.Namespace == u.set.Namespace && workload.Active(pod) && slices.ContainsFunc(selectors, matches) {
			onNode[pod.Spec.NodeName]++
		}
	}
	return onNode
}

// before compares two pods: a negative result means that a is deleted first.
func before(a, b *corev1.Pod, onNode map[string]int, now time.Time) int {
	first := func(yes, other bool) int {
		switch {
		case yes == other:
			return 0
		case yes:
			return -1
		}
		return 1
	}
	readyA, readyB := workload.Ready(a), workload.Ready(b)
	// RS-030: without a node, then by phase, not ready, with the lower cost, and on nodes with more pods of the application.
	if c := cmp.Or(first(a.Spec.NodeName == "", b.Spec.NodeName == ""), cmp.Compare(phase(a), phase(b)), first(readyA == nil, readyB == nil),
		cmp.Compare(cost(a), cost(b)), cmp.Compare(onNode[b.Spec.NodeName], onNode[a.Spec.NodeName])); c != 0 {
		return c
	}
	if readyA != nil && readyB != nil && !readyA.LastTransitionTime.Equal(&readyB.LastTransitionTime) {
		return younger(a, b, readyA.LastTransitionTime, readyB.LastTransitionTime, now)
	}
	// RS-032: then the pod whose containers restarted more often, sidecars last, and the younger one.
	regularA, sidecarsA := restarts(a)
	regularB, sidecarsB := restarts(b)
	if c := cmp.Or(cmp.Compare(regularB, regularA), cmp.Compare(sidecarsB, sidecarsA)); c != 0 {
		return c
	}
	if a.CreationTimestamp.Equal(&b.CreationTimestamp) {
		return 0
	}
	return younger(a, b, a.CreationTimestamp, b.CreationTimestamp, now)
}

// younger compares the ages of two pods on a logarithmic scale (RS-031).
func younger(a, b *corev1.Pod, timeA, timeB metav1.Time, now time.Time) int {
	if timeA.IsZero() || timeB.IsZero() {
		if timeA.IsZero() {
			return -1
		}
		return 1
	}
	rank := func(t metav1.Time) int64 {
		if age := now.Sub(t.Time); age > 0 {
			return int64(math.Log2(float64(age)))
		}
		return -1
	}
	// RS-031: ages of the same power of two are equal, and the uid decides.
	return cmp.Or(cmp.Compare(rank(timeA), rank(timeB)), cmp.Compare(a.UID, b.UID))
}

func phase(pod *corev1.Pod) int {
	switch pod.Status.Phase {
	case corev1.PodUnknown:
		return 1
	case corev1.PodRunning:
		return 2
	}
	return 0
}

// cost returns the annotation controller.kubernetes.io/pod-deletion-cost of a pod, 0 if it is missing or not valid.
func cost(pod *corev1.Pod) int32 {
	value := pod.Annotations[corev1.PodDeletionCost]
	n, err := strconv.ParseInt(value, 10, 32)
	if err != nil || value[0] == '+' || value[0] == '0' && value != "0" {
		return 0
	}
	return int32(n)
}

// restarts returns how often a container and a sidecar restarted at most.
func restarts(pod *corev1.Pod) (regular, sidecars int32) {
	for i := range pod.Status.ContainerStatuses {
		regular = max(regular, pod.Status.ContainerStatuses[i].RestartCount)
	}
	for i := range pod.Status.InitContainerStatuses {
		status := &pod.Status.InitContainerStatuses[i]
		if slices.ContainsFunc(pod.Spec.InitContainers, func(c corev1.Container) bool {
			return c.Name == status.Name && objects.IsSidecar(&c)
		}) {
			sidecars = max(sidecars, status.RestartCount)
		}
	}
	return regular, sidecars
}
