//go:build !js

package kubectl

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	schedulingv1 "k8s.io/api/scheduling/v1"

	"github.com/volsim/volsim/api"
	"github.com/volsim/volsim/internal/core/plain"
	"github.com/volsim/volsim/internal/core/store"
)

func (d *description) configMap(c *corev1.ConfigMap) {
	d.meta(c)
	d.printf("\nData\n====\n")
	for _, key := range slices.Sorted(maps.Keys(c.Data)) {
		d.printf("%s:\n----\n%s\n\n", key, c.Data[key])
	}
	d.printf("\nBinaryData\n====\n")
	for _, key := range slices.Sorted(maps.Keys(c.BinaryData)) {
		d.printf("%s: %d bytes\n", key, len(c.BinaryData[key]))
	}
	d.printf("\n")
}

func (d *description) secretData(s *corev1.Secret) {
	d.meta(s)
	d.printf("\nType:\t%s\n\nData\n====\n", s.Type)
	for _, key := range slices.Sorted(maps.Keys(s.Data)) {
		if key == corev1.ServiceAccountTokenKey && s.Type == corev1.SecretTypeServiceAccountToken {
			d.field(key, "%s", s.Data[key])
			continue
		}
		d.field(key, "%d bytes", len(s.Data[key]))
	}
}

func (d *description) serviceAccount(a *corev1.ServiceAccount) {
	d.meta(a)
	label := "Image pull secrets:"
	if len(a.ImagePullSecrets) == 0 {
		d.printf("%s\t<none>\n", label)
	}
	for _, s := range a.ImagePullSecrets {
		d.printf("%s\t%s\n", label, s.Name)
		label = strings.Repeat(" ", len(label))
	}
}

func (d *description) service(s *corev1.Service) {
	d.meta(s)
	d.field("Selector", "%s", inOneLine(s.Spec.Selector))
	d.field("Type", "%s", s.Spec.Type)
	if p := s.Spec.IPFamilyPolicy; p != nil {
		d.field("IP Family Policy", "%s", *p)
	}
	d.field("IP Families", "%s", orNone(joined(s.Spec.IPFamilies, func(f corev1.IPFamily) string { return string(f) })))
	d.field("IP", "%s", s.Spec.ClusterIP)
	d.field("IPs", "%s", orNone(strings.Join(s.Spec.ClusterIPs, ",")))
	d.unlessEmpty("External IPs", strings.Join(s.Spec.ExternalIPs, ","))
	d.unlessEmpty("Desired LoadBalancer IP", s.Spec.LoadBalancerIP)
	d.unlessEmpty("External Name", s.Spec.ExternalName)
	d.unlessEmpty("LoadBalancer Ingress", strings.ReplaceAll(joined(s.Status.LoadBalancer.Ingress, entryPoint), ",", ", "))
	for _, p := range s.Spec.Ports {
		name := p.Name
		if name == "" {
			name = "<unset>"
		}
		d.printf("Port:\t%s\t%d/%s\nTargetPort:\t%s/%[3]s\n", name, p.Port, p.Protocol, p.TargetPort.String())
		d.unlessEmpty("AppProtocol", deref(p.AppProtocol, ""))
		if p.NodePort != 0 {
			d.printf("NodePort:\t%s\t%d/%s\n", name, p.NodePort, p.Protocol)
		}
		d.field("Endpoints", "%s", d.endpoints(s, p.Name))
	}
	d.field("Session Affinity", "%s", s.Spec.SessionAffinity)
	d.unlessEmpty("External Traffic Policy", string(s.Spec.ExternalTrafficPolicy))
	d.unlessEmpty("Internal Traffic Policy", string(deref(s.Spec.InternalTrafficPolicy, "")))
	if s.Spec.HealthCheckNodePort != 0 {
		d.field("HealthCheck NodePort", "%d", s.Spec.HealthCheckNodePort)
	}
	d.unlessEmpty("LoadBalancer Source Ranges", strings.Join(s.Spec.LoadBalancerSourceRanges, ","))
	d.unlessEmpty("Traffic Distribution", deref(s.Spec.TrafficDistribution, ""))
}

func entryPoint(i corev1.LoadBalancerIngress) string {
	switch {
	case i.IP == "":
		return i.Hostname
	case i.IPMode != nil:
		return fmt.Sprintf("%s (%s)", i.IP, *i.IPMode)
	}
	return i.IP
}

// endpoints returns the first addresses behind a port of a Service, which are in EndpointSlices.
func (d *description) endpoints(s *corev1.Service, port string) string {
	const shown = 3
	var all []string
	found := false
	for _, obj := range d.list("EndpointSlice.discovery.k8s.io", s.Namespace) {
		u, err := plain.Unstructured(obj)
		if err != nil || obj.GetLabels()["kubernetes.io/service-name"] != s.Name {
			continue
		}
		found = true
		ports := list(u.Object, "ports")
		for _, p := range ports {
			if text(p, "name") == port {
				all = append(all, ready(u.Object, ":"+number(p, "port"))...)
			}
		}
		if len(ports) == 0 {
			all = append(all, ready(u.Object, "")...)
		}
	}
	switch {
	case !found:
		return "<none>"
	case len(all) > shown:
		return fmt.Sprintf("%s + %d more...", strings.Join(all[:shown], ","), len(all)-shown)
	}
	return strings.Join(all, ",")
}

// ready returns the first address of each endpoint that is ready, followed by the port.
func ready(slice map[string]any, port string) []string {
	var all []string
	for _, e := range list(slice, "endpoints") {
		addresses, _ := at(e, "addresses").([]any)
		if at(e, "conditions", "ready") != false && len(addresses) > 0 {
			all = append(all, fmt.Sprint(addresses[0], port))
		}
	}
	return all
}

func (d *description) limits(l *corev1.LimitRange) {
	d.printf("Type\tResource\tMin\tMax\tDefault Request\tDefault Limit\tMax Limit/Request Ratio\n" +
		"----\t--------\t---\t---\t---------------\t-------------\t-----------------------\n")
	d.limitRows("", l)
}

// limitRows writes a row for each resource of each limit. kubectl writes the resources of a limit in any order, here they are sorted.
func (d *description) limitRows(indent string, l *corev1.LimitRange) {
	for _, item := range l.Spec.Limits {
		lists := []corev1.ResourceList{item.Min, item.Max, item.DefaultRequest, item.Default, item.MaxLimitRequestRatio}
		names := map[corev1.ResourceName]bool{}
		for _, list := range lists {
			for name := range list {
				names[name] = true
			}
		}
		for _, name := range slices.Sorted(maps.Keys(names)) {
			d.printf("%s%s\t%s", indent, item.Type, name)
			for _, list := range lists {
				text := "-"
				if q, ok := list[name]; ok {
					text = q.String()
				}
				d.printf("\t%s", text)
			}
			d.printf("\n")
		}
	}
}

func (d *description) namespace(n *corev1.Namespace) {
	d.meta(n)
	d.field("Status", "%s", n.Status.Phase)
	if len(n.Status.Conditions) > 0 {
		d.printf("Conditions:\n  Type\tStatus\tLastTransitionTime\tReason\tMessage\n  ----\t------\t------------------\t------\t-------\n")
	}
	for _, c := range n.Status.Conditions {
		d.printf("  %s\t%s\t%s\t%s\t%s\n", c.Type, c.Status, timeOf(c.LastTransitionTime), c.Reason, c.Message)
	}
	quotas := d.list(store.QuotaKind, n.Name)
	if len(quotas) == 0 {
		d.printf("\nNo resource quota.\n")
	} else {
		d.printf("\nResource Quotas\n")
	}
	for _, obj := range quotas {
		q, err := plain.As[*corev1.ResourceQuota](obj)
		if err != nil {
			continue
		}
		d.printf("  Name:\t%s\n", q.Name)
		d.scopesOf(q, "  ", "  ")
		d.printf("  Resource\tUsed\tHard\n  --------\t---\t---\n")
		for _, name := range slices.Sorted(maps.Keys(q.Status.Hard)) {
			used, hard := q.Status.Used[name], q.Status.Hard[name]
			d.printf("  %s\t%s\t%s\n", name, used.String(), hard.String())
		}
	}
	d.namespaceLimits(d.list("LimitRange", n.Name))
}

func (d *description) namespaceLimits(limits []api.Object) {
	if len(limits) == 0 {
		d.printf("\nNo LimitRange resource.\n")
		return
	}
	d.printf("\nResource Limits\n Type\tResource\tMin\tMax\tDefault Request\tDefault Limit\tMax Limit/Request Ratio\n" +
		" ----\t--------\t---\t---\t---------------\t-------------\t-----------------------\n")
	for _, obj := range limits {
		if l, err := plain.As[*corev1.LimitRange](obj); err == nil {
			d.limitRows(" ", l)
		}
	}
}

func (d *description) priorityClass(c *schedulingv1.PriorityClass) {
	d.field("Value", "%d", c.Value)
	d.field("GlobalDefault", "%t", c.GlobalDefault)
	d.field("PreemptionPolicy", "%s", deref(c.PreemptionPolicy, corev1.PreemptLowerPriority))
	d.field("Description", "%s", c.Description)
	d.field("Annotations", "%s", inOneLine(c.Annotations))
}
