package store

import (
	"strings"

	"github.com/volsim/volsim/internal/core/objects"
	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// maxAnnotationBytes is the maximum size of all keys and values of the annotations of an object together (API-035).
const maxAnnotationBytes = 256 << 10

const immutable = "field is immutable"

// validateGenerateName requires that generateName is a valid beginning of a name (API-033). The table validates it on create; kinds that
// upstream validates like new ones on every update validate it there too.
func validateGenerateName(meta *metav1.ObjectMeta) field.ErrorList {
	prefix := meta.GenerateName
	if prefix == "" || IsSubdomain(prefix) {
		return nil
	}
	return appendInvalid(nil, metaPath("generateName"), prefix, apivalidation.NameIsDNSSubdomain(prefix, true))
}

func labelsValid(labels map[string]string) bool {
	for k, v := range labels {
		if !isQualifiedName(k) || !isLabelValue(v) {
			return false
		}
	}
	return true
}

// validateLabels names every label with a bad key or value at the path of the map, in the order of the keys.
func validateLabels(labels map[string]string, at *field.Path) field.ErrorList {
	var errs field.ErrorList
	// API-035: keys are qualified names, values have the syntax of labels.
	for _, k := range objects.SortedKeys(labels) {
		errs = appendInvalid(errs, at, k, validation.IsQualifiedName(k))
		errs = appendInvalid(errs, at, labels[k], validation.IsValidLabelValue(labels[k]))
	}
	return errs
}

func annotationsValid(annotations map[string]string) bool {
	size := 0
	for k, v := range annotations {
		size += len(k) + len(v)
		if !isQualifiedNameOfAnyCase(k) {
			return false
		}
	}
	return size <= maxAnnotationBytes
}

func validateAnnotations(annotations map[string]string, at *field.Path) field.ErrorList {
	var errs field.ErrorList
	size := 0
	// API-035: the case of an annotation's key does not matter, the size of all annotations together does.
	for _, k := range objects.SortedKeys(annotations) {
		size += len(k) + len(annotations[k])
		errs = appendInvalid(errs, at, k, validation.IsQualifiedName(strings.ToLower(k)))
	}
	if size > maxAnnotationBytes {
		errs = append(errs, field.TooLong(at, "", maxAnnotationBytes))
	}
	return errs
}

func metaPath(child string) *field.Path { return field.NewPath("metadata", child) }

// appendInvalid adds one error for every message.
func appendInvalid(errs field.ErrorList, at *field.Path, value any, messages []string) field.ErrorList {
	for _, message := range messages {
		errs = append(errs, field.Invalid(at, value, message))
	}
	return errs
}
