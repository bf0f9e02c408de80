package fake_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/volsim/volsim/fake"
)

func TestResources(t *testing.T) {
	pod := fake.Pod("web", fake.Requests("cpu", "500m", "memory", "1Gi"))
	require.NoError(t, fake.Err(pod))
	require.Equal(t, "500m", pod.Spec.Containers[0].Resources.Requests.Cpu().String())
	node := fake.Node("n1", fake.Allocatable("cpu", "4"), fake.Allocatable("pods", "2"))
	require.NoError(t, fake.Err(node))
	require.Equal(t, "4", node.Status.Allocatable.Cpu().String())
	require.Equal(t, "2", node.Status.Capacity.Pods().String())

	require.ErrorContains(t, fake.Err(fake.Pod("web", fake.Requests("cpu", "some"))), `"some" is not a size`)
	require.ErrorContains(t, fake.Err(fake.Pod("web", fake.Allocatable("cpu", "1"))), "has no option Allocatable")
	require.ErrorContains(t, fake.Err(fake.Node("n1", fake.Requests("cpu", "1"))), "has no option Requests")
}
