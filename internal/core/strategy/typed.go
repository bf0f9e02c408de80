package strategy

import (
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/volsim/volsim/api"
	"github.com/volsim/volsim/internal/core/plain"
)

// typedRules are the rules of a kind whose objects are stored as data and have a Go type of k8s.io/api.
type typedRules[T api.Object] struct {
	defaults func(obj T)
	// drop removes the fields of features that are off. They remain in managedFields, because the server knows the owners of fields before.
	drop           func(obj T)
	validate       func(obj T) field.ErrorList
	validateUpdate func(obj, old T) field.ErrorList
	// loadedAny: an object that is loaded is not validated, because no controller acts on it.
	loadedAny bool
	// updateFirst puts the errors of validateUpdate before those of validate. wholeUpdate says that validateUpdate does not need validate.
	updateFirst, wholeUpdate bool
}

// Add adds the rules to a strategy. Objects are converted for them, and normalized to the fields of T.
func (r typedRules[T]) Add(s Of[*plain.Object]) Of[*plain.Object] {
	complete := func(obj *plain.Object) {
		typed, err := plain.As[T](obj)
		if err != nil {
			return // validation reports it
		}
		r.defaults(typed)
		obj.SetSource(typed)
		obj.Labels = typed.GetLabels()
	}
	s.Defaults = complete
	if prepare := s.PrepareCreate; prepare != nil {
		s.PrepareCreate = func(obj *plain.Object, now metav1.Time) {
			prepare(obj, now)
			complete(obj)
			r.dropFrom(obj)
		}
	}
	if prepare := s.PrepareUpdate; prepare != nil {
		s.PrepareUpdate = func(obj, old *plain.Object) {
			prepare(obj, old)
			r.dropFrom(obj)
		}
	}
	s.ValidateCreate = func(obj *plain.Object) field.ErrorList {
		typed, err := plain.As[T](obj)
		if err != nil {
			return field.ErrorList{field.Invalid(field.NewPath("spec"), obj.Content()["spec"], err.Error())}
		}
		return r.validate(typed)
	}
	if !r.loadedAny {
		s.ValidateLoad = func(obj *plain.Object) field.ErrorList { return withoutTemplate(s.ValidateUpdate(obj, obj)) }
	}
	s.ValidateUpdate = func(obj, old *plain.Object) field.ErrorList {
		errs := s.ValidateCreate(obj)
		typed, err := plain.As[T](obj)
		if err != nil {
			return errs
		}
		before, err := plain.As[T](old)
		if err != nil {
			return errs
		}
		if r.wholeUpdate {
			return r.validateUpdate(typed, before)
		}
		if r.updateFirst {
			return append(r.validateUpdate(typed, before), errs...)
		}
		return append(errs, r.validateUpdate(typed, before)...)
	}
	return s
}

// dropFrom removes the fields of features that are off from an object.
func (r typedRules[T]) dropFrom(obj *plain.Object) {
	if r.drop == nil {
		return
	}
	typed, err := plain.As[T](obj)
	if err != nil {
		return // validation reports it
	}
	r.drop(typed)
	obj.SetSource(typed)
}

// withoutTemplate omits errors about the pods of a template. A dump may lack parts of them, for example the environment of a container.
func withoutTemplate(errs field.ErrorList) field.ErrorList {
	return slices.DeleteFunc(errs, func(err *field.Error) bool { return strings.Contains(err.Field, "template.spec.") })
}
