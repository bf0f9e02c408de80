package kinds

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	metav1validation "k8s.io/apimachinery/pkg/apis/meta/v1/validation"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/volsim/volsim/api"
	"github.com/volsim/volsim/internal/apiserver/definition"
	"github.com/volsim/volsim/internal/apiserver/expression"
	"github.com/volsim/volsim/internal/core/plain"
	"github.com/volsim/volsim/internal/core/store"
)

// configurationRules are the rules of the configurations of webhooks.
func configurationRules(kind api.Kind) store.KindRules {
	return store.KindRules{
		Default: func(obj *plain.Object) { defaultConfiguration(obj, kind == MutatingConfiguration) },
		Check: func(obj, old *plain.Object) field.ErrorList {
			return append(prefixOfUpdate(obj, old), checkConfiguration(obj, kind == MutatingConfiguration)...)
		},
	}
}

// defaultConfiguration sets the defaults of the webhooks in a configuration (API-380).
func defaultConfiguration(obj *plain.Object, mutating bool) {
	hooks, _ := obj.Content()["webhooks"].([]any)
	if len(hooks) == 0 {
		return
	}
	completed := make([]any, len(hooks))
	for i, hook := range hooks {
		completed[i] = hook
		if fields, ok := hook.(map[string]any); ok {
			completed[i] = defaultedWebhook(fields, mutating)
		}
	}
	obj.SetContent(maps.Clone(obj.Content()))
	obj.Content()["webhooks"] = completed
}

// defaultedWebhook returns a copy of a webhook with its defaults.
func defaultedWebhook(hook map[string]any, mutating bool) map[string]any {
	// API-380: a webhook that cannot be asked refuses the request, and it is asked about all objects.
	hook = withDefaults(hook, map[string]any{
		"failurePolicy": "Fail", "matchPolicy": "Equivalent", "namespaceSelector": map[string]any{}, "objectSelector": map[string]any{}, "timeoutSeconds": int64(10),
	})
	if mutating {
		hook = withDefaults(hook, map[string]any{"reinvocationPolicy": "Never"})
	}
	if client, ok := hook["clientConfig"].(map[string]any); ok {
		if service, ok := client["service"].(map[string]any); ok {
			client = maps.Clone(client)
			client["service"] = withDefaults(service, map[string]any{"port": int64(store.DefaultWebhookPort)})
			hook["clientConfig"] = client
		}
	}
	if rules, ok := hook["rules"].([]any); ok {
		hook["rules"] = defaultedRules(rules)
	}
	return hook
}

// defaultedRules returns a copy of rules with their defaults.
func defaultedRules(rules []any) []any {
	rules = slices.Clone(rules)
	for i := range rules {
		if rule, ok := rules[i].(map[string]any); ok {
			rules[i] = withDefaults(rule, map[string]any{"scope": "*"})
		}
	}
	return rules
}

// withDefaults returns a copy of an object in which the fields that are absent have defaults.
func withDefaults(fields, defaults map[string]any) map[string]any {
	if fields = maps.Clone(fields); fields == nil {
		fields = map[string]any{}
	}
	for name, value := range defaults {
		if fields[name] == nil {
			fields[name] = value
		}
	}
	return fields
}

// ReadWebhooks returns the webhooks of a configuration. Those that validate have the fields of those that mutate, except for reinvocationPolicy.
func ReadWebhooks(obj *plain.Object) ([]admissionregistrationv1.MutatingWebhook, error) {
	var hooks []admissionregistrationv1.MutatingWebhook
	data, err := json.Marshal(obj.Content()["webhooks"])
	if err == nil {
		err = json.Unmarshal(data, &hooks)
	}
	return hooks, err
}

// checkConfiguration validates a configuration of webhooks (API-381).
func checkConfiguration(obj *plain.Object, mutating bool) field.ErrorList {
	path := field.NewPath("webhooks")
	hooks, err := ReadWebhooks(obj)
	if err != nil {
		return field.ErrorList{field.Invalid(path, obj.Content()["webhooks"], err.Error())}
	}
	var errs field.ErrorList
	names := map[string]bool{}
	for i := range hooks {
		hook, at := &hooks[i], path.Index(i)
		errs = append(errs, checkWebhookFields(hook, mutating, at)...)
		errs = append(errs, definition.CheckReviewVersions(hook.AdmissionReviewVersions, "must specify one of "+strings.Join(definition.ReviewVersions, ", "),
			at.Child("admissionReviewVersions"))...)
		if hook.Name != "" && names[hook.Name] {
			// API-381: the name of a webhook tells it from the others in errors.
			errs = append(errs, field.Duplicate(at.Child("name"), hook.Name))
		}
		names[hook.Name] = true
	}
	return errs
}

func checkWebhookFields(hook *admissionregistrationv1.MutatingWebhook, mutating bool, path *field.Path) field.ErrorList {
	errs := validation.IsFullyQualifiedName(path.Child("name"), hook.Name)
	for i := range hook.Rules {
		errs = append(errs, checkRule(&hook.Rules[i], path.Child("rules").Index(i))...)
	}
	errs = append(errs, supported(hook.FailurePolicy, path.Child("failurePolicy"), "Fail", "Ignore")...)
	errs = append(errs, supported(hook.MatchPolicy, path.Child("matchPolicy"), "Equivalent", "Exact")...)
	if hook.SideEffects == nil {
		errs = append(errs, field.Required(path.Child("sideEffects"), "must specify one of None, NoneOnDryRun"))
	}
	errs = append(errs, supported(hook.SideEffects, path.Child("sideEffects"), "None", "NoneOnDryRun")...)
	if t := hook.TimeoutSeconds; t != nil && (*t < 1 || *t > 30) {
		errs = append(errs, field.Invalid(path.Child("timeoutSeconds"), *t, "the timeout value must be between 1 and 30 seconds"))
	}
	var opts metav1validation.LabelSelectorValidationOptions
	if hook.NamespaceSelector != nil {
		errs = append(errs, metav1validation.ValidateLabelSelector(hook.NamespaceSelector, opts, path.Child("namespaceSelector"))...)
	}
	if hook.ObjectSelector != nil {
		errs = append(errs, metav1validation.ValidateLabelSelector(hook.ObjectSelector, opts, path.Child("objectSelector"))...)
	}
	if mutating {
		errs = append(errs, supported(hook.ReinvocationPolicy, path.Child("reinvocationPolicy"), "IfNeeded", "Never")...)
	}
	errs = append(errs, checkWebhookClient(&hook.ClientConfig, path.Child("clientConfig"))...)
	return append(errs, expression.CheckConditions(hook.MatchConditions, false, path.Child("matchConditions"))...)
}

// supported checks a field that may be absent and has few values.
func supported[T ~string](value *T, path *field.Path, values ...T) field.ErrorList {
	if value == nil || slices.Contains(values, *value) {
		return nil
	}
	return field.ErrorList{field.NotSupported(path, *value, values)}
}

func checkWebhookClient(c *admissionregistrationv1.WebhookClientConfig, path *field.Path) field.ErrorList {
	switch {
	case (c.URL == nil) == (c.Service == nil):
		return field.ErrorList{field.Required(path, "exactly one of url or service is required")}
	case c.URL != nil:
		return definition.CheckWebhookURL(*c.URL, path.Child("url"))
	}
	return definition.CheckService(c.Service.Namespace, c.Service.Name, c.Service.Port, c.Service.Path, path.Child("service"))
}

// Anything stands for all values in the rules of webhooks, policies and flow control.
const Anything = "*"

var (
	webhookOperations = []admissionregistrationv1.OperationType{"*", "CONNECT", "CREATE", "DELETE", "UPDATE"}
	ruleScopes        = []admissionregistrationv1.ScopeType{"*", "Cluster", "Namespaced"}
)

// checkRule validates a rule that says which requests a webhook is asked about.
func checkRule(rule *admissionregistrationv1.RuleWithOperations, path *field.Path) field.ErrorList {
	var errs field.ErrorList
	operations := path.Child("operations")
	if len(rule.Operations) == 0 {
		errs = append(errs, field.Required(operations, ""))
	}
	if len(rule.Operations) > 1 && slices.Contains(rule.Operations, admissionregistrationv1.OperationAll) {
		errs = append(errs, field.Invalid(operations, rule.Operations, "if '*' is present, must not specify other operations"))
	}
	for i := range rule.Operations {
		errs = append(errs, supported(&rule.Operations[i], operations.Index(i), webhookOperations...)...)
	}
	errs = append(errs, checkNames(rule.APIGroups, "API groups", path.Child("apiGroups"))...)
	errs = append(errs, checkNames(rule.APIVersions, "API versions", path.Child("apiVersions"))...)
	for i, version := range rule.APIVersions {
		if version == "" {
			errs = append(errs, field.Required(path.Child("apiVersions").Index(i), ""))
		}
	}
	errs = append(errs, checkRuleResources(rule.Resources, path.Child("resources"))...)
	return append(errs, supported(rule.Scope, path.Child("scope"), ruleScopes...)...)
}

// checkNames validates a list of names in which a star stands for all.
func checkNames(names []string, what string, path *field.Path) field.ErrorList {
	switch {
	case len(names) == 0:
		return field.ErrorList{field.Required(path, "")}
	case len(names) > 1 && slices.Contains(names, Anything):
		return field.ErrorList{field.Invalid(path, names, "if '*' is present, must not specify other "+what)}
	}
	return nil
}

// checkRuleResources validates resources and subresources, in which a star stands for all.
func checkRuleResources(resources []string, path *field.Path) field.ErrorList {
	var errs field.ErrorList
	if len(resources) == 0 {
		errs = append(errs, field.Required(path, ""))
	}
	invalid := func(i int, form, name string) {
		errs = append(errs, field.Invalid(path.Index(i), name, fmt.Sprintf("if '%s' is present, must not specify %s", form, name)))
	}
	plainLast := false // whether the last name without a subresource is not the star
	for i, name := range resources {
		if name == "" {
			errs = append(errs, field.Required(path.Index(i), ""))
			continue
		}
		resource, sub, nested := strings.Cut(name, "/")
		if !nested {
			plainLast = name != Anything
			continue
		}
		// API-381: what an earlier name covers is not named again.
		if form := resource + "/*"; slices.Contains(resources[:i], form) {
			invalid(i, form, name)
		}
		if form := "*/" + sub; slices.Contains(resources[:i], form) {
			invalid(i, form, name)
		}
	}
	if len(resources) > 1 && slices.Contains(resources, "*/*") {
		errs = append(errs, field.Invalid(path, resources, "if '*/*' is present, must not specify other resources"))
	}
	if plainLast && slices.Contains(resources, Anything) {
		errs = append(errs, field.Invalid(path, resources, "if '*' is present, must not specify other resources without subresources"))
	}
	return errs
}
