package services

import (
	"fmt"
	"hash/fnv"
	"net/netip"
	"slices"

	corev1 "k8s.io/api/core/v1"

	"github.com/volsim/volsim/api"
	"github.com/volsim/volsim/internal/core/plain"
)

// allocate gives a Service what the server allocates: its address, its families and its node ports. Each follows from the name of the
// Service and from what is free, so that it is the same in every run (API-310).
func (all Stored) allocate(svc *corev1.Service, created bool) {
	spec := &svc.Spec
	// API-310: another name in DNS needs no address. What cannot be allocated is refused.
	if spec.Type == corev1.ServiceTypeExternalName || len(validateAddresses(svc, nil)) > 0 {
		return
	}
	dual := spec.ClusterIP == noClusterIP && len(spec.Selector) == 0
	if spec.IPFamilyPolicy == nil {
		policy := corev1.IPFamilyPolicySingleStack
		if dual {
			policy = corev1.IPFamilyPolicyRequireDualStack
		}
		spec.IPFamilyPolicy = &policy
	}
	if len(spec.IPFamilies) == 0 {
		spec.IPFamilies = []corev1.IPFamily{singleStackIPv4}
	}
	if dual && len(spec.IPFamilies) == 1 && *spec.IPFamilyPolicy != corev1.IPFamilyPolicySingleStack {
		spec.IPFamilies = append(spec.IPFamilies, corev1.IPv6Protocol)
	}
	if spec.ClusterIP == "" {
		spec.ClusterIP = all.freeClusterIP(svc)
	}
	if len(spec.ClusterIPs) == 0 {
		spec.ClusterIPs = []string{spec.ClusterIP}
	}
	if exposed(spec) && (spec.AllocateLoadBalancerNodePorts == nil || *spec.AllocateLoadBalancerNodePorts) {
		all.allocateNodePorts(svc, created)
	}
	if checksHealth(spec) && spec.HealthCheckNodePort == 0 {
		spec.HealthCheckNodePort = all.freeNodePort(svc, "healthCheck")
	}
}

// others calls fn with every Service but the one with that key.
func (all Stored) others(key string, fn func(*corev1.Service)) {
	for _, obj := range all() {
		svc := &corev1.Service{}
		if api.KeyOf(obj) != key && plain.Write(obj, svc) == nil {
			fn(svc)
		}
	}
}

func (all Stored) freeClusterIP(svc *corev1.Service) string {
	used := map[string]bool{}
	all.others(api.KeyOf(svc), func(other *corev1.Service) { used[other.Spec.ClusterIP] = true })
	network := netip.MustParsePrefix(serviceNetwork).Addr().As4()
	base := uint32(network[0])<<24 | uint32(network[1])<<16
	const dynamic = serviceHosts - reservedHosts
	start := hashOf(api.KeyOf(svc))
	for i := range uint32(dynamic) {
		n := base + reservedHosts + 1 + (start+i)%dynamic
		if ip := netip.AddrFrom4([4]byte{byte(n >> 24), byte(n >> 16), byte(n >> 8), byte(n)}).String(); !used[ip] {
			return ip
		}
	}
	return ""
}

// allocateNodePorts gives each port a node port. If the Service is new, protocols of one port share it (API-310).
func (all Stored) allocateNodePorts(svc *corev1.Service, created bool) {
	for i := range svc.Spec.Ports {
		p := &svc.Spec.Ports[i]
		if p.NodePort != 0 {
			continue
		}
		if created {
			if same := slices.IndexFunc(svc.Spec.Ports, func(other corev1.ServicePort) bool { return other.Port == p.Port && other.NodePort != 0 }); same >= 0 {
				p.NodePort = svc.Spec.Ports[same].NodePort
				continue
			}
		}
		p.NodePort = all.freeNodePort(svc, fmt.Sprint(p.Port))
	}
}

// freeNodePort returns a free node port for what a Service calls by that name, 0 if there is none.
func (all Stored) freeNodePort(svc *corev1.Service, name string) int32 {
	used := map[int32]bool{}
	note := func(other *corev1.Service) {
		for _, port := range append(nodePortsOf(&other.Spec), other.Spec.HealthCheckNodePort) {
			used[port] = true
		}
	}
	all.others(api.KeyOf(svc), note)
	note(svc)
	const dynamic = nodePorts - reservedPorts
	start := hashOf(api.KeyOf(svc) + "/" + name)
	for n := range uint32(dynamic) {
		if port := int32(firstNodePort + reservedPorts + (start+n)%dynamic); !used[port] {
			return port
		}
	}
	return 0
}

func hashOf(text string) uint32 {
	h := fnv.New32a()
	_, _ = h.Write([]byte(text)) // it cannot fail
	return h.Sum32()
}
