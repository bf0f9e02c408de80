package definition

import (
	"encoding/json"
	"fmt"
	"net/url"
	"reflect"
	"slices"
	"strings"

	apiextensions "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/volsim/volsim/internal/core/plain"
	"github.com/volsim/volsim/internal/core/store"
)

// Validation of CustomResourceDefinitions: what the store does not know about, which is everything but the names of the kind and its versions.

// definition is a CustomResourceDefinition as it is validated: what all versions have in common is in the fields of the definition, and not in the
// versions.
type definition struct {
	spec         apiextensions.CustomResourceDefinitionSpec
	validation   *apiextensions.CustomResourceValidation
	subresources *apiextensions.CustomResourceSubresources
	columns      []apiextensions.CustomResourceColumnDefinition
	selectable   []apiextensions.SelectableField
}

// readDefinition returns the definition in an object.
func readDefinition(obj *plain.Object) (*definition, error) {
	d := &definition{}
	data, err := json.Marshal(obj.Content()["spec"])
	if err == nil {
		err = DecodeNumbers(data, &d.spec)
	}
	if err != nil || len(d.spec.Versions) == 0 {
		return d, err
	}
	versions := d.spec.Versions
	// API-337: errors about what all versions share name it once.
	d.validation = shared(versions, func(v *definedVersion) **apiextensions.CustomResourceValidation { return &v.Schema })
	d.subresources = shared(versions, func(v *definedVersion) **apiextensions.CustomResourceSubresources { return &v.Subresources })
	d.columns = shared(versions, func(v *definedVersion) *[]apiextensions.CustomResourceColumnDefinition {
		return &v.AdditionalPrinterColumns
	})
	d.selectable = shared(versions, func(v *definedVersion) *[]apiextensions.SelectableField { return &v.SelectableFields })
	return d, nil
}

type definedVersion = apiextensions.CustomResourceDefinitionVersion

// shared returns the value of a field that all versions share, and clears it in them. It returns the zero value if they differ.
func shared[T any](versions []definedVersion, of func(*definedVersion) *T) T {
	var none T
	value := *of(&versions[0])
	for i := range versions {
		if !reflect.DeepEqual(*of(&versions[i]), value) {
			return none
		}
	}
	for i := range versions {
		*of(&versions[i]) = none
	}
	return value
}

// schemaOf returns the schema of a version, nil if there is none.
func (d *definition) schemaOf(v *definedVersion) *apiextensions.JSONSchemaProps {
	for _, given := range []*apiextensions.CustomResourceValidation{d.validation, v.Schema} {
		if given != nil && given.OpenAPIV3Schema != nil {
			return given.OpenAPIV3Schema
		}
	}
	return nil
}

// Validate returns what is wrong with a CustomResourceDefinition; old is nil for a new one.
func Validate(obj, old *plain.Object) store.DefinitionErrors {
	spec, was := field.NewPath("spec"), (*definition)(nil)
	d, err := readDefinition(obj)
	if err != nil {
		return store.DefinitionErrors{Missing: field.ErrorList{field.Invalid(spec, "", err.Error())}}
	}
	if old != nil {
		was, _ = readDefinition(old) // an empty one if it cannot be read
	}
	result := store.DefinitionErrors{Missing: d.missingSchemas(was, spec), Shown: shownVersions(d.spec.Versions)}
	anyStatus := hasStatus(d.subresources)
	for i := range d.spec.Versions {
		v, path := &d.spec.Versions[i], spec.Child("versions").Index(i)
		anyStatus = anyStatus || hasStatus(v.Subresources)
		errs := checkDeprecation(v, path.Child("deprecationWarning"))
		errs = append(errs, checkVersionSchema(v.Schema, hasStatus(d.subresources) || hasStatus(v.Subresources), d.compiler(v, was), path.Child("schema"))...)
		errs = append(errs, checkSubresources(v.Subresources, path.Child("subresources"))...)
		errs = append(errs, checkColumns(v.AdditionalPrinterColumns, path.Child("additionalPrinterColumns"))...)
		result.Versions = append(result.Versions, append(errs, d.checkSelectable(v, path.Child("selectableFields"))...))
	}
	if len(d.spec.Versions) > 0 {
		result.Shared = checkVersionSchema(d.validation, anyStatus, d.compiler(&d.spec.Versions[0], was), spec.Child("validation"))
	}
	result.Shared = append(result.Shared, checkSubresources(d.subresources, spec.Child("subresources"))...)
	result.Shared = append(result.Shared, checkColumns(d.columns, spec.Child("additionalPrinterColumns"))...)
	result.Shared = append(result.Shared, d.checkSharedSelectable(spec.Child("selectableFields"))...)
	if c := d.spec.Conversion; c != nil && c.Strategy != apiextensions.NoneConverter && d.spec.PreserveUnknownFields {
		result.Shared = append(result.Shared, field.Invalid(spec.Child("conversion", "strategy"), c.Strategy, "must be None if spec.preserveUnknownFields is true"))
	}
	result.Shared = append(result.Shared, checkConversion(d.spec.Conversion, spec.Child("conversion"))...)
	result.Last = checkApproval(obj, old, d.spec.Group)
	if d.spec.PreserveUnknownFields && (was == nil || !was.spec.PreserveUnknownFields) {
		// API-342: only definitions that already have it may keep it.
		result.Last = append(result.Last, field.Invalid(spec.Child("preserveUnknownFields"), true,
			"cannot set to true, set x-kubernetes-preserve-unknown-fields to true in spec.versions[*].schema instead"))
	}
	return result
}

// missingSchemas requires a schema for each version (API-337).
func (d *definition) missingSchemas(was *definition, spec *field.Path) field.ErrorList {
	detail, all := "", true
	if was != nil {
		for i := range was.spec.Versions {
			all = all && was.schemaOf(&was.spec.Versions[i]) != nil
		}
	}
	if !all {
		// API-337: a definition that was stored without schemas may stay so, apart from what it serves.
		detail = "because otherwise all fields are pruned"
	}
	var errs field.ErrorList
	for i := range d.spec.Versions {
		if v := &d.spec.Versions[i]; d.schemaOf(v) == nil && (all || v.Served) {
			errs = append(errs, field.Required(spec.Child("versions").Index(i).Child("schema", "openAPIV3Schema"), detail))
		}
	}
	if d.defaultsForbidden() {
		errs = append(errs, field.Invalid(spec.Child("preserveUnknownFields"), true, "must be false in order to use defaults in the schema"))
	}
	return errs
}

// defaultsForbidden reports that a schema has defaults although unknown fields are kept.
func (d *definition) defaultsForbidden() bool {
	return d.spec.PreserveUnknownFields && slices.ContainsFunc(d.spec.Versions, func(v definedVersion) bool {
		found := false
		visitSchemas(d.schemaOf(&v), func(s *apiextensions.JSONSchemaProps) { found = found || s.Default != nil })
		return found
	})
}

func hasStatus(s *apiextensions.CustomResourceSubresources) bool { return s != nil && s.Status != nil }

const annotationApproved = "api-approved.kubernetes.io"

// checkApproval requires that groups of Kubernetes say who approved the kind (API-343).
func checkApproval(obj, old *plain.Object, group string) field.ErrorList {
	protected := slices.ContainsFunc([]string{"k8s.io", "kubernetes.io"}, func(domain string) bool {
		return group == domain || strings.HasSuffix(group, "."+domain)
	})
	given := obj.Annotations[annotationApproved]
	state := approval(given)
	if !protected || state == approved || state == unapproved || old != nil && approval(old.Annotations[annotationApproved]) == state {
		return nil
	}
	const see = ", see https://github.com/kubernetes/enhancements/pull/1111"
	path, detail := field.NewPath("metadata", "annotations").Key(annotationApproved), fmt.Sprintf("protected groups must have approval annotation %q", annotationApproved)
	if state == approvalMissing {
		return field.ErrorList{field.Required(path, detail+see)}
	}
	return field.ErrorList{field.Invalid(path, given, detail+` with either a URL or a reason starting with "unapproved"`+see)}
}

type approvalState int

const (
	approvalMissing approvalState = iota
	approved
	unapproved
	approvalInvalid
)

func approval(text string) approvalState {
	u, err := url.ParseRequestURI(text)
	switch {
	case text == "":
		return approvalMissing
	case strings.HasPrefix(text, "unapproved"):
		return unapproved
	case err == nil && u.Host != "" && u.Scheme != "":
		return approved
	}
	return approvalInvalid
}
