package definition

import (
	"cmp"
	"fmt"
	"math"
	"reflect"
	"regexp"
	"slices"

	celgo "github.com/google/cel-go/cel"
	internal "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/cel"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/cel/model"
	"k8s.io/apimachinery/pkg/util/validation/field"
	limits "k8s.io/apiserver/pkg/apis/cel"
	apicel "k8s.io/apiserver/pkg/cel"
	"k8s.io/apiserver/pkg/cel/environment"
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
