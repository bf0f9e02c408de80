package apiserver

import (
	"errors"
	"fmt"
	"net/http"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/volsim/volsim/api"
	"github.com/volsim/volsim/internal/apiserver/resources"
)

// errNoRoute is the error for a path that no resource has. Its answer is a text, and not a Status.
var errNoRoute = errors.New("404 page not found")

// statusKind is the kind of the answers that are no objects.
var statusKind = resources.CoreGroup.WithKind("Status")

// statusOf returns the Status for an error. An error that is none of Kubernetes' has code 500 and no reason.
func statusOf(err error) *metav1.Status {
	status := metav1.Status{Status: metav1.StatusFailure, Code: http.StatusInternalServerError, Message: err.Error()}
	var known apierrors.APIStatus
	if errors.As(err, &known) {
		status = known.Status()
	}
	if status.Code == 0 {
		status.Code = http.StatusInternalServerError
	}
	status.Kind, status.APIVersion = "Status", "v1"
	return &status
}

// serverError returns the error that the routes of a server give: a Status without the name of a resource.
func serverError(code int, message string) error {
	return apierrors.NewGenericServerResponse(code, "", schema.GroupResource{}, "", message, 0, false)
}

func errMethod() error { return serverError(http.StatusMethodNotAllowed, "405: Method Not Allowed") }

// mediaError returns the error of a failed negotiation.
func mediaError(code int, reason metav1.StatusReason, message string) error {
	return &apierrors.StatusError{ErrStatus: metav1.Status{
		Status: metav1.StatusFailure, Code: int32(code), Reason: reason, Message: message,
	}}
}

// errRefused returns the error for a subresource that the server does not carry out.
func errRefused(r *request, obj api.Object, reason string) error {
	connects := r.subresource == "exec" || r.subresource == "attach" || r.subresource == "portforward"
	if pod, ok := obj.(*corev1.Pod); ok && pod.Spec.NodeName == "" && connects {
		return apierrors.NewBadRequest(fmt.Sprintf("pod %s does not have a host assigned", r.name))
	}
	return &apierrors.StatusError{ErrStatus: metav1.Status{
		Status: metav1.StatusFailure, Code: http.StatusNotImplemented, Reason: "NotImplemented",
		Message: fmt.Sprintf("%s of %s %q: %s", r.subresource, r.resource.Singular, r.name, reason),
		Details: &metav1.StatusDetails{Name: r.name, Group: r.resource.Group, Kind: r.resource.Resource},
	}}
}
