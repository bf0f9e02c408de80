// Package podresources computes what pods request of a node, and what a node lacks.
package podresources

import (
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/volsim/volsim/internal/core/objects"
)

// Amounts are quantities of resources: thousandths of a core for cpu, whole units for all others.
type Amounts map[corev1.ResourceName]int64

// Of returns the amounts of a list, nil if it is empty.
func Of(list corev1.ResourceList) Amounts {
	if len(list) == 0 {
		return nil
	}
	a := make(Amounts, len(list))
	for name, q := range list {
		a[name] = UnitsOf(name, q)
	}
	return a
}

// UnitsOf returns a quantity as a number of the units of [Amounts].
func UnitsOf(name corev1.ResourceName, q resource.Quantity) int64 {
	if name == corev1.ResourceCPU {
		return q.MilliValue()
	}
	return q.Value()
}

// Plus adds n times b to a and returns a, which may be nil.
func (a Amounts) Plus(b Amounts, n int64) Amounts {
	if a == nil && len(b) > 0 {
		a = make(Amounts, len(b))
	}
	for name, amount := range b {
		a[name] += n * amount
	}
	return a
}

// Requests returns what a pod needs of a node: the sum of its containers, or what one init container needs if that is more. Init
// containers that keep running (sidecars) count as containers from their start on.
func Requests(pod *corev1.Pod) Amounts { return RequestsWith(pod, nil) }

// RequestsWith returns what a pod needs if each container needs at least missing of the resources that it does not request.
func RequestsWith(pod *corev1.Pod, missing Amounts) Amounts {
	var sum, sidecars, peak Amounts
	for i := range pod.Spec.InitContainers {
		c := &pod.Spec.InitContainers[i]
		own := Of(c.Resources.Requests).orElse(missing)
		if objects.IsSidecar(c) {
			sum, sidecars = sum.Plus(own, 1), sidecars.Plus(own, 1)
			continue
		}
		peak = peak.most(Amounts(nil).Plus(sidecars, 1).Plus(own, 1))
	}
	for i := range pod.Spec.Containers {
		sum = sum.Plus(Of(pod.Spec.Containers[i].Resources.Requests).orElse(missing), 1)
	}
	return sum.most(peak).with(podLevel(pod)).Plus(Of(pod.Spec.Overhead), 1)
}

// podLevel returns the requests of a pod as a whole, which take the place of those of its containers.
func podLevel(pod *corev1.Pod) Amounts {
	if pod.Spec.Resources == nil {
		return nil
	}
	whole := Of(pod.Spec.Resources.Requests)
	maps.DeleteFunc(whole, func(name corev1.ResourceName, _ int64) bool {
		return name != corev1.ResourceCPU && name != corev1.ResourceMemory && !strings.HasPrefix(string(name), corev1.ResourceHugePagesPrefix)
	})
	return whole
}

// orElse adds the resources that a lacks and returns a, which may be nil.
func (a Amounts) orElse(missing Amounts) Amounts {
	for name, amount := range missing {
		if _, given := a[name]; !given {
			a = a.with(Amounts{name: amount})
		}
	}
	return a
}

// with replaces the Amounts of the resources of b and returns a, which may be nil.
func (a Amounts) with(b Amounts) Amounts {
	if a == nil && len(b) > 0 {
		a = make(Amounts, len(b))
	}
	maps.Copy(a, b)
	return a
}

// most returns the greater amount of each resource.
func (a Amounts) most(b Amounts) Amounts {
	if len(a) == 0 {
		return b
	}
	for name, amount := range b {
		a[name] = max(a[name], amount)
	}
	return a
}

// Lacking returns the resources of which a node has too little for a pod, with cpu, memory and ephemeral storage first, whether it has too many pods, and
// whether an empty node would have enough. A node has enough of a resource that its status does not list.
func Lacking(requests, used, allocatable Amounts, pods int) (names []corev1.ResourceName, tooMany, resolvable bool) {
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
