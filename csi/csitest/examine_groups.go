package csitest

import (
	"slices"

	spec "github.com/container-storage-interface/spec/lib/go/csi"

	"github.com/volsim/volsim/csi"
)

// isGroup examines a group in a reply. It returns false after a flaw.
func (e *examiner) isGroup(c *csi.Call, g *spec.VolumeGroupSnapshot) bool {
	id, name := g.GetGroupSnapshotId(), e.nameIn(c)
	wrong := func(kind flawKind, format string, args ...any) bool {
		e.snapshotFlaw(kind, c, c.Method, name, format, args...)
		return false
	}
	switch {
	case id == "":
		return wrong(invalid, "the reply to %s has an empty group_snapshot_id", c.Method)
	case g.GetCreationTime() == nil:
		return wrong(invalid, "the reply to %s has no creation_time", c.Method)
	}
	for known, of := range e.groups {
		if of == name && known != id {
			e.groups[id] = name // calls with this group_snapshot_id are about a group with a flaw
			return wrong(secondSnapshot, "%s returns group_snapshot_id %s for the name %s, and before it returned %s", c.Method, id, name, known)
		}
	}
	e.groups[id] = name
	var volumes []string
	for _, s := range g.GetSnapshots() {
		volumes = append(volumes, s.GetSourceVolumeId())
		switch {
		case s.GetSnapshotId() == "":
			return wrong(invalid, "a snapshot in the reply to %s has an empty snapshot_id", c.Method)
		case s.GetGroupSnapshotId() != id:
			return wrong(invalid, "snapshot %s in the reply to %s has group_snapshot_id %q, and the group has %q", s.GetSnapshotId(), c.Method,
				s.GetGroupSnapshotId(), id)
		case g.GetReadyToUse() && !s.GetReadyToUse():
			return wrong(invalid, "the reply to %s has ready_to_use true, and its snapshot %s is not ready", c.Method, s.GetSnapshotId())
		}
	}
	if r, ok := c.Request.(*spec.CreateVolumeGroupSnapshotRequest); ok {
		if want := slices.Sorted(slices.Values(r.GetSourceVolumeIds())); !slices.Equal(slices.Sorted(slices.Values(volumes)), want) {
			return wrong(invalid, "the reply to %s has snapshots of volumes %v, and the request has %v", c.Method, volumes, want)
		}
	}
	return true
}

// knows stores the ID in a reply about a snapshot or group with a flaw: calls with it are about that.
func (e *examiner) knows(name string, reply csi.Reply) {
	switch r := reply.Message.(type) {
	case *spec.CreateSnapshotResponse:
		e.snaps[r.GetSnapshot().GetSnapshotId()] = name
	case *spec.CreateVolumeGroupSnapshotResponse:
		e.groups[r.GetGroupSnapshot().GetGroupSnapshotId()] = name
	}
}

// groupFlawed reports whether a reply about a group has a flaw, so that its snapshots are unknown.
func (e *examiner) groupFlawed() bool {
	return slices.ContainsFunc(e.flaws, func(f flaw) bool {
		return f.method == "CreateVolumeGroupSnapshot" || f.method == "GetVolumeGroupSnapshot"
	})
}

// members stores the snapshots of a group.
func (e *examiner) members(c *csi.Call, group string, g *spec.VolumeGroupSnapshot) {
	for _, s := range g.GetSnapshots() {
		volume := e.volume(s.GetSourceVolumeId())
		name := group + "-" + volume
		if !e.identifies(c, name, s) {
			return
		}
		e.cut(name, volume)
		if !e.describes(c, name, s) {
			return
		}
	}
}
