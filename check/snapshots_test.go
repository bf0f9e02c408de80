package check_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/volsim/volsim"
	"github.com/volsim/volsim/check"
	"github.com/volsim/volsim/fake"
	"github.com/volsim/volsim/storage"
)

// forgetful restores snapshots without their data, if broken is set.
type forgetful struct {
	*fake.Memory
	broken bool
}

func (f *forgetful) VolumeContent(id string) (storage.Write, bool) {
	content, ok := f.Memory.VolumeContent(id)
	if f.broken {
		content.Version = 7
		content.Pod = storage.PodRef{Namespace: "default", Name: "other"}
	}
	return content, ok
}

func snapshotObject(kind, namespace, name string, fields map[string]any) *unstructured.Unstructured {
	u := &unstructured.Unstructured{Object: fields}
	u.SetAPIVersion("snapshot.storage.k8s.io/v1")
	u.SetKind(kind)
	u.SetNamespace(namespace)
	u.SetName(name)
	return u
}

// restoring returns a cluster with claim default/data, a snapshot of it, and a claim in a namespace that is restored from the snapshot.
func restoring(t *testing.T, driver storage.Backend, namespace string) *volsim.Cluster {
	t.Helper()
	c, err := volsim.New(volsim.Config{Backends: []storage.Backend{driver}, Check: check.All(),
		FeatureGates: map[string]bool{"CrossNamespaceVolumeDataSource": true}})
	require.NoError(t, err)
	restored := fake.Claim(namespace+"/restored", "1Gi", fake.InClass("fast"))
	restored.Spec.DataSourceRef = &corev1.TypedObjectReference{APIGroup: new("snapshot.storage.k8s.io"), Kind: "VolumeSnapshot", Name: "s"}
	if namespace != "default" {
		restored.Spec.DataSourceRef.Namespace = new("default")
	}
	require.NoError(t, c.Apply([]byte(`
apiVersion: gateway.networking.k8s.io/v1
kind: ReferenceGrant
metadata: {name: snapshots, namespace: default}
spec: {from: [{group: "", kind: PersistentVolumeClaim, namespace: shop}], to: [{group: snapshot.storage.k8s.io, kind: VolumeSnapshot}]}
`)))
	require.NoError(t, c.Create(
		fake.Class("fast", "disk.example.com"), fake.Claim("data", "1Gi", fake.InClass("fast")), restored,
		snapshotObject("VolumeSnapshotClass", "", "snap", map[string]any{"driver": "disk.example.com", "deletionPolicy": "Delete"}),
		snapshotObject("VolumeSnapshot", "default", "s", map[string]any{"spec": map[string]any{
			"volumeSnapshotClassName": "snap", "source": map[string]any{"persistentVolumeClaimName": "data"}}}),
	))
	require.NoError(t, c.Advance(10*time.Minute))
	claim, err := c.Claims.Get(namespace + "/restored")
	require.NoError(t, err)
	require.Equal(t, corev1.ClaimBound, claim.Status.Phase)
	return c
}

// TestRestoredData: restored-data compares a restored volume with its snapshot.
func TestRestoredData(t *testing.T) {
	for _, test := range []struct {
		rule, namespace string
		broken          bool
	}{
		{"SNAP-030", "default", false},
		{"SNAP-030", "default", true},
		{"SNAP-035", "shop", false},
		{"SNAP-035", "shop", true},
	} {
		c := restoring(t, &forgetful{fake.CSI("disk.example.com"), test.broken}, test.namespace)
		violations := c.Violations()
		if !test.broken {
			require.Empty(t, violations, test.rule)
			continue
		}
		require.Len(t, violations, 1, test.rule)
		require.Equal(t, "restored-data", violations[0].Invariant)
		require.Empty(t, violations[0].Forced)
		require.Contains(t, violations[0].Text, "contains write 7 of pod default/other, but the snapshot contains nothing")
	}
}

// TestOrphanedContent: no-orphaned-snapshot-content reports a content that stays after its snapshot (SNAP-012).
func TestOrphanedContent(t *testing.T) {
	c := restoring(t, fake.CSI("disk.example.com"), "default")
	snapshot := snapshotObject("VolumeSnapshot", "default", "s", map[string]any{})
	require.NoError(t, c.Delete(snapshot))
	require.NoError(t, c.Advance(time.Hour))
	require.Empty(t, c.Violations(), "SNAP-012, SNAP-025: the content is deleted")

	c = restoring(t, fake.CSI("disk.example.com"), "default")
	require.NoError(t, c.Patch(snapshot, `{"metadata": {"finalizers": null}}`))
	require.NoError(t, c.Delete(snapshot))
	require.NoError(t, c.Advance(time.Hour))
	violations := c.Violations()
	require.Len(t, violations, 1)
	require.Equal(t, "no-orphaned-snapshot-content", violations[0].Invariant)
	require.Equal(t, "a user edited VolumeSnapshot.snapshot.storage.k8s.io/default/s", violations[0].Forced)
}
