package kinds

import (
	"encoding/json"
	"strings"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	metav1validation "k8s.io/apimachinery/pkg/apis/meta/v1/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/volsim/volsim/internal/core/plain"
)

// checkPolicyStatus validates the status of a policy (API-414). Only a request for the status changes it.
func checkPolicyStatus(obj, _ *plain.Object) field.ErrorList {
	given, ok := obj.Content()["status"]
	if !ok {
		return nil
	}
	path := field.NewPath("status")
	var status admissionregistrationv1.ValidatingAdmissionPolicyStatus
	data, err := json.Marshal(given)
	if err == nil {
		err = json.Unmarshal(data, &status)
	}
	if err != nil {
		return field.ErrorList{field.Invalid(path, given, err.Error())}
	}
	var errs field.ErrorList
	if t := status.TypeChecking; t != nil {
		for i, w := range t.ExpressionWarnings {
			at := path.Child("typeChecking", "expressionWarnings").Index(i)
			if w.Warning == "" {
				errs = append(errs, field.Required(at.Child("warning"), ""))
			}
			if strings.TrimSpace(w.FieldRef) == "" {
				errs = append(errs, field.Required(at.Child("fieldRef"), ""))
			}
		}
	}
	return append(errs, metav1validation.ValidateConditions(status.Conditions, path.Child("conditions"))...)
}
