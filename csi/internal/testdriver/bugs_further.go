package testdriver

// Further bugs: sizes that are no whole GiB, failed and interrupted calls, wrong codes, stale records, wrong devices and paths.
const (
	// CreateRoundsDown: a volume has whole GiB, rounded down.
	CreateRoundsDown Bug = "create-rounds-down"
	// ExpandRoundsDown: a volume grows to whole GiB, rounded down.
	ExpandRoundsDown Bug = "expand-rounds-down"
	// CreateIgnoresLimit: a volume has whole GiB, rounded up, also beyond limit_bytes.
	CreateIgnoresLimit Bug = "create-ignores-limit"
	// ExpandIgnoresLimit: a volume grows to whole GiB, rounded up, also beyond limit_bytes.
	ExpandIgnoresLimit Bug = "expand-ignores-limit"
	// CreateIgnoresSize: CreateVolume of an existing name succeeds although the volume is too small.
	CreateIgnoresSize Bug = "create-ignores-size"
	// CreateIgnoresSource: CreateVolume of an existing name succeeds although volume_content_source differs.
	CreateIgnoresSource Bug = "create-ignores-source"
	// CreateFailedLeaves: CreateVolume that fails with OutOfRange leaves a volume.
	CreateFailedLeaves Bug = "create-failed-leaves"
	// RestoreFailedLeaves: CreateVolume from a snapshot that does not exist fails and leaves a volume.
	RestoreFailedLeaves Bug = "restore-failed-leaves"
	// CreateExistsInternal: CreateVolume of an existing name with other parameters fails with Internal instead of AlreadyExists.
	CreateExistsInternal Bug = "create-exists-internal"
	// CreateIgnoresPreferred: CreateVolume makes the volume in the first zone of the requisite topology, and not in the preferred one.
	CreateIgnoresPreferred Bug = "create-ignores-preferred"
	// DeleteAttachedInternal: DeleteVolume of an attached volume fails with Internal instead of FailedPrecondition.
	DeleteAttachedInternal Bug = "delete-attached-internal"
	// DeleteRecordsEarly: DeleteVolume that is interrupted forgets the volume and leaves it.
	DeleteRecordsEarly Bug = "delete-records-early"
	// BusyInternal: a call fails with Internal instead of Aborted while another one of the volume continues.
	BusyInternal Bug = "busy-internal"
	// BusyAlreadyExists: CreateVolume fails with AlreadyExists instead of Aborted while another one of the name continues.
	BusyAlreadyExists Bug = "busy-already-exists"

	// AttachElsewhereInternal: ControllerPublishVolume of a volume that another node has fails with Internal instead of FailedPrecondition.
	AttachElsewhereInternal Bug = "attach-elsewhere-internal"
	// AttachNodeGoneInternal: ControllerPublishVolume to a node that does not exist fails with Internal instead of NotFound.
	AttachNodeGoneInternal Bug = "attach-node-gone-internal"
	// AttachRecordsEarly: ControllerPublishVolume that is interrupted has recorded the attachment, so its repetition succeeds without one.
	AttachRecordsEarly Bug = "attach-records-early"
	// DetachRefusesStaged: ControllerUnpublishVolume fails while the node has the volume staged, also if the node is dead.
	DetachRefusesStaged Bug = "detach-refuses-staged"
	// ExpandZero: the answer to ControllerExpandVolume has no capacity_bytes.
	ExpandZero Bug = "expand-zero"
	// ExpandRestoresAttachment: ControllerExpandVolume writes back the record that it read, with attachments that have ended since.
	ExpandRestoresAttachment Bug = "expand-restores-attachment"
	// ExpandUnimplemented: ControllerExpandVolume is not implemented, although the driver has EXPAND_VOLUME.
	ExpandUnimplemented Bug = "expand-unimplemented"
	// NodeExpandLess: the answer to NodeExpandVolume has less than required_bytes.
	NodeExpandLess Bug = "node-expand-less"
	// ModifyAcceptsAll: ControllerModifyVolume succeeds with a parameter that does not exist.
	ModifyAcceptsAll Bug = "modify-accepts-all"
	// ModifyMissingSucceeds: ControllerModifyVolume of a volume that does not exist succeeds.
	ModifyMissingSucceeds Bug = "modify-missing-succeeds"
	// ListEndless: each page of ListVolumes has a next_token.
	ListEndless Bug = "list-endless"
	// ListFails: ListVolumes fails while a volume is attached.
	ListFails Bug = "list-fails"
	// ListUnimplemented: ListVolumes is not implemented, although the driver has LIST_VOLUMES.
	ListUnimplemented Bug = "list-unimplemented"
	// GetUnimplemented: ControllerGetVolume is not implemented, although the driver has GET_VOLUME.
	GetUnimplemented Bug = "get-unimplemented"

	// StageWrongDevice: NodeStageVolume ignores publish_context and mounts the device that was attached to the node last.
	StageWrongDevice Bug = "stage-wrong-device"
	// StageLockLeaks: NodeStageVolume that is interrupted leaves its volume locked on the node.
	StageLockLeaks Bug = "stage-lock-leaks"
	// UnstageIgnoresPath: NodeUnstageVolume unmounts the volume wherever it is staged.
	UnstageIgnoresPath Bug = "unstage-ignores-path"
	// PublishForgetsStage: staged volumes are in memory only, so NodePublishVolume of a restarted driver fails.
	PublishForgetsStage Bug = "publish-forgets-stage"
	// PublishIgnoresOnePod: NodePublishVolume publishes a SINGLE_NODE_SINGLE_WRITER volume at a second path.
	PublishIgnoresOnePod Bug = "publish-ignores-one-pod"
	// StatsAvailable: NodeGetVolumeStats says that more bytes are available than there are.
	StatsAvailable Bug = "stats-available"

	// SnapshotKeyedByVolume: CreateSnapshot returns the snapshot that the volume has, whatever its name.
	SnapshotKeyedByVolume Bug = "snapshot-keyed-by-volume"
	// SnapshotCutsLate: a snapshot has the data of its volume when it becomes ready, and not of when it was taken.
	SnapshotCutsLate Bug = "snapshot-cuts-late"
	// SnapshotNeverReady: ready_to_use stays false.
	SnapshotNeverReady Bug = "snapshot-never-ready"
	// RestoreOtherSnapshot: a volume created from a snapshot has the data of the last snapshot of the volume.
	RestoreOtherSnapshot Bug = "restore-other-snapshot"
)

var furtherBugs = []Bug{CreateRoundsDown, ExpandRoundsDown, CreateIgnoresLimit, ExpandIgnoresLimit, CreateIgnoresSize, CreateIgnoresSource, CreateFailedLeaves,
	RestoreFailedLeaves, CreateExistsInternal, CreateIgnoresPreferred, DeleteAttachedInternal, DeleteRecordsEarly, BusyInternal, BusyAlreadyExists,
	AttachElsewhereInternal, AttachNodeGoneInternal, AttachRecordsEarly, DetachRefusesStaged, ExpandZero, ExpandRestoresAttachment,
	ExpandUnimplemented, NodeExpandLess, ModifyAcceptsAll, ModifyMissingSucceeds, ListEndless, ListFails, ListUnimplemented, GetUnimplemented,
	StageWrongDevice, StageLockLeaks, UnstageIgnoresPath, PublishForgetsStage, PublishIgnoresOnePod, StatsAvailable, SnapshotKeyedByVolume,
	SnapshotCutsLate, SnapshotNeverReady, RestoreOtherSnapshot}
