package definition

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	apiextensions "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	kjson "sigs.k8s.io/json"

	"github.com/volsim/volsim/internal/core/plain"
)

// GVK is the kind of a definition.
var GVK = schema.GroupVersionKind{Group: "apiextensions.k8s.io", Version: "v1", Kind: "CustomResourceDefinition"}

// As drops what a CustomResourceDefinition cannot have from obj, which was decoded from data (API-347). The error is about a field of
// another type, or a strict decoding error about unknown fields and duplicates.
func As(obj *plain.Object, data []byte, strict bool) error {
	typed := &apiextensions.CustomResourceDefinition{}
	var unknown []error
	var err error
	if strict {
		unknown, err = kjson.UnmarshalStrict(data, typed)
	} else {
		err = DecodeNumbers(data, typed)
	}
	if err != nil {
		return err
	}
	if err := setSpec(obj.Content(), typed); err != nil {
		return err
	}
	if len(unknown) > 0 {
		// API-347: a mistyped field would mean nothing.
		return runtime.NewStrictDecodingError(unknown)
	}
	return nil
}

// setSpec replaces a spec by that of the Go type, which has no other fields, and none that is omitted in JSON.
func setSpec(content map[string]any, typed *apiextensions.CustomResourceDefinition) error {
	if _, ok := content["spec"]; !ok {
		return nil
	}
	var spec map[string]any
	data, err := json.Marshal(typed.Spec)
	if err == nil {
		err = DecodeNumbers(data, &spec)
	}
	content["spec"] = spec
	return err
}

// Merged returns the definition with the fields that a patch or an apply has made (API-556). The error is about a field of another type, or,
// besides the definition, a strict decoding error about unknown fields.
func Merged(fields map[string]any, strict bool) (*plain.Object, error) {
	typed := &apiextensions.CustomResourceDefinition{}
	unknown := runtime.DefaultUnstructuredConverter.FromUnstructuredWithValidation(fields, typed, strict)
	if _, ok := runtime.AsStrictDecodingError(unknown); unknown != nil && !ok {
		return nil, unknown
	}
	if err := setSpec(fields, typed); err != nil {
		return nil, err
	}
	obj, err := plain.From(&unstructured.Unstructured{Object: fields})
	if err != nil {
		return nil, err
	}
	return obj, unknown
}

// Sample returns an empty definition of the Go type.
func Sample() runtime.Object { return &apiextensions.CustomResourceDefinition{} }

// stringFormats are the formats of strings that the server knows, without their dashes.
var stringFormats = []string{"bsonobjectid", "uri", "email", "hostname", "ipv4", "ipv6", "cidr", "mac", "uuid", "uuid3", "uuid4", "uuid5", "isbn", "isbn10",
	"isbn13", "creditcard", "ssn", "hexcolor", "rgbcolor", "byte", "password", "date", "duration", "datetime", "k8sshortname", "k8slongname"}

// unknownFormats returns the formats in a definition that the server does not know, without those that old has.
func unknownFormats(obj, old *plain.Object) []string {
	known := []string{}
	if old != nil {
		known = unknownFormats(old, nil)
	}
	d, err := readDefinition(obj)
	if err != nil {
		return nil
	}
	var found []string
	for i := range d.spec.Versions {
		visitSchemas(d.schemaOf(&d.spec.Versions[i]), func(s *jsonSchema) {
			if s.Format != "" && !knowsFormat(s.Type, s.Format) && !slices.Contains(known, s.Format) {
				found = append(found, s.Format)
			}
		})
	}
	return found
}

func knowsFormat(kind, format string) bool {
	switch kind {
	case "", "string":
		return slices.Contains(stringFormats, strings.ReplaceAll(format, "-", ""))
	case "integer":
		return format == "int32" || format == "int64"
	case "number":
		return format == "float" || format == "double"
	}
	return false
}

// Warn returns the warnings about a valid CustomResourceDefinition (API-348).
func Warn(obj, old *plain.Object) []string {
	var texts []string
	for _, format := range unknownFormats(obj, old) {
		// API-348: the server ignores such a format.
		texts = append(texts, fmt.Sprintf("unrecognized format %q", format))
	}
	return texts
}
