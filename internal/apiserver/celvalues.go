package apiserver

import (
	"encoding/json"
	"maps"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/apiserver/pkg/cel/library"

	"github.com/volsim/volsim/internal/apiserver/auth"
	"github.com/volsim/volsim/internal/apiserver/definition"
	"github.com/volsim/volsim/internal/apiserver/expression"
	"github.com/volsim/volsim/internal/apiserver/resources"
	"github.com/volsim/volsim/internal/core/store"
)

// requested is the resource that authorizer.requestResource is about.
type requested struct{ *attributes }

func (r requested) GetName() string                          { return r.name }
func (r requested) GetNamespace() string                     { return r.namespace }
func (r requested) GetResource() schema.GroupVersionResource { return r.resource.GroupVersionResource }
func (r requested) GetSubresource() string                   { return r.subresource }

// celValues returns the values of the variables for a write, with its objects in the version that a webhook or a policy sees. The namespace is null.
func (q *reviews) celValues(a *attributes, version *resources.Resource, obj, old []byte) (map[string]any, error) {
	review, err := q.review(a, version, obj, old)
	if err != nil {
		return nil, err
	}
	given := review.Request
	request := expression.Request{
		Kind: given.Kind, Resource: given.Resource, SubResource: given.SubResource, RequestKind: *given.RequestKind, RequestResource: *given.RequestResource,
		RequestSubResource: given.RequestSubResource, Name: given.Name, Namespace: given.Namespace, Operation: string(given.Operation), UserInfo: given.UserInfo,
		DryRun: q.dryRun,
	}
	if given.Options.Raw != nil {
		request.Options = json.RawMessage(given.Options.Raw)
	}
	data, err := json.Marshal(request)
	if err != nil {
		return nil, err
	}
	client := &user.DefaultInfo{Name: given.UserInfo.Username, Groups: given.UserInfo.Groups}
	permissions := auth.ForExpressions{Authority: q.server.auth}
	values := map[string]any{
		"namespaceObject": nil, "authorizer": library.NewAuthorizerVal(client, permissions),
		"authorizer.requestResource": library.NewResourceAuthorizerVal(client, permissions, requested{a}),
	}
	for name, text := range map[string][]byte{"request": data, "object": given.Object.Raw, "oldObject": given.OldObject.Raw} {
		var value map[string]any
		if text != nil {
			if err := definition.DecodeNumbers(text, &value); err != nil {
				return nil, err
			}
		}
		values[name] = any(value)
		if value == nil {
			values[name] = nil
		}
	}
	values["request"].(map[string]any)["dryRun"] = q.dryRun
	return values, nil
}

// asRequested returns the values with the resource that the request names, in place of that of the version which is shown.
func asRequested(values map[string]any) map[string]any {
	values = maps.Clone(values)
	request := maps.Clone(values["request"].(map[string]any))
	request["resource"] = request["requestResource"]
	values["request"] = request
	return values
}

// withNamespace returns the values with the namespace of a write.
func (q *reviews) withNamespace(values map[string]any, a *attributes) (map[string]any, error) {
	values = maps.Clone(values)
	if a.namespace == "" || a.resource.Kind == store.NamespaceKind {
		return values, nil
	}
	namespace, err := q.server.namespaceOf(a)
	if err != nil {
		return nil, err
	}
	if namespace == nil {
		values["namespaceObject"] = map[string]any{
			"metadata": map[string]any{"name": a.namespace, "labels": map[string]any{namespaceLabel: a.namespace}}, "spec": map[string]any{}, "status": map[string]any{"phase": "Active"},
		}
		return values, nil
	}
	shown, err := decodedFields(q.server.encode(q.server.resources.ByKind[store.NamespaceKind], namespace))
	if err != nil {
		return nil, err
	}
	// API-417: expressions see a namespace without its kind, its owners, and the managers of its fields.
	delete(shown, "kind")
	delete(shown, "apiVersion")
	if metadata, ok := shown["metadata"].(map[string]any); ok {
		delete(metadata, "managedFields")
		delete(metadata, "ownerReferences")
	}
	values["namespaceObject"] = shown
	return values, nil
}

// decodedFields decodes the JSON of an object.
func decodedFields(data []byte, err error) (map[string]any, error) {
	var fields map[string]any
	if err == nil {
		err = definition.DecodeNumbers(data, &fields)
	}
	return fields, err
}
