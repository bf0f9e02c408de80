package apiserver

import (
	"net/http"
	"strings"

	"k8s.io/apimachinery/pkg/runtime"

	"github.com/volsim/volsim/internal/apiserver/openapi"
)

// serveOpenAPI answers requests for the index of OpenAPI documents and for the documents. It returns nil for other paths.
func (s *Server) serveOpenAPI(req *http.Request) *answer {
	rest, ok := strings.CutPrefix(strings.TrimSuffix(req.URL.Path, "/"), "/openapi/v3")
	if !ok || rest != "" && rest[0] != '/' {
		return nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if rest == "" {
		data, err := s.documents.Index()
		if err != nil {
			return failure(req, nil, err)
		}
		return &answer{code: http.StatusOK, contentType: runtime.ContentTypeJSON, data: data}
	}
	for _, gv := range s.resources.GroupVersions() {
		if rest != "/"+openapi.PathOf(gv) {
			continue
		}
		data, hash, err := s.documents.Of(gv)
		if err != nil {
			return failure(req, nil, err)
		}
		if given := req.URL.Query().Get("hash"); given != "" && given != hash {
			location := *req.URL
			location.RawQuery = "hash=" + hash
			return &answer{
				code: http.StatusMovedPermanently, contentType: "text/plain; charset=utf-8", header: http.Header{"Location": {location.String()}},
			}
		}
		return &answer{code: http.StatusOK, contentType: runtime.ContentTypeJSON, data: data, header: http.Header{"Etag": {`"` + hash + `"`}}}
	}
	return failure(req, nil, errNoRoute)
}

// swaggerProto is the media type in which client-go asks for the OpenAPI v2 document.
const swaggerProto = "application/com.github.proto-openapi.spec.v2.v1.0+protobuf"

// serveOpenAPIV2 answers requests for the OpenAPI v2 document, nil for others. Clients use it for kinds that the documents of v3 do not have,
// such as List. In JSON it has the schemas of all kinds; in protobuf it has none, so that such clients leave the validation to the server.
func (s *Server) serveOpenAPIV2(req *http.Request) *answer {
	if strings.TrimSuffix(req.URL.Path, "/") != "/openapi/v2" {
		return nil
	}
	if req.Method != http.MethodGet {
		return failure(req, nil, errMethod())
	}
	if strings.Contains(req.Header.Get("Accept"), "protobuf") {
		return &answer{code: http.StatusOK, contentType: swaggerProto, data: openapi.EmptySwagger()}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	data, err := s.documents.Swagger()
	if err != nil {
		return failure(req, nil, err)
	}
	return &answer{code: http.StatusOK, contentType: "application/json", data: data}
}
