package quota

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	utilerrors "k8s.io/apimachinery/pkg/util/errors"
)

// limitsAnnotation lists what LimitRanges have set in a pod.
const limitsAnnotation = "kubernetes.io/limit-ranger"

// SetDefaults sets the requests and limits that a LimitRange gives to containers without them (QUO-040).
func SetDefaults(limits *corev1.LimitRange, pod *corev1.Pod) {
	requests, maximums := corev1.ResourceList{}, corev1.ResourceList{}
	for _, item := range limits.Spec.Limits {
		if item.Type == corev1.LimitTypeContainer {
			maps.Copy(requests, item.DefaultRequest)
			maps.Copy(maximums, item.Default)
		}
	}
	var set []string
	complete := func(containers []corev1.Container, kind string) []corev1.Container {
		containers = slices.Clone(containers)
		for i := range containers {
			c := &containers[i]
			if names := add(&c.Resources.Requests, requests); names != "" {
				set = append(set, fmt.Sprintf("%s request for %s %s", names, kind, c.Name))
			}
			if names := add(&c.Resources.Limits, maximums); names != "" {
				set = append(set, fmt.Sprintf("%s limit for %s %s", names, kind, c.Name))
			}
		}
		return containers
	}
	pod.Spec.Containers = complete(pod.Spec.Containers, "container")
	pod.Spec.InitContainers = complete(pod.Spec.InitContainers, "init container")
	if len(set) == 0 {
		return
	}
	pod.Annotations = maps.Clone(pod.Annotations)
	if pod.Annotations == nil {
		pod.Annotations = map[string]string{}
	}
	pod.Annotations[limitsAnnotation] = "LimitRanger plugin set: " + strings.Join(set, "; ")
}

// add adds the missing quantities to a copy of a list, and returns their names.
func add(list *corev1.ResourceList, missing corev1.ResourceList) string {
	var names []string
	for _, name := range slices.Sorted(maps.Keys(missing)) {
		if _, ok := (*list)[name]; ok {
			continue
		}
		if len(names) == 0 {
			*list = maps.Clone(*list)
			if *list == nil {
				*list = corev1.ResourceList{}
			}
		}
		(*list)[name] = missing[name]
		names = append(names, string(name))
	}
	return strings.Join(names, ", ")
}

// CheckClaim decides whether the request of a claim is within a LimitRange (QUO-041).
func CheckClaim(limits *corev1.LimitRange, claim *corev1.PersistentVolumeClaim) error {
	var errs []error
	requests := claim.Spec.Resources.Requests
	for _, item := range limits.Spec.Limits {
		if item.Type != corev1.LimitTypePersistentVolumeClaim {
			continue
		}
		b := bound{kind: string(item.Type), requests: requests}
		errs = append(errs, each(item.Min, b.minimum)...)
		errs = append(errs, each(item.Max, func(name corev1.ResourceName, q resource.Quantity) error {
			return b.maximum(name, q, b.requests, "request")
		})...)
	}
	return utilerrors.NewAggregate(errs)
}

// CheckPod decides whether a pod and its containers are within a LimitRange (QUO-042).
func CheckPod(limits *corev1.LimitRange, pod *corev1.Pod) error {
	var errs []error
	check := func(item *corev1.LimitRangeItem, r corev1.ResourceRequirements) {
		b := bound{kind: string(item.Type), requests: r.Requests, limits: r.Limits}
		errs = append(errs, each(item.Min, b.minimum)...)
		errs = append(errs, each(item.Max, func(name corev1.ResourceName, q resource.Quantity) error {
			if err := b.maximum(name, q, b.limits, "limit"); err != nil {
				return err
			}
			if _, ok := b.requests[name]; !ok {
				return nil
			}
			return b.maximum(name, q, b.requests, "request")
		})...)
		errs = append(errs, each(item.MaxLimitRequestRatio, b.ratio)...)
	}
	for i := range limits.Spec.Limits {
		switch item := &limits.Spec.Limits[i]; item.Type {
		case corev1.LimitTypeContainer:
			for _, c := range slices.Concat(pod.Spec.Containers, pod.Spec.InitContainers) {
				check(item, c.Resources)
			}
		case corev1.LimitTypePod:
			// QUO-042: the overhead of the pod does not count.
			check(item, corev1.ResourceRequirements{
				Requests: podTotal(pod, Requests, ContainerTotal(&pod.Spec, Requests)), Limits: podTotal(pod, Limits, ContainerTotal(&pod.Spec, Limits)),
			})
		}
	}
	return utilerrors.NewAggregate(errs)
}

// each calls check for the quantities of a list, by name.
func each(list corev1.ResourceList, check func(corev1.ResourceName, resource.Quantity) error) []error {
	var errs []error
	for _, name := range slices.Sorted(maps.Keys(list)) {
		if err := check(name, list[name]); err != nil {
			errs = append(errs, err)
		}
	}
	return errs
}

// bound compares requests and limits with those of a LimitRange.
type bound struct {
	kind             string
	requests, limits corev1.ResourceList
}

func (b bound) minimum(name corev1.ResourceName, least resource.Quantity) error {
	request, ok := b.requests[name]
	if !ok {
		return fmt.Errorf("minimum %s usage per %s is %s.  No request is specified", name, b.kind, least.String())
	}
	if request.Cmp(least) < 0 {
		return fmt.Errorf("minimum %s usage per %s is %s, but request is %s", name, b.kind, least.String(), request.String())
	}
	if limit, ok := b.limits[name]; ok && limit.Cmp(least) < 0 {
		return fmt.Errorf("minimum %s usage per %s is %s, but limit is %s", name, b.kind, least.String(), limit.String())
	}
	return nil
}

// maximum compares the quantity of a list, which what names.
func (b bound) maximum(name corev1.ResourceName, most resource.Quantity, list corev1.ResourceList, what string) error {
	q, ok := list[name]
	if !ok {
		return fmt.Errorf("maximum %s usage per %s is %s.  No %s is specified", name, b.kind, most.String(), what)
	}
	if q.Cmp(most) > 0 {
		return fmt.Errorf("maximum %s usage per %s is %s, but %s is %s", name, b.kind, most.String(), what, q.String())
	}
	return nil
}

func (b bound) ratio(name corev1.ResourceName, most resource.Quantity) error {
	request, limit := b.requests[name], b.limits[name]
	switch {
	case request.IsZero():
		return fmt.Errorf("%s max limit to request ratio per %s is %s, but no request is specified or request is 0", name, b.kind, most.String())
	case limit.IsZero():
		return fmt.Errorf("%s max limit to request ratio per %s is %s, but no limit is specified or limit is 0", name, b.kind, most.String())
	}
	// QUO-042: like upstream, in whole numbers: thousandths unless one of the quantities is too large for that.
	over, under := limit.Value(), request.Value()
	if over <= resource.MaxMilliValue && under <= resource.MaxMilliValue && most.Value() <= resource.MaxMilliValue {
		over, under = limit.MilliValue(), request.MilliValue()
	}
	ratio := float64(over) / float64(under)
	scaled, allowed := ratio, float64(most.Value())
	if most.Value() <= resource.MaxMilliValue {
		scaled, allowed = ratio*1000, float64(most.MilliValue())
	}
	if scaled > allowed {
		return fmt.Errorf("%s max limit to request ratio per %s is %s, but provided ratio is %f", name, b.kind, most.String(), ratio)
	}
	return nil
}
