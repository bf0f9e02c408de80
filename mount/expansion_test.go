package mount_test

import (
	"fmt"
	"maps"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/volsim/volsim"
	"github.com/volsim/volsim/fake"
	"github.com/volsim/volsim/storage"
	"github.com/volsim/volsim/trace"
)

func raise(t *testing.T, c *volsim.Cluster, size string) {
	t.Helper()
	claim, err := c.Claims.Get("default/data")
	require.NoError(t, err)
	claim.Spec.Resources.Requests = corev1.ResourceList{corev1.ResourceStorage: resource.MustParse(size)}
	claim.ResourceVersion = ""
	require.NoError(t, c.Update(claim))
}

// capacity returns the size of the claim and the status of its expansion.
func capacity(t *testing.T, c *volsim.Cluster) string {
	t.Helper()
	claim, err := c.Claims.Get("default/data")
	require.NoError(t, err)
	size := claim.Status.Capacity[corev1.ResourceStorage]
	return fmt.Sprintf("%s %v %d", size.String(), claim.Status.AllocatedResourceStatuses, len(claim.Status.Conditions))
}

// nodeExpansions counts the calls on each node that succeeded.
func nodeExpansions(c *volsim.Cluster) map[string]int {
	calls := map[string]int{}
	for e := range c.Trace().Since(0) {
		if e.Type == trace.Storage && e.Verb == "end" && e.Call.Verb == string(storage.NodeExpand) && e.Err == nil {
			calls[e.Call.Node]++
		}
	}
	return calls
}

// The controller and the kubelets of a cluster expand a volume together, for every seed (EXP-040, EXP-041, MNT-427).
func TestExpansionInCluster(t *testing.T) {
	for _, tc := range []struct {
		rule, name string
		claim, pod fake.Option
		pods       int
		during     func(t *testing.T, c *volsim.Cluster)
		want       []string
	}{
		{rule: "EXP-041", name: "online", claim: fake.Modes("RWO"), pod: fake.Claims("data"), pods: 1, want: []string{"n1"}},
		{rule: "EXP-041", name: "before the pod", claim: fake.Modes("RWO"), pod: fake.Claims("data"), want: []string{"n1"}},
		{rule: "MNT-427", name: "on every node", claim: fake.Modes("RWX"), pod: fake.Claims("data"), pods: 2, want: []string{"n1", "n2"}},
		{rule: "EXP-041", name: "while the kubelet restarts", claim: fake.Modes("RWO"), pod: fake.Claims("data"), pods: 1, want: []string{"n1"},
			during: func(t *testing.T, c *volsim.Cluster) {
				node, err := c.Node("n1")
				require.NoError(t, err)
				node.Stop()
				require.NoError(t, c.Advance(time.Minute))
				node.Start()
			}},
	} {
		for seed := range int64(20) {
			t.Run(fmt.Sprintf("%s %s, seed %d", tc.rule, tc.name, seed), func(t *testing.T) {
				c, err := volsim.New(volsim.Config{Seed: seed, Backends: []storage.Backend{fake.CSI(csiName)}})
				require.NoError(t, err)
				defer c.Close()
				require.NoError(t, c.Create(fake.Node("n1"), fake.Node("n2"), fake.Class("fast", csiName, fake.Expandable())))
				require.NoError(t, c.Settle())
				require.NoError(t, c.Create(fake.Claim("data", "1Gi", fake.InClass("fast"), tc.claim)))
				require.NoError(t, c.Settle())
				for i := range tc.pods {
					require.NoError(t, c.Create(fake.Pod(fmt.Sprintf("p%d", i), fake.OnNode(fmt.Sprintf("n%d", i+1)), tc.pod)))
				}
				require.NoError(t, c.Settle())
				raise(t, c, "2Gi")
				if tc.during != nil {
					tc.during(t, c)
				}
				require.NoError(t, c.Settle())
				if tc.pods == 0 {
					require.Equal(t, "1Gi map[storage:NodeResizePending] 2", capacity(t, c))
					require.NoError(t, c.Create(fake.Pod("p0", fake.OnNode("n1"), tc.pod)))
					require.NoError(t, c.Settle())
				}
				require.Equal(t, "2Gi map[] 0", capacity(t, c))
				calls := nodeExpansions(c)
				require.Equal(t, tc.want, slices.Sorted(maps.Keys(calls)))
				if len(tc.want) == 1 {
					// Two nodes may get in each other's way, and one of them begins anew (MNT-414).
					require.Equal(t, 1, calls["n1"])
				}
			})
		}
	}
}

// A cluster that was loaded goes on with an expansion that was left to the node.
func TestAdoptedVolumeIsExpanded(t *testing.T) {
	objs, now := dump(t)
	size := resource.MustParse("2Gi")
	volume := ""
	for _, obj := range objs {
		if claim, ok := obj.(*corev1.PersistentVolumeClaim); ok && claim.Name == "data" {
			volume = claim.Spec.VolumeName
			claim.Spec.Resources.Requests[corev1.ResourceStorage] = size
			claim.Status.AllocatedResources = corev1.ResourceList{corev1.ResourceStorage: size}
			claim.Status.AllocatedResourceStatuses = map[corev1.ResourceName]corev1.ClaimResourceStatus{
				corev1.ResourceStorage: corev1.PersistentVolumeClaimNodeResizePending}
		}
	}
	for _, obj := range objs {
		if pv, ok := obj.(*corev1.PersistentVolume); ok && pv.Name == volume {
			pv.Spec.Capacity = corev1.ResourceList{corev1.ResourceStorage: size}
		}
	}
	c, _ := cluster(t, now)
	require.NoError(t, c.Load(objs...))
	node, err := c.Node("n1")
	require.NoError(t, err)
	l := &loaded{Cluster: c, t: t, node: node}
	l.adoptAll()
	require.NoError(t, c.Advance(time.Second))
	require.Equal(t, "2Gi map[] 0", capacity(t, c))
	require.Equal(t, []string{"NodeExpand"}, l.calls())
}
