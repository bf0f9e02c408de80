package apiserver_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/volsim/volsim/internal/apiserver"
)

// TestPodSecurity sends requests one after the other. want is the code of the answer, the text of its warning, and a part of its body.
func TestPodSecurity(t *testing.T) {
	f := newFixtureWith(t, apiserver.Config{})
	const (
		pods      = "/api/v1/namespaces/strict/pods"
		namespace = "/api/v1/namespaces/strict"
		violates  = `restricted:latest\": allowPrivilegeEscalation != false (container \"a\" must set securityContext.allowPrivilegeEscalation=false)`
	)
	label := func(name, level string) string {
		return `{"metadata":{"labels":{"pod-security.kubernetes.io/` + name + `":"` + level + `"}}}`
	}
	for _, row := range []struct {
		rule, line, body string
		code             int
		warning, want    string
	}{
		{"API-573", "POST /api/v1/namespaces", `{"metadata":{"name":"x","labels":{"pod-security.kubernetes.io/warn":"strict"}}}`, 422, "",
			`metadata.labels[pod-security.kubernetes.io/warn]: Invalid value: \"strict\": must be one of privileged, baseline, restricted`},
		{"API-573", "POST /api/v1/namespaces", `{"metadata":{"name":"strict"}}`, 201, "", ""},
		{"API-574", "POST " + pods, plainPod, 201, "", `"name":"a"`},
		{"API-573", "PATCH " + namespace, label("enforce-version", "1"), 422, "", `must be \"latest\" or \"v1.x\"`},
		{"API-575", "PATCH " + namespace, label("enforce", "restricted"), 200,
			`299 - "a: allowPrivilegeEscalation != false, unrestricted capabilities, runAsNonRoot != true, seccompProfile"`, `"pod-security.kubernetes.io/enforce":"restricted"`},
		{"API-575", "PATCH " + namespace, `{"metadata":{"labels":{"a":"b"}}}`, 200, "", ""},
		{"API-574", "POST " + pods, `{"metadata":{"name":"b"},` + containers + `}`, 403, "", `pods \"b\" is forbidden: violates PodSecurity \"` + violates},
		{"API-574", "PATCH " + pods + "/a", `{"metadata":{"labels":{"a":"b"}}}`, 200, "", ""},
		{"API-574", "PATCH " + pods + "/a/status", `{"status":{"message":"m"}}`, 200, "", ""},
		{"API-574", "POST /apis/apps/v1/namespaces/strict/deployments", `{"metadata":{"name":"d"},"spec":{"selector":{"matchLabels":{"a":"b"}},"template":{"metadata":{"labels":{"a":"b"}},` + containers + `}}}`, 201,
			`299 - "would violate PodSecurity \"` + violates, `"name":"d"`},
		{"API-575", "PATCH " + namespace, label("enforce", "privileged"), 200, "", ""},
		{"API-574", "POST " + pods, `{"metadata":{"name":"b"},` + containers + `}`, 201, "", ""},
	} {
		var headers []string
		if strings.HasPrefix(row.line, "PATCH") {
			headers = append(headers, mergePatch)
		}
		resp, got := f.request(row.line, row.body, headers...)
		require.Equal(t, row.code, resp.StatusCode, "%s: %s: %s", row.rule, row.line, got)
		require.Contains(t, got, row.want, "%s: %s", row.rule, row.line)
		last := ""
		if warnings := resp.Header.Values("Warning"); len(warnings) > 0 {
			last = warnings[len(warnings)-1]
		}
		if row.warning == "" {
			require.Empty(t, last, "%s: %s", row.rule, row.line)
		}
		require.Contains(t, last, row.warning, "%s: %s", row.rule, row.line)
	}
}
