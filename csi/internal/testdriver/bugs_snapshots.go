package testdriver

// The bugs about snapshots, copies and groups.
const (
	// SnapshotAgainFails: CreateSnapshot of an existing name fails with AlreadyExists.
	SnapshotAgainFails Bug = "snapshot-again-fails"
	// SnapshotForgetsNames: names of snapshots are in memory only, so a restarted driver makes a second snapshot.
	SnapshotForgetsNames Bug = "snapshot-forgets-names"
	// SnapshotOverlap: a second CreateSnapshot while the first continues makes a second snapshot.
	SnapshotOverlap Bug = "snapshot-overlap"
	// SnapshotIgnoresSource: CreateSnapshot of an existing name succeeds although the source is another volume.
	SnapshotIgnoresSource Bug = "snapshot-ignores-source"
	// SnapshotWithoutTime: the answer to CreateSnapshot has no creation_time.
	SnapshotWithoutTime Bug = "snapshot-without-time"
	// SnapshotWithoutSource: the answer to CreateSnapshot has no source_volume_id.
	SnapshotWithoutSource Bug = "snapshot-without-source"
	// SnapshotTooLarge: the snapshot is said to be larger than its volume, so no volume of the same size can be created from it.
	SnapshotTooLarge Bug = "snapshot-too-large"
	// SnapshotTimeChanges: each answer has the present time as creation_time.
	SnapshotTimeChanges Bug = "snapshot-time-changes"
	// SnapshotBecomesUnready: a snapshot that was ready is not ready in the next answer.
	SnapshotBecomesUnready Bug = "snapshot-becomes-unready"
	// SnapshotDeleteAgainFails: DeleteSnapshot of a snapshot that does not exist fails with NotFound.
	SnapshotDeleteAgainFails Bug = "snapshot-delete-again-fails"
	// SnapshotDeleteLeaves: DeleteSnapshot succeeds and leaves the snapshot.
	SnapshotDeleteLeaves Bug = "snapshot-delete-leaves"
	// SnapshotsEndWithVolume: DeleteVolume deletes the snapshots of the volume.
	SnapshotsEndWithVolume Bug = "snapshots-end-with-volume"
	// DeleteWithSnapshotsInternal: DeleteVolume of a volume with snapshots fails with Internal instead of FailedPrecondition.
	DeleteWithSnapshotsInternal Bug = "delete-with-snapshots-internal"
	// SnapshotListLosesLast: the last page of ListSnapshots lacks a snapshot.
	SnapshotListLosesLast Bug = "snapshot-list-loses-last"
	// SnapshotListIgnoresID: ListSnapshots with snapshot_id returns all snapshots.
	SnapshotListIgnoresID Bug = "snapshot-list-ignores-id"
	// SnapshotListIgnoresVolume: ListSnapshots with source_volume_id returns the snapshots of all volumes.
	SnapshotListIgnoresVolume Bug = "snapshot-list-ignores-volume"
	// SnapshotListUnknownFails: ListSnapshots of a snapshot that does not exist fails.
	SnapshotListUnknownFails Bug = "snapshot-list-unknown-fails"
	// SnapshotListAcceptsTokens: ListSnapshots with an invalid starting_token succeeds.
	SnapshotListAcceptsTokens Bug = "snapshot-list-accepts-tokens"
	// SnapshotSecretRequired: DeleteSnapshot without secrets fails, although the class names none.
	SnapshotSecretRequired Bug = "snapshot-secret-required"

	// RestoreEmpty: a volume created from a snapshot is empty.
	RestoreEmpty Bug = "restore-empty"
	// RestoreLatest: a volume created from a snapshot has the present data of the snapshot's volume.
	RestoreLatest Bug = "restore-latest"
	// RestoreWithoutSource: the answer to CreateVolume from a snapshot has no content_source.
	RestoreWithoutSource Bug = "restore-without-source"
	// RestoreTooSmall: a volume created from a snapshot has the size of the snapshot, whatever is requested.
	RestoreTooSmall Bug = "restore-too-small"
	// RestoreKeepsFileSystem: the file system of a volume that is larger than its snapshot does not grow.
	RestoreKeepsFileSystem Bug = "restore-keeps-file-system"
	// RestoreMissingSucceeds: CreateVolume from a snapshot that does not exist makes an empty volume.
	RestoreMissingSucceeds Bug = "restore-missing-succeeds"
	// CloneEmpty: a copy of a volume is empty.
	CloneEmpty Bug = "clone-empty"
	// CloneShares: a volume and its copy share their data.
	CloneShares Bug = "clone-shares"
	// CloneEndsWithSource: DeleteVolume removes the data of the copies of the volume.
	CloneEndsWithSource Bug = "clone-ends-with-source"

	// GroupAgainMakesSecond: CreateVolumeGroupSnapshot of an existing name makes a second group.
	GroupAgainMakesSecond Bug = "group-again-makes-second"
	// GroupReadyEarly: a group is ready although one of its snapshots is not.
	GroupReadyEarly Bug = "group-ready-early"
	// GroupMembersWithoutID: the snapshots of a group have no group_snapshot_id.
	GroupMembersWithoutID Bug = "group-members-without-id"
	// GroupDeleteLeaves: DeleteVolumeGroupSnapshot leaves the snapshots of the group.
	GroupDeleteLeaves Bug = "group-delete-leaves"
	// GroupDeleteAgainFails: DeleteVolumeGroupSnapshot of a group that does not exist fails.
	GroupDeleteAgainFails Bug = "group-delete-again-fails"
	// GroupMissingSucceeds: GetVolumeGroupSnapshot of a group that does not exist succeeds.
	GroupMissingSucceeds Bug = "group-missing-succeeds"
	// GroupIgnoresSources: CreateVolumeGroupSnapshot of an existing name succeeds although the volumes differ.
	GroupIgnoresSources Bug = "group-ignores-sources"
)

// snapshotBugs are the bugs about snapshots, copies and groups.
var snapshotBugs = []Bug{SnapshotAgainFails, SnapshotForgetsNames, SnapshotOverlap, SnapshotIgnoresSource,
	SnapshotWithoutTime, SnapshotWithoutSource, SnapshotTooLarge, SnapshotTimeChanges, SnapshotBecomesUnready, SnapshotDeleteAgainFails,
	SnapshotDeleteLeaves, SnapshotsEndWithVolume, DeleteWithSnapshotsInternal, SnapshotListLosesLast, SnapshotListIgnoresID,
	SnapshotListIgnoresVolume, SnapshotListUnknownFails, SnapshotListAcceptsTokens, SnapshotSecretRequired, RestoreEmpty, RestoreLatest,
	RestoreWithoutSource, RestoreTooSmall, RestoreKeepsFileSystem, RestoreMissingSucceeds, CloneEmpty, CloneShares, CloneEndsWithSource,
	GroupAgainMakesSecond, GroupReadyEarly, GroupMembersWithoutID, GroupDeleteLeaves, GroupDeleteAgainFails, GroupMissingSucceeds,
	GroupIgnoresSources}
