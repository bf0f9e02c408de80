package definition

import (
	"encoding/json"
	"reflect"

	internal "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	apiextensions "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
)

// Errors of kube-apiserver about whole parts of a definition show them in its internal form, which has the names of the fields in Go.

func shownSchema(s *apiextensions.JSONSchemaProps) json.RawMessage {
	return marshaled(internalSchema(s))
}

func shownItems(s *apiextensions.JSONSchemaPropsOrArray) json.RawMessage {
	if s == nil {
		return json.RawMessage("null")
	}
	var shown internal.JSONSchemaPropsOrArray
	if err := apiextensions.Convert_v1_JSONSchemaPropsOrArray_To_apiextensions_JSONSchemaPropsOrArray(s, &shown, nil); err != nil {
		return nil // it was decoded from JSON
	}
	return marshaled(shown)
}

func shownVersions(versions []apiextensions.CustomResourceDefinitionVersion) json.RawMessage {
	if versions == nil {
		return json.RawMessage("null")
	}
	shown := make([]internal.CustomResourceDefinitionVersion, len(versions))
	for i := range versions {
		if err := apiextensions.Convert_v1_CustomResourceDefinitionVersion_To_apiextensions_CustomResourceDefinitionVersion(&versions[i], &shown[i], nil); err != nil {
			return nil // it was decoded from JSON
		}
	}
	return marshaled(shown)
}

func internalSchema(s *apiextensions.JSONSchemaProps) *internal.JSONSchemaProps {
	var shown internal.JSONSchemaProps
	if err := apiextensions.Convert_v1_JSONSchemaProps_To_apiextensions_JSONSchemaProps(s, &shown, nil); err != nil {
		return &internal.JSONSchemaProps{} // it was decoded from JSON
	}
	return &shown
}

func marshaled(value any) json.RawMessage {
	data, err := json.Marshal(value)
	if err != nil {
		return nil // it was decoded from JSON
	}
	return data
}

// setFields returns the names in Go of the fields of a schema that are not empty, in the order of the internal form.
func setFields(s *apiextensions.JSONSchemaProps) []string {
	var names []string
	v := reflect.ValueOf(internalSchema(s)).Elem()
	for i := range v.NumField() {
		if !v.Field(i).IsZero() {
			names = append(names, v.Type().Field(i).Name)
		}
	}
	return names
}
