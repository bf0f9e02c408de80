package apiserver

import (
	"reflect"

	"k8s.io/apimachinery/pkg/runtime"

	"github.com/volsim/volsim/api"
	"github.com/volsim/volsim/internal/apiserver/resources"
	"github.com/volsim/volsim/internal/core/plain"
)

// currents remembers how stored custom objects look with the schemas of today: a real server completes an object when it reads it (API-457).
type currents map[encodingKey]currentObject

// currentObject is a stored object and what it looks like in one version of a definition: another object, or the same.
type currentObject struct {
	definition  *resources.DefinedVersion
	stored, now api.Object
}

// maxCurrents is how many objects are remembered. When there are more, all are forgotten.
const maxCurrents = 1 << 14

// current returns a stored object without the fields that its schema does not know any more, and with the defaults that it has since. The caller has the
// lock.
func (s *Server) current(r *resources.Resource, obj api.Object) api.Object {
	v := s.resources.Definition(r)
	custom, ok := obj.(*plain.Object)
	if obj.GetUID() == "" {
		return obj // a bookmark
	}
	if v == nil || v.Schema == nil || !ok {
		return obj
	}
	key := encodingKey{resource: r, uid: obj.GetUID()}
	if known := s.currents[key]; known.stored == obj && known.definition == v {
		return known.now
	}
	now := obj
	content := runtime.DeepCopyJSON(custom.Content())
	if content == nil {
		content = map[string]any{}
	}
	v.Schema.Prune(content, "", true)
	v.Schema.Complete(content)
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
