package testdriver

// Bugs about what a call does to other volumes, about IDs that are used twice, and about replies that change.
const (
	// CreateReusesIDs: the volume_id is the number of volumes, so it is that of another volume once one was deleted.
	CreateReusesIDs Bug = "create-reuses-ids"
	// CreateRestartReusesIDs: volumes are counted in memory, so a restarted driver begins again with the first volume_id.
	CreateRestartReusesIDs Bug = "create-restart-reuses-ids"
	// CreateAgainSmaller: the second answer to CreateVolume has the requested size, and the volume has whole GiB.
	CreateAgainSmaller Bug = "create-again-smaller"
	// CloneMissingSucceeds: CreateVolume from a volume that does not exist makes an empty volume.
	CloneMissingSucceeds Bug = "clone-missing-succeeds"
	// CreateAgainEarly: CreateVolume that is interrupted leaves a volume that cannot be used, which the repetition returns (osc-bsu-csi-driver#1025).
	CreateAgainEarly Bug = "create-again-early"
	// ExpandRecordsEarly: ControllerExpandVolume that is interrupted has recorded the new size, so its repetition does not grow the volume.
	ExpandRecordsEarly Bug = "expand-records-early"
	// UnstageRecordsEarly: NodeUnstageVolume that is interrupted has removed its record, so its repetition leaves the mount.
	UnstageRecordsEarly Bug = "unstage-records-early"
	// SnapshotInterruptedUnready: CreateSnapshot that is interrupted leaves a snapshot that never becomes ready, which the repetition returns (openstorage
	// PR 2218).
	SnapshotInterruptedUnready Bug = "snapshot-interrupted-unready"
	// DetachesOtherVolumes: ControllerUnpublishVolume detaches all volumes from the node.
	DetachesOtherVolumes Bug = "detaches-other-volumes"
	// ExpandAdds: a repeated ControllerExpandVolume grows the volume again.
	ExpandAdds Bug = "expand-adds"

	// StageTwiceOverlap: NodeStageVolume mounts twice if it is called while it continues.
	StageTwiceOverlap Bug = "stage-twice-overlap"
	// PublishTwiceOverlap: NodePublishVolume mounts twice if it is called while it continues.
	PublishTwiceOverlap Bug = "publish-twice-overlap"
	// UnstagesAllNodes: NodeUnstageVolume removes the mounts of the volume from all nodes.
	UnstagesAllNodes Bug = "unstages-all-nodes"
	// InlineLeaksVolume: NodeUnpublishVolume of an inline volume leaves the volume that NodePublishVolume made for it.
	InlineLeaksVolume Bug = "inline-leaks-volume"
	// InlineUnpublishNotFound: NodeUnpublishVolume of an inline volume that is gone gives NotFound.
	InlineUnpublishNotFound Bug = "inline-unpublish-not-found"

	// SnapshotSizeFollows: size_bytes of a snapshot is the present size of its volume.
	SnapshotSizeFollows Bug = "snapshot-size-follows"
	// SnapshotListRepeats: the pages of ListSnapshots overlap.
	SnapshotListRepeats Bug = "snapshot-list-repeats"
	// SnapshotListIgnoresMaxEntries: ListSnapshots returns more entries than max_entries.
	SnapshotListIgnoresMaxEntries Bug = "snapshot-list-ignores-max-entries"

	// CapacityRefusesSegment: GetCapacity with an accessible_topology fails.
	CapacityRefusesSegment Bug = "capacity-refuses-segment"
)

var stateBugs = []Bug{CreateReusesIDs, CreateRestartReusesIDs, CreateAgainSmaller, CloneMissingSucceeds, CreateAgainEarly, ExpandRecordsEarly,
	UnstageRecordsEarly, SnapshotInterruptedUnready, DetachesOtherVolumes, ExpandAdds, StageTwiceOverlap,
	PublishTwiceOverlap, UnstagesAllNodes, InlineLeaksVolume, InlineUnpublishNotFound, SnapshotSizeFollows, SnapshotListRepeats,
	SnapshotListIgnoresMaxEntries, CapacityRefusesSegment}
