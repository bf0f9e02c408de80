package auth

import (
	"fmt"
	"slices"
	"strings"

	authorizationv1 "k8s.io/api/authorization/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	metav1validation "k8s.io/apimachinery/pkg/apis/meta/v1/validation"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// checkSelectors validates the selectors of what an access review is about (API-499). Newer clients may use operators that the server does not know.
func checkSelectors(resource *authorizationv1.ResourceAttributes) (errs field.ErrorList) {
	if resource == nil {
		return nil
	}
	if s := resource.FieldSelector; s != nil {
		path := field.NewPath("spec", "resourceAttributes", "fieldSelector")
		errs = append(errs, checkRaw(s.RawSelector, len(s.Requirements), path)...)
		for i, r := range s.Requirements {
			known := metav1validation.FieldSelectorValidationOptions{AllowUnknownOperatorInRequirement: true}
			errs = append(errs, metav1validation.ValidateFieldSelectorRequirement(r, known, path.Child("requirements").Index(i))...)
		}
	}
	if s := resource.LabelSelector; s != nil {
		path := field.NewPath("spec", "resourceAttributes", "labelSelector")
		errs = append(errs, checkRaw(s.RawSelector, len(s.Requirements), path)...)
		for i, r := range s.Requirements {
			known := metav1validation.LabelSelectorValidationOptions{AllowUnknownOperatorInRequirement: true}
			errs = append(errs, metav1validation.ValidateLabelSelectorRequirement(r, known, path.Child("requirements").Index(i))...)
		}
	}
	return errs
}

func checkRaw(raw string, requirements int, path *field.Path) field.ErrorList {
	switch {
	case raw != "" && requirements > 0:
		return field.ErrorList{field.Invalid(path.Child("rawSelector"), raw, "may not specified at the same time as requirements")}
	case raw == "" && requirements == 0:
		return field.ErrorList{field.Required(path.Child("requirements"), fmt.Sprintf("when %s is specified, requirements or rawSelector is required", path))}
	}
	return nil
}

// unreadSelectors says which selectors the server ignores, wholly or in part, because it cannot read them (API-498).
func unreadSelectors(resource *authorizationv1.ResourceAttributes) string {
	var ignored []string
	note := func(name string, read, all int) {
		switch {
		case read == all:
		case read == 0:
			ignored = append(ignored, "spec.resourceAttributes."+name+" ignored due to parse error")
		default:
			ignored = append(ignored, "spec.resourceAttributes."+name+" partially ignored due to parse error")
		}
	}
	if resource == nil {
		return ""
	}
	if s := resource.FieldSelector; s != nil {
		if _, err := fields.ParseSelector(s.RawSelector); err != nil {
			note("fieldSelector", 0, 1)
		}
		note("fieldSelector", count(s.Requirements, readsField), len(s.Requirements))
	}
	if s := resource.LabelSelector; s != nil {
		if _, err := labels.Parse(s.RawSelector); err != nil {
			note("labelSelector", 0, 1)
		}
		note("labelSelector", count(s.Requirements, readsLabel), len(s.Requirements))
	}
	return strings.Join(ignored, "; ")
}

func count[T any](list []T, is func(T) bool) (n int) {
	for _, item := range list {
		if is(item) {
			n++
		}
	}
	return n
}

// readsField reports whether a requirement is that a field has, or has not, one value.
func readsField(r metav1.FieldSelectorRequirement) bool {
	return len(r.Values) == 1 && (r.Operator == metav1.FieldSelectorOpIn || r.Operator == metav1.FieldSelectorOpNotIn)
}

func readsLabel(r metav1.LabelSelectorRequirement) bool {
	known := []metav1.LabelSelectorOperator{metav1.LabelSelectorOpIn, metav1.LabelSelectorOpNotIn, metav1.LabelSelectorOpExists, metav1.LabelSelectorOpDoesNotExist}
	if !slices.Contains(known, r.Operator) {
		return false
	}
	_, err := metav1.LabelSelectorAsSelector(&metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{r}})
	return err == nil
}
