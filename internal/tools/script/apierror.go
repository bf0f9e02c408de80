package script

import (
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/volsim/volsim/fake"
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
func apiError(name, message string, match fake.Match) error {
	i := slices.IndexFunc(apiCodes, func(c apiCode) bool { return c.name == name })
	code := apiCodes[i]
	if message == "" {
		message = code.message
		if name == "Conflict" {
			message = fmt.Sprintf("Operation cannot be fulfilled on %s: %s", strings.TrimSpace(match.Kind+" "+match.Key), code.message)
		}
	}
	// An unreachable API server returns no Status object.
	if code.status == 0 {
		return errors.New(message)
	}
	return &apierrors.StatusError{ErrStatus: metav1.Status{Status: metav1.StatusFailure, Code: code.status,
		Reason: metav1.StatusReason(name), Message: message}}
}
