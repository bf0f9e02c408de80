package services

import (
	"errors"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/volsim/volsim/api"
	"github.com/volsim/volsim/internal/core/plain"
)

// Admit refuses a Service whose addresses or node ports cannot be allocated (API-350). The server finds that out before it validates
// the Service, so such an error comes alone.
func (all Stored) Admit(obj, old *plain.Object, dryRun bool) error {
	svc, before := serviceOf(obj), serviceOf(old)
	if svc == nil {
		return nil // validation says why
	}
	invalid := func(errs ...*field.Error) error {
		return apierrors.NewInvalid(schema.GroupKind{Kind: "Service"}, svc.Name, errs)
	}
	if errs := validateAddresses(svc, before); len(errs) > 0 {
		return invalid(errs...)
	}
	var had corev1.ServiceSpec
	if before != nil {
		had = before.Spec
	}
	ips, ports := map[string]bool{}, portAllocation{used: map[int32]bool{}, dry: dryRun}
	all.others(api.KeyOf(svc), func(other *corev1.Service) {
		ips[other.Spec.ClusterIP] = other.Spec.ClusterIP != noClusterIP
		for _, port := range append(nodePortsOf(&other.Spec), other.Spec.HealthCheckNodePort) {
			ports.used[port] = true
		}
	})
	spec := &svc.Spec
	if spec.Type != corev1.ServiceTypeExternalName && ips[spec.ClusterIP] && spec.ClusterIP != "" && spec.ClusterIP != had.ClusterIP {
		// API-350: an address leads to one Service.
		return invalid(field.Invalid(field.NewPath("spec", "clusterIPs"), spec.ClusterIPs, fmt.Sprintf("failed to allocate IP %s: provided IP is already allocated", spec.ClusterIP)))
	}
	if exposed(spec) {
		take := ports.takeNew
		if before != nil {
			take = func(all []corev1.ServicePort) (int, error) { return ports.takeOther(all, nodePortsOf(&had)) }
		}
		if at, why := take(spec.Ports); at < 0 {
			return why
		} else if why != nil {
			return invalid(field.Invalid(field.NewPath("spec", "ports").Index(at).Child("nodePort"), spec.Ports[at].NodePort, why.Error()))
		}
	}
	if checksHealth(spec) && !checksHealth(&had) {
		if err := ports.take(spec.HealthCheckNodePort); err != nil {
			return apierrors.NewInternalError(fmt.Errorf("failed to allocate requested HealthCheck NodePort %d: %w", spec.HealthCheckNodePort, err))
		}
	}
	return nil
}

// portAllocation allocates the node ports of a Service.
type portAllocation struct {
	used map[int32]bool
	dry  bool
}

func (a *portAllocation) take(port int32) error {
	switch {
	case !a.dry && (port < firstNodePort || port >= firstNodePort+nodePorts): // API-350: a dry run only compares the port with those of others
		return fmt.Errorf("provided port is not in the valid range. The range of valid ports is %d-%d", firstNodePort, firstNodePort+nodePorts-1)
	case a.used[port]:
		return errors.New("provided port is already allocated")
	}
	a.used[port] = true
	return nil
}

// takeNew takes the node ports of a new Service. It returns the index of one that it cannot take. Protocols of one port share its node port.
func (a *portAllocation) takeNew(ports []corev1.ServicePort) (int, error) {
	taken := map[int32]int32{}
	for i, p := range ports {
		if p.NodePort == 0 || taken[p.Port] == p.NodePort {
			continue
		}
		if err := a.take(p.NodePort); err != nil {
			return i, err
		}
		if taken[p.Port] == 0 {
			taken[p.Port] = p.NodePort
		}
	}
	return 0, nil
}

// takeOther takes the node ports that an update adds to those the Service had. It returns the index of one that it cannot take, or -1 if two
// ports of a protocol have the same: kube-apiserver calls that an error of its own.
func (a *portAllocation) takeOther(ports []corev1.ServicePort, had []int32) (int, error) {
	for i, p := range ports {
		same := func(other corev1.ServicePort) bool { return other.NodePort == p.NodePort }
		if p.NodePort == 0 {
			continue
		}
		if !slices.Contains(had, p.NodePort) && !slices.ContainsFunc(ports[:i], same) {
			if err := a.take(p.NodePort); err != nil {
				return i, err
			}
		}
		if slices.ContainsFunc(ports[:i], func(other corev1.ServicePort) bool { return same(other) && other.Protocol == p.Protocol }) {
			return -1, fmt.Errorf("duplicate nodePort: {%s %d}", p.Protocol, p.NodePort)
		}
	}
	return 0, nil
}
