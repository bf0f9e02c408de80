package apiserver

import (
	admissionv1 "k8s.io/api/admission/v1"
	autoscalingv1 "k8s.io/api/autoscaling/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/volsim/volsim/api"
	"github.com/volsim/volsim/internal/apiserver/objectjson"
	"github.com/volsim/volsim/internal/apiserver/resources"
	"github.com/volsim/volsim/internal/core/plain"
	"github.com/volsim/volsim/internal/core/store"
)

// reviewBody lets webhooks change the body of a request for a subresource, and refuse it. obj has the Go type of its kind, old is nil for a create.
// Without webhooks it returns the body.
func reviewBody[T api.Object](r *request, res *resources.Resource, name string, obj T) (T, error) {
	q := r.reviews
	if q == nil {
		return obj, nil
	}
	a := &attributes{resource: r.resource, subresource: r.subresource, body: res, operation: admissionv1.Create, namespace: r.namespace, name: name}
	reviewed, err := q.mutateBody(a, obj, nil)
	if err != nil {
		return obj, err
	}
	data, err := objectjson.Encode(reviewed, res.GVK())
	if err != nil {
		return obj, err
	}
	return reviewed.(T), q.validate(a, data, nil)
}

// mutateBody lets webhooks change a body.
func (q *reviews) mutateBody(a *attributes, obj api.Object, old []byte) (api.Object, error) {
	data, err := objectjson.Encode(obj, a.body.GVK())
	if err != nil {
		return nil, err
	}
	read := func(data []byte) (api.Object, []byte, error) { return q.read(a.body, data, nil) }
	result, changed, err := q.mutate(a, data, old, false, obj, read)
	if err != nil || !changed {
		return result, err
	}
	if data, err = objectjson.Encode(result, a.body.GVK()); err != nil {
		return nil, err
	}
	result, _, err = q.mutate(a, data, old, true, result, read)
	return result, err
}

// bodyOfKind stands for the resource in bodies of a subresource.
func bodyOfKind(gvk schema.GroupVersionKind) *resources.Resource {
	return &resources.Resource{
		GroupVersionResource: gvk.GroupVersion().WithResource(gvk.Kind), KindName: gvk.Kind, Typed: true,
		Stored: func(obj api.Object) (api.Object, error) { return obj, nil },
	}
}

// scaleBody is the body of the subresource scale.
var scaleBody = bodyOfKind(resources.Scales.GVK())

// validateScale asks the webhooks about the scale of the object of a write.
func (q *reviews) validateScale(w store.Write) error {
	data := make([][]byte, 2)
	for i, obj := range []api.Object{w.Object, w.Old} {
		scale, err := q.server.scaleOf(q.request.resource, obj.(*plain.Object))
		if err == nil {
			data[i], err = objectjson.Encode(scale, scaleBody.GVK())
		}
		if err != nil {
			return err
		}
	}
	return q.validate(q.scaleAttributes(), data[0], data[1])
}

// reviewScale lets webhooks change a scale.
func (r *request) reviewScale(scale, old *autoscalingv1.Scale) (*autoscalingv1.Scale, error) {
	if r.reviews == nil {
		return scale, nil
	}
	before, err := objectjson.Encode(old, scaleBody.GVK())
	if err != nil {
		return nil, err
	}
	reviewed, err := r.reviews.mutateBody(r.reviews.scaleAttributes(), scale, before)
	if err != nil {
		return nil, err
	}
	return reviewed.(*autoscalingv1.Scale), nil
}

// scaleAttributes are those of an update of a scale.
func (q *reviews) scaleAttributes() *attributes {
	r := q.request
	return &attributes{resource: r.resource, subresource: r.subresource, body: scaleBody, operation: admissionv1.Update, namespace: r.namespace, name: r.name}
}
