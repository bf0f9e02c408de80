package objects

import (
	"fmt"
	"iter"

	corev1 "k8s.io/api/core/v1"
)

// UsesHostPorts reports whether a pod needs ports of its node.
func UsesHostPorts(pod *corev1.Pod) bool {
	for range hostPorts(pod) {
		return true
	}
	return false
}

// HostPortConflict returns a port that a pod needs of its node and that another pod has: the number and the protocol are equal, and so is the address,
// unless one of them is 0.0.0.0, which stands for all.
func HostPortConflict(pod, other *corev1.Pod) (port HostPort, conflict bool) {
	for x := range hostPorts(pod) {
		for y := range hostPorts(other) {
			if x.Number == y.Number && x.Protocol == y.Protocol && (x.Address == y.Address || x.Address == everyAddress || y.Address == everyAddress) {
				return x, true
			}
		}
	}
	return HostPort{}, false
}

// HostPort is a port of a node.
type HostPort struct {
	Number   int32
	Protocol corev1.Protocol
	Address  string
}

func (p HostPort) String() string { return fmt.Sprintf("%d/%s", p.Number, p.Protocol) }

const everyAddress = "0.0.0.0"

// hostPorts returns the ports of its node that a pod needs: those of its containers and sidecars. Those of other init
// containers count for nothing.
func hostPorts(pod *corev1.Pod) iter.Seq[HostPort] {
	of := func(c *corev1.Container, yield func(HostPort) bool) bool {
		for i := range c.Ports {
			p := &c.Ports[i]
			if p.HostPort <= 0 {
				continue
			}
			port := HostPort{p.HostPort, p.Protocol, p.HostIP}
			if port.Protocol == "" {
				port.Protocol = corev1.ProtocolTCP
			}
			if port.Address == "" {
				port.Address = everyAddress
			}
			if !yield(port) {
				return false
			}
		}
		return true
	}
	return func(yield func(HostPort) bool) {
		for i := range pod.Spec.InitContainers {
			if c := &pod.Spec.InitContainers[i]; IsSidecar(c) && !of(c, yield) {
				return
			}
		}
		for i := range pod.Spec.Containers {
			if !of(&pod.Spec.Containers[i], yield) {
				return
			}
		}
	}
}
