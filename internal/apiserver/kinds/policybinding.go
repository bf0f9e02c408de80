package kinds

import (
	"encoding/json"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	"k8s.io/apimachinery/pkg/api/validate/content"
	apimachineryvalidation "k8s.io/apimachinery/pkg/api/validation"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	metav1validation "k8s.io/apimachinery/pkg/apis/meta/v1/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/volsim/volsim/api"
	"github.com/volsim/volsim/internal/core/plain"
	"github.com/volsim/volsim/internal/core/store"
)

// bindingRules are the rules of the bindings of policies.
func bindingRules(kind api.Kind) store.KindRules {
	return store.KindRules{
		Default: func(obj *plain.Object) {
			withSpec(obj, func(spec map[string]any) map[string]any {
				spec = withDefaults(spec, nil)
				defaultMatchResources(spec, "matchResources")
				return spec
			})
		},
		Check: func(obj, old *plain.Object) field.ErrorList {
			path := field.NewPath("spec")
			spec, err := ReadBindingSpec(obj)
			if err != nil {
				return field.ErrorList{field.Invalid(path, obj.Content()["spec"], err.Error())}
			}
			return append(prefixOfUpdate(obj, old), checkBinding(spec, kind == MutatingBinding, path)...)
		},
	}
}

// BindingSpec is the spec of a binding of either kind.
type BindingSpec = admissionregistrationv1.ValidatingAdmissionPolicyBindingSpec

// ReadBindingSpec returns the spec of a stored binding.
func ReadBindingSpec(obj *plain.Object) (*BindingSpec, error) {
	spec := &BindingSpec{}
	data, err := json.Marshal(obj.Content()["spec"])
	if err == nil {
		err = json.Unmarshal(data, spec)
	}
	return spec, err
}

// checkBinding validates a binding (API-412).
func checkBinding(spec *BindingSpec, mutating bool, path *field.Path) field.ErrorList {
	var errs field.ErrorList
	if spec.PolicyName == "" {
		errs = append(errs, field.Required(path.Child("policyName"), ""))
	} else {
		for _, text := range apimachineryvalidation.NameIsDNSSubdomain(spec.PolicyName, false) {
			errs = append(errs, field.Invalid(path.Child("policyName"), spec.PolicyName, text))
		}
	}
	if spec.ParamRef != nil {
		errs = append(errs, checkParamRef(spec.ParamRef, path.Child("paramRef"))...)
	}
	if match, at := spec.MatchResources, path.Child("matchResources"); match != nil {
		errs = append(errs, checkMatchResources(match, at)...)
		if mutating {
			errs = append(errs, checkMutable(match, at)...)
		}
	}
	if !mutating {
		errs = append(errs, checkActions(spec.ValidationActions, path.Child("validationActions"))...)
	}
	return errs
}

// checkParamRef validates which parameters a binding uses.
func checkParamRef(p *admissionregistrationv1.ParamRef, path *field.Path) field.ErrorList {
	const exclusive = "name and selector are mutually exclusive"
	var errs field.ErrorList
	if p.Name != "" {
		for _, text := range content.IsPathSegmentName(p.Name) {
			errs = append(errs, field.Invalid(path.Child("name"), p.Name, text))
		}
		if p.Selector != nil {
			errs = append(errs, field.Forbidden(path.Child("name"), exclusive))
		}
	}
	if p.Selector != nil {
		errs = append(errs, metav1validation.ValidateLabelSelector(p.Selector, metav1validation.LabelSelectorValidationOptions{}, path.Child("selector"))...)
		if p.Name != "" {
			errs = append(errs, field.Forbidden(path.Child("selector"), exclusive))
		}
	}
	if p.Name == "" && p.Selector == nil {
		errs = append(errs, field.Required(path, "one of name or selector must be specified"))
	}
	at := path.Child("parameterNotFoundAction")
	if p.ParameterNotFoundAction == nil || *p.ParameterNotFoundAction == "" {
		return append(errs, field.Required(at, ""))
	}
	return append(errs, supported(p.ParameterNotFoundAction, at, admissionregistrationv1.DenyAction, admissionregistrationv1.AllowAction)...)
}

// checkMatchResources validates what a policy or a binding is about.
func checkMatchResources(m *admissionregistrationv1.MatchResources, path *field.Path) field.ErrorList {
	errs := supported(m.MatchPolicy, path.Child("matchPolicy"), "Equivalent", "Exact")
	for _, given := range []struct {
		name     string
		selector *metav1.LabelSelector
	}{{"namespaceSelector", m.NamespaceSelector}, {"objectSelector", m.ObjectSelector}} {
		if given.selector != nil {
			errs = append(errs, metav1validation.ValidateLabelSelector(given.selector, metav1validation.LabelSelectorValidationOptions{}, path.Child(given.name))...)
		}
	}
	for i := range m.ResourceRules {
		errs = append(errs, checkNamedRule(&m.ResourceRules[i], path.Child("resourceRules").Index(i))...)
	}
	for i := range m.ExcludeResourceRules {
		errs = append(errs, checkNamedRule(&m.ExcludeResourceRules[i], path.Child("excludeResourceRules").Index(i))...)
	}
	return errs
}

func checkNamedRule(rule *admissionregistrationv1.NamedRuleWithOperations, path *field.Path) field.ErrorList {
	var errs field.ErrorList
	known := map[string]bool{}
	for i, name := range rule.ResourceNames {
		at := path.Child("resourceNames").Index(i)
		for _, text := range content.IsPathSegmentName(name) {
			errs = append(errs, field.Invalid(at, name, text))
		}
		if known[name] {
			errs = append(errs, field.Duplicate(at, name))
		}
		known[name] = true
	}
	return append(errs, checkRule(&rule.RuleWithOperations, path)...)
}

// checkActions validates what a binding does about a failed validation.
func checkActions(actions []admissionregistrationv1.ValidationAction, path *field.Path) field.ErrorList {
	var errs field.ErrorList
	known := map[admissionregistrationv1.ValidationAction]bool{}
	for i, action := range actions {
		errs = append(errs, supported(&action, path.Index(i), admissionregistrationv1.Audit, admissionregistrationv1.Deny, admissionregistrationv1.Warn)...)
		if known[action] {
			errs = append(errs, field.Duplicate(path.Index(i), action))
		}
		known[action] = true
	}
	if known[admissionregistrationv1.Deny] && known[admissionregistrationv1.Warn] {
		errs = append(errs, field.Invalid(path, actions,
			"must not contain both Deny and Warn (repeating the same validation failure information in the API response and headers serves no purpose)"))
	}
	if len(actions) == 0 {
		errs = append(errs, field.Required(path, "at least one validation action is required"))
	}
	return errs
}
