package fake

import (
	"maps"
	"slices"
	"strings"

	"github.com/volsim/volsim/storage"
)

// SnapshotState is a copy of the state of a snapshot.
type SnapshotState struct {
	storage.Snapshot
	Content storage.Write // what the volume contained when the snapshot was taken; zero for an empty volume
}

// snapshot is a snapshot from its creation to its deletion.
type snapshot struct {
	storage.Snapshot
	content storage.Write
	replies int // that still report that it is not ready
}

// reply returns the result of a call about the snapshot.
func (s *snapshot) reply() storage.Snapshot {
	if s.replies > 0 {
		s.replies--
	} else {
		s.Ready = true
	}
	return s.Snapshot
}

// Snapshots implements Memory.Snapshots.
func (m *model) Snapshots() []SnapshotState {
	states := make([]SnapshotState, 0, len(m.snapshots))
	for _, id := range slices.Sorted(maps.Keys(m.snapshots)) {
		states = append(states, SnapshotState{m.snapshots[id].Snapshot, m.snapshots[id].content})
	}
	return states
}

// VolumeContent implements storage.ContentReporter.
func (m *model) VolumeContent(id string) (storage.Write, bool) {
	v, ok := m.volumes[id]
	if !ok {
		return storage.Write{}, false
	}
	return v.content, true
}

// SnapshotContent implements storage.ContentReporter.
func (m *model) SnapshotContent(id string) (storage.Write, bool) {
	s, ok := m.snapshots[id]
	if !ok {
		return storage.Write{}, false
	}
	return s.content, true
}

// CreateSnapshot copies the content of a volume, or returns the snapshot that the same request took before. The ID is the name.
func (m *model) CreateSnapshot(req storage.SnapshotRequest) (storage.Snapshot, error) {
	if err := m.check(storage.CreateSnapshot, "name", req.Name, "volume ID", req.VolumeID); err != nil {
		return storage.Snapshot{}, err
	}
	s, err := m.snapshotOf(req.Name, req.VolumeID, "")
	if err != nil {
		return storage.Snapshot{}, err
	}
	m.snapshots[s.ID] = s
	return s.reply(), nil
}

// snapshotOf returns the snapshot of that ID, or a new one of the volume.
func (m *model) snapshotOf(id, volumeID, group string) (*snapshot, error) {
	if s, ok := m.snapshots[id]; ok {
		if s.VolumeID != volumeID || s.GroupID != group {
			return nil, m.fail(storage.AlreadyExists, "snapshot %s exists, of volume %s", id, s.VolumeID)
		}
		return s, nil
	}
	v, err := m.find(volumeID)
	if err != nil {
		return nil, err
	}
	m.store(v)
	return &snapshot{Snapshot: storage.Snapshot{ID: id, VolumeID: volumeID, Size: v.size, GroupID: group}, content: v.content,
		replies: m.slowSnapshots}, nil
}

// DeleteSnapshot deletes a snapshot. One of a group can only be deleted with the group. Volumes that were created from it stay.
func (m *model) DeleteSnapshot(req storage.SnapshotRef) error {
	if err := m.check(storage.DeleteSnapshot, "ID", req.ID); err != nil {
		return err
	}
	if s, ok := m.snapshots[req.ID]; ok && s.GroupID != "" {
		return m.fail(storage.InvalidArgument, "snapshot %s belongs to group snapshot %s", req.ID, s.GroupID)
	}
	delete(m.snapshots, req.ID)
	return nil
}

// GetSnapshot returns a snapshot.
func (m *model) GetSnapshot(req storage.SnapshotRef) (storage.Snapshot, error) {
	if err := m.check(storage.GetSnapshot, "ID", req.ID); err != nil {
		return storage.Snapshot{}, err
	}
	s, ok := m.snapshots[req.ID]
	if !ok {
		return storage.Snapshot{}, m.fail(storage.NotFound, "snapshot %s does not exist", req.ID)
	}
	return s.reply(), nil
}

// CreateGroupSnapshot takes a snapshot of each volume. It takes none if that is impossible for one of them.
func (m *model) CreateGroupSnapshot(req storage.GroupSnapshotRequest) (storage.GroupSnapshot, error) {
	if err := m.check(storage.CreateGroupSnapshot, "name", req.Name, "volume IDs", strings.Join(req.VolumeIDs, ",")); err != nil {
		return storage.GroupSnapshot{}, err
	}
	if _, ok := m.groups[req.Name]; ok {
		if members := m.members(req.Name); !slices.Equal(slices.Sorted(slices.Values(req.VolumeIDs)), volumesOf(members)) {
			return storage.GroupSnapshot{}, m.fail(storage.AlreadyExists, "group snapshot %s exists, of volumes %s", req.Name,
				strings.Join(volumesOf(members), ", "))
		}
		return m.describeGroup(req.Name), nil
	}
	var members []*snapshot
	for _, volume := range req.VolumeIDs {
		s, err := m.snapshotOf(req.Name+"-"+volume, volume, req.Name)
		if err != nil {
			return storage.GroupSnapshot{}, err
		}
		members = append(members, s)
	}
	for _, s := range members {
		m.snapshots[s.ID] = s
	}
	m.groups[req.Name] = &storage.GroupSnapshot{ID: req.Name}
	return m.describeGroup(req.Name), nil
}

// DeleteGroupSnapshot deletes the group and its snapshots.
func (m *model) DeleteGroupSnapshot(req storage.GroupSnapshotRef) error {
	if err := m.check(storage.DeleteGroupSnapshot, "ID", req.ID); err != nil {
		return err
	}
	for _, s := range m.members(req.ID) {
		delete(m.snapshots, s.ID)
	}
	delete(m.groups, req.ID)
	return nil
}

// GetGroupSnapshot returns the group and its snapshots.
func (m *model) GetGroupSnapshot(req storage.GroupSnapshotRef) (storage.GroupSnapshot, error) {
	if err := m.check(storage.GetGroupSnapshot, "ID", req.ID); err != nil {
		return storage.GroupSnapshot{}, err
	}
	if _, ok := m.groups[req.ID]; !ok {
		return storage.GroupSnapshot{}, m.fail(storage.NotFound, "group snapshot %s does not exist", req.ID)
	}
	return m.describeGroup(req.ID), nil
}

// members returns the snapshots of a group, sorted by ID.
func (m *model) members(group string) []*snapshot {
	var members []*snapshot
	for _, id := range slices.Sorted(maps.Keys(m.snapshots)) {
		if s := m.snapshots[id]; s.GroupID == group {
			members = append(members, s)
		}
	}
	return members
}

// volumesOf returns the IDs of the volumes of snapshots, sorted.
func volumesOf(snapshots []*snapshot) []string {
	var ids []string
	for _, s := range snapshots {
		ids = append(ids, s.VolumeID)
	}
	slices.Sort(ids)
	return ids
}

// describeGroup returns the result of a call about a group.
func (m *model) describeGroup(id string) storage.GroupSnapshot {
	group := *m.groups[id]
	group.Ready = true
	for _, s := range m.members(id) {
		reply := s.reply()
		group.Snapshots = append(group.Snapshots, reply)
		group.Ready = group.Ready && reply.Ready
	}
	return group
}

// copied returns the content for a new volume: that of the snapshot or volume in the request. A source that cannot be copied is an error.
func (m *model) copied(req storage.CreateRequest) (storage.Write, error) {
	if req.Content == nil {
		return storage.Write{}, nil
	}
	var size int64
	var content storage.Write
	if req.Content.Kind == "VolumeSnapshot" {
		s, ok := m.snapshots[req.ContentID]
		switch {
		case !ok:
			return storage.Write{}, m.fail(storage.NotFound, "snapshot %s does not exist", req.ContentID)
		case !s.Ready:
			return storage.Write{}, m.fail(storage.Unavailable, "snapshot %s is not ready", req.ContentID)
		}
		size, content = s.Size, s.content
	} else {
		v, err := m.find(req.ContentID)
		if err != nil {
			return storage.Write{}, err
		}
		size, content = v.size, v.content
	}
	if max(req.Size, m.minSize) < size {
		return storage.Write{}, m.fail(storage.OutOfRange, "volume %s of %d bytes is smaller than its source %s with %d bytes", req.Name, req.Size,
			req.ContentID, size)
	}
	return content, nil
}
