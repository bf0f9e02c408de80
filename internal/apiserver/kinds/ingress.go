package kinds

import (
	"cmp"
	"fmt"
	"net"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	"k8s.io/apimachinery/pkg/api/validate/content"
	"k8s.io/apimachinery/pkg/api/validation"
	utilvalidation "k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/volsim/volsim/api"
	"github.com/volsim/volsim/internal/core/plain"
	"github.com/volsim/volsim/internal/core/store"
	"github.com/volsim/volsim/internal/core/strategy"
)

// ingressClassAnnotation names the class of an Ingress of old clients.
const ingressClassAnnotation = "kubernetes.io/ingress.class"

// The rules of Ingresses (API-557) and of IngressClasses (API-558).
var (
	ingressRules = store.KindRules{
		Check: func(obj, old *plain.Object) field.ErrorList {
			ingress, err := plain.As[*networkingv1.Ingress](obj)
			if err != nil {
				return nil // the body was decoded before
			}
			before := &networkingv1.Ingress{}
			if old != nil {
				before = plain.Shared[*networkingv1.Ingress](old)
			}
			return append(prefixOfUpdate(obj, old), checkIngress(ingress, before, old == nil)...)
		},
		CheckStatus: statusCheck(checkIngressStatus),
		Warn: func(obj, old *plain.Object) []string {
			_, annotated := obj.Annotations[ingressClassAnnotation]
			spec, _ := obj.Content()["spec"].(map[string]any)
			if old != nil || !annotated || spec["ingressClassName"] != nil {
				return nil
			}
			return []string{fmt.Sprintf("annotation %q is deprecated, please use 'spec.ingressClassName' instead", ingressClassAnnotation)}
		},
	}
	ingressClassRules = store.KindRules{
		Default: func(obj *plain.Object) {
			typedDefault(obj, func(class *networkingv1.IngressClass) {
				if p := class.Spec.Parameters; p != nil && p.Scope == nil {
					p.Scope = new(networkingv1.IngressClassParametersReferenceScopeCluster)
				}
			})
		},
		Check: func(obj, old *plain.Object) field.ErrorList {
			class, err := plain.As[*networkingv1.IngressClass](obj)
			if err != nil {
				return nil
			}
			var errs field.ErrorList
			path := field.NewPath("spec")
			// API-558: the controller of a class does not change.
			if old != nil && class.Spec.Controller != plain.Shared[*networkingv1.IngressClass](old).Spec.Controller {
				errs = append(errs, field.Invalid(path.Child("controller"), class.Spec.Controller, strategy.Immutable))
			}
			errs = append(errs, prefixOfUpdate(obj, old)...)
			if len(class.Spec.Controller) > maxController {
				errs = append(errs, field.TooLong(path.Child("controller"), "", maxController))
			}
			errs = append(errs, utilvalidation.IsDomainPrefixedPath(path.Child("controller"), class.Spec.Controller)...)
			return append(errs, checkIngressParameters(class.Spec.Parameters, path.Child("parameters"))...)
		},
	}
)

const maxController = 250

// checkIngress validates an Ingress. What was wrong with names of Secrets and with rules for wildcards may stay.
func checkIngress(ingress, old *networkingv1.Ingress, created bool) field.ErrorList {
	path := field.NewPath("spec")
	spec := &ingress.Spec
	var errs field.ErrorList
	if len(spec.Rules) == 0 && spec.DefaultBackend == nil {
		errs = append(errs, field.Invalid(path, spec.Rules, "either `defaultBackend` or `rules` must be specified"))
	}
	if spec.DefaultBackend != nil {
		errs = append(errs, checkIngressBackend(spec.DefaultBackend, path.Child("defaultBackend"))...)
	}
	lenient := slices.ContainsFunc(old.Spec.Rules, func(rule networkingv1.IngressRule) bool {
		return strings.Contains(rule.Host, "*") && len(checkIngressPaths(rule.HTTP, nil)) > 0
	})
	for i, rule := range spec.Rules {
		at := path.Child("rules").Index(i)
		errs = append(errs, checkIngressHost(rule.Host, at.Child("host"))...)
		if !lenient || !strings.Contains(rule.Host, "*") {
			errs = append(errs, checkIngressPaths(rule.HTTP, at.Child("http"))...)
		}
	}
	errs = append(errs, checkIngressTLS(spec.TLS, old.Spec.TLS, path.Child("tls"))...)
	if class := spec.IngressClassName; class != nil {
		errs = strategy.AppendInvalid(errs, path.Child("ingressClassName"), *class, validation.NameIsDNSSubdomain(*class, false))
	}
	// API-557: the field has taken the place of the annotation.
	if class, has := ingress.Annotations[ingressClassAnnotation]; created && has && spec.IngressClassName != nil && class != *spec.IngressClassName {
		errs = append(errs, field.Invalid(field.NewPath("annotations").Child(ingressClassAnnotation), class, "must match `ingressClassName` when both are specified"))
	}
	return errs
}

func checkIngressTLS(list, old []networkingv1.IngressTLS, path *field.Path) field.ErrorList {
	var errs field.ErrorList
	invalid := func(tls networkingv1.IngressTLS) []string {
		if tls.SecretName == "" {
			return nil
		}
		return validation.NameIsDNSSubdomain(tls.SecretName, false)
	}
	lenient := slices.ContainsFunc(old, func(tls networkingv1.IngressTLS) bool { return len(invalid(tls)) > 0 })
	for i, tls := range list {
		for j, host := range tls.Hosts {
			errs = append(errs, checkHostName(host, path.Index(i).Child("hosts").Index(j))...)
		}
		if !lenient {
			errs = strategy.AppendInvalid(errs, path.Index(i).Child("secretName"), tls.SecretName, invalid(tls))
		}
	}
	return errs
}

// checkIngressHost requires a DNS name, which may begin with `*.`.
func checkIngressHost(host string, path *field.Path) field.ErrorList {
	if host == "" {
		return nil
	}
	var errs field.ErrorList
	if net.ParseIP(host) != nil {
		errs = append(errs, field.Invalid(path, host, "must be a DNS name, not an IP address"))
	}
	return append(errs, checkHostName(host, path)...)
}

func checkHostName(host string, path *field.Path) field.ErrorList {
	if strings.Contains(host, "*") {
		return strategy.AppendInvalid(nil, path, host, utilvalidation.IsWildcardDNS1123Subdomain(host))
	}
	return strategy.AppendInvalid(nil, path, host, utilvalidation.IsDNS1123Subdomain(host))
}

func checkIngressPaths(rule *networkingv1.HTTPIngressRuleValue, path *field.Path) field.ErrorList {
	if rule == nil {
		return nil
	}
	var errs field.ErrorList
	if len(rule.Paths) == 0 {
		errs = append(errs, field.Required(path.Child("paths"), ""))
	}
	for i := range rule.Paths {
		errs = append(errs, checkIngressPath(&rule.Paths[i], path.Child("paths").Index(i))...)
	}
	return errs
}

var pathTypes = []networkingv1.PathType{networkingv1.PathTypeExact, networkingv1.PathTypeImplementationSpecific, networkingv1.PathTypePrefix}

func checkIngressPath(p *networkingv1.HTTPIngressPath, path *field.Path) field.ErrorList {
	if p.PathType == nil {
		return field.ErrorList{field.Required(path.Child("pathType"), "pathType must be specified")}
	}
	var errs field.ErrorList
	at := path.Child("path")
	invalid := func(why string) { errs = append(errs, field.Invalid(at, p.Path, why)) }
	if specific := *p.PathType == networkingv1.PathTypeImplementationSpecific; !slices.Contains(pathTypes, *p.PathType) {
		errs = append(errs, field.NotSupported(path.Child("pathType"), *p.PathType, pathTypes))
	} else if !strings.HasPrefix(p.Path, "/") && !(specific && p.Path == "") {
		invalid("must be an absolute path")
	}
	// API-557: controllers compare these paths as they are.
	if *p.PathType == networkingv1.PathTypeExact || *p.PathType == networkingv1.PathTypePrefix {
		for _, part := range []string{"//", "/./", "/../", "%2f", "%2F"} {
			if strings.Contains(p.Path, part) {
				invalid(fmt.Sprintf("must not contain '%s'", part))
			}
		}
		for _, end := range []string{"/..", "/."} {
			if strings.HasSuffix(p.Path, end) {
				invalid(fmt.Sprintf("cannot end with '%s'", end))
			}
		}
	}
	return append(errs, checkIngressBackend(&p.Backend, path.Child("backend"))...)
}

// checkIngressBackend requires a port of a Service, or another object of the namespace.
func checkIngressBackend(backend *networkingv1.IngressBackend, path *field.Path) field.ErrorList {
	switch {
	case backend.Resource != nil && backend.Service != nil:
		return field.ErrorList{field.Invalid(path, "", "cannot set both resource and service backends")}
	case backend.Resource != nil:
		return checkLocalReference(backend.Resource, path.Child("resource"))
	case backend.Service == nil:
		return field.ErrorList{field.Invalid(path, "", "resource or service backend is required")}
	}
	service := backend.Service
	at := path.Child("service")
	var errs field.ErrorList
	if service.Name == "" {
		errs = append(errs, field.Required(at.Child("name"), ""))
	} else {
		errs = strategy.AppendInvalid(errs, at.Child("name"), service.Name, validation.NameIsDNSLabel(service.Name, false))
	}
	switch port := service.Port; {
	case port.Name != "" && port.Number != 0:
		return append(errs, field.Invalid(path, "", "cannot set both port name & port number"))
	case port.Name != "":
		return strategy.AppendInvalid(errs, at.Child("port", "name"), port.Name, utilvalidation.IsValidPortName(port.Name))
	case port.Number != 0:
		return strategy.AppendInvalid(errs, at.Child("port", "number"), port.Number, utilvalidation.IsValidPortNum(int(port.Number)))
	}
	return append(errs, field.Required(path, "port name or number is required"))
}

func checkLocalReference(ref *corev1.TypedLocalObjectReference, path *field.Path) field.ErrorList {
	return checkNamed(ref.APIGroup, ref.Kind, ref.Name, path)
}

func checkNamed(group *string, kind, name string, path *field.Path) field.ErrorList {
	var errs field.ErrorList
	if group != nil {
		errs = strategy.AppendInvalid(errs, path.Child("apiGroup"), *group, utilvalidation.IsDNS1123Subdomain(*group))
	}
	for _, f := range []struct{ name, value string }{{"kind", kind}, {"name", name}} {
		if f.value == "" {
			errs = append(errs, field.Required(path.Child(f.name), ""))
		} else {
			errs = strategy.AppendInvalid(errs, path.Child(f.name), f.value, content.IsPathSegmentName(f.value))
		}
	}
	return errs
}

var parameterScopes = []string{networkingv1.IngressClassParametersReferenceScopeCluster, networkingv1.IngressClassParametersReferenceScopeNamespace}

// checkIngressParameters validates the object with the parameters of a class (API-558).
func checkIngressParameters(p *networkingv1.IngressClassParametersReference, path *field.Path) field.ErrorList {
	if p == nil {
		return nil
	}
	errs := checkNamed(p.APIGroup, p.Kind, p.Name, path)
	inNamespace := p.Scope != nil && *p.Scope == networkingv1.IngressClassParametersReferenceScopeNamespace
	at := path.Child("namespace")
	switch {
	case p.Scope == nil:
		return append(errs, field.Required(path.Child("scope"), ""))
	case !slices.Contains(parameterScopes, *p.Scope):
		return append(errs, field.NotSupported(path.Child("scope"), *p.Scope, parameterScopes))
	case inNamespace && p.Namespace == nil:
		return append(errs, field.Required(at, "`parameters.scope` is set to 'Namespace'"))
	case inNamespace:
		return strategy.AppendInvalid(errs, at, *p.Namespace, validation.ValidateNamespaceName(*p.Namespace, false))
	case p.Namespace != nil:
		return append(errs, field.Forbidden(at, "`parameters.scope` is set to 'Cluster'"))
	}
	return errs
}

// checkIngressStatus validates the addresses of an Ingress (API-557). What was stored before may stay.
func checkIngressStatus(c *statusErrors, ingress, old *networkingv1.Ingress) {
	var known []string
	for _, address := range old.Status.LoadBalancer.Ingress {
		known = append(known, address.IP)
	}
	for i, address := range ingress.Status.LoadBalancer.Ingress {
		at := c.path.Child("loadBalancer", "ingress").Index(i)
		if address.IP != "" {
			c.add(utilvalidation.IsValidIPForLegacyField(at.Child("ip"), address.IP, true, known)...)
		}
		if address.Hostname == "" {
			continue
		}
		c.add(strategy.AppendInvalid(nil, at.Child("hostname"), address.Hostname, utilvalidation.IsDNS1123Subdomain(address.Hostname))...)
		if net.ParseIP(address.Hostname) != nil {
			c.add(field.Invalid(at.Child("hostname"), address.Hostname, "must be a DNS name, not an IP address"))
		}
	}
}

// CompleteIngress gives a new Ingress without a class the default one: of several the newest (API-577).
func CompleteIngress(obj *plain.Object, classes []api.Object) {
	if _, ok := obj.Annotations[ingressClassAnnotation]; ok {
		return
	}
	var class api.Object
	for _, c := range classes {
		if c.GetAnnotations()[networkingv1.AnnotationIsDefaultIngressClass] != "true" {
			continue
		}
		if class == nil || cmp.Or(c.GetCreationTimestamp().Time.Compare(class.GetCreationTimestamp().Time), strings.Compare(class.GetName(), c.GetName())) > 0 {
			class = c
		}
	}
	if class == nil {
		return
	}
	typedDefault(obj, func(ingress *networkingv1.Ingress) {
		if ingress.Spec.IngressClassName == nil {
			ingress.Spec.IngressClassName = new(class.GetName())
		}
	})
}
