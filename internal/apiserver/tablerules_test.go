package apiserver_test

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/volsim/volsim/internal/apiserver"
)

const (
	asTable   = "Accept: application/json;as=Table;v=v1;g=meta.k8s.io"
	asPartial = "Accept: application/json;as=PartialObjectMetadata;v=v1;g=meta.k8s.io"
)

// TestTableRules creates objects and looks at their rows.
func TestTableRules(t *testing.T) {
	for _, row := range []struct {
		rule, path, body string
		types            []string
		cells            string
	}{
		{"API-568", "/apis/rbac.authorization.k8s.io/v1/clusterroles", `{"metadata":{"name":"a"}}`, []string{"string", "date"}, `["a","2026-01-01T00:00:00Z"]`},
		{"API-568", "/apis/apps/v1/namespaces/default/replicasets", `{"metadata":{"name":"a"},"spec":{"replicas":2,"selector":{"matchLabels":{"a":"b"}},` +
			`"template":{"metadata":{"labels":{"a":"b"}},` + containers + `}}}`,
			[]string{"string", "integer", "integer", "integer", "string", "string", "string", "string"}, `["a",2,0,0,"0s","a","b","a=b"]`},
		{"API-568", deploymentPath, deployment(`{"matchLabels":{"a":"b"}}`, `{"labels":{"a":"b"}}`),
			[]string{"string", "string", "string", "string", "string", "string", "string", "string"}, `["a","0/1",0,0,"0s","a","b","a=b"]`},
		{"API-568", "/apis/scheduling.k8s.io/v1/priorityclasses", `{"metadata":{"name":"a"},"value":5}`,
			[]string{"string", "integer", "boolean", "string", "string"}, `["a",5,false,"0s","PreemptLowerPriority"]`},
		{"API-568", addressPath, `{"metadata":{"name":"10.0.0.1"},"spec":{"parentRef":{"resource":"services","name":"a"}}}`,
			[]string{"string", "string"}, `["10.0.0.1","services/a","0s"]`},
	} {
		f := newFixtureWith(t, apiserver.Config{})
		var table metav1.Table
		require.NoError(t, json.Unmarshal([]byte(f.must("POST "+row.path, row.body, asTable)), &table), "%s: %s", row.rule, row.body)
		var types []string
		for _, column := range table.ColumnDefinitions {
			types = append(types, column.Type)
		}
		require.Equal(t, row.types, types, "%s: %s", row.rule, row.body)
		cells, err := json.Marshal(table.Rows[0].Cells)
		require.NoError(t, err)
		require.Equal(t, row.cells, string(cells), "%s: %s", row.rule, row.body)
	}
}

// TestHiddenAnnotation: API-568, the number of the template of a DaemonSet is no annotation for clients that ask for metadata.
func TestHiddenAnnotation(t *testing.T) {
	const sets, annotation = "/apis/apps/v1/namespaces/default/daemonsets", "deprecated.daemonset.template.generation"
	f := newFixtureWith(t, apiserver.Config{})
	require.Contains(t, f.must("POST "+sets, `{"metadata":{"name":"a"},"spec":{"selector":{"matchLabels":{"a":"b"}},"template":{"metadata":{"labels":{"a":"b"}},`+containers+`}}}`), annotation)
	for _, format := range []string{asTable, asPartial} {
		require.NotContains(t, f.must("GET "+sets+"/a", "", format), `"`+annotation+`"`, "API-568")
	}
}

// TestErrorsOfApplies: API-567, they come in the same order each time.
func TestErrorsOfApplies(t *testing.T) {
	f := newFixtureWith(t, apiserver.Config{})
	for _, row := range []struct{ rule, body, want string }{
		{"API-567", `{"apiVersion":"v1","kind":"Pod","spec":{"foo":1,"bar":2,"baz":3,"containers":[{"name":"a"}]}}`, ": .spec.bar: field not declared in schema"},
		{"API-567", `{"apiVersion":"v1","kind":"Pod","spec":{"containers":[{"name":"a","ports":[{"containerPort":1,"y":1,"x":1}]}]}}`,
			`: .spec.containers[name="a"].ports[containerPort=1,protocol="TCP"].x: field not declared in schema`},
		{"API-567", `{"apiVersion":"v1","kind":"Pod","spec":{"nodeName":{"a":"b"},"hostname":{"a":"b"}}}`, "errors:\n  .spec.hostname: expected string, got"},
		{"API-567", `{"apiVersion":"v1","kind":"Pod","spec":{"containers":[{"name":"b"},{"name":"b"},{"name":"a"},{"name":"a"}],"nodeName":{"a":"b"}}}`,
			"errors:\n  .spec.containers: duplicate entries for key [name=\"b\"]\n  .spec.containers: duplicate entries for key [name=\"a\"]\n  .spec.nodeName: "},
	} {
		for range 20 {
			resp, got := f.request("PATCH "+podPath+"/a?fieldManager=m", row.body, "Content-Type: application/apply-patch+yaml")
			require.Equal(t, 500, resp.StatusCode, row.rule)
			var status metav1.Status
			require.NoError(t, json.Unmarshal([]byte(got), &status))
			require.Contains(t, status.Message, row.want, row.rule)
		}
	}
}

// TestPortOfConversion: API-342, a webhook that converts is at port 443 unless the definition says otherwise.
func TestPortOfConversion(t *testing.T) {
	f := newFixtureWith(t, apiserver.Config{})
	got := f.must("POST /apis/apiextensions.k8s.io/v1/customresourcedefinitions", `{"metadata":{"name":"as.example.com"},"spec":{"group":"example.com","scope":"Cluster",`+
		`"names":{"plural":"as","kind":"A"},"conversion":{"strategy":"Webhook","webhook":{"conversionReviewVersions":["v1"],"clientConfig":{"service":{"namespace":"a","name":"b"}}}},`+
		`"versions":[{"name":"v1","served":true,"storage":true,"schema":{"openAPIV3Schema":{"type":"object"}}}]}}`)
	require.Contains(t, got, `"service":{"name":"b","namespace":"a","port":443}`, "API-342")
}
