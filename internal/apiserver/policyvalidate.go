package apiserver

import (
	"cmp"
	"errors"
	"fmt"
	"net/http"
	"strings"

	celgo "github.com/google/cel-go/cel"
	celtypes "github.com/google/cel-go/common/types"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	limits "k8s.io/apiserver/pkg/apis/cel"

	"github.com/volsim/volsim/internal/apiserver/expression"
)

// compileValidations compiles what a ValidatingAdmissionPolicy evaluates.
func (c *compiledPolicy) compileValidations(p *policy, known expression.Known) {
	quiet := expression.Known{Params: known.Params}
	for _, v := range p.Validations {
		c.validations = append(c.validations, c.Compile(v.Expression, known, true, celgo.BoolType))
		var message *expression.Expression
		if v.MessageExpression != "" {
			message = c.Compile(v.MessageExpression, quiet, true, celgo.StringType)
		}
		c.messages = append(c.messages, message)
	}
	for _, a := range p.AuditAnnotations {
		c.annotations = append(c.annotations, c.Compile(a.ValueExpression, known, true, celgo.StringType, celgo.NullType))
	}
}

// denial is why a policy refuses a write.
type denial struct {
	*invocation
	message string
	reason  metav1.StatusReason
}

// checkPolicies evaluates the policies that may refuse a write.
func (q *reviews) checkPolicies(a *attributes, obj, old []byte) error {
	var denied []denial
	for _, i := range q.invocations(q.server.currentPolicies().validating, a, obj, old) {
		if i.err != nil {
			// API-419: a policy that cannot be evaluated has failed, whatever its bindings do about failed validations.
			if !i.ignoresFailures() {
				denied = append(denied, denial{invocation: i, message: i.err.Error()})
			}
			continue
		}
		found, err := q.evaluatePolicy(i, a, obj, old)
		if err != nil {
			return err
		}
		denied = append(denied, found...)
	}
	if len(denied) == 0 {
		return nil
	}
	return denied[0].refuse(a, obj)
}

// refuse returns the error of a write that a policy refuses (API-420).
func (d *denial) refuse(a *attributes, obj []byte) error {
	message := fmt.Sprintf("ValidatingAdmissionPolicy '%s' denied request: %s", d.policy.name, d.message)
	if d.binding != nil {
		message = fmt.Sprintf("ValidatingAdmissionPolicy '%s' with binding '%s' denied request: %s", d.policy.name, d.binding.name, d.message)
	}
	err := forbidden(a, obj, errors.New(message))
	err.ErrStatus.Reason = cmp.Or(d.reason, metav1.StatusReasonInvalid)
	switch err.ErrStatus.Reason {
	case metav1.StatusReasonForbidden:
		err.ErrStatus.Code = http.StatusForbidden
	case metav1.StatusReasonRequestEntityTooLarge:
		err.ErrStatus.Code = http.StatusRequestEntityTooLarge
	default:
		err.ErrStatus.Code = http.StatusUnprocessableEntity
	}
	err.ErrStatus.Details.Causes = append(err.ErrStatus.Details.Causes, metav1.StatusCause{Message: message})
	return err
}

// evaluatePolicy evaluates a policy, warns, and returns why it refuses the write.
func (q *reviews) evaluatePolicy(i *invocation, a *attributes, obj, old []byte) ([]denial, error) {
	compiled, err := i.compile()
	if err != nil {
		return nil, err
	}
	conditions, values, err := q.policyValues(i, a, obj, old)
	if err != nil {
		return nil, err
	}
	holds, err := compiled.Hold(compiled.conditions, conditions)
	if err != nil {
		return q.act(i, []denial{i.failure(err)}), nil
	}
	if !holds {
		return nil, nil
	}
	budget := uint64(limits.RuntimeCELCostBudget)
	outcomes, err := compiled.Evaluate(compiled.validations, values, &budget)
	if err != nil {
		return q.act(i, []denial{i.failure(err)}), nil
	}
	messages, failed := compiled.Evaluate(compiled.messages, values, &budget)
	decisions := make([]denial, len(outcomes))
	for n, o := range outcomes {
		switch {
		case o.Err != nil:
			decisions[n] = i.failure(o.Err)
		case failed != nil:
			decisions[n] = i.failure(fmt.Errorf("failed messageExpression: %w", failed))
		case o.Value != celtypes.True:
			v := &i.Validations[n]
			decisions[n] = denial{invocation: i, message: validationMessage(v, messages[n]), reason: metav1.StatusReasonInvalid}
			if v.Reason != nil {
				decisions[n].reason = *v.Reason
			}
		}
	}
	budget = limits.RuntimeCELCostBudget
	annotations, err := compiled.Evaluate(compiled.annotations, values, &budget)
	if err != nil {
		return q.act(i, []denial{i.failure(err)}), nil
	}
	denied := q.act(i, decisions)
	for _, o := range annotations {
		// API-423: there is no audit log, but an annotation that fails is a failure of the policy.
		if o.Err != nil && !i.ignoresFailures() {
			denied = append(denied, denial{invocation: i, message: o.Err.Error()})
		}
	}
	return denied, nil
}

// failure returns the decision if an expression fails: none if the policy ignores failures.
func (i *invocation) failure(err error) denial {
	if i.ignoresFailures() {
		return denial{}
	}
	return denial{invocation: i, message: err.Error()}
}

// act does what the binding says about decisions, and returns those that refuse the write (API-421).
func (q *reviews) act(i *invocation, decisions []denial) []denial {
	var denied []denial
	for _, d := range decisions {
		if d.invocation == nil {
			continue
		}
		for _, action := range i.binding.ValidationActions {
			switch action {
			case admissionregistrationv1.Deny:
				denied = append(denied, d)
			case admissionregistrationv1.Warn:
				q.warn(fmt.Sprintf("Validation failed for ValidatingAdmissionPolicy '%s' with binding '%s': %s", i.policy.name, i.binding.name, d.message))
			}
		}
	}
	return denied
}

// validationMessage returns the message of a validation that failed (API-420): what messageExpression says, unless it is empty, too long or has
// several lines, or else the message, or else the expression.
func validationMessage(v *admissionregistrationv1.Validation, made expression.Outcome) string {
	message := ""
	if made.Err == nil && made.Value != nil {
		text, _ := made.Value.Value().(string)
		if text = strings.TrimSpace(text); len(text) <= limits.MaxEvaluatedMessageExpressionSizeBytes && !strings.Contains(text, "\n") {
			message = text
		}
	}
	return cmp.Or(message, strings.TrimSpace(v.Message), "failed expression: "+strings.TrimSpace(v.Expression))
}
