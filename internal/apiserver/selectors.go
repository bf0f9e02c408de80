package apiserver

import (
	"fmt"
	"slices"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/volsim/volsim/api"
	"github.com/volsim/volsim/internal/core/plain"
)

// selector selects objects of one resource by namespace, labels and fields.
type selector struct {
	resource  *resource
	namespace string // "" is all
	labels    labels.Selector
	fields    fields.Selector
	// custom are the paths of the fields that the definition of a custom kind makes selectable.
	custom []string
}

// newSelector returns the selector of a list, a watch or a deletecollection. A field that the kind does not have is a BadRequest.
func newSelector(r *request) (selector, error) {
	s := selector{resource: r.resource, namespace: r.namespace, labels: labels.Everything(), fields: fields.Everything(), custom: r.selectable}
	if r.list.LabelSelector != nil {
		s.labels = r.list.LabelSelector
	}
	if r.list.FieldSelector != nil {
		var err error
		if s.fields, err = r.list.FieldSelector.Transform(s.fieldLabel); err != nil {
			return selector{}, apierrors.NewBadRequest(err.Error())
		}
	}
	// A watch of one object has its name in the path.
	if r.name != "" {
		if s.fields.Empty() {
			s.fields = fields.OneTermEqualSelector("metadata.name", r.name)
		} else if name, ok := s.fields.RequiresExactMatch("metadata.name"); !ok || name != r.name {
			return selector{}, apierrors.NewBadRequest("fieldSelector metadata.name doesn't match requested name")
		}
	}
	return s, nil
}

// fieldLabel checks the name of a field in a selector, and returns the one under which its value is found.
func (s selector) fieldLabel(label, value string) (string, string, error) {
	if !s.resource.custom {
		return s.resource.fieldLabel(label, value)
	}
	// API-346: the definition says which fields may be selected.
	if label != "metadata.name" && (label != "metadata.namespace" || !s.resource.namespaced) && !slices.Contains(s.custom, label) {
		return "", "", fmt.Errorf("field label not supported: %s", label)
	}
	return label, value, nil
}

// fieldLabel is that of a selector of a kind that Kubernetes serves.
func (r *resource) fieldLabel(label, value string) (string, string, error) {
	if label == "metadata.name" || label == "metadata.namespace" && (r.namespaced || r.selectable == nil) {
		return label, value, nil
	}
	if r.selectable == nil {
		return "", "", fmt.Errorf("%q is not a known field selector: only %q, %q", label, "metadata.name", "metadata.namespace")
	}
	// Old clients use another name of the field.
	if r.kind == api.Pod && label == "spec.host" {
		label = "spec.nodeName"
	}
	if _, ok := r.selectable(r.empty())[label]; !ok && r.kind == "Job.batch" {
		return "", "", fmt.Errorf("field label %q not supported for Job", label)
	} else if !ok {
		return "", "", fmt.Errorf("field label not supported: %s", label)
	}
	return label, value, nil
}

// matches reports whether the request selects the object.
func (s selector) matches(obj api.Object) bool {
	if s.namespace != "" && obj.GetNamespace() != s.namespace {
		return false
	}
	if !s.labels.Matches(labels.Set(obj.GetLabels())) {
		return false
	}
	return s.fields.Empty() || s.fields.Matches(s.fieldsOf(obj))
}

// fieldsOf returns the values of the fields that the selector may name.
func (s selector) fieldsOf(obj api.Object) fields.Set {
	set := s.resource.fieldsOf(obj)
	custom, ok := obj.(*plain.Object)
	if !ok {
		return set
	}
	for _, path := range s.custom {
		set[path] = ""
		if value, found, err := unstructured.NestedFieldNoCopy(custom.Content(), strings.Split(path, ".")...); err == nil && found && value != nil {
			set[path] = fmt.Sprint(value)
		}
	}
	return set
}

// fieldsOf returns the values of the fields that a selector of any object of the resource may name.
func (r *resource) fieldsOf(obj api.Object) fields.Set {
	set := fields.Set{}
	if r.selectable != nil {
		set = r.selectable(obj)
	}
	set["metadata.name"] = obj.GetName()
	if r.namespaced {
		set["metadata.namespace"] = obj.GetNamespace()
	}
	return set
}
