package apiserver_test

import (
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/volsim/volsim/internal/apiserver"
)

// Requests for certificates: of system:masters, and of dev.
const (
	requestOfMasters = "LS0tLS1CRUdJTiBDRVJUSUZJQ0FURSBSRVFVRVNULS0tLS0KTUlIaE1JR0hBZ0VBTUNVeEZ6QVZCZ05WQkFvTURuTjVjM1JsYlRwdFlYTjBaWEp6TVFvd0NBWURWUVFEREFGaApNRmt3RXdZSEtvWkl6ajBDQVFZSUtvWkl6ajBEQVFjRFFnQUVyR3hlb2lzK2ZHOHkxNVo4V01Wb3VnTFNTZG0rCmpKKzRuUmhoVFhlSGRmUE1FNWJmOFllTi9iWjhSd3Q4a1N3dk9qa0dmeTlqZklSNGdEMkcyOHB5MnFBQU1Bb0cKQ0NxR1NNNDlCQU1DQTBrQU1FWUNJUURPazBXQ2lueXpVdXpsK3JVT2RMRWFmZkxlUnBLNG10QTVmUXVOQzhtTQpyQUloQUpIaVRubTZPbnRmeEpOdzkvdnVFNW1MSnd3N0RVQ3R0YUVtZU9UZkhTTUgKLS0tLS1FTkQgQ0VSVElGSUNBVEUgUkVRVUVTVC0tLS0tCg=="
	requestOfDev     = "LS0tLS1CRUdJTiBDRVJUSUZJQ0FURSBSRVFVRVNULS0tLS0KTUlIVU1Id0NBUUF3R2pFTU1Bb0dBMVVFQ2d3RFpHVjJNUW93Q0FZRFZRUUREQUZoTUZrd0V3WUhLb1pJemowQwpBUVlJS29aSXpqMERBUWNEUWdBRUIvT1ZRYTRnS3pHOHN0N3RLZ1hBOVg0Z2NobXNkUy96SitLT3hvMEF3RTJqCkV5clFkbE41d25BckRPNGZ2WVEwa01vSnZMY2ZmdHNSNng1Ly9QUGRnYUFBTUFvR0NDcUdTTTQ5QkFNQ0EwZ0EKTUVVQ0lFaWpRc3hnUE1Rd25YTDVJQUdodmp5ZU4zQU9Iam9GdFFuMmptRVZDZGZjQWlFQXhiVmVOSnNSWkk1cQo2R2ZkeEFWL3B3UjVvZ2Jha0k1cEhCN0pPSE9FOUlrPQotLS0tLUVORCBDRVJUSUZJQ0FURSBSRVFVRVNULS0tLS0K"
)

// TestAdmissionPlugins sends requests one after the other, as an administrator or as a user.
func TestAdmissionPlugins(t *testing.T) {
	f := newFixtureWith(t, apiserver.Config{})
	const requests, roles = "/apis/certificates.k8s.io/v1/certificatesigningrequests", "/apis/rbac.authorization.k8s.io/v1/"
	signing := func(name, request, signer string) string {
		return `{"metadata":{"name":"` + name + `"},"spec":{"request":"` + request + `","signerName":"` + signer + `","usages":["client auth"]}}`
	}
	status := func(kind string) string {
		return `{"status":{"conditions":[{"type":"` + kind + `","status":"True","reason":"R","message":"m"}]}}`
	}
	ingress := func(spec string) string {
		return `{"metadata":{"name":"i"},"spec":{` + spec + `"defaultBackend":{"service":{"name":"s","port":{"number":80}}}}}`
	}
	class := func(name string) string {
		return `{"metadata":{"name":"` + name + `","annotations":{"ingressclass.kubernetes.io/is-default-class":"true"}},"spec":{"controller":"example.com/c"}}`
	}
	for _, row := range []struct {
		rule, line, body, user string
		code                   int
		want                   string
	}{
		{"API-576", "POST " + requests, signing("m", requestOfMasters, "kubernetes.io/kube-apiserver-client"), "", 403,
			"is forbidden: use of kubernetes.io/kube-apiserver-client signer with system:masters group is not allowed"},
		{"API-576", "POST " + requests, signing("m", requestOfMasters, "example.com/x"), "", 201, ""},
		{"API-576", "POST " + requests, signing("x", requestOfDev, "example.com/x"), "", 201, ""},
		{"API-576", "POST " + roles + "clusterroles", `{"metadata":{"name":"r"},"rules":[{"apiGroups":["certificates.k8s.io"],"resources":["certificatesigningrequests/approval","certificatesigningrequests/status"],"verbs":["patch"]}]}`, "", 201, ""},
		{"API-576", "POST " + roles + "clusterrolebindings", `{"metadata":{"name":"r"},"roleRef":{"kind":"ClusterRole","name":"r","apiGroup":"rbac.authorization.k8s.io"},` +
			`"subjects":[{"kind":"User","name":"bob","apiGroup":"rbac.authorization.k8s.io"}]}`, "", 201, ""},
		{"API-576", "PATCH " + requests + "/x/approval?dryRun=All", status("Approved"), "bob", 403, `user not permitted to approve requests with signerName \"example.com/x\"`},
		{"API-576", "PATCH " + requests + "/x/status?dryRun=All", status("Failed"), "bob", 403, `user not permitted to sign requests with signerName \"example.com/x\"`},
		{"API-576", "PATCH " + requests + "/x/status?dryRun=All", `{"metadata":{"labels":{"a":"b"}}}`, "bob", 200, ""},
		{"API-576", "PATCH " + roles + "clusterroles/r", `{"rules":[{"apiGroups":["certificates.k8s.io"],"resources":["certificatesigningrequests/approval","certificatesigningrequests/status","signers"],"verbs":["patch","sign","approve"],` +
			`"resourceNames":["example.com/*","x"]}]}`, "", 200, ""},
		{"API-576", "PATCH " + requests + "/x/approval?dryRun=All", status("Approved"), "bob", 200, ""},
		{"API-576", "PATCH " + requests + "/x/status?dryRun=All", status("Failed"), "bob", 200, ""},
		{"API-577", "POST " + ingressPath + "?dryRun=All", ingress(""), "", 201, `"spec":{"defaultBackend"`},
		{"API-577", "POST " + classPath, class("b"), "", 201, ""},
		{"API-577", "POST " + classPath, class("a"), "", 201, ""},
		{"API-577", "POST " + ingressPath + "?dryRun=All", ingress(""), "", 201, `"ingressClassName":"a"`},
		{"API-577", "POST " + ingressPath + "?dryRun=All", ingress(`"ingressClassName":"c",`), "", 201, `"ingressClassName":"c"`},
	} {
		var headers []string
		if row.line[:5] == http.MethodPatch {
			headers = append(headers, mergePatch)
		}
		if row.user != "" {
			headers = append(headers, "Impersonate-User: "+row.user)
		}
		resp, got := f.request(row.line, row.body, headers...)
		require.Equal(t, row.code, resp.StatusCode, "%s: %s: %s", row.rule, row.line, got)
		require.Contains(t, got, row.want, "%s: %s", row.rule, row.line)
	}
}
