package store

import (
	"errors"
	"fmt"
	"net/http"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// errStale is the reason of the Conflict that a write on an old version gets (API-011).
var errStale = errors.New("the object has been modified; please apply your changes to the latest version and try again")

// errVersionOnCreate is API-017: a server error, not a validation error, with an empty reason.
var errVersionOnCreate = &apierrors.StatusError{ErrStatus: metav1.Status{
	Status:  metav1.StatusFailure,
	Code:    http.StatusInternalServerError,
	Message: "resourceVersion should not be set on objects to be created",
}}

func errUID(asked, stored types.UID) error {
	return fmt.Errorf("Precondition failed: UID in precondition: %s, UID in object meta: %s", asked, stored)
}

func errVersion(asked, stored string) error {
	return fmt.Errorf("Precondition failed: ResourceVersion in precondition: %s, ResourceVersion in object meta: %s", asked, stored)
}

// API-022
func (t *Table[T]) notFound(key string) error {
	_, name := SplitKey(key)
	return apierrors.NewNotFound(t.resource.groupResource(), name)
}

// API-023: an object on its way out still holds its name, and the message says so.
func (t *Table[T]) alreadyExists(name string, old T) error {
	err := apierrors.NewAlreadyExists(t.resource.groupResource(), name)
	if metaOf(old).DeletionTimestamp != nil {
		err.ErrStatus.Message = "object is being deleted: " + err.ErrStatus.Message
	}
	return err
}

// API-024
func (t *Table[T]) conflict(name string, why error) error {
	return apierrors.NewConflict(t.resource.groupResource(), name, why)
}

// API-012, API-026: this one error of validation goes by the resource's plural name.
func (t *Table[T]) versionMissing(name string) error {
	kind := t.resource.groupKind()
	kind.Kind = t.resource.plural
	return apierrors.NewInvalid(kind, name, field.ErrorList{
		field.Invalid(field.NewPath("metadata", "resourceVersion"), "", "must be specified for an update"),
	})
}

// API-020
func (t *Table[T]) badRequest(verb, why string) error {
	return apierrors.NewBadRequest(fmt.Sprintf("%s %s: %s", verb, t.resource.plural, why))
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

func (t *Table[T]) checkSubresource(sub Subresource) error {
	switch {
	case sub == Main:
		return nil
	case sub == Status && t.resource.status:
		return nil
	case sub == Status:
		return t.errNoStatus()
	default:
		return t.badRequest("update", fmt.Sprintf("subresource %q is unknown: it is %q or %q", sub, Main, Status))
	}
}
