package apiserver

import (
	"encoding/json"
	"net/http"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/strategicpatch"

	"github.com/volsim/volsim/api"
	"github.com/volsim/volsim/internal/core/store"
)

// patch applies a patch to the newest version of an object.
func (s *Server) patch(r *request, ref api.Ref) (api.Object, error) {
	switch types.PatchType(r.patchType) {
	case types.MergePatchType:
		return s.store.Patch(ref.Kind, ref.Key, r.body, api.Subresource(r.sub))
	case types.StrategicMergePatchType:
		return s.strategicPatch(r, ref)
	}
	return nil, &apierrors.StatusError{ErrStatus: apierrors.NewGenericServerResponse(http.StatusUnsupportedMediaType, "patch",
		r.resource.GroupResource(), r.name, r.patchType, 0, true).ErrStatus}
}

// strategicPatch stores the patched object as an update. It keeps the version that was patched unless the patch sets another one.
func (s *Server) strategicPatch(r *request, ref api.Ref) (api.Object, error) {
	obj, err := s.store.Get(ref.Kind, ref.Key)
	if err != nil {
		return nil, err
	}
	data, err := json.Marshal(obj)
	if err != nil {
		return nil, err
	}
	patched, err := strategicpatch.StrategicMergePatch(data, r.body, r.resource.empty())
	if err != nil {
		return nil, apierrors.NewBadRequest(err.Error())
	}
	if obj, err = r.resource.decode(patched); err != nil {
		return nil, apierrors.NewBadRequest(err.Error())
	}
	return s.store.UpdateWith(obj, api.Subresource(r.sub), store.UpdateOptions{})
}
