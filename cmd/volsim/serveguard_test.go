package main

import (
	"bytes"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// TestServeSecure: with TLS and a token, the commands work with the file that has both, and nothing else does.
func TestServeSecure(t *testing.T) {
	r := serving(t, serveFlags{time: "manual", listen: "0.0.0.0:0"})
	require.True(t, strings.HasPrefix(r.url, "https://"))
	_, err := http.Get(r.url + "/version")
	require.ErrorContains(t, err, "certificate")
	command(t, "clock", "now", "--kubeconfig", r.config)
}

func TestServeToken(t *testing.T) {
	r := serving(t, serveFlags{time: "manual", token: "secret"})
	code, text := r.send("GET /api/v1/nodes", "")
	require.Equal(t, http.StatusUnauthorized, code)
	require.Equal(t, unauthorized, text)
	code, _ = r.send("GET /volsim/trace", "", "Authorization: Bearer wrong")
	require.Equal(t, http.StatusUnauthorized, code)
	code, _ = r.send("GET /api/v1/nodes", "", "Authorization: Bearer secret")
	require.Equal(t, http.StatusOK, code)
	code, _ = r.send("GET /readyz", "")
	require.Equal(t, http.StatusOK, code)
	command(t, "clock", "now", "--kubeconfig", r.config)
}

// TestServeElsewhere: nobody can learn the token without a kubeconfig.
func TestServeElsewhere(t *testing.T) {
	var out, errOut bytes.Buffer
	require.Equal(t, exitUsage, execute([]string{"serve", "--listen", "0.0.0.0:0"}, nil, &out, &errOut))
	require.Contains(t, errOut.String(), "missing --kubeconfig")
}

// TestServeBadConnections: huge bodies, half requests and other sites change nothing, and others are served meanwhile.
func TestServeBadConnections(t *testing.T) {
	r := serving(t, serveFlags{time: "manual"})
	code, text := r.send("POST /api/v1/namespaces/default/configmaps", `{"metadata":{"name":"big"},"data":{"a":"`+strings.Repeat("x", 3<<20)+`"}}`)
	require.Equal(t, http.StatusRequestEntityTooLarge, code)
	require.Contains(t, text, "Request entity too large: limit is 3145728")
	code, _ = r.send("POST /volsim/do", "crash kube-scheduler", "Origin: http://elsewhere.example.com")
	require.Equal(t, http.StatusForbidden, code)

	address := strings.TrimPrefix(r.url, "http://")
	for _, text := range []string{
		"", "GET", "GET /api/v1/pods HTTP/1.1\r\nHost: ", "POST /api/v1/namespaces/default/configmaps HTTP/1.1\r\nHost: h\r\nContent-Length: 100\r\n\r\n{\"metadata\"",
		"GET /api/v1/pods?watch=1 HTTP/1.1\r\nHost: h\r\n\r\n", "\x00\xff\r\n\r\n",
	} {
		for range 20 {
			conn, err := net.Dial("tcp", address)
			require.NoError(t, err)
			_, err = io.WriteString(conn, text)
			require.NoError(t, err)
			defer conn.Close()
		}
	}
	begin := time.Now()
	code, text = r.send("GET /api/v1/namespaces/default/configmaps", "")
	require.Equal(t, http.StatusOK, code)
	require.NotContains(t, text, `"name":`)
	require.Less(t, time.Since(begin), 5*time.Second)
}
