package apiserver

import (
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"github.com/google/cel-go/common/types/ref"
	"github.com/google/cel-go/common/types/traits"
	"google.golang.org/protobuf/types/known/structpb"
	jsonpatch "gopkg.in/evanphx/json-patch.v4"
	admissionv1 "k8s.io/api/admission/v1"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	limits "k8s.io/apiserver/pkg/apis/cel"
	celmutation "k8s.io/apiserver/pkg/cel/mutation"
	"k8s.io/apiserver/pkg/cel/mutation/dynamic"

	"github.com/volsim/volsim/internal/apiserver/expression"
	"github.com/volsim/volsim/internal/apiserver/resources"
)

// policyFailure is an error of a policy that changes objects.
type policyFailure struct {
	*invocation
	err    error
	reason metav1.StatusReason
}

// applyPolicies lets the policies that may change an object change it, one after the other (API-424).
func (q *reviews) applyPolicies(m *mutation) error {
	if m.operation == admissionv1.Delete || m.obj == nil {
		return nil // API-424: the object of a delete does not change
	}
	q.applied.begin(m.obj, m.again)
	var failures []policyFailure
	// API-424: what matches is decided before the first of them changes the object.
	all := q.invocations(q.server.currentPolicies().mutating, m.attributes, m.obj, m.old)
	for _, i := range all {
		if i.err != nil {
			failures = append(failures, policyFailure{i, i.err, ""})
		}
	}
	for _, i := range all {
		if i.err != nil {
			continue
		}
		failed, err := q.applyPolicy(m, i)
		if err != nil {
			return err
		}
		for _, err := range failed {
			failures = append(failures, policyFailure{i, err, metav1.StatusReasonInvalid})
		}
	}
	if m.changed {
		q.applied.require()
	}
	q.applied.last = m.obj
	return refuseMutation(m.attributes, m.obj, failures)
}

// refuseMutation returns the error of a write of which policies failed, nil if they ignore that (API-425).
func refuseMutation(a *attributes, obj []byte, failures []policyFailure) error {
	failures = slices.DeleteFunc(failures, func(f policyFailure) bool { return f.ignoresFailures() })
	if len(failures) == 0 {
		return nil
	}
	refused := forbidden(a, obj, errors.New("admission request denied by policy"))
	for n, f := range failures {
		message := fmt.Sprintf("policy %q denied request: %s", f.policy.name, f.err)
		if f.binding != nil {
			message = fmt.Sprintf("policy '%s' with binding '%s' denied request: %s", f.policy.name, f.binding.name, f.err)
		}
		if n == 0 {
			refused.ErrStatus.Message = message
			if f.reason != "" {
				refused.ErrStatus.Reason = f.reason
			}
		}
		refused.ErrStatus.Details.Causes = append(refused.ErrStatus.Details.Causes, metav1.StatusCause{Message: message})
	}
	return refused
}

// applyPolicy carries out the mutations of a policy in their order. One that fails does not stop the others.
func (q *reviews) applyPolicy(m *mutation, i *invocation) (failed []error, err error) {
	compiled, err := i.compile()
	if err != nil {
		return nil, err
	}
	conditions, _, err := q.policyValues(i, m.attributes, m.obj, m.old)
	if err != nil {
		return nil, err
	}
	holds, err := compiled.Hold(compiled.conditions, conditions)
	if err != nil {
		return []error{err}, nil
	}
	if !holds || m.again && !q.applied.reinvoke[i.key] {
		return nil, nil
	}
	before := m.obj
	for n := range i.Mutations {
		err := q.applyMutation(m, i, compiled.mutations[n])
		var status *apierrors.StatusError
		if errors.As(err, &status) {
			return nil, err
		}
		if err != nil {
			failed = append(failed, err)
			continue
		}
		m.changed = true // API-426: the rest of the admission completes the object again
	}
	if !sameJSON(before, m.obj) {
		q.applied.require()
	}
	if i.ReinvocationPolicy == admissionregistrationv1.IfNeededReinvocationPolicy {
		q.applied.once[i.key] = true
	}
	return failed, nil
}

// applyMutation changes the object as one mutation says.
func (q *reviews) applyMutation(m *mutation, i *invocation, x *expression.Expression) error {
	compiled, err := i.compile()
	if err != nil {
		return err
	}
	_, values, err := q.policyValues(i, m.attributes, m.obj, m.old)
	if err != nil {
		return err
	}
	if err := x.Err(); err != nil {
		return err
	}
	budget := uint64(limits.RuntimeCELCostBudget)
	outcomes, err := compiled.Evaluate([]*expression.Expression{x}, values, &budget)
	if err != nil {
		return err
	}
	if outcomes[0].Err != nil {
		return outcomes[0].Err
	}
	shown := i.version
	if m.body != m.resource {
		shown = m.body
	}
	data, err := q.convert(m.obj, m.body, shown)
	if err != nil {
		return apierrors.NewInternalError(err)
	}
	if list, ok := outcomes[0].Value.(traits.Lister); ok {
		data, err = q.patchedByPolicy(shown, data, list)
	} else {
		data, err = q.mergedByPolicy(shown, data, outcomes[0].Value)
	}
	if err != nil {
		return err
	}
	if data, err = q.convert(data, shown, m.body); err != nil {
		return apierrors.NewInternalError(err)
	}
	_, err = q.replace(m, data)
	return err
}

// patchedByPolicy applies a JSON patch, which is a list in CEL, to the JSON of an object (API-427).
func (q *reviews) patchedByPolicy(r *resources.Resource, given []byte, list traits.Lister) ([]byte, error) {
	patch := jsonpatch.Patch{}
	for it := list.Iterator(); it.HasNext().Value() == true; {
		operation, err := patchOperation(it.Next())
		if err != nil {
			return nil, err
		}
		patch = append(patch, operation)
	}
	patched, err := patch.Apply(given)
	if errors.Is(err, jsonpatch.ErrTestFailed) {
		return given, nil // API-427: a test that fails leaves the object as it is
	}
	if err != nil {
		return nil, fmt.Errorf("JSON Patch: %w", err)
	}
	obj, actual, err := q.server.codec.read(body{patched, "", metav1.FieldValidationStrict}, runtime.ContentTypeJSON, r.GVK())
	if err == nil && *actual != r.GVK() {
		err = fmt.Errorf("failed to convert object: converting (%s) to (%s.%s): unknown conversion", strings.TrimPrefix(fmt.Sprintf("%T", obj), "*"), internalPackage(r.Group), r.KindName)
	}
	if err != nil {
		return nil, apierrors.NewInternalError(err)
	}
	return patched, nil
}

// patchOperation returns one operation of a JSON patch.
func patchOperation(value ref.Val) (jsonpatch.Operation, error) {
	native, err := value.ConvertToNative(reflect.TypeFor[*celmutation.JSONPatchVal]())
	given, ok := native.(*celmutation.JSONPatchVal)
	if err != nil || !ok {
		return nil, fmt.Errorf("type mismatch: JSONPatchType.expression should evaluate to array of JSONPatch: %w", err)
	}
	operation := jsonpatch.Operation{}
	put := func(name string, value any) error {
		data, err := json.Marshal(value)
		raw := json.RawMessage(data)
		operation[name] = &raw
		return err
	}
	err = errors.Join(put("op", given.Op), put("path", given.Path))
	if given.From != "" {
		err = errors.Join(err, put("from", given.From))
	}
	if err != nil || given.Val == nil {
		return operation, err
	}
	if object, ok := given.Val.(*dynamic.ObjectVal); ok {
		if err := object.CheckTypeNamesMatchFieldPathNames(); err != nil {
			return nil, fmt.Errorf("type mismatch: %w", err)
		}
	}
	written, err := given.Val.ConvertToNative(reflect.TypeFor[*structpb.Value]())
	if err == nil {
		err = put("value", written)
	}
	if err != nil {
		return nil, fmt.Errorf("JSONPath valueExpression evaluated to a type that could not marshal to JSON: %w", err)
	}
	return operation, nil
}

// mergedByPolicy merges an Object in CEL into the JSON of an object, as server-side apply does (API-428).
func (q *reviews) mergedByPolicy(r *resources.Resource, obj []byte, value ref.Val) ([]byte, error) {
	object, ok := value.(*dynamic.ObjectVal)
	if !ok {
		return nil, fmt.Errorf("unsupported return type from ApplyConfiguration expression: %v", value.Type())
	}
	if err := object.CheckTypeNamesMatchFieldPathNames(); err != nil {
		return nil, fmt.Errorf("type mismatch: %w", err)
	}
	fields, ok := object.Value().(map[string]any)
	if !ok {
		return nil, fmt.Errorf("invalid return type: %T", value)
	}
	merged, err := q.server.mergeTyped(r, obj, fields)
	if err != nil {
		return nil, fmt.Errorf("error applying patch: %w", err)
	}
	return json.Marshal(merged)
}

// mergeTyped merges fields into an object of a resource, as the schema of its kind says.
func (s *Server) mergeTyped(r *resources.Resource, obj []byte, fields map[string]any) (map[string]any, error) {
	live, err := decodedFields(obj, nil)
	if err != nil {
		return nil, err
	}
	f := s.fields
	if f == nil {
		if s.policies.types == nil {
			s.policies.types = s.newTracker() // a server without managedFields needs types, too
		}
		f = s.policies.types
	}
	return f.Merge(r, live, fields)
}
