package fake_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"

	"github.com/volsim/volsim/fake"
	"github.com/volsim/volsim/storage"
)

// TestSnapshots: a snapshot has the content of its volume at that time, and so has a volume that is created from it.
func TestSnapshots(t *testing.T) {
	m := fake.CSI("disk.example.com", fake.SlowSnapshots(1), fake.Without(storage.Attach, storage.Stage))
	pod := storage.PodRef{Namespace: "default", Name: "web"}
	_, err := m.Create(storage.CreateRequest{Name: "v", Size: 10})
	require.NoError(t, err)
	require.NoError(t, m.Publish(storage.NodeRequest{ID: "v", Node: "n1", TargetPath: "/p", Pod: pod}))
	first, err := m.Write("v", pod, "n1", time.Unix(1, 0))
	require.NoError(t, err)

	s, err := m.CreateSnapshot(storage.SnapshotRequest{Name: "s", VolumeID: "v"})
	require.NoError(t, err)
	require.Equal(t, storage.Snapshot{ID: "s", VolumeID: "v", Size: 10}, s)
	_, err = m.Write("v", pod, "n1", time.Unix(2, 0))
	require.NoError(t, err)
	require.Equal(t, first, m.Snapshots()[0].Content)

	restore := storage.CreateRequest{Name: "r", Size: 10, Content: &corev1.TypedObjectReference{Kind: "VolumeSnapshot"}, ContentID: "s"}
	_, err = m.Create(restore)
	require.Equal(t, storage.Unavailable, storage.CodeOf(err), "not ready")
	s, err = m.CreateSnapshot(storage.SnapshotRequest{Name: "s", VolumeID: "v"})
	require.NoError(t, err)
	require.True(t, s.Ready)
	_, err = m.CreateSnapshot(storage.SnapshotRequest{Name: "s", VolumeID: "other"})
	require.Equal(t, storage.AlreadyExists, storage.CodeOf(err))

	small := restore
	small.Size = 5
	_, err = m.Create(small)
	require.Equal(t, storage.OutOfRange, storage.CodeOf(err))
	v, err := m.Create(restore)
	require.NoError(t, err)
	require.True(t, v.Content)
	r, _ := m.Volume("r")
	require.Equal(t, []any{first, "s"}, []any{r.Content, r.Origin})
	restore.ContentID = "t"
	_, err = m.Create(restore)
	require.Equal(t, storage.AlreadyExists, storage.CodeOf(err), "another source")

	_, err = m.GetSnapshot(storage.SnapshotRef{ID: "x"})
	require.Equal(t, storage.NotFound, storage.CodeOf(err))
	for range 2 {
		require.NoError(t, m.DeleteSnapshot(storage.SnapshotRef{ID: "s"}))
	}
	require.Empty(t, m.Snapshots())
}

// TestGroupSnapshots: a group has one snapshot of each volume, which cannot be deleted alone.
func TestGroupSnapshots(t *testing.T) {
	m := fake.CSI("disk.example.com")
	request := storage.GroupSnapshotRequest{Name: "g", VolumeIDs: []string{"a", "b"}}
	for range 2 {
		group, err := m.CreateGroupSnapshot(request)
		require.NoError(t, err)
		require.Equal(t, storage.GroupSnapshot{ID: "g", Ready: true, Snapshots: []storage.Snapshot{
			{ID: "g-a", VolumeID: "a", Ready: true, GroupID: "g"}, {ID: "g-b", VolumeID: "b", Ready: true, GroupID: "g"},
		}}, group)
	}
	request.VolumeIDs = []string{"a"}
	_, err := m.CreateGroupSnapshot(request)
	require.Equal(t, storage.AlreadyExists, storage.CodeOf(err))
	require.Equal(t, storage.InvalidArgument, storage.CodeOf(m.DeleteSnapshot(storage.SnapshotRef{ID: "g-a"})))
	group, err := m.GetGroupSnapshot(storage.GroupSnapshotRef{ID: "g"})
	require.NoError(t, err)
	require.Len(t, group.Snapshots, 2)
	require.NoError(t, m.DeleteGroupSnapshot(storage.GroupSnapshotRef{ID: "g"}))
	require.Empty(t, m.Snapshots())
	_, err = m.GetGroupSnapshot(storage.GroupSnapshotRef{ID: "g"})
	require.Equal(t, storage.NotFound, storage.CodeOf(err))
}
