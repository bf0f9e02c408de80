package strategy

import (
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apiresource "k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
	netutils "k8s.io/utils/net"

	"github.com/volsim/volsim/internal/core/objects"
)

// Node is the strategy for Nodes.
var Node = Of[*coreNode]{
	Shallow: func(node *coreNode) *coreNode {
		c := *node
		return &c
	},
	Defaults: defaultNode,
	PrepareCreate: func(node *coreNode, _ metav1.Time) {
		// API-109: a new node keeps its status, except for the configuration of the kubelet, which is dropped.
		node.Spec.ConfigSource = nil
		node.Status.Config = nil
	},
	PrepareUpdate: func(node, old *coreNode) {
		// API-236: an update of the main resource keeps the status.
		node.Status = old.Status
		if old.Spec.ConfigSource == nil {
			node.Spec.ConfigSource = nil
		}
	},
	PrepareStatus: func(node, old *coreNode, _ metav1.Time) {
		// API-245: an update of the status keeps the spec; metadata comes from the request.
		node.Spec = old.Spec
		if old.Status.Config == nil {
			node.Status.Config = nil
		}
	},
	Encode: func(node *coreNode) {
		for i := range node.Status.Images {
			// API-547: an empty list is stored as null.
			if names := node.Status.Images[i].Names; names != nil && len(names) == 0 {
				node.Status.Images = slices.Clone(node.Status.Images)
				node.Status.Images[i].Names = nil
			}
		}
	},
	ValidateCreate: validateNode,
	ValidateUpdate: func(node, old *coreNode) field.ErrorList {
		errs := append(ValidateGenerateName(&node.ObjectMeta), validateNode(node)...)
		return append(errs, validateNodeChange(node, old)...)
	},
	ValidateStatus: func(node, old *coreNode) field.ErrorList {
		errs := append(validateNodeResources(node), validateTaints(node.Spec.Taints)...)
		return append(errs, validateNodeChange(node, old)...)
	},
	Equal: func(a, b *coreNode) bool {
		return slices.Equal(a.Status.VolumesInUse, b.Status.VolumesInUse) &&
			slices.Equal(a.Status.VolumesAttached, b.Status.VolumesAttached) &&
			sameConditions(a.Status.Conditions, b.Status.Conditions) &&
			(sharesAll(&a.Status, &b.Status) || storedEqual(&a.Status, &b.Status)) &&
			(sharesAll(&a.Spec, &b.Spec) ||
				slices.EqualFunc(a.Spec.Taints, b.Spec.Taints, sameTaint) && storedEqual(&a.Spec, &b.Spec))
	},
}

// sameTaint is equality as stored of taints, the most frequent changes of the specs of nodes.
func sameTaint(a, b corev1.Taint) bool {
	return a.Key == b.Key && a.Value == b.Value && a.Effect == b.Effect && sameSecond(a.TimeAdded, b.TimeAdded)
}

// sameConditions is equality as stored of conditions. Heartbeats are the most frequent changes of nodes, and reflection on them takes long.
func sameConditions(a, b []corev1.NodeCondition) bool {
	return len(a) == len(b) && (len(a) == 0 || &a[0] == &b[0] || slices.EqualFunc(a, b, func(a, b corev1.NodeCondition) bool {
		return a.Type == b.Type && a.Status == b.Status && a.Reason == b.Reason && a.Message == b.Message &&
			sameSecond(&a.LastHeartbeatTime, &b.LastHeartbeatTime) && sameSecond(&a.LastTransitionTime, &b.LastTransitionTime)
	}))
}

// defaultNode sets the defaults of a Node (API-095) and rounds its lists of resources (API-082).
func defaultNode(node *coreNode) {
	status := &node.Status
	status.Capacity = roundToMilli(status.Capacity)
	status.Allocatable = roundToMilli(status.Allocatable)
	// API-095: allocatable is capacity by default. An empty list is stored as nil.
	if len(status.Allocatable) == 0 {
		status.Allocatable = status.Capacity
	}
	// API-006: times have whole seconds.
	conditions := lazyCopy[corev1.NodeCondition]{items: status.Conditions}
	for i := range conditions.items {
		if c := &conditions.items[i]; c.LastHeartbeatTime.Nanosecond() != 0 || c.LastTransitionTime.Nanosecond() != 0 {
			c = conditions.at(i)
			c.LastHeartbeatTime = *WholeSecond(&c.LastHeartbeatTime)
			c.LastTransitionTime = *WholeSecond(&c.LastTransitionTime)
		}
	}
	status.Conditions = conditions.items
	// The older field for a single range overrides the list where they differ, and repeats its first entry.
	spec := &node.Spec
	if spec.PodCIDR != "" && (len(spec.PodCIDRs) == 0 || spec.PodCIDRs[0] != spec.PodCIDR) {
		spec.PodCIDRs = []string{spec.PodCIDR}
	}
	if len(spec.PodCIDRs) > 0 {
		spec.PodCIDR = spec.PodCIDRs[0]
	}
}

// validateNode validates a node without regard to its stored version.
func validateNode(node *coreNode) field.ErrorList {
	errs := validateTaints(node.Spec.Taints)
	errs = append(errs, validateNodeResources(node)...)
	return append(errs, validatePodCIDRs(node.Spec.PodCIDRs)...)
}

// validateNodeResources validates capacity and allocatable (API-195).
func validateNodeResources(node *coreNode) field.ErrorList {
	errs := validateResources(node.Status.Capacity, "capacity")
	return append(errs, validateResources(node.Status.Allocatable, "allocatable")...)
}

func validateResources(list corev1.ResourceList, name string) field.ErrorList {
	bad := false
	for resource, quantity := range list {
		bad = bad || isNegative(quantity) || isInteger(resource) && !isWhole(quantity)
	}
	if !bad {
		return nil
	}
	var errs field.ErrorList
	for _, resource := range objects.SortedKeys(list) {
		errs = append(errs, validateAmount(resource, list[resource], field.NewPath("status", name, string(resource)))...)
	}
	return errs
}

// validateAmount validates the amount of a resource (API-195).
func validateAmount(resource corev1.ResourceName, quantity apiresource.Quantity, path *field.Path) field.ErrorList {
	var errs field.ErrorList
	// API-195: no amount is negative.
	if isNegative(quantity) {
		errs = append(errs, field.Invalid(path, quantity.String(), "must be greater than or equal to 0"))
	}
	// API-195: some resources have whole amounts only.
	if isInteger(resource) && !isWhole(quantity) {
		errs = append(errs, field.Invalid(path, quantity.String(), "must be an integer"))
	}
	return errs
}

// isInteger reports whether a resource has whole amounts only: objects that Kubernetes counts, and all extended resources.
func isInteger(resource corev1.ResourceName) bool {
	switch resource {
	case corev1.ResourcePods, corev1.ResourceQuotas, corev1.ResourceServices, corev1.ResourceReplicationControllers,
		corev1.ResourceSecrets, corev1.ResourceConfigMaps, corev1.ResourcePersistentVolumeClaims,
		corev1.ResourceServicesNodePorts, corev1.ResourceServicesLoadBalancers:
		return true
	}
	return isExtendedResource(resource)
}

// isExtendedResource reports whether the cluster, not Kubernetes, defines the resource: its name has another domain.
func isExtendedResource(resource corev1.ResourceName) bool {
	name := string(resource)
	if isNativeResource(resource) || strings.HasPrefix(name, corev1.DefaultResourceRequestsPrefix) {
		return false
	}
	// Quotas prefix the name, and the result must still be a valid name.
	domain, _, _ := strings.Cut(name, "/")
	return IsQualifiedName(name) && len(domain)+len(corev1.DefaultResourceRequestsPrefix) <= maxSubdomainBytes
}

// isNativeResource reports whether the resource is one of Kubernetes' own.
func isNativeResource(resource corev1.ResourceName) bool {
	name := string(resource)
	return !strings.Contains(name, "/") || strings.Contains(name, corev1.ResourceDefaultNamespacePrefix)
}

var taintEffects = []corev1.TaintEffect{corev1.TaintEffectNoSchedule, corev1.TaintEffectPreferNoSchedule, corev1.TaintEffectNoExecute}

// validateTaints validates taints. Errors have the path that upstream gives them, which is below metadata.
func validateTaints(taints []corev1.Taint) field.ErrorList {
	var errs field.ErrorList
	for i, taint := range taints {
		duplicated := slices.ContainsFunc(taints[:i], func(t corev1.Taint) bool { return t.Key == taint.Key && t.Effect == taint.Effect })
		if !duplicated && IsQualifiedName(taint.Key) && IsLabelValue(taint.Value) && slices.Contains(taintEffects, taint.Effect) {
			continue // a path takes three allocations
		}
		at := MetaPath("taints").Index(i)
		errs = append(errs, LabelKey(taint.Key, at, "key")...)
		if !IsLabelValue(taint.Value) {
			errs = append(errs, field.Invalid(at.Child("value"), taint.Value, strings.Join(validation.IsValidLabelValue(taint.Value), ";")))
		}
		if taint.Effect == "" {
			errs = append(errs, field.Required(at.Child("effect"), ""))
		} else {
			errs = append(errs, OneOf(taint.Effect, at, "effect", taintEffects)...)
		}
		if duplicated {
			duplicate := field.Duplicate(at, internalForm{taint})
			duplicate.Detail = "taints must be unique by key and effect pair"
			errs = append(errs, duplicate)
		}
	}
	return errs
}

// validatePodCIDRs validates the address ranges of pods: at most one for each IP family.
func validatePodCIDRs(cidrs []string) field.ErrorList {
	if len(cidrs) == 0 {
		return nil
	}
	path := field.NewPath("spec", "podCIDRs")
	var errs field.ErrorList
	for i, text := range cidrs {
		errs = append(errs, validation.IsValidCIDRForLegacyField(path.Index(i), text, true, nil)...)
	}
	if len(cidrs) < 2 {
		return errs
	}
	dual, err := netutils.IsDualStackCIDRStrings(cidrs)
	if err != nil {
		errs = append(errs, field.InternalError(path, fmt.Errorf("invalid PodCIDRs. failed to check with dual stack with error:%w", err)))
	}
	if !dual || len(cidrs) > 2 {
		errs = append(errs, field.Invalid(path, cidrs, "may specify no more than one CIDR for each IP family"))
	}
	return errs
}

// validateNodeChange validates an update of a node (API-236), including what upstream validates only then.
func validateNodeChange(node, old *coreNode) field.ErrorList {
	var errs field.ErrorList
	for i, address := range node.Status.Addresses {
		if slices.Contains(node.Status.Addresses[:i], address) {
			errs = append(errs, field.Duplicate(field.NewPath("status", "addresses").Index(i), internalForm{address}))
		}
	}
	// API-236: address ranges are immutable once set.
	if len(old.Spec.PodCIDRs) > 0 && !slices.Equal(node.Spec.PodCIDRs, old.Spec.PodCIDRs) {
		errs = append(errs, field.Forbidden(field.NewPath("spec", "podCIDRs"), `node updates may not change podCIDR except from "" to valid`))
	}
	// API-236: so is the provider ID.
	if old.Spec.ProviderID != "" && node.Spec.ProviderID != old.Spec.ProviderID {
		errs = append(errs, field.Forbidden(field.NewPath("spec", "providerID"),
			`node updates may not change providerID except from "" to valid`))
	}
	if node.Spec.DoNotUseExternalID != old.Spec.DoNotUseExternalID {
		errs = append(errs, field.Forbidden(field.NewPath("spec", "externalID"), "may not be updated"))
	}
	return errs
}
