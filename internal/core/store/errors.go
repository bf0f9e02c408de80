package store

import (
	"fmt"
	"net/http"

	"github.com/volsim/volsim/api"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// serverError is what the API server makes of an error that it did not foresee: code 500 with an empty reason.
func serverError(message string) error {
	return &apierrors.StatusError{ErrStatus: metav1.Status{
		Status:  metav1.StatusFailure,
		Code:    http.StatusInternalServerError,
		Message: message,
	}}
}

// errVersionOnCreate is API-017: a server error, not a validation error.
func errVersionOnCreate() error {
	return serverError("resourceVersion should not be set on objects to be created")
}

// API-022
func (t *Table[T]) notFound(key string) error {
	_, name := api.SplitKey(key)
	return apierrors.NewNotFound(t.resource.groupResource(), name)
}

// API-023, API-057: an object on its way out still holds its name, and the message says so.
func (t *Table[T]) alreadyExists(meta *metav1.ObjectMeta, old T) error {
	err := apierrors.NewAlreadyExists(t.resource.groupResource(), meta.Name)
	// API-008: where a name could have been generated, the message is about that, even if one was given.
	if meta.GenerateName != "" {
		err = apierrors.NewGenerateNameConflict(t.resource.groupResource(), meta.Name, 1)
	}
	if metaOf(old).DeletionTimestamp != nil {
		err.ErrStatus.Message = "object is being deleted: " + err.ErrStatus.Message
	}
	return err
}

// API-012, API-026: this one error of validation goes by the resource's plural name.
func (t *Table[T]) versionMissing(name string) error {
	kind := t.resource.groupKind()
	kind.Kind = t.resource.plural
	return apierrors.NewInvalid(kind, name, field.ErrorList{
		field.Invalid(field.NewPath("metadata", "resourceVersion"), 0, "must be specified for an update"),
	})
}

// API-020
func (t *Table[T]) badRequest(verb, why string) error {
	return apierrors.NewBadRequest(fmt.Sprintf("%s %s: %s", verb, t.resource.plural, why))
}

// API-020: the name in the body and the name that the request is about; an empty one counts as another.
func errOtherName(body, name string) error {
	if body == "" {
		return apierrors.NewBadRequest(fmt.Sprintf("the name of the object (%s based on URL) was undeterminable: name must be provided", name))
	}
	return apierrors.NewBadRequest(fmt.Sprintf("the name of the object (%s) does not match the name on the URL (%s)", body, name))
}

// API-020, API-009
func errOtherNamespace() error {
	return apierrors.NewBadRequest("the namespace of the provided object does not match the namespace sent on the request")
}

// newInvalid is API-025 and API-027: one 422 for all entries, which stay separate in details.causes.
func newInvalid(r resource, name string, errs field.ErrorList) error {
	return apierrors.NewInvalid(r.groupKind(), name, errs)
}

// forbidden is API-021: a refusal by admission.
func forbidden(r resource, name string, why error) error {
	return apierrors.NewForbidden(r.groupResource(), name, why)
}

// errNoStatus is what a write to a status that the kind does not have gets.
func (t *Table[T]) errNoStatus() error {
	return apierrors.NewGenericServerResponse(http.StatusNotFound, "put", t.resource.groupResource(), "status",
		"the server could not find the requested resource: "+t.resource.plural+" have no status subresource", 0, true)
}

func (t *Table[T]) checkSubresource(sub api.Subresource) error {
	switch {
	case sub == api.Main:
		return nil
	case sub == api.Status && t.resource.status:
		return nil
	case sub == api.Status:
		return t.errNoStatus()
	default:
		return t.badRequest("update", fmt.Sprintf("subresource %q is unknown: it is %q or %q", sub, api.Main, api.Status))
	}
}
