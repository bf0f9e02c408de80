package apiserver_test

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/volsim/volsim"
	"github.com/volsim/volsim/internal/apiserver"
	"github.com/volsim/volsim/internal/core/internals"
)

// TestSharedLists: a list whose items are shared is, byte for byte, one that is encoded for a request, in process and through HTTP.
func TestSharedLists(t *testing.T) {
	c, err := volsim.New(volsim.Config{})
	require.NoError(t, err)
	t.Cleanup(c.Close)
	server := apiserver.New(apiserver.Config{Backend: apiserver.ForEngine(internals.Engine(c))})
	listener := httptest.NewServer(server)
	t.Cleanup(listener.Close)
	send := func(method, path, body string) string {
		t.Helper()
		var first string
		for i, do := range []func(*http.Request) (*http.Response, error){server.RoundTrip, listener.Client().Do} {
			if i > 0 && method != http.MethodGet {
				break
			}
			req, err := http.NewRequest(method, listener.URL+path, strings.NewReader(body))
			require.NoError(t, err)
			resp, err := do(req)
			require.NoError(t, err)
			data, err := io.ReadAll(resp.Body)
			require.NoError(t, err)
			require.NoError(t, resp.Body.Close())
			require.Equal(t, len(data), int(resp.ContentLength))
			require.Equal(t, strconv.Itoa(len(data)), resp.Header.Get("Content-Length"))
			if i == 0 {
				first = string(data)
			}
			require.Equal(t, first, string(data))
		}
		return first
	}
	// A selector that selects everything takes the other way, and so does a format.
	const encoded = "?fieldSelector=metadata.name%21%3Dx"
	check := func(n int) {
		t.Helper()
		for _, path := range []string{maps, "/api/v1/configmaps", "/api/v1/namespaces/other/configmaps", claims} {
			want := send("GET", path+encoded, "")
			for range 3 {
				require.Equal(t, want, send("GET", path, ""))
			}
			require.Equal(t, send("GET", path+encoded+"&pretty=true", ""), send("GET", path+"?pretty=true", ""))
			if path == maps {
				require.Equal(t, n, strings.Count(want, `"name":"m`))
			}
		}
	}
	check(0)
	for i := range 3 {
		send("POST", maps, `{"metadata":{"name":"m`+strconv.Itoa(i)+`"},"data":{"k":"v"}}`)
		check(i + 1)
		send("POST", claims, strings.Replace(claim, `"data"`, `"c`+strconv.Itoa(i)+`"`, 1)) // the list has another version, and the same items
		check(i + 1)
	}
	send("PUT", maps+"/m1", `{"metadata":{"name":"m1"},"data":{"k":"w"}}`)
	check(3)
	send("DELETE", maps+"/m0", "")
	check(2)
}
