package strategy

import (
	"math"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// specField returns the path of a field of the spec. It is called only where there is an error, because paths allocate.
func specField(child string) func() *field.Path {
	return func() *field.Path { return field.NewPath("spec", child) }
}

// validatePodCreate validates a new pod.
func validatePodCreate(pod *corePod) field.ErrorList {
	errs := append(validatePodAnnotations(pod, nil), validatePod(pod, nil)...)
	spec := &pod.Spec
	if len(spec.EphemeralContainers) > 0 {
		errs = append(errs, field.Forbidden(field.NewPath("spec", "ephemeralContainers"), "cannot be set on create"))
	}
	if spec.NodeName != "" && len(spec.SchedulingGates) > 0 {
		errs = append(errs, field.Forbidden(field.NewPath("spec", "nodeName"), "cannot be set until all schedulingGates have been cleared"))
	}
	return append(errs, validateProfilesMatch(pod)...)
}

// validatePod validates a pod without regard to allowed changes. old is nil for a new pod.
func validatePod(pod, old *corePod) field.ErrorList {
	errs := validatePodSpec(pod, old, false)
	eachContainer(&pod.Spec, func(c *corev1.Container, at containerPlace) {
		if hasImageSpace(c) && at.list != ephemeralList {
			errs = append(errs, errImageSpace(c, at.path()))
		}
	})
	return errs
}

// validatePodSpec validates the spec of a pod or a template: its volumes in full (API-196 to API-206), and the fields of containers, scheduling,
// networks and security. A projected token needs no serviceAccountName here, because admission of a cluster would set it. Invalid values in
// node affinity are accepted if old has such values, too; old is nil for a new pod. The order is that of the server, because it shows in errors.
func validatePodSpec(pod, old *corePod, template bool) field.ErrorList {
	spec := &pod.Spec
	var errs field.ErrorList
	if spec.TerminationGracePeriodSeconds == nil {
		errs = append(errs, field.Required(field.NewPath("spec", "terminationGracePeriodSeconds"), ""))
	}
	volumes, bad := validatePodVolumes(pod, specField("volumes"))
	errs = append(errs, bad...)
	if len(spec.ResourceClaims) > 0 {
		errs = append(errs, validateResourceClaims(pod)...)
	}
	errs = append(errs, validateContainers(spec, volumes)...)
	errs = append(errs, validateInitContainers(spec, volumes)...)
	errs = append(errs, validateEphemeralContainers(spec, volumes)...)
	// What an update shares with the stored pod is valid.
	if spec.Resources != nil && (old == nil || spec.Resources != old.Spec.Resources) {
		errs = append(errs, validatePodResources(spec)...)
	}
	if spec.HostNetwork {
		errs = append(errs, validateHostNetwork(spec, template)...)
	}
	errs = append(errs, requiredOneOf(spec.RestartPolicy, "restartPolicy", restartPolicies)...)
	errs = append(errs, requiredOneOf(spec.DNSPolicy, "dnsPolicy", dnsPolicies)...)
	if !LabelsValid(spec.NodeSelector) {
		errs = append(errs, ValidateLabels(spec.NodeSelector, field.NewPath("spec", "nodeSelector"))...)
	}
	if spec.SecurityContext != nil {
		errs = append(errs, validatePodSecurity(spec, old, specField("securityContext"))...)
	}
	errs = append(errs, validatePodPlacement(spec, old)...)
	errs = append(errs, validatePodHost(spec)...)
	errs = append(errs, validatePodNames(spec)...)
	if spec.PreemptionPolicy != nil {
		errs = append(errs, requiredOneOf(*spec.PreemptionPolicy, "preemptionPolicy", PreemptionPolicies)...)
	}
	// API-375: the overhead of a pod is valid as limits of a container are.
	if len(spec.Overhead) > 0 {
		errs = append(errs, validateRequirements(&corev1.ResourceRequirements{Limits: spec.Overhead}, field.NewPath("spec", "overhead"))...)
	}
	if spec.OS != nil {
		errs = append(errs, validateOS(spec)...)
	}
	return append(errs, validateFileVolumes(spec)...)
}

// validatePodPlacement validates affinity, DNS, gates and topology spread constraints of a pod.
func validatePodPlacement(spec *corev1.PodSpec, old *corePod) field.ErrorList {
	var errs field.ErrorList
	if affinity := nodeAffinityOf(spec); affinity != nil {
		anyValue := old != nil && hasBadTerms(requiredTerms(nodeAffinityOf(&old.Spec)))
		errs = append(errs, validatePodNodeAffinity(affinity, anyValue, field.NewPath("spec", "affinity", "nodeAffinity"))...)
	}
	if spec.Affinity != nil && (old == nil || spec.Affinity != old.Spec.Affinity) {
		errs = append(errs, validateOtherPods(spec.Affinity)...)
	}
	if spec.DNSConfig != nil || spec.DNSPolicy == corev1.DNSNone {
		errs = append(errs, validateDNSConfig(spec.DNSConfig, spec.DNSPolicy)...)
	}
	errs = append(errs, validateReadinessGates(spec.ReadinessGates)...)
	errs = append(errs, validateGates(spec.SchedulingGates)...)
	if old == nil || !SameSlice(spec.TopologySpreadConstraints, old.Spec.TopologySpreadConstraints) {
		for i := range spec.TopologySpreadConstraints {
			errs = append(errs, validateSpread(spec.TopologySpreadConstraints, i, field.NewPath("spec", "topologySpreadConstraints").Index(i))...)
		}
	}
	return errs
}

// validatePodHost validates what a pod shares with its node.
func validatePodHost(spec *corev1.PodSpec) field.ErrorList {
	errs := validateHostProcess(spec)
	if !hasHostUsers(spec) {
		errs = append(errs, validateOwnUsers(spec)...)
	}
	if spec.HostnameOverride != nil {
		errs = append(errs, validateHostnameOverride(spec)...)
	}
	return errs
}

// The supported values, in the order of messages (API-370).
var (
	restartPolicies = []corev1.RestartPolicy{corev1.RestartPolicyAlways, corev1.RestartPolicyOnFailure, corev1.RestartPolicyNever}
	dnsPolicies     = []corev1.DNSPolicy{corev1.DNSClusterFirstWithHostNet, corev1.DNSClusterFirst, corev1.DNSDefault, corev1.DNSNone}
	// Ascending.
	PreemptionPolicies = []corev1.PreemptionPolicy{corev1.PreemptLowerPriority, corev1.PreemptNever}
	pullPolicies       = []corev1.PullPolicy{corev1.PullAlways, corev1.PullIfNotPresent, corev1.PullNever}
)

// requiredOneOf requires that a field of the spec has one of the allowed values.
func requiredOneOf[V ~string](value V, child string, allowed []V) field.ErrorList {
	if slices.Contains(allowed, value) {
		return nil
	}
	return RequiredAt(value, field.NewPath("spec", child), allowed)
}

// RequiredAt requires one of the allowed values.
func RequiredAt[V ~string](value V, path *field.Path, allowed []V) field.ErrorList {
	switch {
	case slices.Contains(allowed, value):
		return nil
	case value == "":
		return field.ErrorList{field.Required(path, "")}
	}
	return field.ErrorList{field.NotSupported(path, value, allowed)}
}

func validatePullPolicy(policy corev1.PullPolicy, path *field.Path, child string) field.ErrorList {
	if policy == "" {
		return field.ErrorList{field.Required(path.Child(child), "")}
	}
	return OneOf(policy, path, child, pullPolicies)
}

// validatePodNames validates fields that name other objects, or the pod itself, and its deadline, tolerations and host aliases, which are
// between them.
func validatePodNames(spec *corev1.PodSpec) field.ErrorList {
	errs := optionalSubdomain(spec.ServiceAccountName, "serviceAccountName")
	errs = append(errs, optionalSubdomain(spec.NodeName, "nodeName")...)
	if deadline := spec.ActiveDeadlineSeconds; deadline != nil && (*deadline < 1 || *deadline > math.MaxInt32) {
		errs = append(errs, field.Invalid(field.NewPath("spec", "activeDeadlineSeconds"), *deadline,
			validation.InclusiveRangeError(1, math.MaxInt32)))
	}
	if spec.Hostname != "" && !IsDNSLabel(spec.Hostname) {
		errs = append(errs, DNSLabel(spec.Hostname, field.NewPath("spec"), "hostname")...)
	}
	if spec.Subdomain != "" && !IsDNSLabel(spec.Subdomain) {
		errs = append(errs, DNSLabel(spec.Subdomain, field.NewPath("spec"), "subdomain")...)
	}
	errs = append(errs, validateTolerations(spec.Tolerations, specField("tolerations"))...)
	errs = append(errs, validateHostAliases(spec.HostAliases)...)
	errs = append(errs, optionalSubdomain(spec.PriorityClassName, "priorityClassName")...)
	if spec.RuntimeClassName != nil && !IsSubdomain(*spec.RuntimeClassName) {
		errs = append(errs, Subdomain(*spec.RuntimeClassName, field.NewPath("spec"), "runtimeClassName")...)
	}
	return errs
}

// optionalSubdomain requires that a field of the spec is empty or a DNS-1123 subdomain.
func optionalSubdomain(value, child string) field.ErrorList {
	if value == "" || IsSubdomain(value) {
		return nil
	}
	return Subdomain(value, field.NewPath("spec"), child)
}

// hasBadTerms reports whether an expression of the terms has a value that is not a label value.
func hasBadTerms(terms []corev1.NodeSelectorTerm) bool {
	return len(terms) > 0 && hasBadValue(&corev1.VolumeNodeAffinity{Required: &corev1.NodeSelector{NodeSelectorTerms: terms}})
}

// validatePodNodeAffinity validates the node affinity of a pod. Values in preferred terms are not validated; with anyValue, values in
// Required terms are not either.
func validatePodNodeAffinity(affinity *corev1.NodeAffinity, anyValue bool, path *field.Path) field.ErrorList {
	var errs field.ErrorList
	if required := affinity.RequiredDuringSchedulingIgnoredDuringExecution; required != nil {
		errs = append(errs, validateNodeSelector(required, anyValue, path.Child("requiredDuringSchedulingIgnoredDuringExecution"))...)
	}
	for i := range affinity.PreferredDuringSchedulingIgnoredDuringExecution {
		preferred := &affinity.PreferredDuringSchedulingIgnoredDuringExecution[i]
		at := path.Child("preferredDuringSchedulingIgnoredDuringExecution").Index(i)
		if preferred.Weight <= 0 || preferred.Weight > 100 {
			errs = append(errs, field.Invalid(at.Child("weight"), preferred.Weight, "must be in the range 1-100"))
		}
		for j := range preferred.Preference.MatchExpressions {
			errs = append(errs, validateNodeExpression(&preferred.Preference.MatchExpressions[j], true,
				func() *field.Path { return at.Child("preference", "matchExpressions").Index(j) })...)
		}
		for j := range preferred.Preference.MatchFields {
			errs = append(errs, validateNodeField(&preferred.Preference.MatchFields[j],
				func() *field.Path { return at.Child("preference", "matchFields").Index(j) })...)
		}
	}
	return errs
}

func validateGates(gates []corev1.PodSchedulingGate) field.ErrorList {
	var errs field.ErrorList
	for i, gate := range gates {
		at := field.NewPath("spec", "schedulingGates").Index(i)
		if !IsQualifiedName(gate.Name) {
			errs = AppendInvalid(errs, at, gate.Name, validation.IsQualifiedName(gate.Name))
		}
		if slices.Contains(gates[:i], gate) {
			errs = append(errs, field.Duplicate(at, gate.Name))
		}
	}
	return errs
}

var (
	tolerationOperators = []corev1.TolerationOperator{corev1.TolerationOpEqual, corev1.TolerationOpExists}
	allOperators        = []corev1.TolerationOperator{corev1.TolerationOpEqual, corev1.TolerationOpExists, corev1.TolerationOpGt,
		corev1.TolerationOpLt}
)

func validateTolerations(tolerations []corev1.Toleration, path func() *field.Path) field.ErrorList {
	var errs field.ErrorList
	for i, t := range tolerations {
		if t.Operator == corev1.TolerationOpExists && t.Value == "" && t.Effect == corev1.TaintEffectNoExecute && IsQualifiedName(t.Key) {
			continue // such as those that every pod gets; paths allocate
		}
		at := path().Index(i)
		if t.Key != "" {
			errs = append(errs, LabelKey(t.Key, at, "key")...)
		} else if t.Operator != corev1.TolerationOpExists {
			errs = append(errs, field.Invalid(at.Child("operator"), t.Operator,
				"operator must be Exists when `key` is empty, which means \"match all values and all keys\""))
		}
		if t.TolerationSeconds != nil && t.Effect != corev1.TaintEffectNoExecute {
			errs = append(errs, field.Invalid(at.Child("effect"), t.Effect, "effect must be 'NoExecute' when `tolerationSeconds` is set"))
		}
		switch t.Operator {
		case corev1.TolerationOpEqual, "":
			if !IsLabelValue(t.Value) {
				errs = append(errs, field.Invalid(at.Child("operator"), t.Value, strings.Join(validation.IsValidLabelValue(t.Value), ";")))
			}
		case corev1.TolerationOpExists:
			if t.Value != "" {
				errs = append(errs, field.Invalid(at.Child("operator"), t.Value, "value must be empty when `operator` is 'Exists'"))
			}
		case corev1.TolerationOpLt, corev1.TolerationOpGt:
			// The feature gate is off by default.
			errs = append(errs, field.NotSupported(at.Child("operator"), t.Operator, allOperators))
		default:
			errs = append(errs, field.NotSupported(at.Child("operator"), t.Operator, tolerationOperators))
		}
		if t.Effect != "" {
			errs = append(errs, OneOf(t.Effect, at, "effect", taintEffects)...)
		}
	}
	return errs
}
