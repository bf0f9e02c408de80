package volsim_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"

	"github.com/volsim/volsim"
	"github.com/volsim/volsim/check"
	"github.com/volsim/volsim/controller"
	"github.com/volsim/volsim/fake"
	"github.com/volsim/volsim/storage"
)

// crossing is a cluster with the gate CrossNamespaceVolumeDataSource, in which claim golden/seed is bound.
type crossing struct {
	*volsim.Cluster
	t *testing.T
}

const grantSnapshots = `
apiVersion: gateway.networking.k8s.io/v1beta1
kind: ReferenceGrant
metadata: {name: seeds, namespace: golden}
spec:
  from: [{group: "", kind: PersistentVolumeClaim, namespace: shop}]
  to: [{group: snapshot.storage.k8s.io, kind: VolumeSnapshot}, {group: "", kind: PersistentVolumeClaim, name: seed}]
`

func newCrossing(t *testing.T, gate bool, opts ...fake.MemoryOption) *crossing {
	t.Helper()
	c, err := volsim.New(volsim.Config{Backends: []storage.Backend{fake.CSI("disk.example.com", opts...)}, Check: check.All(),
		FeatureGates: map[string]bool{"CrossNamespaceVolumeDataSource": gate}})
	require.NoError(t, err)
	require.NoError(t, c.Apply([]byte(immediate)))
	require.NoError(t, c.Apply([]byte(`
apiVersion: snapshot.storage.k8s.io/v1
kind: VolumeSnapshotClass
metadata: {name: snap}
driver: disk.example.com
deletionPolicy: Delete
---
apiVersion: v1
kind: PersistentVolumeClaim
metadata: {name: seed, namespace: golden}
spec: {storageClassName: fast, accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Gi}}}
---
apiVersion: snapshot.storage.k8s.io/v1
kind: VolumeSnapshot
metadata: {name: first, namespace: golden}
spec: {volumeSnapshotClassName: snap, source: {persistentVolumeClaimName: seed}}
`)))
	require.NoError(t, c.Advance(time.Minute))
	return &crossing{c, t}
}

// claim creates shop/NAME with a source in golden.
func (c *crossing) claim(name string, ref corev1.TypedObjectReference) {
	c.t.Helper()
	claim := fake.Claim("shop/"+name, "1Gi", fake.InClass("fast"))
	ref.Namespace = new("golden")
	claim.Spec.DataSourceRef = &ref
	require.NoError(c.t, c.Create(claim))
	require.NoError(c.t, c.Advance(time.Second))
}

func (c *crossing) get(key string) *corev1.PersistentVolumeClaim {
	c.t.Helper()
	claim, err := c.Claims.Get(key)
	require.NoError(c.t, err)
	return claim
}

// failures returns the texts of the provisioner's failures for a claim.
func (c *crossing) failures(name string) []string {
	var texts []string
	for _, e := range c.Events() {
		if e.InvolvedObject.Name == name && e.Reason == "ProvisioningFailed" {
			texts = append(texts, e.Message)
		}
	}
	return texts
}

var (
	snapshotRef = corev1.TypedObjectReference{APIGroup: new("snapshot.storage.k8s.io"), Kind: "VolumeSnapshot", Name: "first"}
	claimRef    = corev1.TypedObjectReference{Kind: "PersistentVolumeClaim", Name: "seed"}
)

// TestSourceAcrossNamespaces: a claim gets the data of a snapshot and of a claim in another namespace, once a ReferenceGrant allows it.
func TestSourceAcrossNamespaces(t *testing.T) {
	for _, ref := range []corev1.TypedObjectReference{snapshotRef, claimRef} {
		t.Run(ref.Kind, func(t *testing.T) {
			c := newCrossing(t, true)
			c.claim("copy", ref)
			require.NotNil(t, c.get("shop/copy").Spec.DataSourceRef, "API-114")
			require.Nil(t, c.get("shop/copy").Spec.DataSource, "API-114")
			refused := fmt.Sprintf("accessing golden/%s of %s dataSource from shop/copy isn't allowed", ref.Name, ref.Kind)
			require.Equal(t, []string{refused}, c.failures("copy"), "SNAP-033")
			why, err := c.Explain("pvc/shop/copy")
			require.NoError(t, err)
			require.Equal(t, "SNAP-033", why.Rule)
			require.Contains(t, why.String(), "create a ReferenceGrant in namespace golden: from group \"\", kind PersistentVolumeClaim, namespace shop")
			require.NoError(t, c.Advance(10*time.Second))
			require.NoError(t, c.Apply([]byte(grantSnapshots)))
			require.NoError(t, c.Advance(time.Second))
			require.Equal(t, corev1.ClaimPending, c.get("shop/copy").Status.Phase, "SNAP-033: a grant syncs no claim")
			require.NoError(t, c.Advance(20*time.Second))
			require.Equal(t, corev1.ClaimBound, c.get("shop/copy").Status.Phase, "SNAP-033: the retry finds it")
			require.Empty(t, c.Violations())
		})
	}
}

// TestSourceWithoutGate: the reference is dropped, and one that was stored before is an error.
func TestSourceWithoutGate(t *testing.T) {
	c := newCrossing(t, false)
	c.claim("copy", snapshotRef)
	require.Nil(t, c.get("shop/copy").Spec.DataSourceRef, "API-110")
	require.Equal(t, corev1.ClaimBound, c.get("shop/copy").Status.Phase, "API-110: the claim gets an empty volume")

	old := fake.Claim("shop/old", "1Gi", fake.InClass("fast"))
	old.Spec.DataSourceRef = snapshotRef.DeepCopy()
	old.Spec.DataSourceRef.Namespace = new("golden")
	require.NoError(t, c.Load(old))
	require.NoError(t, c.Advance(time.Second))
	require.Equal(t, []string{"dataSourceRef namespace specified but the CrossNamespaceVolumeDataSource feature is disabled"}, c.failures("old"),
		"SNAP-034")
}

// TestSourceFinalizersAcrossNamespaces: what looks for the users of a source does not find those in other namespaces (SNAP-035).
func TestSourceFinalizersAcrossNamespaces(t *testing.T) {
	const cloning = "provisioner.storage.kubernetes.io/cloning-protection"
	c := newCrossing(t, true)
	require.NoError(t, c.Apply([]byte(grantSnapshots)))
	c.Faults.Fail(fake.Match{Target: "disk.example.com", Verb: "Create"}, storage.Errorf(storage.Internal, "broken"))
	c.claim("copy", claimRef)
	require.Contains(t, c.get("golden/seed").Finalizers, cloning, "SNAP-035")
	c.claim("restored", snapshotRef)
	require.NoError(t, c.Delete(c.get("golden/seed")))
	require.NoError(t, c.Advance(time.Second))
	_, err := c.Claims.Get("golden/seed")
	require.Error(t, err, "SNAP-035: a pending copy in another namespace does not keep the claim")
	require.Equal(t, corev1.ClaimPending, c.get("shop/copy").Status.Phase)
	c.Faults.Clear()
	require.NoError(t, c.Advance(time.Minute))
	require.Equal(t, corev1.ClaimBound, c.get("shop/restored").Status.Phase)
	require.Contains(t, c.failures("copy"), `error getting handle for DataSource Type PersistentVolumeClaim by Name seed: `+
		`error getting PVC seed (namespace "shop") from api server: persistentvolumeclaim "seed" not found`, "SNAP-035")

	restoring := func() bool {
		u := snapshotObject("VolumeSnapshot", "golden", "first", nil)
		require.NoError(t, c.Patch(u, "{}")) // it writes the stored object into u
		return slices.Contains(u.GetFinalizers(), "provisioner.storage.kubernetes.io/volumesnapshot-as-source-protection")
	}
	require.True(t, restoring(), "SNAP-035: the finalizer stays after the volume was created")
	require.NoError(t, c.Advance(5*time.Minute))
	require.False(t, restoring(), "SNAP-035: the sweep removes it")
}

// TestPopulatorAcrossNamespaces: a populator needs the grant as well (SNAP-075).
func TestPopulatorAcrossNamespaces(t *testing.T) {
	c := newCrossing(t, true)
	require.NoError(t, c.Apply(fmt.Appendf(nil, helloCRD, "hellos", "example.com", "Hello", "Namespaced")))
	require.NoError(t, c.Create(fake.Node("n1")))
	require.NoError(t, c.Apply([]byte("apiVersion: example.com/v1beta1\nkind: Hello\nmetadata: {name: world, namespace: golden}\n")))
	require.NoError(t, c.AddController(controller.Populator{Kind: "Hello.example.com"}.Controller()))
	c.claim("data", corev1.TypedObjectReference{APIGroup: new("example.com"), Kind: "Hello", Name: "world"})
	require.NoError(t, c.Advance(time.Minute))
	require.NotContains(t, eventsOf(c.Cluster, "data"), "Populator", "SNAP-075: nothing without a grant")
	require.Equal(t, []string{"accessing golden/world of Hello dataSource from shop/data isn't allowed"}, c.failures("data"), "SNAP-075")
	require.NoError(t, c.Apply([]byte(`
apiVersion: gateway.networking.k8s.io/v1
kind: ReferenceGrant
metadata: {name: hellos, namespace: golden}
spec: {from: [{group: "", kind: PersistentVolumeClaim, namespace: shop}], to: [{group: example.com, kind: Hello}]}
`)))
	require.NoError(t, c.Advance(30*time.Minute))
	require.Equal(t, corev1.ClaimBound, c.get("shop/data").Status.Phase, "SNAP-075")
	pv, err := c.Volumes.Get(c.get("shop/data").Spec.VolumeName)
	require.NoError(t, err)
	require.Equal(t, "shop/world", pv.Annotations["example.com/populated-from"], "SNAP-075: the namespace is that of the claim")
}
