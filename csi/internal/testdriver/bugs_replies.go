package testdriver

// Bugs about codes, lists that do not end, fields that a reply lacks or that change a little, and repeats that are incompatible.
const (
	// CreateWithoutTopology: the reply to CreateVolume has no accessible_topology, although only one zone reaches the volume.
	CreateWithoutTopology Bug = "create-without-topology"
	// DeleteAttachedInvalid: DeleteVolume of an attached volume fails with InvalidArgument instead of FailedPrecondition.
	DeleteAttachedInvalid Bug = "delete-attached-invalid"
	// AttachElsewhereInvalid: ControllerPublishVolume to a second node fails with InvalidArgument instead of FailedPrecondition.
	AttachElsewhereInvalid Bug = "attach-elsewhere-invalid"
	// AttachIgnoresReadOnly: ControllerPublishVolume succeeds for a volume that is attached to the node with another readonly.
	AttachIgnoresReadOnly Bug = "attach-ignores-read-only"
	// PublishIgnoresOtherReadOnly: NodePublishVolume succeeds at a path where the volume is published with another readonly.
	PublishIgnoresOtherReadOnly Bug = "publish-ignores-other-read-only"
	// ListWithoutCondition: the entries of ListVolumes have no volume_condition, although the driver has VOLUME_CONDITION.
	ListWithoutCondition Bug = "list-without-condition"
	// SnapshotTimeMoves: creation_time is the time of the reply.
	SnapshotTimeMoves Bug = "snapshot-time-moves"
	// SnapshotListEndless: ListSnapshots returns empty pages without end once there is a snapshot.
	SnapshotListEndless Bug = "snapshot-list-endless"
)

var replyBugs = []Bug{CreateWithoutTopology, DeleteAttachedInvalid, AttachElsewhereInvalid, AttachIgnoresReadOnly, PublishIgnoresOtherReadOnly,
	ListWithoutCondition, SnapshotTimeMoves, SnapshotListEndless}
