package schedule

import (
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/volsim/volsim/internal/core/objects"
)

// amounts are quantities of resources: thousandths of a core for cpu, whole units for all others.
type amounts map[corev1.ResourceName]int64

func amountsOf(list corev1.ResourceList) amounts {
	if len(list) == 0 {
		return nil
	}
	a := make(amounts, len(list))
	for name, q := range list {
		a[name] = unitsOf(name, q)
	}
	return a
}

// unitsOf returns a quantity as a number of the units of amounts.
func unitsOf(name corev1.ResourceName, q resource.Quantity) int64 {
	if name == corev1.ResourceCPU {
		return q.MilliValue()
	}
	return q.Value()
}

// plus adds n times b to a and returns a, which may be nil.
func (a amounts) plus(b amounts, n int64) amounts {
	if a == nil && len(b) > 0 {
		a = make(amounts, len(b))
	}
	for name, amount := range b {
		a[name] += n * amount
	}
	return a
}

// requestsOf returns what a pod needs of a node: the sum of its containers, or what one init container needs if that is more. Init
// containers that keep running (sidecars) count as containers from their start on.
func requestsOf(pod *corev1.Pod) amounts { return sumRequests(pod, nil) }

// sumRequests returns what a pod needs if each container needs at least missing of the resources that it does not request.
func sumRequests(pod *corev1.Pod, missing amounts) amounts {
	var sum, sidecars, peak amounts
	for i := range pod.Spec.InitContainers {
		c := &pod.Spec.InitContainers[i]
		own := amountsOf(c.Resources.Requests).orElse(missing)
		if objects.IsSidecar(c) {
			sum, sidecars = sum.plus(own, 1), sidecars.plus(own, 1)
			continue
		}
		peak = peak.most(amounts(nil).plus(sidecars, 1).plus(own, 1))
	}
	for i := range pod.Spec.Containers {
		sum = sum.plus(amountsOf(pod.Spec.Containers[i].Resources.Requests).orElse(missing), 1)
	}
	return sum.most(peak).with(podLevel(pod)).plus(amountsOf(pod.Spec.Overhead), 1)
}

// podLevel returns the requests of a pod as a whole, which take the place of those of its containers.
func podLevel(pod *corev1.Pod) amounts {
	if pod.Spec.Resources == nil {
		return nil
	}
	whole := amountsOf(pod.Spec.Resources.Requests)
	maps.DeleteFunc(whole, func(name corev1.ResourceName, _ int64) bool {
		return name != corev1.ResourceCPU && name != corev1.ResourceMemory && !strings.HasPrefix(string(name), corev1.ResourceHugePagesPrefix)
	})
	return whole
}

// orElse adds the resources that a lacks and returns a, which may be nil.
func (a amounts) orElse(missing amounts) amounts {
	for name, amount := range missing {
		if _, given := a[name]; !given {
			a = a.with(amounts{name: amount})
		}
	}
	return a
}

// with replaces the amounts of the resources of b and returns a, which may be nil.
func (a amounts) with(b amounts) amounts {
	if a == nil && len(b) > 0 {
		a = make(amounts, len(b))
	}
	maps.Copy(a, b)
	return a
}

// most returns the greater amount of each resource.
func (a amounts) most(b amounts) amounts {
	if len(a) == 0 {
		return b
	}
	for name, amount := range b {
		a[name] = max(a[name], amount)
	}
	return a
}

// The reasons of the filter NodeResourcesFit.
const reasonPods, reasonInsufficient = "Too many pods", "Insufficient "

// lacking returns the resources of which a node has too little for a pod, as reasons, and whether an empty node would have enough. A node
// has enough of a resource that its status does not list.
func lacking(requests, used, allocatable amounts, pods int) (reasons []string, resolvable bool) {
	names, tooMany, resolvable := lackingNames(requests, used, allocatable, pods)
	if tooMany {
		reasons = append(reasons, reasonPods)
	}
	for _, name := range names {
		reasons = append(reasons, reasonInsufficient+string(name))
	}
	return reasons, resolvable
}

// lackingNames returns these resources, whether the node has too many pods, and whether an empty node would have enough.
func lackingNames(requests, used, allocatable amounts, pods int) (names []corev1.ResourceName, tooMany, resolvable bool) {
	resolvable = true
	limit, limited := allocatable[corev1.ResourcePods]
	tooMany = limited && int64(pods)+1 > limit
	for name, want := range requests {
		have, ok := allocatable[name]
		if !ok || want == 0 || want <= have-used[name] {
			continue
		}
		names = append(names, name)
		resolvable = resolvable && want <= have
	}
	slices.SortFunc(names, compareResources)
	return names, tooMany, resolvable
}

// compareResources orders cpu first, then memory, then ephemeral storage, then all others by name.
func compareResources(a, b corev1.ResourceName) int {
	rank := func(name corev1.ResourceName) int {
		if i := slices.Index(builtIn, name); i >= 0 {
			return i
		}
		return len(builtIn)
	}
	if d := rank(a) - rank(b); d != 0 {
		return d
	}
	if a < b {
		return -1
	}
	return 1
}

var builtIn = []corev1.ResourceName{corev1.ResourceCPU, corev1.ResourceMemory, corev1.ResourceEphemeralStorage}
