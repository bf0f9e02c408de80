package store

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
	errs := validatePod(pod, nil)
	spec := &pod.Spec
	if len(spec.EphemeralContainers) > 0 {
		errs = append(errs, field.Forbidden(field.NewPath("spec", "ephemeralContainers"), "cannot be set on create"))
	}
	if spec.NodeName != "" && len(spec.SchedulingGates) > 0 {
		errs = append(errs, field.Forbidden(field.NewPath("spec", "nodeName"), "cannot be set until all schedulingGates have been cleared"))
	}
	return errs
}

// validatePod validates a pod without regard to allowed changes: its volumes in full (API-196 to API-206), the main fields of containers
// and scheduling. A projected token needs no serviceAccountName here, because admission of a cluster would set it. Invalid values in node affinity are
// accepted if old has such values, too; old is nil for a new pod.
func validatePod(pod, old *corePod) field.ErrorList {
	spec := &pod.Spec
	var errs field.ErrorList
	if spec.TerminationGracePeriodSeconds == nil {
		errs = append(errs, field.Required(field.NewPath("spec", "terminationGracePeriodSeconds"), ""))
	}
	volumes, bad := validatePodVolumes(pod, specField("volumes"))
	errs = append(errs, bad...)
	errs = append(errs, validateContainers(spec, volumes)...)
	errs = append(errs, validateInitContainers(spec, volumes)...)
	if spec.SecurityContext != nil && old == nil {
		errs = append(errs, validatePodSecurity(spec.SecurityContext, func() *field.Path { return field.NewPath("spec", "securityContext") })...)
	}
	errs = append(errs, validatePolicies(spec)...)
	errs = append(errs, validatePodNames(spec)...)
	if !labelsValid(spec.NodeSelector) {
		errs = append(errs, validateLabels(spec.NodeSelector, field.NewPath("spec", "nodeSelector"))...)
	}
	if affinity := nodeAffinityOf(spec); affinity != nil {
		anyValue := old != nil && hasBadTerms(requiredTerms(nodeAffinityOf(&old.Spec)))
		errs = append(errs, validatePodNodeAffinity(affinity, anyValue, field.NewPath("spec", "affinity", "nodeAffinity"))...)
	}
	// API-259, API-263: these fields do not change.
	if old == nil && (spec.Resources != nil || spec.Affinity != nil || len(spec.TopologySpreadConstraints) > 0) {
		errs = append(append(errs, validatePodResources(spec)...), validateOtherPods(spec)...)
	}
	errs = append(errs, validateGates(spec.SchedulingGates)...)
	if len(spec.Tolerations) > 0 {
		errs = append(errs, validateTolerations(spec.Tolerations)...)
	}
	if deadline := spec.ActiveDeadlineSeconds; deadline != nil && (*deadline < 1 || *deadline > math.MaxInt32) {
		errs = append(errs, field.Invalid(field.NewPath("spec", "activeDeadlineSeconds"), *deadline,
			validation.InclusiveRangeError(1, math.MaxInt32)))
	}
	return errs
}

var (
	restartPolicies    = []corev1.RestartPolicy{corev1.RestartPolicyAlways, corev1.RestartPolicyNever, corev1.RestartPolicyOnFailure}
	dnsPolicies        = []corev1.DNSPolicy{corev1.DNSClusterFirst, corev1.DNSClusterFirstWithHostNet, corev1.DNSDefault, corev1.DNSNone}
	preemptionPolicies = []corev1.PreemptionPolicy{corev1.PreemptNever, corev1.PreemptLowerPriority}
	pullPolicies       = []corev1.PullPolicy{corev1.PullAlways, corev1.PullIfNotPresent, corev1.PullNever}
)

// validatePolicies validates fields that have one of a few values.
func validatePolicies(spec *corev1.PodSpec) field.ErrorList {
	errs := requiredOneOf(spec.RestartPolicy, "restartPolicy", restartPolicies)
	errs = append(errs, requiredOneOf(spec.DNSPolicy, "dnsPolicy", dnsPolicies)...)
	if spec.DNSPolicy == corev1.DNSNone && spec.DNSConfig == nil {
		errs = append(errs, field.Required(field.NewPath("spec", "dnsConfig"), "must provide `dnsConfig` when `dnsPolicy` is None"))
	}
	if spec.PreemptionPolicy != nil {
		errs = append(errs, requiredOneOf(*spec.PreemptionPolicy, "preemptionPolicy", preemptionPolicies)...)
	}
	return errs
}

// requiredOneOf requires that a field of the spec has one of the allowed values, which must be in ascending order.
func requiredOneOf[V ~string](value V, child string, allowed []V) field.ErrorList {
	switch {
	case slices.Contains(allowed, value):
		return nil
	case value == "":
		return field.ErrorList{field.Required(field.NewPath("spec", child), "")}
	}
	return field.ErrorList{field.NotSupported(field.NewPath("spec", child), value, allowed)}
}

func validatePullPolicy(policy corev1.PullPolicy, path *field.Path, child string) field.ErrorList {
	if policy == "" {
		return field.ErrorList{field.Required(path.Child(child), "")}
	}
	return oneOf(policy, path, child, pullPolicies)
}

// validatePodNames validates fields that name other objects, or the pod itself.
func validatePodNames(spec *corev1.PodSpec) field.ErrorList {
	var errs field.ErrorList
	for _, f := range [...]struct{ child, value string }{
		{"serviceAccountName", spec.ServiceAccountName},
		{"nodeName", spec.NodeName},
		{"priorityClassName", spec.PriorityClassName},
	} {
		if f.value != "" && !IsSubdomain(f.value) {
			errs = append(errs, subdomain(f.value, field.NewPath("spec"), f.child)...)
		}
	}
	if spec.RuntimeClassName != nil && !IsSubdomain(*spec.RuntimeClassName) {
		errs = append(errs, subdomain(*spec.RuntimeClassName, field.NewPath("spec"), "runtimeClassName")...)
	}
	if spec.Hostname != "" && !isDNSLabel(spec.Hostname) {
		errs = append(errs, dnsLabel(spec.Hostname, field.NewPath("spec"), "hostname")...)
	}
	if spec.Subdomain != "" && !isDNSLabel(spec.Subdomain) {
		errs = append(errs, dnsLabel(spec.Subdomain, field.NewPath("spec"), "subdomain")...)
	}
	return errs
}

// hasBadTerms reports whether an expression of the terms has a value that is not a label value.
func hasBadTerms(terms []corev1.NodeSelectorTerm) bool {
	return len(terms) > 0 && hasBadValue(&corev1.VolumeNodeAffinity{Required: &corev1.NodeSelector{NodeSelectorTerms: terms}})
}

// validatePodNodeAffinity validates the node affinity of a pod. Values in preferred terms are not validated; with anyValue, values in
// required terms are not either.
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
		if !isQualifiedName(gate.Name) {
			errs = appendInvalid(errs, at, gate.Name, validation.IsQualifiedName(gate.Name))
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

func validateTolerations(tolerations []corev1.Toleration) field.ErrorList {
	var errs field.ErrorList
	for i, t := range tolerations {
		if t.Operator == corev1.TolerationOpExists && t.Value == "" && t.Effect == corev1.TaintEffectNoExecute && isQualifiedName(t.Key) {
			continue // such as those that every pod gets; paths allocate
		}
		at := field.NewPath("spec", "tolerations").Index(i)
		if t.Key != "" {
			errs = append(errs, labelKey(t.Key, at, "key")...)
		} else if t.Operator != corev1.TolerationOpExists {
			errs = append(errs, field.Invalid(at.Child("operator"), t.Operator,
				"operator must be Exists when `key` is empty, which means \"match all values and all keys\""))
		}
		if t.TolerationSeconds != nil && t.Effect != corev1.TaintEffectNoExecute {
			errs = append(errs, field.Invalid(at.Child("effect"), t.Effect, "effect must be 'NoExecute' when `tolerationSeconds` is set"))
		}
		switch t.Operator {
		case corev1.TolerationOpEqual, "":
			if !isLabelValue(t.Value) {
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
			errs = append(errs, oneOf(t.Effect, at, "effect", taintEffects)...)
		}
	}
	return errs
}
