package store

import (
	"reflect"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/volsim/volsim/internal/core/plain"
	"github.com/volsim/volsim/internal/core/strategy"
)

// validateSecretUpdate forbids what an update of a Secret cannot change: its type, and its data if it is immutable (API-312).
func validateSecretUpdate(obj, old *plain.Object) field.ErrorList {
	errs := field.ErrorList{}
	// API-312: the keys that a Secret must have follow from its type.
	if !reflect.DeepEqual(obj.Content()["type"], old.Content()["type"]) {
		errs = append(errs, field.Invalid(field.NewPath("type"), obj.Content()["type"], "field is immutable"))
	}
	return append(errs, validateFrozen(obj, old)...)
}

// validateFrozen forbids changes of the data of a ConfigMap or a Secret that is immutable (API-312).
func validateFrozen(obj, old *plain.Object) field.ErrorList {
	errs := strategy.ValidateGenerateName(&obj.ObjectMeta)
	if frozen, _ := old.Field("immutable").(bool); !frozen {
		return errs
	}
	const why = "field is immutable when `immutable` is set"
	// API-312: kubelets do not watch immutable objects.
	if still, _ := obj.Content()["immutable"].(bool); !still {
		errs = append(errs, field.Forbidden(field.NewPath("immutable"), why))
	}
	for _, name := range []string{"data", "binaryData"} {
		before, _ := old.Content()[name].(map[string]any)
		after, _ := obj.Content()[name].(map[string]any)
		if len(before)+len(after) > 0 && !reflect.DeepEqual(before, after) {
			errs = append(errs, field.Forbidden(field.NewPath(name), why))
		}
	}
	return errs
}
