package strategy

import (
	"strings"

	"github.com/volsim/volsim/internal/core/objects"
	corev1 "k8s.io/api/core/v1"
	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// maxAnnotationBytes is the maximum size of all keys and values of the annotations of an object together (API-035).
const maxAnnotationBytes = 256 << 10

// NotStandard is the message for the name of a finalizer that lacks a domain.
const NotStandard = "name is neither a standard finalizer name nor is it fully qualified"

// StandardFinalizers need no domain.
var StandardFinalizers = []string{metav1.FinalizerOrphanDependents, metav1.FinalizerDeleteDependents, string(corev1.FinalizerKubernetes)}

// Immutable is the message for a field that must not change.
const Immutable = "field is immutable"

// ValidateGenerateName requires that generateName is a valid beginning of a name (API-033). The store validates it on create; kinds that
// upstream validates like new ones on every update validate it there too.
func ValidateGenerateName(meta *metav1.ObjectMeta) field.ErrorList {
	prefix := meta.GenerateName
	if prefix == "" || IsSubdomain(prefix) {
		return nil
	}
	return AppendInvalid(nil, MetaPath("generateName"), prefix, apivalidation.NameIsDNSSubdomain(prefix, true))
}

// LabelsValid reports whether ValidateLabels finds nothing, without allocations.
func LabelsValid(labels map[string]string) bool {
	for k, v := range labels {
		if !IsQualifiedName(k) || !IsLabelValue(v) {
			return false
		}
	}
	return true
}

// ValidateLabels names every label with a bad key or value at the path of the map, in the order of the keys.
func ValidateLabels(labels map[string]string, at *field.Path) field.ErrorList {
	var errs field.ErrorList
	// API-035: keys are qualified names, values have the syntax of labels.
	for _, k := range objects.SortedKeys(labels) {
		errs = AppendInvalid(errs, at, k, validation.IsQualifiedName(k))
		errs = AppendInvalid(errs, at, labels[k], validation.IsValidLabelValue(labels[k]))
	}
	return errs
}

// AnnotationsValid reports whether ValidateAnnotations finds nothing, without allocations.
func AnnotationsValid(annotations map[string]string) bool {
	size := 0
	for k, v := range annotations {
		size += len(k) + len(v)
		if !isQualifiedNameOfAnyCase(k) {
			return false
		}
	}
	return size <= maxAnnotationBytes
}

// ValidateAnnotations validates keys and size of annotations, in the order of the keys.
func ValidateAnnotations(annotations map[string]string, at *field.Path) field.ErrorList {
	var errs field.ErrorList
	size := 0
	// API-035: the case of an annotation's key does not matter, the size of all annotations together does.
	for _, k := range objects.SortedKeys(annotations) {
		size += len(k) + len(annotations[k])
		errs = AppendInvalid(errs, at, k, validation.IsQualifiedName(strings.ToLower(k)))
	}
	if size > maxAnnotationBytes {
		errs = append(errs, field.TooLong(at, "", maxAnnotationBytes))
	}
	return errs
}

// MetaPath is the path of a field of the metadata.
func MetaPath(child string) *field.Path { return field.NewPath("metadata", child) }

// RequireName requires that the names in the metadata of a new object that are set are the only one that it can have; otherwise says that.
func RequireName(meta *metav1.ObjectMeta, name, otherwise string) (errs field.ErrorList) {
	for _, f := range []struct{ field, value string }{{"generateName", meta.GenerateName}, {"name", meta.Name}} {
		if f.value != "" && f.value != name {
			errs = append(errs, field.Invalid(MetaPath(f.field), f.value, otherwise))
		}
	}
	return errs
}

// AppendInvalid adds one error for every message.
func AppendInvalid(errs field.ErrorList, at *field.Path, value any, messages []string) field.ErrorList {
	for _, message := range messages {
		errs = append(errs, field.Invalid(at, value, message))
	}
	return errs
}
