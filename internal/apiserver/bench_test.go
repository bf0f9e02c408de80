package apiserver_test

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/volsim/volsim"
	"github.com/volsim/volsim/internal/apiserver"
	"github.com/volsim/volsim/internal/apiserver/clock"
	"github.com/volsim/volsim/internal/core/internals"
)

// benchServer returns a server as volsim serve has it, with time that stands still.
func benchServer(b *testing.B) *apiserver.Server {
	b.Helper()
	c, err := volsim.New(volsim.Config{StrictNamespaces: true, TraceLimit: 100_000})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(c.Close)
	e := internals.Engine(c)
	cfg := apiserver.Config{Backend: apiserver.ForEngine(e), TaintNodes: true, PodPriority: true}
	server, _ := apiserver.NewWithClock(cfg, e, clock.Pace{Settle: true})
	return server
}

// send sends a request and reads the answer.
func send(b *testing.B, server http.RoundTripper, method, path, contentType, body string) {
	req, err := http.NewRequest(method, "http://volsim.invalid"+path, strings.NewReader(body))
	if err != nil {
		b.Fatal(err)
	}
	req.Header.Set("User-Agent", "bench/v1")
	req.Header.Set("Content-Type", contentType)
	resp, err := server.RoundTrip(req)
	if err != nil {
		b.Fatal(err)
	}
	if resp.StatusCode >= 300 {
		data, _ := io.ReadAll(resp.Body)
		b.Fatal(string(data))
	}
	_, _ = io.Copy(io.Discard, resp.Body)
	_ = resp.Body.Close()
}

const (
	jsonType  = "application/json"
	mergeType = "application/merge-patch+json"
	maps      = "/api/v1/namespaces/default/configmaps"
)

// BenchmarkWrites: one request per round, with managedFields, and what the controllers do about it.
func BenchmarkWrites(b *testing.B) {
	lines := []struct{ name, path, create string }{
		{"configmap", maps, `{"metadata":{"name":"NAME"},"data":{"k":"v"}}`},
		{"claim", claims, strings.Replace(claim, `"data"`, `"NAME"`, 1)},
		{"pod", pods, strings.Replace(pod, `"web"`, `"NAME"`, 1)},
	}
	for _, line := range lines {
		b.Run("create/"+line.name, func(b *testing.B) {
			server := benchServer(b)
			b.ReportAllocs()
			for i := 0; b.Loop(); i++ {
				send(b, server, "POST", line.path, jsonType, strings.Replace(line.create, "NAME", fmt.Sprintf("o%d", i), 1))
			}
		})
		b.Run("patch/"+line.name, func(b *testing.B) {
			server := benchServer(b)
			send(b, server, "POST", line.path, jsonType, strings.Replace(line.create, "NAME", "o", 1))
			b.ReportAllocs()
			for i := 0; b.Loop(); i++ {
				send(b, server, "PATCH", line.path+"/o", mergeType, fmt.Sprintf(`{"metadata":{"labels":{"n":"%d"}}}`, i))
			}
		})
	}
}

// BenchmarkFirstWrites: the first write of each of three groups in a new server, as in each test.
func BenchmarkFirstWrites(b *testing.B) {
	b.ReportAllocs()
	for b.Loop() {
		server := benchServer(b)
		send(b, server, "POST", maps, jsonType, `{"metadata":{"name":"o"},"data":{"k":"v"}}`)
		send(b, server, "POST", "/apis/storage.k8s.io/v1/storageclasses", jsonType, `{"metadata":{"name":"o"},"provisioner":"disk.example.com"}`)
		send(b, server, "POST", "/apis/apps/v1/namespaces/default/deployments", jsonType, `{"metadata":{"name":"o"},"spec":{"selector":{"matchLabels":{"a":"b"}},
			"template":{"metadata":{"labels":{"a":"b"}},"spec":{"containers":[{"name":"c","image":"i"}]}}}}`)
	}
}

// BenchmarkLists: one list of 10,000 objects per round.
func BenchmarkLists(b *testing.B) {
	server := benchServer(b)
	for i := range 10_000 {
		send(b, server, "POST", maps, jsonType, fmt.Sprintf(`{"metadata":{"name":"m%d"},"data":{"k":"v"}}`, i))
	}
	for _, query := range []string{"", "?limit=500", "?labelSelector=a"} {
		b.Run("list"+query, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				send(b, server, "GET", maps+query, jsonType, "")
			}
		})
	}
}

// BenchmarkServed: creates and lists through HTTP, the work of the client included.
func BenchmarkServed(b *testing.B) {
	server := benchServer(b)
	listener := httptest.NewServer(server)
	b.Cleanup(listener.Close)
	client := listener.Client()
	client.Transport.(*http.Transport).MaxIdleConnsPerHost = 10
	through := throughHTTP{client, strings.TrimPrefix(listener.URL, "http://")}
	b.Run("create", func(b *testing.B) {
		b.ReportAllocs()
		for i := 0; b.Loop(); i++ {
			send(b, through, "POST", maps, jsonType, fmt.Sprintf(`{"metadata":{"name":"m%d"},"data":{"k":"v"}}`, i))
		}
	})
	b.Run("list", func(b *testing.B) {
		for b.Loop() {
			send(b, through, "GET", maps, jsonType, "")
		}
	})
}

// throughHTTP sends requests to a listener.
type throughHTTP struct {
	client *http.Client
	host   string
}

// RoundTrip implements http.RoundTripper.
func (t throughHTTP) RoundTrip(req *http.Request) (*http.Response, error) {
	req.URL.Host = t.host
	return t.client.Do(req)
}
