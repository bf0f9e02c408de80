//go:build !js

package kubectl

import (
	"fmt"
	"net"
	"strings"
	"time"

	certificatesv1 "k8s.io/api/certificates/v1"
	certificatesv1beta1 "k8s.io/api/certificates/v1beta1"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	networkingv1 "k8s.io/api/networking/v1"
	"k8s.io/apimachinery/pkg/util/duration"

	"github.com/volsim/volsim/api"
	"github.com/volsim/volsim/internal/core/plain"
)

// Kinds that have no bearing on volumes; see describers.go. In the browser they have a name and an age.
func init() {
	for kind, columns := range map[api.Kind][]Column{
		"Endpoints": {
			nameColumn,
			field("Endpoints", "", endpointsOf).documented(corev1.Endpoints{}, "subsets"),
			ageColumn,
		},
		"EndpointSlice.discovery.k8s.io": {
			nameColumn,
			field("AddressType", "", func(c map[string]any) string { return text(c, "addressType") }).documented(discoveryv1.EndpointSlice{}, "addressType"),
			field("Ports", "", slicePorts).documented(discoveryv1.EndpointSlice{}, "ports"),
			field("Endpoints", "", sliceEndpoints).documented(discoveryv1.EndpointSlice{}, "endpoints"),
			ageColumn,
		},
		"IngressClass.networking.k8s.io": {
			ingressClassColumn(),
			field("Controller", "Controller that is responsible for handling this class", func(c map[string]any) string { return text(c, "spec", "controller") }),
			field("Parameters", "A reference to a resource with additional parameters", ingressClassParameters),
			ageColumn,
		},
		"IPAddress.networking.k8s.io": {
			nameColumn,
			field("ParentRef", "", parentOf).documented(networkingv1.IPAddressSpec{}, "parentRef"),
		},
		"ServiceCIDR.networking.k8s.io": {
			nameColumn,
			field("CIDRs", "", func(c map[string]any) string { return elements(at(c, "spec", "cidrs")) }).documented(networkingv1.ServiceCIDRSpec{}, "cidrs"),
			ageColumn,
		},
		"CertificateSigningRequest.certificates.k8s.io": {
			nameColumn,
			ageColumn,
			field("SignerName", "", func(c map[string]any) string { return orElse(text(c, "spec", "signerName"), "<none>") }).
				documented(certificatesv1beta1.CertificateSigningRequestSpec{}, "signerName"),
			field("Requestor", "", func(c map[string]any) string { return text(c, "spec", "username") }).
				documented(certificatesv1beta1.CertificateSigningRequestSpec{}, "request"),
			field("RequestedDuration", "", requestedDuration).documented(certificatesv1beta1.CertificateSigningRequestSpec{}, "expirationSeconds"),
			signingColumn(),
		},
	} {
		otherLayouts[kind] = columns
	}
}

// few lists up to three texts, and says how many more there are.
func few(all []string, none string) string {
	const shown = 3
	if len(all) > shown {
		return fmt.Sprintf("%s + %d more...", strings.Join(all[:shown], ","), len(all)-shown)
	}
	return orElse(strings.Join(all, ","), none)
}

// endpointsOf lists the addresses that are ready, once for each port.
func endpointsOf(c map[string]any) string {
	subsets := list(c, "subsets")
	if len(subsets) == 0 {
		return "<none>"
	}
	var all []string
	for _, subset := range subsets {
		ports := list(subset, "ports")
		for _, address := range list(subset, "addresses") {
			if len(ports) == 0 {
				all = append(all, text(address, "ip"))
			}
		}
		for _, port := range ports {
			for _, address := range list(subset, "addresses") {
				all = append(all, net.JoinHostPort(text(address, "ip"), number(port, "port")))
			}
		}
	}
	return few(all, "")
}

func slicePorts(c map[string]any) string {
	var all []string
	for _, port := range list(c, "ports") {
		name, named := port["name"]
		switch {
		case port["port"] != nil:
			all = append(all, number(port, "port"))
		case named:
			all = append(all, fmt.Sprint(name))
		default:
			all = append(all, "*")
		}
	}
	return few(all, "<unset>")
}

func sliceEndpoints(c map[string]any) string {
	var all []string
	for _, endpoint := range list(c, "endpoints") {
		addresses, _ := endpoint["addresses"].([]any)
		for _, address := range addresses {
			all = append(all, fmt.Sprint(address))
		}
	}
	return few(all, "<unset>")
}

// ingressClassColumn is the column of the name, which says of the default class that it is that.
func ingressClassColumn() Column {
	c := nameColumn
	c.Cell = func(obj api.Object, _ time.Time) any {
		if obj.GetAnnotations()[networkingv1.AnnotationIsDefaultIngressClass] == "true" {
			return obj.GetName() + " (default)"
		}
		return obj.GetName()
	}
	return c
}

func ingressClassParameters(c map[string]any) string {
	parameters, ok := at(c, "spec", "parameters").(map[string]any)
	if !ok {
		return "<none>"
	}
	kind := text(parameters, "kind")
	if group, ok := parameters["apiGroup"]; ok {
		kind += fmt.Sprintf(".%v", group)
	}
	return kind + "/" + text(parameters, "name")
}

// parentOf names what an address belongs to.
func parentOf(c map[string]any) string {
	parent, ok := at(c, "spec", "parentRef").(map[string]any)
	if !ok {
		return "<none>"
	}
	name := text(parent, "resource")
	if group := text(parent, "group"); group != "" {
		name += "." + group
	}
	name = strings.ToLower(name)
	if namespace := text(parent, "namespace"); namespace != "" {
		name += "/" + namespace
	}
	return name + "/" + text(parent, "name")
}

func requestedDuration(c map[string]any) string {
	seconds, ok := at(c, "spec", "expirationSeconds").(int64)
	if !ok {
		return "<none>"
	}
	return duration.HumanDuration(time.Duration(seconds) * time.Second)
}

// signingColumn says what became of a request.
func signingColumn() Column {
	c := field("Condition", "", nil).documented(certificatesv1beta1.CertificateSigningRequestStatus{}, "conditions")
	c.Cell = func(obj api.Object, _ time.Time) any {
		r, err := plain.As[*certificatesv1.CertificateSigningRequest](obj)
		if err != nil {
			return "<unknown>"
		}
		return signingStatus(r)
	}
	return c
}
