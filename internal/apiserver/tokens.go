package apiserver

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"slices"
	"strings"

	authenticationv1 "k8s.io/api/authentication/v1"

	"github.com/volsim/volsim/api"
)

// tokenClaims are what a token of a ServiceAccount says.
type tokenClaims struct {
	Audience   []string `json:"aud"`
	Expires    int64    `json:"exp"`
	Issuer     string   `json:"iss"`
	Subject    string   `json:"sub"`
	Kubernetes struct {
		Namespace      string `json:"namespace"`
		ServiceAccount struct {
			Name string `json:"name"`
			UID  string `json:"uid"`
		} `json:"serviceaccount"`
	} `json:"kubernetes.io"`
}

// Issued reports whether this server, or one with the same key, has issued a token. It may have expired.
func (s *Server) Issued(token string) bool { return s.readToken(token) != nil }

// readToken returns what a token says that this server has issued, nil for any other token.
func (s *Server) readToken(token string) *tokenClaims {
	parts := strings.Split(token, ".")
	if len(parts) != 3 {
		return nil
	}
	payload, err := base64.RawURLEncoding.DecodeString(parts[1])
	claims := &tokenClaims{}
	if err != nil || json.Unmarshal(payload, claims) != nil || claims.Issuer != tokenIssuer || !hmac.Equal([]byte(token), []byte(s.signed(payload))) {
		return nil
	}
	return claims
}

// signed returns the token with these claims.
func (s *Server) signed(claims []byte) string {
	if len(s.cfg.TokenKey) == 0 {
		return encodePart([]byte(`{"alg":"none","typ":"JWT"}`)) + "." + encodePart(claims) + "."
	}
	text := encodePart([]byte(`{"alg":"HS256","typ":"JWT"}`)) + "." + encodePart(claims)
	mac := hmac.New(sha256.New, s.cfg.TokenKey)
	mac.Write([]byte(text)) // never fails
	return text + "." + encodePart(mac.Sum(nil))
}

// reviewToken says whose token it is (API-462). Only those that the server has issued are valid, as long as they have not expired and their
// ServiceAccount is there.
func (s *Server) reviewToken(spec authenticationv1.TokenReviewSpec) authenticationv1.TokenReviewStatus {
	invalid := authenticationv1.TokenReviewStatus{Error: "[invalid bearer token]"}
	claims := s.readToken(spec.Token)
	if claims == nil || claims.Expires <= s.cfg.Backend.Now().Unix() {
		return invalid
	}
	namespace, account := claims.Kubernetes.Namespace, claims.Kubernetes.ServiceAccount
	obj, err := s.store.Get("ServiceAccount", api.Key(namespace, account.Name))
	if err != nil || string(obj.GetUID()) != account.UID {
		return invalid
	}
	wanted := spec.Audiences
	if len(wanted) == 0 {
		wanted = []string{tokenIssuer}
	}
	var audiences []string
	for _, a := range wanted {
		if slices.Contains(claims.Audience, a) {
			audiences = append(audiences, a)
		}
	}
	if len(audiences) == 0 {
		return invalid
	}
	return authenticationv1.TokenReviewStatus{Authenticated: true, Audiences: audiences, User: authenticationv1.UserInfo{
		Username: claims.Subject, UID: account.UID,
		Groups: []string{"system:serviceaccounts", "system:serviceaccounts:" + namespace, "system:authenticated"},
	}}
}
