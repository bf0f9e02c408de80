package apiserver

import (
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/volsim/volsim/internal/apiserver/expression"
	"github.com/volsim/volsim/internal/apiserver/resources"
)

// matches returns the resource in the version in which a webhook is asked about a write, nil if it is not asked.
func (q *reviews) matches(h *webhook, a *attributes, obj, old []byte) (*resources.Resource, error) {
	version := h.scope.version(q.server, a)
	if version == nil || q.silent || isConfiguration(a.resource) {
		return nil, nil
	}
	ok, err := h.scope.selects(q.server, a, obj, old)
	if ok && err == nil {
		ok, err = q.conditionsHold(h, a, version, obj, old)
	}
	if !ok || err != nil {
		return nil, err
	}
	return version, nil
}

// conditionsHold reports whether all conditions of a webhook hold for a request, which the webhook would be asked about in that version.
func (q *reviews) conditionsHold(h *webhook, a *attributes, version *resources.Resource, obj, old []byte) (bool, error) {
	if len(h.MatchConditions) == 0 {
		return true, nil
	}
	values, err := q.celValues(a, version, obj, old)
	if err != nil {
		return false, apierrors.NewInternalError(err)
	}
	if h.conditions == nil {
		h.conditions = expression.Plain().Conditions(h.MatchConditions, false)
	}
	holds, err := expression.Plain().Hold(h.conditions, asRequested(values))
	if err == nil || h.FailurePolicy != nil && *h.FailurePolicy == admissionregistrationv1.Ignore {
		return holds, nil // API-382: after a failure the webhook is not asked
	}
	return false, forbidden(a, obj, err)
}
