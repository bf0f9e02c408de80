package testdriver

// Bugs about what requests ask for beside the volume, about callers that gave up, and about what a node reports.
const (
	// CreateRevives: CreateVolume of an existing name writes the volume back that it read, also if DeleteVolume has deleted it meanwhile.
	CreateRevives Bug = "create-revives"
	// CreateCleansUp: CreateVolume whose caller gave up deletes the volume, which a repetition has returned (aws-ebs-csi-driver PR 2009,
	// sds-replicated-volume PR 657).
	CreateCleansUp Bug = "create-cleans-up"
	// RestoreSmaller: a volume created from a snapshot is smaller than the snapshot if that is requested (ceph-csi#3147).
	RestoreSmaller Bug = "restore-smaller"
	// SecretsCached: the driver logs in to the storage system once, with the first secrets, also if they are wrong.
	SecretsCached Bug = "secrets-cached"
	// SecretWrongLeaves: CreateVolume with wrong secrets fails and leaves a volume.
	SecretWrongLeaves Bug = "secret-wrong-leaves"
	// MountIgnoresOptions: mount_flags are ignored (aws-ebs-csi-driver#352, pmem-csi#465, ceph-csi#757).
	MountIgnoresOptions Bug = "mount-ignores-options"
	// PublishIgnoresGroup: volume_mount_group is ignored, although the driver has VOLUME_MOUNT_GROUP (nbs#2091).
	PublishIgnoresGroup Bug = "publish-ignores-group"
	// CapacityMinimumTooLarge: GetCapacity has a minimum_volume_size that is larger than volumes that exist.
	CapacityMinimumTooLarge Bug = "capacity-minimum-too-large"
	// CapacityInGiB: GetCapacity answers in GiB, and without maximum_volume_size.
	CapacityInGiB Bug = "capacity-in-gib"
	// ExpandNeedsMissingCall: ControllerExpandVolume answers node_expansion_required true, and the driver lacks the node capability EXPAND_VOLUME.
	ExpandNeedsMissingCall Bug = "expand-needs-missing-call"
	// NodeLimitRemaining: max_volumes_per_node is how many more volumes the node can have, so a full node has no limit (linode-blockstorage-csi-driver
	// PR 310).
	NodeLimitRemaining Bug = "node-limit-remaining"
	// NodeExpandBlockFails: NodeExpandVolume of a device fails (democratic-csi#513, hpe-storage/csi-driver PR 113).
	NodeExpandBlockFails Bug = "node-expand-block-fails"
	// StageInterruptedSmall: NodeStageVolume that is interrupted leaves the file system of a copy with the size of its source, which the
	// repetition accepts (miroir PR 62).
	StageInterruptedSmall Bug = "stage-interrupted-small"
	// UnstageNeedsDevice: NodeUnstageVolume fails if the volume was detached by force before.
	UnstageNeedsDevice Bug = "unstage-needs-device"
	// SnapshotLongID: the snapshot_id is longer than 128 bytes.
	SnapshotLongID Bug = "snapshot-long-id"
	// SnapshotInUseInternal: DeleteSnapshot fails with Internal instead of FailedPrecondition while a volume exists that was created from it
	// (piraeus-operator#696, democratic-csi#549).
	SnapshotInUseInternal Bug = "snapshot-in-use-internal"
	// SnapshotDeleteEndsCopies: DeleteSnapshot removes the data of volumes that were created from it.
	SnapshotDeleteEndsCopies Bug = "snapshot-delete-ends-copies"
	// CloneLeavesSnapshot: CreateVolume from a volume takes a snapshot for the copy and leaves it (truenas-csi#69).
	CloneLeavesSnapshot Bug = "clone-leaves-snapshot"
)

var requestBugs = []Bug{CreateRevives, CreateCleansUp, RestoreSmaller, SecretsCached, SecretWrongLeaves, MountIgnoresOptions, PublishIgnoresGroup,
	CapacityMinimumTooLarge, CapacityInGiB, ExpandNeedsMissingCall, NodeLimitRemaining, NodeExpandBlockFails, StageInterruptedSmall, UnstageNeedsDevice, SnapshotLongID,
	SnapshotInUseInternal, SnapshotDeleteEndsCopies, CloneLeavesSnapshot}
