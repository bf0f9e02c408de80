package storage

import "time"

// Snapshotter takes and deletes snapshots of volumes (CREATE_DELETE_SNAPSHOT). A driver with this interface can also create a volume from
// a snapshot: Content of the CreateRequest has the kind VolumeSnapshot then, and ContentID is the handle of the snapshot.
//
// CreateSnapshot returns the same snapshot again when it is called with a name that it knows; if the volume differs, the error has code
// [AlreadyExists]. A snapshot that still has to be uploaded is not Ready; the csi-snapshotter repeats the call until it is. DeleteSnapshot
// returns nil for an unknown snapshot, and code [FailedPrecondition] for one that cannot be deleted yet.
type Snapshotter interface {
	CreateSnapshot(SnapshotRequest) (Snapshot, error)
	DeleteSnapshot(SnapshotRef) error
}

// SnapshotLister finds a snapshot (LIST_SNAPSHOTS). GetSnapshot returns code [NotFound] for an unknown one. The csi-snapshotter asks for
// snapshots that it did not take itself. It assumes that those of a driver without this interface exist and are ready.
type SnapshotLister interface {
	GetSnapshot(SnapshotRef) (Snapshot, error)
}

// GroupSnapshotter takes snapshots of several volumes at one point in time (CREATE_DELETE_GET_VOLUME_GROUP_SNAPSHOT). The calls have the
// rules of Snapshotter and SnapshotLister. Deleting the group deletes its snapshots.
type GroupSnapshotter interface {
	CreateGroupSnapshot(GroupSnapshotRequest) (GroupSnapshot, error)
	DeleteGroupSnapshot(GroupSnapshotRef) error
	GetGroupSnapshot(GroupSnapshotRef) (GroupSnapshot, error)
}

// SnapshotRequest asks for a snapshot of a volume.
type SnapshotRequest struct {
	Name       string            // identifies the request
	VolumeID   string            // handle of the volume
	Parameters map[string]string // of the VolumeSnapshotClass
	Secrets    map[string]string // content of the Secret that the VolumeSnapshotClass names; nil for none
}

// Snapshot describes a snapshot.
type Snapshot struct {
	ID       string    // the handle
	VolumeID string    // handle of the volume that it was taken of
	Size     int64     // smallest size in bytes of a volume created from it; 0 if the driver does not know it
	Created  time.Time // when it was taken; zero: when the reply is received
	Ready    bool      // a volume can be created from it
	GroupID  string    // handle of its group snapshot; "" for none
}

// SnapshotRef names a snapshot to delete or to find.
type SnapshotRef struct {
	ID      string            // handle of the snapshot
	Secrets map[string]string // content of the Secret that the VolumeSnapshotClass names for the call; nil for none
}

// GroupSnapshotRequest asks for a snapshot of several volumes.
type GroupSnapshotRequest struct {
	Name       string            // identifies the request
	VolumeIDs  []string          // handles of the volumes
	Parameters map[string]string // of the VolumeGroupSnapshotClass
	Secrets    map[string]string // content of the Secret that the VolumeGroupSnapshotClass names; nil for none
}

// GroupSnapshot describes a group snapshot.
type GroupSnapshot struct {
	ID        string     // the handle
	Snapshots []Snapshot // one of each volume
	Created   time.Time  // when it was taken; zero: when the reply is received
	Ready     bool       // all its snapshots are ready
}

// GroupSnapshotRef names a group snapshot to delete or to find.
type GroupSnapshotRef struct {
	ID          string            // handle of the group snapshot
	SnapshotIDs []string          // handles of its snapshots
	Secrets     map[string]string // content of the Secret that the VolumeGroupSnapshotClass names for the call; nil for none
}
