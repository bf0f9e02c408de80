package services

import (
	"reflect"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
)

// setDefaults sets the defaults of a Service (API-309).
func setDefaults(svc *corev1.Service) {
	spec := &svc.Spec
	// API-309: most of them say what a Service without them has always done.
	setDefault(&spec.SessionAffinity, corev1.ServiceAffinityNone)
	switch {
	case spec.SessionAffinity == corev1.ServiceAffinityNone:
		spec.SessionAffinityConfig = nil
	case spec.SessionAffinityConfig == nil || spec.SessionAffinityConfig.ClientIP == nil || spec.SessionAffinityConfig.ClientIP.TimeoutSeconds == nil:
		spec.SessionAffinityConfig = &corev1.SessionAffinityConfig{ClientIP: &corev1.ClientIPConfig{TimeoutSeconds: new(int32(stickySeconds))}}
	}
	setDefault(&spec.Type, corev1.ServiceTypeClusterIP)
	spec.Ports = slices.Clone(spec.Ports)
	for i := range spec.Ports {
		port := &spec.Ports[i]
		setDefault(&port.Protocol, corev1.ProtocolTCP)
		if port.TargetPort == intstr.FromInt32(0) || port.TargetPort == intstr.FromString("") {
			port.TargetPort = intstr.FromInt32(port.Port)
		}
	}
	if reachable(spec) {
		setDefault(&spec.ExternalTrafficPolicy, corev1.ServiceExternalTrafficPolicyCluster)
	}
	if spec.InternalTrafficPolicy == nil && spec.Type != corev1.ServiceTypeExternalName {
		spec.InternalTrafficPolicy = new(corev1.ServiceInternalTrafficPolicyCluster)
	}
	if spec.Type == corev1.ServiceTypeLoadBalancer && spec.AllocateLoadBalancerNodePorts == nil {
		spec.AllocateLoadBalancerNodePorts = new(true)
	}
}

func setDefault[T ~string](field *T, value T) {
	if *field == "" {
		*field = value
	}
}

// keepAllocated restores the addresses and ports that an update of a Service omits (API-310).
func keepAllocated(svc, old *corev1.Service) {
	spec, before := &svc.Spec, &old.Spec
	if before.Type != corev1.ServiceTypeExternalName && spec.Type != corev1.ServiceTypeExternalName {
		setDefault(&spec.ClusterIP, before.ClusterIP)
		if len(spec.ClusterIPs) == 0 {
			spec.ClusterIPs = before.ClusterIPs
		}
		if spec.IPFamilyPolicy == nil {
			spec.IPFamilyPolicy = before.IPFamilyPolicy
		}
		if len(spec.IPFamilies) == 0 {
			spec.IPFamilies = before.IPFamilies
		}
	}
	if spec.ClusterIP != before.ClusterIP && spec.ClusterIP != "" && slices.Equal(spec.ClusterIPs, before.ClusterIPs) {
		// API-350: clients that know one address only mean it by both fields.
		spec.ClusterIPs = []string{spec.ClusterIP}
	}
	if checksHealth(spec) && checksHealth(before) && spec.HealthCheckNodePort == 0 {
		spec.HealthCheckNodePort = before.HealthCheckNodePort
	}
	if !exposed(spec) || !exposed(before) {
		return
	}
	kept := keptNodePorts(spec, before)
	for i := range spec.Ports {
		for _, p := range before.Ports {
			if port := &spec.Ports[i]; port.NodePort == 0 && port.Name == p.Name && !slices.Contains(kept, p.NodePort) {
				port.NodePort = p.NodePort
			}
		}
	}
}

// keptNodePorts returns the node ports that both name.
func keptNodePorts(spec, before *corev1.ServiceSpec) []int32 {
	was := nodePortsOf(before)
	return slices.DeleteFunc(nodePortsOf(spec), func(port int32) bool { return !slices.Contains(was, port) })
}

// dropUnused clears the fields that the new type of a Service does not have, if the update left them as they were (API-351).
func dropUnused(svc, old *corev1.Service) {
	spec, before := &svc.Spec, &old.Spec
	if spec.Type == corev1.ServiceTypeExternalName && before.Type != corev1.ServiceTypeExternalName {
		// API-351: another name in DNS needs no address.
		if spec.ClusterIP == before.ClusterIP && slices.Equal(spec.ClusterIPs, before.ClusterIPs) {
			spec.ClusterIP, spec.ClusterIPs = "", nil
		}
		if slices.Equal(spec.IPFamilies, before.IPFamilies) {
			spec.IPFamilies = nil
		}
		if reflect.DeepEqual(spec.IPFamilyPolicy, before.IPFamilyPolicy) {
			spec.IPFamilyPolicy = nil
		}
	}
	if exposed(before) && !exposed(spec) && slices.Equal(slices.Sorted(slices.Values(nodePortsOf(spec))), slices.Sorted(slices.Values(nodePortsOf(before)))) {
		for i := range spec.Ports {
			spec.Ports[i].NodePort = 0
		}
	}
	if checksHealth(before) && !checksHealth(spec) && spec.HealthCheckNodePort == before.HealthCheckNodePort {
		spec.HealthCheckNodePort = 0
	}
	if before.Type == corev1.ServiceTypeLoadBalancer && spec.Type != corev1.ServiceTypeLoadBalancer {
		if reflect.DeepEqual(spec.AllocateLoadBalancerNodePorts, before.AllocateLoadBalancerNodePorts) {
			spec.AllocateLoadBalancerNodePorts = nil
		}
		if reflect.DeepEqual(spec.LoadBalancerClass, before.LoadBalancerClass) {
			spec.LoadBalancerClass = nil
		}
	}
	if reachable(before) && !reachable(spec) && spec.ExternalTrafficPolicy == before.ExternalTrafficPolicy {
		spec.ExternalTrafficPolicy = ""
	}
}

// nodePortsOf returns the node ports of a Service, without those that it does not have yet.
func nodePortsOf(spec *corev1.ServiceSpec) []int32 {
	var ports []int32
	for _, p := range spec.Ports {
		if p.NodePort != 0 {
			ports = append(ports, p.NodePort)
		}
	}
	return ports
}

// exposed reports whether nodes forward ports to a Service.
func exposed(spec *corev1.ServiceSpec) bool {
	return spec.Type == corev1.ServiceTypeNodePort || spec.Type == corev1.ServiceTypeLoadBalancer
}

// checksHealth reports whether load balancers ask nodes if they have a pod of the Service.
func checksHealth(spec *corev1.ServiceSpec) bool {
	return spec.Type == corev1.ServiceTypeLoadBalancer && spec.ExternalTrafficPolicy == corev1.ServiceExternalTrafficPolicyLocal
}

// reachable reports whether a Service is reached from outside of the cluster.
func reachable(spec *corev1.ServiceSpec) bool {
	return exposed(spec) || spec.Type == corev1.ServiceTypeClusterIP && len(spec.ExternalIPs) > 0
}
