//go:build !js

package kubectl

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/volsim/volsim/internal/core/plain"
)

func (d *description) endpointsObject(e *corev1.Endpoints) {
	d.meta(e)
	d.printf("Subsets:\n")
	for _, subset := range e.Subsets {
		address := func(a corev1.EndpointAddress) string { return a.IP }
		d.field("  Addresses", "%s", orNone(joined(subset.Addresses, address)))
		d.field("  NotReadyAddresses", "%s", orNone(joined(subset.NotReadyAddresses, address)))
		if len(subset.Ports) > 0 {
			d.printf("  Ports:\n    Name\tPort\tProtocol\n    ----\t----\t--------\n")
		}
		for _, port := range subset.Ports {
			d.printf("    %s\t%d\t%s\n", cmp.Or(port.Name, "<unset>"), port.Port, port.Protocol)
		}
		d.printf("\n")
	}
}

// set returns the value of a field that may be unset.
func set[T any](v *T) string {
	if v == nil {
		return "<unset>"
	}
	return fmt.Sprint(*v)
}

func (d *description) endpointSlice(s *discoveryv1.EndpointSlice) {
	d.meta(s)
	d.field("AddressType", "%s", s.AddressType)
	if len(s.Ports) == 0 {
		d.printf("Ports: <unset>\n")
	} else {
		d.printf("Ports:\n  Name\tPort\tProtocol\n  ----\t----\t--------\n")
	}
	for _, port := range s.Ports {
		d.printf("  %s\t%s\t%s\n", cmp.Or(deref(port.Name, ""), "<unset>"), set(port.Port), deref(port.Protocol, corev1.ProtocolTCP))
	}
	if len(s.Endpoints) == 0 {
		d.printf("Endpoints: <none>\n")
		return
	}
	d.printf("Endpoints:\n")
	for _, e := range s.Endpoints {
		d.field("  - Addresses", "%s", orNone(strings.Join(e.Addresses, ", ")))
		d.printf("    Conditions:\n      Ready:\t%s\n", set(e.Conditions.Ready))
		d.field("    Hostname", "%s", set(e.Hostname))
		if e.TargetRef != nil {
			d.field("    TargetRef", "%s/%s", e.TargetRef.Kind, e.TargetRef.Name)
		}
		d.field("    NodeName", "%s", set(e.NodeName))
		d.field("    Zone", "%s", set(e.Zone))
	}
}

func (d *description) ingress(i *networkingv1.Ingress) {
	d.lines("Labels", pairs(i.Labels, "="))
	d.field("Namespace", "%s", i.Namespace)
	var addresses []string
	for _, in := range i.Status.LoadBalancer.Ingress {
		if address := cmp.Or(in.IP, in.Hostname); address != "" {
			addresses = append(addresses, address)
		}
	}
	slices.Sort(addresses)
	d.field("Address", "%s", strings.Join(slices.Compact(addresses), ","))
	d.field("Ingress Class", "%s", deref(i.Spec.IngressClassName, "<none>"))
	other := "<default>"
	if i.Spec.DefaultBackend != nil {
		other = d.backend(i.Namespace, i.Spec.DefaultBackend)
	}
	d.field("Default backend", "%s", other)
	if len(i.Spec.TLS) > 0 {
		d.printf("TLS:\n")
	}
	for _, tls := range i.Spec.TLS {
		verb := "SNI routes"
		if tls.SecretName != "" {
			verb = tls.SecretName + " terminates"
		}
		d.printf("  %s %s\n", verb, strings.Join(tls.Hosts, ","))
	}
	d.printf("Rules:\n  Host\tPath\tBackends\n  ----\t----\t--------\n")
	none := true
	for _, rule := range i.Spec.Rules {
		if rule.HTTP == nil {
			continue
		}
		none = false
		d.printf("  %s\t\n", cmp.Or(rule.Host, "*"))
		for _, path := range rule.HTTP.Paths {
			d.printf("    \t%s \t%s\n", path.Path, d.backend(i.Namespace, &path.Backend))
		}
	}
	if none {
		d.printf("  *\t*\t%s\n", other)
	}
	d.annotations("Annotations", i.Annotations)
}

// backend returns a backend of an Ingress, with the addresses behind its Service.
func (d *description) backend(namespace string, b *networkingv1.IngressBackend) string {
	switch {
	case b.Service != nil:
		port := b.Service.Port
		number := port.Name
		if port.Number != 0 {
			number = fmt.Sprint(port.Number)
		}
		text := b.Service.Name + ":" + number
		for _, obj := range d.list("Service", namespace) {
			service, err := plain.As[*corev1.Service](obj)
			if err != nil || service.Name != b.Service.Name {
				continue
			}
			name := ""
			for _, p := range service.Spec.Ports {
				if port.Number != 0 && port.Number == p.Port || port.Name != "" && port.Name == p.Name {
					name = p.Name
				}
			}
			return fmt.Sprintf("%s (%s)", text, d.endpoints(service, name))
		}
		return fmt.Sprintf("%s (<error: services %q not found>)", text, b.Service.Name)
	case b.Resource != nil:
		return fmt.Sprintf("APIGroup: %s, Kind: %s, Name: %s", deref(b.Resource.APIGroup, "<none>"), b.Resource.Kind, b.Resource.Name)
	}
	return ""
}

func (d *description) ingressClass(c *networkingv1.IngressClass) {
	d.meta(c)
	d.field("Controller", "%s", c.Spec.Controller)
	p := c.Spec.Parameters
	if p == nil {
		return
	}
	d.printf("Parameters:\n")
	if p.APIGroup != nil {
		d.field("  APIGroup", "%s", *p.APIGroup)
	}
	d.printf("  Kind:\t%s\n  Name:\t%s\n", p.Kind, p.Name)
}

func (d *description) ipAddress(a *networkingv1.IPAddress) {
	d.meta(a)
	if ref := a.Spec.ParentRef; ref != nil {
		d.printf("Parent Reference:\n  Group:\t%s\n  Resource:\t%s\n  Namespace:\t%s\n  Name:\t%s\n", ref.Group, ref.Resource, ref.Namespace, ref.Name)
	}
}

func (d *description) serviceCIDR(c *networkingv1.ServiceCIDR) {
	d.meta(c)
	d.field("CIDRs", "%s", strings.Join(c.Spec.CIDRs, ", "))
	if len(c.Status.Conditions) > 0 {
		d.printf("Status:\nConditions:\n  Type\tStatus\tLastTransitionTime\tReason\tMessage\n  ----\t------\t------------------\t------\t-------\n")
	}
	for _, c := range c.Status.Conditions {
		d.printf("  %s\t%s\t%s\t%s\t%s\n", c.Type, c.Status, timeOf(c.LastTransitionTime), c.Reason, c.Message)
	}
}

func (d *description) networkPolicy(p *networkingv1.NetworkPolicy) {
	d.field("Created on", "%s", p.CreationTimestamp.UTC())
	d.meta(p)
	chosen := "<none> (Allowing the specific traffic to all pods in this namespace)"
	if s := p.Spec.PodSelector; len(s.MatchLabels)+len(s.MatchExpressions) > 0 {
		chosen = metav1.FormatLabelSelector(&s)
	}
	d.printf("Spec:\n  PodSelector:     %s\n", chosen)
	if slices.Contains(p.Spec.PolicyTypes, networkingv1.PolicyTypeIngress) {
		d.printf("  Allowing ingress traffic:\n")
		for i, rule := range p.Spec.Ingress {
			d.traffic(i > 0, rule.Ports, "From", "source", rule.From)
		}
		d.isolated("ingress", len(p.Spec.Ingress))
	} else {
		d.printf("  Not affecting ingress traffic\n")
	}
	if slices.Contains(p.Spec.PolicyTypes, networkingv1.PolicyTypeEgress) {
		d.printf("  Allowing egress traffic:\n")
		for i, rule := range p.Spec.Egress {
			d.traffic(i > 0, rule.Ports, "To", "destination", rule.To)
		}
		d.isolated("egress", len(p.Spec.Egress))
	} else {
		d.printf("  Not affecting egress traffic\n")
	}
	types := joined(p.Spec.PolicyTypes, func(t networkingv1.PolicyType) string { return string(t) })
	d.printf("  Policy Types: %s\n", orNone(strings.ReplaceAll(types, ",", ", ")))
}

func (d *description) isolated(direction string, rules int) {
	if rules == 0 {
		d.printf("    <none> (Selected pods are isolated for %s connectivity)\n", direction)
	}
}

// traffic writes a rule of a NetworkPolicy. more: it is not the first one.
func (d *description) traffic(more bool, ports []networkingv1.NetworkPolicyPort, preposition, what string, peers []networkingv1.NetworkPolicyPeer) {
	if more {
		d.printf("    ----------\n")
	}
	for _, port := range ports {
		protocol := deref(port.Protocol, corev1.ProtocolTCP)
		if port.EndPort == nil {
			d.printf("    To Port: %s/%s\n", port.Port, protocol)
		} else {
			d.printf("    To Port Range: %s-%d/%s\n", port.Port, *port.EndPort, protocol)
		}
	}
	if len(ports) == 0 {
		d.printf("    To Port: <any> (traffic allowed to all ports)\n")
	}
	if len(peers) == 0 {
		d.printf("    %s: <any> (traffic not restricted by %s)\n", preposition, what)
	}
	for _, peer := range peers {
		d.printf("    %s:\n", preposition)
		if peer.NamespaceSelector != nil {
			d.printf("      NamespaceSelector: %s\n", metav1.FormatLabelSelector(peer.NamespaceSelector))
		}
		if peer.PodSelector != nil {
			d.printf("      PodSelector: %s\n", metav1.FormatLabelSelector(peer.PodSelector))
		}
		if peer.IPBlock != nil {
			d.printf("      IPBlock:\n        CIDR: %s\n        Except: %s\n", peer.IPBlock.CIDR, strings.Join(peer.IPBlock.Except, ", "))
		}
	}
}
