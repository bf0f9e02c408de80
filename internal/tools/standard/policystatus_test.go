package standard_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/volsim/volsim"
	"github.com/volsim/volsim/internal/apiserver/policytypes"
	"github.com/volsim/volsim/internal/core/internals"
	"github.com/volsim/volsim/internal/tools/standard"
)

// TestPolicyStatus: the status of a policy says what is wrong with its types (API-524).
func TestPolicyStatus(t *testing.T) {
	c, err := volsim.New(volsim.Config{StrictNamespaces: true})
	require.NoError(t, err)
	t.Cleanup(c.Close)
	ctl, ok := standard.New(standard.PolicyStatus, policytypes.Checker(internals.Engine(c)))
	require.True(t, ok)
	require.NoError(t, c.AddController(ctl))
	rule := func(group, version string, resources ...string) []admissionregistrationv1.NamedRuleWithOperations {
		return []admissionregistrationv1.NamedRuleWithOperations{{RuleWithOperations: admissionregistrationv1.RuleWithOperations{
			Rule: admissionregistrationv1.Rule{APIGroups: []string{group}, APIVersions: []string{version}, Resources: resources},
		}}}
	}
	deployments := rule("apps", "v1", "deployments", "statefulsets")
	for _, tt := range []struct {
		rule, name, expression, message string
		rules                           []admissionregistrationv1.NamedRuleWithOperations
		want                            []string
	}{
		{"API-524", "right", "object.spec.replicas > 1 && variables.many", "", deployments, nil},
		{"API-524", "wrong", "object.spec.replicas > '1'", "'got ' + object.spec.replicas", deployments, []string{
			"spec.validations[0].expression: apps/v1, Kind=Deployment: ERROR: <input>:1:22: found no matching overload for '_>_' applied to '(int, string)'\n" +
				" | object.spec.replicas > '1'\n | .....................^\n\napps/v1, Kind=StatefulSet: ERROR: ",
			"spec.validations[0].messageExpression: apps/v1, Kind=Deployment: ERROR: <input>:1:8: found no matching overload for '_+_' applied to '(string, int)'",
		}},
		{"API-524", "no-field", "object.spec.none", "", rule("", "v1", "pods", "pods/status"), []string{
			"spec.validations[0].expression: /v1, Kind=Pod: ERROR: <input>:1:12: undefined field 'none'",
		}},
		{"API-524", "variable", "variables.many == 1", "", deployments, []string{"spec.validations[0].expression: apps/v1, Kind=Deployment: ERROR: <input>:1:16: found no matching overload"}},
		{"API-524", "star", "object.spec.none", "", rule("*", "v1", "pods"), nil},
		{"API-524", "unknown", "object.spec.none", "", rule("example.com", "v1", "widgets"), nil},
	} {
		policy := &admissionregistrationv1.ValidatingAdmissionPolicy{ObjectMeta: metav1.ObjectMeta{Name: tt.name}, Spec: admissionregistrationv1.ValidatingAdmissionPolicySpec{
			MatchConstraints: &admissionregistrationv1.MatchResources{ResourceRules: tt.rules},
			Variables:        []admissionregistrationv1.Variable{{Name: "many", Expression: "object.metadata.name == 'many'"}},
			Validations:      []admissionregistrationv1.Validation{{Expression: tt.expression, MessageExpression: tt.message}},
		}}
		require.NoError(t, c.Create(policy))
		require.NoError(t, c.Advance(time.Second))
		got, err := volsim.Get[*admissionregistrationv1.ValidatingAdmissionPolicy](c, tt.name)
		require.NoError(t, err)
		require.Equal(t, got.Generation, got.Status.ObservedGeneration, tt.rule)
		require.NotNil(t, got.Status.TypeChecking, tt.rule)
		warnings := got.Status.TypeChecking.ExpressionWarnings
		require.Len(t, warnings, len(tt.want), "%s: %s: %v", tt.rule, tt.name, warnings)
		for i, w := range warnings {
			require.Contains(t, w.FieldRef+": "+w.Warning, tt.want[i], tt.rule)
		}
	}
}
