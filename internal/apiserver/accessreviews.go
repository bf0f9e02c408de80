package apiserver

import (
	"net/http"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/volsim/volsim/api"
	"github.com/volsim/volsim/internal/apiserver/auth"
)

// answerReview answers a review of who a client is, or of what it may do.
func (s *Server) answerReview(r *request, opts metav1.CreateOptions) ([]byte, int, error) {
	obj, warnings, err := s.codec.decode(body{r.body, r.contentType, opts.FieldValidation}, r.resource.GVK())
	if err != nil {
		return nil, 0, err
	}
	r.warnings = append(r.warnings, warnings...)
	reviewed, err := reviewBody(r, bodyOfKind(r.resource.GVK()), r.name, obj.(api.Object))
	if err != nil {
		return nil, 0, err
	}
	obj = reviewed
	if err := auth.CheckReview(obj.(api.Object)); err != nil {
		return nil, 0, err
	}
	s.ownReview(r, obj.(api.Object))
	obj = s.auth.AnswerReview(obj.(api.Object), r.userInfo())
	data, err := s.representReview(r, obj.(api.Object), r.resource.GVK())
	return data, http.StatusCreated, err
}

// representReview returns the answer to a review or to a request for a token, in the type that the request asks for (API-588).
func (s *Server) representReview(r *request, obj api.Object, gvk schema.GroupVersionKind) ([]byte, error) {
	if r.format.as != nil {
		return s.convert(r, obj)
	}
	return r.format.encode(obj, gvk)
}

// ownReview sets the managedFields of a review: its client owns what it asks.
func (s *Server) ownReview(r *request, obj api.Object) {
	if s.fields == nil {
		return
	}
	if entries, ok := s.fields.Created(r.resource, obj, r.manager); ok {
		obj.SetManagedFields(entries)
	}
}
