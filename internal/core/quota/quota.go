// Package quota measures what objects use of the ResourceQuotas of their namespace, and decides whether a write exceeds them. The API server
// (package store) charges quotas with it, and the resource quota controller counts usage anew.
//
// Claims, pods and the number of objects of any kind are measured (QUO-010 to QUO-013).
package quota

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/volsim/volsim/api"
	"github.com/volsim/volsim/internal/core/objects"
	"github.com/volsim/volsim/internal/core/plain"
)

// ofClass separates the name of a StorageClass from that of a resource: gold.storageclass.storage.k8s.io/requests.storage.
const ofClass = ".storageclass.storage.k8s.io/"

var (
	claims = schema.GroupResource{Resource: "persistentvolumeclaims"}
	pods   = schema.GroupResource{Resource: "pods"}

	services = schema.GroupResource{Resource: "services"}
)

// claimResources are measured for each claim, in all and for each StorageClass.
var claimResources = []corev1.ResourceName{corev1.ResourcePersistentVolumeClaims, corev1.ResourceRequestsStorage}

// serviceResources are measured for each Service, beside its number.
var serviceResources = []corev1.ResourceName{corev1.ResourceServices, corev1.ResourceServicesNodePorts, corev1.ResourceServicesLoadBalancers}

// isHugePages reports whether a limit is about huge pages.
func isHugePages(name corev1.ResourceName) bool {
	return strings.HasPrefix(strings.TrimPrefix(string(name), "requests."), corev1.ResourceHugePagesPrefix)
}

// isExtended reports whether a limit is about the requests of an extended resource, or of a device class.
func isExtended(name corev1.ResourceName) bool {
	of, ok := strings.CutPrefix(string(name), "requests.")
	if strings.HasPrefix(of, "deviceclass.resource.kubernetes.io/") {
		return ok
	}
	return ok && strings.Contains(of, "/") && !strings.Contains(of, corev1.ResourceDefaultNamespacePrefix)
}

// ServiceType returns the type of a Service if quotas limit it, else "".
func ServiceType(service *corev1.Service) corev1.ServiceType {
	if t := service.Spec.Type; t == corev1.ServiceTypeNodePort || t == corev1.ServiceTypeLoadBalancer {
		return t
	}
	return ""
}

// serviceUsage adds the ports and load balancers of a Service (QUO-013).
func serviceUsage(used corev1.ResourceList, service *corev1.Service) {
	ports, balancers := 0, 0
	switch service.Spec.Type {
	case corev1.ServiceTypeNodePort:
		ports = len(service.Spec.Ports)
	case corev1.ServiceTypeLoadBalancer:
		// QUO-013: the node ports that a load balancer will get count before it has them.
		balancers, ports = 1, len(service.Spec.Ports)
		if allocate := service.Spec.AllocateLoadBalancerNodePorts; allocate != nil && !*allocate {
			given := slices.DeleteFunc(slices.Clone(service.Spec.Ports), func(p corev1.ServicePort) bool { return p.NodePort == 0 })
			ports = len(given)
		}
	}
	used[corev1.ResourceServicesNodePorts] = *resource.NewQuantity(int64(ports), resource.DecimalSI)
	used[corev1.ResourceServicesLoadBalancers] = *resource.NewQuantity(int64(balancers), resource.DecimalSI)
}

// compute are the resources of which pods have requests and limits.
var compute = []corev1.ResourceName{corev1.ResourceCPU, corev1.ResourceMemory, corev1.ResourceEphemeralStorage}

// aliases are the names without "count/" of the number of objects of a kind (QUO-013).
var aliases = []string{"configmaps", "replicationcontrollers", "resourcequotas", "secrets", "services"}

// Ignored reports whether no quota counts the objects of a resource.
func Ignored(r schema.GroupResource) bool {
	// QUO-013: Events are not counted.
	return r.Resource == "events"
}

func countName(r schema.GroupResource) corev1.ResourceName {
	return corev1.ResourceName("count/" + r.String())
}

// Names returns those names, sorted, under which objects of a resource use a quota with the limits hard.
func Names(r schema.GroupResource, hard corev1.ResourceList) []corev1.ResourceName {
	return slices.DeleteFunc(slices.Sorted(maps.Keys(hard)), func(name corev1.ResourceName) bool { return !measures(r, name) })
}

func measures(r schema.GroupResource, name corev1.ResourceName) bool {
	switch {
	case name == countName(r):
		return true
	case r == claims:
		_, of, found := strings.Cut(string(name), ofClass)
		return slices.Contains(claimResources, name) || found && slices.Contains(claimResources, corev1.ResourceName(of))
	case r == pods:
		of := strings.TrimPrefix(strings.TrimPrefix(string(name), "requests."), "limits.")
		return name == corev1.ResourcePods || slices.Contains(compute, corev1.ResourceName(of)) || isHugePages(name) || isExtended(name)
	case r == services:
		return slices.Contains(serviceResources, name)
	default:
		return r.Group == "" && slices.Contains(aliases, r.Resource) && string(name) == r.Resource
	}
}

// Usage returns what an object uses at a time.
func Usage(r schema.GroupResource, obj api.Object, now time.Time) corev1.ResourceList {
	one := *resource.NewQuantity(1, resource.DecimalSI)
	// QUO-013: objects of all kinds are counted, whatever their state.
	used := corev1.ResourceList{countName(r): one}
	switch obj := obj.(type) {
	case *corev1.PersistentVolumeClaim:
		claimUsage(used, obj)
	case *corev1.Pod:
		podUsage(used, obj, now)
	default:
		if r.Group == "" && slices.Contains(aliases, r.Resource) {
			used[corev1.ResourceName(r.Resource)] = one
		}
		if stored, ok := obj.(*plain.Object); ok && r == services {
			// The Service may be new: it is not shared before it has its version.
			if service, err := plain.As[*corev1.Service](stored); err == nil {
				serviceUsage(used, service)
			}
		}
	}
	return used
}

// claimUsage adds the usage of a claim (QUO-010).
func claimUsage(used corev1.ResourceList, claim *corev1.PersistentVolumeClaim) {
	add := func(name corev1.ResourceName, q resource.Quantity) {
		used[name] = q
		// QUO-010: what a claim uses is also charged to its StorageClass.
		if class := objects.ClassOf(claim); class != "" {
			used[corev1.ResourceName(class+ofClass)+name] = q
		}
	}
	add(corev1.ResourcePersistentVolumeClaims, *resource.NewQuantity(1, resource.DecimalSI))
	size, ok := claim.Spec.Resources.Requests[corev1.ResourceStorage]
	if !ok {
		return
	}
	// QUO-011: an expansion that was allocated counts, even if the request was lowered again.
	if allocated, ok := claim.Status.AllocatedResources[corev1.ResourceStorage]; ok && allocated.Cmp(size) > 0 {
		size = allocated
	}
	size = size.DeepCopy()
	size.RoundUp(0)
	add(corev1.ResourceRequestsStorage, size)
}

// Ended reports whether a pod uses nothing but its place among the objects (QUO-012): it has ended, or should have ended by now.
func Ended(pod *corev1.Pod, now time.Time) bool {
	if pod.Status.Phase == corev1.PodSucceeded || pod.Status.Phase == corev1.PodFailed {
		return true
	}
	// QUO-012: the deletionTimestamp has the grace period in it, and upstream adds it again.
	return pod.DeletionTimestamp != nil && pod.DeletionGracePeriodSeconds != nil &&
		now.After(pod.DeletionTimestamp.Add(time.Duration(*pod.DeletionGracePeriodSeconds)*time.Second))
}

// podUsage adds the usage of a pod (QUO-012).
func podUsage(used corev1.ResourceList, pod *corev1.Pod, now time.Time) {
	// QUO-012: a pod that has ended uses nothing but its place among the objects.
	if Ended(pod, now) {
		return
	}
	used[corev1.ResourcePods] = *resource.NewQuantity(1, resource.DecimalSI)
	requests, limits := PodTotals(pod)
	for _, name := range compute {
		if q, ok := requests[name]; ok {
			used[name], used["requests."+name] = q, q
		}
		if q, ok := limits[name]; ok {
			used["limits."+name] = q
		}
	}
	for name, q := range requests {
		switch {
		case strings.HasPrefix(string(name), corev1.ResourceHugePagesPrefix):
			used[name], used["requests."+name] = q, q
		case isExtended("requests." + name):
			// QUO-013: extended resources are only limited as requests.
			used["requests."+name] = q
		}
	}
}

// Of selects requests or limits.
type Of func(*corev1.ResourceRequirements) corev1.ResourceList

// Requests and Limits are what a container or pod requests, and what it is limited to.
func Requests(r *corev1.ResourceRequirements) corev1.ResourceList { return r.Requests }
func Limits(r *corev1.ResourceRequirements) corev1.ResourceList   { return r.Limits }

// ContainerTotal returns the sum of the containers of a pod, or what one init container needs if that is more.
func ContainerTotal(spec *corev1.PodSpec, of Of) corev1.ResourceList {
	return containerTotal(spec, func(c *corev1.Container, _ bool) corev1.ResourceList { return of(&c.Resources) })
}

// containerTotal is ContainerTotal with what a function says about each container; lasting ones are not only there to initialize the pod.
func containerTotal(spec *corev1.PodSpec, of func(c *corev1.Container, lasting bool) corev1.ResourceList) corev1.ResourceList {
	sum, sidecars, peak := corev1.ResourceList{}, corev1.ResourceList{}, corev1.ResourceList{}
	for i := range spec.InitContainers {
		c := &spec.InitContainers[i]
		if objects.IsSidecar(c) {
			sum, sidecars = Plus(sum, of(c, true)), Plus(sidecars, of(c, true))
			continue
		}
		peak = most(peak, Plus(sidecars, of(c, false)))
	}
	for i := range spec.Containers {
		sum = Plus(sum, of(&spec.Containers[i], true))
	}
	return most(sum, peak)
}

// podTotal is a sum of containers, or what the pod itself states instead.
func podTotal(pod *corev1.Pod, of Of, sum corev1.ResourceList) corev1.ResourceList {
	if whole := pod.Spec.Resources; whole != nil {
		maps.Copy(sum, of(whole))
	}
	return sum
}

// inForce is ContainerTotal with the resources that the status has. allocated counts what the kubelet has allocated.
func inForce(pod *corev1.Pod, of Of, allocated bool) corev1.ResourceList {
	return containerTotal(&pod.Spec, func(c *corev1.Container, lasting bool) corev1.ResourceList {
		wanted := of(&c.Resources)
		status := statusOf(pod, c.Name)
		if !lasting || status == nil {
			return wanted
		}
		// QUO-015: while a pod is resized, the largest of what its spec, its status and the kubelet say.
		used := of(status.Resources)
		if allocated {
			used = most(used, status.AllocatedResources)
		}
		if infeasible(pod) {
			return used
		}
		return most(used, wanted)
	})
}

// statusOf returns the status of a container, if it has resources that count (QUO-015).
func statusOf(pod *corev1.Pod, container string) *corev1.ContainerStatus {
	for _, list := range [][]corev1.ContainerStatus{pod.Status.ContainerStatuses, pod.Status.InitContainerStatuses} {
		for i := range list {
			if list[i].Name == container && list[i].Resources != nil {
				return &list[i]
			}
		}
	}
	return nil
}

// infeasible reports whether the node cannot resize a pod (QUO-015).
func infeasible(pod *corev1.Pod) bool {
	i := slices.IndexFunc(pod.Status.Conditions, func(c corev1.PodCondition) bool { return c.Type == corev1.PodResizePending })
	return i >= 0 && pod.Status.Conditions[i].Reason == corev1.PodReasonInfeasible
}

// Resized reports whether a change of a pod leads to a count of its quotas (QUO-032), because a container status has other resources, and
// whether it may change what the pod uses (QUO-015).
func Resized(old, pod *corev1.Pod) (leads, matters bool) {
	for _, list := range [][2][]corev1.ContainerStatus{
		{old.Status.ContainerStatuses, pod.Status.ContainerStatuses}, {old.Status.InitContainerStatuses, pod.Status.InitContainerStatuses},
	} {
		for i := range list[1] {
			now := &list[1][i]
			matters = matters || now.Resources != nil
			for j := range list[0] {
				if before := &list[0][j]; before.Name == now.Name {
					matters = matters || before.Resources != nil
					leads = leads || (before.Resources != nil || now.Resources != nil) && !equality.Semantic.DeepEqual(before.Resources, now.Resources)
				}
			}
		}
		matters = matters || len(list[0]) > len(list[1])
	}
	return leads, matters
}

// PodTotals returns the requests and the limits of a pod with its overhead.
func PodTotals(pod *corev1.Pod) (requests, limits corev1.ResourceList) {
	return withOverhead(pod, podTotal(pod, Requests, inForce(pod, Requests, true)), podTotal(pod, Limits, inForce(pod, Limits, false)))
}

// withOverhead adds the overhead of a pod to its requests, and to those of its limits that are not zero (QUO-012).
func withOverhead(pod *corev1.Pod, requests, limits corev1.ResourceList) (all, most corev1.ResourceList) {
	overhead := maps.Clone(pod.Spec.Overhead)
	maps.DeleteFunc(overhead, func(name corev1.ResourceName, _ resource.Quantity) bool {
		limit := limits[name]
		return limit.IsZero()
	})
	return Plus(requests, pod.Spec.Overhead), Plus(limits, overhead)
}

// Counts reports whether an object uses a quota: it is in its scopes, and one of the limits in its status is about objects like it.
func counts(q *corev1.ResourceQuota, r schema.GroupResource, obj api.Object) bool {
	return len(Names(r, q.Status.Hard)) > 0 && inScope(q, obj)
}

// Count returns what the objects of a resource use of a quota at a time, for the names among its limits. Names that no object uses are zero.
func Count[T api.Object](q *corev1.ResourceQuota, r schema.GroupResource, objs []T, now time.Time) corev1.ResourceList {
	used := corev1.ResourceList{}
	names := Names(r, q.Spec.Hard)
	for _, name := range names {
		used[name] = resource.Quantity{Format: resource.DecimalSI}
	}
	for _, obj := range objs {
		if inScope(q, obj) {
			used = Plus(used, mask(Usage(r, obj, now), names))
		}
	}
	return used
}

// Charge decides about the write of an object: old is nil for a new one, and status means that the write is one of the status, which is
// charged and never rejected. It returns the quotas with another usage, as copies. The error says which quota the write exceeds.
func Charge(quotas []*corev1.ResourceQuota, r schema.GroupResource, obj, old api.Object, status bool, now time.Time) ([]*corev1.ResourceQuota, error) {
	var counting []*corev1.ResourceQuota
	for _, q := range quotas {
		if !counts(q, r, obj) {
			continue
		}
		names := Names(r, q.Status.Hard)
		// QUO-021: with a limit on cpu or memory, each container must state what it needs.
		if pod, ok := obj.(*corev1.Pod); ok {
			if missing := unstated(pod, names); missing != "" {
				return nil, fmt.Errorf("failed quota: %s: must specify %s", q.Name, missing)
			}
		}
		// QUO-022: until the usage is counted, no object is admitted.
		if slices.ContainsFunc(names, func(name corev1.ResourceName) bool { _, ok := q.Status.Used[name]; return !ok }) {
			return nil, fmt.Errorf("status unknown for quota: %s, resources: %s", q.Name, join(names))
		}
		counting = append(counting, q)
	}
	usage := Usage(r, obj, now)
	var changed []*corev1.ResourceQuota
	for _, q := range counting {
		delta := usage
		// QUO-023: an update is charged with what it uses more, if the quota counted the object before.
		if old != nil && counts(q, r, old) {
			delta = minus(usage, Usage(r, old, now))
		}
		delta = mask(delta, slices.Collect(maps.Keys(q.Status.Hard)))
		maps.DeleteFunc(delta, func(_ corev1.ResourceName, q resource.Quantity) bool { return q.IsZero() })
		if len(delta) == 0 {
			continue
		}
		used := Plus(q.Status.Used, delta)
		// QUO-020: the usage may reach the limit, and not exceed it.
		if exceeded := exceeds(used, q.Status.Hard, delta); len(exceeded) > 0 && !status {
			return nil, fmt.Errorf("exceeded quota: %s, requested: %s, used: %s, limited: %s", q.Name,
				describe(delta, exceeded), describe(q.Status.Used, exceeded), describe(q.Status.Hard, exceeded))
		}
		q = q.DeepCopy()
		q.Status.Used = used
		changed = append(changed, q)
	}
	return changed, nil
}

// unstated lists the resources among names of which containers of a pod do not state what they need.
func unstated(pod *corev1.Pod, names []corev1.ResourceName) string {
	if pod.Spec.Resources != nil && len(pod.Spec.Resources.Requests)+len(pod.Spec.Resources.Limits) > 0 {
		return ""
	}
	var parts []string
	for _, name := range names {
		of := strings.TrimPrefix(strings.TrimPrefix(string(name), "requests."), "limits.")
		if of != string(corev1.ResourceCPU) && of != string(corev1.ResourceMemory) {
			continue
		}
		var without []string
		for _, c := range slices.Concat(pod.Spec.Containers, pod.Spec.InitContainers) {
			list := c.Resources.Requests
			if strings.HasPrefix(string(name), "limits.") {
				list = c.Resources.Limits
			}
			if _, ok := list[corev1.ResourceName(of)]; !ok {
				without = append(without, c.Name)
			}
		}
		if slices.Sort(without); len(without) > 0 {
			parts = append(parts, fmt.Sprintf("%s for: %s", name, strings.Join(without, ",")))
		}
	}
	return strings.Join(parts, "; ")
}

// exceeds returns the names, sorted, of those resources in delta whose usage is above the limit.
func exceeds(used, hard, delta corev1.ResourceList) []corev1.ResourceName {
	return slices.DeleteFunc(slices.Sorted(maps.Keys(delta)), func(name corev1.ResourceName) bool {
		u, h := used[name], hard[name]
		return u.Cmp(h) <= 0
	})
}

func describe(list corev1.ResourceList, names []corev1.ResourceName) string {
	parts := make([]string, len(names))
	for i, name := range names {
		q := list[name]
		parts[i] = string(name) + "=" + q.String()
	}
	return strings.Join(parts, ",")
}

func join(names []corev1.ResourceName) string {
	parts := make([]string, len(names))
	for i, name := range names {
		parts[i] = string(name)
	}
	return strings.Join(parts, ",")
}
