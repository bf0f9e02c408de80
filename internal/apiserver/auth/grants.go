package auth

import (
	"errors"
	"maps"
	"reflect"
	"slices"
	"strings"

	authenticationv1 "k8s.io/api/authentication/v1"
	certificatesv1 "k8s.io/api/certificates/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/volsim/volsim/api"
	"github.com/volsim/volsim/internal/apiserver/rbac"
	"github.com/volsim/volsim/internal/core/plain"
)

// Grant is a write of a role or a binding.
type Grant struct {
	User            authenticationv1.UserInfo // who writes
	Resource        schema.GroupResource
	Namespace, Name string     // in the path
	Object, Old     api.Object // Old is nil for a create
}

// CheckGrant refuses a role or a binding with permissions that its writer does not have (API-502). The permissions escalate and bind need none.
func (a *Authority) CheckGrant(g Grant) error {
	obj, old, namespace := g.Object, g.Old, g.Namespace
	if g.Resource.Group != rbacv1.GroupName || onlyOwners(obj, old) {
		return nil
	}
	roles := a.currentRoles()
	forbidden := func(why string) error {
		return apierrors.NewForbidden(g.Resource, obj.GetName(), errors.New(why))
	}
	mayGrant := func(rules []rbacv1.PolicyRule) error {
		if why := roles.MayGrant(g.User, namespace, rules); why != "" {
			return forbidden(why)
		}
		return nil
	}
	mayDo := func(verb, resource, name string) bool {
		allowed, _ := roles.Authorize(rbac.Request{User: g.User, Verb: verb, Group: rbacv1.GroupName, Resource: resource, Namespace: namespace, Name: name})
		return allowed
	}
	mayBind := func(ref rbacv1.RoleRef) error {
		resource, kind := "clusterroles", "clusterrole"
		if ref.Kind == "Role" {
			resource, kind = "roles", "role"
		}
		if mayDo("bind", resource, ref.Name) {
			return nil
		}
		rules, ok := roles.RulesOf(ref, namespace)
		if !ok {
			return apierrors.NewNotFound(schema.GroupResource{Group: rbacv1.GroupName, Resource: kind}, ref.Name)
		}
		return mayGrant(rules)
	}
	switch g.Resource.Resource {
	case "roles":
		role, err := plain.As[*rbacv1.Role](obj)
		if err != nil || mayDo("escalate", "roles", g.Name) {
			return nil // validation reports the error
		}
		return mayGrant(role.Rules)
	case "clusterroles":
		role, err := plain.As[*rbacv1.ClusterRole](obj)
		if err != nil || mayDo("escalate", "clusterroles", g.Name) {
			return nil
		}
		if err := mayGrant(role.Rules); err != nil {
			return err
		}
		// A role that aggregates others may get any rules.
		if (aggregates(role) || old != nil && aggregates(plain.Shared[*rbacv1.ClusterRole](old.(*plain.Object)))) && mayGrant(rbac.Everything) != nil {
			return forbidden("must have cluster-admin privileges to use the aggregationRule")
		}
	case "rolebindings":
		if b, err := plain.As[*rbacv1.RoleBinding](obj); err == nil {
			return mayBind(b.RoleRef)
		}
	case "clusterrolebindings":
		if b, err := plain.As[*rbacv1.ClusterRoleBinding](obj); err == nil {
			return mayBind(b.RoleRef)
		}
	}
	return nil
}

func aggregates(role *rbacv1.ClusterRole) bool {
	return role.AggregationRule != nil && len(role.AggregationRule.ClusterRoleSelectors) > 0
}

// onlyOwners reports whether an update changes only what garbage collection needs: owners and finalizers.
func onlyOwners(obj, old api.Object) bool {
	return old != nil && reflect.DeepEqual(obj.(*plain.Object).Content(), old.(*plain.Object).Content()) && maps.Equal(obj.GetLabels(), old.GetLabels()) &&
		maps.Equal(obj.GetAnnotations(), old.GetAnnotations())
}

// MaySign reports whether a user may approve or sign for a signer, or for all of its domain.
func (a *Authority) MaySign(user authenticationv1.UserInfo, verb, signer string) bool {
	domain, _, _ := strings.Cut(signer, "/")
	return slices.ContainsFunc([]string{signer, domain + "/*"}, func(name string) bool {
		allowed, _ := a.currentRoles().Authorize(rbac.Request{User: user, Verb: verb, Group: certificatesv1.GroupName, Resource: "signers", Name: name})
		return allowed
	})
}
