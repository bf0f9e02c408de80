package check_test

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"

	"github.com/volsim/volsim"
	"github.com/volsim/volsim/api"
	"github.com/volsim/volsim/check"
	"github.com/volsim/volsim/fake"
	"github.com/volsim/volsim/storage"
)

func newCluster(t *testing.T, cfg volsim.Config) *volsim.Cluster {
	t.Helper()
	cfg.Check = check.All()
	c, err := volsim.New(cfg)
	require.NoError(t, err)
	return c
}

func lines(violations []check.Violation) string {
	var texts []string
	for _, v := range violations {
		texts = append(texts, v.String())
	}
	return strings.Join(texts, "\n")
}

var now = int64(0)

// TestForcedDetach cuts off a node with a database and takes it out of service: the volume is detached under the mount, and mounted
// elsewhere. Both are reported as what they are, and nothing else is.
func TestForcedDetach(t *testing.T) {
	for _, noTrace := range []bool{false, true} {
		cfg := volsim.Config{Backends: []storage.Backend{fake.CSI(driver, fake.Lenient())}}
		if noTrace {
			cfg.TraceLimit = -1
		}
		c := newCluster(t, cfg)
		require.NoError(t, c.Create(fake.Node("n1"), fake.Node("n2"),
			fake.Volume("v", "1Gi", fake.CSISource(driver, "v")), fake.Claim("c", "1Gi"), fake.Pod("db-0", fake.Claims("c"), fake.OnNode("n1"))))
		require.NoError(t, c.Advance(time.Minute))
		require.Empty(t, c.Violations())
		n1, err := c.Node("n1")
		require.NoError(t, err)
		n1.Partition(true)
		require.NoError(t, c.DeleteWith(fake.Pod("db-0"), api.DeleteOptions{GracePeriodSeconds: &now}))
		node, err := c.Nodes.Get("n1")
		require.NoError(t, err)
		node.Spec.Taints = []corev1.Taint{{Key: corev1.TaintNodeOutOfService, Effect: corev1.TaintEffectNoExecute}}
		require.NoError(t, c.Update(node))
		require.NoError(t, c.Create(fake.Pod("db-1", fake.Claims("c"), fake.OnNode("n2"))))
		require.NoError(t, c.Advance(5*time.Minute))
		require.Equal(t,
			`+1m0.1s unmount-before-detach: v of disk.example.com is detached from n1 while published to default/db-0 (forced: no pod on the node wants the volume, and the node is out of service: whether it is mounted does not matter)
  +800ms kubelet/n1: disk.example.com Publish v on n1 for pod 5371f9b1-00b8-4a30-afd3-1a5e2cd12aa4
  +1m0.1s attachdetach-controller: ATT-064 detach kubernetes.io/csi/disk.example.com^v from node n1: no pod on the node wants the volume, and the node is out of service: whether it is mounted does not matter
  +1m0.1s external-attacher/disk.example.com: disk.example.com Detach v on n1
+1m1.4s one-writer: v of disk.example.com is published on n1 and on n2, and its access modes are [ReadWriteOnce] (forced: no pod on the node wants the volume, and the node is out of service: whether it is mounted does not matter)
  +800ms kubelet/n1: disk.example.com Publish v on n1 for pod 5371f9b1-00b8-4a30-afd3-1a5e2cd12aa4
  +1m0.1s attachdetach-controller: ATT-064 detach kubernetes.io/csi/disk.example.com^v from node n1: no pod on the node wants the volume, and the node is out of service: whether it is mounted does not matter
  +1m1.4s kubelet/n2: disk.example.com Publish v on n2 for pod 17d02589-f929-44dc-9a7c-9bbf9c21256a`, lines(c.Violations()))
		require.Empty(t, check.Unforced(c.Violations()))
		require.Equal(t, noTrace, c.Trace() == nil)
	}
}

// stuck is a driver that cannot unpublish.
type stuck struct{ *fake.Memory }

// Unpublish never works.
func (d stuck) Unpublish(storage.NodeRequest) error {
	return storage.Errorf(storage.Internal, "it is busy")
}

// TestFaultyDriver has a driver that cannot unpublish: the pod never goes, and the volume is left behind.
func TestFaultyDriver(t *testing.T) {
	c := newCluster(t, volsim.Config{Backends: []storage.Backend{stuck{fake.CSI(driver)}}})
	require.NoError(t, c.Create(fake.Node("n1"),
		fake.Volume("v", "1Gi", fake.CSISource(driver, "v")), fake.Claim("c", "1Gi"), fake.Pod("p", fake.Claims("c"), fake.OnNode("n1"))))
	require.NoError(t, c.Advance(time.Minute))
	require.NoError(t, c.Delete(fake.Pod("p")))
	require.NoError(t, c.Advance(15*time.Minute-time.Second))
	require.Empty(t, c.Violations())
	require.NoError(t, c.Advance(time.Minute))
	require.Equal(t,
		`+16m0s nothing-left-behind: v of disk.example.com is still published on n1 for default/p, 15m0s after the last pod needed it
  +800ms kubelet/n1: disk.example.com Publish v on n1 for pod 3b5f54af-306c-4c0f-a1a0-0014b60c702e
+16m30s deleted-pods-go: pod default/p still exists, 15m0s after its grace period
  +1m0s user: delete Pod/default/p: metadata.deletionGracePeriodSeconds none -> 30, metadata.deletionTimestamp none -> 2026-01-01T00:01:30Z, metadata.generation 1 -> 2`, lines(c.Violations()))
}

// TestCheckChangesNothing runs the same with and without invariants.
func TestCheckChangesNothing(t *testing.T) {
	run := func(invariants []check.Invariant) string {
		c, err := volsim.New(volsim.Config{Seed: 7, Backends: []storage.Backend{fake.CSI(driver)}, Check: invariants})
		require.NoError(t, err)
		require.NoError(t, c.Create(fake.Node("n1"), fake.Class("fast", driver), fake.Claim("c", "1Gi", fake.InClass("fast")),
			fake.Pod("p", fake.Claims("c"))))
		require.NoError(t, c.Advance(time.Minute))
		require.NoError(t, c.Delete(fake.Pod("p")))
		require.NoError(t, c.Delete(fake.Claim("c", "1Gi")))
		require.NoError(t, c.Advance(20*time.Minute))
		require.Empty(t, c.Violations())
		require.Zero(t, c.Volumes.Len())
		var out strings.Builder
		require.NoError(t, c.Trace().WriteText(&out))
		return out.String()
	}
	require.Equal(t, run(nil), run(check.All()))
}

func TestConfigCheck(t *testing.T) {
	_, err := volsim.New(volsim.Config{Check: append(check.All(), check.All()...)})
	require.ErrorContains(t, err, "volsim: Config.Check: check: invariant one-writer is listed twice")
	c, err := volsim.New(volsim.Config{})
	require.NoError(t, err)
	require.Nil(t, c.Violations())
}
