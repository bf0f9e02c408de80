package apiserver

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"sync"

	celgo "github.com/google/cel-go/cel"
	celtypes "github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
	"github.com/google/cel-go/common/types/traits"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/apimachinery/pkg/util/version"
	limits "k8s.io/apiserver/pkg/apis/cel"
	apicel "k8s.io/apiserver/pkg/cel"
	"k8s.io/apiserver/pkg/cel/common"
	"k8s.io/apiserver/pkg/cel/environment"
	"k8s.io/apiserver/pkg/cel/lazy"
	"k8s.io/apiserver/pkg/cel/library"
	celmutation "k8s.io/apiserver/pkg/cel/mutation"
)

// Expressions in CEL about a request: conditions of webhooks, and the expressions of policies. celvalues.go has the values of their variables.

// knownVariables are what an expression may use besides object, oldObject, request and namespaceObject.
type knownVariables struct {
	params     bool
	authorizer bool
	patches    bool // types of JSONPatch and Object
}

// expressions compiles expressions. It is safe for concurrent use if it has no variables.
type expressions struct {
	mu   sync.Mutex
	base *environment.EnvSet
	envs map[knownVariables]*environment.EnvSet
	// declared is the type of the variable variables, nil if it does not exist.
	declared *apicel.DeclType
	names    []string
	values   []*expression // of the variables with these names
}

// plainExpressions compiles expressions without variables of their own.
var plainExpressions = sync.OnceValue(func() *expressions {
	return &expressions{base: environment.MustBaseEnvSet(environment.DefaultCompatibilityVersion()), envs: map[knownVariables]*environment.EnvSet{}}
})

// composedExpressions returns a compiler for expressions that can use variables.
func composedExpressions() (*expressions, error) {
	declared := apicel.NewObjectType("kubernetes.variables", map[string]*apicel.DeclField{})
	base, err := plainExpressions().base.Extend(environment.VersionedOptions{
		IntroducedVersion: version.MajorMinor(1, 0),
		EnvOptions:        []celgo.EnvOption{celgo.Variable("variables", declared.CelType())},
		DeclTypes:         []*apicel.DeclType{declared},
	})
	return &expressions{base: base, envs: map[knownVariables]*environment.EnvSet{}, declared: declared}, err
}

// env returns the environment of expressions that know these variables.
func (c *expressions) env(known knownVariables) (*environment.EnvSet, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if env := c.envs[known]; env != nil {
		return env, nil
	}
	request, namespace := requestType(), namespaceType()
	options := []celgo.EnvOption{
		celgo.Variable("object", celgo.DynType), celgo.Variable("oldObject", celgo.DynType),
		celgo.Variable("namespaceObject", namespace.CelType()), celgo.Variable("request", request.CelType()),
	}
	if known.params {
		options = append(options, celgo.Variable("params", celgo.DynType))
	}
	if known.authorizer {
		options = append(options, celgo.Variable("authorizer", library.AuthorizerType), celgo.Variable("authorizer.requestResource", library.ResourceCheckType))
	}
	env, err := c.base.Extend(environment.VersionedOptions{
		IntroducedVersion: version.MajorMinor(1, 0), EnvOptions: options, DeclTypes: []*apicel.DeclType{namespace, request},
	}, environment.StrictCostOpt)
	if err == nil && known.patches {
		env, err = env.Extend(environment.VersionedOptions{
			IntroducedVersion: version.MajorMinor(1, 0),
			EnvOptions:        []celgo.EnvOption{common.ResolverEnvOption(&celmutation.DynamicTypeResolver{}), environment.UnversionedLib(library.JSONPatch)},
		})
	}
	if err == nil {
		c.envs[known] = env
	}
	return env, err
}

// expression is a compiled expression, or what is wrong with it.
type expression struct {
	text    string
	program celgo.Program // nil if it cannot be compiled
	output  *celgo.Type
	wrong   string
	failed  error // of the compiler itself
}

// compile compiles an expression that has one of the types; celgo.AnyType is any. stored says that it was valid before.
func (c *expressions) compile(text string, known knownVariables, stored bool, types ...*celgo.Type) *expression {
	x := &expression{text: text}
	set, err := c.env(known)
	if err != nil {
		x.failed = err
		return x
	}
	env := set.NewExpressionsEnv()
	if stored {
		env = set.StoredExpressionsEnv()
	}
	ast, issues := env.Compile(text)
	if issues != nil {
		x.wrong = "compilation failed: " + issues.String()
		return x
	}
	x.output = ast.OutputType()
	if !slices.ContainsFunc(types, func(t *celgo.Type) bool { return x.output.IsExactType(t) || t == celgo.AnyType }) {
		if x.wrong = fmt.Sprintf("must evaluate to one of %v but got %v", types, x.output); len(types) == 1 {
			x.wrong = fmt.Sprintf("must evaluate to %v but got %v", types[0], x.output)
		}
		return x
	}
	x.program, err = env.Program(ast, celgo.InterruptCheckFrequency(limits.CheckFrequency))
	if err != nil {
		x.wrong = "program instantiation failed: " + err.Error()
	}
	return x
}

// check returns what is wrong with an expression, nil for nothing.
func (x *expression) check(path *field.Path, shown string) *field.Error {
	switch {
	case x.failed != nil:
		return field.InternalError(path, x.failed)
	case x.wrong != "":
		return field.Invalid(path, shown, x.wrong)
	}
	return nil
}

// declare adds a variable, which later expressions can use.
func (c *expressions) declare(name, text string, known knownVariables, stored bool) *expression {
	x := c.compile(text, known, stored, celgo.AnyType, celgo.DynType)
	c.declared.Fields[name] = apicel.NewDeclField(name, declaredType(x.output), true, nil, nil)
	c.names, c.values = append(c.names, name), append(c.values, x)
	return x
}

// declaredTypes are the types of variables that expressions know, besides lists and maps.
var declaredTypes = map[*celgo.Type]*apicel.DeclType{
	celgo.AnyType: apicel.AnyType, celgo.BoolType: apicel.BoolType, celgo.BytesType: apicel.BytesType, celgo.DoubleType: apicel.DoubleType,
	celgo.DurationType: apicel.DurationType, celgo.IntType: apicel.IntType, celgo.NullType: apicel.NullType, celgo.StringType: apicel.StringType,
	celgo.TimestampType: apicel.TimestampType, celgo.UintType: apicel.UintType,
}

// declaredType returns the type of a variable.
func declaredType(t *celgo.Type) *apicel.DeclType {
	if t == nil {
		return apicel.DynType
	}
	if known := declaredTypes[t]; known != nil {
		return known
	}
	if of := t.Parameters(); t.HasTrait(traits.ContainerType) && t.HasTrait(traits.IndexerType) {
		switch len(of) {
		case 1:
			return apicel.NewListType(declaredType(of[0]), -1)
		case 2:
			return apicel.NewMapType(declaredType(of[0]), declaredType(of[1]), -1)
		}
	}
	return apicel.DynType
}

// outcome is the value of an expression, or why it has none. Both are nil if there is no expression.
type outcome struct {
	value ref.Val
	err   error
}

// errBudget ends the evaluation of expressions that cost too much together.
var errBudget = errors.New("validation failed due to running out of cost budget, no further validation rules will be run")

// evaluate evaluates expressions with the values of the variables. Those that are nil have no outcome. They may cost as much as is left of the
// budget; a variable costs when it is first used.
func (c *expressions) evaluate(list []*expression, values map[string]any, budget *uint64) ([]outcome, error) {
	spent := uint64(0)
	if c.declared != nil {
		composed := lazy.NewMapValue(c.declared)
		for i, x := range c.values {
			composed.Append(c.names[i], func(*lazy.MapValue) ref.Val {
				if x.program == nil {
					return celtypes.NewErr("composited variable %q fails to compile: %v", c.names[i], x.wrong)
				}
				value, cost, err := x.run(values)
				spent += min(cost, math.MaxUint64-spent)
				if err != nil {
					return celtypes.NewErr("composited variable %q fails to evaluate: %v", c.names[i], err)
				}
				return value
			})
		}
		values["variables"] = composed
	}
	outcomes := make([]outcome, len(list))
	for i, x := range list {
		if x == nil {
			continue
		}
		if x.program == nil {
			outcomes[i].err = fmt.Errorf("compilation error: %s", x.wrong)
			continue
		}
		value, cost, err := x.run(values)
		if cost > *budget || spent > *budget-cost {
			// API-422: what follows is not evaluated.
			return nil, errBudget
		}
		*budget -= cost + spent
		spent = 0
		if err != nil {
			err = fmt.Errorf("expression '%v' resulted in error: %w", x.text, err)
		}
		outcomes[i] = outcome{value, err}
	}
	return outcomes, nil
}

// run evaluates one expression, and returns what that cost.
func (x *expression) run(values map[string]any) (value ref.Val, cost uint64, err error) {
	value, details, err := x.program.ContextEval(context.Background(), values)
	cost = math.MaxUint64
	if details != nil && details.ActualCost() != nil {
		cost = *details.ActualCost()
	}
	return value, cost, err
}
