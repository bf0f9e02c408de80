package store

import (
	"fmt"
	"hash/fnv"
	"net/netip"
	"reflect"
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/volsim/volsim/api"
	"github.com/volsim/volsim/internal/core/plain"
	"github.com/volsim/volsim/internal/core/strategy"
)

// ServiceKind is the kind of Services.
const ServiceKind api.Kind = "Service"

// The addresses and ports that Services get. As in Kubernetes, the lowest of each range are left to users.
const (
	serviceNetwork  = "10.96.0.0/12"
	serviceHosts    = 1<<20 - 2
	reservedHosts   = 256
	firstNodePort   = 30000
	nodePorts       = 2768
	reservedPorts   = 86
	stickySeconds   = 10800
	noClusterIP     = corev1.ClusterIPNone
	singleStackIPv4 = corev1.IPv4Protocol
)

// serviceStrategy adds the rules of Services to those of any object (API-309, API-310).
func serviceStrategy(s *Store, base strategy.Of[*plain.Object]) strategy.Of[*plain.Object] {
	base.Defaults = func(obj *plain.Object) {
		changeService(obj, defaultService)
		completeIngresses(obj)
	}
	prepareCreate, prepareUpdate := base.PrepareCreate, base.PrepareUpdate
	base.PrepareCreate = func(obj *plain.Object, now metav1.Time) {
		prepareCreate(obj, now)
		changeService(obj, func(svc *corev1.Service) {
			// API-350: clients that know one address only mean it by both fields.
			if len(svc.Spec.ClusterIPs) == 0 && svc.Spec.ClusterIP != "" {
				svc.Spec.ClusterIPs = []string{svc.Spec.ClusterIP}
			}
			s.allocate(svc, true)
		})
		// API-309: the status has an empty load balancer from the beginning.
		obj.Content()["status"] = map[string]any{"loadBalancer": map[string]any{}}
	}
	base.PrepareUpdate = func(obj, old *plain.Object) {
		prepareUpdate(obj, old)
		before := &corev1.Service{}
		if plain.Write(old, before) != nil {
			return
		}
		changeService(obj, func(svc *corev1.Service) {
			keepAllocated(svc, before)
			s.allocate(svc, false)
			dropUnused(svc, before)
		})
	}
	base.ValidateCreate = func(obj *plain.Object) field.ErrorList { return s.validateService(obj, nil) }
	base.ValidateUpdate = s.validateService
	base.ValidateStatus = validateServiceStatus
	return base
}

// changeService changes the spec of a stored Service in its Go type. A spec that is not valid stays as it is.
func changeService(obj *plain.Object, change func(*corev1.Service)) {
	svc := &corev1.Service{}
	if plain.Write(obj, svc) != nil {
		return
	}
	change(svc)
	spec, err := runtime.DefaultUnstructuredConverter.ToUnstructured(&svc.Spec)
	if err != nil {
		return
	}
	content := make(map[string]any, len(obj.Content())+1)
	for name, value := range obj.Content() {
		content[name] = value
	}
	content["spec"] = spec
	obj.SetContent(content)
}

// defaultService sets the defaults of a Service (API-309).
func defaultService(svc *corev1.Service) {
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

// exposed reports whether nodes forward ports to a Service.
func exposed(spec *corev1.ServiceSpec) bool {
	return spec.Type == corev1.ServiceTypeNodePort || spec.Type == corev1.ServiceTypeLoadBalancer
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

// checksHealth reports whether load balancers ask nodes if they have a pod of the Service.
func checksHealth(spec *corev1.ServiceSpec) bool {
	return spec.Type == corev1.ServiceTypeLoadBalancer && spec.ExternalTrafficPolicy == corev1.ServiceExternalTrafficPolicyLocal
}

// reachable reports whether a Service is reached from outside of the cluster.
func reachable(spec *corev1.ServiceSpec) bool {
	return exposed(spec) || spec.Type == corev1.ServiceTypeClusterIP && len(spec.ExternalIPs) > 0
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

// allocate gives a Service what the server allocates: its address, its families and its node ports. Each follows from the name of the
// Service and from what is free, so that it is the same in every run (API-310).
func (s *Store) allocate(svc *corev1.Service, created bool) {
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
		spec.ClusterIP = s.freeClusterIP(svc)
	}
	if len(spec.ClusterIPs) == 0 {
		spec.ClusterIPs = []string{spec.ClusterIP}
	}
	if exposed(spec) && (spec.AllocateLoadBalancerNodePorts == nil || *spec.AllocateLoadBalancerNodePorts) {
		s.allocateNodePorts(svc, created)
	}
	if checksHealth(spec) && spec.HealthCheckNodePort == 0 {
		spec.HealthCheckNodePort = s.freeNodePort(svc, "healthCheck")
	}
}

// otherServices calls fn with every Service but the one with that key.
func (s *Store) otherServices(key string, fn func(*corev1.Service)) {
	for _, obj := range s.List(ServiceKind) {
		svc := &corev1.Service{}
		if api.KeyOf(obj) != key && plain.Write(obj, svc) == nil {
			fn(svc)
		}
	}
}

func (s *Store) freeClusterIP(svc *corev1.Service) string {
	used := map[string]bool{}
	s.otherServices(api.KeyOf(svc), func(other *corev1.Service) { used[other.Spec.ClusterIP] = true })
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
func (s *Store) allocateNodePorts(svc *corev1.Service, created bool) {
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
		p.NodePort = s.freeNodePort(svc, fmt.Sprint(p.Port))
	}
}

// freeNodePort returns a free node port for what a Service calls by that name, 0 if there is none.
func (s *Store) freeNodePort(svc *corev1.Service, name string) int32 {
	used := map[int32]bool{}
	note := func(other *corev1.Service) {
		for _, port := range append(nodePortsOf(&other.Spec), other.Spec.HealthCheckNodePort) {
			used[port] = true
		}
	}
	s.otherServices(api.KeyOf(svc), note)
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
