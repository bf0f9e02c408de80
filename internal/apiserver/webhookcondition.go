package apiserver

import (
	"cmp"
	"encoding/json"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/volsim/volsim/internal/apiserver/expression"
	"github.com/volsim/volsim/internal/apiserver/resources"
)

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
