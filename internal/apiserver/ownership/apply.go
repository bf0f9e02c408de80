package ownership

import (
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/volsim/volsim/api"
)

// Apply applies a configuration to an object, which Stored or Empty has returned. With force, the manager takes over fields that others own.
func (f *Tracker) Apply(w Write, current runtime.Object, configuration *unstructured.Unstructured, force bool) (api.Object, error) {
	fm, err := f.manager(w.Resource, w.Subresource)
	if err != nil {
		return nil, err
	}
	before := current.(api.Object).GetManagedFields()
	forgetTimes(current.(api.Object))
	result, err := fm.Apply(current, configuration, w.Manager, force)
	if err != nil {
		converter, convertErr := f.typeConverter(w.Resource)
		if convertErr != nil {
			return nil, convertErr
		}
		return nil, inOrder(err, converter, current, configuration)
	}
	obj := result.(api.Object)
	obj.SetManagedFields(f.withTimes(obj.GetManagedFields(), before))
	return obj, nil
}
