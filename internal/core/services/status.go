package services

import (
	"net"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/volsim/volsim/internal/core/plain"
	"github.com/volsim/volsim/internal/core/strategy"
)

// validateStatus validates the addresses of a load balancer (API-552).
func validateStatus(obj, old *plain.Object) field.ErrorList {
	svc, before := &corev1.Service{}, &corev1.Service{}
	if plain.Write(obj, svc) != nil || plain.Write(old, before) != nil {
		return nil // the body was decoded before
	}
	path := field.NewPath("status", "loadBalancer", "ingress")
	// API-552: only a Service of that type has one.
	if svc.Spec.Type != corev1.ServiceTypeLoadBalancer && len(svc.Status.LoadBalancer.Ingress) > 0 {
		return field.ErrorList{field.Forbidden(path, "may only be used when `spec.type` is 'LoadBalancer'")}
	}
	var known []string
	for _, ingress := range before.Status.LoadBalancer.Ingress {
		if ingress.IP != "" {
			known = append(known, ingress.IP)
		}
	}
	var errs field.ErrorList
	for i := range svc.Status.LoadBalancer.Ingress {
		errs = append(errs, validateIngress(&svc.Status.LoadBalancer.Ingress[i], known, path.Index(i))...)
	}
	return errs
}

// completeIngresses sets the modes of the IPs of a load balancer (API-552).
func completeIngresses(obj *plain.Object) {
	content := obj.Content()
	kind, _, _ := unstructured.NestedString(content, "spec", "type")
	ingresses, _, _ := unstructured.NestedFieldNoCopy(content, "status", "loadBalancer", "ingress")
	list, _ := ingresses.([]any)
	if kind != string(corev1.ServiceTypeLoadBalancer) || len(list) == 0 {
		return
	}
	content = runtime.DeepCopyJSON(content)
	ingresses, _, _ = unstructured.NestedFieldNoCopy(content, "status", "loadBalancer", "ingress")
	for _, item := range ingresses.([]any) {
		ingress, _ := item.(map[string]any)
		if ip, _ := ingress["ip"].(string); ip != "" && ingress["ipMode"] == nil {
			ingress["ipMode"] = string(corev1.LoadBalancerIPModeVIP)
		}
	}
	obj.SetContent(content)
}

var ingressModes = []corev1.LoadBalancerIPMode{corev1.LoadBalancerIPModeProxy, corev1.LoadBalancerIPModeVIP}

func validateIngress(ingress *corev1.LoadBalancerIngress, known []string, path *field.Path) field.ErrorList {
	var errs field.ErrorList
	if ingress.IP != "" {
		errs = append(errs, validation.IsValidIPForLegacyField(path.Child("ip"), ingress.IP, true, known)...)
	}
	switch mode := ingress.IPMode; {
	case mode == nil && ingress.IP != "":
		errs = append(errs, field.Required(path.Child("ipMode"), "must be specified when `ip` is set"))
	case mode == nil:
	case ingress.IP == "":
		errs = append(errs, field.Forbidden(path.Child("ipMode"), "may not be specified when `ip` is not set"))
	case !slices.Contains(ingressModes, *mode):
		errs = append(errs, field.NotSupported(path.Child("ipMode"), mode, ingressModes))
	}
	if ingress.Hostname != "" {
		errs = append(errs, strategy.Subdomain(ingress.Hostname, path, "hostname")...)
		if net.ParseIP(ingress.Hostname) != nil {
			errs = append(errs, field.Invalid(path.Child("hostname"), ingress.Hostname, "must be a DNS name, not an IP address"))
		}
	}
	return errs
}
