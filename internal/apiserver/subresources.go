package apiserver

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/http"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/validation/field"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/volsim/volsim/api"
	"github.com/volsim/volsim/internal/apiserver/kinds"
	"github.com/volsim/volsim/internal/core/plain"
	"github.com/volsim/volsim/internal/core/store"
)

// Subresources that bind and delete pods, that change one part of an object, and the one that issues tokens.
const (
	subresourceBinding  = "binding"
	subresourceEviction = "eviction"
	subresourceApproval = "approval" // the conditions of a CertificateSigningRequest
	subresourceFinalize = "finalize" // the finalizers in the spec of a Namespace
	subresourceToken    = "token"
)

// replace stores a new version of an object, or of the part that the subresource of the request stands for.
func (s *Server) replace(r *request, obj api.Object, opts store.UpdateOptions) (api.Object, error) {
	if r.resource.kind == kinds.SigningRequest && r.subresource != "" {
		return s.replaceSigning(r, obj.(*plain.Object), opts)
	}
	if r.subresource == subresourceFinalize {
		finalizers, _, err := unstructured.NestedStringSlice(obj.(*plain.Object).Content(), "spec", "finalizers")
		if err != nil {
			return nil, apierrors.NewBadRequest(err.Error())
		}
		return s.store.FinalizeNamespace(r.name, obj.GetResourceVersion(), finalizers)
	}
	return s.store.UpdateWith(obj, api.Subresource(r.subresource), opts)
}

// Tokens last an hour unless the request says otherwise, and at least ten minutes.
const (
	tokenLife    = 3600
	minTokenLife = 600
	tokenIssuer  = "https://kubernetes.default.svc.cluster.local"
)

var tokenBody = bodyOfKind(authenticationv1.SchemeGroupVersion.WithKind("TokenRequest"))

// issueToken answers a request for a token of a ServiceAccount. The token has the claims of a real one.
func (s *Server) issueToken(r *request, opts metav1.CreateOptions) ([]byte, int, error) {
	obj, warnings, err := s.codec.decode(body{r.body, r.contentType, opts.FieldValidation}, authenticationv1.SchemeGroupVersion.WithKind("TokenRequest"))
	if err != nil {
		return nil, 0, err
	}
	r.warnings = append(r.warnings, warnings...)
	req := obj.(*authenticationv1.TokenRequest)
	account, err := s.store.Get(r.resource.kind, r.key())
	if err != nil {
		return nil, 0, err
	}
	if req.Spec.ExpirationSeconds == nil {
		req.Spec.ExpirationSeconds = new(int64(tokenLife))
	}
	if len(req.Spec.Audiences) == 0 {
		req.Spec.Audiences = []string{tokenIssuer}
	}
	if req, err = reviewBody(r, tokenBody, r.name, req); err != nil {
		return nil, 0, err
	}
	life := *req.Spec.ExpirationSeconds
	path := field.NewPath("spec", "expirationSeconds")
	switch {
	case life < minTokenLife:
		err = field.Invalid(path, life, "may not specify a duration less than 10 minutes")
	case life > 1<<32:
		err = field.Invalid(path, life, "may not specify a duration larger than 2^32 seconds")
	}
	if err != nil {
		return nil, 0, apierrors.NewInvalid(authenticationv1.SchemeGroupVersion.WithKind("TokenRequest").GroupKind(), "", field.ErrorList{err.(*field.Error)})
	}
	now := s.cfg.Backend.Now().UTC().Truncate(time.Second)
	claims := map[string]any{
		"aud": req.Spec.Audiences, "exp": now.Unix() + life, "iat": now.Unix(), "nbf": now.Unix(), "iss": tokenIssuer,
		"kubernetes.io": map[string]any{
			"namespace": r.namespace, "serviceaccount": map[string]any{"name": account.GetName(), "uid": account.GetUID()},
		},
		"sub": fmt.Sprintf("system:serviceaccount:%s:%s", r.namespace, account.GetName()),
	}
	payload, err := json.Marshal(claims)
	if err != nil {
		return nil, 0, err
	}
	req.Name, req.Namespace, req.CreationTimestamp = account.GetName(), r.namespace, metav1.NewTime(now)
	req.Status.Token = s.signed(payload)
	req.Status.ExpirationTimestamp = metav1.NewTime(now.Add(time.Duration(life) * time.Second))
	data, err := encodeObject(req, authenticationv1.SchemeGroupVersion.WithKind("TokenRequest"))
	return data, http.StatusCreated, err
}

func encodePart(data []byte) string { return base64.RawURLEncoding.EncodeToString(data) }
