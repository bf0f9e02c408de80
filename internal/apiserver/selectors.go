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
	"github.com/volsim/volsim/internal/apiserver/resources"
	"github.com/volsim/volsim/internal/core/plain"
)

// selector selects objects of one resource by namespace, labels and fields.
type selector struct {
	resource  *resources.Resource
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
	if !s.resource.Custom {
		return s.resource.FieldLabel(label, value)
	}
	// API-346: the definition says which fields may be selected.
	if label != "metadata.name" && (label != "metadata.namespace" || !s.resource.Namespaced) && !slices.Contains(s.custom, label) {
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
	set := s.resource.FieldsOf(obj)
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
