package apiserver

import (
	"crypto/sha512"
	"encoding/json"
	"fmt"
	"net/http"
	"strconv"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/volsim/volsim/internal/apiserver/discovery"
	"github.com/volsim/volsim/internal/apiserver/resources"
)

// allowsAggregation reports whether discovery has a form.
func allowsAggregation(_ string, as *schema.GroupVersionKind) bool {
	return as == nil || *as == discovery.Aggregation.WithKind("APIGroupDiscoveryList")
}

// Endpoints of discovery (API-587).
var (
	coreEndpoint     = endpoint{allows: allowsAggregation, route: bodyTypes}
	groupsEndpoint   = endpoint{allows: allowsAggregation}
	resourceEndpoint = endpoint{allows: unconverted.allows, route: bodyTypes}
	versionEndpoint  = endpoint{route: bodyTypes[:1:1]}
	// anyEndpoint answers whatever the request accepts.
	anyEndpoint = endpoint{}
)

// serveDiscovery answers requests that are not for objects: discovery, version, health and metrics. It returns nil for others.
func (s *Server) serveDiscovery(req *http.Request) *answer {
	if a := serveHealth(req); a != nil {
		return a
	}
	path := strings.TrimSuffix(req.URL.Path, "/")
	if strings.Count(path, "/") > 3 {
		return nil // longer than /apis/GROUP/VERSION
	}
	s.mu.Lock()
	document, in := s.document(path)
	s.mu.Unlock()
	if document == nil {
		return nil
	}
	if req.Method != http.MethodGet {
		return failure(req, nil, errMethod())
	}
	f, err := negotiate(req, in)
	if err != nil {
		return failure(req, nil, err)
	}
	s.mu.Lock()
	value := document(f)
	s.mu.Unlock()
	if text, ok := value.(metricsText); ok {
		return &answer{code: http.StatusOK, contentType: metricsType, data: []byte(text)}
	}
	var data []byte
	if obj, ok := value.(runtime.Object); ok {
		data, err = f.encode(obj, obj.GetObjectKind().GroupVersionKind())
	} else {
		f = format{raw: true}
		data, err = json.Marshal(value)
	}
	contentType := f.contentType()
	if f.as != nil {
		contentType += ";g=" + f.as.Group + ";v=" + f.as.Version + ";as=" + f.as.Kind
	}
	if err == nil {
		data, err = f.write(data)
	}
	if err != nil {
		return failure(req, nil, err)
	}
	if f.as == nil {
		return &answer{code: http.StatusOK, contentType: contentType, data: data}
	}
	// API-518: a client that knows the document gets 304.
	tag := strconv.Quote(fmt.Sprintf("%X", sha512.Sum512(data)))
	a := &answer{code: http.StatusOK, contentType: contentType, data: data, header: http.Header{"Vary": {"Accept"}, "Etag": {tag}}}
	if req.Header.Get("If-None-Match") == tag {
		a.code, a.data = http.StatusNotModified, nil
	}
	return a
}

// document returns the function that makes the document at a path, in a format, and the formats that it has. It returns
// nil for a path without one. The caller has the lock.
func (s *Server) document(path string) (make func(format) any, in endpoint) {
	fixed := func(value any) func(format) any { return func(format) any { return value } }
	switch path {
	case "/api":
		return func(f format) any {
			if f.as != nil {
				return discovery.Aggregated(s.resources, func(group string) bool { return group == "" })
			}
			return discovery.CoreVersions()
		}, coreEndpoint
	case "/apis":
		return func(f format) any {
			if f.as != nil {
				return discovery.Aggregated(s.resources, func(group string) bool { return group != "" })
			}
			return discovery.Groups(s.resources)
		}, groupsEndpoint
	case "/metrics":
		return func(format) any { return s.metrics() }, anyEndpoint
	case "/metrics/slis":
		return fixed(metricsText(discovery.HealthMetrics())), anyEndpoint
	case "/version":
		return fixed(discovery.Version), versionEndpoint
	case "":
		return fixed(metav1.RootPaths{Paths: discovery.Paths(s.resources)}), anyEndpoint
	}
	if group, ok := strings.CutPrefix(path, "/apis/"); ok {
		for _, g := range s.resources.Groups() {
			if group == g.Name && group != "" {
				return fixed(discovery.Group(g)), unconverted
			}
			for _, gv := range g.Versions {
				if group == gv.String() {
					return fixed(discovery.Resources(s.resources, gv)), resourceEndpoint
				}
			}
		}
	}
	if path == "/api/v1" {
		return fixed(discovery.Resources(s.resources, resources.CoreGroup)), resourceEndpoint
	}
	return nil, endpoint{}
}

// serveHealth answers a request for a health endpoint or one of its checks, with any method. It returns nil for other paths.
func serveHealth(req *http.Request) *answer {
	text, single, ok := discovery.Health(strings.TrimPrefix(req.URL.Path, "/"), req.URL.Query())
	if !ok {
		return nil
	}
	a := plainText(http.StatusOK, text)
	if !single {
		a.header = http.Header{"X-Content-Type-Options": {"nosniff"}}
	}
	return a
}
