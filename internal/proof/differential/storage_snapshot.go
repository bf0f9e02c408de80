package differential

import (
	"slices"
	"time"

	"github.com/volsim/volsim/storage"
)

// Taken returns the snapshot that Driver takes of a volume for a request of that name, ready or not according to the setting.
func (b *Backend) Taken(name, volume string) storage.Snapshot {
	b.mu.Lock()
	defer b.mu.Unlock()
	return storage.Snapshot{ID: "taken-" + name, VolumeID: volume, Size: b.setting.SnapshotSize, Created: taken, Ready: !b.setting.Uploading}
}

// TakenGroup returns the group snapshot that Driver takes of volumes.
func (b *Backend) TakenGroup(name string, volumes []string) storage.GroupSnapshot {
	group := storage.GroupSnapshot{ID: "taken-" + name, Created: taken, Ready: true}
	for _, volume := range volumes {
		s := b.Taken(name+"-"+volume, volume)
		s.GroupID = group.ID
		group.Snapshots, group.Ready = append(group.Snapshots, s), group.Ready && s.Ready
	}
	return group
}

// Found returns a snapshot that exists, as Driver lists it.
func (b *Backend) Found(id string) storage.Snapshot {
	s := b.Taken("", "")
	s.ID = id
	return s
}

// taken is the time of all snapshots according to Driver.
var taken = Epoch.Add(11 * time.Second)

// snapshotDriver is Driver with snapshots.
type snapshotDriver struct {
	driver
	cannot []storage.Op
}

// Capabilities returns those of the scenario.
func (d *snapshotDriver) Capabilities() storage.Capabilities {
	return storage.Capabilities{Without: slices.Clone(d.cannot)}
}

func (d *snapshotDriver) CreateSnapshot(r storage.SnapshotRequest) (storage.Snapshot, error) {
	return d.Taken(r.Name, r.VolumeID), Internal(d.end(storage.CreateSnapshot, r.Name))
}

func (d *snapshotDriver) DeleteSnapshot(r storage.SnapshotRef) error {
	return Internal(d.end(storage.DeleteSnapshot, r.ID))
}

func (d *snapshotDriver) GetSnapshot(r storage.SnapshotRef) (storage.Snapshot, error) {
	return d.Found(r.ID), Internal(d.end(storage.GetSnapshot, r.ID))
}

func (d *snapshotDriver) CreateGroupSnapshot(r storage.GroupSnapshotRequest) (storage.GroupSnapshot, error) {
	return d.TakenGroup(r.Name, r.VolumeIDs), Internal(d.end(storage.CreateGroupSnapshot, r.Name))
}

func (d *snapshotDriver) DeleteGroupSnapshot(r storage.GroupSnapshotRef) error {
	return Internal(d.end(storage.DeleteGroupSnapshot, r.ID))
}

func (d *snapshotDriver) GetGroupSnapshot(r storage.GroupSnapshotRef) (storage.GroupSnapshot, error) {
	found := d.Found(r.ID)
	return storage.GroupSnapshot{ID: r.ID, Created: found.Created, Ready: found.Ready}, Internal(d.end(storage.GetGroupSnapshot, r.ID))
}
