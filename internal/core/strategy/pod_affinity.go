package strategy

import (
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	metav1validation "k8s.io/apimachinery/pkg/apis/meta/v1/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/volsim/volsim/internal/core/objects"
)

// validateOtherPods validates the affinity of a new pod to other pods (API-263).
func validateOtherPods(affinity *corev1.Affinity) field.ErrorList {
	var errs field.ErrorList
	path := field.NewPath("spec", "affinity")
	if a := affinity.PodAffinity; a != nil {
		errs = append(errs, validateTerms(a.RequiredDuringSchedulingIgnoredDuringExecution, a.PreferredDuringSchedulingIgnoredDuringExecution,
			path.Child("podAffinity"))...)
	}
	if a := affinity.PodAntiAffinity; a != nil {
		errs = append(errs, validateTerms(a.RequiredDuringSchedulingIgnoredDuringExecution, a.PreferredDuringSchedulingIgnoredDuringExecution,
			path.Child("podAntiAffinity"))...)
	}
	return errs
}

func validateTerms(required []corev1.PodAffinityTerm, preferred []corev1.WeightedPodAffinityTerm, path *field.Path) field.ErrorList {
	var errs field.ErrorList
	for i := range required {
		errs = append(errs, validateTerm(&required[i], path.Child("requiredDuringSchedulingIgnoredDuringExecution").Index(i))...)
	}
	for i := range preferred {
		at := path.Child("preferredDuringSchedulingIgnoredDuringExecution").Index(i)
		// API-263: weights are 1 to 100.
		if w := preferred[i].Weight; w <= 0 || w > 100 {
			errs = append(errs, field.Invalid(at.Child("weight"), w, "must be in the range 1-100"))
		}
		errs = append(errs, validateTerm(&preferred[i].PodAffinityTerm, at.Child("podAffinityTerm"))...)
	}
	return errs
}

// validateTerm validates a term: its selectors, namespaces, label keys and topology key (API-263).
func validateTerm(term *corev1.PodAffinityTerm, path *field.Path) field.ErrorList {
	errs := append(validateLabelSelector(term.LabelSelector, metav1validation.LabelSelectorValidationOptions{}, path.Child("labelSelector")),
		validateLabelSelector(term.NamespaceSelector, metav1validation.LabelSelectorValidationOptions{}, path.Child("namespaceSelector"))...)
	for _, name := range term.Namespaces {
		errs = append(errs, DNSLabel(name, path, "namespace")...)
	}
	errs = append(errs, validateLabelKeys(term.MatchLabelKeys, term.MismatchLabelKeys, term.LabelSelector, path)...)
	if term.TopologyKey == "" {
		errs = append(errs, field.Required(path.Child("topologyKey"), "can not be empty"))
	}
	return append(errs, LabelKey(term.TopologyKey, path, "topologyKey")...)
}

// validateLabelSelector validates a selector. Upstream validates labels in the order of a map; here they are sorted.
func validateLabelSelector(selector *metav1.LabelSelector, opts metav1validation.LabelSelectorValidationOptions, path *field.Path) field.ErrorList {
	if selector == nil {
		return nil
	}
	errs := ValidateLabels(selector.MatchLabels, path.Child("matchLabels"))
	for i, requirement := range selector.MatchExpressions {
		errs = append(errs, metav1validation.ValidateLabelSelectorRequirement(requirement, opts, path.Child("matchExpressions").Index(i))...)
	}
	return errs
}

// validateLabelKeys validates matchLabelKeys and mismatchLabelKeys: they are keys, need a selector, and are in one place only (API-263).
func validateLabelKeys(match, mismatch []string, selector *metav1.LabelSelector, path *field.Path) field.ErrorList {
	errs := append(validateKeys(match, selector, path.Child("matchLabelKeys")), validateKeys(mismatch, selector, path.Child("mismatchLabelKeys"))...)
	if selector != nil {
		seen := objects.SortedKeys(selector.MatchLabels)
		for _, e := range selector.MatchExpressions {
			// The expression that stands for the key is in the selector already.
			if i := slices.Index(match, e.Key); i >= 0 && slices.Contains(seen, e.Key) {
				errs = append(errs, field.Invalid(path.Index(i), e.Key, "exists in both matchLabelKeys and labelSelector"))
			}
			seen = append(seen, e.Key)
		}
	}
	for i, key := range match {
		if slices.Contains(mismatch, key) {
			errs = append(errs, field.Invalid(path.Child("matchLabelKeys").Index(i), key, "exists in both matchLabelKeys and mismatchLabelKeys"))
		}
	}
	return errs
}

func validateKeys(keys []string, selector *metav1.LabelSelector, path *field.Path) field.ErrorList {
	if len(keys) > 0 && selector == nil {
		return field.ErrorList{field.Forbidden(path, "must not be specified when labelSelector is not set")}
	}
	var errs field.ErrorList
	for i, key := range keys {
		errs = append(errs, metav1validation.ValidateLabelName(key, path.Index(i))...)
	}
	return errs
}

var (
	unsatisfiableActions = []corev1.UnsatisfiableConstraintAction{corev1.DoNotSchedule, corev1.ScheduleAnyway}
	inclusionPolicies    = []corev1.NodeInclusionPolicy{corev1.NodeInclusionPolicyHonor, corev1.NodeInclusionPolicyIgnore}
)

// validateSpread validates the ith topology spread constraint (API-263).
func validateSpread(all []corev1.TopologySpreadConstraint, i int, path *field.Path) field.ErrorList {
	c := &all[i]
	errs := aboveZero(c.MaxSkew, path.Child("maxSkew"))
	if c.TopologyKey == "" {
		errs = append(errs, field.Required(path.Child("topologyKey"), "can not be empty"))
	}
	if !slices.Contains(unsatisfiableActions, c.WhenUnsatisfiable) {
		errs = append(errs, field.NotSupported(path.Child("whenUnsatisfiable"), c.WhenUnsatisfiable, unsatisfiableActions))
	}
	// API-263: a topology key has one constraint of each sort.
	if slices.ContainsFunc(all[i+1:], func(o corev1.TopologySpreadConstraint) bool {
		return o.TopologyKey == c.TopologyKey && o.WhenUnsatisfiable == c.WhenUnsatisfiable
	}) {
		errs = append(errs, field.Duplicate(path.Child("{topologyKey, whenUnsatisfiable}"), fmt.Sprintf("{%v, %v}", c.TopologyKey, c.WhenUnsatisfiable)))
	}
	if c.MinDomains != nil {
		errs = append(errs, aboveZero(*c.MinDomains, path.Child("minDomains"))...)
		if c.WhenUnsatisfiable != corev1.DoNotSchedule {
			errs = append(errs, field.Invalid(path.Child("minDomains"), *c.MinDomains,
				fmt.Sprintf("can only use minDomains if whenUnsatisfiable=%s, not %s", corev1.DoNotSchedule, c.WhenUnsatisfiable)))
		}
	}
	for _, policy := range []struct {
		child string
		value *corev1.NodeInclusionPolicy
	}{{"nodeAffinityPolicy", c.NodeAffinityPolicy}, {"nodeTaintsPolicy", c.NodeTaintsPolicy}} {
		if policy.value != nil && !slices.Contains(inclusionPolicies, *policy.value) {
			errs = append(errs, field.NotSupported(path.Child(policy.child), *policy.value, inclusionPolicies))
		}
	}
	errs = append(errs, validateLabelKeys(c.MatchLabelKeys, nil, c.LabelSelector, path)...)
	return append(errs, validateLabelSelector(c.LabelSelector, metav1validation.LabelSelectorValidationOptions{}, path.Child("labelSelector"))...)
}

func aboveZero(n int32, path *field.Path) field.ErrorList {
	if n > 0 {
		return nil
	}
	return field.ErrorList{field.Invalid(path, n, "must be greater than zero")}
}
