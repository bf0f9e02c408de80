package csi

import (
	"time"

	spec "github.com/container-storage-interface/spec/lib/go/csi"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/volsim/volsim/storage"
)

// CreateSnapshot implements storage.Snapshotter with CreateSnapshot.
func (d *Driver) CreateSnapshot(req storage.SnapshotRequest) (storage.Snapshot, error) {
	reply, err := call[*spec.CreateSnapshotResponse](d, "", &spec.CreateSnapshotRequest{
		SourceVolumeId: req.VolumeID, Name: req.Name, Parameters: req.Parameters, Secrets: req.Secrets,
	})
	if err != nil {
		return storage.Snapshot{}, err
	}
	d.snapshots[reply.GetSnapshot().GetSnapshotId()] = req.Name
	return snapshotOf(reply.GetSnapshot()), nil
}

// DeleteSnapshot implements storage.Snapshotter with DeleteSnapshot.
func (d *Driver) DeleteSnapshot(req storage.SnapshotRef) error {
	_, err := call[*spec.DeleteSnapshotResponse](d, "", &spec.DeleteSnapshotRequest{SnapshotId: req.ID, Secrets: req.Secrets})
	return err
}

// GetSnapshot implements storage.SnapshotLister with ListSnapshots. As the csi-snapshotter does, it returns the first entry, whatever its
// snapshot_id is. Without an entry the error has code NotFound.
func (d *Driver) GetSnapshot(req storage.SnapshotRef) (storage.Snapshot, error) {
	reply, err := call[*spec.ListSnapshotsResponse](d, "", &spec.ListSnapshotsRequest{SnapshotId: req.ID, Secrets: req.Secrets})
	if err != nil {
		return storage.Snapshot{}, err
	}
	if len(reply.GetEntries()) == 0 {
		return storage.Snapshot{}, storage.Errorf(storage.NotFound, "snapshot %s is not in the reply to ListSnapshots", req.ID)
	}
	return snapshotOf(reply.GetEntries()[0].GetSnapshot()), nil
}

// CreateGroupSnapshot implements storage.GroupSnapshotter with CreateVolumeGroupSnapshot.
func (d *Driver) CreateGroupSnapshot(req storage.GroupSnapshotRequest) (storage.GroupSnapshot, error) {
	reply, err := call[*spec.CreateVolumeGroupSnapshotResponse](d, "", &spec.CreateVolumeGroupSnapshotRequest{
		Name: req.Name, SourceVolumeIds: req.VolumeIDs, Secrets: req.Secrets, Parameters: req.Parameters,
	})
	if err != nil {
		return storage.GroupSnapshot{}, err
	}
	d.snapshots[reply.GetGroupSnapshot().GetGroupSnapshotId()] = req.Name
	return groupOf(reply.GetGroupSnapshot()), nil
}

// DeleteGroupSnapshot implements storage.GroupSnapshotter with DeleteVolumeGroupSnapshot.
func (d *Driver) DeleteGroupSnapshot(req storage.GroupSnapshotRef) error {
	_, err := call[*spec.DeleteVolumeGroupSnapshotResponse](d, "", &spec.DeleteVolumeGroupSnapshotRequest{
		GroupSnapshotId: req.ID, SnapshotIds: req.SnapshotIDs, Secrets: req.Secrets,
	})
	return err
}

// GetGroupSnapshot implements storage.GroupSnapshotter with GetVolumeGroupSnapshot.
func (d *Driver) GetGroupSnapshot(req storage.GroupSnapshotRef) (storage.GroupSnapshot, error) {
	reply, err := call[*spec.GetVolumeGroupSnapshotResponse](d, "", &spec.GetVolumeGroupSnapshotRequest{
		GroupSnapshotId: req.ID, SnapshotIds: req.SnapshotIDs, Secrets: req.Secrets,
	})
	if err != nil {
		return storage.GroupSnapshot{}, err
	}
	return groupOf(reply.GetGroupSnapshot()), nil
}

func snapshotOf(s *spec.Snapshot) storage.Snapshot {
	return storage.Snapshot{
		ID: s.GetSnapshotId(), VolumeID: s.GetSourceVolumeId(), Size: s.GetSizeBytes(), Created: created(s.GetCreationTime()), Ready: s.GetReadyToUse(),
		GroupID: s.GetGroupSnapshotId(),
	}
}

func groupOf(g *spec.VolumeGroupSnapshot) storage.GroupSnapshot {
	group := storage.GroupSnapshot{ID: g.GetGroupSnapshotId(), Created: created(g.GetCreationTime()), Ready: g.GetReadyToUse()}
	for _, s := range g.GetSnapshots() {
		group.Snapshots = append(group.Snapshots, snapshotOf(s))
	}
	return group
}

// created returns the creation_time of a reply. A missing one is 1970, as for the csi-snapshotter, and not the zero time.
func created(t *timestamppb.Timestamp) time.Time { return t.AsTime() }
