package apiserver

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"reflect"
	"strings"
	"sync"

	celgo "github.com/google/cel-go/cel"
	celtypes "github.com/google/cel-go/common/types"
	admissionv1 "k8s.io/api/admission/v1"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	authenticationv1 "k8s.io/api/authentication/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/validate/content"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	utilerrors "k8s.io/apimachinery/pkg/util/errors"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/apimachinery/pkg/util/version"
	limits "k8s.io/apiserver/pkg/apis/cel"
	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/apiserver/pkg/authorization/authorizer"
	apicel "k8s.io/apiserver/pkg/cel"
	"k8s.io/apiserver/pkg/cel/environment"
	"k8s.io/apiserver/pkg/cel/library"
)

// Conditions of webhooks (matchConditions): expressions in CEL about a request.

// maxConditions is how many conditions a webhook has at most.
const maxConditions = 64

// conditionEnv returns the variables of conditions.
var conditionEnv = sync.OnceValues(func() (*environment.EnvSet, error) {
	request := typeOfStruct(reflect.TypeFor[conditionRequest]())
	return environment.MustBaseEnvSet(environment.DefaultCompatibilityVersion()).Extend(environment.VersionedOptions{
		IntroducedVersion: version.MajorMinor(1, 0),
		EnvOptions: []celgo.EnvOption{
			celgo.Variable("object", celgo.DynType), celgo.Variable("oldObject", celgo.DynType), celgo.Variable("namespaceObject", celgo.DynType),
			celgo.Variable("request", request.CelType()), celgo.Variable("authorizer", library.AuthorizerType),
			celgo.Variable("authorizer.requestResource", library.ResourceCheckType),
		},
		DeclTypes: []*apicel.DeclType{request},
	}, environment.StrictCostOpt)
})

// conditionRequest has the fields of an AdmissionRequest that conditions can read.
type conditionRequest struct {
	Kind               metav1.GroupVersionKind     `json:"kind"`
	Resource           metav1.GroupVersionResource `json:"resource"`
	SubResource        string                      `json:"subResource,omitempty"`
	RequestKind        metav1.GroupVersionKind     `json:"requestKind"`
	RequestResource    metav1.GroupVersionResource `json:"requestResource"`
	RequestSubResource string                      `json:"requestSubResource,omitempty"`
	Name               string                      `json:"name"`
	Namespace          string                      `json:"namespace,omitempty"`
	Operation          string                      `json:"operation"`
	UserInfo           authenticationv1.UserInfo   `json:"userInfo"`
	DryRun             bool                        `json:"dryRun,omitempty"`
	Options            any                         `json:"options,omitempty"`
}

// typeOfStruct returns the type in CEL of a Go type that is encoded in JSON. Names of structs are those of Kubernetes in CEL.
func typeOfStruct(t reflect.Type) *apicel.DeclType {
	switch t.Kind() {
	case reflect.String:
		return apicel.StringType
	case reflect.Bool:
		return apicel.BoolType
	case reflect.Slice:
		return apicel.NewListType(typeOfStruct(t.Elem()), -1)
	case reflect.Map:
		return apicel.NewMapType(typeOfStruct(t.Key()), typeOfStruct(t.Elem()), -1)
	case reflect.Interface:
		return apicel.DynType
	}
	fields := map[string]*apicel.DeclField{}
	for i := range t.NumField() {
		name, options, _ := strings.Cut(t.Field(i).Tag.Get("json"), ",")
		fields[name] = apicel.NewDeclField(name, typeOfStruct(t.Field(i).Type), options == "", nil, nil)
	}
	name := t.Name()
	if t == reflect.TypeFor[conditionRequest]() {
		name = "AdmissionRequest"
	}
	return apicel.NewObjectType("kubernetes."+name, fields)
}

// compileCondition returns the program of a condition. Errors about the expression are of type *field.Error.
func compileCondition(text string, stored bool, path *field.Path) (celgo.Program, *field.Error) {
	set, err := conditionEnv()
	if err != nil {
		return nil, field.InternalError(path, err)
	}
	env := set.NewExpressionsEnv()
	if stored {
		env = set.StoredExpressionsEnv()
	}
	ast, issues := env.Compile(text)
	if issues != nil {
		return nil, field.Invalid(path, text, "compilation failed: "+issues.String())
	}
	if got := ast.OutputType(); !got.IsExactType(celgo.BoolType) {
		return nil, field.Invalid(path, text, fmt.Sprintf("must evaluate to %v but got %v", celgo.BoolType, got))
	}
	program, err := env.Program(ast, celgo.InterruptCheckFrequency(limits.CheckFrequency))
	if err != nil {
		return nil, field.Invalid(path, text, "program instantiation failed: "+err.Error())
	}
	return program, nil
}

// checkConditions validates the conditions of a webhook (API-382).
func checkConditions(conditions []admissionregistrationv1.MatchCondition, path *field.Path) field.ErrorList {
	var errs field.ErrorList
	if len(conditions) > maxConditions {
		errs = append(errs, field.TooMany(path, len(conditions), maxConditions))
	}
	names := map[string]bool{}
	for i, c := range conditions {
		at := path.Index(i)
		if text := strings.TrimSpace(c.Expression); text == "" {
			errs = append(errs, field.Required(at.Child("expression"), ""))
		} else if _, err := compileCondition(text, false, at.Child("expression")); err != nil {
			errs = append(errs, err)
		}
		if c.Name == "" {
			errs = append(errs, field.Required(at.Child("name"), ""))
			continue
		}
		for _, text := range content.IsLabelKey(c.Name) {
			errs = append(errs, field.Invalid(at.Child("name"), c.Name, text))
		}
		if names[c.Name] {
			// API-382: the name tells a condition from the others.
			errs = append(errs, field.Duplicate(at.Child("name"), c.Name))
		}
		names[c.Name] = true
	}
	return errs
}

// anyone may do everything, as far as conditions ask.
type anyone struct{}

func (anyone) Authorize(context.Context, authorizer.Attributes) (authorizer.Decision, string, error) {
	return authorizer.DecisionAllow, "", nil
}

// requested is the resource that authorizer.requestResource is about.
type requested struct{ *attributes }

func (r requested) GetName() string                          { return r.name }
func (r requested) GetNamespace() string                     { return r.namespace }
func (r requested) GetResource() schema.GroupVersionResource { return r.resource.GroupVersionResource }
func (r requested) GetSubresource() string                   { return r.subresource }

// conditionsHold reports whether all conditions of a webhook hold for a request, which the webhook would be asked about in that version.
func (q *reviews) conditionsHold(h *webhook, a *attributes, version *resource, obj, old []byte) (bool, error) {
	if len(h.MatchConditions) == 0 {
		return true, nil
	}
	review, err := q.review(a, version, obj, old)
	if err != nil {
		return false, apierrors.NewInternalError(err)
	}
	values, err := q.conditionValues(a, review.Request)
	if err != nil {
		return false, apierrors.NewInternalError(err)
	}
	var failed []error
	budget := uint64(limits.RuntimeCELCostBudgetMatchConditions)
	for i := range h.MatchConditions {
		holds, cost, err := h.condition(i, values)
		switch {
		case err != nil:
			failed = append(failed, err)
		case !holds:
			return false, nil
		}
		if cost > budget {
			failed = []error{errors.New("validation failed due to running out of cost budget, no further validation rules will be run")}
			break
		}
		budget -= cost
	}
	if len(failed) == 0 {
		return true, nil
	}
	if h.FailurePolicy != nil && *h.FailurePolicy == admissionregistrationv1.Ignore {
		return false, nil // API-382: the webhook is not asked
	}
	return false, apierrors.NewForbidden(a.resource.GroupResource(), a.name, utilerrors.NewAggregate(failed))
}

// conditionValues returns the values of the variables.
func (q *reviews) conditionValues(a *attributes, given *admissionv1.AdmissionRequest) (map[string]any, error) {
	request := conditionRequest{
		Kind: given.Kind, Resource: given.Resource, SubResource: given.SubResource, RequestKind: *given.RequestKind, RequestResource: *given.RequestResource,
		RequestSubResource: given.RequestSubResource, Name: given.Name, Namespace: given.Namespace, Operation: string(given.Operation), UserInfo: given.UserInfo,
		DryRun: q.dryRun,
	}
	if given.Options.Raw != nil {
		request.Options = json.RawMessage(given.Options.Raw)
	}
	data, err := json.Marshal(request)
	if err != nil {
		return nil, err
	}
	client := &user.DefaultInfo{Name: given.UserInfo.Username, Groups: given.UserInfo.Groups}
	values := map[string]any{
		"namespaceObject": nil, "authorizer": library.NewAuthorizerVal(client, anyone{}),
		"authorizer.requestResource": library.NewResourceAuthorizerVal(client, anyone{}, requested{a}),
	}
	for name, text := range map[string][]byte{"request": data, "object": given.Object.Raw, "oldObject": given.OldObject.Raw} {
		var value map[string]any
		if text != nil {
			if err := unmarshal(text, &value); err != nil {
				return nil, err
			}
		}
		values[name] = any(value)
		if value == nil {
			values[name] = nil
		}
	}
	values["request"].(map[string]any)["dryRun"] = q.dryRun
	return values, nil
}

// condition evaluates a condition, and returns what that cost.
func (h *webhook) condition(i int, values map[string]any) (holds bool, cost uint64, err error) {
	text := h.MatchConditions[i].Expression
	if h.programs == nil {
		h.programs = make([]celgo.Program, len(h.MatchConditions))
	}
	if h.programs[i] == nil {
		program, wrong := compileCondition(text, true, nil)
		if wrong != nil {
			return false, 0, fmt.Errorf("compilation error: %s", wrong.Detail)
		}
		h.programs[i] = program
	}
	result, details, err := h.programs[i].ContextEval(context.Background(), values)
	if details != nil && details.ActualCost() != nil {
		cost = *details.ActualCost()
	} else {
		cost = math.MaxUint64
	}
	if err != nil {
		return false, cost, fmt.Errorf("expression '%v' resulted in error: %w", text, err)
	}
	return result != celtypes.False, cost, nil
}
