package expression

import (
	"strings"

	celgo "github.com/google/cel-go/cel"
	celtypes "github.com/google/cel-go/common/types"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	"k8s.io/apimachinery/pkg/api/validate/content"
	utilerrors "k8s.io/apimachinery/pkg/util/errors"
	"k8s.io/apimachinery/pkg/util/validation/field"
	limits "k8s.io/apiserver/pkg/apis/cel"
)

// maxConditions is how many conditions a webhook or a policy has at most.
const maxConditions = 64

// CheckConditions validates conditions (API-382). params says that they know the parameters of a policy.
func CheckConditions(conditions []admissionregistrationv1.MatchCondition, params bool, path *field.Path) field.ErrorList {
	var errs field.ErrorList
	if len(conditions) > maxConditions {
		errs = append(errs, field.TooMany(path, len(conditions), maxConditions))
	}
	names := map[string]bool{}
	for i, c := range conditions {
		at := path.Index(i)
		if text := strings.TrimSpace(c.Expression); text == "" {
			errs = append(errs, field.Required(at.Child("expression"), ""))
		} else if err := Plain().condition(text, params, false).Check(at.Child("expression"), text); err != nil {
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

func (c *Compiler) condition(text string, params, stored bool) *Expression {
	return c.Compile(text, Known{Params: params, Authorizer: true}, stored, celgo.BoolType)
}

// Conditions compiles the conditions of a webhook or a policy that is stored. params says that they know the parameters of a policy.
func (c *Compiler) Conditions(conditions []admissionregistrationv1.MatchCondition, params bool) []*Expression {
	list := make([]*Expression, len(conditions))
	for i := range conditions {
		list[i] = c.condition(conditions[i].Expression, params, true)
	}
	return list
}

// Hold reports whether all conditions hold with the values of the variables. The error is that of those that fail, if no other one decides.
func (c *Compiler) Hold(conditions []*Expression, values map[string]any) (bool, error) {
	budget := uint64(limits.RuntimeCELCostBudgetMatchConditions)
	outcomes, err := c.Evaluate(conditions, values, &budget)
	if err != nil {
		return false, err
	}
	var failed []error
	for _, o := range outcomes {
		if o.Err != nil {
			failed = append(failed, o.Err)
		} else if o.Value == celtypes.False {
			return false, nil
		}
	}
	return len(failed) == 0, utilerrors.NewAggregate(failed)
}
