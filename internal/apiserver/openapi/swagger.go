package openapi

import (
	"bytes"
	"encoding/json"

	"github.com/volsim/volsim/internal/apiserver/discovery"
)

// Swagger returns the OpenAPI v2 document in JSON, made from the documents of v3.
func (d *Documents) Swagger() ([]byte, error) {
	definitions := map[string]json.RawMessage{}
	for _, gv := range d.table.GroupVersions() {
		data, _, err := d.Of(gv)
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
		"swagger": "2.0", "info": object{"title": "Kubernetes", "version": discovery.Version.GitVersion}, "paths": object{}, "definitions": definitions,
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

// EmptySwagger returns an OpenAPI v2 document without definitions in protobuf.
func EmptySwagger() []byte {
	const swagger, info, paths = 1, 2, 8 // fields of the message Document
	const title, version = 1, 2          // fields of the message Info
	description := protoField(protoField(nil, title, "Kubernetes"), version, discovery.Version.GitVersion)
	return protoField(protoField(protoField(nil, swagger, "2.0"), info, string(description)), paths, "")
}

// protoField appends a field with fewer than 128 bytes.
func protoField(message []byte, number byte, value string) []byte {
	const bytesType = 2
	return append(append(message, number<<3|bytesType, byte(len(value))), value...)
}
