package apiserver

import (
	"fmt"

	jsonpatch "gopkg.in/evanphx/json-patch.v4"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/volsim/volsim/internal/apiserver/resources"
	"github.com/volsim/volsim/internal/apiserver/webhooks"
)

// askMutating asks the webhooks that may change an object, one after the other (API-388).
func (q *reviews) askMutating(m *mutation) error {
	q.invoked.begin(m.obj, m.again)
	for _, h := range q.server.currentWebhooks().mutating {
		version, err := q.matches(h, m.attributes, m.obj, m.old)
		if err != nil {
			return err
		}
		if version == nil || m.again && !q.invoked.reinvoke[h.id] {
			continue
		}
		v, err := q.ask(h, m.attributes, version, m.obj, m.old, m.again)
		if err != nil {
			return err
		}
		patched, err := q.patched(h, m.attributes, v, version, m.obj)
		if err == nil && patched != nil {
			changed, err := q.replace(m, patched)
			if err != nil {
				return err
			}
			if changed {
				m.changed = true
				q.invoked.require()
			}
		}
		if h.ReinvocationPolicy != nil && *h.ReinvocationPolicy == admissionregistrationv1.IfNeededReinvocationPolicy {
			q.invoked.once[h.id] = true
		}
		if err := h.judged(err); err != nil {
			return err
		}
	}
	q.invoked.last = m.obj
	return nil
}

// patched returns the JSON of the object that a webhook has changed, in the version of the request; nil if it has not.
func (q *reviews) patched(h *webhook, a *attributes, v *webhooks.Answer, version *resources.Resource, obj []byte) ([]byte, error) {
	if err := q.allowed(h, v); err != nil {
		return nil, err
	}
	if len(v.Patch) == 0 {
		return nil, nil
	}
	patch, err := jsonpatch.DecodePatch(v.Patch)
	if err != nil {
		return nil, &callError{h.Name, "received undecodable patch in webhook response: " + err.Error()}
	}
	if len(patch) == 0 {
		return nil, nil
	}
	if obj == nil {
		// API-388: the object of a delete does not change.
		return nil, apierrors.NewInternalError(fmt.Errorf("admission webhook %q attempted to modify the object, which is not supported for this operation", h.Name))
	}
	if v.Type != "" {
		return nil, &callError{h.Name, fmt.Sprintf("unsupported patch type %q", v.Type)}
	}
	shown := version
	if a.body != a.resource {
		shown = a.body
	}
	if obj, err = q.convert(obj, a.body, shown); err == nil {
		obj, err = patch.Apply(obj)
	}
	if err == nil {
		obj, err = q.convert(obj, shown, a.body)
	}
	if err != nil {
		return nil, apierrors.NewInternalError(err)
	}
	return obj, nil
}
