package testdriver_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"google.golang.org/grpc"
	corev1 "k8s.io/api/core/v1"

	"github.com/volsim/volsim"
	"github.com/volsim/volsim/csi"
	"github.com/volsim/volsim/csi/internal/testdriver"
	"github.com/volsim/volsim/fake"
	"github.com/volsim/volsim/storage"
)

// A pod writes to a volume of the driver, and nothing is left when the pod and the claim are gone.
func TestLife(t *testing.T) {
	d := testdriver.New()
	driver, err := csi.New(context.Background(), csi.Config{Controller: csi.Serve(func(s grpc.ServiceRegistrar) { d.Register(s, "n1") })})
	require.NoError(t, err)
	c, err := volsim.New(volsim.Config{Backends: []storage.Backend{driver}})
	require.NoError(t, err)
	claim, pod := fake.Claim("data", "1Gi", fake.InClass("fast")), fake.Pod("web", fake.Claims("data"))
	require.NoError(t, c.Create(fake.Node("n1"), fake.Class("fast", testdriver.Name), claim, pod))
	require.NoError(t, c.Until(func() bool {
		pod, err := c.Pods.Get("web")
		return err == nil && pod.Status.Phase == corev1.PodRunning
	}, time.Hour))
	mounts := d.Mounts()
	require.Len(t, mounts, 2)
	require.NoError(t, d.Write("n1", mounts[1].Path, "hello"))
	data, err := d.Read("n1", mounts[1].Path)
	require.NoError(t, err)
	require.Equal(t, "hello", data)
	require.NoError(t, c.Delete(pod))
	require.NoError(t, c.Delete(claim))
	require.NoError(t, c.Until(func() bool { return c.Volumes.Len() == 0 }, time.Hour))
	require.Empty(t, d.Mounts())
	for _, call := range driver.Calls() {
		require.NoError(t, call.Err, call.Method)
	}
}

// There are at least 24 bugs, and each has a name of its own.
func TestBugs(t *testing.T) {
	names := map[testdriver.Bug]bool{}
	for _, bug := range testdriver.Bugs() {
		require.False(t, names[bug], bug)
		names[bug] = true
	}
	require.GreaterOrEqual(t, len(names), 24)
}
