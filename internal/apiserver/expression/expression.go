// Package expression compiles and evaluates expressions in CEL about requests: conditions of webhooks, and the expressions of admission policies
// (API-382, API-410 to API-429). The environment of CEL and its functions are those of kube-apiserver.
package expression

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

// Known says what an expression may use besides object, oldObject, request and namespaceObject.
type Known struct {
	Params     bool
	Authorizer bool
	Patches    bool // types of JSONPatch and Object
}

// Compiler compiles expressions. It is safe for concurrent use if it has no variables.
type Compiler struct {
	// Base is the environment without the variables of requests.
	Base *environment.EnvSet

	mu   sync.Mutex
	envs map[Known]*environment.EnvSet
	// declared is the type of the variable variables, nil if it does not exist.
	declared *apicel.DeclType
	names    []string
	values   []*Expression // of the variables with these names
}

// Plain compiles expressions without variables of their own.
var Plain = sync.OnceValue(func() *Compiler {
	return &Compiler{Base: environment.MustBaseEnvSet(environment.DefaultCompatibilityVersion()), envs: map[Known]*environment.EnvSet{}}
})

// Composed returns a compiler for expressions that can use variables.
func Composed() (*Compiler, error) {
	declared := apicel.NewObjectType("kubernetes.variables", map[string]*apicel.DeclField{})
	base, err := Plain().Base.Extend(environment.VersionedOptions{
		IntroducedVersion: version.MajorMinor(1, 0),
		EnvOptions:        []celgo.EnvOption{celgo.Variable("variables", declared.CelType())},
		DeclTypes:         []*apicel.DeclType{declared},
	})
	return &Compiler{Base: base, envs: map[Known]*environment.EnvSet{}, declared: declared}, err
}

// env returns the environment of expressions that know these variables.
func (c *Compiler) env(known Known) (*environment.EnvSet, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if env := c.envs[known]; env != nil {
		return env, nil
	}
	request, namespace := RequestType(), NamespaceType()
	options := []celgo.EnvOption{
		celgo.Variable("object", celgo.DynType), celgo.Variable("oldObject", celgo.DynType),
		celgo.Variable("namespaceObject", namespace.CelType()), celgo.Variable("request", request.CelType()),
	}
	if known.Params {
		options = append(options, celgo.Variable("params", celgo.DynType))
	}
	if known.Authorizer {
		options = append(options, celgo.Variable("authorizer", library.AuthorizerType), celgo.Variable("authorizer.requestResource", library.ResourceCheckType))
	}
	env, err := c.Base.Extend(environment.VersionedOptions{
		IntroducedVersion: version.MajorMinor(1, 0), EnvOptions: options, DeclTypes: []*apicel.DeclType{namespace, request},
	}, environment.StrictCostOpt)
	if err == nil && known.Patches {
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

// Expression is a compiled expression, or what is wrong with it.
type Expression struct {
	text    string
	program celgo.Program // nil if it cannot be compiled
	output  *celgo.Type
	wrong   string
	failed  error // of the compiler itself
}

// Compile compiles an expression that has one of the types; celgo.AnyType is any. stored says that it was valid before.
func (c *Compiler) Compile(text string, known Known, stored bool, types ...*celgo.Type) *Expression {
	x := &Expression{text: text}
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

// Err returns why the expression cannot be evaluated, nil if it can be.
func (x *Expression) Err() error {
	if x.program == nil {
		return errors.New(x.wrong)
	}
	return nil
}

// Check returns the error of a field with the expression, nil if the expression is valid. shown is its value in the error.
func (x *Expression) Check(path *field.Path, shown string) *field.Error {
	switch {
	case x.failed != nil:
		return field.InternalError(path, x.failed)
	case x.wrong != "":
		return field.Invalid(path, shown, x.wrong)
	}
	return nil
}

// Declare adds a variable, which later expressions can use.
func (c *Compiler) Declare(name, text string, known Known, stored bool) *Expression {
	x := c.Compile(text, known, stored, celgo.AnyType, celgo.DynType)
	c.declared.Fields[name] = apicel.NewDeclField(name, DeclaredType(x.output), true, nil, nil)
	c.names, c.values = append(c.names, name), append(c.values, x)
	return x
}

// declaredTypes are the types of variables that expressions know, besides lists and maps.
var declaredTypes = map[*celgo.Type]*apicel.DeclType{
	celgo.AnyType: apicel.AnyType, celgo.BoolType: apicel.BoolType, celgo.BytesType: apicel.BytesType, celgo.DoubleType: apicel.DoubleType,
	celgo.DurationType: apicel.DurationType, celgo.IntType: apicel.IntType, celgo.NullType: apicel.NullType, celgo.StringType: apicel.StringType,
	celgo.TimestampType: apicel.TimestampType, celgo.UintType: apicel.UintType,
}

// DeclaredType returns the type of a variable whose expression has the type t, which may be nil.
func DeclaredType(t *celgo.Type) *apicel.DeclType {
	if t == nil {
		return apicel.DynType
	}
	if known := declaredTypes[t]; known != nil {
		return known
	}
	if of := t.Parameters(); t.HasTrait(traits.ContainerType) && t.HasTrait(traits.IndexerType) {
		switch len(of) {
		case 1:
			return apicel.NewListType(DeclaredType(of[0]), -1)
		case 2:
			return apicel.NewMapType(DeclaredType(of[0]), DeclaredType(of[1]), -1)
		}
	}
	return apicel.DynType
}

// Outcome is the value of an expression, or why it has none. Both are nil if there is no expression.
type Outcome struct {
	Value ref.Val
	Err   error
}

// errBudget ends the evaluation of expressions that cost too much together.
var errBudget = errors.New("validation failed due to running out of cost budget, no further validation rules will be run")

// Evaluate evaluates expressions with the values of the variables. Those that are nil have no outcome. They may cost as much as is left of the
// budget; a variable costs when it is first used.
func (c *Compiler) Evaluate(list []*Expression, values map[string]any, budget *uint64) ([]Outcome, error) {
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
	outcomes := make([]Outcome, len(list))
	for i, x := range list {
		if x == nil {
			continue
		}
		if x.program == nil {
			outcomes[i].Err = fmt.Errorf("compilation error: %s", x.wrong)
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
		outcomes[i] = Outcome{value, err}
	}
	return outcomes, nil
}

// run evaluates one expression, and returns what that cost.
func (x *Expression) run(values map[string]any) (value ref.Val, cost uint64, err error) {
	value, details, err := x.program.ContextEval(context.Background(), values)
	cost = math.MaxUint64
	if details != nil && details.ActualCost() != nil {
		cost = *details.ActualCost()
	}
	return value, cost, err
}
