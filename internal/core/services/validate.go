package services

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metavalidation "k8s.io/apimachinery/pkg/apis/meta/v1/validation"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
	netutils "k8s.io/utils/net"

	"github.com/volsim/volsim/internal/core/plain"
	"github.com/volsim/volsim/internal/core/strategy"
)

const (
	onlyLoadBalancer = "may only be used when `type` is 'LoadBalancer'"
	rangesAnnotation = "service.beta.kubernetes.io/load-balancer-source-ranges"
	longestSticky    = 86400
)

// validate validates a Service; old is nil for a new one.
func validate(obj, old *plain.Object) field.ErrorList {
	svc, err := plain.As[*corev1.Service](obj)
	if err != nil {
		return field.ErrorList{field.Invalid(field.NewPath("spec"), obj.Content()["spec"], err.Error())}
	}
	var errs field.ErrorList
	before := serviceOf(old)
	if before != nil {
		errs = validateChange(svc, before)
	}
	return append(errs, validateSpec(svc, before)...)
}

// serviceOf returns an object as a Service, or nil if there is none, or one that was stored as it is.
func serviceOf(obj *plain.Object) *corev1.Service {
	if obj == nil {
		return nil
	}
	svc, err := plain.As[*corev1.Service](obj)
	if err != nil {
		return nil
	}
	return svc
}

// headless reports whether a Service has no address on purpose.
func headless(svc *corev1.Service) bool {
	return len(svc.Spec.ClusterIPs) == 1 && svc.Spec.ClusterIPs[0] == noClusterIP
}

// validateAddresses validates the cluster's addresses of a Service and their families (API-350).
func validateAddresses(svc, old *corev1.Service) field.ErrorList {
	spec, path := &svc.Spec, field.NewPath("spec")
	if spec.Type == corev1.ServiceTypeExternalName {
		return nil
	}
	ips, families := path.Child("clusterIPs"), path.Child("ipFamilies")
	var errs field.ErrorList
	switch {
	case spec.ClusterIP == "" && len(spec.ClusterIPs) > 0:
		errs = append(errs, field.Invalid(ips, spec.ClusterIPs, "must be empty when `clusterIP` is not specified"))
	case spec.ClusterIP != "" && len(spec.ClusterIPs) > 0 && spec.ClusterIPs[0] != spec.ClusterIP:
		// API-350: old clients know the first one only.
		errs = append(errs, field.Invalid(ips, spec.ClusterIPs, "first value must match `clusterIP`"))
	}
	for i, family := range spec.IPFamilies {
		if known := []corev1.IPFamily{corev1.IPv4Protocol, corev1.IPv6Protocol}; !slices.Contains(known, family) {
			errs = append(errs, field.NotSupported(families.Index(i), family, known))
		}
		if slices.Contains(spec.IPFamilies[:i], family) {
			errs = append(errs, field.Duplicate(families.Index(i), family))
		}
	}
	policies := []corev1.IPFamilyPolicy{corev1.IPFamilyPolicyPreferDualStack, corev1.IPFamilyPolicyRequireDualStack, corev1.IPFamilyPolicySingleStack}
	if policy := spec.IPFamilyPolicy; policy != nil && !slices.Contains(policies, *policy) {
		errs = append(errs, field.NotSupported(path.Child("ipFamilyPolicy"), *policy, policies))
	}
	var known []string
	if old != nil {
		known = old.Spec.ClusterIPs
	}
	wrong := validateClusterIPs(spec.ClusterIPs, known, ips)
	if errs = append(errs, wrong...); len(wrong) > 0 {
		return errs
	}
	return append(errs, validateFamilies(svc, ips)...)
}

func validateClusterIPs(given, known []string, path *field.Path) field.ErrorList {
	var errs field.ErrorList
	for i, ip := range given {
		switch {
		case i > 0 || ip != noClusterIP:
			errs = append(errs, validation.IsValidIPForLegacyField(path.Index(i), ip, true, known)...)
		case len(given) > 1:
			errs = append(errs, field.Invalid(path, given, "'None' must be the first and only value"))
		}
	}
	return errs
}

// validateFamilies requires one address of each family, in the order of the families.
func validateFamilies(svc *corev1.Service, path *field.Path) field.ErrorList {
	var errs field.ErrorList
	ips := svc.Spec.ClusterIPs
	if len(ips) > 2 {
		errs = append(errs, field.Invalid(path, ips, "may only hold up to 2 values"))
	}
	if dual, err := netutils.IsDualStackIPStrings(ips); len(ips) > 1 && (err != nil || !dual) {
		errs = append(errs, field.Invalid(path, ips, "may specify no more than one IP for each IP family"))
	}
	for i, ip := range ips {
		if headless(svc) || i >= len(svc.Spec.IPFamilies) {
			break
		}
		isIPv6 := netutils.IsIPv6String(ip)
		if family := svc.Spec.IPFamilies[i]; family == corev1.IPv4Protocol && isIPv6 || family == corev1.IPv6Protocol && !isIPv6 {
			errs = append(errs, field.Invalid(path.Index(i), ip, fmt.Sprintf("expected an %s value as indicated by `ipFamilies[%d]`", family, i)))
		}
	}
	return errs
}

// validateChange forbids changes of the address of a Service that stays within the cluster, and of other fields (API-311, API-351).
func validateChange(svc, old *corev1.Service) field.ErrorList {
	spec, before, path := &svc.Spec, &old.Spec, field.NewPath("spec")
	var errs field.ErrorList
	const once = "may not change once set"
	if spec.Type != corev1.ServiceTypeExternalName && before.Type != corev1.ServiceTypeExternalName && (!headless(svc) || !headless(old)) {
		// API-311: clients of the Service have resolved the address.
		if len(spec.ClusterIPs) > 0 && len(before.ClusterIPs) > 0 && spec.ClusterIPs[0] != before.ClusterIPs[0] {
			errs = append(errs, field.Invalid(path.Child("clusterIPs").Index(0), spec.ClusterIPs, once))
		}
		if !headless(svc) && !headless(old) && len(spec.IPFamilies) > 0 && len(before.IPFamilies) > 0 && spec.IPFamilies[0] != before.IPFamilies[0] {
			errs = append(errs, field.Invalid(path.Child("ipFamilies").Index(0), spec.IPFamilies, once))
		}
	}
	const balanced = corev1.ServiceTypeLoadBalancer
	if spec.Type == balanced && before.Type == balanced && !strategy.EqualPointers(spec.LoadBalancerClass, before.LoadBalancerClass) {
		// API-351: another load balancer would have to give up the Service.
		errs = append(errs, field.Invalid(path.Child("loadBalancerClass"), spec.LoadBalancerClass, once))
	}
	errs = append(errs, validateBalancerClass(spec, path)...)
	if checksHealth(spec) && checksHealth(before) && spec.HealthCheckNodePort != before.HealthCheckNodePort {
		errs = append(errs, field.Forbidden(path.Child("healthCheckNodePort"), "field is immutable"))
	}
	return errs
}

func validateBalancerClass(spec *corev1.ServiceSpec, path *field.Path) field.ErrorList {
	switch {
	case spec.LoadBalancerClass == nil:
		return nil
	case spec.Type != corev1.ServiceTypeLoadBalancer:
		return field.ErrorList{field.Forbidden(path.Child("loadBalancerClass"), onlyLoadBalancer)}
	}
	return strategy.LabelKey(*spec.LoadBalancerClass, path, "loadBalancerClass")
}

// validateSpec validates the fields of a Service (API-350).
func validateSpec(svc, old *corev1.Service) field.ErrorList {
	spec, path := &svc.Spec, field.NewPath("spec")
	var errs field.ErrorList
	const hints, mode = "service.kubernetes.io/topology-aware-hints", corev1.AnnotationTopologyMode
	if text, ok := svc.Annotations[mode]; ok {
		if older, both := svc.Annotations[hints]; both && older != text {
			errs = append(errs, field.Invalid(strategy.MetaPath("annotations").Key(mode), text, fmt.Sprintf("must match annotations[%s] when both are specified", hints)))
		}
	}
	if len(spec.Ports) == 0 && !headless(svc) && spec.Type != corev1.ServiceTypeExternalName {
		// API-350: an address without a port leads nowhere.
		errs = append(errs, field.Required(path.Child("ports"), ""))
	}
	errs = append(errs, validateServiceType(svc, path)...)
	names := map[string]bool{}
	for i := range spec.Ports {
		errs = append(errs, validateServicePort(&spec.Ports[i], len(spec.Ports) > 1, names, path.Child("ports").Index(i))...)
	}
	errs = append(errs, sortedByText(metavalidation.ValidateLabels(spec.Selector, path.Child("selector")))...)
	errs = append(errs, validateAffinityOfClients(spec, path)...)
	errs = append(errs, validateExternalIPs(spec.ExternalIPs, old, path.Child("externalIPs"))...)
	errs = append(errs, strategy.OneOf(spec.Type, path, "type", []corev1.ServiceType{corev1.ServiceTypeClusterIP, corev1.ServiceTypeExternalName,
		corev1.ServiceTypeLoadBalancer, corev1.ServiceTypeNodePort})...)
	errs = append(errs, validateNodePorts(spec, path.Child("ports"))...)
	errs = append(errs, validateSourceRanges(svc, old, path.Child("LoadBalancerSourceRanges"))...)
	if spec.AllocateLoadBalancerNodePorts != nil && spec.Type != corev1.ServiceTypeLoadBalancer {
		errs = append(errs, field.Forbidden(path.Child("allocateLoadBalancerNodePorts"), onlyLoadBalancer))
	}
	errs = append(errs, validateBalancerClass(spec, path)...)
	return append(errs, validateTraffic(spec, path)...)
}

func sortedByText(errs field.ErrorList) field.ErrorList {
	slices.SortStableFunc(errs, func(a, b *field.Error) int { return strings.Compare(a.Error(), b.Error()) })
	return errs
}

// validateServiceType validates what depends on the type only.
func validateServiceType(svc *corev1.Service, path *field.Path) field.ErrorList {
	spec := &svc.Spec
	if exposed(spec) && headless(svc) {
		return field.ErrorList{field.Invalid(path.Child("clusterIPs").Index(0), noClusterIP, fmt.Sprintf("may not be set to 'None' for %s services", spec.Type))}
	}
	if spec.Type != corev1.ServiceTypeExternalName {
		return nil
	}
	var errs field.ErrorList
	forbid := func(wrong bool, name string) {
		if wrong {
			errs = append(errs, field.Forbidden(path.Child(name), "may not be set for ExternalName services"))
		}
	}
	forbid(len(spec.ClusterIPs) > 0, "clusterIPs")
	forbid(len(spec.IPFamilies) > 0, "ipFamilies")
	forbid(spec.IPFamilyPolicy != nil, "ipFamilyPolicy")
	name := strings.TrimSuffix(spec.ExternalName, ".")
	if name == "" {
		return append(errs, field.Required(path.Child("externalName"), ""))
	}
	return append(errs, strategy.Subdomain(name, path, "externalName")...)
}

func validateServicePort(p *corev1.ServicePort, named bool, names map[string]bool, path *field.Path) field.ErrorList {
	var errs field.ErrorList
	switch {
	case p.Name == "" && named:
		errs = append(errs, field.Required(path.Child("name"), ""))
	case p.Name != "":
		errs = append(errs, strategy.DNSLabel(p.Name, path, "name")...)
		if names[p.Name] {
			errs = append(errs, field.Duplicate(path.Child("name"), p.Name))
		}
		names[p.Name] = true
	}
	errs = strategy.AppendInvalid(errs, path.Child("port"), p.Port, validation.IsValidPortNum(int(p.Port)))
	errs = append(errs, strategy.OneOf(p.Protocol, path, "protocol", strategy.Protocols)...)
	errs = append(errs, strategy.PortNumberOrName(p.TargetPort, path.Child("targetPort"))...)
	if p.AppProtocol != nil {
		errs = append(errs, strategy.LabelKey(*p.AppProtocol, path, "appProtocol")...)
	}
	return errs
}

func validateAffinityOfClients(spec *corev1.ServiceSpec, path *field.Path) field.ErrorList {
	errs := strategy.OneOf(spec.SessionAffinity, path, "sessionAffinity", []corev1.ServiceAffinity{corev1.ServiceAffinityClientIP, corev1.ServiceAffinityNone})
	config := spec.SessionAffinityConfig
	if spec.SessionAffinity != corev1.ServiceAffinityClientIP || config == nil || config.ClientIP == nil {
		return errs
	}
	if seconds := config.ClientIP.TimeoutSeconds; seconds != nil && (*seconds <= 0 || *seconds > longestSticky) {
		errs = append(errs, field.Invalid(path.Child("sessionAffinityConfig", "clientIP", "timeoutSeconds"), *seconds,
			fmt.Sprintf("must be greater than 0 and less than %d", longestSticky)))
	}
	return errs
}

func validateExternalIPs(ips []string, old *corev1.Service, path *field.Path) field.ErrorList {
	var known []string
	if old != nil {
		known = old.Spec.ExternalIPs
	}
	var errs field.ErrorList
	for i, text := range ips {
		at := path.Index(i)
		if wrong := validation.IsValidIPForLegacyField(at, text, true, known); len(wrong) > 0 {
			errs = append(errs, wrong...)
			continue
		}
		errs = append(errs, strategy.EndpointIP(text, at)...)
	}
	return errs
}

// validateNodePorts validates the node ports of a Service, and that no two ports are the same.
func validateNodePorts(spec *corev1.ServiceSpec, path *field.Path) field.ErrorList {
	var errs field.ErrorList
	type port struct {
		protocol corev1.Protocol
		number   int32
	}
	nodes, ports := map[port]bool{}, map[port]bool{}
	for i, p := range spec.Ports {
		if p.NodePort != 0 && spec.Type == corev1.ServiceTypeClusterIP {
			errs = append(errs, field.Forbidden(path.Index(i).Child("nodePort"), "may not be used when `type` is 'ClusterIP'"))
		}
	}
	for i, p := range spec.Ports {
		if key := (port{p.Protocol, p.NodePort}); p.NodePort != 0 {
			if nodes[key] {
				errs = append(errs, field.Duplicate(path.Index(i).Child("nodePort"), p.NodePort))
			}
			nodes[key] = true
		}
	}
	for i, p := range spec.Ports {
		key := port{p.Protocol, p.Port}
		if ports[key] {
			// The server shows such a port with the names of the fields in Go.
			errs = append(errs, field.Duplicate(path.Index(i), struct {
				Name                 string
				Protocol             corev1.Protocol
				AppProtocol          *string
				Port                 int32
				TargetPort, NodePort int32
			}{Protocol: p.Protocol, Port: p.Port}))
		}
		ports[key] = true
	}
	return errs
}

func validateSourceRanges(svc, old *corev1.Service, path *field.Path) field.ErrorList {
	var errs field.ErrorList
	known := map[string]bool{}
	ranges := svc.Spec.LoadBalancerSourceRanges
	text, annotated := svc.Annotations[rangesAnnotation]
	if len(ranges) == 0 && !annotated {
		return nil
	}
	if old != nil {
		for _, text := range old.Spec.LoadBalancerSourceRanges {
			known[strings.TrimSpace(text)] = true
		}
	}
	at := path.Index
	if len(ranges) == 0 {
		path = strategy.MetaPath("annotations").Key(rangesAnnotation)
		at = func(int) *field.Path { return path }
		if text = strings.TrimSpace(text); text != "" && (old == nil || old.Annotations[rangesAnnotation] != svc.Annotations[rangesAnnotation]) {
			ranges = strings.Split(text, ",")
		}
		clear(known)
	}
	if svc.Spec.Type != corev1.ServiceTypeLoadBalancer {
		errs = append(errs, field.Forbidden(path, onlyLoadBalancer))
	}
	for i, text := range ranges {
		errs = append(errs, validation.IsValidCIDRForLegacyField(at(i), strings.TrimSpace(text), true, slices.Sorted(maps.Keys(known)))...)
	}
	return errs
}

// validateTraffic validates where the traffic of a Service goes.
func validateTraffic(spec *corev1.ServiceSpec, path *field.Path) field.ErrorList {
	var errs field.ErrorList
	if policy := spec.ExternalTrafficPolicy; reachable(spec) {
		errs = append(errs, strategy.OneOf(policy, path, "externalTrafficPolicy", []corev1.ServiceExternalTrafficPolicy{corev1.ServiceExternalTrafficPolicyCluster,
			corev1.ServiceExternalTrafficPolicyLocal})...)
	} else if policy != "" {
		errs = append(errs, field.Invalid(path.Child("externalTrafficPolicy"), policy, "may only be set for externally-accessible services"))
	}
	if port := spec.HealthCheckNodePort; checksHealth(spec) {
		errs = strategy.AppendInvalid(errs, path.Child("healthCheckNodePort"), port, validation.IsValidPortNum(int(port)))
	} else if port != 0 {
		errs = append(errs, field.Invalid(path.Child("healthCheckNodePort"), port,
			"may only be set when `type` is 'LoadBalancer' and `externalTrafficPolicy` is 'Local'"))
	}
	if policy := spec.InternalTrafficPolicy; policy != nil {
		errs = append(errs, strategy.OneOf(*policy, path, "internalTrafficPolicy", []corev1.ServiceInternalTrafficPolicy{corev1.ServiceInternalTrafficPolicyCluster,
			corev1.ServiceInternalTrafficPolicyLocal})...)
	}
	if where := spec.TrafficDistribution; where != nil {
		errs = append(errs, strategy.OneOf(*where, path, "trafficDistribution", []string{corev1.ServiceTrafficDistributionPreferClose,
			corev1.ServiceTrafficDistributionPreferSameZone, corev1.ServiceTrafficDistributionPreferSameNode})...)
	}
	return errs
}
