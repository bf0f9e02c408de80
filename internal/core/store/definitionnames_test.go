package store_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/volsim/volsim/api"
	"github.com/volsim/volsim/internal/core/plain"
)

const definitionKind api.Kind = "CustomResourceDefinition.apiextensions.k8s.io"

// defined returns the definition of a kind in example.com, with further fields of names and the versions.
func defined(t *testing.T, plural, kind, names string, versions ...string) *unstructured.Unstructured {
	t.Helper()
	return object(t, fmt.Sprintf("apiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\nmetadata: {name: %s.example.com}\n"+
		"spec: {group: example.com, scope: Namespaced, names: {plural: %s, kind: %s%s}, versions: [%s]}\n", plural, plural, kind, names, strings.Join(versions, ", ")))
}

func storedIn(name string) string {
	return "{name: " + name + ", served: true, storage: true, schema: {openAPIV3Schema: {type: object}}}"
}

func served(name string) string {
	return "{name: " + name + ", served: true, storage: false, schema: {openAPIV3Schema: {type: object}}}"
}

// conditions lists the conditions of a definition.
func conditions(t *testing.T, w *fixture, plural string) []string {
	t.Helper()
	obj, err := w.Get(definitionKind, plural+".example.com")
	require.NoError(t, err)
	var status struct {
		Conditions []struct{ Type, Status, Reason, Message string }
	}
	data, err := json.Marshal(obj.(*plain.Object).Content()["status"])
	require.NoError(t, err)
	require.NoError(t, json.Unmarshal(data, &status))
	var texts []string
	for _, c := range status.Conditions {
		texts = append(texts, c.Type+"="+c.Status+" "+c.Reason+": "+c.Message)
	}
	return texts
}

// TestDefinitionNames: a name in a group belongs to the definition that had it first (API-333).
func TestDefinitionNames(t *testing.T) {
	accepted := []string{"NamesAccepted=True NoConflicts: no conflicts found",
		"Established=True InitialNamesAccepted: the initial names have been accepted"}
	for _, test := range []struct{ id, name, plural, kind, names, reason string }{
		{"API-333", "a kind", "foos2", "Foo", "", `ListKindConflict: "FooList" is already in use`},
		{"API-333", "a kind alone", "foos2", "Foo", ", listKind: Foos", `KindConflict: "Foo" is already in use`},
		{"API-333", "a short name", "bars", "Bar", ", shortNames: [f, b]", `ShortNamesConflict: "f" is already in use`},
		{"API-333", "two short names", "bars", "Bar", ", shortNames: [f, fo]", `ShortNamesConflict: ["f" is already in use, "fo" is already in use]`},
		{"API-333", "a singular name", "bars", "Bar", ", singular: foo", `SingularConflict: "foo" is already in use`},
		{"API-333", "a plural name that is a short name", "fo", "Bar", "", `PluralConflict: "fo" is already in use`},
	} {
		t.Run(test.name, func(t *testing.T) {
			w := newFixture(t)
			first := made(w, defined(t, "foos", "Foo", ", shortNames: [f, fo]", storedIn("v1")))
			assert.Equal(t, accepted, conditions(t, w, "foos"), test.id)
			foo := made(w, object(t, "apiVersion: example.com/v1\nkind: Foo\nmetadata: {name: a, namespace: default}\n"))
			second := made(w, defined(t, test.plural, test.kind, test.names, storedIn("v1")))
			assert.Equal(t, []string{"NamesAccepted=False " + test.reason, "Established=False NotAccepted: not all names are accepted"},
				conditions(t, w, test.plural), test.id)
			require.Len(t, w.CustomKinds(), 1, test.id)
			assert.Equal(t, "foos", w.CustomKinds()[0].Plural, test.id)

			// The second definition can go, or gets the names when the first goes.
			remove(w, second)
			kept, err := w.Get("Foo.example.com", "default/a")
			require.NoError(t, err, "API-333: the first is unaffected")
			assert.Equal(t, foo.UID, kept.GetUID(), test.id)
			made(w, defined(t, test.plural, test.kind, test.names, storedIn("v1")))
			remove(w, first)
			assert.Equal(t, accepted, conditions(t, w, test.plural), test.id)
			require.Len(t, w.CustomKinds(), 1, test.id)
			assert.Equal(t, test.plural, w.CustomKinds()[0].Plural, test.id)
		})
	}
}

// TestDefinitionUpdates: what an update of a definition may not change, and the versions in which objects are stored.
func TestDefinitionUpdates(t *testing.T) {
	w := newFixture(t)
	made(w, defined(t, "foos", "Foo", "", storedIn("v1")))
	patch := func(text string) error {
		_, err := w.Patch(definitionKind, "foos.example.com", []byte(text), api.Main)
		return err
	}
	for _, test := range []struct{ id, patch, want string }{
		{"API-305", `{"spec":{"scope":"Cluster"}}`, `spec.scope: Invalid value: "Cluster": field is immutable`},
		{"API-305", `{"spec":{"names":{"kind":"Bar"}}}`, `spec.names.kind: Invalid value: "Bar": field is immutable`},
		{"API-305", `{"spec":{"names":{"plural":"bars"}}}`, `spec.names.plural: Invalid value: "bars": field is immutable`},
		{"API-305", `{"spec":{"group":"example.org"}}`, `spec.group: Invalid value: "example.org": field is immutable`},
		{"API-305", `{"spec":{"versions":[{"name":"v1","served":true,"storage":true},{"name":"v1","served":true}]}}`, `spec.versions: Invalid value: ` +
			`[{"Name":"v1","Served":true,"Storage":true,"Deprecated":false,"DeprecationWarning":null,"Schema":null,"Subresources":null,` +
			`"AdditionalPrinterColumns":null,"SelectableFields":null},{"Name":"v1","Served":true,"Storage":false,"Deprecated":false,"DeprecationWarning":null,` +
			`"Schema":null,"Subresources":null,"AdditionalPrinterColumns":null,"SelectableFields":null}]: must contain unique version names`},
		{"API-334", `{"spec":{"versions":[{"name":"v2","served":true,"storage":true}]}}`, `status.storedVersions[0]: Invalid value: "v1": missing from spec.versions; ` +
			`v1 was previously a storage version, and must remain in spec.versions until a storage migration ensures no data remains persisted in v1 and ` +
			`removes v1 from status.storedVersions`},
	} {
		require.EqualError(t, patch(test.patch), `CustomResourceDefinition.apiextensions.k8s.io "foos.example.com" is invalid: `+test.want, test.id)
	}
	stored := func() any {
		obj, err := w.Get(definitionKind, "foos.example.com")
		require.NoError(t, err)
		return obj.(*plain.Object).Content()["status"].(map[string]any)["storedVersions"]
	}
	require.NoError(t, patch(`{"spec":{"versions":[{"name":"v1","served":true,"storage":false},{"name":"v2","served":true,"storage":true}]}}`))
	assert.Equal(t, []any{"v1", "v2"}, stored(), "API-334")
	_, err := w.Patch(definitionKind, "foos.example.com", []byte(`{"status":{"storedVersions":["v2"]}}`), api.Status)
	require.NoError(t, err)
	require.NoError(t, patch(`{"spec":{"versions":[{"name":"v2","served":true,"storage":true}]}}`), "API-334: nothing is stored as v1")
	require.NoError(t, patch(`{"spec":{"names":{"shortNames":["f"]}}}`))
	assert.Equal(t, []string{"f"}, w.CustomKinds()[0].Short)

	_, err = w.Create(defined(t, "bars", "Bar", "", served("v1")))
	require.ErrorContains(t, err, "status.storedVersions: Invalid value: null: must have at least one stored version", "API-334")
}

// TestTerminatingDefinition: no object of a kind is created while its definition is being deleted (API-335).
func TestTerminatingDefinition(t *testing.T) {
	w := newFixture(t)
	definition := made(w, defined(t, "foos", "Foo", "", storedIn("v1")))
	made(w, object(t, "apiVersion: example.com/v1\nkind: Foo\nmetadata: {name: a, namespace: default, finalizers: [example.com/keep]}\n"))
	remove(w, definition)
	_, err := w.Create(object(t, "apiVersion: example.com/v1\nkind: Foo\nmetadata: {name: b, namespace: default}\n"))
	require.EqualError(t, err, `foos.example.com "b" is forbidden: create not allowed while custom resource definition is terminating`, "API-335")
}
