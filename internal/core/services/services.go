// Package services has the rules of Services: defaults, the addresses and the node ports that kube-apiserver allocates, and validation. A Service is
// stored like any kind without rules of its own; package store adds these (API-309 to API-311, API-350, API-351, API-552).
package services

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/volsim/volsim/api"
	"github.com/volsim/volsim/internal/core/plain"
	"github.com/volsim/volsim/internal/core/strategy"
)

// Kind is the kind of Services.
const Kind api.Kind = "Service"

// Stored lists the Services of a store. They have the addresses and node ports that others do not get.
type Stored func() []api.Object

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

// Strategy adds the rules of Services to those of any object (API-309, API-310).
func (all Stored) Strategy(base strategy.Of[*plain.Object]) strategy.Of[*plain.Object] {
	base.Defaults = func(obj *plain.Object) {
		changeSpec(obj, setDefaults)
		completeIngresses(obj)
	}
	prepareCreate, prepareUpdate := base.PrepareCreate, base.PrepareUpdate
	base.PrepareCreate = func(obj *plain.Object, now metav1.Time) {
		prepareCreate(obj, now)
		changeSpec(obj, func(svc *corev1.Service) {
			// API-350: clients that know one address only mean it by both fields.
			if len(svc.Spec.ClusterIPs) == 0 && svc.Spec.ClusterIP != "" {
				svc.Spec.ClusterIPs = []string{svc.Spec.ClusterIP}
			}
			all.allocate(svc, true)
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
		changeSpec(obj, func(svc *corev1.Service) {
			keepAllocated(svc, before)
			all.allocate(svc, false)
			dropUnused(svc, before)
		})
	}
	base.ValidateCreate = func(obj *plain.Object) field.ErrorList { return validate(obj, nil) }
	base.ValidateUpdate = validate
	base.ValidateStatus = validateStatus
	return base
}

// changeSpec changes the spec of a stored Service in its Go type. A spec that is not valid stays as it is.
func changeSpec(obj *plain.Object, change func(*corev1.Service)) {
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
