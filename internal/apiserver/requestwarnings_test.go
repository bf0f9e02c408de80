package apiserver_test

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// TestRequestWarnings: what is about a request and not about an object (API-353).
func TestRequestWarnings(t *testing.T) {
	f := newFixture(t)
	const jobs, maps = "/apis/batch/v1/namespaces/default/jobs", "/api/v1/namespaces/default/configmaps"
	const preserved = `299 - "child pods are preserved by default when jobs are deleted; set propagationPolicy=Background to remove them or set ` +
		`propagationPolicy=Orphan to suppress this warning"`
	const owners = `"ownerReferences":[{"apiVersion":"v1","kind":"Pod","name":"p","uid":"1"},{"apiVersion":"v1","kind":"Pod","name":"p","uid":"1"},
		{"apiVersion":"v1","kind":"Pod","name":"q","uid":"2"},{"apiVersion":"v1","kind":"Pod","name":"q","uid":"2"}]`
	duplicates := func(when string) string {
		return `299 - ".metadata.ownerReferences contains duplicate entries` + when + `; API server dedups owner references in 1.20+, and may reject such requests as early as ` +
			`1.24; please fix your requests; duplicate UID(s) observed: 1, 2"`
	}
	f.must("POST "+maps, `{"metadata":{"name":"a"}}`)
	for _, test := range []struct{ id, line, body, contentType, want string }{
		{"API-353", "DELETE " + jobs + "/absent", "", "", preserved},
		{"API-353", "DELETE " + jobs + "/absent?propagationPolicy=Background", "", "", ""},
		{"API-353", "DELETE " + jobs, "", "", preserved},
		{"API-353", "DELETE " + maps + "/absent", "", "", ""},
		{"API-353", "POST " + maps + "?dryRun=All", `{"metadata":{"name":"b",` + owners + `}}`, "", duplicates("")},
		{"API-353", "PUT " + maps + "/a?dryRun=All", `{"metadata":{"name":"a",` + owners + `}}`, "", duplicates("")},
		{"API-353", "PATCH " + maps + "/a?dryRun=All", `{"metadata":{` + owners + `}}`, "application/merge-patch+json",
			duplicates(" after mutating admission happens")},
		{"API-557", "POST " + ingressPath, `{"metadata":{"name":"a","annotations":{"kubernetes.io/ingress.class":"b"}},"spec":{"defaultBackend":{"service":{"name":"a","port":{"number":1}}}}}`, "",
			`299 - "annotation \"kubernetes.io/ingress.class\" is deprecated, please use 'spec.ingressClassName' instead"`},
		{"API-559", "POST " + networkPath, `{"metadata":{"name":"a"},"spec":{"podSelector":{},"ingress":[{"from":[{"ipBlock":{"cidr":"FD00::/8"}}]}]}}`, "",
			`299 - "spec.ingress[0].from[0].ipBlock.cidr: IPv6 CIDR value \"FD00::/8\" should be in RFC 5952 canonical format (\"fd00::/8\")"`},
		{"API-561", "POST " + slicePath, `{"metadata":{"name":"a"},"addressType":"FQDN","endpoints":[{"addresses":["a.example.com"]}]}`, "",
			`299 - "spec.addressType: FQDN endpoints are deprecated"`},
	} {
		headers := []string{}
		if test.contentType != "" {
			headers = append(headers, "Content-Type: "+test.contentType)
		}
		resp, _ := f.request(test.line, test.body, headers...)
		require.Equal(t, test.want, resp.Header.Get("Warning"), "%s: %s", test.id, test.line)
	}
}
