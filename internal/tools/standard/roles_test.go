package standard_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	rbacv1 "k8s.io/api/rbac/v1"
	schedulingv1 "k8s.io/api/scheduling/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/volsim/volsim"
	"github.com/volsim/volsim/internal/tools/standard"
)

// TestRoles: the default roles and classes exist, and aggregated roles follow the others (API-497, API-508, API-509).
func TestRoles(t *testing.T) {
	c, err := volsim.New(volsim.Config{StrictNamespaces: true})
	require.NoError(t, err)
	t.Cleanup(c.Close)
	// What exists stays.
	mine := &rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{Name: "system:discovery"}}
	require.NoError(t, c.Create(mine))
	for _, name := range []string{standard.APIServer, standard.Aggregation} {
		ctl, ok := standard.New(name, nil)
		require.True(t, ok)
		require.NoError(t, c.AddController(ctl))
	}
	_, ok := standard.New("other", nil)
	require.False(t, ok)
	require.NoError(t, c.Advance(time.Second))
	role := func(name string) *rbacv1.ClusterRole {
		r, err := volsim.Get[*rbacv1.ClusterRole](c, name)
		require.NoError(t, err)
		return r
	}
	require.Empty(t, role("system:discovery").Rules, "API-508: one that exists")
	view := role("view")
	require.Equal(t, []any{"rbac-defaults", "true"},
		[]any{view.Labels["kubernetes.io/bootstrapping"], view.Annotations["rbac.authorization.kubernetes.io/autoupdate"]}, "API-508")
	require.NotEmpty(t, view.Rules, "API-497")
	require.Len(t, volsim.List[*schedulingv1.PriorityClass](c), 2, "API-509")
	require.Len(t, volsim.List[*rbacv1.RoleBinding](c), 7, "API-508")

	// A new part of view is also one of edit and admin, which aggregate view.
	rule := rbacv1.PolicyRule{Verbs: []string{"get"}, APIGroups: []string{"example.com"}, Resources: []string{"widgets"}}
	part := &rbacv1.ClusterRole{
		ObjectMeta: metav1.ObjectMeta{Name: "widgets", Labels: map[string]string{"rbac.authorization.k8s.io/aggregate-to-view": "true"}},
		Rules:      []rbacv1.PolicyRule{rule},
	}
	require.NoError(t, c.Create(part))
	require.NoError(t, c.Advance(time.Second))
	for _, name := range []string{"view", "edit", "admin"} {
		require.Contains(t, role(name).Rules, rule, "API-497: "+name)
	}
	require.NoError(t, c.Delete(part))
	require.NoError(t, c.Advance(time.Second))
	require.NotContains(t, role("admin").Rules, rule, "API-497: the part is gone")
}
