package apiserver

import (
	"net/http"
	"strings"

	authenticationv1 "k8s.io/api/authentication/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/volsim/volsim/api"
)

// newReviews returns the resources that answer who the client is and what it may do.
func newReviews() []*resource {
	var list []*resource
	for _, kind := range []schema.GroupVersionKind{
		authenticationv1.SchemeGroupVersion.WithKind("SelfSubjectReview"),
		authenticationv1.SchemeGroupVersion.WithKind("TokenReview"),
		authorizationv1.SchemeGroupVersion.WithKind("LocalSubjectAccessReview"),
		authorizationv1.SchemeGroupVersion.WithKind("SelfSubjectAccessReview"),
		authorizationv1.SchemeGroupVersion.WithKind("SelfSubjectRulesReview"),
		authorizationv1.SchemeGroupVersion.WithKind("SubjectAccessReview"),
	} {
		name := strings.ToLower(kind.Kind)
		list = append(list, &resource{
			GroupVersionResource: kind.GroupVersion().WithResource(name + "s"), kind: api.Kind(kind.Kind + "." + kind.Group),
			kindName: kind.Kind, singular: name, namespaced: kind.Kind == "LocalSubjectAccessReview", typed: true, review: true,
		})
	}
	return list
}

// review answers a review. Every client may do everything, as a member of system:masters may.
func (s *Server) review(r *request, opts metav1.CreateOptions) ([]byte, int, error) {
	obj, warnings, err := s.codec.decode(body{r.body, r.contentType, opts.FieldValidation}, r.resource.gvk())
	if err != nil {
		return nil, 0, err
	}
	r.warnings = append(r.warnings, warnings...)
	reviewed, err := reviewBody(r, bodyOfKind(r.resource.gvk()), r.name, obj.(api.Object))
	if err != nil {
		return nil, 0, err
	}
	obj = reviewed
	allowed := authorizationv1.SubjectAccessReviewStatus{Allowed: true}
	everything := []string{"*"}
	switch review := obj.(type) {
	case *authorizationv1.SelfSubjectAccessReview:
		review.Status = allowed
	case *authorizationv1.SubjectAccessReview:
		review.Status = allowed
	case *authorizationv1.LocalSubjectAccessReview:
		review.Status = allowed
	case *authorizationv1.SelfSubjectRulesReview:
		review.Status = authorizationv1.SubjectRulesReviewStatus{
			ResourceRules:    []authorizationv1.ResourceRule{{Verbs: everything, APIGroups: everything, Resources: everything}},
			NonResourceRules: []authorizationv1.NonResourceRule{{Verbs: everything, NonResourceURLs: everything}},
		}
	case *authenticationv1.SelfSubjectReview:
		review.Status.UserInfo = authenticationv1.UserInfo{Username: r.actor, Groups: clientGroups}
		review.CreationTimestamp = metav1.NewTime(s.cfg.Backend.Now().UTC().Truncate(1e9))
	case *authenticationv1.TokenReview:
		review.Status = s.reviewToken(review.Spec)
	}
	data, err := encodeObject(obj, r.resource.gvk())
	return data, http.StatusCreated, err
}
