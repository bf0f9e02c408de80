package dump

import (
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/volsim/volsim/api"
	"github.com/volsim/volsim/internal/core/objkinds"
)

const admissionGroup = ".admissionregistration.k8s.io"

// Kinds of admission.
var (
	policyKinds  = []api.Kind{"MutatingAdmissionPolicy" + admissionGroup, "ValidatingAdmissionPolicy" + admissionGroup}
	webhookKinds = []api.Kind{"MutatingWebhookConfiguration" + admissionGroup, "ValidatingWebhookConfiguration" + admissionGroup}
)

// HasPolicies reports whether the dump has admission policies.
func (d *Dump) HasPolicies() bool {
	return slices.ContainsFunc(d.Objects, func(obj api.Object) bool { return slices.Contains(policyKinds, api.KindOf(obj)) })
}

// withoutParameters removes the policies of which the dump has no parameters: they would refuse everything. It notes them, and the webhooks.
func (d *Dump) withoutParameters(objs []api.Object) (left []api.Object, notes []string) {
	var webhooks []string
	left = slices.DeleteFunc(objs, func(obj api.Object) bool {
		kind := api.KindOf(obj)
		if slices.Contains(webhookKinds, kind) {
			webhooks = append(webhooks, obj.GetName())
		}
		if !slices.Contains(policyKinds, kind) {
			return false
		}
		param, err := kindOfParameters(obj)
		if err != nil || param == (schema.GroupVersionKind{}) || d.count(api.Kind(objkinds.Name(param.Group, param.Kind))) > 0 {
			return false // a policy that is not valid has no effect
		}
		notes = append(notes, fmt.Sprintf("Policy %s has no effect here: the dump has no %s, its parameters.", obj.GetName(), param.Kind))
		return true
	})
	if len(webhooks) > 0 {
		notes = append(notes, fmt.Sprintf("Admission webhooks are not asked, and change and refuse nothing: %s.", strings.Join(webhooks, ", ")))
	}
	return left, notes
}

// kindOfParameters returns the paramKind of a policy, the zero value for none.
func kindOfParameters(policy api.Object) (schema.GroupVersionKind, error) {
	content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(policy)
	if err != nil {
		return schema.GroupVersionKind{}, err
	}
	fields, _, err := unstructured.NestedStringMap(content, "spec", "paramKind")
	return schema.FromAPIVersionAndKind(fields["apiVersion"], fields["kind"]), err
}
