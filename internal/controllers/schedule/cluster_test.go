package schedule_test

import (
	"bytes"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/volsim/volsim/api"
	"github.com/volsim/volsim/binder"
	"github.com/volsim/volsim/fake"
	"github.com/volsim/volsim/internal/controllers/schedule"
	"github.com/volsim/volsim/internal/core/actors"
	"github.com/volsim/volsim/internal/core/backends"
	"github.com/volsim/volsim/internal/core/engine"
	"github.com/volsim/volsim/internal/core/options"
	"github.com/volsim/volsim/internal/core/sidecar"
	"github.com/volsim/volsim/reclaim"
	"github.com/volsim/volsim/storage"
)

// newCluster is an engine with the PersistentVolume controller, the controller of ephemeral claims, and a CSI driver with its
// provisioner.
func newCluster(t *testing.T, cfg schedule.Config, ecfg engine.Config) *fixture {
	t.Helper()
	w := newFixture(t, cfg, ecfg)
	csi := fake.CSI("disk.example.com", fake.Latency(storage.Create, 1700*time.Millisecond))
	set, err := backends.NewSet(csi)
	require.NoError(t, err)
	_, err = binder.New(w.Engine, binder.Config{Backends: set})
	require.NoError(t, err)
	_, err = reclaim.NewProvisioner(w.Engine, csi, sidecar.Config{}, options.Provisioner{})
	require.NoError(t, err)
	_, err = reclaim.New(w.Engine, actors.Ephemeral, nil)
	require.NoError(t, err)
	return w
}

// TestCluster: pods with all kinds of claims are bound to nodes for every seed; and the same seed gives the same run.
func TestCluster(t *testing.T) {
	run := func(seed int64) (*fixture, string) {
		w := newCluster(t, schedule.Config{}, engine.Config{Seed: seed})
		require.NoError(t, w.Settle(time.Minute))
		w.create(fake.Class("local", "kubernetes.io/no-provisioner", fake.WaitForFirstConsumer()),
			fake.Class("disk", "disk.example.com", fake.WaitForFirstConsumer()))
		for i := range 3 {
			node := fmt.Sprintf("n%d", i)
			w.create(fake.Node(node),
				&storagev1.CSINode{ObjectMeta: metav1.ObjectMeta{Name: node}, Spec: storagev1.CSINodeSpec{Drivers: []storagev1.CSINodeDriver{
					{Name: "disk.example.com", NodeID: node, Allocatable: &storagev1.VolumeNodeResources{Count: new(int32(2))}},
				}}})
			w.PatchStatus(api.Node, node, `{"status":{"allocatable":{"pods":"2"}}}`)
			w.create(fake.Volume("local-"+node, "10Gi", fake.InClass("local"), fake.LocalSource("/disks", node)))
		}
		for i := range 3 {
			name := fmt.Sprintf("local-%d", i)
			w.create(fake.Claim(name, "5Gi", fake.InClass("local")), fake.Pod(name, fake.Claims(name)))
			name = fmt.Sprintf("disk-%d", i)
			w.create(fake.Claim(name, "1Gi", fake.InClass("disk")), fake.Pod(name, fake.Claims(name), fake.Ephemeral("scratch", "1Gi", "disk")))
		}
		require.NoError(t, w.Settle(time.Hour), "seed %d", seed)
		var out bytes.Buffer
		require.NoError(t, w.Trace().WriteText(&out))
		return w, out.String()
	}
	for seed := range int64(12) {
		w, text := run(seed)
		claims := map[string]string{}
		nodes := map[string]int{}
		for _, pod := range w.Store().Pods.List() {
			require.NotEmpty(t, pod.Spec.NodeName, "seed %d: %s: %s", seed, pod.Name, scheduled(pod).Message)
			require.Empty(t, pod.Status.NominatedNodeName)
			nodes[pod.Spec.NodeName]++
		}
		for node, pods := range nodes {
			require.LessOrEqual(t, pods, 2, "seed %d: %s", seed, node)
		}
		for _, claim := range w.Store().Claims.List() {
			require.Equal(t, corev1.ClaimBound, claim.Status.Phase, "seed %d: %s", seed, claim.Name)
			require.Empty(t, claims[claim.Spec.VolumeName], "seed %d: %s has the volume of another", seed, claim.Name)
			claims[claim.Spec.VolumeName] = claim.Name
		}
		if seed < 3 {
			_, again := run(seed)
			require.Equal(t, text, again, "seed %d", seed)
		}
	}
}

// TestProvisioningTakesTime: the binding ends on the first whole second after the provisioner is done.
func TestProvisioningTakesTime(t *testing.T) {
	w := newCluster(t, schedule.Config{}, engine.Config{})
	w.create(fake.Node("n1"), fake.Class("disk", "disk.example.com", fake.WaitForFirstConsumer()),
		fake.Claim("c", "1Gi", fake.InClass("disk")))
	w.Advance(20 * time.Second)
	w.create(fake.Pod("p", fake.Claims("c")))
	require.NoError(t, w.Settle(time.Hour))
	require.Equal(t, "n1", w.pod("p").Spec.NodeName, "SCHED-168")
	require.Equal(t, 22*time.Second, w.Elapsed(), "SCHED-168: 1.7 s after 20 s, and then the next whole second")
}

// TestEphemeralPod: its claim is there a moment after the pod.
func TestEphemeralPod(t *testing.T) {
	w := newCluster(t, schedule.Config{}, engine.Config{})
	w.create(fake.Node("n1"), fake.Class("disk", "disk.example.com", fake.WaitForFirstConsumer()),
		fake.Pod("p", fake.Ephemeral("s", "1Gi", "disk")))
	require.NoError(t, w.Settle(time.Hour))
	require.Equal(t, "n1", w.pod("p").Spec.NodeName)
	require.Contains(t, w.log()[0], "waiting for ephemeral volume controller", "SCHED-042")
}

// TestNotLookedAtAgain: what the filter found true may have become false when it is written.
func TestNotLookedAtAgain(t *testing.T) {
	tracks := true
	w := newWaitingFixture(t,
		&storagev1.CSIDriver{ObjectMeta: metav1.ObjectMeta{Name: "d"}, Spec: storagev1.CSIDriverSpec{StorageCapacity: &tracks}},
		&storagev1.CSIStorageCapacity{ObjectMeta: metav1.ObjectMeta{Namespace: "driver", Name: "all"}, StorageClassName: "wait",
			NodeTopology: &metav1.LabelSelector{}, Capacity: new(quantity("1Gi"))},
		claimOf("c", "1Gi"), fake.Pod("p", fake.Claims("c")))
	w.Advance(0)
	require.Equal(t, "n1", w.pod("p").Status.NominatedNodeName)
	w.DeleteNow(api.CSIStorageCapacity, "driver/all")
	w.create(w.volumeFor("v", "c"))
	w.bound("c", "v")
	w.Advance(time.Second)
	require.Equal(t, "n1", w.pod("p").Spec.NodeName, "SCHED-108")
}

// TestIdle: a day in which pods wait in vain, and a cluster without any.
func TestIdle(t *testing.T) {
	w := newWaitingFixture(t, claimOf("c", "1Gi"), fake.Pod("p", fake.Claims("c")), fake.Pod("q", fake.Claims("nosuch")))
	w.Advance(24 * time.Hour)
	tries := map[string]int{}
	for _, event := range w.Store().Events.List() {
		tries[event.InvolvedObject.Name] += int(event.Count)
	}
	// Each timeout is one, and so is each flush.
	require.InDelta(t, 24*60/10, tries["p"], 5, "SCHED-167")
	require.InDelta(t, 24*60/5.5, tries["q"], 5, "SCHED-253")
	w = newWaitingFixture(t, fake.Pod("p"))
	w.Advance(time.Second)
	require.Empty(t, w.Pending())
}
