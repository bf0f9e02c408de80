package kinds

import (
	"maps"
	"reflect"
	"slices"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	"k8s.io/apimachinery/pkg/api/validation"
	utilvalidation "k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
	netutils "k8s.io/utils/net"

	"github.com/volsim/volsim/api"
	"github.com/volsim/volsim/internal/core/plain"
	"github.com/volsim/volsim/internal/core/store"
	"github.com/volsim/volsim/internal/core/strategy"
)

// The rules of Endpoints (API-560) and of EndpointSlices (API-561). What the stored object has may stay, whatever it is.
var (
	endpointsRules = store.KindRules{
		Default: func(obj *plain.Object) {
			typedDefault(obj, func(e *corev1.Endpoints) {
				for _, subset := range e.Subsets {
					for i := range subset.Ports {
						if subset.Ports[i].Protocol == "" {
							subset.Ports[i].Protocol = corev1.ProtocolTCP
						}
					}
				}
			})
		},
		Check: func(obj, old *plain.Object) field.ErrorList {
			return append(prefixOfUpdate(obj, old), unlessSame(obj, old, "subsets", checkSubsets)...)
		},
		Warn: typedWarn(warnOfEndpoints),
	}
	endpointSliceRules = store.KindRules{
		Default: func(obj *plain.Object) {
			typedDefault(obj, func(s *discoveryv1.EndpointSlice) {
				for i := range s.Ports {
					if s.Ports[i].Name == nil {
						s.Ports[i].Name = new("")
					}
					if s.Ports[i].Protocol == nil {
						s.Ports[i].Protocol = new(corev1.ProtocolTCP)
					}
				}
			})
		},
		PrepareCreate: dropTopology,
		PrepareUpdate: func(obj, old *plain.Object) {
			if reflect.DeepEqual(obj.Content()["endpoints"], old.Content()["endpoints"]) {
				return
			}
			dropTopology(obj)
			// API-561: generation counts what was sent, also if nothing of it is left.
			if reflect.DeepEqual(obj.Content(), old.Content()) && maps.Equal(obj.Labels, old.Labels) {
				obj.Generation++
			}
		},
		Check: func(obj, old *plain.Object) field.ErrorList {
			slice, err := plain.As[*discoveryv1.EndpointSlice](obj)
			if err != nil {
				return nil // the body was decoded before
			}
			errs := append(prefixOfUpdate(obj, old), checkAddressType(slice.AddressType)...)
			errs = append(errs, checkSlicePorts(slice.Ports, field.NewPath("ports"))...)
			errs = append(errs, unlessSame(obj, old, "endpoints", checkEndpoints)...)
			if old != nil && slice.AddressType != plain.Shared[*discoveryv1.EndpointSlice](old).AddressType {
				errs = append(errs, field.Invalid(field.NewPath("addressType"), slice.AddressType, strategy.Immutable))
			}
			return errs
		},
		Warn: typedWarn(warnOfEndpointSlice),
	}
)

// unlessSame returns what is wrong with an object, unless a field is as it was.
func unlessSame[T api.Object](obj, old *plain.Object, name string, check func(T) field.ErrorList) field.ErrorList {
	typed, err := plain.As[T](obj)
	if err != nil {
		return nil // the body was decoded before
	}
	errs := check(typed)
	if len(errs) > 0 && old != nil && reflect.DeepEqual(obj.Content()[name], old.Content()[name]) {
		return nil
	}
	return errs
}

var portProtocols = []corev1.Protocol{corev1.ProtocolSCTP, corev1.ProtocolTCP, corev1.ProtocolUDP}

func checkSubsets(e *corev1.Endpoints) (errs field.ErrorList) {
	for i, subset := range e.Subsets {
		path := field.NewPath("subsets").Index(i)
		if len(subset.Addresses) == 0 && len(subset.NotReadyAddresses) == 0 {
			errs = append(errs, field.Required(path, "must specify `addresses` or `notReadyAddresses`"))
		}
		for j := range subset.Addresses {
			errs = append(errs, checkEndpointAddress(&subset.Addresses[j], path.Child("addresses").Index(j))...)
		}
		for j := range subset.NotReadyAddresses {
			errs = append(errs, checkEndpointAddress(&subset.NotReadyAddresses[j], path.Child("notReadyAddresses").Index(j))...)
		}
		for j := range subset.Ports {
			errs = append(errs, checkEndpointPort(&subset.Ports[j], len(subset.Ports) > 1, path.Child("ports").Index(j))...)
		}
	}
	return errs
}

func checkEndpointAddress(a *corev1.EndpointAddress, path *field.Path) field.ErrorList {
	errs := utilvalidation.IsValidIPForLegacyField(path.Child("ip"), a.IP, true, nil)
	if a.Hostname != "" {
		errs = append(errs, strategy.DNSLabel(a.Hostname, path, "hostname")...)
	}
	if a.NodeName != nil {
		errs = strategy.AppendInvalid(errs, path.Child("nodeName"), *a.NodeName, validation.NameIsDNSSubdomain(*a.NodeName, false))
	}
	return append(errs, strategy.EndpointIP(a.IP, path.Child("ip"))...)
}

func checkEndpointPort(p *corev1.EndpointPort, several bool, path *field.Path) field.ErrorList {
	var errs field.ErrorList
	if p.Name != "" {
		errs = append(errs, strategy.DNSLabel(p.Name, path, "name")...)
	} else if several {
		errs = append(errs, field.Required(path.Child("name"), ""))
	}
	errs = strategy.AppendInvalid(errs, path.Child("port"), p.Port, utilvalidation.IsValidPortNum(int(p.Port)))
	return append(errs, checkProtocol(p.Protocol, p.AppProtocol, path)...)
}

func checkProtocol(protocol corev1.Protocol, app *string, path *field.Path) field.ErrorList {
	errs := strategy.RequiredAt(protocol, path.Child("protocol"), portProtocols)
	if app != nil {
		errs = strategy.AppendInvalid(errs, path.Child("appProtocol"), *app, utilvalidation.IsQualifiedName(*app))
	}
	return errs
}

func warnOfEndpoints(e, _ *corev1.Endpoints) (warnings []string) {
	if e.Labels["endpoints.kubernetes.io/managed-by"] == "endpoint-controller" {
		return nil
	}
	note := func(addresses []corev1.EndpointAddress, path *field.Path) {
		for i, address := range addresses {
			warnings = append(warnings, utilvalidation.GetWarningsForIP(path.Index(i).Child("ip"), address.IP)...)
		}
	}
	for i, subset := range e.Subsets {
		path := field.NewPath("subsets").Index(i)
		note(subset.Addresses, path.Child("addresses"))
		note(subset.NotReadyAddresses, path.Child("notReadyAddresses"))
	}
	return warnings
}

// dropTopology removes what clients of v1 do not write (API-561).
func dropTopology(obj *plain.Object) {
	typedDefault(obj, func(s *discoveryv1.EndpointSlice) {
		for i := range s.Endpoints {
			s.Endpoints[i].DeprecatedTopology = nil
		}
	})
}

var addressTypes = []discoveryv1.AddressType{discoveryv1.AddressTypeFQDN, discoveryv1.AddressTypeIPv4, discoveryv1.AddressTypeIPv6}

func checkAddressType(t discoveryv1.AddressType) field.ErrorList {
	return strategy.RequiredAt(t, field.NewPath("addressType"), addressTypes)
}

// What an EndpointSlice has at most.
const (
	maxSlicePorts = 20_000
	maxEndpoints  = 1000
	maxAddresses  = 100
	maxHints      = 8
)

func checkSlicePorts(ports []discoveryv1.EndpointPort, path *field.Path) field.ErrorList {
	if len(ports) > maxSlicePorts {
		return field.ErrorList{field.TooMany(path, len(ports), maxSlicePorts)}
	}
	var errs field.ErrorList
	var names []string
	for i, p := range ports {
		at := path.Index(i)
		name := *p.Name // it has a default
		if name != "" {
			errs = append(errs, strategy.DNSLabel(name, at, "name")...)
		}
		if slices.Contains(names, name) {
			errs = append(errs, field.Duplicate(at.Child("name"), p.Name))
		}
		names = append(names, name)
		protocol := *p.Protocol // so has it
		if protocol == "" {
			errs = append(errs, field.NotSupported(at.Child("protocol"), protocol, portProtocols))
			protocol = corev1.ProtocolTCP
		}
		errs = append(errs, checkProtocol(protocol, p.AppProtocol, at)...)
	}
	return errs
}

func checkEndpoints(s *discoveryv1.EndpointSlice) field.ErrorList {
	path := field.NewPath("endpoints")
	if len(s.Endpoints) > maxEndpoints {
		return field.ErrorList{field.TooMany(path, len(s.Endpoints), maxEndpoints)}
	}
	var errs field.ErrorList
	for i := range s.Endpoints {
		errs = append(errs, checkEndpoint(&s.Endpoints[i], s.AddressType, path.Index(i))...)
	}
	return errs
}

func checkEndpoint(e *discoveryv1.Endpoint, addressType discoveryv1.AddressType, path *field.Path) field.ErrorList {
	var errs field.ErrorList
	addresses := path.Child("addresses")
	switch {
	case len(e.Addresses) == 0:
		errs = append(errs, field.Required(addresses, "must contain at least 1 address"))
	case len(e.Addresses) > maxAddresses:
		errs = append(errs, field.TooMany(addresses, len(e.Addresses), maxAddresses))
	}
	for i, address := range e.Addresses {
		at := addresses.Index(i)
		var wrong field.ErrorList
		why := ""
		switch addressType {
		case discoveryv1.AddressTypeIPv4:
			wrong = utilvalidation.IsValidIPForLegacyField(at, address, true, nil)
			if !netutils.IsIPv4String(address) {
				why = "must be an IPv4 address"
			}
		case discoveryv1.AddressTypeIPv6:
			wrong = utilvalidation.IsValidIP(at, address)
			if !netutils.IsIPv6String(address) {
				why = "must be an IPv6 address"
			}
		case discoveryv1.AddressTypeFQDN:
			errs = append(errs, utilvalidation.IsFullyQualifiedDomainName(at, address)...)
			continue
		default:
			continue
		}
		if len(wrong) > 0 {
			errs = append(errs, wrong...)
			continue
		}
		if why != "" {
			errs = append(errs, field.Invalid(addresses, address, why))
		}
		errs = append(errs, strategy.EndpointIP(address, at)...)
	}
	if e.NodeName != nil {
		errs = strategy.AppendInvalid(errs, path.Child("nodeName"), *e.NodeName, validation.NameIsDNSSubdomain(*e.NodeName, false))
	}
	if e.Hostname != nil {
		errs = append(errs, strategy.DNSLabel(*e.Hostname, path, "hostname")...)
	}
	if e.Hints != nil {
		errs = append(errs, checkHints(e.Hints, path.Child("hints"))...)
	}
	return errs
}

// checkHints validates the zones and the nodes that should use an endpoint.
func checkHints(hints *discoveryv1.EndpointHints, path *field.Path) field.ErrorList {
	zones, nodes := make([]string, len(hints.ForZones)), make([]string, len(hints.ForNodes))
	for i, zone := range hints.ForZones {
		zones[i] = zone.Name
	}
	for i, node := range hints.ForNodes {
		nodes[i] = node.Name
	}
	errs, ok := checkHintNames(zones, path.Child("forZones"), utilvalidation.IsValidLabelValue)
	if !ok {
		return errs
	}
	ofNodes, _ := checkHintNames(nodes, path.Child("forNodes"), func(name string) []string { return validation.NameIsDNSSubdomain(name, false) })
	return append(errs, ofNodes...)
}

// checkHintNames validates the names of hints. It is not ok if there are too many.
func checkHintNames(names []string, path *field.Path, check func(string) []string) (errs field.ErrorList, ok bool) {
	if len(names) > maxHints {
		return field.ErrorList{field.TooMany(path, len(names), maxHints)}, false
	}
	for i, name := range names {
		at := path.Index(i).Child("name")
		if slices.Contains(names[:i], name) {
			errs = append(errs, field.Duplicate(at, name))
		}
		errs = strategy.AppendInvalid(errs, at, name, check(name))
	}
	return errs, true
}

func warnOfEndpointSlice(s, old *discoveryv1.EndpointSlice) (warnings []string) {
	if old == nil && s.AddressType == discoveryv1.AddressTypeFQDN {
		warnings = append(warnings, "spec.addressType: FQDN endpoints are deprecated")
	}
	switch s.Labels[discoveryv1.LabelManagedBy] {
	case "endpointslice-controller.k8s.io", "endpointslicemirroring-controller.k8s.io":
		return warnings
	}
	for i, endpoint := range s.Endpoints {
		for j, address := range endpoint.Addresses {
			if netutils.ParseIPSloppy(address) != nil {
				warnings = append(warnings, utilvalidation.GetWarningsForIP(field.NewPath("endpoints").Index(i).Child("addresses").Index(j), address)...)
			}
		}
	}
	return warnings
}
