package expression

import (
	"fmt"
	"sync"

	celgo "github.com/google/cel-go/cel"
	"github.com/google/cel-go/checker"
	"github.com/google/cel-go/ext"
	resourcev1 "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/apimachinery/pkg/util/version"
	apicel "k8s.io/apiserver/pkg/cel"
	"k8s.io/apiserver/pkg/cel/environment"
	"k8s.io/apiserver/pkg/cel/library"
)

// CheckDeviceSelector validates an expression that selects devices (API-579). stored says that it was valid before.
func CheckDeviceSelector(text string, stored bool, path *field.Path) *field.Error {
	if len(text) > resourcev1.CELSelectorExpressionMaxLength {
		return field.TooLong(path, "", resourcev1.CELSelectorExpressionMaxLength)
	}
	d := devices()
	if d.failed != nil {
		return field.InternalError(path, d.failed)
	}
	env := d.envs.NewExpressionsEnv()
	if stored {
		env = d.envs.StoredExpressionsEnv()
	}
	ast, issues := env.Compile(text)
	if issues != nil {
		return field.Invalid(path, text, "compilation failed: "+issues.String())
	}
	// API-579: the result may be an attribute; its type is not known before the selector runs.
	if out := ast.OutputType(); out != celgo.BoolType && out != celgo.AnyType {
		return field.Invalid(path, text, fmt.Sprintf("must evaluate to bool or the unknown type, not %v", out))
	}
	if _, err := env.Program(ast); err != nil {
		return field.Invalid(path, text, "program instantiation failed: "+err.Error())
	}
	cost, err := env.EstimateCost(ast, &library.CostEstimator{SizeEstimator: d})
	if err != nil {
		return field.InternalError(path, fmt.Errorf("cost estimation failed: %w", err))
	}
	if cost.Max > resourcev1.CELSelectorExpressionMaxCost {
		return field.Forbidden(path, "too complex, exceeds cost limit")
	}
	return nil
}

// deviceSelectors has what compiles expressions about a device.
type deviceSelectors struct {
	envs      *environment.EnvSet
	device    *apicel.DeclType
	attribute *apicel.DeclType // of any type
	failed    error
}

var devices = sync.OnceValue(func() *deviceSelectors {
	const entries = resourcev1.ResourceSliceMaxAttributesAndCapacitiesPerDevice
	d := &deviceSelectors{attribute: sized(apicel.AnyType, resourcev1.DeviceAttributeMaxValueLength)}
	domain, id := sized(apicel.StringType, resourcev1.DeviceMaxDomainLength), sized(apicel.StringType, resourcev1.DeviceMaxIDLength)
	fields := map[string]*apicel.DeclField{}
	for name, t := range map[string]*apicel.DeclType{
		"driver":                   sized(apicel.StringType, resourcev1.DriverNameMaxLength),
		"allowMultipleAllocations": sized(apicel.BoolType, 1),
		"attributes":               apicel.NewMapType(domain, apicel.NewMapType(id, d.attribute, entries), entries),
		"capacity":                 apicel.NewMapType(domain, apicel.NewMapType(id, apicel.QuantityDeclType, entries), entries),
	} {
		fields[name] = apicel.NewDeclField(name, t, true, nil, nil)
	}
	d.device = apicel.NewObjectType("kubernetes.DRADevice", fields)
	d.envs, d.failed = Plain().Base.Extend(environment.VersionedOptions{
		IntroducedVersion: version.MajorMinor(1, 34),
		EnvOptions:        []celgo.EnvOption{ext.Bindings(ext.BindingsVersion(0)), celgo.Variable("device", d.device.CelType())},
		DeclTypes:         []*apicel.DeclType{d.device},
	})
	return d
})

// sized returns a type with a known size.
func sized(t *apicel.DeclType, size int64) *apicel.DeclType {
	out := *t
	out.MaxElements = size
	return &out
}

// EstimateSize returns how large a part of a device can be.
func (d *deviceSelectors) EstimateSize(element checker.AstNode) *checker.SizeEstimate {
	path := element.Path()
	if len(path) == 0 || path[0] != "device" {
		return nil
	}
	t := d.device
	for _, name := range path[1:] {
		var next *apicel.DeclType
		switch f, ok := t.Fields[name]; {
		case name == "@items" || name == "@values":
			next = t.ElemType
		case name == "@keys":
			next = t.KeyType
		case ok:
			next = f.Type
		case t.ElemType == d.attribute:
			next = d.attribute
		}
		if next == nil {
			return nil
		}
		t = next
	}
	return &checker.SizeEstimate{Max: uint64(t.MaxElements)}
}

// EstimateCallCost leaves functions to others.
func (d *deviceSelectors) EstimateCallCost(string, string, *checker.AstNode, []checker.AstNode) *checker.CallEstimate {
	return nil
}
