package apiserver

import (
	"net/http"

	authenticationv1 "k8s.io/api/authentication/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

var (
	tokenRequest = authenticationv1.SchemeGroupVersion.WithKind("TokenRequest")
	tokenBody    = bodyOfKind(tokenRequest)
)

// issueToken answers a request for a token of a ServiceAccount.
func (s *Server) issueToken(r *request, opts metav1.CreateOptions) ([]byte, int, error) {
	obj, warnings, err := s.codec.decode(body{r.body, r.contentType, opts.FieldValidation}, tokenRequest)
	if err != nil {
		return nil, 0, err
	}
	r.warnings = append(r.warnings, warnings...)
	req := obj.(*authenticationv1.TokenRequest)
	if err := s.auth.CompleteTokenRequest(req, r.namespace, r.name); err != nil {
		return nil, 0, err
	}
	if req, err = reviewBody(r, tokenBody, r.name, req); err != nil {
		return nil, 0, err
	}
	if err := s.auth.IssueToken(req, r.ref()); err != nil {
		return nil, 0, err
	}
	data, err := s.representReview(r, req, tokenRequest)
	return data, http.StatusCreated, err
}
