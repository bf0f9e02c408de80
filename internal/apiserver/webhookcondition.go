package apiserver

import (
	"cmp"
	"encoding/json"
	"strings"

	celgo "github.com/google/cel-go/cel"
	celtypes "github.com/google/cel-go/common/types"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/validate/content"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	utilerrors "k8s.io/apimachinery/pkg/util/errors"
	"k8s.io/apimachinery/pkg/util/validation/field"
	limits "k8s.io/apiserver/pkg/apis/cel"
)

// Conditions of webhooks and policies (matchConditions): expressions in CEL about a request.

// maxConditions is how many conditions a webhook or a policy has at most.
const maxConditions = 64

// checkConditions validates conditions (API-382). params says that they know the parameters of a policy.
func checkConditions(conditions []admissionregistrationv1.MatchCondition, params bool, path *field.Path) field.ErrorList {
	var errs field.ErrorList
	if len(conditions) > maxConditions {
		errs = append(errs, field.TooMany(path, len(conditions), maxConditions))
	}
	names := map[string]bool{}
	for i, c := range conditions {
		at := path.Index(i)
		if text := strings.TrimSpace(c.Expression); text == "" {
			errs = append(errs, field.Required(at.Child("expression"), ""))
		} else if err := compileCondition(plainExpressions(), text, params, false).check(at.Child("expression"), text); err != nil {
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

func compileCondition(c *expressions, text string, params, stored bool) *expression {
	return c.compile(text, knownVariables{params: params, authorizer: true}, stored, celgo.BoolType)
}

// compileConditions returns the conditions of a webhook or a policy that is stored.
func compileConditions(c *expressions, conditions []admissionregistrationv1.MatchCondition, params bool) []*expression {
	list := make([]*expression, len(conditions))
	for i := range conditions {
		list[i] = compileCondition(c, conditions[i].Expression, params, true)
	}
	return list
}

// conditionsHold reports whether all conditions hold. The error is that of those that fail, if no other one decides.
func (c *expressions) conditionsHold(conditions []*expression, values map[string]any) (bool, error) {
	budget := uint64(limits.RuntimeCELCostBudgetMatchConditions)
	outcomes, err := c.evaluate(conditions, values, &budget)
	if err != nil {
		return false, err
	}
	var failed []error
	for _, o := range outcomes {
		if o.err != nil {
			failed = append(failed, o.err)
		} else if o.value == celtypes.False {
			return false, nil
		}
	}
	return len(failed) == 0, utilerrors.NewAggregate(failed)
}

// conditionsHold reports whether all conditions of a webhook hold for a request, which the webhook would be asked about in that version.
func (q *reviews) conditionsHold(h *webhook, a *attributes, version *resource, obj, old []byte) (bool, error) {
	if len(h.MatchConditions) == 0 {
		return true, nil
	}
	values, err := q.celValues(a, version, obj, old)
	if err != nil {
		return false, apierrors.NewInternalError(err)
	}
	if h.conditions == nil {
		h.conditions = compileConditions(plainExpressions(), h.MatchConditions, false)
	}
	holds, err := plainExpressions().conditionsHold(h.conditions, asRequested(values))
	if err == nil || h.FailurePolicy != nil && *h.FailurePolicy == admissionregistrationv1.Ignore {
		return holds, nil // API-382: after a failure the webhook is not asked
	}
	return false, forbidden(a, obj, err)
}

// forbidden returns the error of a request that admission refuses.
func forbidden(a *attributes, obj []byte, reason error) *apierrors.StatusError {
	name := a.name
	if name == "" {
		// API-021: an object without a name is called by the name that is to be generated.
		var meta metav1.PartialObjectMetadata
		if name = "Unknown"; obj != nil && json.Unmarshal(obj, &meta) == nil {
			name = cmp.Or(meta.GenerateName, name)
		}
	}
	return apierrors.NewForbidden(a.resource.GroupResource(), name, reason)
}
