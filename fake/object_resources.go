package fake

import corev1 "k8s.io/api/core/v1"

// Requests adds resource requests to the container of a pod, given as pairs of a resource and an amount, such as "cpu", "500m".
func Requests(pairs ...string) Option {
	return func(o *object) {
		if o.pod == nil {
			o.inapplicable("Requests")
			return
		}
		main := &o.pod.Spec.Containers[0]
		if main.Resources.Requests == nil {
			main.Resources.Requests = corev1.ResourceList{}
		}
		o.pairs("Requests", pairs, func(key, value string) {
			main.Resources.Requests[corev1.ResourceName(key)] = o.quantity(value)
		})
	}
}

// Allocatable adds allocatable resources and capacity to a node, given as pairs of a resource and an amount, such as "cpu", "4" or "pods",
// "110".
func Allocatable(pairs ...string) Option {
	return func(o *object) {
		if o.node == nil {
			o.inapplicable("Allocatable")
			return
		}
		if o.node.Status.Allocatable == nil {
			o.node.Status.Allocatable, o.node.Status.Capacity = corev1.ResourceList{}, corev1.ResourceList{}
		}
		o.pairs("Allocatable", pairs, func(key, value string) {
			amount := o.quantity(value)
			o.node.Status.Allocatable[corev1.ResourceName(key)] = amount
			o.node.Status.Capacity[corev1.ResourceName(key)] = amount
		})
	}
}
