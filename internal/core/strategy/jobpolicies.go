package strategy

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// Limits of the policies of Jobs (JOB-087).
const (
	mostPolicyRules     = 20
	mostExitCodes       = 255
	mostSuccessIndexes  = 64 * 1024
	mostIndexes         = 100_000
	mostOfManyIndexes   = 10_000
	longestManagedBy    = 63
	maxFailedIndexes    = "maxFailedIndexes"
	requiresIndexedMode = "requires indexed completion mode"
)

// defaultFailurePolicy completes the conditions of a podFailurePolicy (JOB-086).
func defaultFailurePolicy(policy *batchv1.PodFailurePolicy) {
	if policy == nil {
		return
	}
	for i := range policy.Rules {
		for j := range policy.Rules[i].OnPodConditions {
			pattern := &policy.Rules[i].OnPodConditions[j]
			pattern.Status = cmp.Or(pattern.Status, corev1.ConditionTrue)
		}
	}
}

// validateJobPolicies validates podFailurePolicy and successPolicy (JOB-087).
func validateJobPolicies(spec *batchv1.JobSpec, path *field.Path) field.ErrorList {
	var errs field.ErrorList
	if spec.PodFailurePolicy != nil {
		errs = append(errs, validateFailurePolicy(spec, path.Child("podFailurePolicy", "rules"))...)
	}
	if spec.SuccessPolicy == nil {
		return errs
	}
	if *spec.CompletionMode != batchv1.IndexedCompletion {
		return append(errs, field.Invalid(path.Child("successPolicy"), internalForm{spec.SuccessPolicy}, requiresIndexedMode))
	}
	rules, path := spec.SuccessPolicy.Rules, path.Child("successPolicy", "rules")
	if len(rules) == 0 {
		errs = append(errs, field.Required(path, "at least one rules must be specified when the successPolicy is specified"))
	}
	if len(rules) > mostPolicyRules {
		errs = append(errs, field.TooMany(path, len(rules), mostPolicyRules))
	}
	if spec.Completions == nil {
		return errs
	}
	for i := range rules {
		errs = append(errs, validateSuccessRule(&rules[i], *spec.Completions, path.Index(i))...)
	}
	return errs
}

func validateSuccessRule(rule *batchv1.SuccessPolicyRule, completions int32, path *field.Path) field.ErrorList {
	var errs field.ErrorList
	if rule.SucceededCount == nil && rule.SucceededIndexes == nil {
		errs = append(errs, field.Required(path, "at least one of succeededCount or succeededIndexes must be specified"))
	}
	total := int32(0)
	if rule.SucceededIndexes != nil {
		path := path.Child("succeededIndexes")
		if len(*rule.SucceededIndexes) > mostSuccessIndexes {
			errs = append(errs, field.TooLong(path, "", mostSuccessIndexes))
		}
		var err error
		if total, err = countIndexes(*rule.SucceededIndexes, completions); err != nil {
			errs = append(errs, field.Invalid(path, *rule.SucceededIndexes, "error parsing succeededIndexes: "+err.Error()))
		}
	}
	if rule.SucceededCount == nil {
		return errs
	}
	n, path := *rule.SucceededCount, path.Child("succeededCount")
	errs = append(errs, notBelowZero(int64(n), path)...)
	if n > completions {
		errs = append(errs, field.Invalid(path, n, fmt.Sprintf("must be less than or equal to %d (the number of specified completions)", completions)))
	}
	if rule.SucceededIndexes != nil && n > total {
		errs = append(errs, field.Invalid(path, n,
			fmt.Sprintf("must be less than or equal to %d (the number of indexes in the specified succeededIndexes field)", total)))
	}
	return errs
}

// countIndexes returns how many indexes a list like 0,2-4 has.
func countIndexes(text string, completions int32) (total int32, err error) {
	if text == "" {
		return 0, nil
	}
	last := -1
	for i, part := range strings.Split(text, ",") {
		ends := strings.Split(part, "-")
		if len(ends) > 2 {
			return 0, fmt.Errorf("the fragment %q violates the requirement that an index interval can have at most two parts separated by '-'", part)
		}
		var numbers []int
		for _, end := range ends {
			n, err := strconv.Atoi(end)
			if err != nil {
				return 0, fmt.Errorf("cannot convert string to integer for index: %q", end)
			}
			if n >= int(completions) {
				return 0, fmt.Errorf("too large index: %q", end)
			}
			numbers = append(numbers, n)
		}
		from, to := numbers[0], numbers[len(numbers)-1]
		if len(numbers) > 1 && from >= to {
			return 0, fmt.Errorf("non-increasing order, previous: %d, current: %d", from, to)
		}
		if i > 0 && last >= from {
			return 0, fmt.Errorf("non-increasing order, previous: %d, current: %d", last, from)
		}
		total, last = total+int32(to-from+1), to
	}
	return total, nil
}

func validateFailurePolicy(spec *batchv1.JobSpec, path *field.Path) field.ErrorList {
	var errs field.ErrorList
	rules := spec.PodFailurePolicy.Rules
	if len(rules) > mostPolicyRules {
		errs = append(errs, field.TooMany(path, len(rules), mostPolicyRules))
	}
	names := sets.New[string]()
	for _, list := range [][]corev1.Container{spec.Template.Spec.Containers, spec.Template.Spec.InitContainers} {
		for i := range list {
			names.Insert(list[i].Name)
		}
	}
	for i := range rules {
		rule, path := &rules[i], path.Index(i)
		perIndex := spec.BackoffLimitPerIndex != nil
		if rule.Action == batchv1.PodFailurePolicyActionFailIndex && !perIndex {
			errs = append(errs, field.Invalid(path.Child("action"), rule.Action, "requires the backoffLimitPerIndex to be set"))
		} else {
			errs = append(errs, validValue(path.Child("action"), rule.Action, batchv1.PodFailurePolicyActionCount, batchv1.PodFailurePolicyActionFailIndex,
				batchv1.PodFailurePolicyActionFailJob, batchv1.PodFailurePolicyActionIgnore)...)
		}
		if rule.OnExitCodes != nil {
			errs = append(errs, validateExitCodes(rule.OnExitCodes, names, path.Child("onExitCodes"))...)
		}
		errs = append(errs, validateConditionPatterns(rule.OnPodConditions, path.Child("onPodConditions"))...)
		switch codes, conditions := rule.OnExitCodes != nil, len(rule.OnPodConditions) > 0; {
		case codes && conditions:
			errs = append(errs, field.Invalid(path, field.OmitValueType{}, "specifying both OnExitCodes and OnPodConditions is not supported"))
		case !codes && !conditions:
			errs = append(errs, field.Invalid(path, field.OmitValueType{}, "specifying one of OnExitCodes and OnPodConditions is required"))
		}
	}
	return errs
}

// validValue requires one of the values, which are sorted.
func validValue[T ~string](path *field.Path, value T, values ...T) field.ErrorList {
	switch {
	case value == "":
		return field.ErrorList{field.Required(path, fmt.Sprintf("valid values: %q", values))}
	case !slices.Contains(values, value):
		return field.ErrorList{field.NotSupported(path, value, values)}
	}
	return nil
}

func validateConditionPatterns(patterns []batchv1.PodFailurePolicyOnPodConditionsPattern, path *field.Path) field.ErrorList {
	var errs field.ErrorList
	if len(patterns) > mostPolicyRules {
		errs = append(errs, field.TooMany(path, len(patterns), mostPolicyRules))
	}
	for i, pattern := range patterns {
		for _, text := range validation.IsQualifiedName(string(pattern.Type)) {
			errs = append(errs, field.Invalid(path.Index(i).Child("type"), string(pattern.Type), text))
		}
		errs = append(errs, validValue(path.Index(i).Child("status"), pattern.Status, corev1.ConditionFalse, corev1.ConditionTrue, corev1.ConditionUnknown)...)
	}
	return errs
}

func validateExitCodes(rule *batchv1.PodFailurePolicyOnExitCodesRequirement, names sets.Set[string], path *field.Path) field.ErrorList {
	errs := validValue(path.Child("operator"), rule.Operator, batchv1.PodFailurePolicyOnExitCodesOpIn, batchv1.PodFailurePolicyOnExitCodesOpNotIn)
	if rule.ContainerName != nil && !names.Has(*rule.ContainerName) {
		errs = append(errs, field.Invalid(path.Child("containerName"), *rule.ContainerName,
			"must be one of the container or initContainer names in the pod template"))
	}
	path = path.Child("values")
	if len(rule.Values) == 0 {
		errs = append(errs, field.Invalid(path, rule.Values, "at least one value is required"))
	} else if len(rule.Values) > mostExitCodes {
		errs = append(errs, field.TooMany(path, len(rule.Values), mostExitCodes))
	}
	seen := sets.New[int32]()
	for i, code := range rule.Values {
		if code == 0 && rule.Operator == batchv1.PodFailurePolicyOnExitCodesOpIn {
			errs = append(errs, field.Invalid(path.Index(i), code, "must not be 0 for the In operator"))
		}
		if seen.Has(code) {
			errs = append(errs, field.Duplicate(path.Index(i), code))
		}
		seen.Insert(code)
	}
	if !slices.IsSorted(rule.Values) {
		errs = append(errs, field.Invalid(path, rule.Values, "must be ordered"))
	}
	return errs
}

// validateManagedBy validates the name of another controller (JOB-087).
func validateManagedBy(name *string, path *field.Path) field.ErrorList {
	if name == nil {
		return nil
	}
	errs := validation.IsDomainPrefixedPath(path, *name)
	if len(*name) > longestManagedBy {
		errs = append(errs, field.TooLong(path, "", longestManagedBy))
	}
	return errs
}

// validateIndexedLimits validates the limits of failed indexes of an indexed Job (JOB-087).
func validateIndexedLimits(spec *batchv1.JobSpec, path *field.Path) field.ErrorList {
	var errs field.ErrorList
	tooMany := func(name string, value, limit int32, when string) {
		if value > limit {
			errs = append(errs, field.Invalid(path.Child(name), value, fmt.Sprintf("must be less than or equal to %d%s", limit, when)))
		}
	}
	failed := spec.MaxFailedIndexes
	tooMany("parallelism", *spec.Parallelism, mostIndexes, " when completion mode is Indexed")
	if failed != nil && spec.Completions != nil && *failed > *spec.Completions {
		errs = append(errs, field.Invalid(path.Child(maxFailedIndexes), *failed, "must be less than or equal to completions"))
	}
	if failed != nil {
		tooMany(maxFailedIndexes, *failed, mostIndexes, "")
	}
	if spec.Completions == nil || *spec.Completions <= mostIndexes || spec.BackoffLimitPerIndex == nil {
		return errs
	}
	when := fmt.Sprintf(" when completions are above %d and used with backoff limit per index", mostIndexes)
	if failed == nil {
		errs = append(errs, field.Required(path.Child(maxFailedIndexes), fmt.Sprintf("must be specified when completions is above %d", mostIndexes)))
	}
	tooMany("parallelism", *spec.Parallelism, mostOfManyIndexes, when)
	if failed != nil {
		tooMany(maxFailedIndexes, *failed, mostOfManyIndexes, when)
	}
	return errs
}
