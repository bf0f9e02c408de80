package main

import (
	"bytes"
	"crypto/tls"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"io"
	"net"
	"net/http"
	"os"
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

// TestServeProtocols: through TLS there is HTTP/1.1 and HTTP/2, for requests that are answered at once and for others.
func TestServeProtocols(t *testing.T) {
	r := serving(t, serveFlags{time: "manual", secure: true})
	config, err := os.ReadFile(r.config)
	require.NoError(t, err)
	field := func(name string) string {
		_, rest, _ := strings.Cut(string(config), name+": ")
		value, _, _ := strings.Cut(rest, "\n")
		return value
	}
	authority, err := base64.StdEncoding.DecodeString(field("certificate-authority-data"))
	require.NoError(t, err)
	roots := x509.NewCertPool()
	require.True(t, roots.AppendCertsFromPEM(authority))
	const configmaps, accounts = "/api/v1/namespaces/default/configmaps", "/api/v1/namespaces/default/serviceaccounts"
	for _, test := range []struct {
		proto, name string
		http2       bool
	}{
		{"HTTP/1.1", "one", false},
		{"HTTP/2.0", "two", true},
	} {
		t.Run(test.proto, func(t *testing.T) {
			protocols := &http.Protocols{}
			protocols.SetHTTP1(!test.http2)
			protocols.SetHTTP2(test.http2)
			client := &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{RootCAs: roots}, Protocols: protocols}}
			defer client.CloseIdleConnections()
			token := field("token")
			send := func(method, path, body string, code int) string {
				req, err := http.NewRequest(method, r.url+path, strings.NewReader(body))
				require.NoError(t, err)
				req.Header.Set("Authorization", "Bearer "+token)
				resp, err := client.Do(req)
				require.NoError(t, err)
				defer resp.Body.Close()
				require.Equal(t, test.proto, resp.Proto)
				require.Equal(t, code, resp.StatusCode)
				data, err := io.ReadAll(resp.Body)
				require.NoError(t, err)
				return string(data)
			}
			long := strings.Repeat("x", 1<<20)
			send("POST", configmaps, `{"metadata":{"name":"`+test.name+`"}}`, http.StatusCreated)
			send("POST", configmaps, `{"metadata":{"name":"long-`+test.name+`"},"data":{"a":"`+long+`"}}`, http.StatusCreated)
			require.Contains(t, send("GET", configmaps, "", http.StatusOK), long)
			require.Contains(t, send("GET", configmaps+"?watch=true&timeoutSeconds=1", "", http.StatusOK), `"name":"`+test.name+`"`)
			require.Equal(t, "404 page not found\n", send("GET", "/none", "", http.StatusNotFound))
			send("DELETE", configmaps+"/"+test.name, "", http.StatusOK)
			// API-492: a token of a ServiceAccount is accepted, too, but not a forged one.
			send("POST", accounts, `{"metadata":{"name":"`+test.name+`"}}`, http.StatusCreated)
			var issued struct{ Status struct{ Token string } }
			require.NoError(t, json.Unmarshal([]byte(send("POST", accounts+"/"+test.name+"/token", "{}", http.StatusCreated)), &issued))
			token = issued.Status.Token
			require.Contains(t, send("GET", configmaps, "", http.StatusForbidden), "system:serviceaccount:default:"+test.name)
			send("GET", "/volsim/trace", "", http.StatusUnauthorized)
			head, payload, _ := strings.Cut(token, ".")
			payload, _, _ = strings.Cut(payload, ".")
			for _, token = range []string{"eyJhbGciOiJub25lIiwidHlwIjoiSldUIn0." + payload + ".", head + "." + payload + ".", head + "." + payload + ".AAAA"} {
				send("GET", configmaps, "", http.StatusUnauthorized)
			}
		})
	}
	resp, err := http.Get("http" + strings.TrimPrefix(r.url, "https"))
	require.NoError(t, err)
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	require.NoError(t, err)
	require.Equal(t, "400 Bad Request: Client sent an HTTP request to an HTTPS server.\n", resp.Status+": "+string(text))
	_, err = http.Get(r.url)
	require.ErrorContains(t, err, "certificate")
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

// TestServeElsewhere: the token cannot be learned without a kubeconfig.
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
	require.Equal(t, 1, strings.Count(text, `"uid":`), "kube-root-ca.crt alone")
	require.Less(t, time.Since(begin), 5*time.Second)
}
