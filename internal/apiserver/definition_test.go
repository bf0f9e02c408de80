package apiserver_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// TestDefinitions: what is wrong with a CustomResourceDefinition. The texts are those of kube-apiserver, as is compared by
// internal/proof/apiserver.
func TestDefinitions(t *testing.T) {
	f := newFixture(t)
	const at = "spec.validation.openAPIV3Schema.properties[f]"
	property := func(schema string) string {
		return definitionOf(version("v1", true, `{"type":"object","properties":{"f":`+schema+`}}`))
	}
	with := func(more ...string) string { return definitionOf(version("v1", true, anything, more...)) }
	renamed := strings.NewReplacer(`"kind":"Widget"}`, `"kind":"Widget","listKind":"Widget"}`)
	ofKubernetes := strings.NewReplacer("example.com", "example.k8s.io")
	noSchema := `{"name":"v2","served":true,"storage":false}`
	keys := `"items":{"type":"object","properties":{"a":{"type":"string"}}}`
	for _, test := range []struct{ id, body, want string }{
		{"API-305", renamed.Replace(with()), `spec.names.listKind: Invalid value: "Widget": kind and listKind may not be the same`},
		{"API-337", definitionOf(`{"name":"v1","served":true,"storage":true,"schema":{}}`), `spec.versions[0].schema.openAPIV3Schema: Required value`},
		{"API-337", definitionOf(version("v1", true, anything), noSchema), `spec.versions[1].schema.openAPIV3Schema: Required value`},
		{"API-337", definitionOf(version("v1", true, anything), version("v2", false, `{"type":"string"}`)),
			`spec.versions[1].schema.openAPIV3Schema.type: Invalid value: "string": must be object at the root`},
		{"API-338", property(`{"type":"int"}`), at + `.type: Unsupported value: "int": supported values: "array", "boolean", "integer", "number", "object", "string"`},
		{"API-338", property(`{"type":"object","properties":{"a":{"type":"string"}},"additionalProperties":{"type":"string"}}`),
			at + `.additionalProperties: Forbidden: additionalProperties and properties are mutual exclusive`},
		{"API-338", definitionOf(version("v1", true, `{"type":"object","maxProperties":1}`, `"subresources":{"status":{}}`)), "fields are allowed at the root of the schema if the status subresource is enabled"},
		{"API-339", definitionOf(version("v1", true, `{}`)), `spec.validation.openAPIV3Schema.type: Required value: must not be empty at the root`},
		{"API-339", property(`{"type":"array"}`), at + `.items: Required value: must be specified`},
		{"API-339", property(`{"type":"string","pattern":"["}`),
			at + ".pattern: Invalid value: \"[\": must be a valid regular expression, but isn't: error parsing regexp: missing closing ]: `[`"},
		{"API-339", definitionOf(version("v1", true, `{"type":"object","anyOf":[{"properties":{"a":{"minLength":1}}}]}`)),
			`spec.validation.openAPIV3Schema.properties[a]: Required value: because it is defined in spec.validation.openAPIV3Schema.anyOf[0].properties[a]`},
		{"API-340", property(`{"type":"array","x-kubernetes-list-type":"map",` + keys + `}`),
			at + `.x-kubernetes-list-map-keys: Required value: must not be empty if x-kubernetes-list-type is map`},
		{"API-340", property(`{"type":"array","x-kubernetes-list-type":"map","x-kubernetes-list-map-keys":["a"],` + keys + `}`),
			at + `.items.properties[a].default: Required value: this property is in x-kubernetes-list-map-keys, so it must have a default or be a required property`},
		{"API-341", property(`{"type":"string","x-kubernetes-validations":[{"rule":""}]}`), at + `.x-kubernetes-validations[0].rule: Required value: rule is not specified`},
		{"API-400", property(`{"type":"integer","x-kubernetes-validations":[{"rule":"self == 'a'"}]}`), at + ".x-kubernetes-validations[0].rule: Invalid value: " +
			`{"Rule":"self == 'a'","Message":"","MessageExpression":"","Reason":null,"FieldPath":"","OptionalOldSelf":null}: compilation failed: ` +
			"ERROR: <input>:1:6: found no matching overload for '_==_' applied to '(int, string)'\n | self == 'a'\n | .....^"},
		{"API-400", property(`{"type":"integer","x-kubernetes-validations":[{"rule":"self > 1","messageExpression":"self"}]}`),
			"messageExpression must evaluate to a string"},
		{"API-401", property(`{"type":"array","items":{"type":"string"},"x-kubernetes-validations":[{"rule":"self.all(x, self.all(y, x == y))"}]}`),
			"[" + at + `.x-kubernetes-validations[0].rule: Forbidden: estimated rule cost exceeds budget by factor of more than 100x (try simplifying the rule, or adding maxItems, ` +
				`maxProperties, and maxLength where arrays, maps, and strings are declared), ` + at + `.x-kubernetes-validations[0].rule: Forbidden: contributed to estimated rule cost ` +
				`total exceeding cost limit for entire OpenAPIv3 schema, spec.validation.openAPIV3Schema: Forbidden: x-kubernetes-validations estimated rule cost total for entire ` +
				`OpenAPIv3 schema exceeds budget by factor of more than 100x (try simplifying the rule, or adding maxItems, maxProperties, and maxLength where arrays, maps, and ` +
				`strings are declared)]`},
		{"API-402", property(`{"type":"array","maxItems":2,"items":{"type":"integer","x-kubernetes-validations":[{"rule":"self == oldSelf"}]}}`),
			at + `.items.x-kubernetes-validations[0].rule: Invalid value: "self == oldSelf": oldSelf cannot be used on the uncorrelatable portion of the schema within ` + at},
		{"API-402", property(`{"type":"integer","x-kubernetes-validations":[{"rule":"self > 1","optionalOldSelf":true}]}`),
			at + `.x-kubernetes-validations[0].optionalOldSelf: Invalid value: true: may not be set if oldSelf is not used in rule`},
		{"API-405", property(`{"type":"integer","default":1,"x-kubernetes-validations":[{"rule":"self > 1"}]}`), at + `.default: Invalid value: 1: failed rule: self > 1`},
		{"API-342", with(`"additionalPrinterColumns":[{"type":"string"}]`),
			`[spec.additionalPrinterColumns[0].name: Required value, spec.additionalPrinterColumns[0].JSONPath: Required value]`},
		{"API-342", with(`"subresources":{"scale":{"specReplicasPath":".n","statusReplicasPath":".status.n"}}`),
			`spec.subresources.scale.specReplicasPath: Invalid value: ".n": should be a json path under .spec`},
		{"API-342", with(`"deprecationWarning":"old"`), `spec.versions[0].deprecationWarning: Invalid value: "old": can only be set for deprecated versions`},
		{"API-343", ofKubernetes.Replace(with()), `metadata.annotations[api-approved.kubernetes.io]: Required value: protected groups must have approval annotation ` +
			`"api-approved.kubernetes.io", see https://github.com/kubernetes/enhancements/pull/1111`},
		{"API-345", property(`{"type":"string","default":1}`), at + `.default: Invalid value: "integer":  in body must be of type string: "integer"`},
		{"API-345", property(`{"type":"object","default":{"x":1}}`), at + `.default: Invalid value: {"x":1}: must not have unknown fields`},
		{"API-346", with(`"selectableFields":[{"jsonPath":".spec.absent"}]`),
			`spec.selectableFields[0].jsonPath: Invalid value: ".spec.absent": is an invalid path: does not refer to a valid field`},
		{"API-347", definitionOf(version("v1", true, `{"type":["object"]}`)), `CustomResourceDefinition in version "v1" cannot be handled as a CustomResourceDefinition: ` +
			`json: cannot unmarshal array into Go struct field JSONSchemaProps.spec.versions.schema.openAPIV3Schema.type of type string`},
	} {
		resp, got := f.request("POST "+definitions, test.body)
		var status metav1.Status
		require.NoError(t, json.Unmarshal([]byte(got), &status), "%s: %s", test.id, got)
		require.GreaterOrEqual(t, resp.StatusCode, 400, "%s: %s", test.id, test.body)
		require.Equal(t, test.want, status.Message[max(0, len(status.Message)-len(test.want)):], "%s: %s", test.id, status.Message)
	}
	// API-347, API-348: what means nothing is reported.
	resp, _ := f.request("POST "+definitions, property(`{"type":"string","format":"int","minimun":1}`))
	require.Equal(t, []string{`299 - "unknown field \"spec.versions[0].schema.openAPIV3Schema.properties.f.minimun\""`,
		`299 - "unrecognized format \"int\""`}, resp.Header.Values("Warning"), "API-347, API-348")
}

// TestEmbedded: objects within custom objects, selectable fields, and fields that come twice.
func TestEmbedded(t *testing.T) {
	f := newFixture(t)
	f.must("POST "+definitions, definitionOf(version("v1", true, specOf(`"color":{"type":"string"},
		"in":{"type":"object","x-kubernetes-embedded-resource":true,"x-kubernetes-preserve-unknown-fields":true}`), `"selectableFields":[{"jsonPath":".spec.color"}]`)))
	const invalid, unreadable = `Widget.example.com "w" is invalid: `, `Widget in version "v1" cannot be handled as a Widget: `
	for _, test := range []struct {
		id, body string
		code     int
		want     string
	}{
		{"API-344", widget("w", "", `"spec":{"in":{}}`), 422, invalid + `[spec.in.apiVersion: Required value, spec.in.kind: Required value]`},
		{"API-344", widget("w", "", `"spec":{"in":{"apiVersion":"v1","kind":""}}`), 422, invalid + `spec.in.kind: Invalid value: "": must not be empty`},
		{"API-344", widget("w", "", `"spec":{"in":{"apiVersion":"v1","kind":"A","metadata":{"name":"a/b"}}}`), 422,
			invalid + `spec.in.metadata.name: Invalid value: "a/b": may not contain '/'`},
		{"API-344", widget("w", "", `"spec":{"in":{"apiVersion":"v1","kind":1}}`), 400, unreadable + `spec.in.kind: Invalid value: 1: must be a string`},
		{"API-344", widget("w", "", `"spec":{"in":{"apiVersion":"v1","kind":"A","metadata":{"odd":1}}}`), 400,
			unreadable + `strict decoding error: unknown field "spec.in.metadata.odd"`},
		{"API-349", widget("w", `"odd":1`, `"spec":{"color":"a","color":"b","x":1}`), 400,
			unreadable + `strict decoding error: duplicate field "spec.color", unknown field "metadata.odd", unknown field "spec.x"`},
	} {
		t.Run(test.id, func(t *testing.T) {
			f.fails("POST "+widgetList+"?fieldValidation=Strict", test.body, test.code, test.want)
		})
	}
	f.must("POST "+widgetList, widget("red", "", `"spec":{"color":"red","in":{"apiVersion":"v1","kind":"A","metadata":{"name":"a"}}}`))
	f.must("POST "+widgetList, widget("none", "", ""))
	for _, test := range []struct {
		id, selector string
		want         []string
	}{
		{"API-346", "spec.color=red", []string{"red"}},
		{"API-346", "spec.color=", []string{"none"}},
	} {
		names, _ := f.names("GET " + widgetList + "?fieldSelector=" + test.selector)
		require.Equal(t, test.want, names, "%s: %s", test.id, test.selector)
	}
	f.fails("GET "+widgetList+"?fieldSelector=spec.in=a", "", 400, "field label not supported: spec.in")
}
