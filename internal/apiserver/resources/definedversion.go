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

// declaration is the spec of a CustomResourceDefinition, as far as it is used here.
type declaration struct {
	Group string `json:"group"`
	Names struct {
		Kind string `json:"kind"`
	} `json:"names"`
	Conversion conversionClient  `json:"conversion"`
	Versions   []declaredVersion `json:"versions"`
}

// conversionClient is the part of a definition that says where its webhook is.
type conversionClient struct {
	Strategy string `json:"strategy"`
	Webhook  *struct {
		ClientConfig admissionregistrationv1.WebhookClientConfig `json:"clientConfig"`
		Versions     []string                                    `json:"conversionReviewVersions"`
	} `json:"webhook"`
}

// declaredVersion is a version in the spec of a CustomResourceDefinition.
type declaredVersion struct {
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
}

// readDefinedVersion reads one version of a definition. One that cannot be read has no schema.
func readDefinedVersion(obj *plain.Object, name string) *DefinedVersion {
	v := &DefinedVersion{version: obj.ResourceVersion}
	var declared struct {
		Spec declaration `json:"spec"`
	}
	data, err := json.Marshal(obj.Content())
	if err == nil {
		err = json.Unmarshal(data, &declared)
	}
	if err != nil {
		return v
	}
	v.conversion = declared.Spec.conversion(obj.Name)
	for i := range declared.Spec.Versions {
		if version := &declared.Spec.Versions[i]; version.Name == name {
			v.read(version)
			v.Warning = declared.Spec.warning(version)
		}
	}
	return v
}

// read takes what a version declares about itself.
func (v *DefinedVersion) read(version *declaredVersion) {
	v.Columns, v.status = version.Columns, version.Subresources.Status != nil
	for _, f := range version.Selectable {
		v.Fields = append(v.Fields, strings.TrimPrefix(f.Path, "."))
	}
	if scale := version.Subresources.Scale; scale != nil {
		v.scale = scaleFields{Spec: simplePath(scale.Spec), Status: simplePath(scale.Status), Selector: simplePath(scale.Selector)}
	}
	if v.Schema = version.schema(); v.Schema == nil {
		return
	}
	v.validator = validatorOf(v.Schema)
	if status := v.Schema.Property("status"); status != nil {
		v.statusValidator = validatorOf(status)
	}
	v.rules = definition.ReadRules(version.Schema.Structure, true)
}

// schema returns the schema of a version, nil for none.
func (version *declaredVersion) schema() definition.Schema {
	var node map[string]any
	if json.Unmarshal(version.Schema.Structure, &node) != nil {
		return nil
	}
	return node
}

func validatorOf(schema definition.Schema) *validate.SchemaValidator {
	return definition.Schema(definition.WithIntOrString(map[string]any(schema)).(map[string]any)).Validator()
}

// warning returns the warning about a deprecated version, which kubectl shows (API-336); "" for others.
func (d *declaration) warning(version *declaredVersion) string {
	// API-336: the text is that of the definition, or names the newest version that is not deprecated.
	switch {
	case !version.Deprecated:
		return ""
	case version.Warning != nil:
		return *version.Warning
	}
	newer := ""
	for _, other := range d.Versions {
		if other.Served && !other.Deprecated && apiversion.CompareKubeAwareVersionStrings(other.Name, cmp.Or(newer, version.Name)) > 0 {
			newer = other.Name
		}
	}
	text := fmt.Sprintf("%s/%s %s is deprecated", d.Group, version.Name, d.Names.Kind)
	if newer != "" {
		text += fmt.Sprintf("; use %s/%s %s", d.Group, newer, d.Names.Kind)
	}
	return text
}

// conversion returns how a webhook converts the objects of a definition of that name; nil if none does.
func (d *declaration) conversion(name string) *Conversion {
	if d.Conversion.Strategy != string(apiextensions.WebhookConverter) || d.Conversion.Webhook == nil {
		return nil
	}
	c := &Conversion{
		Definition: name, kind: schema.GroupKind{Group: d.Group, Kind: d.Names.Kind},
		Client: d.Conversion.Webhook.ClientConfig, ReviewVersions: d.Conversion.Webhook.Versions, Schemas: map[string]definition.Schema{},
	}
	for i := range d.Versions {
		version := &d.Versions[i]
		if s := version.schema(); s != nil {
			c.Schemas[version.Name] = s
		}
		if version.Storage {
			c.Storage = version.Name
		}
	}
	if c.complete() != nil {
		return nil // what was decoded from JSON can be encoded
	}
	return c
}

// simplePath splits a path such as .spec.replicas.
func simplePath(path string) []string {
	if path == "" {
		return nil
	}
	return strings.Split(strings.TrimPrefix(path, "."), ".")
}
