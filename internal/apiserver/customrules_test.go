package apiserver_test

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/volsim/volsim/internal/apiserver"
)

// TestCustomRules creates objects of a kind whose lists keep what they do not know, and whose version is deprecated.
func TestCustomRules(t *testing.T) {
	const (
		definitions = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
		schema      = `{"openAPIV3Schema":{"type":"object","required":["z","spec"],"properties":{"z":{"type":"string"},"spec":{"type":"object","required":["y","x"],` +
			`"properties":{"x":{"type":"string"},"y":{"type":"string"},"kept":{"type":"array","x-kubernetes-preserve-unknown-fields":true,"items":{"type":"object",` +
			`"properties":{"known":{"type":"object"}}}},"pruned":{"type":"array","items":{"type":"object"}}}}}}}`
		definition = `{"metadata":{"name":"as.example.com"},"spec":{"group":"example.com","scope":"Cluster","names":{"plural":"as","kind":"A"},"versions":[` +
			`{"name":"v1beta1","served":true,"storage":false,"deprecated":true,"schema":` + schema + `},{"name":"v1","served":true,"storage":true,"schema":` + schema + `},` +
			`{"name":"v2alpha1","served":true,"storage":false,"schema":` + schema + `},{"name":"v3","served":false,"storage":false,"schema":` + schema + `}]}}`
		path = "/apis/example.com/v1beta1/as"
	)
	f := newFixtureWith(t, apiserver.Config{})
	f.must("POST "+definitions, definition)
	for _, row := range []struct{ rule, body, want string }{
		{"API-570", `{"apiVersion":"example.com/v1beta1","kind":"A","metadata":{"name":"a"},"z":"","spec":{"x":"","y":"","kept":[{"a":1,"known":{"b":1}}],"pruned":[{"a":1}]}}`,
			`"kept":[{"a":1,"known":{}}],"pruned":[{}]`},
		{"API-570", `{"apiVersion":"example.com/v1beta1","kind":"A","metadata":{"name":"a"},"spec":{}}`, `is invalid: [spec.y: Required value, spec.x: Required value, z: Required value]`},
		{"API-570", `{"apiVersion":"example.com/v1beta1","kind":"A","metadata":{"name":"a"},"z":"","spec":{"x":"","y":"","pruned":[{},{},1,{},{},{},{},{},{},{},1]}}`,
			`is invalid: [spec.pruned[2]: Invalid value: \"integer\": spec.pruned[2] in body must be of type object: \"integer\", spec.pruned[10]: Invalid value`},
		{"API-551", `{"apiVersion":"example.com/v1beta1","kind":"A","metadata":{"name":"_"},"spec":{"x":"","y":""}}`, `valid: [metadata.name: Invalid value`},
		{"API-551", `{"apiVersion":"example.com/v1beta1","kind":"A","metadata":{"name":"a","ownerReferences":[{"apiVersion":"v1","kind":"Node","name":"n","uid":"u","controller":true},` +
			`{"apiVersion":"v1","kind":"Node","name":"n","uid":"u","controller":true}]},"z":"","spec":{"x":"","y":""}}`, `"ownerReferences":[{"apiVersion":"v1","kind":"Node","name":"n","uid":"u","controller":true}],`},
		{"API-551", `{"apiVersion":"example.com/v1beta1","kind":"A","metadata":{"generateName":"a"},"spec":{"x":"","y":""}}`, `valid: z: Required value`},
	} {
		resp, got := f.request("POST "+path+"?dryRun=All", row.body)
		require.Contains(t, got, row.want, row.rule)
		require.Contains(t, resp.Header.Values("Warning"), `299 - "example.com/v1beta1 A is deprecated; use example.com/v1 A"`, "API-336")
	}
	var stored metav1.PartialObjectMetadata
	require.NoError(t, json.Unmarshal([]byte(f.must("POST "+path, `{"apiVersion":"example.com/v1beta1","kind":"A","metadata":{"name":"a"},"z":"","spec":{"x":"","y":""}}`)), &stored))
	_, got := f.request("PUT "+path+"/a", `{"apiVersion":"example.com/v1beta1","kind":"A","metadata":{"name":"a","resourceVersion":"`+stored.ResourceVersion+`","labels":{"_":""}},"spec":{"x":"","y":""}}`)
	require.Contains(t, got, `valid: [metadata.labels: Invalid value: \"_\"`, "API-551")
	require.Contains(t, got, `z: Required value]`, "API-551")
	var table metav1.Table
	require.NoError(t, json.Unmarshal([]byte(f.must("GET /apis/example.com/v1/as", "", asTable)), &table))
	require.Equal(t, "date", table.ColumnDefinitions[1].Type, "API-568")
}
