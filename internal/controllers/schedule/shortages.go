package schedule

import (
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/volsim/volsim/internal/core/podresources"
)

// Shortage is a resource of which a node has too little for a pod.
type Shortage struct {
	Name corev1.ResourceName
	// Requests is the amount that the pod requests, Free the part of Allocatable that no pod on the node has requested.
	Requests, Free, Allocatable resource.Quantity
}

// Reason is that of the filter: "Insufficient cpu".
func (s *Shortage) Reason() string {
	if s.Name == corev1.ResourcePods {
		return reasonPods
	}
	return reasonInsufficient + string(s.Name)
}

// Shortages returns the resources of which a node has too little for a pod, in the order of the reasons of the filter.
func (ev *Evaluator) Shortages(pod *corev1.Pod, node string) []Shortage {
	i, ok := slices.BinarySearchFunc(ev.nodes, node, func(n *nodeEvaluation, name string) int { return strings.Compare(n.at.node.Name, name) })
	if !ok {
		return nil
	}
	at := &ev.nodes[i].at
	var all []Shortage
	add := func(name corev1.ResourceName, want, free int64) {
		allocatable := at.node.Status.Allocatable[name]
		all = append(all, Shortage{name, quantityOf(name, want, allocatable), quantityOf(name, free, allocatable), allocatable})
	}
	requests := podresources.Requests(pod)
	names, tooMany, _ := podresources.Lacking(requests, at.on.used, at.allocatable, at.on.n)
	if tooMany {
		add(corev1.ResourcePods, 1, at.allocatable[corev1.ResourcePods]-int64(at.on.n))
	}
	for _, name := range names {
		add(name, requests[name], at.allocatable[name]-at.on.used[name])
	}
	return all
}

// quantityOf returns an amount in the format of another quantity of that resource.
func quantityOf(name corev1.ResourceName, amount int64, like resource.Quantity) resource.Quantity {
	if name == corev1.ResourceCPU {
		return *resource.NewMilliQuantity(amount, like.Format)
	}
	return *resource.NewQuantity(amount, like.Format)
}
