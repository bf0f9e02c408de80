package apiserver

import (
	"encoding/hex"
	stdjson "encoding/json"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"

	apiextensions "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/runtime/serializer/json"
	"k8s.io/apimachinery/pkg/runtime/serializer/protobuf"
	"k8s.io/apimachinery/pkg/util/validation/field"
	kjson "sigs.k8s.io/json"

	"github.com/volsim/volsim/api"
	"github.com/volsim/volsim/internal/apiserver/definition"
	"github.com/volsim/volsim/internal/apiserver/resources"
	"github.com/volsim/volsim/internal/core/decode"
	"github.com/volsim/volsim/internal/core/manifests"
	"github.com/volsim/volsim/internal/core/objkinds"
	"github.com/volsim/volsim/internal/core/plain"
	"github.com/volsim/volsim/internal/core/yamljson"
)

// codec decodes request bodies.
type codec struct {
	// decoders of JSON and YAML, by whether they look for unknown and duplicate fields.
	json, yaml map[bool]*json.Serializer
}

func newCodec() *codec {
	c := &codec{map[bool]*json.Serializer{}, map[bool]*json.Serializer{}}
	for _, strict := range []bool{false, true} {
		c.json[strict] = json.NewSerializerWithOptions(json.DefaultMetaFactory, resources.Scheme(), resources.Scheme(), json.SerializerOptions{Strict: strict})
		c.yaml[strict] = json.NewSerializerWithOptions(json.DefaultMetaFactory, resources.Scheme(), resources.Scheme(), json.SerializerOptions{Yaml: true, Strict: strict})
	}
	return c
}

// schemeName is the name of kube-apiserver's scheme in its errors.
const schemeName = "pkg/api/legacyscheme/scheme.go:30"

// maxExpansion is how large, in bytes, a body in YAML may become when its aliases are expanded.
const maxExpansion = 16 << 20

// body is a request body to decode.
type body struct {
	data        []byte
	contentType string
	// validation is the value of the parameter fieldValidation; "" is Warn.
	validation string
}

// strict reports whether unknown and duplicate fields are looked for.
func (b body) strict() bool { return b.validation != metav1.FieldValidationIgnore }

// decode decodes a body whose default kind is gvk, and that must be of that kind.
// The strings are warnings.
func (c *codec) decode(b body, gvk schema.GroupVersionKind) (runtime.Object, []string, error) {
	mediaType, err := mediaTypeOf(b.contentType)
	if err != nil {
		return nil, nil, err
	}
	obj, actual, err := c.read(b, mediaType, gvk)
	var warnings []string
	if strict, ok := runtime.AsStrictDecodingError(err); ok && obj != nil && b.validation != metav1.FieldValidationStrict {
		warnings, err = fieldWarnings(strict.Errors()), nil
	}
	_, untyped := obj.(*plain.Object)
	if err == nil && (!untyped || isBuiltin(gvk)) && actual.GroupKind() != gvk.GroupKind() && actual.GroupVersion() == gvk.GroupVersion() {
		err = fmt.Errorf("converting (%s) to (%s.%s): unknown conversion", strings.TrimPrefix(fmt.Sprintf("%T", obj), "*"),
			internalPackage(gvk.Group), gvk.Kind)
	}
	if err != nil {
		return nil, nil, decodeError(err, actual, gvk, b.data)
	}
	if actual.GroupVersion() != gvk.GroupVersion() {
		return nil, nil, apierrors.NewBadRequest(fmt.Sprintf("the API version in the data (%s) does not match the expected API version (%s)",
			actual.GroupVersion(), gvk.GroupVersion()))
	}
	return obj, warnings, nil
}

// read decodes a body of any kind.
func (c *codec) read(b body, mediaType string, gvk schema.GroupVersionKind) (runtime.Object, *schema.GroupVersionKind, error) {
	if mediaType == runtime.ContentTypeProtobuf {
		obj, actual, err := protobuf.NewSerializer(resources.Scheme(), resources.Scheme()).Decode(b.data, &gvk, nil)
		if runtime.IsNotRegisteredError(err) && actual != nil && actual.Group == apiextensions.GroupName {
			return decodeDefinition(b, gvk)
		}
		obj, actual, err = c.named(obj, actual, err)
		if err == nil {
			_, err = runtime.DefaultUnstructuredConverter.ToUnstructured(obj) // a part that is JSON may be any bytes
		}
		return obj, actual, err
	}
	data := b.data
	if mediaType == runtime.ContentTypeYAML {
		if err := manifests.CheckAliases(data, maxExpansion); err != nil {
			return nil, nil, err
		}
		altered, err := yamljson.Loose(data)
		if err != nil {
			return nil, nil, err
		}
		data = altered
	}
	if mediaType == runtime.ContentTypeJSON {
		if obj := c.readOnce(b, gvk); obj != nil {
			return obj, &gvk, nil
		}
	}
	into, err := resources.Scheme().New(gvk)
	if err != nil {
		return readPlain(data, gvk, b.strict())
	}
	if err := decode.CheckQuantities(data, reflect.TypeOf(into)); err != nil {
		return nil, &gvk, err
	}
	// The serializer looks for duplicate fields in the text as it was sent.
	decoders := c.json
	if mediaType == runtime.ContentTypeYAML {
		decoders = c.yaml
	}
	return c.named(decoders[b.strict()].Decode(b.data, &gvk, nil))
}

// decodeDefinition decodes a CustomResourceDefinition from protobuf, or the options of a request about one.
func decodeDefinition(b body, gvk schema.GroupVersionKind) (runtime.Object, *schema.GroupVersionKind, error) {
	obj, actual, err := protobuf.NewSerializer(resources.DefinitionScheme(), resources.DefinitionScheme()).Decode(b.data, &gvk, nil)
	if _, ok := obj.(*apiextensions.CustomResourceDefinition); err != nil || !ok {
		return obj, actual, err
	}
	obj.GetObjectKind().SetGroupVersionKind(*actual)
	data, err := stdjson.Marshal(obj)
	if err != nil {
		return nil, actual, err
	}
	return readPlain(data, gvk, b.strict())
}

// readOnce decodes JSON of a Go type in one pass. It returns nil for a body that is wrong, of another kind, or suspicious: read finds out why.
func (c *codec) readOnce(b body, gvk schema.GroupVersionKind) runtime.Object {
	into, err := resources.Scheme().New(gvk)
	if err != nil || decode.CheckQuantities(b.data, reflect.TypeOf(into)) != nil {
		return nil
	}
	var unknown []error
	if b.strict() {
		unknown, err = kjson.UnmarshalStrict(b.data, into)
	} else {
		err = kjson.UnmarshalCaseSensitivePreserveInts(b.data, into)
	}
	if err != nil || len(unknown) > 0 {
		return nil
	}
	if actual := into.GetObjectKind().GroupVersionKind(); !actual.Empty() && actual != gvk {
		return nil
	}
	return into
}

// isBuiltin reports whether Kubernetes serves a kind without a definition.
func isBuiltin(gvk schema.GroupVersionKind) bool {
	kind := objkinds.Get(objkinds.Name(gvk.Group, gvk.Kind))
	return kind != nil && !kind.Custom
}

// readPlain decodes an object of a kind without a Go type. A custom object has no default kind (API-332), the others have gvk.
func readPlain(data []byte, gvk schema.GroupVersionKind, strict bool) (runtime.Object, *schema.GroupVersionKind, error) {
	given, err := json.DefaultMetaFactory.Interpret(data)
	if err != nil {
		return nil, nil, err
	}
	if isBuiltin(gvk) {
		if given.Kind == "" {
			given.Kind = gvk.Kind
		}
		if given.Version == "" {
			given.Group, given.Version = gvk.Group, gvk.Version
		}
	}
	if given.Kind == "" {
		return nil, nil, runtime.NewMissingKindErr(string(data))
	}
	obj := &plain.Object{}
	if err := obj.UnmarshalJSON(data); err != nil {
		if *given != definition.GVK {
			// API-551: the metadata of a custom object are decoded by themselves.
			err = errors.New(strings.Replace(err.Error(), ".metadata.", ".", 1))
		}
		return nil, given, err
	}
	obj.SetGroupVersionKind(*given)
	switch {
	case *given == definition.GVK:
		err = definition.As(obj, data, strict)
	case strict:
		err = duplicateFields(data)
	}
	return obj, given, err
}

// duplicateFields returns a strict decoding error for the fields of an object that come twice, and for those that its metadata cannot have
// (API-349).
func duplicateFields(data []byte) error {
	var document map[string]any
	found, err := kjson.UnmarshalStrict(data, &document)
	if err != nil {
		return err
	}
	if metadata, ok := document["metadata"]; ok {
		for _, name := range definition.UnknownMetadata(metadata, field.NewPath("metadata")) {
			found = append(found, fmt.Errorf("unknown field %q", name))
		}
	}
	if len(found) == 0 {
		return nil
	}
	// API-349: only one of two equal fields counts.
	return runtime.NewStrictDecodingError(found)
}

// named names kube-apiserver's scheme in the error for an unknown kind.
func (c *codec) named(obj runtime.Object, actual *schema.GroupVersionKind, err error) (runtime.Object, *schema.GroupVersionKind, error) {
	if err != nil && actual != nil && runtime.IsNotRegisteredError(err) {
		err = runtime.NewNotRegisteredErrForKind(schemeName, *actual)
	}
	return obj, actual, err
}

// internalPackage returns the name of the package of a group's internal types, which appears in errors.
func internalPackage(group string) string {
	if group == "" {
		return "core"
	}
	name, _, _ := strings.Cut(group, ".")
	return name
}

// decodeError returns the server's error for a body that cannot be decoded.
func decodeError(err error, actual *schema.GroupVersionKind, want schema.GroupVersionKind, data []byte) error {
	if actual != nil && actual.Kind != "" {
		return apierrors.NewBadRequest(fmt.Sprintf("%s in version %q cannot be handled as a %s: %v", actual.Kind, actual.Version, want.Kind, err))
	}
	return apierrors.NewBadRequest(fmt.Sprintf("the object provided is unrecognized (must be of type %s): %v (%s)", want.Kind, err, summary(data)))
}

// summary returns the beginning of a body, for errors.
func summary(data []byte) string {
	const longest = 30
	text, more := string(data), ""
	if len(data) > longest {
		text, more = text[:longest], " ..."
	}
	switch {
	case len(data) == 0:
		return "<empty>"
	case data[0] == '{':
		return text + more
	}
	return hex.EncodeToString([]byte(text)) + more
}

// fieldWarnings returns the warnings for unknown and duplicate fields. Errors of the YAML parser are several in one.
func fieldWarnings(errs []error) []string {
	var warnings []string
	for _, err := range errs {
		text := err.Error()
		list, ok := strings.CutPrefix(text, "yaml: unmarshal errors:\n")
		if !ok {
			list, ok = strings.CutPrefix(text, "error converting YAML to JSON: yaml: unmarshal errors:\n")
		}
		if !ok {
			warnings = append(warnings, text)
			continue
		}
		for line := range strings.SplitSeq(list, "\n") {
			warnings = append(warnings, strings.TrimSpace(line))
		}
	}
	return warnings
}

// object decodes the body of a create or an update.
func (s *Server) object(r *request, validation string) (api.Object, error) {
	if r.decoded != nil {
		return s.storable(r.resource, r.decoded)
	}
	lookFor := validation
	if r.resource.Custom && validation == metav1.FieldValidationStrict {
		lookFor = metav1.FieldValidationWarn // one error names these fields and those that the schema does not know
	}
	obj, warnings, err := s.codec.decode(body{r.body, r.contentType, lookFor}, r.resource.GVK())
	if err != nil {
		if r.resource.Custom {
			err = s.inOtherVersion(r, validation, err)
		}
		return nil, err
	}
	r.kindOfBody = obj.GetObjectKind().GroupVersionKind()
	gvk := r.resource.GVK()
	unknown, err := s.resources.Definition(r.resource).Conform(obj.(api.Object), false)
	if err != nil {
		return nil, decodeError(err, &gvk, gvk, r.body)
	}
	if lookFor != validation {
		for i := range slices.Backward(warnings) {
			unknown = slices.Insert(unknown, 0, errors.New(warnings[i]))
		}
		warnings = nil
	}
	r.warnings = append(r.warnings, warnings...)
	switch {
	case len(unknown) == 0:
	case validation == metav1.FieldValidationStrict:
		return nil, decodeError(runtime.NewStrictDecodingError(unknown), &gvk, gvk, r.body)
	case validation != metav1.FieldValidationIgnore:
		r.warnings = append(r.warnings, fieldWarnings(unknown)...)
	}
	return s.storable(r.resource, obj.(api.Object))
}

// checkIdentity checks the namespace and the name of a body against the path, and fills in the namespace. The body of a create needs no
// name.
func (r *request) checkIdentity(obj metav1.Object) error {
	if err := r.checkNamespace(obj); err != nil {
		return err
	}
	switch name := obj.GetName(); {
	case name == "":
		return apierrors.NewBadRequest(fmt.Sprintf("the name of the object (%s based on URL) was undeterminable: %v", r.name, errNoName))
	case name != r.name:
		return apierrors.NewBadRequest(fmt.Sprintf("the name of the object (%s) does not match the name on the URL (%s)", name, r.name))
	}
	return nil
}

var errNoName = errors.New("name must be provided")

func (r *request) checkNamespace(obj metav1.Object) error {
	switch namespace := obj.GetNamespace(); {
	case namespace == r.namespace:
	case namespace == "" || r.namespace == "":
		obj.SetNamespace(r.namespace)
	default:
		return apierrors.NewBadRequest("the namespace of the provided object does not match the namespace sent on the request")
	}
	return nil
}
