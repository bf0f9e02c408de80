package apiserver

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"math"
	"reflect"
	"regexp"
	"slices"
	"strings"

	celgo "github.com/google/cel-go/cel"
	internal "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	apiextensions "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/cel"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/cel/model"
	"k8s.io/apimachinery/pkg/util/validation/field"
	limits "k8s.io/apiserver/pkg/apis/cel"
	apicel "k8s.io/apiserver/pkg/cel"
	"k8s.io/apiserver/pkg/cel/common"
	"k8s.io/apiserver/pkg/cel/environment"
	"k8s.io/apiserver/pkg/warning"
)

// Rules in CEL (x-kubernetes-validations): compiled when a CustomResourceDefinition is written, and evaluated for its objects.

const rulesField = "x-kubernetes-validations"

const (
	// ruleCostLimit and definitionCostLimit are what a rule, and all rules of a schema, may cost (API-401).
	ruleCostLimit, definitionCostLimit = 10_000_000, 100_000_000
	// shownRules is how many expensive rules an error lists. Rules below a hundredth of the limit are not expensive.
	shownRules = 4
)

// compiler compiles the rules of a schema.
type compiler struct {
	// stored are the rules and expressions of the stored definition: they may use what new ones may not yet.
	stored map[string]bool
	// unchanged is set if the schema is that of the stored definition: the cost of a single rule is not limited then.
	unchanged bool
	cost      uint64
	expensive []ruleCost
	errs      field.ErrorList
}

type ruleCost struct {
	at   *field.Path
	cost uint64
}

// compiler returns a compiler for the schema of a version; stored is the definition that is replaced, nil for a new one.
func (d *definition) compiler(v *definedVersion, stored *definition) *compiler {
	c := &compiler{stored: map[string]bool{}}
	if stored == nil {
		return c
	}
	for i := range stored.spec.Versions {
		old := &stored.spec.Versions[i]
		c.unchanged = c.unchanged || old.Name == v.Name && reflect.DeepEqual(stored.schemaOf(old), d.schemaOf(v))
		visitSchemas(stored.schemaOf(old), func(s *jsonSchema) {
			for _, rule := range s.XValidations {
				c.stored[rule.Rule], c.stored[rule.MessageExpression] = true, true
			}
		})
	}
	return c
}

// RuleEnv is part of cel.EnvLoader.
func (c *compiler) RuleEnv(set *environment.EnvSet, text string) *celgo.Env {
	if c.stored[text] {
		return set.StoredExpressionsEnv()
	}
	return set.NewExpressionsEnv()
}

// MessageExpressionEnv is part of cel.EnvLoader.
func (c *compiler) MessageExpressionEnv(set *environment.EnvSet, text string) *celgo.Env {
	return c.RuleEnv(set, text)
}

// ruleScope is a schema whose rules are compiled.
type ruleScope struct {
	*compiler
	schema *jsonSchema
	parent *ruleScope
	// within is set if the schema, or one around it, has rules.
	within bool
	// bounded is set if all lists and maps around have a maximum. times is their product: how often the rules may be evaluated.
	bounded bool
	times   uint64
	// typed is the schema with its type in CEL, once it is known.
	typed *typedSchema
	// derive returns it from that of the parent; nil if that does not know it.
	derive func(parent *typedSchema) *typedSchema
}

type typedSchema struct {
	schema *schema.Structural
	decl   *apicel.DeclType
}

func (c *compiler) root(s *jsonSchema) *ruleScope {
	return &ruleScope{compiler: c, schema: s, within: len(s.XValidations) > 0, bounded: true, times: 1}
}

func (p *ruleScope) child(s *jsonSchema, derive func(*typedSchema) *typedSchema) *ruleScope {
	if p == nil || s == nil {
		return nil
	}
	n, bounded := most(p.schema)
	return &ruleScope{compiler: p.compiler, schema: s, parent: p, derive: derive, within: p.within || len(s.XValidations) > 0,
		bounded: p.bounded && bounded, times: product(p.times, n)}
}

func (p *ruleScope) property(name string, s *jsonSchema) *ruleScope {
	return p.child(s, func(parent *typedSchema) *typedSchema {
		structural, known := parent.schema.Properties[name]
		escaped, ok := apicel.Escape(name)
		if !known || !ok || parent.decl.Fields[escaped] == nil {
			return nil
		}
		return &typedSchema{&structural, parent.decl.Fields[escaped].Type}
	})
}

func (p *ruleScope) items(s *jsonSchema) *ruleScope {
	return p.child(s, func(parent *typedSchema) *typedSchema {
		if parent.schema.Items == nil {
			return nil
		}
		return &typedSchema{parent.schema.Items, parent.decl.ElemType}
	})
}

func (p *ruleScope) values(s *jsonSchema) *ruleScope {
	return p.child(s, func(parent *typedSchema) *typedSchema {
		if parent.schema.AdditionalProperties == nil {
			return nil
		}
		return &typedSchema{parent.schema.AdditionalProperties.Structural, parent.decl.ElemType}
	})
}

// types returns the schema with its type, nil if no rule needs it.
func (p *ruleScope) types() (*typedSchema, error) {
	if p == nil || !p.within {
		return nil, nil
	}
	if p.typed != nil {
		return p.typed, nil
	}
	around, err := p.parent.types()
	if err != nil {
		return nil, err
	}
	if around != nil {
		p.typed = p.derive(around)
	}
	if p.typed == nil {
		p.typed, err = typeOf(p.schema, p.parent == nil || p.schema.XEmbeddedResource)
	}
	return p.typed, err
}

func typeOf(s *jsonSchema, isObject bool) (*typedSchema, error) {
	structural, err := schema.NewStructural(internalSchema(s))
	if err != nil {
		return nil, err
	}
	decl := model.SchemaDeclType(structural, isObject)
	if decl == nil {
		return nil, fmt.Errorf("unable to convert structural schema to CEL declarations")
	}
	return &typedSchema{structural, decl}, nil
}

// most returns how many values a list or a map has at most, and whether it has a maximum.
func most(s *jsonSchema) (uint64, bool) {
	limit, many := (*int64)(nil), false
	switch {
	case s.Type == "object" && s.AdditionalProperties != nil:
		limit, many = s.MaxProperties, true
	case s.Type == "array":
		limit, many = s.MaxItems, true
	}
	switch {
	case !many:
		return 1, true
	case limit == nil:
		return 0, false
	}
	return uint64(max(*limit, 0)), true
}

// product is a*b, or the largest number.
func product(a, b uint64) uint64 {
	if a != 0 && b > math.MaxUint64/a {
		return math.MaxUint64
	}
	return a * b
}

// compile compiles the rules of the schema. uncorrelated is the path of what keeps values from being found in the stored object; nil for nothing.
func (p *ruleScope) compile(path, uncorrelated *field.Path) {
	at := path.Child(rulesField)
	typed, err := p.types()
	var results []cel.CompilationResult
	if err != nil {
		err = fmt.Errorf("internal error: failed to construct type information for x-kubernetes-validations rules: %w", err)
	} else {
		results, err = cel.Compile(typed.schema, typed.decl, limits.PerCallLimit, environment.MustBaseEnvSet(environment.DefaultCompatibilityVersion()), p.compiler)
	}
	if err != nil {
		p.errs = append(p.errs, field.InternalError(at, err))
		return
	}
	shown := internalSchema(p.schema).XValidations
	for i := range results {
		p.result(&results[i], shown[i], at.Index(i), uncorrelated)
	}
}

func (p *ruleScope) result(r *cel.CompilationResult, rule internal.ValidationRule, at, uncorrelated *field.Path) {
	times := r.MaxCardinality
	if p.bounded {
		times = p.times
	}
	// API-401: a rule is evaluated for each value.
	p.spend(at.Child("rule"), "estimated rule cost", product(r.MaxCost, times))
	switch {
	// API-400: a rule is an expression that is true or false.
	case r.Error != nil && r.Error.Type == apicel.ErrorTypeRequired:
		p.errs = append(p.errs, field.Required(at.Child("rule"), withoutNumber(r.Error.Detail)))
	case r.Error != nil:
		p.errs = append(p.errs, field.Invalid(at.Child("rule"), rule, withoutNumber(r.Error.Detail)))
	}
	switch {
	// API-400: the expression of a message is a text.
	case r.MessageExpressionError != nil:
		p.errs = append(p.errs, field.Invalid(at.Child("messageExpression"), rule, withoutNumber(r.MessageExpressionError.Detail)))
	case r.MessageExpression != nil:
		p.spend(at.Child("messageExpression"), "estimated messageExpression cost", r.MessageExpressionMaxCost)
	}
	switch {
	// API-402: oldSelf needs a value that can be found in the stored object.
	case r.UsesOldSelf && uncorrelated != nil:
		p.errs = append(p.errs, field.Invalid(at.Child("rule"), rule.Rule,
			fmt.Sprintf("oldSelf cannot be used on the uncorrelatable portion of the schema within %v", uncorrelated)))
	case !r.UsesOldSelf && rule.OptionalOldSelf != nil:
		p.errs = append(p.errs, field.Invalid(at.Child("optionalOldSelf"), *rule.OptionalOldSelf, "may not be set if oldSelf is not used in rule"))
	}
}

// spend adds the cost of an expression, and refuses what costs too much.
func (c *compiler) spend(at *field.Path, what string, cost uint64) {
	if cost > ruleCostLimit && !c.unchanged {
		c.errs = append(c.errs, field.Forbidden(at, tooExpensive(what, cost, ruleCostLimit)))
	}
	c.cost += min(cost, math.MaxUint64-c.cost)
	if cost < definitionCostLimit/100 {
		return
	}
	c.expensive = append(c.expensive, ruleCost{at, cost})
	slices.SortStableFunc(c.expensive, func(a, b ruleCost) int { return cmp.Compare(b.cost, a.cost) })
	c.expensive = c.expensive[:min(len(c.expensive), shownRules)]
}

// checkCost refuses a schema whose rules cost too much together (API-401).
func (c *compiler) checkCost(path *field.Path) field.ErrorList {
	if c.cost <= definitionCostLimit {
		return nil
	}
	var errs field.ErrorList
	for _, rule := range c.expensive {
		errs = append(errs, field.Forbidden(rule.at, "contributed to estimated rule cost total exceeding cost limit for entire OpenAPIv3 schema"))
	}
	return append(errs, field.Forbidden(path, tooExpensive("x-kubernetes-validations estimated rule cost total for entire OpenAPIv3 schema", c.cost, definitionCostLimit)))
}

func tooExpensive(what string, cost, limit uint64) string {
	factor := "more than 100x"
	switch f := float64(cost) / float64(limit); {
	case f < 1.5:
		factor = fmt.Sprintf("%fx", f)
	case f <= 100:
		factor = fmt.Sprintf("%.1fx", f)
	}
	return fmt.Sprintf("%s exceeds budget by factor of %s (try simplifying the rule, or adding maxItems, maxProperties, and maxLength where arrays, maps, and strings are declared)",
		what, factor)
}

var numberedType = regexp.MustCompile(`selfType[0-9]+`)

// withoutNumber removes the number from the name of the type of self. It is another one each time.
//
// SIM: kube-apiserver shows it.
func withoutNumber(text string) string { return numberedType.ReplaceAllString(text, "selfType") }

// ruleValidator evaluates the rules of a schema.
type ruleValidator struct {
	schema *schema.Structural
	rules  *cel.Validator
}

// readRules returns the rules of a schema in JSON, nil if there are none. isObject says that it is the schema of a whole object.
func readRules(text []byte, isObject bool) *ruleValidator {
	var s jsonSchema
	if !bytes.Contains(text, []byte(rulesField)) || unmarshal(text, &s) != nil {
		return nil
	}
	structural, err := schema.NewStructural(internalSchema(&s))
	if err != nil {
		return nil // the definition was not validated
	}
	rules := cel.NewValidator(structural, isObject, limits.PerCallLimit)
	if rules == nil {
		return nil
	}
	return &ruleValidator{structural, rules}
}

// check evaluates the rules for an object; old is nil for a new one. errs is what the schema refuses. Rules that an unchanged value broke before
// are warnings.
func (v *ruleValidator) check(obj, old map[string]any, errs field.ErrorList) (broken field.ErrorList, warnings []string) {
	if slices.ContainsFunc(errs, blocksRules) {
		// API-403: rules would meet values that they do not expect.
		return field.ErrorList{field.Invalid(nil, nil, "some validation rules were not checked because the object was invalid; correct the existing errors to complete validation")}, nil
	}
	if old == nil {
		return v.evaluate(nil, obj, nil), nil
	}
	// API-404: what was wrong before may stay as it is.
	same := cel.WithRatcheting(common.NewCorrelatedObject(obj, old, &model.Structural{Structural: v.schema}))
	var found recorder
	broken, _ = v.rules.Validate(warning.WithWarningRecorder(context.Background(), &found), nil, v.schema, obj, old, limits.RuntimeCELCostBudget, same)
	v.sort(broken)
	v.sortWarnings(found)
	return broken, found
}

// evaluate returns the rules that a value breaks: first those of the value, in their order, then those of its fields, by their names.
func (v *ruleValidator) evaluate(path *field.Path, value, old any) field.ErrorList {
	errs, _ := v.rules.Validate(context.Background(), path, v.schema, value, old, limits.RuntimeCELCostBudget)
	v.sort(errs)
	return errs
}

// recorder collects warnings.
type recorder []string

func (r *recorder) AddWarning(_, text string) { *r = append(*r, text) }

// blocksRules reports that rules are not evaluated after an error.
func blocksRules(err *field.Error) bool {
	switch err.Type {
	case field.ErrorTypeNotSupported, field.ErrorTypeRequired, field.ErrorTypeTooLong, field.ErrorTypeTooMany, field.ErrorTypeTypeInvalid:
		return true
	}
	return false
}

// sort puts errors in order. Validators visit fields in a random order.
func (v *ruleValidator) sort(errs field.ErrorList) {
	if len(errs) < 2 {
		return
	}
	at := make(map[*field.Error][]string, len(errs))
	for _, err := range errs {
		at[err] = v.placeOf(err.Field, err.Detail)
	}
	slices.SortStableFunc(errs, func(a, b *field.Error) int { return comparePlaces(at[a], at[b]) })
}

// sortWarnings does the same for the texts of errors.
func (v *ruleValidator) sortWarnings(texts []string) {
	place := func(text string) []string {
		at, detail, _ := strings.Cut(text, ": ")
		return v.placeOf(at, detail)
	}
	slices.SortStableFunc(texts, func(a, b string) int { return comparePlaces(place(a), place(b)) })
}

// fieldParts matches the names, indexes and keys in the path of a field.
var fieldParts = regexp.MustCompile(`\[[^]]*\]|[^.[]+`)

// placeOf returns the path of the value whose rule has failed, in its parts. An error may be about a field of that value.
func (v *ruleValidator) placeOf(at, detail string) []string {
	if at == "<nil>" {
		return nil
	}
	parts, node := fieldParts.FindAllString(at, -1), v.schema
	for i := range parts {
		if owns(node, strings.Join(parts[i:], "."), detail) {
			return parts[:i]
		}
		if node = within(node, parts[i]); node == nil {
			break
		}
	}
	return parts
}

// owns reports that a rule of a schema may have reported an error about a field.
func owns(s *schema.Structural, at, detail string) bool {
	return slices.ContainsFunc(s.XValidations, func(rule apiextensions.ValidationRule) bool {
		path, _, err := cel.ValidFieldPath(rule.FieldPath, s)
		if rule.FieldPath == "" || err != nil || path.String() != at {
			return false
		}
		message := cmp.Or(strings.TrimSpace(rule.Message), strings.TrimSpace(rule.Rule))
		return rule.MessageExpression != "" || strings.Contains(detail, message)
	})
}

// within returns the schema of a part of a value, nil if it is not known.
func within(s *schema.Structural, part string) *schema.Structural {
	if property, ok := s.Properties[part]; ok {
		return &property
	}
	if s.Items != nil {
		return s.Items
	}
	if s.AdditionalProperties != nil {
		return s.AdditionalProperties.Structural
	}
	return nil
}

// comparePlaces orders values: those around others come first, fields by their names, items by their indexes.
func comparePlaces(a, b []string) int {
	return slices.CompareFunc(a, b, func(a, b string) int {
		if len(a) != len(b) && strings.HasPrefix(a, "[") && strings.HasPrefix(b, "[") && isIndex(a) && isIndex(b) {
			return cmp.Compare(len(a), len(b))
		}
		return strings.Compare(a, b)
	})
}

func isIndex(part string) bool { return strings.Trim(part, "[0123456789]") == "" }
