package strategy

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

const (
	maxRestartRules  = 20
	maxRestartValues = 255
)

var containerPolicies = []corev1.ContainerRestartPolicy{corev1.ContainerRestartPolicyAlways, corev1.ContainerRestartPolicyNever, corev1.ContainerRestartPolicyOnFailure}

// validateRestarts validates when a container restarts: its policy, and rules for the exit codes (API-373).
func validateRestarts(c *corev1.Container, at *field.Path) field.ErrorList {
	var errs field.ErrorList
	if c.RestartPolicy != nil {
		errs = append(errs, OneOf(*c.RestartPolicy, at, "restartPolicy", containerPolicies)...)
	} else {
		// API-373: rules need a policy.
		errs = append(errs, field.Required(at.Child("restartPolicy"), "must specify restartPolicy when restart rules are used"))
	}
	rules := at.Child("restartPolicyRules")
	if n := len(c.RestartPolicyRules); n > maxRestartRules {
		errs = append(errs, field.TooMany(rules, n, maxRestartRules))
	}
	for i, rule := range c.RestartPolicyRules {
		path := rules.Index(i)
		errs = append(errs, OneOf(rule.Action, path, "action", []corev1.ContainerRestartRuleAction{corev1.ContainerRestartRuleActionRestart,
			corev1.ContainerRestartRuleActionRestartAllContainers})...)
		if rule.ExitCodes == nil {
			errs = append(errs, field.Required(path.Child("exitCodes"), "must be specified"))
			continue
		}
		codes := path.Child("exitCodes")
		errs = append(errs, OneOf(rule.ExitCodes.Operator, codes, "operator", []corev1.ContainerRestartRuleOnExitCodesOperator{
			corev1.ContainerRestartRuleOnExitCodesOpIn, corev1.ContainerRestartRuleOnExitCodesOpNotIn})...)
		if n := len(rule.ExitCodes.Values); n > maxRestartValues {
			errs = append(errs, field.TooMany(codes.Child("values"), n, maxRestartValues))
		}
	}
	return errs
}

// validateInitRestarts is validateRestarts for an init container. One that has rules and no policy has no other errors.
func validateInitRestarts(c *corev1.Container, at *field.Path) field.ErrorList {
	if c.RestartPolicy == nil {
		c = &corev1.Container{}
	}
	return validateRestarts(c, at)
}

// hasRestarts reports whether a container has its own policy of restarts.
func hasRestarts(c *corev1.Container) bool {
	return c.RestartPolicy != nil || len(c.RestartPolicyRules) > 0
}

// validateResizePolicy validates what a change of resources does to a container (API-373). Errors have the path of the list.
func validateResizePolicy(policies []corev1.ContainerResizePolicy, pod corev1.RestartPolicy, path *field.Path) field.ErrorList {
	var errs field.ErrorList
	for i, p := range policies {
		if slices.ContainsFunc(policies[:i], func(o corev1.ContainerResizePolicy) bool { return o.ResourceName == p.ResourceName }) {
			errs = append(errs, field.Duplicate(path.Index(i), p.ResourceName))
		}
		errs = append(errs, RequiredAt(p.ResourceName, path, podLevelResources)...)
		errs = append(errs, RequiredAt(p.RestartPolicy, path, []corev1.ResourceResizeRestartPolicy{corev1.NotRequired, corev1.RestartContainer})...)
		// API-373: a pod that never restarts restarts no container either.
		if pod == corev1.RestartPolicyNever && p.RestartPolicy != corev1.NotRequired {
			errs = append(errs, field.Invalid(path, p.RestartPolicy, "must be 'NotRequired' when pod `restartPolicy` is 'Never'"))
		}
	}
	return errs
}

// validateInitResizes validates the resize policy of an init container that runs once (API-373).
func validateInitResizes(c *corev1.Container, path *field.Path) field.ErrorList {
	var errs field.ErrorList
	for i, p := range c.ResizePolicy {
		if p.RestartPolicy == corev1.RestartContainer {
			errs = append(errs, field.Invalid(path.Child("resizePolicy").Index(i).Child("restartPolicy"), p.RestartPolicy,
				"must not be set to 'RestartContainer' for non-sidecar initContainers"))
		}
	}
	return errs
}
