package store

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/volsim/volsim/api"
	"github.com/volsim/volsim/internal/core/plain"
	"github.com/volsim/volsim/internal/core/strategy"
)

// Names of CustomResourceDefinitions: within a group a name belongs to the definition that had it first. The controllers of the API server accept
// or refuse names, and a kind is served as soon as all of its names have been accepted.

// definitionStatus contains the fields of the status that decide whether a kind is served.
type definitionStatus struct {
	Status struct {
		AcceptedNames  *definitionNames `json:"acceptedNames"`
		StoredVersions []string         `json:"storedVersions"`
		Conditions     []struct {
			Type    string `json:"type"`
			Status  string `json:"status"`
			Reason  string `json:"reason"`
			Message string `json:"message"`
		} `json:"conditions"`
	} `json:"status"`
}

func readDefinitionStatus(obj *plain.Object) definitionStatus {
	var s definitionStatus
	if data, err := json.Marshal(obj.Content()["status"]); err == nil {
		_ = json.Unmarshal(data, &s.Status) // what cannot be decoded stays empty
	}
	return s
}

// condition returns the status of a condition, "" if there is none.
func (s definitionStatus) condition(name string) string {
	for _, c := range s.Status.Conditions {
		if c.Type == name {
			return c.Status
		}
	}
	return ""
}

// established reports whether the kind of a definition is served. That of one without a status, which was stored as it is, is.
func (s definitionStatus) established() bool { return s.condition("Established") != "False" }

// servedDefinition returns a definition under the names that have been accepted. ok is false if its kind is not served.
func servedDefinition(obj *plain.Object) (d definition, ok bool) {
	status := readDefinitionStatus(obj)
	d = readDefinition(obj)
	if names := status.Status.AcceptedNames; names != nil && names.Kind != "" && names.Plural != "" {
		d.Spec.Names = *names
	}
	return d, status.established()
}

// usedNames returns the names that other definitions of a group have: of resources, and of kinds.
func usedNames(s *Store, group, except string) (resources, kinds map[string]bool) {
	resources, kinds = map[string]bool{}, map[string]bool{}
	t := s.others.tables[definitionKind]
	if t == nil {
		return resources, kinds
	}
	for _, other := range t.List() {
		names := readDefinitionStatus(other).Status.AcceptedNames
		if names == nil || other.Name == except || readDefinition(other).Spec.Group != group {
			continue
		}
		for _, name := range append([]string{names.Plural, names.Singular}, names.ShortNames...) {
			resources[name] = true
		}
		kinds[names.Kind], kinds[names.ListKind] = true, true
	}
	delete(resources, "")
	delete(kinds, "")
	return resources, kinds
}

// acceptNames returns obj with the names that are free accepted, and the conditions that follow from it (API-333).
func acceptNames(s *Store, obj *plain.Object, now metav1.Time) *plain.Object {
	status := readDefinitionStatus(obj)
	accepted, reason, message := freeNames(s, obj)
	out := obj.Copy()
	content := maps.Clone(out.Content())
	fields, _ := content["status"].(map[string]any)
	fields = maps.Clone(fields)
	if fields == nil {
		fields = map[string]any{}
	}
	fields["acceptedNames"] = accepted.content()
	content["status"] = fields
	set := func(name, status, reason, message string) {
		for _, c := range readDefinitionStatus(obj).Status.Conditions {
			if c.Type == name && c.Status == status && c.Reason == reason && c.Message == message {
				return // since then
			}
		}
		c := definitionCondition(name, reason, message, now)
		c["status"] = status
		content = withCondition(content, c)
	}
	if reason == "" {
		set("NamesAccepted", "True", "NoConflicts", "no conflicts found")
		set("Established", "True", "InitialNamesAccepted", "the initial names have been accepted")
	} else {
		set("NamesAccepted", "False", reason, message)
		// API-333: a kind that is served stays so, under the names that it has.
		if status.condition("Established") != "True" {
			set("Established", "False", "NotAccepted", "not all names are accepted")
		}
	}
	out.SetContent(content)
	return out
}

// freeNames returns the names that a definition has from now on: of those that it wants, the ones that no other definition has. The condition shows reason
// and message; they are "" if there is no conflict.
func freeNames(s *Store, obj *plain.Object) (accepted definitionNames, reason, message string) {
	d := readDefinition(obj)
	resources, kinds := usedNames(s, d.Spec.Group, obj.Name)
	if names := readDefinitionStatus(obj).Status.AcceptedNames; names != nil {
		accepted = *names
	}
	wanted := d.Spec.Names
	accept := func(into *string, name, conflict string, used map[string]bool) {
		if name != *into && used[name] {
			reason, message = conflict, fmt.Sprintf("%q is already in use", name)
			return
		}
		*into = name
	}
	// API-333: the condition shows the last conflict in this order.
	accept(&accepted.Plural, wanted.Plural, "PluralConflict", resources)
	accept(&accepted.Singular, wanted.Singular, "SingularConflict", resources)
	var taken []error
	for _, name := range wanted.ShortNames {
		if resources[name] && !slices.Contains(accepted.ShortNames, name) {
			taken = append(taken, fmt.Errorf("%q is already in use", name))
		}
	}
	if len(taken) == 0 {
		accepted.ShortNames = wanted.ShortNames
	} else {
		reason, message = "ShortNamesConflict", joined(taken)
	}
	accept(&accepted.Kind, wanted.Kind, "KindConflict", kinds)
	accept(&accepted.ListKind, wanted.ListKind, "ListKindConflict", kinds)
	accepted.Categories = wanted.Categories
	return accepted, reason, message
}

// joined formats errors as the API server does.
func joined(errs []error) string {
	if len(errs) == 1 {
		return errs[0].Error()
	}
	return "[" + strings.ReplaceAll(errors.Join(errs...).Error(), "\n", ", ") + "]"
}

// content returns names as a status has them.
func (n definitionNames) content() map[string]any {
	content := map[string]any{"kind": n.Kind, "plural": n.Plural}
	for name, text := range map[string]string{"listKind": n.ListKind, "singular": n.Singular} {
		if text != "" {
			content[name] = text
		}
	}
	for name, list := range map[string][]string{"shortNames": n.ShortNames, "categories": n.Categories} {
		if len(list) > 0 {
			values := make([]any, len(list))
			for i, text := range list {
				values[i] = text
			}
			content[name] = values
		}
	}
	return content
}

// recheckNames accepts names that a definition which is gone no longer has, in the order of the names of the others.
func recheckNames(s *Store, gone *plain.Object) {
	t, ok := s.others.tables[definitionKind].(*table[*plain.Object])
	if !ok {
		return
	}
	group := readDefinition(gone).Spec.Group
	for _, other := range t.List() {
		if readDefinitionStatus(other).condition("NamesAccepted") != "False" || readDefinition(other).Spec.Group != group {
			continue
		}
		// API-333: the names are free now.
		if c := t.cellOf(&other.ObjectMeta); c != nil {
			if accepted := acceptNames(s, other, clock(s.now())); !equalContents(accepted, other) {
				t.put(c, accepted)
			}
		}
	}
}

// keepStoredVersions adds the storage version of a definition to those in which objects may be stored (API-334).
func keepStoredVersions(obj *plain.Object) {
	storage, found := "", false
	for _, v := range readDefinition(obj).Spec.Versions {
		if v.Storage {
			storage, found = v.Name, true
		}
	}
	stored := readDefinitionStatus(obj).Status.StoredVersions
	if !found || slices.Contains(stored, storage) {
		return
	}
	var list []any
	for _, name := range append(stored, storage) {
		list = append(list, name)
	}
	status, _ := obj.Content()["status"].(map[string]any)
	status = maps.Clone(status)
	if status == nil {
		status = map[string]any{}
	}
	status["storedVersions"] = list
	obj.SetContent(withStatus(obj.Content(), map[string]any{"status": status}))
}

// definitionStrategy adds the rules of CustomResourceDefinitions to those of any object.
func definitionStrategy(s *Store, rules strategy.Of[*plain.Object]) strategy.Of[*plain.Object] {
	rules.ValidateName = validateDefinitionName
	rules.ValidateCreate = func(obj *plain.Object) field.ErrorList { return s.validateDefinition(obj, nil) }
	rules.ValidateUpdate = func(obj, old *plain.Object) field.ErrorList { return s.validateDefinition(obj, old) }
	rules.Defaults = completeDefinition
	create := rules.PrepareCreate
	rules.PrepareCreate = func(obj *plain.Object, now metav1.Time) {
		create(obj, now)
		keepStoredVersions(obj)
		// API-306: the names are accepted and the kind is served at once.
		obj.SetContent(acceptNames(s, obj, now).Content())
	}
	update := rules.PrepareUpdate
	rules.PrepareUpdate = func(obj, old *plain.Object) {
		update(obj, old)
		keepStoredVersions(obj)
		obj.SetContent(acceptNames(s, obj, clock(s.now())).Content())
	}
	rules.Removed = func(obj *plain.Object) { recheckNames(s, obj) }
	return rules
}

// terminating returns an error for a new object of a kind whose definition is being deleted (API-335).
func (s *Store) terminating(r resource, name string) error {
	t := s.others.tables[definitionKind]
	if t == nil || s.asGiven {
		return nil
	}
	d, err := t.Get(api.Key("", r.plural+"."+r.group))
	if err != nil || d.DeletionTimestamp == nil {
		return nil
	}
	// API-335: the objects are being deleted.
	return forbidden(r, name, errors.New("create not allowed while custom resource definition is terminating"))
}
