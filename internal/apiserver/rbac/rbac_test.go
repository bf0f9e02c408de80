package rbac

import (
	"testing"

	"github.com/stretchr/testify/require"
	authenticationv1 "k8s.io/api/authentication/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func rule(verb, group, resource string, names ...string) rbacv1.PolicyRule {
	return rbacv1.PolicyRule{Verbs: []string{verb}, APIGroups: []string{group}, Resources: []string{resource}, ResourceNames: names}
}

func paths(verb, path string) rbacv1.PolicyRule {
	return rbacv1.PolicyRule{Verbs: []string{verb}, NonResourceURLs: []string{path}}
}

// TestRule checks which requests a rule allows.
func TestRule(t *testing.T) {
	for _, tt := range []struct {
		id   string
		rule rbacv1.PolicyRule
		req  Request
		want bool
	}{
		{"API-496", rule("get", "", "pods"), Request{Verb: "get", Resource: "pods"}, true},
		{"API-496", rule("get", "", "pods"), Request{Verb: "list", Resource: "pods"}, false},
		{"API-496", rule("get", "", "pods"), Request{Verb: "get", Resource: "nodes"}, false},
		{"API-496", rule("get", "", "pods"), Request{Verb: "get", Group: "apps", Resource: "pods"}, false},
		{"API-496", rule("*", "*", "*"), Request{Verb: "get", Group: "apps", Resource: "pods", Subresource: "log"}, true},
		{"API-496", rule("get", "", "pods"), Request{Verb: "get", Resource: "pods", Subresource: "log"}, false},
		{"API-496", rule("get", "", "pods/log"), Request{Verb: "get", Resource: "pods", Subresource: "log"}, true},
		{"API-496", rule("get", "", "pods/log"), Request{Verb: "get", Resource: "pods"}, false},
		{"API-496", rule("get", "", "*/log"), Request{Verb: "get", Resource: "pods", Subresource: "log"}, true},
		{"API-496", rule("get", "", "pods/*"), Request{Verb: "get", Resource: "pods", Subresource: "log"}, false},
		{"API-496", rule("get", "", "pods", "a"), Request{Verb: "get", Resource: "pods", Name: "a"}, true},
		{"API-496", rule("get", "", "pods", "a"), Request{Verb: "get", Resource: "pods", Name: "b"}, false},
		{"API-496", rule("create", "", "pods", "a"), Request{Verb: "create", Resource: "pods"}, false},
		{"API-496", paths("get", "/metrics"), Request{Verb: "get", Path: "/metrics"}, true},
		{"API-496", paths("get", "/metrics"), Request{Verb: "get", Path: "/metrics/x"}, false},
		{"API-496", paths("get", "/metrics*"), Request{Verb: "get", Path: "/metrics/x"}, true},
		{"API-496", paths("get", "*"), Request{Verb: "get", Path: "/metrics"}, true},
		{"API-496", paths("get", "*"), Request{Verb: "get", Resource: "pods"}, false},
		{"API-496", rule("*", "*", "*"), Request{Verb: "get", Path: "/metrics"}, false},
	} {
		require.Equal(t, tt.want, allows(tt.rule, tt.req), "%s %+v %+v", tt.id, tt.rule, tt.req)
	}
}

func named(namespace, name string) metav1.ObjectMeta {
	return metav1.ObjectMeta{Namespace: namespace, Name: name}
}

var pods = Request{Verb: "list", Resource: "pods", Namespace: "shop"}

// TestAuthorize checks to whom a binding applies, and the reasons of decisions.
func TestAuthorize(t *testing.T) {
	list := []rbacv1.PolicyRule{rule("list", "", "pods")}
	cluster, local := rbacv1.RoleRef{Kind: "ClusterRole", Name: "r"}, rbacv1.RoleRef{Kind: "Role", Name: "r"}
	user := func(name string, groups ...string) authenticationv1.UserInfo {
		return authenticationv1.UserInfo{Username: name, Groups: groups}
	}
	for _, tt := range []struct {
		id, name  string
		namespace string // of the binding, "" for the cluster
		ref       rbacv1.RoleRef
		subject   rbacv1.Subject
		user      authenticationv1.UserInfo
		want      bool
		reason    string
	}{
		{"API-495", "a user", "", cluster, rbacv1.Subject{Kind: "User", Name: "bob"}, user("bob"), true, `RBAC: allowed by ClusterRoleBinding "b" of ClusterRole "r" to User "bob"`},
		{"API-495", "another user", "", cluster, rbacv1.Subject{Kind: "User", Name: "bob"}, user("eve", "bob"), false, ""},
		{"API-495", "a group", "", cluster, rbacv1.Subject{Kind: "Group", Name: "g"}, user("bob", "f", "g"), true, `RBAC: allowed by ClusterRoleBinding "b" of ClusterRole "r" to Group "g"`},
		{"API-495", "a namespace", "shop", local, rbacv1.Subject{Kind: "User", Name: "bob"}, user("bob"), true, `RBAC: allowed by RoleBinding "b/shop" of Role "r" to User "bob"`},
		{"API-495", "a ClusterRole in a namespace", "shop", cluster, rbacv1.Subject{Kind: "User", Name: "bob"}, user("bob"), true,
			`RBAC: allowed by RoleBinding "b/shop" of ClusterRole "r" to User "bob"`},
		{"API-495", "another namespace", "bank", cluster, rbacv1.Subject{Kind: "User", Name: "bob"}, user("bob"), false, ""},
		{"API-495", "a ServiceAccount", "", cluster, rbacv1.Subject{Kind: "ServiceAccount", Namespace: "ops", Name: "a"}, user("system:serviceaccount:ops:a"), true,
			`RBAC: allowed by ClusterRoleBinding "b" of ClusterRole "r" to ServiceAccount "a/ops"`},
		{"API-495", "one of the namespace of the binding", "shop", local, rbacv1.Subject{Kind: "ServiceAccount", Name: "a"}, user("system:serviceaccount:shop:a"), true,
			`RBAC: allowed by RoleBinding "b/shop" of Role "r" to ServiceAccount "a/shop"`},
		{"API-495", "one of another namespace", "shop", local, rbacv1.Subject{Kind: "ServiceAccount", Name: "a"}, user("system:serviceaccount:ops:a"), false, ""},
		{"API-494", "a role that does not exist", "shop", rbacv1.RoleRef{Kind: "Role", Name: "x"}, rbacv1.Subject{Kind: "User", Name: "bob"}, user("bob"), false,
			`RBAC: role.rbac.authorization.k8s.io "x" not found`},
		{"API-494", "an administrator", "", cluster, rbacv1.Subject{Kind: "User", Name: "bob"}, user("eve", Masters), true, ""},
	} {
		var clusterBindings []*rbacv1.ClusterRoleBinding
		var bindings []*rbacv1.RoleBinding
		if tt.namespace == "" {
			clusterBindings = append(clusterBindings, &rbacv1.ClusterRoleBinding{ObjectMeta: named("", "b"), RoleRef: tt.ref, Subjects: []rbacv1.Subject{tt.subject}})
		} else {
			bindings = append(bindings, &rbacv1.RoleBinding{ObjectMeta: named(tt.namespace, "b"), RoleRef: tt.ref, Subjects: []rbacv1.Subject{tt.subject}})
		}
		roles := New([]*rbacv1.ClusterRole{{ObjectMeta: named("", "r"), Rules: list}}, clusterBindings, []*rbacv1.Role{{ObjectMeta: named("shop", "r"), Rules: list}}, bindings, false)
		req := pods
		req.User = tt.user
		allowed, reason := roles.Authorize(req)
		require.Equal(t, tt.want, allowed, "%s %s", tt.id, tt.name)
		require.Equal(t, tt.reason, reason, "%s %s", tt.id, tt.name)
	}
}

// TestMayGrant checks what a user may put into roles.
func TestMayGrant(t *testing.T) {
	const begin = `user "bob" (groups=["g"]) is attempting to grant RBAC permissions not currently held:` + "\n"
	for _, tt := range []struct {
		id   string
		own  rbacv1.PolicyRule
		rule rbacv1.PolicyRule
		want string
	}{
		{"API-502", rule("get", "", "pods"), rule("get", "", "pods"), ""},
		{"API-502", rule("get", "", "pods"), rule("get", "", "pods", "a"), ""},
		{"API-502", rule("get", "", "pods", "a"), rule("get", "", "pods"), begin + `{APIGroups:[""], Resources:["pods"], Verbs:["get"]}`},
		{"API-502", rule("*", "*", "*"), rule("*", "", "*"), ""},
		{"API-502", rule("get", "*", "*"), rule("*", "", "pods"), begin + `{APIGroups:[""], Resources:["pods"], Verbs:["*"]}`},
		{"API-502", rule("get", "", "*/log"), rule("get", "", "pods/log"), ""},
		{"API-502", paths("get", "/a/*"), paths("get", "/a/b"), ""},
		{"API-502", paths("get", "/a/b"), paths("get", "/a/*"), begin + `{NonResourceURLs:["/a/*"], Verbs:["get"]}`},
		{"API-502", rule("get", "", "pods"), rbacv1.PolicyRule{Verbs: []string{"get", "list", "watch"}, APIGroups: []string{""}, Resources: []string{"pods", "nodes"}},
			begin + `{APIGroups:[""], Resources:["nodes"], Verbs:["get" "list" "watch"]}` + "\n" + `{APIGroups:[""], Resources:["pods"], Verbs:["list" "watch"]}`},
	} {
		roles := New([]*rbacv1.ClusterRole{{ObjectMeta: named("", "r"), Rules: []rbacv1.PolicyRule{tt.own}}}, []*rbacv1.ClusterRoleBinding{{
			ObjectMeta: named("", "b"), RoleRef: rbacv1.RoleRef{Kind: "ClusterRole", Name: "r"}, Subjects: []rbacv1.Subject{{Kind: "Group", Name: "g"}},
		}}, nil, nil, false)
		got := roles.MayGrant(authenticationv1.UserInfo{Username: "bob", Groups: []string{"g"}}, "", []rbacv1.PolicyRule{tt.rule})
		require.Equal(t, tt.want, got, "%s %+v %+v", tt.id, tt.own, tt.rule)
	}
}
