// Package policytypes finds expressions of admission policies that are wrong for the types of their objects.
package policytypes

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	celgo "github.com/google/cel-go/cel"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/apimachinery/pkg/util/version"
	apicel "k8s.io/apiserver/pkg/cel"
	"k8s.io/apiserver/pkg/cel/common"
	"k8s.io/apiserver/pkg/cel/environment"
	"k8s.io/apiserver/pkg/cel/library"
	celopenapi "k8s.io/apiserver/pkg/cel/openapi"
	"k8s.io/kube-openapi/pkg/validation/spec"

	"github.com/volsim/volsim/internal/apiserver/expression"
	"github.com/volsim/volsim/internal/apiserver/kinds"
	"github.com/volsim/volsim/internal/apiserver/openapi"
	"github.com/volsim/volsim/internal/apiserver/resources"
	"github.com/volsim/volsim/internal/core/engine"
)

// API-524: the expressions of a ValidatingAdmissionPolicy are compiled again with the types of the objects that its rules name.

// maxCheckedTypes is how many types one rule is checked with.
const maxCheckedTypes = 10

// Checker returns a function that returns what is wrong with the types in the expressions of a policy of a cluster.
func Checker(e *engine.Engine) func(*admissionregistrationv1.ValidatingAdmissionPolicy) []admissionregistrationv1.ExpressionWarning {
	var c *typeChecker
	return func(policy *admissionregistrationv1.ValidatingAdmissionPolicy) []admissionregistrationv1.ExpressionWarning {
		if c == nil {
			table := resources.NewTable(e.Store())
			c = &typeChecker{table, openapi.NewDocuments(table, func(*resources.Resource) []types.PatchType { return nil })}
		}
		return c.warnings(policy)
	}
}

// checkedType is a type with which expressions are checked. decl is nil for one that is not known.
type checkedType struct {
	gvk  schema.GroupVersionKind
	decl *apicel.DeclType
}

// typeChecker finds expressions that are wrong for the types of their objects.
type typeChecker struct {
	resources *resources.Table
	documents *openapi.Documents
}

func (c *typeChecker) warnings(policy *admissionregistrationv1.ValidatingAdmissionPolicy) []admissionregistrationv1.ExpressionWarning {
	var params *checkedType
	if kind := policy.Spec.ParamKind; kind != nil {
		if gv, err := schema.ParseGroupVersion(kind.APIVersion); err == nil {
			params = &checkedType{gvk: gv.WithKind(kind.Kind)}
			for _, r := range c.resources.All() {
				if r.GVK() == params.gvk && !r.Review {
					params.decl = c.declaredKind(r)
				}
			}
		}
	}
	var checks []typeCheck
	for _, r := range c.checkedResources(policy.Spec.MatchConstraints) {
		if decl := c.declaredKind(r); decl != nil {
			checks = append(checks, newTypeCheck(checkedType{r.GVK(), decl}, params, policy.Spec.Variables))
		}
	}
	var warnings []admissionregistrationv1.ExpressionWarning
	warn := func(path *field.Path, text string) {
		var wrong []string
		for _, check := range checks {
			if message := check.check(text); message != "" {
				wrong = append(wrong, message)
			}
		}
		if wrong != nil {
			warnings = append(warnings, admissionregistrationv1.ExpressionWarning{FieldRef: path.String(), Warning: strings.Join(wrong, "\n")})
		}
	}
	for i, v := range policy.Spec.Validations {
		path := field.NewPath("spec", "validations").Index(i)
		warn(path.Child("expression"), v.Expression)
		if v.MessageExpression != "" {
			warn(path.Child("messageExpression"), v.MessageExpression)
		}
	}
	return warnings
}

// checkedResources returns the resources that rules name without a star, in the order of their kinds.
func (c *typeChecker) checkedResources(match *admissionregistrationv1.MatchResources) []*resources.Resource {
	var found []*resources.Resource
	if match == nil {
		return nil
	}
	star := func(name string) bool { return strings.Contains(name, kinds.Anything) }
	for _, rule := range match.ResourceRules {
		if slices.ContainsFunc(rule.APIGroups, star) || slices.ContainsFunc(rule.APIVersions, star) {
			continue
		}
		var named []*resources.Resource
		for _, r := range c.resources.All() {
			if slices.Contains(rule.APIGroups, r.Group) && slices.Contains(rule.APIVersions, r.Version) && slices.Contains(rule.Resources, r.Resource) {
				named = append(named, r)
			}
		}
		slices.SortFunc(named, func(a, b *resources.Resource) int {
			return cmp.Or(strings.Compare(a.Group, b.Group), strings.Compare(a.Version, b.Version), strings.Compare(a.Resource, b.Resource))
		})
		found = append(found, named[:min(len(named), maxCheckedTypes)]...)
		if len(named) >= maxCheckedTypes {
			break
		}
	}
	slices.SortFunc(found, func(a, b *resources.Resource) int {
		return cmp.Or(strings.Compare(a.Group, b.Group), strings.Compare(a.Version, b.Version), strings.Compare(a.KindName, b.KindName))
	})
	return slices.CompactFunc(found, func(a, b *resources.Resource) bool { return a.GVK() == b.GVK() })
}

// declaredKind returns the type of the objects of a resource, nil if it is not known.
func (c *typeChecker) declaredKind(r *resources.Resource) *apicel.DeclType {
	data, _, err := c.documents.Of(r.GroupVersion())
	if err != nil {
		return nil
	}
	var document struct {
		Components struct {
			Schemas map[string]*spec.Schema `json:"schemas"`
		} `json:"components"`
	}
	if err := json.Unmarshal(data, &document); err != nil {
		return nil
	}
	for _, node := range document.Components.Schemas {
		var kinds []schema.GroupVersionKind
		if node.Extensions.GetObject("x-kubernetes-group-version-kind", &kinds) != nil || !slices.Contains(kinds, r.GVK()) {
			continue
		}
		whole := (&inliner{schemas: document.Components.Schemas, within: map[string]bool{}}).inline(node)
		if decl := common.SchemaDeclType(&celopenapi.Schema{Schema: whole}, true); decl != nil {
			return decl.MaybeAssignTypeName(r.KindName)
		}
	}
	return nil
}

// inliner puts schemas in the place of references to them.
type inliner struct {
	schemas map[string]*spec.Schema
	within  map[string]bool
}

// inline returns a copy of a schema without references. One that refers to itself becomes an object without fields.
func (n *inliner) inline(node *spec.Schema) *spec.Schema {
	name := referenceIn(node)
	if name != "" {
		if n.within[name] || n.schemas[name] == nil {
			return &spec.Schema{SchemaProps: spec.SchemaProps{Type: spec.StringOrArray{"object"}}}
		}
		n.within[name] = true
		defer delete(n.within, name)
		node = n.schemas[name]
	}
	whole := *node
	if node.Properties != nil {
		whole.Properties = make(map[string]spec.Schema, len(node.Properties))
		for key, property := range node.Properties {
			whole.Properties[key] = *n.inline(&property)
		}
	}
	if more := node.AdditionalProperties; more != nil && more.Schema != nil {
		whole.AdditionalProperties = &spec.SchemaOrBool{Allows: more.Allows, Schema: n.inline(more.Schema)}
	}
	if node.Items != nil && node.Items.Schema != nil {
		whole.Items = &spec.SchemaOrArray{Schema: n.inline(node.Items.Schema)}
	}
	return &whole
}

// referenceIn returns the name of the schema that a schema stands for, "" for none.
func referenceIn(node *spec.Schema) string {
	for _, s := range append([]spec.Schema{*node}, node.AllOf...) {
		if url := s.Ref.GetURL(); url != nil {
			return strings.TrimPrefix(s.Ref.String(), "#/components/schemas/")
		}
	}
	return ""
}

// typeCheck compiles expressions for one type.
type typeCheck struct {
	of  schema.GroupVersionKind
	env *celgo.Env
	err error
}

func newTypeCheck(of checkedType, params *checkedType, variables []admissionregistrationv1.Variable) typeCheck {
	request, namespace := expression.RequestType(), expression.NamespaceType()
	declared := apicel.NewObjectType("kubernetes.variables", map[string]*apicel.DeclField{})
	types := []*apicel.DeclType{request, namespace, declared, of.decl}
	options := []celgo.EnvOption{
		celgo.Variable("object", of.decl.CelType()), celgo.Variable("oldObject", of.decl.CelType()), celgo.Variable("request", request.CelType()),
		celgo.Variable("namespaceObject", namespace.CelType()), celgo.Variable("authorizer", library.AuthorizerType), celgo.Variable("variables", declared.CelType()),
	}
	if params != nil {
		typed := celgo.DynType
		if params.decl != nil {
			typed = params.decl.CelType()
			if params.gvk != of.gvk {
				types = append(types, params.decl)
			}
		}
		options = append(options, celgo.Variable("params", typed))
	}
	set, err := expression.Plain().Base.Extend(environment.VersionedOptions{IntroducedVersion: version.MajorMinor(1, 0), EnvOptions: options, DeclTypes: types})
	c := typeCheck{of: of.gvk, err: err}
	if err != nil {
		return c
	}
	c.env = set.StoredExpressionsEnv()
	for _, v := range variables {
		var output *celgo.Type
		if ast, issues := c.env.Compile(v.Expression); issues == nil {
			output = ast.OutputType()
		}
		declared.Fields[v.Name] = apicel.NewDeclField(v.Name, expression.DeclaredType(output), true, nil, nil)
	}
	return c
}

// check returns what is wrong with an expression, "" for nothing.
func (c typeCheck) check(text string) string {
	if c.err != nil {
		return fmt.Sprintf("%v: type checking error: fail to build env: %v\n", c.of, c.err)
	}
	if _, issues := c.env.Compile(text); issues != nil {
		return fmt.Sprintf("%v: %s\n", c.of, issues)
	}
	return ""
}
