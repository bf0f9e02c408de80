package resources

import (
	"cmp"
	"encoding/json"
	"fmt"
	"strings"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	"k8s.io/apimachinery/pkg/runtime/schema"
	apiversion "k8s.io/apimachinery/pkg/version"
	"k8s.io/kube-openapi/pkg/validation/validate"

	"github.com/volsim/volsim/api"
	"github.com/volsim/volsim/internal/apiserver/definition"
	"github.com/volsim/volsim/internal/core/plain"
	"github.com/volsim/volsim/internal/tools/kubectl"
)

const DefinitionKind api.Kind = "CustomResourceDefinition.apiextensions.k8s.io"

// DefinedVersion describes one version of a kind, as its CustomResourceDefinition declares it.
type DefinedVersion struct {
	version   string // resourceVersion of the definition; "" if it is not stored
	Schema    definition.Schema
	validator *validate.SchemaValidator // nil without a schema
	// statusValidator is that of the status alone; nil if the schema does not have it.
	statusValidator *validate.SchemaValidator
	rules           *definition.Rules // nil without rules
	Columns         []kubectl.PrinterColumn
	status          bool
	Warning         string      // about a deprecated version; "" for none
	Fields          []string    // paths of selectable fields
	scale           scaleFields // empty without the subresource
	// conversion is how objects are converted by a webhook, nil if they are not.
	conversion *Conversion
}

// scaleFields are the paths of what a scale shows.
type scaleFields struct{ Spec, Status, Selector []string }

// conversionClient is the part of a definition that says where its webhook is.
type conversionClient struct {
	Strategy string `json:"strategy"`
	Webhook  *struct {
		ClientConfig admissionregistrationv1.WebhookClientConfig `json:"clientConfig"`
		Versions     []string                                    `json:"conversionReviewVersions"`
	} `json:"webhook"`
}

// readDefinedVersion reads one version of a definition. One that cannot be read has no schema.
func readDefinedVersion(obj *plain.Object, name string) *DefinedVersion {
	v := &DefinedVersion{version: obj.ResourceVersion}
	var declared struct {
		Spec struct {
			Group string `json:"group"`
			Names struct {
				Kind string `json:"kind"`
			} `json:"names"`
			Conversion conversionClient `json:"conversion"`
			Versions   []struct {
				Name       string  `json:"name"`
				Served     bool    `json:"served"`
				Storage    bool    `json:"storage"`
				Deprecated bool    `json:"deprecated"`
				Warning    *string `json:"deprecationWarning"`
				Schema     struct {
					Structure json.RawMessage `json:"openAPIV3Schema"`
				} `json:"schema"`
				Subresources struct {
					Status *struct{} `json:"status"`
					Scale  *struct {
						Spec     string `json:"specReplicasPath"`
						Status   string `json:"statusReplicasPath"`
						Selector string `json:"labelSelectorPath"`
					} `json:"scale"`
				} `json:"subresources"`
				Columns    []kubectl.PrinterColumn `json:"additionalPrinterColumns"`
				Selectable []struct {
					Path string `json:"jsonPath"`
				} `json:"selectableFields"`
			} `json:"versions"`
		} `json:"spec"`
	}
	data, err := json.Marshal(obj.Content())
	if err == nil {
		err = json.Unmarshal(data, &declared)
	}
	if err != nil {
		return v // without a schema
	}
	if c := declared.Spec.Conversion; c.Strategy == string(apiextensions.WebhookConverter) && c.Webhook != nil {
		v.conversion = &Conversion{
			Definition: obj.Name, kind: schema.GroupKind{Group: declared.Spec.Group, Kind: declared.Spec.Names.Kind},
			Client: c.Webhook.ClientConfig, ReviewVersions: c.Webhook.Versions, Schemas: map[string]definition.Schema{},
		}
	}
	for _, version := range declared.Spec.Versions {
		if c := v.conversion; c != nil {
			var node map[string]any
			if json.Unmarshal(version.Schema.Structure, &node) == nil && node != nil {
				c.Schemas[version.Name] = node
			}
			if version.Storage {
				c.Storage = version.Name
			}
		}
		if version.Name != name {
			continue
		}
		v.Columns, v.status = version.Columns, version.Subresources.Status != nil
		if version.Deprecated {
			// API-336: kubectl shows it.
			kind, newer := declared.Spec.Names.Kind, ""
			for _, other := range declared.Spec.Versions {
				if other.Served && !other.Deprecated && apiversion.CompareKubeAwareVersionStrings(other.Name, cmp.Or(newer, name)) > 0 {
					newer = other.Name
				}
			}
			v.Warning = fmt.Sprintf("%s/%s %s is deprecated", declared.Spec.Group, name, kind)
			if newer != "" {
				v.Warning += fmt.Sprintf("; use %s/%s %s", declared.Spec.Group, newer, kind)
			}
			if version.Warning != nil {
				v.Warning = *version.Warning
			}
		}
		for _, f := range version.Selectable {
			v.Fields = append(v.Fields, strings.TrimPrefix(f.Path, "."))
		}
		if scale := version.Subresources.Scale; scale != nil {
			v.scale = scaleFields{Spec: simplePath(scale.Spec), Status: simplePath(scale.Status), Selector: simplePath(scale.Selector)}
		}
		var node map[string]any
		if json.Unmarshal(version.Schema.Structure, &node) != nil || node == nil {
			continue
		}
		v.Schema = node
		v.validator = definition.Schema(definition.WithIntOrString(node).(map[string]any)).Validator()
		if status := v.Schema.Property("status"); status != nil {
			v.statusValidator = definition.Schema(definition.WithIntOrString(map[string]any(status)).(map[string]any)).Validator()
		}
		v.rules = definition.ReadRules(version.Schema.Structure, true)
	}
	if v.conversion != nil && v.conversion.complete() != nil {
		v.conversion = nil // what was decoded from JSON can be encoded
	}
	return v
}

// simplePath splits a path such as .spec.replicas.
func simplePath(path string) []string {
	if path == "" {
		return nil
	}
	return strings.Split(strings.TrimPrefix(path, "."), ".")
}
