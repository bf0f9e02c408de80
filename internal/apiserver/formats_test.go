package apiserver_test

import (
	"bytes"
	"testing"

	"github.com/stretchr/testify/require"
	apiextensions "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer/protobuf"
)

// TestDefinitionInProtobuf: API-441, a definition may come in protobuf, as typed clients send it.
func TestDefinitionInProtobuf(t *testing.T) {
	f := newFixture(t)
	definition := &apiextensions.CustomResourceDefinition{
		TypeMeta:   metav1.TypeMeta{APIVersion: "apiextensions.k8s.io/v1", Kind: "CustomResourceDefinition"},
		ObjectMeta: metav1.ObjectMeta{Name: "vaults.example.com"},
		Spec: apiextensions.CustomResourceDefinitionSpec{
			Group: "example.com", Scope: apiextensions.NamespaceScoped,
			Names: apiextensions.CustomResourceDefinitionNames{Plural: "vaults", Singular: "vault", Kind: "Vault", ListKind: "VaultList"},
			Versions: []apiextensions.CustomResourceDefinitionVersion{{
				Name: "v1", Served: true, Storage: true,
				Schema: &apiextensions.CustomResourceValidation{OpenAPIV3Schema: &apiextensions.JSONSchemaProps{
					Type: "object", Properties: map[string]apiextensions.JSONSchemaProps{"size": {Type: "integer", Minimum: new(1.0)}},
				}},
			}},
		},
	}
	scheme := runtime.NewScheme()
	require.NoError(t, apiextensions.AddToScheme(scheme))
	var body bytes.Buffer
	require.NoError(t, protobuf.NewSerializer(scheme, scheme).Encode(definition, &body))
	const path = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
	require.Contains(t, f.must("POST "+path, body.String(), "Content-Type: application/vnd.kubernetes.protobuf"), `"storedVersions":["v1"]`, "API-441")
	f.must("POST /apis/example.com/v1/namespaces/default/vaults", `{"apiVersion":"example.com/v1","kind":"Vault","metadata":{"name":"a"},"size":1}`)
	f.fails("POST /apis/example.com/v1/namespaces/default/vaults", `{"apiVersion":"example.com/v1","kind":"Vault","metadata":{"name":"b"},"size":0}`, 422,
		`Vault.example.com "b" is invalid: size: Invalid value: 0: size in body should be greater than or equal to 1`)
	body.Reset()
	scheme.AddKnownTypes(apiextensions.SchemeGroupVersion, &metav1.DeleteOptions{})
	options := &metav1.DeleteOptions{TypeMeta: metav1.TypeMeta{APIVersion: "apiextensions.k8s.io/v1", Kind: "DeleteOptions"}, Preconditions: metav1.NewUIDPreconditions("other")}
	require.NoError(t, protobuf.NewSerializer(scheme, scheme).Encode(options, &body))
	resp, got := f.request("DELETE "+path+"/vaults.example.com", body.String(), "Content-Type: application/vnd.kubernetes.protobuf")
	require.Equal(t, 409, resp.StatusCode, "API-441 %s", got)
	resp, _ = f.request("POST "+path, body.String()[:40], "Content-Type: application/vnd.kubernetes.protobuf")
	require.Equal(t, 400, resp.StatusCode, "API-441")
}

// TestTableOfReview: API-440, a review has no columns.
func TestTableOfReview(t *testing.T) {
	f := newFixture(t)
	const review = `{"apiVersion":"authorization.k8s.io/v1","kind":"SelfSubjectAccessReview","spec":{"nonResourceAttributes":{"path":"/","verb":"get"}}}`
	const path = "POST /apis/authorization.k8s.io/v1/selfsubjectaccessreviews"
	f.fails(path, review, 406, "only the following media types are accepted: application/json, application/yaml, application/vnd.kubernetes.protobuf",
		"Accept: application/json;as=Table;v=v1;g=meta.k8s.io")
	require.Contains(t, f.must(path, review, "Accept: application/json;as=Table;v=v1;g=meta.k8s.io,application/json"), `"allowed":true`, "API-440")
}

// TestNumberFields: API-444.
func TestNumberFields(t *testing.T) {
	f := newFixture(t)
	f.must("POST /api/v1/namespaces/default/replicationcontrollers",
		`{"metadata":{"name":"r"},"spec":{"replicas":2,"template":{"metadata":{"labels":{"a":"b"}},"spec":{"containers":[{"name":"c","image":"i"}]}}}}`)
	f.server.Do(func() { require.NoError(t, f.cluster.Settle()) })
	for path, want := range map[string]int{
		"/api/v1/replicationcontrollers?fieldSelector=status.replicas%3D2":                                           1,
		"/api/v1/replicationcontrollers?fieldSelector=status.replicas%3D3":                                           0,
		"/apis/certificates.k8s.io/v1/certificatesigningrequests?fieldSelector=spec.signerName%3Dexample.com%2Fnone": 0,
	} {
		names, _ := f.names("GET " + path)
		require.Len(t, names, want, "API-444 %s", path)
	}
}
