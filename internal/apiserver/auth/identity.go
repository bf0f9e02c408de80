package auth

import (
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"

	authenticationv1 "k8s.io/api/authentication/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	utilvalidation "k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/apiserver/pkg/authentication/user"

	"github.com/volsim/volsim/internal/apiserver/rbac"
)

// Identity says who sent a request, before its permissions are checked.
type Identity struct {
	token  string                     // of a ServiceAccount, "" for none
	wanted *authenticationv1.UserInfo // the user that the client impersonates, nil without impersonation
}

// Identify returns what the header of a request says of its client, nil for the administrator, who may do everything. Each client is the administrator that
// has no token of the server and does not impersonate a user. Identify needs no lock.
func (a *Authority) Identify(header http.Header) (*Identity, error) {
	token, _ := strings.CutPrefix(header.Get("Authorization"), "Bearer ")
	if !a.Issued(token) {
		token = ""
	}
	wanted, err := wantedUser(header)
	if err != nil || token == "" && wanted == nil {
		return nil, err
	}
	return &Identity{token, wanted}, nil
}

// Admit returns the user of a request, or the error that forbids the request (API-492 to API-496). With the error there may be a user.
func (a *Authority) Admit(req *http.Request, identity *Identity) (*authenticationv1.UserInfo, error) {
	r := RequestOfPath(req)
	r.User = authenticationv1.UserInfo{Groups: AdministratorGroups}
	if identity.token != "" {
		// API-492
		status := a.reviewToken(authenticationv1.TokenReviewSpec{Token: identity.token})
		if !status.Authenticated {
			return nil, apierrors.NewUnauthorized("Unauthorized")
		}
		r.User = status.User
	}
	if identity.wanted != nil {
		var err error
		if r.User, err = a.impersonate(r, identity.wanted); err != nil {
			return nil, err
		}
	}
	return &r.User, a.authorize(r)
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
	if namespace, name, ok := ServiceAccountOf(wanted.Username); ok {
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

// impersonate returns the identity that a user takes on for a request, if one of the modes allows it (API-493). The mode that allowed it last is
// tried first. The error is that of the first mode.
func (a *Authority) impersonate(r rbac.Request, wanted *authenticationv1.UserInfo) (as authenticationv1.UserInfo, first error) {
	modes := modesFor(wanted)
	if last, ok := a.lastModes[r.User.Username]; ok && modes[len(modes)-1].name == last {
		slices.Reverse(modes) // there are at most two
	}
	for _, mode := range modes {
		err := a.mayImpersonate(r, mode, wanted)
		if err == nil {
			if a.lastModes == nil {
				a.lastModes = map[string]string{}
			}
			a.lastModes[r.User.Username] = mode.name
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
func (a *Authority) mayImpersonate(r rbac.Request, mode impersonationMode, wanted *authenticationv1.UserInfo) error {
	verb := "impersonate"
	if mode.name != "" {
		on := r
		on.Verb = "impersonate-on:" + mode.name + ":" + r.Verb
		if err := a.authorize(on); err != nil {
			return err
		}
		verb += ":" + mode.name
	}
	for _, part := range append([]identityPart{{Request: mode.subject}}, partsOf(wanted, mode)...) {
		part.User, part.Verb = r.User, verb
		if part.refusal != "" {
			return forbiddenError(part.Request, part.refusal)
		}
		if err := a.authorize(part.Request); err != nil {
			return err
		}
	}
	return nil
}

// identityPart is a part of an identity: impersonating it needs a permission. With a refusal it is always forbidden.
type identityPart struct {
	rbac.Request
	refusal string
}

// partsOf returns the parts of an identity besides the name. The modes with constraints refuse some (API-493).
func partsOf(wanted *authenticationv1.UserInfo, mode impersonationMode) (parts []identityPart) {
	add := func(r rbac.Request, refusal string) { parts = append(parts, identityPart{r, refusal}) }
	constrained := mode.name != ""
	if wanted.UID != "" {
		add(rbac.Request{Group: authenticationv1.GroupName, Resource: "uids", Name: wanted.UID}, "")
	}
	groups := rbac.Request{Group: mode.subject.Group, Resource: "groups"}
	if constrained && slices.Contains(wanted.Groups, "") {
		add(groups, "impersonating the empty string group is not allowed")
	}
	if constrained && slices.Contains(wanted.Groups, rbac.Masters) {
		groups.Name = rbac.Masters
		add(groups, "impersonating the system:masters group is not allowed")
	}
	for _, group := range wanted.Groups {
		groups.Name = group
		add(groups, "")
	}
	extras := rbac.Request{Group: authenticationv1.GroupName, Resource: "userextras"}
	for _, key := range slices.Sorted(maps.Keys(wanted.Extra)) {
		if refusal := refusedExtra(key, wanted.Extra[key]); constrained && refusal != "" {
			add(extras, refusal)
		}
	}
	for _, key := range slices.Sorted(maps.Keys(wanted.Extra)) {
		extras.Subresource = key
		for _, extras.Name = range wanted.Extra[key] {
			add(extras, "")
		}
	}
	return parts
}

// refusedExtra returns why the modes with constraints refuse an extra field, "" if they do not.
func refusedExtra(key string, values []string) string {
	if err := utilvalidation.IsDomainPrefixedPath(field.NewPath("extra", "key"), key).ToAggregate(); err != nil {
		return fmt.Sprintf("impersonating an invalid key in extra is not allowed: %v", err)
	}
	if slices.Contains(values, "") {
		return "impersonating the empty string value in extra is not allowed"
	}
	return ""
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

// ServiceAccountOf returns the namespace and the name of the ServiceAccount that a user is.
func ServiceAccountOf(user string) (namespace, name string, ok bool) {
	rest, ok := strings.CutPrefix(user, "system:serviceaccount:")
	if !ok {
		return "", "", false
	}
	namespace, name, ok = strings.Cut(rest, ":")
	return namespace, name, ok && namespace != "" && name != ""
}

// AdministratorGroups are the groups of the administrator, who may do everything.
var AdministratorGroups = []string{rbac.Masters, authenticated}
