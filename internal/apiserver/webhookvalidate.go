package apiserver

import (
	"errors"
	"fmt"
	"net/http"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/volsim/volsim/internal/apiserver/webhooks"
)

// askValidating asks the webhooks that may refuse a write. The error is that of the first of them (API-390).
func (q *reviews) askValidating(a *attributes, obj, old []byte) error {
	var answers []*webhooks.Answer
	var asked []*webhook
	unanswered := false
	for _, h := range q.server.currentWebhooks().validating {
		version, err := q.matches(h, a, obj, old)
		if err != nil {
			return err
		}
		if version == nil {
			continue
		}
		v, err := q.ask(h, a, version, obj, old, false)
		if err == errUnanswered {
			unanswered = true // they are asked together
			continue
		}
		if err != nil {
			return err
		}
		asked, answers = append(asked, h), append(answers, v)
	}
	if unanswered {
		return errUnanswered
	}
	var first error
	for i, h := range asked {
		if err := h.judged(q.allowed(h, answers[i])); err != nil && first == nil {
			first = err
		}
	}
	return first
}

// allowed returns the error of a webhook that does not allow a request, and adds its warnings.
func (q *reviews) allowed(h *webhook, v *webhooks.Answer) error {
	if v.Failure != "" {
		return &callError{h.Name, v.Failure}
	}
	for _, text := range v.Warnings {
		q.warn(text)
	}
	if v.Allowed {
		return nil
	}
	return denied(h.Name, v.Status)
}

// denied returns the error of a webhook that refuses a request (API-391).
func denied(name string, given *metav1.Status) error {
	var status metav1.Status
	if given != nil {
		status = *given
	}
	status.Code = max(status.Code, http.StatusBadRequest)
	if status.Status == "" || status.Status == metav1.StatusSuccess {
		status.Status = metav1.StatusFailure
	}
	text := fmt.Sprintf("admission webhook %q denied the request", name)
	switch {
	// API-391: the message says more than the reason.
	case status.Message != "":
		status.Message = text + ": " + status.Message
	case status.Reason != "":
		status.Message = text + ": " + string(status.Reason)
	default:
		status.Message = text + " without explanation"
	}
	return &apierrors.StatusError{ErrStatus: status}
}

// callError is the error of a webhook that could not be asked, or whose answer makes no sense.
type callError struct{ webhook, reason string }

func (e *callError) Error() string {
	return fmt.Sprintf("failed calling webhook %q: %s", e.webhook, e.reason)
}

// judged returns what an error of a webhook means for the request.
func (h *webhook) judged(err error) error {
	var failed *callError
	if !errors.As(err, &failed) {
		return err
	}
	if h.FailurePolicy != nil && *h.FailurePolicy == admissionregistrationv1.Ignore {
		return nil // API-392: the request goes on as if there were no such webhook
	}
	return apierrors.NewInternalError(err)
}
