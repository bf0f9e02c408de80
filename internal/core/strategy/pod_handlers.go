package strategy

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// validateHooks validates the lifecycle and the probes of a container (API-354). grace is the grace period of the pod.
func validateHooks(c *corev1.Container, grace *int64, at func() *field.Path) field.ErrorList {
	var errs field.ErrorList
	if l := c.Lifecycle; l != nil {
		path := at().Child("lifecycle")
		if l.PostStart != nil {
			errs = append(errs, validateHandler(handlerOf(l.PostStart), grace, path.Child("postStart"))...)
		}
		if l.PreStop != nil {
			errs = append(errs, validateHandler(handlerOf(l.PreStop), grace, path.Child("preStop"))...)
		}
	}
	if p := c.LivenessProbe; p != nil {
		errs = append(errs, validateDecisiveProbe(p, at().Child("livenessProbe"))...)
	}
	if p := c.ReadinessProbe; p != nil {
		path := at().Child("readinessProbe")
		errs = append(errs, validateProbe(p, path)...)
		if seconds := p.TerminationGracePeriodSeconds; seconds != nil {
			// API-354: this probe ends nothing.
			errs = append(errs, field.Invalid(path.Child("terminationGracePeriodSeconds"), *seconds, "must not be set for readinessProbes"))
		}
	}
	if p := c.StartupProbe; p != nil {
		errs = append(errs, validateDecisiveProbe(p, at().Child("startupProbe"))...)
	}
	return errs
}

// validateDecisiveProbe validates a probe whose first success counts.
func validateDecisiveProbe(p *corev1.Probe, path *field.Path) field.ErrorList {
	errs := validateProbe(p, path)
	if p.SuccessThreshold != 1 {
		errs = append(errs, field.Invalid(path.Child("successThreshold"), p.SuccessThreshold, "must be 1"))
	}
	return errs
}

func validateProbe(p *corev1.Probe, path *field.Path) field.ErrorList {
	errs := validateHandler(handler{exec: p.Exec, http: p.HTTPGet, tcp: p.TCPSocket, grpc: p.GRPC}, nil, path)
	for _, f := range [...]struct {
		child string
		n     int32
	}{
		{"initialDelaySeconds", p.InitialDelaySeconds}, {"timeoutSeconds", p.TimeoutSeconds}, {"periodSeconds", p.PeriodSeconds},
		{"successThreshold", p.SuccessThreshold}, {"failureThreshold", p.FailureThreshold},
	} {
		errs = append(errs, notBelowZero(int64(f.n), path.Child(f.child))...)
	}
	if seconds := p.TerminationGracePeriodSeconds; seconds != nil && *seconds <= 0 {
		errs = append(errs, field.Invalid(path.Child("terminationGracePeriodSeconds"), *seconds, "must be greater than 0"))
	}
	return errs
}

// handler is the action of a probe or a hook. One of the fields is set.
type handler struct {
	exec  *corev1.ExecAction
	http  *corev1.HTTPGetAction
	tcp   *corev1.TCPSocketAction
	grpc  *corev1.GRPCAction
	sleep *corev1.SleepAction
}

func handlerOf(h *corev1.LifecycleHandler) handler {
	return handler{exec: h.Exec, http: h.HTTPGet, tcp: h.TCPSocket, sleep: h.Sleep}
}

// validateHandler requires exactly one action, which must be possible (API-354).
func validateHandler(h handler, grace *int64, path *field.Path) field.ErrorList {
	var errs field.ErrorList
	known := false
	check := func(given bool, child string, validate func(at *field.Path) field.ErrorList) {
		switch at := path.Child(child); {
		case !given:
		case known:
			errs = append(errs, field.Forbidden(at, "may not specify more than 1 handler type"))
		default:
			known = true
			errs = append(errs, validate(at)...)
		}
	}
	check(h.exec != nil, "exec", func(at *field.Path) field.ErrorList { return requiredList(at, "command", h.exec.Command) })
	check(h.http != nil, "httpGet", func(at *field.Path) field.ErrorList { return validateHTTPGet(h.http, at) })
	check(h.tcp != nil, "tcpSocket", func(at *field.Path) field.ErrorList { return PortNumberOrName(h.tcp.Port, at.Child("port")) })
	check(h.grpc != nil, "grpc", func(at *field.Path) field.ErrorList {
		return PortNumberOrName(intstr.FromInt32(h.grpc.Port), at.Child("port"))
	})
	check(h.sleep != nil, "sleep", func(at *field.Path) field.ErrorList {
		if grace == nil || h.sleep.Seconds >= 0 && h.sleep.Seconds <= *grace {
			return nil
		}
		return field.ErrorList{field.Invalid(at, h.sleep.Seconds, fmt.Sprintf("must be non-negative and less than terminationGracePeriodSeconds (%d)", *grace))}
	})
	if !known {
		errs = append(errs, field.Required(path, "must specify a handler type"))
	}
	return errs
}

func validateHTTPGet(get *corev1.HTTPGetAction, path *field.Path) field.ErrorList {
	errs := Required(path, "path", get.Path)
	errs = append(errs, PortNumberOrName(get.Port, path.Child("port"))...)
	errs = append(errs, OneOf(get.Scheme, path, "scheme", []corev1.URIScheme{corev1.URISchemeHTTP, corev1.URISchemeHTTPS})...)
	for _, header := range get.HTTPHeaders {
		errs = AppendInvalid(errs, path.Child("httpHeaders"), header.Name, validation.IsHTTPHeaderName(header.Name))
	}
	return errs
}

// PortNumberOrName requires the number of a port, or what can be its name.
func PortNumberOrName(port intstr.IntOrString, path *field.Path) field.ErrorList {
	if port.Type == intstr.Int {
		return AppendInvalid(nil, path, port.IntValue(), validation.IsValidPortNum(port.IntValue()))
	}
	return AppendInvalid(nil, path, port.StrVal, validation.IsValidPortName(port.StrVal))
}
