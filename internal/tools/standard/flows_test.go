package standard_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	flowcontrolv1 "k8s.io/api/flowcontrol/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/volsim/volsim"
	"github.com/volsim/volsim/internal/tools/standard"
)

// TestFlows: the objects of flow control exist, come back, and have a condition (API-522).
func TestFlows(t *testing.T) {
	c, err := volsim.New(volsim.Config{StrictNamespaces: true})
	require.NoError(t, err)
	t.Cleanup(c.Close)
	ctl, ok := standard.New(standard.APIServer, nil)
	require.True(t, ok)
	require.NoError(t, c.AddController(ctl))
	settle := func() {
		t.Helper()
		require.NoError(t, c.Advance(time.Second))
	}
	settle()
	require.Len(t, volsim.List[*flowcontrolv1.FlowSchema](c), 11, "API-522")
	require.Len(t, volsim.List[*flowcontrolv1.PriorityLevelConfiguration](c), 8, "API-522")
	schema := func(name string) *flowcontrolv1.FlowSchema {
		s, err := volsim.Get[*flowcontrolv1.FlowSchema](c, name)
		require.NoError(t, err)
		return s
	}
	require.Equal(t, flowcontrolv1.ConditionFalse, schema("probes").Status.Conditions[0].Status, "API-522")
	require.Equal(t, "true", schema("probes").Annotations["apf.kubernetes.io/autoupdate-spec"], "API-522")

	// One that goes comes back, and so does its spec, unless the user has it.
	require.NoError(t, c.Delete(schema("exempt")))
	patch := func(name, patch string) {
		t.Helper()
		require.NoError(t, c.Patch(&flowcontrolv1.FlowSchema{ObjectMeta: metav1.ObjectMeta{Name: name}}, patch))
	}
	patch("probes", `{"spec":{"matchingPrecedence":7}}`)
	patch("system-nodes", `{"metadata":{"annotations":{"apf.kubernetes.io/autoupdate-spec":"false"}},"spec":{"matchingPrecedence":7}}`)
	settle()
	require.Equal(t, int32(1), schema("exempt").Spec.MatchingPrecedence, "API-522")
	require.Equal(t, int32(2), schema("probes").Spec.MatchingPrecedence, "API-522")
	require.Equal(t, int32(7), schema("system-nodes").Spec.MatchingPrecedence, "API-522")

	// A schema without its level says so.
	mine := &flowcontrolv1.FlowSchema{ObjectMeta: metav1.ObjectMeta{Name: "mine"}, Spec: flowcontrolv1.FlowSchemaSpec{
		MatchingPrecedence: 5, PriorityLevelConfiguration: flowcontrolv1.PriorityLevelConfigurationReference{Name: "none"},
	}}
	require.NoError(t, c.Create(mine))
	settle()
	require.Equal(t, `This FlowSchema references the PriorityLevelConfiguration object named "none" but there is no such object`, schema("mine").Status.Conditions[0].Message, "API-522")
}
