package auth

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/volsim/volsim/api"
	"github.com/volsim/volsim/internal/core/store"
)

// Tokens last an hour unless the request says otherwise, and at least ten minutes.
const (
	tokenLife    = 3600
	minTokenLife = 600
	tokenIssuer  = "https://kubernetes.default.svc.cluster.local"
)

const secretKind api.Kind = "Secret"

var tokenRequest = authenticationv1.SchemeGroupVersion.WithKind("TokenRequest")

// CompleteTokenRequest completes a request for a token of the ServiceAccount of that name. The error is that of a request that does not fit the account.
func (a *Authority) CompleteTokenRequest(req *authenticationv1.TokenRequest, namespace, name string) error {
	if req.Spec.ExpirationSeconds == nil {
		req.Spec.ExpirationSeconds = new(int64(tokenLife))
	}
	account, err := a.tokenAccount(req, namespace, name)
	if err != nil {
		return err
	}
	if len(req.Spec.Audiences) == 0 {
		req.Spec.Audiences = []string{tokenIssuer}
	}
	req.Name, req.Namespace, req.UID, req.CreationTimestamp = account.GetName(), namespace, account.GetUID(), metav1.NewTime(a.Now().UTC().Truncate(time.Second))
	req.Status = authenticationv1.TokenRequestStatus{}
	return nil
}

// IssueToken sets the status of a request for a token of a ServiceAccount. The token has the claims of a real one.
func (a *Authority) IssueToken(req *authenticationv1.TokenRequest, account api.Ref) error {
	if err := checkTokenLife(*req.Spec.ExpirationSeconds); err != nil {
		return err
	}
	owner, err := a.Store.Get(account.Kind, account.Key)
	if err != nil {
		return err
	}
	namespace, now := owner.GetNamespace(), a.Now().UTC().Truncate(time.Second)
	claims := tokenClaims{
		Audience: req.Spec.Audiences, Expires: now.Unix() + *req.Spec.ExpirationSeconds, IssuedAt: now.Unix(), NotBefore: now.Unix(), Issuer: tokenIssuer,
		Subject:    fmt.Sprintf("system:serviceaccount:%s:%s", namespace, owner.GetName()),
		Kubernetes: boundClaims{Namespace: namespace, ServiceAccount: claimOf(owner)},
	}
	if err := a.bindToken(&claims.Kubernetes, req.Spec.BoundObjectRef); err != nil {
		return err
	}
	payload, err := json.Marshal(claims)
	if err != nil {
		return err
	}
	req.Status.Token = a.signed(payload)
	req.Status.ExpirationTimestamp = metav1.NewTime(now.Add(time.Duration(*req.Spec.ExpirationSeconds) * time.Second))
	return nil
}

// tokenAccount returns the ServiceAccount whose token is requested. What the request says of it must be true (API-554).
func (a *Authority) tokenAccount(req *authenticationv1.TokenRequest, namespace, name string) (api.Object, error) {
	for _, f := range []struct{ name, given, want string }{{"name", req.Name, name}, {"namespace", req.Namespace, namespace}} {
		if f.given != "" && f.given != f.want {
			why := "must match the service account " + f.name + " if specified"
			return nil, apierrors.NewInvalid(tokenRequest.GroupKind(), name, field.ErrorList{field.Invalid(field.NewPath("metadata", f.name), f.given, why)})
		}
	}
	account, err := a.Store.Get(store.ServiceAccountKind, api.Key(namespace, name))
	if err != nil {
		return nil, err
	}
	if req.UID != "" && req.UID != account.GetUID() {
		return nil, apierrors.NewConflict(schema.GroupResource{Group: tokenRequest.Group, Resource: tokenRequest.Kind}, name,
			fmt.Errorf("the UID in the token request (%s) does not match the UID of the service account (%s)", req.UID, account.GetUID()))
	}
	return account, nil
}

func checkTokenLife(life int64) error {
	path := field.NewPath("spec", "expirationSeconds")
	var err *field.Error
	switch {
	case life < minTokenLife:
		err = field.Invalid(path, life, "may not specify a duration less than 10 minutes")
	case life > 1<<32:
		err = field.Invalid(path, life, "may not specify a duration larger than 2^32 seconds")
	default:
		return nil
	}
	return apierrors.NewInvalid(tokenRequest.GroupKind(), "", field.ErrorList{err})
}

// bindToken binds a token to an object, with which it ends (API-554): a Secret, a Node, or a Pod of the ServiceAccount.
func (a *Authority) bindToken(claims *boundClaims, ref *authenticationv1.BoundObjectReference) error {
	if ref == nil {
		return nil
	}
	gvk := schema.FromAPIVersionAndKind(ref.APIVersion, ref.Kind)
	kind, key := api.Kind(gvk.Kind), api.Key(claims.Namespace, ref.Name)
	switch {
	case gvk.Group != "" || kind != api.Pod && kind != api.Node && kind != secretKind:
		return apierrors.NewBadRequest("cannot bind token to object of type " + gvk.String())
	case ref.Name == "":
		return apierrors.NewBadRequest("Name parameter required.")
	case kind == api.Node:
		key = ref.Name
	}
	bound, err := a.Store.Get(kind, key)
	if err != nil {
		return err
	}
	if pod, ok := bound.(*corev1.Pod); ok && pod.Spec.ServiceAccountName != claims.ServiceAccount.Name {
		return apierrors.NewBadRequest(fmt.Sprintf("cannot bind token for serviceaccount %q to pod running with different serviceaccount name.", claims.ServiceAccount.Name))
	}
	if ref.UID != "" && ref.UID != bound.GetUID() {
		return apierrors.NewConflict(schema.GroupResource{Group: gvk.Group, Resource: gvk.Kind}, ref.Name, fmt.Errorf(
			"the UID in the bound object reference (%s) does not match the UID in record. The object might have been deleted and then recreated", ref.UID))
	}
	claim := claimOf(bound)
	switch bound := bound.(type) {
	case *corev1.Pod:
		claims.Pod = &claim
		if bound.Spec.NodeName != "" {
			// API-554: the node of the pod is named, also if it does not exist.
			claims.Node = &objectClaim{Name: bound.Spec.NodeName}
			if node, err := a.Store.Get(api.Node, bound.Spec.NodeName); err == nil {
				claims.Node.UID = node.GetUID()
			}
		}
	case *corev1.Node:
		claims.Node = &claim
	default:
		claims.Secret = &claim
	}
	return nil
}

func encodePart(data []byte) string { return base64.RawURLEncoding.EncodeToString(data) }
