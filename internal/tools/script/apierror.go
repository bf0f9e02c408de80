package script

import (
	"errors"
	"net/http"
	"slices"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/volsim/volsim/api"
	"github.com/volsim/volsim/internal/core/objects"
	"github.com/volsim/volsim/internal/core/objkinds"
)

// apiCode is an API server error: its reason, HTTP status and default message.
type apiCode struct {
	name    string
	status  int32
	message string
}

var apiCodes = []apiCode{
	{"Conflict", http.StatusConflict, "the object has been modified; please apply your changes to the latest version and try again"},
	{"AlreadyExists", http.StatusConflict, "already exists"},
	{"NotFound", http.StatusNotFound, "not found"},
	{"Forbidden", http.StatusForbidden, "not allowed"},
	{"Invalid", http.StatusUnprocessableEntity, "it is invalid"},
	{"InternalError", http.StatusInternalServerError, "an error on the server has prevented the request from succeeding"},
	{"Timeout", http.StatusGatewayTimeout, "the request did not complete within the allowed time"},
	{"ServerTimeout", http.StatusInternalServerError, "the server could not answer in time, try again"},
	{"TooManyRequests", http.StatusTooManyRequests, "the server has received too many requests and has asked us to try again later"},
	{"ServiceUnavailable", http.StatusServiceUnavailable, "the server is currently unable to handle the request"},
	{"Unreachable", 0, "dial tcp: connect: connection refused"},
}

func apiCodeNames() string {
	names := make([]string, len(apiCodes))
	for i, c := range apiCodes {
		names[i] = "`" + c.name + "`"
	}
	return strings.Join(names, ", ")
}

// apiError returns the error with which a call to the API server fails.
func apiError(name, message string) error {
	i := slices.IndexFunc(apiCodes, func(c apiCode) bool { return c.name == name })
	code := apiCodes[i]
	if message == "" {
		message = code.message
		switch metav1.StatusReason(name) {
		case metav1.StatusReasonConflict, metav1.StatusReasonAlreadyExists, metav1.StatusReasonNotFound, metav1.StatusReasonForbidden:
			return objectError{metav1.StatusReason(name), errors.New(message)}
		}
	}
	// An unreachable API server returns no Status object.
	if code.status == 0 {
		return errors.New(message)
	}
	return &apierrors.StatusError{ErrStatus: metav1.Status{Status: metav1.StatusFailure, Code: code.status,
		Reason: metav1.StatusReason(name), Message: message}}
}

// objectError is an error about the object of a call. Which call fails is known when it is made.
type objectError struct {
	reason metav1.StatusReason
	error
}

// For returns the error that the API server would answer the call with.
func (e objectError) For(call api.Call) error {
	_, name := objects.SplitKey(call.Key)
	resource := resourceOf(call.Kind)
	// API-022 to API-024: the text names the resource and the object.
	switch e.reason {
	case metav1.StatusReasonConflict:
		return apierrors.NewConflict(resource, name, e.error)
	case metav1.StatusReasonAlreadyExists:
		return apierrors.NewAlreadyExists(resource, name)
	case metav1.StatusReasonNotFound:
		return apierrors.NewNotFound(resource, name)
	}
	return apierrors.NewForbidden(resource, name, e.error)
}

// resourceOf returns the resource of a kind. That of a custom kind is guessed from its name.
func resourceOf(kind string) schema.GroupResource {
	if known := objkinds.Get(kind); known != nil {
		return schema.GroupResource{Group: known.Group, Resource: known.Plural}
	}
	name, group := objkinds.Split(kind)
	plural, _ := meta.UnsafeGuessKindToResource(schema.GroupVersionKind{Group: group, Kind: name})
	return plural.GroupResource()
}
