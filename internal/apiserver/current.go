package apiserver

import (
	"reflect"

	"k8s.io/apimachinery/pkg/runtime"

	"github.com/volsim/volsim/api"
	"github.com/volsim/volsim/internal/core/plain"
)

// currents remembers how stored custom objects look with the schemas of today: a real server completes an object when it reads it (API-457).
type currents map[encodingKey]currentObject

// currentObject is a stored object and what it looks like in one version of a definition: another object, or the same.
type currentObject struct {
	definition  *customVersion
	stored, now api.Object
}

// maxCurrents is how many objects are remembered. When there are more, all are forgotten.
const maxCurrents = 1 << 14

// getStored returns the object of a request, as it is read.
func (s *Server) getStored(r *request) (api.Object, error) {
	obj, err := s.store.Get(r.resource.kind, r.key())
	if err != nil {
		return obj, err
	}
	return s.current(r.resource, obj), nil
}

// current returns a stored object without the fields that its schema does not know any more, and with the defaults that it has since. The caller has the
// lock.
func (s *Server) current(r *resource, obj api.Object) api.Object {
	v := s.customVersion(r)
	custom, ok := obj.(*plain.Object)
	if obj.GetUID() == "" {
		return obj // a bookmark
	}
	if v == nil || v.schema == nil || !ok {
		return obj
	}
	key := encodingKey{r, obj.GetUID()}
	if known := s.currents[key]; known.stored == obj && known.definition == v {
		return known.now
	}
	now := obj
	content := runtime.DeepCopyJSON(custom.Content())
	if content == nil {
		content = map[string]any{}
	}
	v.schema.prune(content, "", true)
	v.schema.setDefaults(content)
	if len(content) != len(custom.Content()) || !reflect.DeepEqual(content, custom.Content()) {
		changed := custom.Copy()
		changed.SetContent(content)
		now = changed
	}
	if s.currents == nil || len(s.currents) >= maxCurrents {
		s.currents = currents{}
	}
	s.currents[key] = currentObject{v, obj, now}
	return now
}

// readCustom is current for the resource of the request that is served.
func (s *Server) readCustom(obj api.Object) api.Object {
	kind := api.KindOf(obj)
	if s.fields != nil && s.fields.request != nil && s.fields.request.resource.kind == kind {
		return s.current(s.fields.request.resource, obj)
	}
	if r := s.resourceOf(kind); r != nil {
		return s.current(r, obj)
	}
	return obj
}

// currentList is current for each object of a list, which stays as it is.
func (s *Server) currentList(r *resource, list []api.Object) []api.Object {
	if s.customVersion(r) == nil {
		return list
	}
	out := make([]api.Object, len(list))
	for i, obj := range list {
		out[i] = s.current(r, obj)
	}
	return out
}
