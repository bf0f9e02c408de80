package apiserver

import (
	"bytes"
	"encoding/json"
	"fmt"
	"reflect"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/volsim/volsim/api"
	"github.com/volsim/volsim/internal/apiserver/objectjson"
	"github.com/volsim/volsim/internal/apiserver/resources"
	"github.com/volsim/volsim/internal/core/plain"
	"github.com/volsim/volsim/internal/core/store"
)

// encoded returns the objects of a write in JSON, nil for none.
func (q *reviews) encoded(w store.Write) (obj, old []byte, err error) {
	if w.Object != nil {
		obj, err = q.server.encodeUncached(q.request.resource, w.Object)
	}
	if w.Old != nil && err == nil {
		old, err = q.server.encode(q.request.resource, w.Old)
	}
	return obj, old, err
}

// encodedBody returns the JSON of an object in the version of the request.
func (q *reviews) encodedBody(a *attributes, obj api.Object) ([]byte, error) {
	return q.server.encodeUncached(a.body, obj)
}

// encodeUncached returns the JSON of an object that is not stored.
func (s *Server) encodeUncached(r *resources.Resource, obj api.Object) ([]byte, error) {
	obj, err := s.inVersion(r, obj)
	if err != nil {
		return nil, err
	}
	if data, ok := obj.(*plain.Object); ok {
		obj = data.Copy() // the original is completed later
	}
	value, err := r.Presentable(obj)
	if err != nil {
		return nil, err
	}
	return objectjson.Encode(value, r.GVK())
}

// read decodes an object that a webhook has changed, and sets its defaults. It returns its JSON before that, too.
func (q *reviews) read(res *resources.Resource, data []byte, setDefaults func(api.Object)) (api.Object, []byte, error) {
	decoded, _, err := q.server.codec.read(body{data, "", metav1.FieldValidationIgnore}, runtime.ContentTypeJSON, res.GVK())
	if err != nil {
		return nil, nil, err
	}
	given, ok := decoded.(api.Object)
	if !ok || given.GetObjectKind().GroupVersionKind() != res.GVK() && !given.GetObjectKind().GroupVersionKind().Empty() {
		return nil, nil, fmt.Errorf("converting %T to %s: unknown conversion", decoded, res.KindName)
	}
	before, err := objectjson.Encode(given, res.GVK())
	if err != nil {
		return nil, nil, err
	}
	if _, err := q.server.resources.Definition(res).Conform(given, false); err != nil {
		return nil, nil, err
	}
	obj, err := q.server.storable(res, given)
	if err != nil {
		return nil, nil, err
	}
	if setDefaults != nil {
		setDefaults(obj)
	}
	return obj, before, nil
}

// convert returns the JSON of an object in another version of its kind.
func (q *reviews) convert(data []byte, from, to *resources.Resource) ([]byte, error) {
	if data == nil || from == to {
		return data, nil
	}
	if from.Custom && q.server.resources.ConversionOf(from) != nil {
		obj := &plain.Object{}
		if err := obj.UnmarshalJSON(data); err != nil {
			return nil, err
		}
		return q.server.encodeUncached(to, obj)
	}
	if from.Custom {
		// API-304: versions of a custom object differ in apiVersion only.
		var fields map[string]json.RawMessage
		if err := json.Unmarshal(data, &fields); err != nil {
			return nil, err
		}
		fields["apiVersion"], _ = json.Marshal(to.GroupVersion().String()) // a string can be encoded
		return json.Marshal(fields)
	}
	obj, _, err := q.read(from, data, nil)
	if err != nil {
		return nil, err
	}
	return q.server.encodeUncached(to, obj)
}

// sameJSON reports whether two documents are the same.
func sameJSON(a, b []byte) bool {
	if bytes.Equal(a, b) {
		return true
	}
	var x, y any
	return json.Unmarshal(a, &x) == nil && json.Unmarshal(b, &y) == nil && reflect.DeepEqual(x, y)
}
