package kinds

import (
	"encoding/json"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	celgo "github.com/google/cel-go/cel"
	celtypes "github.com/google/cel-go/common/types"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	"k8s.io/apimachinery/pkg/api/validate/content"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/volsim/volsim/api"
	"github.com/volsim/volsim/internal/apiserver/expression"
	"github.com/volsim/volsim/internal/core/plain"
	"github.com/volsim/volsim/internal/core/store"
)

// policyRules are the rules of policies.
func policyRules(kind api.Kind) store.KindRules {
	return store.KindRules{
		Default: defaultPolicy,
		Check: func(obj, old *plain.Object) field.ErrorList {
			spec, err := ReadPolicySpec(obj)
			if err != nil {
				return field.ErrorList{field.Invalid(field.NewPath("spec"), obj.Content()["spec"], err.Error())}
			}
			c := &policyCheck{PolicySpec: spec, name: obj.GetName(), mutating: kind == MutatingPolicy, path: field.NewPath("spec")}
			return append(prefixOfUpdate(obj, old), c.check()...)
		},
		CheckStatus: checkPolicyStatus,
	}
}

// PolicySpec is the spec of a policy of either kind.
type PolicySpec struct {
	admissionregistrationv1.ValidatingAdmissionPolicySpec
	Mutations          []admissionregistrationv1.Mutation             `json:"mutations"`
	ReinvocationPolicy admissionregistrationv1.ReinvocationPolicyType `json:"reinvocationPolicy"`
}

// ReadPolicySpec returns the spec of a stored policy.
func ReadPolicySpec(obj *plain.Object) (*PolicySpec, error) {
	spec := &PolicySpec{}
	data, err := json.Marshal(obj.Content()["spec"])
	if err == nil {
		err = json.Unmarshal(data, spec)
	}
	return spec, err
}

// defaultPolicy sets the defaults of a policy (API-410).
func defaultPolicy(obj *plain.Object) {
	withSpec(obj, func(spec map[string]any) map[string]any {
		// API-410: a policy that fails refuses the request.
		spec = withDefaults(spec, map[string]any{"failurePolicy": "Fail"})
		defaultMatchResources(spec, "matchConstraints")
		return spec
	})
}

// withSpec changes the spec of an object, which shares its content with others.
func withSpec(obj *plain.Object, change func(spec map[string]any) map[string]any) {
	spec, _ := obj.Content()["spec"].(map[string]any)
	content := maps.Clone(obj.Content())
	if content == nil {
		content = map[string]any{}
	}
	content["spec"] = change(spec)
	obj.SetContent(content)
}

// defaultMatchResources sets the defaults of the field of a spec that says what a policy or a binding is about.
func defaultMatchResources(spec map[string]any, name string) {
	given, ok := spec[name].(map[string]any)
	if !ok {
		return
	}
	// API-410: it is about all objects, and about all versions of a resource.
	match := withDefaults(given, map[string]any{"matchPolicy": "Equivalent", "namespaceSelector": map[string]any{}, "objectSelector": map[string]any{}})
	for _, list := range []string{"resourceRules", "excludeResourceRules"} {
		if rules, ok := match[list].([]any); ok {
			match[list] = defaultedRules(rules)
		}
	}
	spec[name] = match
}

// policyCheck validates a policy (API-411).
type policyCheck struct {
	*PolicySpec
	name     string
	mutating bool
	path     *field.Path
	compiler *expression.Compiler
	errs     field.ErrorList
}

func (c *policyCheck) add(errs ...*field.Error) {
	for _, err := range errs {
		if err != nil {
			c.errs = append(c.errs, err)
		}
	}
}

func (c *policyCheck) check() field.ErrorList {
	c.compiler = expression.Plain()
	if c.mutating || len(c.Variables) > 0 {
		composed, err := expression.Composed()
		if err != nil {
			return field.ErrorList{field.InternalError(c.path, err)}
		}
		c.compiler = composed
	}
	c.add(supported(c.FailurePolicy, c.path.Child("failurePolicy"), "Fail", "Ignore")...)
	if c.ParamKind != nil {
		c.add(checkParamKind(c.ParamKind, c.path.Child("paramKind"))...)
	}
	c.constraints()
	c.add(expression.CheckConditions(c.MatchConditions, c.ParamKind != nil, c.path.Child("matchConditions"))...)
	for i := range c.Variables {
		c.variable(&c.Variables[i], c.path.Child("variables").Index(i))
	}
	if c.mutating {
		c.mutations()
	} else {
		c.validations()
	}
	return c.errs
}

func (c *policyCheck) constraints() {
	at := c.path.Child("matchConstraints")
	if c.MatchConstraints == nil {
		c.add(field.Required(at, ""))
		return
	}
	c.add(checkMatchResources(c.MatchConstraints, at)...)
	if len(c.MatchConstraints.ResourceRules) == 0 {
		c.add(field.Required(at.Child("resourceRules"), ""))
	}
	if c.mutating {
		c.add(checkMutable(c.MatchConstraints, at)...)
	}
}

// checkMutable refuses rules for requests without an object that could change (API-411).
func checkMutable(m *admissionregistrationv1.MatchResources, path *field.Path) field.ErrorList {
	var errs field.ErrorList
	for i := range m.ResourceRules {
		for _, op := range m.ResourceRules[i].Operations {
			errs = append(errs, supported(&op, path.Child("resourceRules", "operations"), "*", "CONNECT", "CREATE", "UPDATE")...)
		}
	}
	return errs
}

// known are the variables of an expression of the policy.
func (c *policyCheck) known(authorizer, patches bool) expression.Known {
	return expression.Known{Params: c.ParamKind != nil, Authorizer: authorizer, Patches: patches}
}

// identifier is a name that CEL can use for a variable, if it is not reserved.
var identifier = regexp.MustCompile(`^[_a-zA-Z][_a-zA-Z0-9]*$`)

var reservedNames = strings.Fields("true false null in as break const continue else for function if import let loop package namespace return var void while")

func (c *policyCheck) variable(v *admissionregistrationv1.Variable, path *field.Path) {
	switch {
	case strings.TrimSpace(v.Name) == "":
		c.add(field.Required(path.Child("name"), "name is not specified"))
	case !identifier.MatchString(v.Name) || slices.Contains(reservedNames, v.Name):
		c.add(field.Invalid(path.Child("name"), v.Name, "must be a valid CEL identifier"))
	}
	if strings.TrimSpace(v.Expression) == "" {
		c.add(field.Required(path.Child("expression"), "expression is not specified"))
		return
	}
	c.add(c.compiler.Declare(v.Name, v.Expression, c.known(true, false), false).Check(path.Child("expression"), v.Expression))
}

func (c *policyCheck) validations() {
	validations, annotations := c.path.Child("validations"), c.path.Child("auditAnnotations")
	if len(c.Validations) == 0 && len(c.AuditAnnotations) == 0 {
		const missing = "validations or auditAnnotations must contain at least one item"
		c.add(field.Required(validations, missing), field.Required(annotations, missing))
		return
	}
	for i := range c.Validations {
		c.validation(&c.Validations[i], validations.Index(i))
	}
	if n := len(c.AuditAnnotations); n > maxAnnotations {
		c.add(field.Invalid(annotations, c.AuditAnnotations, fmt.Sprintf("must not have more than %d auditAnnotations", maxAnnotations)))
	}
	keys := map[string]bool{}
	for i := range c.AuditAnnotations {
		a := &c.AuditAnnotations[i]
		c.annotation(a, annotations.Index(i))
		if keys[a.Key] {
			c.add(field.Duplicate(annotations.Index(i).Child("key"), a.Key))
		}
		keys[a.Key] = true
	}
}

const (
	// maxAnnotations and maxAnnotation limit the auditAnnotations of a policy, and the expression of one of them.
	maxAnnotations, maxAnnotation = 20, 5 * 1024
	lineBreaks                    = "\n\r"
)

var validationReasons = []metav1.StatusReason{metav1.StatusReasonForbidden, metav1.StatusReasonInvalid, metav1.StatusReasonRequestEntityTooLarge}

func (c *policyCheck) validation(v *admissionregistrationv1.Validation, path *field.Path) {
	if strings.TrimSpace(v.Expression) == "" {
		c.add(field.Required(path.Child("expression"), "expression is not specified"))
	} else {
		c.add(c.compiler.Compile(v.Expression, c.known(true, false), false, celgo.BoolType).Check(path.Child("expression"), v.Expression))
	}
	const blank = "must be non-empty if specified"
	switch at := path.Child("messageExpression"); {
	case v.MessageExpression == "":
	case strings.TrimSpace(v.MessageExpression) == "":
		c.add(field.Invalid(at, v.MessageExpression, blank))
	default:
		// API-413: a message does not depend on what the user may do.
		c.add(c.compiler.Compile(v.MessageExpression, c.known(false, false), false, celgo.StringType).Check(at, v.MessageExpression))
	}
	switch message := strings.TrimSpace(v.Message); {
	case v.Message != "" && message == "":
		c.add(field.Invalid(path.Child("message"), v.Message, blank))
	case strings.ContainsAny(message, lineBreaks):
		c.add(field.Invalid(path.Child("message"), v.Message, "must not contain line breaks"))
	}
	c.add(supported(v.Reason, path.Child("reason"), validationReasons...)...)
}

func (c *policyCheck) annotation(a *admissionregistrationv1.AuditAnnotation, path *field.Path) {
	key := path.Child("key")
	if c.name == "" {
		c.add(field.Invalid(key, a.Key, "requires metadata.name be non-empty"))
	} else {
		for _, text := range content.IsLabelKey(c.name + "/" + a.Key) {
			c.add(field.Invalid(key, c.name+"/"+a.Key, text))
		}
	}
	at := path.Child("valueExpression")
	switch text := strings.TrimSpace(a.ValueExpression); {
	case text == "":
		c.add(field.Required(at, "valueExpression is not specified"))
	case len(text) > maxAnnotation:
		c.add(field.Required(at, fmt.Sprintf("must not exceed %d bytes in length", maxAnnotation)))
	default:
		c.add(c.compiler.Compile(text, c.known(true, false), false, celgo.StringType, celgo.NullType).Check(at, a.ValueExpression))
	}
}

// Types of what a mutation returns.
var (
	JSONPatchList = celgo.ListType(celtypes.NewObjectType("JSONPatch"))
	PartialObject = celtypes.NewObjectType("Object")
)

func (c *policyCheck) mutations() {
	if len(c.Mutations) == 0 {
		c.add(field.Required(c.path.Child("mutations"), "mutations must contain at least one item"))
	}
	for i := range c.Mutations {
		c.mutation(&c.Mutations[i], c.path.Child("mutations").Index(i))
	}
	if at := c.path.Child("reinvocationPolicy"); c.ReinvocationPolicy == "" {
		c.add(field.Required(at, ""))
	} else {
		c.add(supported(&c.ReinvocationPolicy, at, "IfNeeded", "Never")...)
	}
}

func (c *policyCheck) mutation(m *admissionregistrationv1.Mutation, path *field.Path) {
	patch, apply := path.Child("jsonPatch"), path.Child("applyConfiguration")
	switch m.PatchType {
	case "":
		c.add(field.Required(path.Child("patchType"), ""))
	case admissionregistrationv1.PatchTypeJSONPatch:
		if m.JSONPatch == nil {
			c.add(field.Required(patch, "must be specified when patchType is JSONPatch"))
		} else {
			c.returns(m.JSONPatch.Expression, JSONPatchList, patch)
		}
		if m.ApplyConfiguration != nil {
			c.add(field.Invalid(apply, "{applyConfiguration}", "must not be specified when patchType is JSONPatch"))
		}
	case admissionregistrationv1.PatchTypeApplyConfiguration:
		if m.ApplyConfiguration == nil {
			c.add(field.Required(apply, "must be specified when patchType is ApplyConfiguration"))
		} else {
			c.returns(m.ApplyConfiguration.Expression, PartialObject, apply)
		}
		if m.JSONPatch != nil {
			c.add(field.Invalid(patch, "{jsonPatch}", "must not be specified when patchType is ApplyConfiguration"))
		}
	default:
		c.add(field.NotSupported(path.Child("patchType"), m.PatchType, []string{"ApplyConfiguration", "JSONPatch"}))
	}
}

// returns checks the expression of a mutation.
func (c *policyCheck) returns(text string, t *celgo.Type, path *field.Path) {
	at := path.Child("expression")
	if text = strings.TrimSpace(text); text == "" {
		c.add(field.Required(at, ""))
		return
	}
	c.add(c.compiler.Compile(text, c.known(true, true), false, t).Check(at, text))
}

// checkParamKind validates the kind of the parameters of a policy.
func checkParamKind(k *admissionregistrationv1.ParamKind, path *field.Path) field.ErrorList {
	var errs field.ErrorList
	at := path.Child("apiVersion")
	group, version, nested := strings.Cut(k.APIVersion, "/")
	if !nested {
		group, version = "", k.APIVersion
	}
	switch {
	case k.APIVersion == "":
		errs = append(errs, field.Required(at, ""))
	case strings.Contains(version, "/"):
		errs = append(errs, field.Invalid(at, k.APIVersion, "unexpected GroupVersion string: "+k.APIVersion))
	default:
		if wrong := validation.IsDNS1123Subdomain(group); group != "" && len(wrong) > 0 {
			errs = append(errs, field.Invalid(at, group, strings.Join(wrong, ",")))
		}
		if version == "" {
			errs = append(errs, field.Invalid(at, k.APIVersion, "version must be specified"))
		} else if wrong := validation.IsDNS1035Label(version); len(wrong) > 0 {
			errs = append(errs, field.Invalid(at, version, strings.Join(wrong, ",")))
		}
	}
	if k.Kind == "" {
		errs = append(errs, field.Required(path.Child("kind"), ""))
	} else if wrong := validation.IsDNS1035Label(strings.ToLower(k.Kind)); len(wrong) > 0 {
		errs = append(errs, field.Invalid(path.Child("kind"), k.Kind, "may have mixed case, but should otherwise match: "+strings.Join(wrong, ",")))
	}
	return errs
}
