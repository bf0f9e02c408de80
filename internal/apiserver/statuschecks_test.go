package apiserver_test

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"net/http"
	"path"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	authenticationv1 "k8s.io/api/authentication/v1"

	"github.com/volsim/volsim/internal/apiserver"
)

// TestStatusChecks: what is refused in updates of a status (API-450 to API-456). The comparison with a real server has all cases.
func TestStatusChecks(t *testing.T) {
	f := newFixtureWith(t, apiserver.Config{})
	template := `"template":{"metadata":{"labels":{"a":"b"}},"spec":{"restartPolicy":"%s","containers":[{"name":"c","image":"i"}]}}`
	always, never := fmt.Sprintf(template, "Always"), fmt.Sprintf(template, "Never")
	selector := `"selector":{"matchLabels":{"a":"b"}},`
	const apps, batch = "/apis/apps/v1/namespaces/default/", "/apis/batch/v1/namespaces/default/"
	const budgets, scalers = "/apis/policy/v1/namespaces/default/poddisruptionbudgets", "/apis/autoscaling/v2/namespaces/default/horizontalpodautoscalers"
	for path, spec := range map[string]string{
		apps + "deployments": selector + always, apps + "replicasets": selector + always, apps + "statefulsets": selector + always,
		apps + "daemonsets": selector + always, "/api/v1/namespaces/default/replicationcontrollers": `"selector":{"a":"b"},` + always,
		batch + "jobs": never, budgets: `"minAvailable":1`, scalers: `"maxReplicas":3,"scaleTargetRef":{"apiVersion":"apps/v1","kind":"Deployment","name":"x"}`,
	} {
		f.must("POST "+path, `{"metadata":{"name":"x"},"spec":{`+spec+`}}`)
	}
	for _, tt := range []struct{ rule, path, status, want string }{
		{"API-451", apps + "deployments", `"replicas":1,"updatedReplicas":2`, "status.updatedReplicas: Invalid value: 2: cannot be greater than status.replicas"},
		{"API-451", apps + "deployments", `"collisionCount":-1`, "status.collisionCount: Invalid value: -1: must be greater than or equal to 0"},
		{"API-451", apps + "deployments", `"collisionCount":2`, ""},
		{"API-451", apps + "deployments", `"collisionCount":1`, "status.collisionCount: Invalid value: 1: cannot be decremented"},
		{"API-451", apps + "replicasets", `"replicas":3,"availableReplicas":2,"readyReplicas":1`, "cannot be greater than readyReplicas"},
		{"API-451", apps + "statefulsets", `"replicas":1,"currentReplicas":2`, "status.currentReplicas: Invalid value: 2: cannot be greater than status.replicas"},
		{"API-451", apps + "daemonsets", `"numberReady":-1`, "status.numberReady: Invalid value: -1"},
		{"API-451", "/api/v1/namespaces/default/replicationcontrollers", `"fullyLabeledReplicas":2`, "status.fullyLabeledReplicas: Invalid value: 2"},
		{"API-452", batch + "jobs", `"conditions":[{"type":"Complete","status":"True"}]`, "cannot set Complete=True condition without the SuccessCriteriaMet=true condition"},
		{"API-452", batch + "jobs", `"completedIndexes":"0-1"`, "cannot set non-empty completedIndexes when non-indexed completion mode"},
		{"API-452", batch + "jobs", `"active":1,"ready":1,"failed":2`, ""},
		{"API-452", batch + "jobs", `"failed":1`, "cannot decrease the failed counter"},
		{"API-454", budgets, `"conditions":[{"type":"a b"}]`, "status.conditions[0].type: Invalid value"},
		{"API-456", scalers, `"currentReplicas":-1`, "status.currentReplicas: Invalid value: -1"},
	} {
		resp, body := f.request("PATCH "+tt.path+"/x/status", `{"status":{`+tt.status+`}}`, mergePatch)
		if tt.want == "" {
			require.Equal(t, http.StatusOK, resp.StatusCode, "%s: %s", tt.rule, body)
			continue
		}
		require.Equal(t, http.StatusUnprocessableEntity, resp.StatusCode, "%s: %s", tt.rule, body)
		require.Contains(t, body, tt.want, tt.rule)
	}
	require.Contains(t, f.must("GET "+apps+"daemonsets/x", ""), `"f:deprecated.daemonset.template.generation":{}`, "API-455")
	require.Contains(t, f.must("GET "+scalers+"/x", ""), `"averageUtilization":80`, "API-456")
	_, body := f.request("POST "+scalers, `{"metadata":{"name":"y"},"spec":{"maxReplicas":0,"scaleTargetRef":{"apiVersion":"v1","kind":"X","name":"x"}}}`)
	require.Contains(t, body, "spec.maxReplicas: Required value: must be set and greater than 0", "API-456")
	require.Contains(t, body, "apiVersion must specify API group", "API-456")

	change := `{"metadata":{"labels":{"l":"1"},"annotations":{"n":"1"}}}`
	deployment := f.must("PATCH "+apps+"deployments/x/status", change, mergePatch)
	require.Contains(t, deployment, `"n":"1"`, "API-450")
	require.NotContains(t, deployment, `"l":"1"`, "API-450")
	f.must("POST /apis/networking.k8s.io/v1/servicecidrs", `{"metadata":{"name":"x"},"spec":{"cidrs":["10.7.0.0/16"]}}`)
	require.NotContains(t, f.must("PATCH /apis/networking.k8s.io/v1/servicecidrs/x/status", change, mergePatch), `"n":"1"`, "API-450")
}

// TestSigning: a request for a certificate is approved and signed (API-453).
func TestSigning(t *testing.T) {
	f := newFixture(t)
	const path = "/apis/certificates.k8s.io/v1/certificatesigningrequests"
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	require.NoError(t, err)
	der, err := x509.CreateCertificateRequest(rand.Reader, &x509.CertificateRequest{}, key)
	require.NoError(t, err)
	request := base64.StdEncoding.EncodeToString(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE REQUEST", Bytes: der}))
	_, body := f.request("POST "+path, `{"metadata":{"name":"x"},"spec":{"request":"eA==","signerName":"x"}}`)
	require.Contains(t, body, "PEM block type must be CERTIFICATE REQUEST", "API-453")
	require.Contains(t, body, "spec.usages: Required value", "API-453")
	body = f.must("POST "+path, `{"metadata":{"name":"x"},"spec":{"username":"eve","request":"`+request+`","signerName":"example.com/s","usages":["client auth"]}}`)
	require.Contains(t, body, `"username":"test","groups":["system:masters","system:authenticated"]`, "API-505")

	approved := `{"status":{"conditions":[{"type":"Approved","status":"True"}]}}`
	_, body = f.request("PATCH "+path+"/x/status", approved, mergePatch)
	require.Contains(t, body, `updates may not add a condition of type \"Approved\"`, "API-453")
	body = f.must("PATCH "+path+"/x/approval", `{"metadata":{"annotations":{"n":"1"}},"status":{"certificate":"eA==","conditions":[{"type":"Approved","status":"True"}]}}`, mergePatch)
	require.Contains(t, body, `"n":"1"`, "API-450")
	require.NotContains(t, body, `"certificate"`, "API-453")
	require.NotContains(t, body, `"lastUpdateTime":null`, "API-453")
	_, body = f.request("PATCH "+path+"/x/approval", `{"status":{"conditions":[]}}`, mergePatch)
	require.Contains(t, body, `updates may not remove a condition of type \"Approved\"`, "API-453")
	_, body = f.request("PATCH "+path+"/x/status", `{"status":{"certificate":"eA=="}}`, mergePatch)
	require.Contains(t, body, "must contain at least one CERTIFICATE PEM block", "API-453")
	body = f.must("PATCH "+path+"/x", `{"spec":{"signerName":"other.com/s"}}`, mergePatch)
	require.Contains(t, body, `"signerName":"example.com/s"`, "API-453")
}

// TestConfigData: keys and types of Secrets and ConfigMaps (API-461).
func TestConfigData(t *testing.T) {
	f := newFixture(t)
	for _, tt := range []struct{ path, fields, want string }{
		{"secrets", `"data":{"":"eA=="}`, "data[]: Invalid value"},
		{"secrets", `"stringData":{"a/b":"x"}`, "data[a/b]: Invalid value"},
		{"secrets", `"type":"kubernetes.io/tls","data":{"tls.crt":"eA=="}`, "data[tls.key]: Required value"},
		{"secrets", `"type":"kubernetes.io/dockerconfigjson","stringData":{".dockerconfigjson":"x"}`, "secret contents redacted"},
		{"secrets", `"type":"kubernetes.io/basic-auth"`, "data[password]: Required value"},
		{"secrets", `"type":"kubernetes.io/ssh-auth"`, "data[ssh-privatekey]: Required value"},
		{"secrets", `"type":"kubernetes.io/service-account-token"`, "metadata.annotations[kubernetes.io/service-account.name]: Required value"},
		{"configmaps", `"data":{"a b":"x"}`, "data[a b]: Invalid value"},
		{"configmaps", `"data":{"a":"x"},"binaryData":{"a":"eA=="}`, "duplicate of key present in binaryData"},
	} {
		resp, body := f.request("POST /api/v1/namespaces/default/"+tt.path, `{"metadata":{"name":"x"},`+tt.fields+`}`)
		require.Equal(t, http.StatusUnprocessableEntity, resp.StatusCode, "API-461: %s: %s", tt.fields, body)
		require.Contains(t, body, tt.want, "API-461")
	}
}

// TestTokenReview: a token that the server has issued names its user (API-462).
func TestTokenReview(t *testing.T) {
	f := newFixture(t)
	const accounts, reviews = "/api/v1/namespaces/default/serviceaccounts", "/apis/authentication.k8s.io/v1/tokenreviews"
	f.must("POST "+accounts, `{"metadata":{"name":"x"}}`)
	var issued authenticationv1.TokenRequest
	require.NoError(t, json.Unmarshal([]byte(f.must("POST "+accounts+"/x/token", `{"spec":{"audiences":["a","b"]}}`)), &issued))
	review := func(audiences string) string {
		return f.must("POST "+reviews, `{"spec":{"token":"`+issued.Status.Token+`","audiences":[`+audiences+`]}}`)
	}
	require.Contains(t, review(`"b","c"`), `"authenticated":true,"user":{"username":"system:serviceaccount:default:x"`, "API-462")
	require.Contains(t, review(`"b","c"`), `"audiences":["b"]`, "API-462")
	require.Contains(t, review(`"c"`), "invalid bearer token", "API-462")
	f.must("DELETE "+accounts+"/x", "")
	require.Contains(t, review(`"b"`), "invalid bearer token", "API-462")
	f.fails("POST "+reviews, `{"spec":{}}`, 400, "token is required for TokenReview in authentication")
}

// TestBoundTokens requests tokens that end with an object.
func TestBoundTokens(t *testing.T) {
	const accounts, pod = "/api/v1/namespaces/default/serviceaccounts", `{"metadata":{"name":"NAME"},"spec":{"serviceAccountName":"x","nodeName":"n","containers":[{"name":"a","image":"b"}]}}`
	f := newFixture(t)
	f.must("POST "+accounts, `{"metadata":{"name":"x"}}`)
	f.must("POST "+accounts, `{"metadata":{"name":"y"}}`)
	f.must("POST "+corePath+"pods", strings.Replace(pod, "NAME", "p", 1))
	f.must("POST /api/v1/nodes", `{"metadata":{"name":"n"}}`)
	f.must("POST "+corePath+"secrets", `{"metadata":{"name":"s"}}`)
	for _, row := range []struct{ rule, account, body, want string }{
		{"API-554", "x", `{"metadata":{"name":"y"}}`, `422 metadata.name: Invalid value: "y": must match the service account name if specified`},
		{"API-554", "x", `{"metadata":{"uid":"u"}}`, `409 the UID in the token request (u) does not match the UID of the service account`},
		{"API-554", "x", `{"spec":{"boundObjectRef":{"kind":"ConfigMap","apiVersion":"v1","name":"c"}}}`, `400 cannot bind token to object of type /v1, Kind=ConfigMap`},
		{"API-554", "x", `{"spec":{"boundObjectRef":{"kind":"Pod","apiVersion":"v1"}}}`, `400 Name parameter required.`},
		{"API-554", "x", `{"spec":{"boundObjectRef":{"kind":"Pod","apiVersion":"v1","name":"q"}}}`, `404 pods "q" not found`},
		{"API-554", "y", `{"spec":{"boundObjectRef":{"kind":"Pod","apiVersion":"v1","name":"p"}}}`,
			`400 cannot bind token for serviceaccount "y" to pod running with different serviceaccount name.`},
		{"API-554", "x", `{"spec":{"boundObjectRef":{"kind":"Pod","apiVersion":"v1","name":"p","uid":"u"}}}`, `409 the UID in the bound object reference (u) does not match the UID in record`},
	} {
		resp, got := f.request("POST "+accounts+"/"+row.account+"/token", row.body)
		require.Equal(t, row.want[:3], resp.Status[:3], "%s: %s: %s", row.rule, row.body, got)
		require.Contains(t, strings.ReplaceAll(got, `\"`, `"`), row.want[4:], "%s: %s", row.rule, row.body)
	}
	for _, bound := range []struct{ kind, path, extra string }{
		{"Pod", corePath + "pods/p?gracePeriodSeconds=0", `"authentication.kubernetes.io/pod-name":["p"]`},
		{"Secret", corePath + "secrets/s", ""},
		{"Node", "/api/v1/nodes/n", `"authentication.kubernetes.io/node-name":["n"]`},
	} {
		name := strings.TrimSuffix(path.Base(bound.path), "?gracePeriodSeconds=0")
		var issued authenticationv1.TokenRequest
		ref := `{"spec":{"boundObjectRef":{"kind":"` + bound.kind + `","apiVersion":"v1","name":"` + name + `"}}}`
		require.NoError(t, json.Unmarshal([]byte(f.must("POST "+accounts+"/x/token", ref)), &issued))
		review := func() string {
			return f.must("POST /apis/authentication.k8s.io/v1/tokenreviews", `{"spec":{"token":"`+issued.Status.Token+`"}}`)
		}
		require.Contains(t, review(), `"authenticated":true`, "API-554: %s", bound.kind)
		require.Contains(t, review(), bound.extra, "API-554: %s", bound.kind)
		f.must("DELETE "+bound.path, "")
		require.Contains(t, review(), "invalid bearer token", "API-554: %s", bound.kind)
	}
}
