package apiserver

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"strings"

	apiextensions "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"
	apiversion "k8s.io/apimachinery/pkg/version"
	"k8s.io/kube-openapi/pkg/validation/validate"

	"github.com/volsim/volsim/api"
	"github.com/volsim/volsim/internal/apiserver/definition"
	"github.com/volsim/volsim/internal/core/plain"
	"github.com/volsim/volsim/internal/tools/kubectl"
)

// Schemas of custom objects: unknown fields are dropped, defaults are set, and what the schema or its rules forbid is refused.

const definitionKind api.Kind = "CustomResourceDefinition.apiextensions.k8s.io"

// customVersion describes one version of a kind, as its CustomResourceDefinition declares it.
type customVersion struct {
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

// customVersion returns what the definition of a custom resource says, or nil for other resources. The caller has the lock.
func (s *Server) customVersion(r *resource) *customVersion {
	if !r.custom {
		return nil
	}
	obj, err := s.store.Get(definitionKind, api.Key("", r.Resource+"."+r.Group))
	if err != nil {
		return nil // a kind that needs no definition
	}
	if known := r.definition; known != nil && known.version == obj.GetResourceVersion() {
		return known
	}
	r.definition = readCustomVersion(obj, r.Version)
	return r.definition
}

// deprecation returns the warning of a deprecated version of a custom resource, "" for none.
func (s *Server) deprecation(r *resource) string {
	if !r.custom {
		return ""
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if v := s.customVersion(r); v != nil {
		return v.warning
	}
	return ""
}

// selectable returns the paths of the fields that the definition of a custom resource makes selectable.
func (s *Server) selectable(r *resource) []string {
	if !r.custom {
		return nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if v := s.customVersion(r); v != nil {
		return v.fields
	}
	return nil
}

func readCustomVersion(obj api.Object, name string) *customVersion {
	v := &customVersion{version: obj.GetResourceVersion()}
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

// conform drops the unknown fields of a custom object and sets its defaults. It returns an error for each unknown field, for
// fieldValidation, or one for a value that cannot be read. What an apply merges keeps the nulls that its schema forbids (API-313).
func (s *Server) conform(r *resource, obj api.Object, keepNulls bool) (unknown []error, err error) {
	v := s.customVersion(r)
	custom, ok := obj.(*plain.Object)
	if v == nil || v.schema == nil || !ok {
		return nil, nil
	}
	if custom.Content() == nil {
		custom.SetContent(map[string]any{})
	}
	names := v.schema.Prune(custom.Content(), "", true)
	if wrong := v.schema.Malformed(custom.Content(), nil, false); wrong != nil {
		return nil, wrong
	}
	for _, name := range append(names, v.schema.ReadMetadata(custom.Content())...) {
		unknown = append(unknown, fmt.Errorf("unknown field %q", name))
	}
	if !keepNulls {
		v.schema.DropNulls(custom.Content())
	}
	v.schema.SetDefaults(custom.Content())
	return unknown, nil
}

// checkSchemaAtOnce is checkSchema, unless webhooks may still change the object.
func (s *Server) checkSchemaAtOnce(r *request, obj, old api.Object) error {
	if r.reviews != nil {
		return nil // see reviews.Mutate
	}
	return s.checkSchema(r, obj, old)
}

// checkSchema refuses a custom object that violates its schema, and a role or binding that its writer may not grant. old is the stored object, nil for a create: what was wrong before may stay as it
// is.
func (s *Server) checkSchema(r *request, obj, old api.Object) error {
	if err := r.checkKind(obj.GetName()); err != nil && (old == nil || obj.GetResourceVersion() == old.GetResourceVersion()) {
		return err
	}
	if err := s.checkEscalation(r, obj, old); err != nil {
		return err
	}
	v := s.customVersion(r.resource)
	if v == nil || v.validator == nil {
		return nil
	}
	if old != nil && obj.GetResourceVersion() != old.GetResourceVersion() {
		return nil // API-551: the store refuses the version, before anything else is validated
	}
	written, previous := obj.(*plain.Object).Copy(), (*plain.Object)(nil)
	if old != nil {
		previous = old.(*plain.Object)
	}
	switch {
	case r.subresource == string(api.Status):
		written.SetContent(withField(previous.Content(), written.Content(), "status"))
	case v.status && previous == nil:
		written.SetContent(withField(written.Content(), nil, "status"))
	case v.status:
		written.SetContent(withField(written.Content(), previous.Content(), "status"))
	}
	errs := v.validate(written, r.subresource)
	if r.subresource != string(api.Status) {
		errs = append(s.store.MetadataErrors(r.resource.kind, obj, old), errs...)
	}
	var embedded field.ErrorList
	if r.subresource != string(api.Status) {
		embedded = v.schema.CheckEmbedded(written.Content(), nil, false)
	}
	// API-328: duplicates are new ones if there were none before.
	duplicates := v.schema.Duplicates(written.Content(), nil)
	if previous != nil {
		errs = v.schema.Ratcheted(errs, written.Content(), previous.Content())
		if len(duplicates) > 0 && len(v.schema.Duplicates(previous.Content(), nil)) > 0 {
			duplicates = nil
		}
	}
	errs = append(errs, embedded...)
	errs = append(append(errs, duplicates...), v.checkScale(r.subresource, written.Content())...)
	broken, warnings := v.checkRules(written, previous, errs)
	errs, r.warnings = append(errs, broken...), append(r.warnings, warnings...)
	if len(errs) == 0 {
		v.schema.DropNulls(obj.(*plain.Object).Content()) // those of an apply that were absent before (API-329)
		return nil
	}
	return apierrors.NewInvalid(r.resource.gvk().GroupKind(), obj.GetName(), errs)
}

// validate returns what is wrong with an object, or with its status if that is written.
func (v *customVersion) validate(obj *plain.Object, sub string) field.ErrorList {
	if sub == string(api.Status) {
		// API-551: the status is validated by itself, so texts name the fields within it.
		if status, has := obj.Content()["status"]; has && v.statusValidator != nil {
			return definition.Violations(v.statusValidator, status, field.NewPath("status"))
		}
		return nil
	}
	document, err := plain.Unstructured(obj)
	if err != nil {
		return field.ErrorList{field.Invalid(nil, "", err.Error())}
	}
	return definition.Violations(v.validator, document.Object, nil)
}

// checkRules is definition.Rules.Check for an object; previous is nil for a new one.
func (v *customVersion) checkRules(written, previous *plain.Object, errs field.ErrorList) (broken field.ErrorList, warnings []string) {
	if v.rules == nil {
		return nil, nil
	}
	document, err := plain.Unstructured(written)
	if err != nil {
		return nil, nil // see validate
	}
	var old map[string]any
	if previous != nil {
		if stored, err := plain.Unstructured(previous); err == nil {
			old = stored.Object
		}
	}
	return v.rules.Check(document.Object, old, errs)
}

// checkScale returns what is wrong with the fields that the subresource scale shows.
func (v *customVersion) checkScale(sub string, content map[string]any) field.ErrorList {
	path := v.scale.spec
	if sub == string(api.Status) {
		path = v.scale.status
	}
	var errs field.ErrorList
	if selector := v.scale.selector; sub == string(api.Status) && len(selector) > 0 {
		if text, _, err := unstructured.NestedString(content, selector...); err != nil {
			errs = append(errs, field.Invalid(field.NewPath("."+strings.Join(selector, ".")), text, err.Error()))
		}
	}
	if len(path) == 0 {
		return errs
	}
	at := field.NewPath("." + strings.Join(path, "."))
	switch n, _, err := unstructured.NestedInt64(content, path...); {
	case err != nil:
		return append(field.ErrorList{field.Invalid(at, n, err.Error())}, errs...)
	case n < 0:
		return append(field.ErrorList{field.Invalid(at, n, "should be a non-negative integer")}, errs...)
	case n > math.MaxInt32:
		return append(field.ErrorList{field.Invalid(at, n, fmt.Sprintf("should be less than or equal to %v", math.MaxInt32))}, errs...)
	}
	return errs
}

// withField returns content with the field of other, or without it if other has none. It modifies neither.
func withField(content, other map[string]any, name string) map[string]any {
	content = maps.Clone(content)
	delete(content, name)
	if value, ok := other[name]; ok {
		if content == nil {
			content = map[string]any{}
		}
		content[name] = value
	}
	return content
}
