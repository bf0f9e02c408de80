package apiserver

import (
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

// reviewToken says whose token it is (API-462). Only those that the server has issued are valid, as long as they have not expired and their
// ServiceAccount is there.
func (s *Server) reviewToken(spec authenticationv1.TokenReviewSpec) authenticationv1.TokenReviewStatus {
	invalid := authenticationv1.TokenReviewStatus{Error: "[invalid bearer token]"}
	parts := strings.Split(spec.Token, ".")
	if len(parts) != 3 {
		return invalid
	}
	payload, err := base64.RawURLEncoding.DecodeString(parts[1])
	var claims tokenClaims
	if err != nil || json.Unmarshal(payload, &claims) != nil || claims.Issuer != tokenIssuer || claims.Expires <= s.cfg.Backend.Now().Unix() {
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
