package auth

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"

	authenticationv1 "k8s.io/api/authentication/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/apiserver/pkg/authorization/authorizer"

	"github.com/volsim/volsim/api"
	"github.com/volsim/volsim/internal/apiserver/rbac"
	"github.com/volsim/volsim/internal/apiserver/resources"
	"github.com/volsim/volsim/internal/core/plain"
)

// roleKinds are the kinds that decide what users may do.
var roleKinds = [...]api.Kind{
	"ClusterRole.rbac.authorization.k8s.io", "ClusterRoleBinding.rbac.authorization.k8s.io", "Role.rbac.authorization.k8s.io", "RoleBinding.rbac.authorization.k8s.io",
}

// roleCache has the roles of the cluster as of a number of writes to each kind.
type roleCache struct {
	writes [len(roleKinds)]uint64
	roles  *rbac.Roles
}

// currentRoles returns the roles and bindings that there are now.
func (a *Authority) currentRoles() *rbac.Roles {
	var writes [len(roleKinds)]uint64
	for i, kind := range roleKinds {
		writes[i] = a.Store.Writes(kind)
	}
	if c := &a.roles; c.roles == nil || c.writes != writes {
		c.writes = writes
		c.roles = rbac.New(rolesOf[*rbacv1.ClusterRole](a, roleKinds[0]), rolesOf[*rbacv1.ClusterRoleBinding](a, roleKinds[1]),
			rolesOf[*rbacv1.Role](a, roleKinds[2]), rolesOf[*rbacv1.RoleBinding](a, roleKinds[3]), a.StoredRoles)
	}
	return a.roles.roles
}

// rolesOf returns the objects of a kind in their Go type.
func rolesOf[T api.Object](a *Authority, kind api.Kind) []T {
	var list []T
	for _, obj := range a.Store.List(kind) {
		list = append(list, plain.Shared[T](obj.(*plain.Object)))
	}
	return list
}

// authorize returns the error that forbids a request, nil if it is allowed.
func (a *Authority) authorize(r rbac.Request) error {
	allowed, reason := a.currentRoles().Authorize(r)
	if allowed {
		return nil
	}
	return forbiddenError(r, reason)
}

// forbiddenError returns the error that forbids a request. The reason may be "".
func forbiddenError(r rbac.Request, reason string) error {
	text := forbiddenText(r)
	if reason != "" {
		text += ": " + reason
	}
	return apierrors.NewForbidden(schema.GroupResource{Group: r.Group, Resource: r.Resource}, r.Name, errors.New(text))
}

// htmlEscaper escapes what could be HTML in an error.
var htmlEscaper = strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;")

func forbiddenText(r rbac.Request) string {
	if r.Path != "" {
		return htmlEscaper.Replace(fmt.Sprintf("User %q cannot %s path %q", r.User.Username, r.Verb, r.Path))
	}
	resource := r.Resource
	if r.Subresource != "" {
		resource += "/" + r.Subresource
	}
	where := "at the cluster scope"
	if r.Namespace != "" {
		where = fmt.Sprintf("in the namespace %q", r.Namespace)
	}
	return htmlEscaper.Replace(fmt.Sprintf("User %q cannot %s resource %q in API group %q %s", r.User.Username, r.Verb, resource, r.Group, where))
}

// RequestOfPath returns what a request asks for, from its method and its path alone: also one for a resource that does not exist.
func RequestOfPath(req *http.Request) rbac.Request {
	other := rbac.Request{Verb: strings.ToLower(req.Method), Path: req.URL.Path}
	parts := strings.Split(strings.Trim(req.URL.Path, "/"), "/")
	var r rbac.Request
	switch {
	case len(parts) >= 3 && parts[0] == "api":
		parts = parts[2:]
	case len(parts) >= 4 && parts[0] == "apis":
		r.Group, parts = parts[1], parts[3:]
	default:
		return other
	}
	verbs := map[string]string{
		http.MethodPost: resources.VerbCreate, http.MethodGet: resources.VerbGet, http.MethodHead: resources.VerbGet, http.MethodPut: resources.VerbUpdate, http.MethodPatch: resources.VerbPatch, http.MethodDelete: resources.VerbDelete,
	}
	r.Verb = verbs[req.Method]
	if parts[0] == "watch" || parts[0] == "proxy" {
		if len(parts) < 2 {
			return other
		}
		r.Verb, parts = parts[0], parts[1:]
	}
	if parts[0] == "namespaces" && len(parts) > 1 {
		r.Namespace = parts[1]
		if len(parts) > 2 && parts[2] != "status" && parts[2] != "finalize" {
			parts = parts[2:]
		}
	}
	r.Resource = parts[0]
	if len(parts) > 1 {
		r.Name = parts[1]
	}
	if len(parts) > 2 && r.Verb != "proxy" {
		r.Subresource = parts[2]
	}
	if r.Name != "" {
		return r
	}
	switch query := req.URL.Query(); r.Verb {
	case resources.VerbGet:
		r.Verb = resources.VerbList
		if watch := query.Get("watch"); watch == "true" || watch == "1" {
			r.Verb = resources.VerbWatch
		}
		if selector, err := fields.ParseSelector(query.Get("fieldSelector")); err == nil {
			r.Name, _ = selector.RequiresExactMatch("metadata.name")
		}
	case resources.VerbDelete:
		r.Verb = resources.VerbDeleteCollection
	}
	return r
}

// ForExpressions is the authorizer of expressions in CEL (API-500). The administrator and the components of a cluster may do everything.
type ForExpressions struct{ *Authority }

// Authorize implements authorizer.Authorizer.
func (f ForExpressions) Authorize(_ context.Context, attributes authorizer.Attributes) (authorizer.Decision, string, error) {
	who := attributes.GetUser()
	if mayEverything(who) {
		return authorizer.DecisionAllow, "", nil
	}
	r := rbac.Request{User: authenticationv1.UserInfo{Username: who.GetName(), Groups: who.GetGroups()}, Verb: attributes.GetVerb()}
	if attributes.IsResourceRequest() {
		r.Group, r.Resource, r.Subresource = attributes.GetAPIGroup(), attributes.GetResource(), attributes.GetSubresource()
		r.Namespace, r.Name = attributes.GetNamespace(), attributes.GetName()
	} else {
		r.Path = attributes.GetPath()
	}
	if allowed, reason := f.currentRoles().Authorize(r); allowed {
		return authorizer.DecisionAllow, reason, nil
	} else {
		return authorizer.DecisionNoOpinion, reason, nil
	}
}

// mayEverything reports whether a user is a component of the cluster. The simulated ones have the permissions that they need.
func mayEverything(who user.Info) bool {
	return slices.Contains(who.GetGroups(), "system:nodes") || who.GetName() == "system:kube-scheduler" ||
		slices.Contains(who.GetGroups(), "system:serviceaccounts:kube-system")
}
