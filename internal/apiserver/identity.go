package apiserver

import (
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"

	authenticationv1 "k8s.io/api/authentication/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apiserver/pkg/authentication/user"

	"github.com/volsim/volsim/internal/apiserver/rbac"
)

// authorized returns who makes a request, or the error for one that this user may not make (API-492 to API-496). It is nil for the
// administrator, who may do everything: that is every client without a token of the server that impersonates nobody.
func (s *Server) authorized(req *http.Request) (*authenticationv1.UserInfo, error) {
	token, _ := strings.CutPrefix(req.Header.Get("Authorization"), "Bearer ")
	claims := s.readToken(token)
	wanted, err := wantedUser(req.Header)
	if err != nil || claims == nil && wanted == nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	r := requestOfPath(req)
	r.User = authenticationv1.UserInfo{Groups: clientGroups}
	if claims != nil {
		// API-492
		status := s.reviewToken(authenticationv1.TokenReviewSpec{Token: token})
		if !status.Authenticated {
			return nil, apierrors.NewUnauthorized("Unauthorized")
		}
		r.User = status.User
	}
	if wanted != nil {
		if r.User, err = s.impersonate(r, wanted); err != nil {
			return nil, err
		}
	}
	return &r.User, s.authorize(r)
}

// wantedUser returns the user that the headers of a request name, nil for none (API-493).
func wantedUser(header http.Header) (*authenticationv1.UserInfo, error) {
	wanted := &authenticationv1.UserInfo{
		Username: header.Get("Impersonate-User"), UID: header.Get("Impersonate-Uid"), Groups: slices.Clone(header["Impersonate-Group"]),
	}
	for name, values := range header {
		key, ok := strings.CutPrefix(name, "Impersonate-Extra-")
		if !ok || len(values) == 0 {
			continue
		}
		key = strings.ToLower(key)
		if plain, err := url.PathUnescape(key); err == nil {
			key = plain
		}
		if wanted.Extra == nil {
			wanted.Extra = map[string]authenticationv1.ExtraValue{}
		}
		wanted.Extra[key] = append(wanted.Extra[key], values...)
	}
	switch {
	case wanted.Username != "":
		return wanted, nil
	case wanted.UID == "" && len(wanted.Groups) == 0 && wanted.Extra == nil:
		return nil, nil
	}
	shown := &user.DefaultInfo{UID: wanted.UID, Groups: wanted.Groups}
	for key, values := range wanted.Extra {
		if shown.Extra == nil {
			shown.Extra = map[string][]string{}
		}
		shown.Extra[key] = values
	}
	return nil, apierrors.NewBadRequest(fmt.Sprintf("requested %#v without impersonating a user name", shown))
}

// impersonationMode is a way in which a user may be allowed to impersonate another.
type impersonationMode struct {
	name    string // "" for the one without constraints
	subject rbac.Request
	groups  []string // of the user, if none are wanted
}

// modesFor returns the modes in which a user may be impersonated, in the order in which they are tried. Nodes and ServiceAccounts have fixed
// groups; if others are wanted, only the last mode is left. The mode of a node's own ServiceAccounts is missing: tokens do not name the node.
func modesFor(wanted *authenticationv1.UserInfo) []impersonationMode {
	alone := wanted.UID == "" && len(wanted.Groups) == 0 && wanted.Extra == nil
	user := rbac.Request{Resource: "users", Name: wanted.Username}
	constrained, plain := impersonationMode{name: "user-info", subject: user}, impersonationMode{subject: user}
	if node, ok := strings.CutPrefix(wanted.Username, "system:node:"); ok && node != "" {
		constrained = impersonationMode{name: "arbitrary-node", subject: rbac.Request{Resource: "nodes", Name: node}, groups: []string{"system:nodes"}}
	}
	if namespace, name, ok := serviceAccount(wanted.Username); ok {
		groups := []string{"system:serviceaccounts", "system:serviceaccounts:" + namespace}
		account := rbac.Request{Resource: "serviceaccounts", Namespace: namespace, Name: name}
		constrained, plain = impersonationMode{"serviceaccount", account, groups}, impersonationMode{"", account, groups}
	}
	constrained.subject.Group = authenticationv1.GroupName
	if constrained.name != "user-info" && !alone {
		return []impersonationMode{plain}
	}
	return []impersonationMode{constrained, plain}
}

// impersonate returns the identity that a user takes on for a request, if one of the modes allows it (API-493). The error is that of the first
// mode.
func (s *Server) impersonate(r rbac.Request, wanted *authenticationv1.UserInfo) (as authenticationv1.UserInfo, first error) {
	for _, mode := range modesFor(wanted) {
		err := s.mayImpersonate(r, mode, wanted)
		if err == nil {
			as = *wanted
			if len(as.Groups) == 0 {
				as.Groups = mode.groups
			}
			as.Groups = withOwnGroup(as.Username, as.Groups)
			return as, nil
		}
		if first == nil {
			first = err
		}
	}
	return as, first
}

// mayImpersonate returns the error that forbids a user to impersonate another in a mode.
func (s *Server) mayImpersonate(r rbac.Request, mode impersonationMode, wanted *authenticationv1.UserInfo) error {
	verb := "impersonate"
	if mode.name != "" {
		on := r
		on.Verb = "impersonate-on:" + mode.name + ":" + r.Verb
		if err := s.authorize(on); err != nil {
			return err
		}
		verb += ":" + mode.name
	}
	for _, needed := range append([]rbac.Request{mode.subject}, partsOf(wanted, mode)...) {
		needed.User, needed.Verb = r.User, verb
		if err := s.authorize(needed); err != nil {
			return err
		}
	}
	return nil
}

// partsOf returns what somebody must be allowed to impersonate besides the user.
func partsOf(wanted *authenticationv1.UserInfo, mode impersonationMode) (parts []rbac.Request) {
	if wanted.UID != "" {
		parts = append(parts, rbac.Request{Group: authenticationv1.GroupName, Resource: "uids", Name: wanted.UID})
	}
	for _, group := range wanted.Groups {
		parts = append(parts, rbac.Request{Group: mode.subject.Group, Resource: "groups", Name: group})
	}
	for _, key := range slices.Sorted(maps.Keys(wanted.Extra)) {
		for _, value := range wanted.Extra[key] {
			parts = append(parts, rbac.Request{Group: authenticationv1.GroupName, Resource: "userextras", Subresource: key, Name: value})
		}
	}
	return parts
}

// authenticated is the group of all users but the anonymous one.
const authenticated = "system:authenticated"

// withOwnGroup adds the group of all users, or that of the anonymous one.
func withOwnGroup(name string, groups []string) []string {
	const unauthenticated = "system:unauthenticated"
	own := authenticated
	switch {
	case name == "system:anonymous":
		own = unauthenticated
	case slices.Contains(groups, unauthenticated):
		return groups
	}
	if slices.Contains(groups, own) {
		return groups
	}
	return append(slices.Clip(groups), own)
}

// serviceAccount returns the namespace and the name of the ServiceAccount that a user is.
func serviceAccount(user string) (namespace, name string, ok bool) {
	rest, ok := strings.CutPrefix(user, "system:serviceaccount:")
	if !ok {
		return "", "", false
	}
	namespace, name, ok = strings.Cut(rest, ":")
	return namespace, name, ok && namespace != "" && name != ""
}
