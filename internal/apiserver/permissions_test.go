package apiserver_test

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/volsim/volsim/internal/apiserver"
)

const (
	accountsPath = "/api/v1/namespaces/default/serviceaccounts"
	rbacPath     = "/apis/rbac.authorization.k8s.io/v1"
)

// withAccount stores a ServiceAccount and a ClusterRole with rules that is bound to it, and returns a header with a token.
func (f *fixture) withAccount(name, rules string) string {
	f.t.Helper()
	f.must("POST "+accountsPath, `{"metadata":{"name":"`+name+`"}}`)
	f.must("POST "+rbacPath+"/clusterroles", `{"metadata":{"name":"`+name+`"},"rules":[`+rules+`]}`)
	f.bind(name, name)
	return "Authorization: Bearer " + f.token(name, "")
}

// bind binds a ClusterRole to a ServiceAccount.
func (f *fixture) bind(role, account string) {
	f.t.Helper()
	f.must("POST "+rbacPath+"/clusterrolebindings", `{"metadata":{"name":"`+account+"-"+role+`"},"roleRef":{"kind":"ClusterRole","name":"`+role+`"},
		"subjects":[{"kind":"ServiceAccount","name":"`+account+`","namespace":"default"}]}`)
}

// token returns a token of a ServiceAccount.
func (f *fixture) token(account, spec string) string {
	f.t.Helper()
	var issued struct{ Status struct{ Token string } }
	require.NoError(f.t, json.Unmarshal([]byte(f.must("POST "+accountsPath+"/"+account+"/token", `{"spec":{`+spec+`}}`)), &issued))
	return issued.Status.Token
}

const reads = `{"apiGroups":[""],"resources":["pods"],"verbs":["get","list"]}`

// TestTokens: a client with a token of a ServiceAccount may do what its roles allow.
func TestTokens(t *testing.T) {
	f := newFixture(t)
	reader := f.withAccount("reader", reads)
	f.must("POST "+accountsPath, `{"metadata":{"name":"gone"}}`)
	gone := "Authorization: Bearer " + f.token("gone", "")
	f.must("DELETE "+accountsPath+"/gone", "")
	old := "Authorization: Bearer " + f.token("reader", `"expirationSeconds":600`)
	require.NoError(t, f.cluster.Advance(11*time.Minute))
	for _, tt := range []struct {
		rule, name, line, body string
		header                 string
		code                   int
		want                   string
	}{
		{"API-492", "no token", "GET " + claims, "", "X: y", 200, ""},
		{"API-492", "a token of another server", "GET " + claims, "", "Authorization: Bearer abc", 200, ""},
		{"API-492", "what the roles allow", "GET " + pods, "", reader, 200, ""},
		{"API-494", "what they do not allow", "GET " + claims, "", reader, 403,
			`persistentvolumeclaims is forbidden: User \"system:serviceaccount:default:reader\" cannot list resource \"persistentvolumeclaims\" in API group \"\" in the namespace \"default\"`},
		{"API-494", "a write", "POST " + pods, pod, reader, 403, "cannot create resource"},
		{"API-494", "a resource that does not exist", "GET /apis/a.example.com/v1/widgets/x", "", reader, 403, `widgets.a.example.com \"x\" is forbidden`},
		{"API-494", "a path", "GET /metrics", "", reader, 403, `forbidden: User \"system:serviceaccount:default:reader\" cannot get path \"/metrics\"`},
		{"API-496", "discovery, by a default role", "GET /api/v1", "", reader, 200, ""},
		{"API-492", "an expired token", "GET " + pods, "", old, 401, "Unauthorized"},
		{"API-492", "a token of an account that is gone", "GET " + pods, "", gone, 401, "Unauthorized"},
		{"API-492", "a token for others", "GET " + pods, "", "Authorization: Bearer " + f.token("reader", `"audiences":["vault"]`), 401, "Unauthorized"},
	} {
		resp, got := f.request(tt.line, tt.body, tt.header)
		require.Equal(t, tt.code, resp.StatusCode, "%s %s: %s", tt.rule, tt.name, got)
		require.Contains(t, got, tt.want, "%s %s", tt.rule, tt.name)
	}
}

// TestImpersonation: who impersonates needs the permission, in one of the modes.
func TestImpersonation(t *testing.T) {
	const group = `"apiGroups":["authentication.k8s.io"]`
	for _, tt := range []struct {
		name, rules string
		headers     []string
		want        string // of the error, "" for none
	}{
		{"nothing", reads, []string{"Impersonate-User: bob"}, `pods is forbidden: User \"system:serviceaccount:default:a\" cannot impersonate-on:user-info:list resource \"pods\"`},
		{"a user", `{"apiGroups":[""],"resources":["users"],"resourceNames":["bob"],"verbs":["impersonate"]}`, []string{"Impersonate-User: bob"}, ""},
		{"another user", `{"apiGroups":[""],"resources":["users"],"resourceNames":["bob"],"verbs":["impersonate"]}`, []string{"Impersonate-User: eve"}, "cannot impersonate-on:user-info:list"},
		{"a user without its group", `{"apiGroups":[""],"resources":["users"],"verbs":["impersonate"]}`, []string{"Impersonate-User: bob", "Impersonate-Group: g"}, "cannot impersonate-on:user-info:list"},
		{"a user with its group", `{"apiGroups":[""],"resources":["users","groups"],"verbs":["impersonate"]}`, []string{"Impersonate-User: bob", "Impersonate-Group: g"}, ""},
		{"a user for a request", `{"apiGroups":[""],"resources":["pods"],"verbs":["impersonate-on:user-info:list"]},{` + group + `,"resources":["users"],"verbs":["impersonate:user-info"]}`,
			[]string{"Impersonate-User: bob"}, ""},
		{"a user for another request", `{"apiGroups":[""],"resources":["pods"],"verbs":["impersonate-on:user-info:get"]},{` + group + `,"resources":["users"],"verbs":["impersonate:user-info"]}`,
			[]string{"Impersonate-User: bob"}, "cannot impersonate-on:user-info:list"},
		{"no user for a request", `{"apiGroups":[""],"resources":["pods"],"verbs":["impersonate-on:user-info:list"]}`, []string{"Impersonate-User: bob"},
			`users.authentication.k8s.io \"bob\" is forbidden: User \"system:serviceaccount:default:a\" cannot impersonate:user-info resource \"users\"`},
		{"a user with a uid and more", `{"apiGroups":[""],"resources":["pods"],"verbs":["impersonate-on:user-info:list"]},{` + group + `,"resources":["users","uids","userextras/example.com/scopes"],"verbs":["*"]}`,
			[]string{"Impersonate-User: bob", "Impersonate-Uid: 7", "Impersonate-Extra-Example.com%2fscopes: view"}, ""},
		{"a field of no domain for a request", `{"apiGroups":[""],"resources":["pods"],"verbs":["impersonate-on:user-info:list"]},{` + group + `,"resources":["*"],"verbs":["*"]}`,
			[]string{"Impersonate-User: bob", "Impersonate-Extra-Scopes: view"},
			`at the cluster scope: impersonating an invalid key in extra is not allowed: extra.key: Invalid value: \"scopes\": must be a domain-prefixed path`},
		{"a field of no domain", `{"apiGroups":["","authentication.k8s.io"],"resources":["users","userextras/scopes"],"verbs":["impersonate"]}`,
			[]string{"Impersonate-User: bob", "Impersonate-Extra-Scopes: view"}, ""},
		{"administrators for a request", `{"apiGroups":[""],"resources":["pods"],"verbs":["impersonate-on:user-info:list"]},{` + group + `,"resources":["*"],"verbs":["*"]}`,
			[]string{"Impersonate-User: bob", "Impersonate-Group: system:masters"}, "impersonating the system:masters group is not allowed"},
		{"a ServiceAccount", `{"apiGroups":[""],"resources":["serviceaccounts"],"verbs":["impersonate"]}`, []string{"Impersonate-User: system:serviceaccount:default:b"}, ""},
		{"a node for a request", `{"apiGroups":[""],"resources":["pods"],"verbs":["impersonate-on:arbitrary-node:list"]},{` + group + `,"resources":["nodes"],"verbs":["impersonate:arbitrary-node"]}`,
			[]string{"Impersonate-User: system:node:n1"}, ""},
	} {
		f := newFixture(t)
		account := f.withAccount("a", tt.rules)
		f.must("POST "+rbacPath+"/clusterroles", `{"metadata":{"name":"r"},"rules":[`+reads+`]}`)
		f.must("POST "+rbacPath+"/clusterrolebindings", `{"metadata":{"name":"r"},"roleRef":{"kind":"ClusterRole","name":"r"},"subjects":[{"kind":"User","name":"bob"},
			{"kind":"Group","name":"system:nodes"},{"kind":"Group","name":"system:serviceaccounts:default"}]}`)
		resp, got := f.request("GET "+pods, "", append(tt.headers, account)...)
		require.Equal(t, tt.want == "", resp.StatusCode == 200, "API-493 %s: %s", tt.name, got)
		require.Contains(t, got, tt.want, "API-493 %s", tt.name)
	}
}

// TestAggregatedRoles: the default roles view, edit and admin gather the rules of roles with their labels.
func TestAggregatedRoles(t *testing.T) {
	widgets := func(verbs, label string) string {
		return `{"metadata":{"name":"widgets-` + label + `","labels":{"rbac.authorization.k8s.io/aggregate-to-` + label + `":"true"}},
			"rules":[{"apiGroups":["a.example.com"],"resources":["widgets"],"verbs":[` + verbs + `]}]}`
	}
	for _, tt := range []struct {
		role, attributes string
		want             bool
	}{
		{"view", `"verb":"list","resource":"pods"`, true},
		{"view", `"verb":"create","resource":"pods"`, false},
		{"view", `"verb":"get","resource":"secrets"`, false},
		{"edit", `"verb":"create","resource":"pods"`, true},
		{"edit", `"verb":"get","resource":"secrets"`, true},
		{"edit", `"verb":"create","resource":"rolebindings","group":"rbac.authorization.k8s.io"`, false},
		{"admin", `"verb":"create","resource":"rolebindings","group":"rbac.authorization.k8s.io"`, true},
		{"view", `"verb":"get","resource":"widgets","group":"a.example.com"`, true},
		{"admin", `"verb":"get","resource":"widgets","group":"a.example.com"`, true},
		{"view", `"verb":"update","resource":"widgets","group":"a.example.com"`, false},
		{"edit", `"verb":"update","resource":"widgets","group":"a.example.com"`, true},
		{"cluster-admin", `"verb":"escalate","resource":"anything","group":"x"`, true},
	} {
		f := newFixture(t)
		f.must("POST "+rbacPath+"/clusterroles", widgets(`"get"`, "view"))
		f.must("POST "+rbacPath+"/clusterroles", widgets(`"update"`, "edit"))
		f.must("POST "+accountsPath, `{"metadata":{"name":"a"}}`)
		f.bind(tt.role, "a")
		got := f.must("POST /apis/authorization.k8s.io/v1/subjectaccessreviews", `{"spec":{"user":"system:serviceaccount:default:a","resourceAttributes":{`+tt.attributes+`,"namespace":"default"}}}`)
		require.Equal(t, tt.want, strings.Contains(got, `"allowed":true`), "API-497 %s %s: %s", tt.role, tt.attributes, got)
	}
}

// TestUserInPolicies: policies and their authorizer see who makes a request.
func TestUserInPolicies(t *testing.T) {
	for _, tt := range []struct{ name, expression, want string }{
		{"the name", "request.userInfo.username == 'bob'", ""},
		{"the groups", "request.userInfo.groups == ['g','system:authenticated']", ""},
		{"what the user may do", "authorizer.group('').resource('configmaps').namespace('default').check('create').allowed()", ""},
		{"what it may not", "authorizer.group('').resource('secrets').namespace('default').check('create').allowed()", "denied request"},
		{"what another may do", "authorizer.serviceAccount('default', 'x').group('').resource('secrets').check('list').allowed()", "denied request"},
	} {
		f := newFixtureWith(t, apiserver.Config{NoManagedFields: true})
		f.must("POST "+rbacPath+"/clusterroles", `{"metadata":{"name":"r"},"rules":[{"apiGroups":[""],"resources":["configmaps"],"verbs":["create"]}]}`)
		f.must("POST "+rbacPath+"/clusterrolebindings", `{"metadata":{"name":"r"},"roleRef":{"kind":"ClusterRole","name":"r"},"subjects":[{"kind":"User","name":"bob"}]}`)
		f.validates(`"validations":[{"expression":"`+tt.expression+`"}]`, "")
		_, got := f.request("POST /api/v1/namespaces/default/configmaps", configMap("a", `"k":"v"`), "Impersonate-User: bob", "Impersonate-Group: g", "Content-Type: application/json")
		require.Equal(t, tt.want == "", strings.HasPrefix(got, `{"kind":"ConfigMap"`), "API-500 %s: %s", tt.name, got)
		require.Contains(t, got, tt.want, "API-500 %s", tt.name)
	}
}
