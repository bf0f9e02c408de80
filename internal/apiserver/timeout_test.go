package apiserver_test

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// TestTimeouts checks which requests have an invalid timeout, as kube-apiserver sees it.
func TestTimeouts(t *testing.T) {
	for _, tc := range []struct{ rule, name, line, message string }{
		{"API-516", "a duration", "GET " + claims + "?timeout=5s", ""},
		{"API-516", "zero", "GET " + claims + "?timeout=0s", ""},
		{"API-516", "none", "GET " + claims + "?timeout=", ""},
		{"API-516", "a word", "GET " + claims + "?timeout=soon", `invalid timeout specified in the request URL - time: invalid duration \"soon\"`},
		{"API-516", "without a unit", "GET /version?timeout=5", `invalid timeout specified in the request URL - time: missing unit in duration \"5\"`},
		{"API-516", "another parameter", "GET " + claims + "?limit=1&labelSelector=timeout%3Dsoon", ""},
	} {
		t.Run(tc.name, func(t *testing.T) {
			resp, got := newFixture(t).request(tc.line, "")
			if tc.message == "" {
				require.Equal(t, 200, resp.StatusCode, "%s: %s", tc.rule, got)
				return
			}
			require.Equal(t, 400, resp.StatusCode, "%s: %s", tc.rule, got)
			require.Contains(t, got, tc.message, tc.rule)
			require.Contains(t, got, `"reason":"BadRequest"`, tc.rule)
		})
	}
}
