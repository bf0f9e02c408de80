package apiserver_test

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"
)

// ruled is a schema with rules.
const ruled = `{"type":"object","properties":{
	"spec":{"type":"object","required":["min"],"properties":{
		"min":{"type":"integer"},"max":{"type":"integer","default":9},"mode":{"type":"string","maxLength":9,"x-kubernetes-validations":[{"rule":"self != 'no'","message":"mode is no"}]},
		"fixed":{"type":"string","x-kubernetes-validations":[{"rule":"self == oldSelf","message":"fixed is fixed"}]},
		"once":{"type":"string","x-kubernetes-validations":[{"rule":"oldSelf.orValue(self) == self","optionalOldSelf":true,"reason":"FieldValueForbidden"}]},
		"list":{"type":"array","maxItems":20,"items":{"type":"integer","x-kubernetes-validations":[{"rule":"self > 0","message":"must be positive"}]}}},
		"x-kubernetes-validations":[{"rule":"self.min <= self.max","messageExpression":"self.min > 9 ? 'max is far too small' : 'max is small'"},
			{"rule":"!has(self.mode) || self.min < 5","message":"min is large","fieldPath":".mode","reason":"FieldValueRequired"}]},
	"status":{"type":"object","properties":{"n":{"type":"integer"}},"x-kubernetes-validations":[{"rule":"self.n >= oldSelf.n","message":"n only grows"}]}}}`

// TestRules: rules in CEL refuse custom objects, in one order.
func TestRules(t *testing.T) {
	const invalid = `Widget.example.com "w" is invalid: `
	f := newFixture(t)
	f.must("POST "+definitions, definitionOf(version("v1", true, ruled, `"subresources":{"status":{}}`)))
	for _, test := range []struct{ id, spec, want string }{
		{"API-403", `{"min":10}`, `spec: Invalid value: max is far too small`},
		{"API-403", `{"min":5,"mode":"a"}`, `spec.mode: Required value: min is large`},
		{"API-403", `{"min":10,"mode":"no","list":[0,1,1,1,1,1,1,1,1,1,0,1,0]}`, `[spec: Invalid value: max is far too small, spec.mode: Required value: min is large, ` +
			`spec.list[0]: Invalid value: 0: must be positive, spec.list[10]: Invalid value: 0: must be positive, spec.list[12]: Invalid value: 0: must be positive, ` +
			`spec.mode: Invalid value: "no": mode is no]`},
		{"API-403", `{"max":10}`, `[spec.min: Required value, <nil>: Invalid value: null: some validation rules were not checked because the object was invalid; ` +
			`correct the existing errors to complete validation]`},
		{"API-402", `{"min":1,"fixed":"a","once":"b"}`, ""},
	} {
		if test.want == "" {
			f.must("POST "+widgetList+"?dryRun=All", widget("w", "", `"spec":`+test.spec))
			continue
		}
		for range 3 {
			f.fails("POST "+widgetList, widget("w", "", `"spec":`+test.spec), 422, invalid+test.want)
		}
	}
	f.must("POST "+widgetList, widget("w", "", `"spec":{"min":1,"fixed":"a","once":"b"}`))
	f.must("PATCH "+widgetList+"/w/status", `{"status":{"n":5}}`, mergePatch)
	for _, test := range []struct{ id, at, patch, want string }{
		{"API-402", "", `{"spec":{"fixed":"z"}}`, `spec.fixed: Invalid value: "z": fixed is fixed`},
		{"API-402", "", `{"spec":{"once":"z"}}`, `spec.once: Forbidden: failed rule: oldSelf.orValue(self) == self`},
		{"API-402", "/status", `{"status":{"n":4}}`, `status: Invalid value: n only grows`},
	} {
		f.fails("PATCH "+widgetList+"/w"+test.at, test.patch, 422, invalid+test.want, mergePatch)
	}
	f.must("PATCH "+widgetList+"/w", `{"spec":{"fixed":null}}`, mergePatch)
	f.must("PATCH "+widgetList+"/w", `{"spec":{"fixed":"new"}}`, mergePatch)
}

// TestRulesRatcheting: what broke a rule before may stay, with a warning.
func TestRulesRatcheting(t *testing.T) {
	f := newFixture(t)
	property := `{"type":"object","properties":{"a":{"type":"integer"},"b":{"type":"integer"}}}`
	f.must("POST "+definitions, definitionOf(version("v1", true, `{"type":"object","properties":{"spec":`+property+`}}`)))
	f.must("POST "+widgetList, widget("w", "", `"spec":{"a":1,"b":1}`))
	tight := `{"type":"object","properties":{"a":{"type":"integer","x-kubernetes-validations":[{"rule":"self > 1"}]},"b":{"type":"integer","x-kubernetes-validations":[{"rule":"self > 2"}]}}}`
	f.must("PATCH "+definitions+"/widgets.example.com", `[{"op":"replace","path":"/spec/versions/0","value":`+version("v1", true, `{"type":"object","properties":{"spec":`+tight+`}}`)+`}]`,
		"Content-Type: application/json-patch+json")
	for range 3 {
		resp, _ := f.request("PATCH "+widgetList+"/w?dryRun=All", `{"metadata":{"labels":{"a":"b"}}}`, mergePatch)
		require.Equal(t, 200, resp.StatusCode, "API-404")
		require.Equal(t, []string{`299 - "spec.a: Invalid value: 1: failed rule: self > 1"`, `299 - "spec.b: Invalid value: 1: failed rule: self > 2"`}, resp.Header.Values("Warning"), "API-404")
	}
	f.fails("PATCH "+widgetList+"/w", `{"spec":{"b":0}}`, 422, `Widget.example.com "w" is invalid: spec.b: Invalid value: 0: failed rule: self > 2`, mergePatch)
	f.must("PATCH "+widgetList+"/w", `{"spec":{"b":3}}`, mergePatch)
}

// TestCustomSchemas: OpenAPI documents have the schemas of custom kinds, and no patches that those kinds do not accept (API-406).
func TestCustomSchemas(t *testing.T) {
	f := newFixture(t)
	f.must("POST "+definitions, definitionOf(version("v1", true, `{"type":"object","properties":{"spec":{"type":"object","description":"what to do"}}}`)))
	var document struct {
		Paths map[string]struct {
			Patch struct {
				RequestBody struct{ Content map[string]any }
			}
		}
		Components struct {
			Schemas map[string]struct {
				Properties map[string]struct{ Description string }
			}
		}
	}
	text := f.must("GET /openapi/v3/apis/example.com/v1", "")
	require.NoError(t, json.Unmarshal([]byte(text), &document))
	widget := document.Components.Schemas["com.example.v1.Widget"]
	require.Equal(t, "what to do", widget.Properties["spec"].Description, "API-406")
	require.Contains(t, widget.Properties["metadata"].Description, "Standard object's metadata", "API-406")
	content := document.Paths["/apis/example.com/v1/namespaces/{namespace}/widgets/{name}"].Patch.RequestBody.Content
	require.Contains(t, content, "application/merge-patch+json", "API-406")
	require.NotContains(t, content, "application/strategic-merge-patch+json", "API-406")
}
