package store

import (
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/volsim/volsim/api"
	"github.com/volsim/volsim/internal/core/plain"
	"github.com/volsim/volsim/internal/core/strategy"
)

// DefinitionErrors are what is wrong with a CustomResourceDefinition apart from the names of its kind and of its versions, by where the API server
// lists it.
type DefinitionErrors struct {
	// Missing comes before what is wrong with the versions. Versions has a list for each of them, after what is wrong with its name.
	Missing  field.ErrorList
	Versions []field.ErrorList
	// Shared comes after the names of the kind, Last at the end.
	Shared, Last field.ErrorList
	// Shown are the versions as errors show them; nil if none was looked at.
	Shown any
}

// DefinitionRules are rules of CustomResourceDefinitions in addition to API-305; old is nil for a new one.
type DefinitionRules struct {
	// Check returns what is wrong with a definition, Warn the warnings about a valid one.
	Check func(obj, old *plain.Object) DefinitionErrors
	Warn  func(obj, old *plain.Object) []string
}

// UseDefinitionRules adds the rules. Without them schemas, columns, and all else that does not name a kind may be anything.
func (s *Store) UseDefinitionRules(rules DefinitionRules) { s.others.definitions = rules }

// warnOfDefinition reports the warnings about a valid CustomResourceDefinition; old is nil for a new one.
func (s *Store) warnOfDefinition(obj, old api.Object) {
	o, ok := obj.(*plain.Object)
	if !ok || s.others.definitions.Warn == nil {
		return
	}
	was, _ := old.(*plain.Object)
	for _, text := range s.others.definitions.Warn(o, was) {
		s.warned.warn(text)
	}
}

// validateDefinitionName requires that a name of a definition, if it is set, is the only one that it can have (API-305).
func validateDefinitionName(obj *plain.Object) field.ErrorList {
	names := readDefinition(obj).Spec
	return strategy.RequireName(&obj.ObjectMeta, names.Names.Plural+"."+names.Group, `must be spec.names.plural+"."+spec.group`)
}

// validateDefinition validates the fields of a CustomResourceDefinition that define its kind (API-305), and those that others know about. old is nil
// for a new one.
func (s *Store) validateDefinition(obj, old *plain.Object) field.ErrorList {
	d, spec := readDefinition(obj), field.NewPath("spec")
	others := DefinitionErrors{Shown: d.shownVersions()}
	if check := s.others.definitions.Check; check != nil {
		others = check(obj, old)
	}
	var errs field.ErrorList
	switch {
	case d.Spec.Group == "":
		errs = append(errs, field.Required(spec.Child("group"), ""))
	case !strategy.IsSubdomain(d.Spec.Group):
		errs = append(errs, field.Invalid(spec.Child("group"), d.Spec.Group, strings.Join(validation.IsDNS1123Subdomain(d.Spec.Group), ",")))
	case !strings.Contains(d.Spec.Group, "."):
		errs = append(errs, field.Invalid(spec.Child("group"), d.Spec.Group, "should be a domain with at least one dot"))
	}
	scopes := []string{"Cluster", "Namespaced"}
	switch {
	case d.Spec.Scope == "":
		errs = append(errs, field.Required(spec.Child("scope"), ""))
	case !slices.Contains(scopes, d.Spec.Scope):
		errs = append(errs, field.NotSupported(spec.Child("scope"), d.Spec.Scope, scopes))
	}
	errs = append(errs, others.Missing...)
	storage, names := 0, map[string]bool{}
	for i, v := range d.Spec.Versions {
		if v.Storage {
			storage++
		}
		names[v.Name] = true
		errs = appendLabel(errs, spec.Child("versions").Index(i).Child("name"), v.Name, v.Name, "")
		if i < len(others.Versions) {
			errs = append(errs, others.Versions[i]...)
		}
	}
	if len(names) != len(d.Spec.Versions) {
		errs = append(errs, field.Invalid(spec.Child("versions"), others.Shown, "must contain unique version names"))
	}
	if storage != 1 {
		errs = append(errs, field.Invalid(spec.Child("versions"), others.Shown, "must have exactly one version marked as storage version"))
	}
	if len(d.Spec.Versions) > 0 && d.Spec.Versions[0].Name != "" {
		// API-305: Kubernetes keeps the name of the first version in a field of its own, too.
		errs = appendLabel(errs, spec.Child("version"), d.Spec.Versions[0].Name, d.Spec.Versions[0].Name, "")
	}
	errs = append(errs, d.Spec.Names.validate(spec.Child("names"))...)
	errs = append(errs, others.Shared...)
	if old != nil {
		errs = append(errs, validateDefinitionUpdate(d, old)...)
	}
	errs = append(errs, validateStoredVersions(obj, d, names)...)
	return append(errs, others.Last...)
}

// validate validates the names of a kind (API-305).
func (n definitionNames) validate(path *field.Path) field.ErrorList {
	errs := strategy.Required(path, "plural", n.Plural, "singular", n.Singular, "kind", n.Kind, "listKind", n.ListKind)
	const mixed = "may have mixed case, but should otherwise match: "
	if n.Plural != "" {
		errs = appendLabel(errs, path.Child("plural"), n.Plural, n.Plural, "")
	}
	if n.Singular != "" {
		errs = appendLabel(errs, path.Child("singular"), n.Singular, n.Singular, "")
	}
	if n.Kind != "" {
		errs = appendLabel(errs, path.Child("kind"), n.Kind, strings.ToLower(n.Kind), mixed)
	}
	if n.ListKind != "" {
		errs = appendLabel(errs, path.Child("listKind"), n.ListKind, strings.ToLower(n.ListKind), mixed)
	}
	for i, name := range n.ShortNames {
		errs = appendLabel(errs, path.Child("shortNames").Index(i), name, name, "")
	}
	if n.Kind != "" && n.Kind == n.ListKind {
		// API-305: the kind of a list has another name than that of an object.
		errs = append(errs, field.Invalid(path.Child("listKind"), n.ListKind, "kind and listKind may not be the same"))
	}
	for i, name := range n.Categories {
		errs = appendLabel(errs, path.Child("categories").Index(i), name, name, "")
	}
	return errs
}

// appendLabel adds one error, which begins with prefix, if label is no DNS-1035 label. It shows name.
func appendLabel(errs field.ErrorList, at *field.Path, name, label, prefix string) field.ErrorList {
	if wrong := validation.IsDNS1035Label(label); len(wrong) > 0 {
		return append(errs, field.Invalid(at, name, prefix+strings.Join(wrong, ",")))
	}
	return errs
}

// validateStoredVersions requires that no version goes in which objects may be stored (API-334).
func validateStoredVersions(obj *plain.Object, d definition, names map[string]bool) field.ErrorList {
	var errs field.ErrorList
	path := field.NewPath("status", "storedVersions")
	stored := readDefinitionStatus(obj).Status.StoredVersions
	left := slices.Clone(stored)
	for _, v := range d.Spec.Versions {
		// API-334: the second of two versions with one name is not found.
		at := slices.Index(left, v.Name)
		if v.Storage && at < 0 && len(stored) > 0 {
			errs = append(errs, field.Invalid(path, stored, "must have the storage version "+v.Name))
		}
		if at >= 0 {
			left = slices.Delete(left, at, at+1)
		}
	}
	for i, name := range stored {
		if !names[name] {
			errs = append(errs, field.Invalid(path.Index(i), name, fmt.Sprintf("missing from spec.versions; %s was previously a storage version, and must remain "+
				"in spec.versions until a storage migration ensures no data remains persisted in %s and removes %s from status.storedVersions", name, name, name)))
		}
	}
	if len(stored) == 0 {
		errs = append(errs, field.Invalid(path, nil, "must have at least one stored version"))
	}
	return errs
}

// validateDefinitionUpdate requires that what names a kind stays: its group and plural name always, the rest once the kind has been served
// (API-305).
func validateDefinitionUpdate(d definition, old *plain.Object) field.ErrorList {
	was, spec := readDefinition(old), field.NewPath("spec")
	var errs field.ErrorList
	same := func(path *field.Path, now, before string) {
		if now != before {
			errs = append(errs, field.Invalid(path, now, strategy.Immutable))
		}
	}
	if readDefinitionStatus(old).established() {
		same(spec.Child("scope"), d.Spec.Scope, was.Spec.Scope)
		same(spec.Child("names", "kind"), d.Spec.Names.Kind, was.Spec.Names.Kind)
	}
	same(spec.Child("group"), d.Spec.Group, was.Spec.Group)
	same(spec.Child("names", "plural"), d.Spec.Names.Plural, was.Spec.Names.Plural)
	return errs
}

// shownVersions returns the versions as errors of the API server show them. Schemas that all versions have in common are not among them.
func (d definition) shownVersions() any {
	type shown struct {
		Name                     string
		Served, Storage          bool
		Deprecated               bool
		DeprecationWarning       *string
		Schema, Subresources     any
		AdditionalPrinterColumns any
		SelectableFields         any
	}
	list := make([]shown, len(d.Spec.Versions))
	for i, v := range d.Spec.Versions {
		list[i] = shown{Name: v.Name, Served: v.Served, Storage: v.Storage, Deprecated: v.Deprecated, DeprecationWarning: v.DeprecationWarning}
	}
	return list
}
