package store

import (
	"fmt"
	"net/http"
	"strconv"

	"github.com/volsim/volsim/api"
	"github.com/volsim/volsim/internal/core/objects"
	"github.com/volsim/volsim/internal/core/strategy"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// serverError returns the response of the API server to an error that it does not expect: code 500 with an empty reason.
func serverError(message string) error {
	return &apierrors.StatusError{ErrStatus: metav1.Status{
		Status:  metav1.StatusFailure,
		Code:    http.StatusInternalServerError,
		Message: message,
	}}
}

// errVersionOnCreate returns the error for a new object with a resourceVersion: a server error, not Invalid (API-017).
func errVersionOnCreate() error {
	return serverError("resourceVersion should not be set on objects to be created")
}

// notFound returns the error for an object that does not exist (API-022).
func (t *table[T]) notFound(key string) error {
	_, name := objects.SplitKey(key)
	return newNotFound(t.resource.groupResource(), name)
}

// newNotFound is apierrors.NewNotFound without formatting: each detachment causes such an error.
func newNotFound(resource schema.GroupResource, name string) *apierrors.StatusError {
	var room [128]byte
	text := append(room[:0], resource.Resource...)
	if resource.Group != "" {
		text = append(append(text, '.'), resource.Group...)
	}
	if text = append(text, ' '); strategy.IsSubdomain(name) {
		text = append(append(append(text, '"'), name...), '"') // most names, without looking at each rune
	} else {
		text = strconv.AppendQuote(text, name)
	}
	text = append(text, " not found"...)
	memory := &struct {
		apierrors.StatusError
		details metav1.StatusDetails
	}{details: metav1.StatusDetails{Group: resource.Group, Kind: resource.Resource, Name: name}}
	memory.ErrStatus = metav1.Status{
		Status: metav1.StatusFailure, Code: http.StatusNotFound, Reason: metav1.StatusReasonNotFound, Details: &memory.details,
		Message: string(text),
	}
	return &memory.StatusError
}

// alreadyExists returns the error for a name that is taken (API-023). An object that is being deleted still occupies its name, and the
// message says so (API-057).
func (t *table[T]) alreadyExists(meta *metav1.ObjectMeta, old T) error {
	err := apierrors.NewAlreadyExists(t.resource.groupResource(), meta.Name)
	// API-008: with a generateName the message is that of a generated name, even if the object has a name.
	if meta.GenerateName != "" {
		err = apierrors.NewGenerateNameConflict(t.resource.groupResource(), meta.Name, 1)
	}
	if metaOf(old).DeletionTimestamp != nil {
		err.ErrStatus.Message = "object is being deleted: " + err.ErrStatus.Message
	}
	return err
}

// versionMissing returns the error for an update that must name a version (API-012). It is the one error of validation that names the
// resource instead of the kind (API-026).
func (t *table[T]) versionMissing(name string) error {
	kind := t.resource.groupKind()
	kind.Kind = t.resource.plural
	return apierrors.NewInvalid(kind, name, field.ErrorList{
		field.Invalid(field.NewPath("metadata", "resourceVersion"), 0, "must be specified for an update"),
	})
}

// badRequest returns the error for a request that makes no sense (API-020).
func (t *table[T]) badRequest(verb, why string) error {
	return apierrors.NewBadRequest(fmt.Sprintf("%s %s: %s", verb, t.resource.plural, why))
}

// errOtherName returns the error for a body whose name is missing, or differs from that in the path of the request (API-020).
func errOtherName(body, name string) error {
	if body == "" {
		return apierrors.NewBadRequest(fmt.Sprintf("the name of the object (%s based on URL) was undeterminable: name must be provided", name))
	}
	return apierrors.NewBadRequest(fmt.Sprintf("the name of the object (%s) does not match the name on the URL (%s)", body, name))
}

// errOtherNamespace returns the error for a body whose namespace differs from that in the path of the request (API-020, API-009).
func errOtherNamespace() error {
	return apierrors.NewBadRequest("the namespace of the provided object does not match the namespace sent on the request")
}

// newInvalid returns one error 422 for all entries, which are listed one by one in details.causes (API-025, API-027).
func newInvalid(r resource, name string, errs field.ErrorList) error {
	return apierrors.NewInvalid(r.groupKind(), name, errs)
}

// forbidden returns the error for a request that admission rejects (API-021).
func forbidden(r resource, name string, why error) error {
	return apierrors.NewForbidden(r.groupResource(), name, why)
}

// errNoStatus returns the error for a write to the status of a kind that has no status subresource.
func (t *table[T]) errNoStatus() error {
	return apierrors.NewGenericServerResponse(http.StatusNotFound, "put", t.resource.groupResource(), "status",
		"the server could not find the requested resource: "+t.resource.plural+" have no status subresource", 0, true)
}

func (t *table[T]) checkSubresource(sub api.Subresource) error {
	switch {
	case sub == api.Main:
		return nil
	case sub == api.Status && t.resource.status:
		return nil
	case sub == api.Status:
		return t.errNoStatus()
	case t.strategy.Parts[sub].Prepare != nil:
		return nil
	default:
		return t.badRequest("update", fmt.Sprintf("subresource %q is unknown: it is %q or %q", sub, api.Main, api.Status))
	}
}
