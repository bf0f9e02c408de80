package auth

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"slices"
	"strings"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/volsim/volsim/api"
	"github.com/volsim/volsim/internal/core/store"
)

// tokenClaims are what a token of a ServiceAccount says.
type tokenClaims struct {
	Audience   []string    `json:"aud"`
	Expires    int64       `json:"exp"`
	IssuedAt   int64       `json:"iat"`
	Issuer     string      `json:"iss"`
	Kubernetes boundClaims `json:"kubernetes.io"`
	NotBefore  int64       `json:"nbf"`
	Subject    string      `json:"sub"`
}

// boundClaims are the objects with which a token ends. The node of a token that is bound to a pod is there for information only.
type boundClaims struct {
	Namespace      string       `json:"namespace"`
	Node           *objectClaim `json:"node,omitempty"`
	Pod            *objectClaim `json:"pod,omitempty"`
	Secret         *objectClaim `json:"secret,omitempty"`
	ServiceAccount objectClaim  `json:"serviceaccount"`
}

type objectClaim struct {
	Name string    `json:"name"`
	UID  types.UID `json:"uid"`
}

func claimOf(obj api.Object) objectClaim { return objectClaim{obj.GetName(), obj.GetUID()} }

// leeway is how long a token stays valid after one of its objects was marked for deletion.
const leeway = time.Minute

// alive reports whether all objects of a token are there (API-462, API-554).
func (a *Authority) alive(claims *boundClaims) bool {
	there := func(kind api.Kind, namespace string, claim *objectClaim) bool {
		obj, err := a.Store.Get(kind, api.Key(namespace, claim.Name))
		if err != nil || obj.GetUID() != claim.UID {
			return false
		}
		deleted := obj.GetDeletionTimestamp()
		return deleted == nil || !deleted.Time.Before(a.Now().Add(-leeway))
	}
	switch {
	case !there(store.ServiceAccountKind, claims.Namespace, &claims.ServiceAccount):
		return false
	case claims.Secret != nil && !there(secretKind, claims.Namespace, claims.Secret):
		return false
	case claims.Pod != nil:
		return there(api.Pod, claims.Namespace, claims.Pod)
	case claims.Node != nil:
		return there(api.Node, "", claims.Node)
	}
	return true
}

// extra returns what else a token says of its user.
func (c *boundClaims) extra() map[string]authenticationv1.ExtraValue {
	extra := map[string]authenticationv1.ExtraValue{}
	for name, claim := range map[string]*objectClaim{"pod": c.Pod, "node": c.Node} {
		if claim == nil {
			continue
		}
		extra["authentication.kubernetes.io/"+name+"-name"] = authenticationv1.ExtraValue{claim.Name}
		if claim.UID != "" {
			extra["authentication.kubernetes.io/"+name+"-uid"] = authenticationv1.ExtraValue{string(claim.UID)}
		}
	}
	if len(extra) == 0 {
		return nil
	}
	return extra
}

// Issued reports whether this server, or one with the same key, has issued a token. It may have expired. Issued needs no lock.
func (a *Authority) Issued(token string) bool { return a.readToken(token) != nil }

// readToken returns what a token says that this server has issued, nil for any other token.
func (a *Authority) readToken(token string) *tokenClaims {
	parts := strings.Split(token, ".")
	if len(parts) != 3 {
		return nil
	}
	payload, err := base64.RawURLEncoding.DecodeString(parts[1])
	claims := &tokenClaims{}
	if err != nil || json.Unmarshal(payload, claims) != nil || claims.Issuer != tokenIssuer || !hmac.Equal([]byte(token), []byte(a.signed(payload))) {
		return nil
	}
	return claims
}

// signed returns the token with these claims.
func (a *Authority) signed(claims []byte) string {
	if len(a.TokenKey) == 0 {
		return encodePart([]byte(`{"alg":"none","typ":"JWT"}`)) + "." + encodePart(claims) + "."
	}
	text := encodePart([]byte(`{"alg":"HS256","typ":"JWT"}`)) + "." + encodePart(claims)
	mac := hmac.New(sha256.New, a.TokenKey)
	mac.Write([]byte(text)) // never fails
	return text + "." + encodePart(mac.Sum(nil))
}

// reviewToken says whose token it is (API-462). Only those that the server has issued are valid, as long as they have not expired and
// their objects are there.
func (a *Authority) reviewToken(spec authenticationv1.TokenReviewSpec) authenticationv1.TokenReviewStatus {
	invalid := authenticationv1.TokenReviewStatus{Error: "[invalid bearer token]"}
	claims := a.readToken(spec.Token)
	if claims == nil || claims.Expires <= a.Now().Unix() || !a.alive(&claims.Kubernetes) {
		return invalid
	}
	namespace, account := claims.Kubernetes.Namespace, claims.Kubernetes.ServiceAccount
	wanted := spec.Audiences
	if len(wanted) == 0 {
		wanted = []string{tokenIssuer}
	}
	var audiences []string
	for _, name := range wanted {
		if slices.Contains(claims.Audience, name) {
			audiences = append(audiences, name)
		}
	}
	if len(audiences) == 0 {
		return invalid
	}
	return authenticationv1.TokenReviewStatus{Authenticated: true, Audiences: audiences, User: authenticationv1.UserInfo{
		Username: claims.Subject, UID: string(account.UID), Extra: claims.Kubernetes.extra(),
		Groups: []string{"system:serviceaccounts", "system:serviceaccounts:" + namespace, "system:authenticated"},
	}}
}
