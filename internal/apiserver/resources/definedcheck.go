package resources

import (
	"fmt"
	"maps"
	"math"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/volsim/volsim/api"
	"github.com/volsim/volsim/internal/apiserver/definition"
	"github.com/volsim/volsim/internal/core/plain"
)

// Conform drops the unknown fields of a custom object and sets its defaults. It returns an error for each unknown field, for
// fieldValidation, or one for a value that cannot be read. What an apply merges keeps the nulls that its schema forbids (API-313).
func (v *DefinedVersion) Conform(obj api.Object, keepNulls bool) (unknown []error, err error) {
	custom, ok := obj.(*plain.Object)
	if v == nil || v.Schema == nil || !ok {
		return nil, nil
	}
	if custom.Content() == nil {
		custom.SetContent(map[string]any{})
	}
	names := v.Schema.Prune(custom.Content(), "", true)
	if wrong := v.Schema.Malformed(custom.Content(), nil, false); wrong != nil {
		return nil, wrong
	}
	for _, name := range append(names, v.Schema.ReadMetadata(custom.Content())...) {
		unknown = append(unknown, fmt.Errorf("unknown field %q", name))
	}
	if !keepNulls {
		v.Schema.DropNulls(custom.Content())
	}
	v.Schema.SetDefaults(custom.Content())
	return unknown, nil
}

// Checks reports whether there is a schema to check objects with.
func (v *DefinedVersion) Checks() bool { return v != nil && v.validator != nil }

// Check returns what is wrong with an object, or with its status if sub says so. old is the stored object, nil for a new one: what was wrong before may
// stay as it is. metadata are the errors of the metadata.
func (v *DefinedVersion) Check(obj, old *plain.Object, sub api.Subresource, metadata field.ErrorList) (errs field.ErrorList, warnings []string) {
	written := obj.Copy()
	switch {
	case sub == api.Status:
		written.SetContent(withField(old.Content(), written.Content(), "status"))
	case v.status && old == nil:
		written.SetContent(withField(written.Content(), nil, "status"))
	case v.status:
		written.SetContent(withField(written.Content(), old.Content(), "status"))
	}
	errs = append(metadata, v.validate(written, sub)...)
	// API-328: duplicates are new ones if there were none before.
	duplicates := v.Schema.Duplicates(written.Content(), nil)
	if old != nil {
		errs = v.Schema.Ratcheted(errs, written.Content(), old.Content())
		if len(duplicates) > 0 && len(v.Schema.Duplicates(old.Content(), nil)) > 0 {
			duplicates = nil
		}
	}
	if sub != api.Status {
		errs = append(errs, v.Schema.CheckEmbedded(written.Content(), nil, false)...)
	}
	errs = append(append(errs, duplicates...), v.checkScale(sub, written.Content())...)
	broken, warnings := v.checkRules(written, old, errs)
	if errs = append(errs, broken...); len(errs) == 0 {
		v.Schema.DropNulls(obj.Content()) // those of an apply that were absent before (API-329)
	}
	return errs, warnings
}

// validate returns what is wrong with an object, or with its status if that is written.
func (v *DefinedVersion) validate(obj *plain.Object, sub api.Subresource) field.ErrorList {
	if sub == api.Status {
		// API-551: the status is validated by itself, so texts name the fields within it.
		if status, has := obj.Content()["status"]; has && v.statusValidator != nil {
			return definition.Violations(v.statusValidator, status, field.NewPath("status"))
		}
		return nil
	}
	document, err := plain.Unstructured(obj)
	if err != nil {
		return field.ErrorList{field.Invalid(nil, "", err.Error())}
	}
	return definition.Violations(v.validator, document.Object, nil)
}

// checkRules is definition.Rules.Check for an object; previous is nil for a new one.
func (v *DefinedVersion) checkRules(written, previous *plain.Object, errs field.ErrorList) (broken field.ErrorList, warnings []string) {
	if v.rules == nil {
		return nil, nil
	}
	document, err := plain.Unstructured(written)
	if err != nil {
		return nil, nil // see validate
	}
	var old map[string]any
	if previous != nil {
		if stored, err := plain.Unstructured(previous); err == nil {
			old = stored.Object
		}
	}
	return v.rules.Check(document.Object, old, errs)
}

// checkScale returns what is wrong with the fields that the subresource scale shows.
func (v *DefinedVersion) checkScale(sub api.Subresource, content map[string]any) field.ErrorList {
	path := v.scale.Spec
	if sub == api.Status {
		path = v.scale.Status
	}
	var errs field.ErrorList
	if selector := v.scale.Selector; sub == api.Status && len(selector) > 0 {
		if text, _, err := unstructured.NestedString(content, selector...); err != nil {
			errs = append(errs, field.Invalid(field.NewPath("."+strings.Join(selector, ".")), text, err.Error()))
		}
	}
	if len(path) == 0 {
		return errs
	}
	at := field.NewPath("." + strings.Join(path, "."))
	switch n, _, err := unstructured.NestedInt64(content, path...); {
	case err != nil:
		return append(field.ErrorList{field.Invalid(at, n, err.Error())}, errs...)
	case n < 0:
		return append(field.ErrorList{field.Invalid(at, n, "should be a non-negative integer")}, errs...)
	case n > math.MaxInt32:
		return append(field.ErrorList{field.Invalid(at, n, fmt.Sprintf("should be less than or equal to %v", math.MaxInt32))}, errs...)
	}
	return errs
}

// withField returns content with the field of other, or without it if other has none. It modifies neither.
func withField(content, other map[string]any, name string) map[string]any {
	content = maps.Clone(content)
	delete(content, name)
	if value, ok := other[name]; ok {
		if content == nil {
			content = map[string]any{}
		}
		content[name] = value
	}
	return content
}
