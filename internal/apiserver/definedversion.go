package apiserver

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

const definitionKind api.Kind = "CustomResourceDefinition.apiextensions.k8s.io"

// definedVersion describes one version of a kind, as its CustomResourceDefinition declares it.
type definedVersion struct {
	version   string // resourceVersion of the definition
	schema    definition.Schema
	validator *validate.SchemaValidator // nil without a schema
	// statusValidator is that of the status alone; nil if the schema does not have it.
	statusValidator *validate.SchemaValidator
	rules           *definition.Rules // nil without rules
	columns         []kubectl.PrinterColumn
	status          bool
	warning         string      // about a deprecated version; "" for none
	fields          []string    // paths of selectable fields
	scale           scaleFields // empty without the subresource
	// conversion is how objects are converted by a webhook, nil if they are not.
	conversion *conversion
}

// scaleFields are the paths of what a scale shows.
type scaleFields struct{ spec, status, selector []string }

// conversionClient is the part of a definition that says where its webhook is.
type conversionClient struct {
	Strategy string `json:"strategy"`
	Webhook  *struct {
		ClientConfig admissionregistrationv1.WebhookClientConfig `json:"clientConfig"`
		Versions     []string                                    `json:"conversionReviewVersions"`
	} `json:"webhook"`
}

// readDefinedVersion reads one version of a definition. One that cannot be read has no schema.
func readDefinedVersion(obj api.Object, name string) *definedVersion {
	v := &definedVersion{version: obj.GetResourceVersion()}
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
	data, err := json.Marshal(obj.(*plain.Object).Content())
	if err == nil {
		err = json.Unmarshal(data, &declared)
	}
	if err != nil {
		return v // without a schema
	}
	if c := declared.Spec.Conversion; c.Strategy == string(apiextensions.WebhookConverter) && c.Webhook != nil {
		v.conversion = &conversion{
			definition: obj.GetName(), kind: schema.GroupKind{Group: declared.Spec.Group, Kind: declared.Spec.Names.Kind},
			client: c.Webhook.ClientConfig, reviewVersions: c.Webhook.Versions, schemas: map[string]definition.Schema{},
		}
	}
	for _, version := range declared.Spec.Versions {
		if c := v.conversion; c != nil {
			var node map[string]any
			if json.Unmarshal(version.Schema.Structure, &node) == nil && node != nil {
				c.schemas[version.Name] = node
			}
			if version.Storage {
				c.storage = version.Name
			}
		}
		if version.Name != name {
			continue
		}
		v.columns, v.status = version.Columns, version.Subresources.Status != nil
		if version.Deprecated {
			// API-336: kubectl shows it.
			kind, newer := declared.Spec.Names.Kind, ""
			for _, other := range declared.Spec.Versions {
				if other.Served && !other.Deprecated && apiversion.CompareKubeAwareVersionStrings(other.Name, cmp.Or(newer, name)) > 0 {
					newer = other.Name
				}
			}
			v.warning = fmt.Sprintf("%s/%s %s is deprecated", declared.Spec.Group, name, kind)
			if newer != "" {
				v.warning += fmt.Sprintf("; use %s/%s %s", declared.Spec.Group, newer, kind)
			}
			if version.Warning != nil {
				v.warning = *version.Warning
			}
		}
		for _, f := range version.Selectable {
			v.fields = append(v.fields, strings.TrimPrefix(f.Path, "."))
		}
		if scale := version.Subresources.Scale; scale != nil {
			v.scale = scaleFields{spec: simplePath(scale.Spec), status: simplePath(scale.Status), selector: simplePath(scale.Selector)}
		}
		var node map[string]any
		if json.Unmarshal(version.Schema.Structure, &node) != nil || node == nil {
			continue
		}
		v.schema = node
		v.validator = definition.Schema(definition.WithIntOrString(node).(map[string]any)).Validator()
		if status := v.schema.Property("status"); status != nil {
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
