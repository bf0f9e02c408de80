package csitest

import (
	spec "github.com/container-storage-interface/spec/lib/go/csi"

	"github.com/volsim/volsim/csi"
)

// snapshotRequirement is requirement for flaws of snapshots and copies; text is "" for any other flaw.
func snapshotRequirement(f flaw) (section, text string) {
	section = f.method
	group := f.method == "CreateVolumeGroupSnapshot" || f.method == "GetVolumeGroupSnapshot" || f.method == "DeleteVolumeGroupSnapshot"
	switch {
	case f.kind == data && f.method == "CreateVolume":
		return section,
			"a volume that is created from a snapshot has the data of its volume at the time of the snapshot; a volume and its copy do not " +
				"share data"
	case f.kind == inventories && f.method == "DeleteVolume" && f.snapshot != "":
		return section,
			"snapshots of a deleted volume MUST still work and be in the reply to ListSnapshots; a driver that cannot keep them answers " +
				"FAILED_PRECONDITION"
	case f.snapshot == "" && f.method != "ListSnapshots" && !group:
		return "", ""
	case f.overlap && (f.kind == secondSnapshot || f.kind == inventories):
		return "Concurrency", "while one call of a snapshot continues, another one waits or fails with ABORTED; one name has one snapshot"
	case f.kind == again && group:
		return section, "the operation MUST be idempotent: a group snapshot that exists is the answer to the same request"
	case f.kind == again:
		return section, "the operation MUST be idempotent: if a snapshot of that name was taken of the volume, the reply is OK with that snapshot"
	case f.kind == undone, f.kind == wrongCode && f.method == "DeleteSnapshot", f.kind == wrongCode && f.method == "DeleteVolumeGroupSnapshot":
		return section, "the operation MUST be idempotent: if the snapshot does not exist, the reply is OK"
	case f.kind == secondSnapshot:
		return section, "the name identifies the snapshot: a repeated request MUST NOT take a second one"
	case f.kind == differs:
		return "CreateSnapshot", "creation_time is when the snapshot was taken, and a snapshot that is ready stays ready, with its size"
	case f.kind == invalid && group:
		return section,
			"group_snapshot_id, snapshots, creation_time and ready_to_use are REQUIRED; each snapshot has the group_snapshot_id of the group, " +
				"and the group is ready when all snapshots are"
	case f.kind == invalid:
		return section, "snapshot_id, source_volume_id, creation_time and ready_to_use are REQUIRED; size_bytes MUST NOT be negative"
	case f.kind == size:
		return section, "size_bytes is the size that a volume needs to be created from the snapshot"
	case f.kind == inventories && f.method == "ListSnapshots":
		return section, "the pages have each snapshot once, at most max_entries each, and only those of snapshot_id and source_volume_id"
	case f.kind == inventories && f.method == "CreateSnapshot":
		return section, "the operation MUST be idempotent: no snapshot is left that no reply named"
	case f.kind == inventories:
		return section, "a deleted snapshot does not exist any more, and is not in the reply to ListSnapshots"
	case f.kind == wrongCode && f.method == "ListSnapshots":
		return section, "the reply has all snapshots within the given parameters, which may be none"
	}
	return "", ""
}

// snapshotNameOf returns the name under which the steps took the snapshot of a call.
func snapshotNameOf(f flaw, c *csi.Call) string {
	for _, s := range f.steps {
		if s.Call == nil {
			continue
		}
		for _, reply := range s.Call.Replies {
			switch r := reply.Message.(type) {
			case *spec.CreateSnapshotResponse:
				if r.GetSnapshot().GetSnapshotId() == c.Snapshot {
					return s.Call.Snapshot
				}
			case *spec.CreateVolumeGroupSnapshotResponse:
				if r.GetGroupSnapshot().GetGroupSnapshotId() == c.Snapshot {
					return s.Call.Snapshot
				}
			}
		}
	}
	return c.Snapshot
}
