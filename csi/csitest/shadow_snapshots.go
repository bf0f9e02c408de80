package csitest

import (
	"slices"

	spec "github.com/container-storage-interface/spec/lib/go/csi"
	"google.golang.org/protobuf/proto"
	corev1 "k8s.io/api/core/v1"

	"github.com/volsim/volsim/fake"
	"github.com/volsim/volsim/storage"
)

// snapshot returns the ID of a snapshot in the reference. A member of a group has the ID GROUP-VOLUME there.
func (s *shadow) snapshot(id string) string {
	if name, ok := s.snaps[id]; ok {
		return name
	}
	return id
}

// group returns the ID of a group snapshot in the reference.
func (s *shadow) group(id string) string {
	if name, ok := s.groups[id]; ok {
		return name
	}
	return id
}

// hasSnapshot reports whether a snapshot exists in m.
func hasSnapshot(m *fake.Memory, name string) bool {
	return slices.ContainsFunc(m.Snapshots(), func(s fake.SnapshotState) bool { return s.ID == name || s.GroupID == name })
}

// runSnapshot executes a request about a snapshot or a group of them. ok is false for any other request.
func (s *shadow) runSnapshot(m *fake.Memory, request proto.Message) (o outcome, ok bool) {
	name := ""
	var call func() error
	switch r := request.(type) {
	case *spec.CreateSnapshotRequest:
		name = r.GetName()
		call = func() error {
			taken, err := m.CreateSnapshot(storage.SnapshotRequest{Name: name, VolumeID: s.volume(r.GetSourceVolumeId())})
			o.size = taken.Size
			return err
		}
	case *spec.DeleteSnapshotRequest:
		name = s.snapshot(r.GetSnapshotId())
		call = func() error { return m.DeleteSnapshot(storage.SnapshotRef{ID: name}) }
	case *spec.CreateVolumeGroupSnapshotRequest:
		name = r.GetName()
		req := storage.GroupSnapshotRequest{Name: name}
		for _, id := range r.GetSourceVolumeIds() {
			req.VolumeIDs = append(req.VolumeIDs, s.volume(id))
		}
		call = func() error { _, err := m.CreateGroupSnapshot(req); return err }
	case *spec.DeleteVolumeGroupSnapshotRequest:
		name = s.group(r.GetGroupSnapshotId())
		call = func() error { return m.DeleteGroupSnapshot(storage.GroupSnapshotRef{ID: name}) }
	case *spec.GetVolumeGroupSnapshotRequest:
		name = s.group(r.GetGroupSnapshotId())
		call = func() error { _, err := m.GetGroupSnapshot(storage.GroupSnapshotRef{ID: name}); return err }
	default:
		return o, false
	}
	before := hasSnapshot(m, name)
	o.err = call()
	o.changed = before != hasSnapshot(m, name)
	return o, true
}

// content adds what a new volume is a copy of to its request.
func (s *shadow) content(req *storage.CreateRequest, source *spec.VolumeContentSource) {
	switch {
	case source.GetSnapshot() != nil:
		req.Content, req.ContentID = &corev1.TypedObjectReference{Kind: "VolumeSnapshot"}, s.snapshot(source.GetSnapshot().GetSnapshotId())
	case source.GetVolume() != nil:
		req.Content, req.ContentID = &corev1.TypedObjectReference{Kind: "PersistentVolumeClaim"}, s.volume(source.GetVolume().GetVolumeId())
	}
}
