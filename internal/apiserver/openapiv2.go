package apiserver

import (
	"bytes"
	"encoding/json"
	"net/http"
	"strings"
)

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
		return &answer{code: http.StatusOK, contentType: swaggerProto, data: emptySwagger()}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	data, err := s.swagger()
	if err != nil {
		return failure(req, nil, err)
	}
	return &answer{code: http.StatusOK, contentType: "application/json", data: data}
}

// swagger returns the OpenAPI v2 document in JSON, made from the documents of v3.
func (s *Server) swagger() ([]byte, error) {
	definitions := map[string]json.RawMessage{}
	for _, gv := range s.groupVersions() {
		data, _, err := s.openAPIDocument(gv)
		if err != nil {
			return nil, err
		}
		var document struct {
			Components struct {
				Schemas map[string]json.RawMessage `json:"schemas"`
			} `json:"components"`
		}
		if err := json.Unmarshal(data, &document); err != nil {
			return nil, err
		}
		for name, schema := range document.Components.Schemas {
			definitions[name] = asSwagger(schema)
		}
	}
	return json.Marshal(object{
		"swagger": "2.0", "info": object{"title": "Kubernetes", "version": serverVersion.GitVersion}, "paths": object{}, "definitions": definitions,
	})
}

// asSwagger converts a schema of v3: v2 has its definitions elsewhere, and no alternatives.
func asSwagger(schema []byte) []byte {
	var top struct {
		Any  bool            `json:"x-kubernetes-preserve-unknown-fields"`
		Kind json.RawMessage `json:"x-kubernetes-group-version-kind"`
	}
	if json.Unmarshal(schema, &top) == nil && top.Any {
		// API-445: kubectl would take a field that is not listed for a mistake.
		return append(append([]byte(`{"type":"object","x-kubernetes-group-version-kind":`), top.Kind...), '}')
	}
	for _, pair := range [...][2]string{
		{`"#/components/schemas/`, `"#/definitions/`},
		{`"oneOf":[{"type":"string"},{"type":"number"}]`, `"type":"string"`},
		{`"oneOf":[{"type":"integer"},{"type":"string"}]`, `"type":"string"`},
	} {
		schema = bytes.ReplaceAll(schema, []byte(pair[0]), []byte(pair[1]))
	}
	return schema
}

// emptySwagger returns an OpenAPI v2 document without definitions in protobuf.
func emptySwagger() []byte {
	const swagger, info, paths = 1, 2, 8 // fields of the message Document
	const title, version = 1, 2          // fields of the message Info
	description := protoField(protoField(nil, title, "Kubernetes"), version, serverVersion.GitVersion)
	return protoField(protoField(protoField(nil, swagger, "2.0"), info, string(description)), paths, "")
}

// protoField appends a field with fewer than 128 bytes.
func protoField(message []byte, number byte, value string) []byte {
	const bytesType = 2
	return append(append(message, number<<3|bytesType, byte(len(value))), value...)
}
