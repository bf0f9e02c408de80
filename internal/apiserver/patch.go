package apiserver

import (
	"encoding/json"
	"fmt"
	"net/http"
	"reflect"
	"slices"
	"strings"

	jsonpatch "gopkg.in/evanphx/json-patch.v4"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	metav1validation "k8s.io/apimachinery/pkg/apis/meta/v1/validation"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/mergepatch"
	"k8s.io/apimachinery/pkg/util/strategicpatch"
	"k8s.io/apimachinery/pkg/util/validation/field"
	kjson "sigs.k8s.io/json"

	"github.com/volsim/volsim/api"
	"github.com/volsim/volsim/internal/apiserver/definition"
	"github.com/volsim/volsim/internal/apiserver/resources"
	"github.com/volsim/volsim/internal/core/decode"
	"github.com/volsim/volsim/internal/core/plain"
	"github.com/volsim/volsim/internal/core/store"
)

// maxPatchOperations bounds the operations of a JSON patch, as kube-apiserver does.
const maxPatchOperations = 10_000

func init() {
	// A JSON patch of a few bytes can double a document again and again.
	jsonpatch.AccumulatedCopySizeLimit = defaultBodyLimit
}

// patchTypes are the media types of patches.
var patchTypes = []types.PatchType{types.JSONPatchType, types.MergePatchType, types.StrategicMergePatchType, types.ApplyYAMLPatchType}

// patch applies a patch to the newest version of an object.
func (s *Server) patch(r *request) ([]byte, int, error) {
	patchType := patchTypeOf(r)
	if !s.accepts(r.resource, patchType) {
		return nil, 0, errPatchType(r.resource)
	}
	var opts metav1.PatchOptions
	validate := func(opts *metav1.PatchOptions) fieldErrors {
		return metav1validation.ValidatePatchOptions(opts, patchType)
	}
	if patchType == types.ApplyYAMLPatchType && len(r.query) == 0 {
		return nil, 0, invalidOptions(&opts, validate(&opts)) // it lacks fieldManager
	}
	if err := parameters(r.query, &opts, validate); err != nil {
		return nil, 0, err
	}
	r.describe(&opts, opts.DryRun)
	if patchType == types.ApplyYAMLPatchType {
		return s.apply(r, opts)
	}
	p := patch{server: s, request: r, patchType: patchType, validation: opts.FieldValidation}
	patched, err := s.write(r, r.ref(), len(opts.DryRun) > 0, p.apply)
	if err != nil {
		return nil, 0, err
	}
	data, err := s.represent(r, patched)
	return data, http.StatusOK, err
}

func patchTypeOf(r *request) types.PatchType {
	contentType, _, _ := strings.Cut(r.contentType, ";")
	return types.PatchType(strings.TrimSpace(contentType))
}

// accepts reports whether a resource can be patched with that type of patch.
func (s *Server) accepts(r *resources.Resource, patchType types.PatchType) bool {
	switch patchType {
	case types.StrategicMergePatchType:
		return r.Typed || r.Kind == resources.DefinitionKind
	case types.ApplyYAMLPatchType:
		return s.fields != nil
	}
	return slices.Contains(patchTypes, patchType)
}

// patches returns the types of patches that a resource accepts.
func (s *Server) patches(r *resources.Resource) (accepted []types.PatchType) {
	for _, patchType := range patchTypes {
		if s.accepts(r, patchType) {
			accepted = append(accepted, patchType)
		}
	}
	return accepted
}

// errPatchType is the error for a patch of a type that a resource does not accept.
func errPatchType(r *resources.Resource) error {
	if r.Custom {
		// API-571
		return errMediaType([]string{string(types.JSONPatchType), string(types.MergePatchType), string(types.ApplyYAMLPatchType)})
	}
	return serverError(http.StatusUnsupportedMediaType, "415: Unsupported Media Type")
}

// patch is a patch of one object.
type patch struct {
	server     *Server
	request    *request
	patchType  types.PatchType
	validation string // the parameter fieldValidation
}

func (p patch) apply() (api.Object, error) {
	r := p.request
	old, err := p.server.live(r)
	if err != nil {
		return nil, err
	}
	var obj api.Object
	if p.patchType == types.StrategicMergePatchType {
		obj, err = p.strategic(old)
	} else {
		obj, err = p.document(old)
	}
	if err != nil {
		return nil, err
	}
	if obj, err = p.server.storable(r.resource, obj); err != nil {
		return nil, err
	}
	if err := r.checkIdentity(obj); err != nil {
		return nil, err
	}
	r.warnOfOwners(obj, " after mutating admission happens")
	if err := p.server.checkSchemaAtOnce(r, obj, old); err != nil {
		return nil, err
	}
	return p.server.replace(r, obj, store.UpdateOptions{Patched: true, Owned: true})
}

// document applies a JSON patch or a JSON merge patch.
func (p patch) document(old api.Object) (api.Object, error) {
	r := p.request
	current, err := r.resource.Presentable(old)
	if err != nil {
		return nil, err
	}
	if merged, ok := p.merged(current); ok {
		return merged, nil
	}
	return p.encoded(old, current)
}

// encoded applies the patch to the JSON of an object. current is the object in the Go type of answers.
func (p patch) encoded(old api.Object, current any) (api.Object, error) {
	r := p.request
	data, err := p.server.encode(r.resource, old)
	if err != nil {
		return nil, err
	}
	if custom, ok := current.(*plain.Object); ok {
		// Errors show the document, and that of a custom object has its fields in alphabetical order.
		document, err := plain.Unstructured(custom)
		if err != nil {
			return nil, err
		}
		if data, err = json.Marshal(document.Object); err != nil {
			return nil, err
		}
	}
	patched, strict, err := p.patchDocument(data)
	if err != nil {
		return nil, err
	}
	obj, _, err := p.server.codec.read(body{patched, "", p.validation}, runtime.ContentTypeJSON, r.resource.GVK())
	unknown, isStrict := runtime.AsStrictDecodingError(err)
	if isStrict {
		strict, err = append(strict, unknown.Errors()...), nil
	}
	decoded, ok := obj.(api.Object)
	if err == nil && (!ok || reflect.TypeOf(obj) != reflect.TypeOf(current)) {
		err = fmt.Errorf("converting (%s) to (%s.%s): unknown conversion", strings.TrimPrefix(fmt.Sprintf("%T", obj), "*"),
			internalPackage(r.resource.Group), r.resource.KindName)
	}
	if err != nil {
		return nil, p.invalid(string(patched), err)
	}
	if custom, ok := decoded.(*plain.Object); ok {
		r.kindOfBody = custom.GroupVersionKind()
		if custom.APIVersion == "" && r.resource.Custom {
			// API-332: the server converts the object before it validates it.
			return nil, apierrors.NewInternalError(runtime.NewMissingVersionErr("object has no apiVersion field"))
		}
	}
	fields, err := p.server.resources.Definition(r.resource).Conform(decoded, false)
	if err != nil {
		return nil, p.invalid(string(patched), err)
	}
	return decoded, p.report(string(patched), append(strict, fields...))
}

// merged applies a JSON merge patch to the fields of an object of a Go type. ok is false if the patch needs the document, for example for its error.
func (p patch) merged(current any) (obj api.Object, ok bool) {
	typed, isTyped := current.(api.Object)
	if _, custom := current.(*plain.Object); custom || !isTyped || p.request.changes == nil {
		return nil, false
	}
	return store.MergeKnown(typed, p.request.changes)
}

// patchDocument applies the patch to the JSON of an object. The second result is what fieldValidation is about.
func (p patch) patchDocument(data []byte) ([]byte, []error, error) {
	patchData := p.request.body
	var strict []error
	if p.patchType == types.MergePatchType {
		if p.strict() {
			var err error
			if strict, err = kjson.UnmarshalStrict(patchData, &map[string]any{}); err != nil {
				return nil, nil, apierrors.NewBadRequest(fmt.Sprintf("error decoding patch: %v", err))
			}
		}
		patched, err := jsonpatch.MergePatch(data, patchData)
		if err != nil {
			return nil, nil, apierrors.NewBadRequest(err.Error())
		}
		return patched, strict, nil
	}
	if p.strict() {
		type jsonPatchOp struct {
			Op    string `json:"op"`
			Path  string `json:"path"`
			From  string `json:"from"`
			Value any    `json:"value"`
		}
		var operations []jsonPatchOp
		var err error
		if strict, err = kjson.UnmarshalStrict(patchData, &operations); err != nil {
			// The error names the type of kube-apiserver.
			text := strings.ReplaceAll(err.Error(), "apiserver.jsonPatchOp", "handlers.jsonPatchOp")
			return nil, nil, apierrors.NewBadRequest("error decoding patch: " + text)
		}
		for i, err := range strict {
			strict[i] = fmt.Errorf("json patch %v", err)
		}
	}
	operations, err := jsonpatch.DecodePatch(patchData)
	if err != nil {
		return nil, nil, apierrors.NewBadRequest(err.Error())
	}
	if n := len(operations); n > maxPatchOperations {
		return nil, nil, apierrors.NewRequestEntityTooLargeError(
			fmt.Sprintf("The allowed maximum operations in a JSON patch is %d, got %d", maxPatchOperations, n))
	}
	patched, err := operations.Apply(data)
	if err != nil {
		return nil, nil, serverError(http.StatusUnprocessableEntity, err.Error())
	}
	return patched, strict, nil
}

// strategic applies a strategic merge patch.
func (p patch) strategic(old api.Object) (api.Object, error) {
	current, err := p.request.resource.Presentable(old)
	if err != nil {
		return nil, err
	}
	original, err := fieldsOf(current)
	if err != nil {
		return nil, err
	}
	changes := map[string]any{}
	var strict []error
	if p.strict() {
		strict, err = kjson.UnmarshalStrict(p.request.body, &changes)
	} else {
		err = kjson.UnmarshalCaseSensitivePreserveInts(p.request.body, &changes)
	}
	if err == nil {
		err = decode.CheckQuantities(p.request.body, reflect.TypeOf(p.sample()))
	}
	if err != nil {
		return nil, apierrors.NewBadRequest(err.Error())
	}
	text := fmt.Sprintf("%+v", changes) // the patch is consumed
	patched, err := strategicpatch.StrategicMergeMapPatch(original, changes, p.sample())
	if err != nil {
		return nil, strategicError(err)
	}
	obj, err := p.objectOf(patched)
	if unknown, ok := runtime.AsStrictDecodingError(err); ok {
		strict, err = append(strict, unknown.Errors()...), nil
	}
	if err != nil {
		return nil, p.invalid(text, err)
	}
	return obj, p.report(text, strict)
}

// sample returns an empty object in the Go type of the resource, whose fields say how lists are merged.
func (p patch) sample() runtime.Object {
	if p.request.resource.Kind == resources.DefinitionKind {
		return definition.Sample()
	}
	return resources.NewObject(p.request.resource.GVK())
}

// objectOf returns the object with these fields in the Go type of the resource, or in that of custom objects. Besides it, the error may be one
// about unknown fields.
func (p patch) objectOf(fields map[string]any) (api.Object, error) {
	if p.request.resource.Kind == resources.DefinitionKind {
		return definition.Merged(fields, p.strict())
	}
	obj := resources.NewObject(p.request.resource.GVK())
	return obj, runtime.DefaultUnstructuredConverter.FromUnstructuredWithValidation(fields, obj, p.strict())
}

// fieldsOf returns the fields of an object in the Go type of answers, or in that of custom objects.
func fieldsOf(current any) (map[string]any, error) {
	if custom, ok := current.(*plain.Object); ok {
		u, err := plain.Unstructured(custom)
		if err != nil {
			return nil, err
		}
		return u.Object, nil
	}
	return runtime.DefaultUnstructuredConverter.ToUnstructured(current)
}

func strategicError(err error) error {
	switch err {
	case mergepatch.ErrBadJSONDoc, mergepatch.ErrBadPatchFormatForPrimitiveList, mergepatch.ErrBadPatchFormatForRetainKeys,
		mergepatch.ErrBadPatchFormatForSetElementOrderList, mergepatch.ErrUnsupportedStrategicMergePatchFormat:
		return apierrors.NewBadRequest(err.Error())
	case mergepatch.ErrNoListOfLists, mergepatch.ErrPatchContentNotMatchRetainKeys:
		return serverError(http.StatusUnprocessableEntity, err.Error())
	}
	return err
}

func (p patch) strict() bool { return p.validation != metav1.FieldValidationIgnore }

// report makes unknown and duplicate fields an error or warnings, as fieldValidation says. text is the patch, or what it led to.
func (p patch) report(text string, strict []error) error {
	if len(strict) == 0 || !p.strict() {
		return nil
	}
	if p.validation == metav1.FieldValidationStrict {
		return p.invalid(text, runtime.NewStrictDecodingError(strict))
	}
	p.request.warnings = append(p.request.warnings, fieldWarnings(strict)...)
	return nil
}

// invalid returns the error for a patch whose result cannot be decoded: Invalid, without a kind and a name (API-016).
func (p patch) invalid(text string, why error) error {
	return apierrors.NewInvalid(schema.GroupKind{}, "", fieldErrors{field.Invalid(field.NewPath("patch"), text, why.Error())})
}
