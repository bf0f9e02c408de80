package kinds

import (
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/volsim/volsim/api"
	"github.com/volsim/volsim/internal/core/plain"
)

// typedDefault passes an object to set in its Go type, and takes over what that changes.
func typedDefault[T api.Object](obj *plain.Object, set func(T)) {
	typed, err := plain.As[T](obj)
	if err != nil {
		return // validation reports it
	}
	typed = typed.DeepCopyObject().(T)
	set(typed)
	obj.SetSource(typed)
}

// typedCheck passes objects to check in their Go type.
func typedCheck[T api.Object](check func(T) field.ErrorList) func(obj, old *plain.Object) field.ErrorList {
	return func(obj, _ *plain.Object) field.ErrorList {
		typed, err := plain.As[T](obj)
		if err != nil {
			return field.ErrorList{field.Invalid(nil, nil, err.Error())}
		}
		return check(typed)
	}
}

// typedWarn passes objects to warn in their Go type.
func typedWarn[T api.Object](warn func(obj, old T) []string) func(obj, old *plain.Object) []string {
	return func(obj, old *plain.Object) []string {
		typed, err := plain.As[T](obj)
		if err != nil {
			return nil // it is not valid
		}
		var before T
		if old != nil {
			before = plain.Shared[T](old)
		}
		return warn(typed, before)
	}
}
