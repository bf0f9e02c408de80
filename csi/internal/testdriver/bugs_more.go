package testdriver

// More bugs, of kinds that are reported for real drivers again and again.
const (
	// CreateTruncatesNames: the storage system has short names, so volumes whose names begin alike are one volume.
	CreateTruncatesNames Bug = "create-truncates-names"
	// CreateLongID: the volume_id is longer than 128 bytes.
	CreateLongID Bug = "create-long-id"
	// CreateOtherTopologyKey: accessible_topology of a volume has another key than that of the nodes.
	CreateOtherTopologyKey Bug = "create-other-topology-key"
	// RestoreInterruptedEmpty: CreateVolume that is interrupted leaves a volume without the data of its source, which the repetition returns.
	RestoreInterruptedEmpty Bug = "restore-interrupted-empty"
	// RestoreAgainWithoutSource: the second answer to CreateVolume from a snapshot has no content_source.
	RestoreAgainWithoutSource Bug = "restore-again-without-source"
	// DeleteLeaves: DeleteVolume succeeds and leaves the volume.
	DeleteLeaves Bug = "delete-leaves"
	// LockLeaks: a call that is interrupted leaves its volume locked, so later calls get Aborted until the driver restarts.
	LockLeaks Bug = "lock-leaks"

	// AttachManyNodes: ControllerPublishVolume attaches a ReadWriteOnce volume to a second node.
	AttachManyNodes Bug = "attach-many-nodes"
	// AttachForgetsContext: publish_context is in memory only, so a restarted driver returns none.
	AttachForgetsContext Bug = "attach-forgets-context"
	// AttachLimitTooStrict: ControllerPublishVolume of the last volume that a node can have fails.
	AttachLimitTooStrict Bug = "attach-limit-too-strict"
	// DetachLeaves: ControllerUnpublishVolume succeeds and leaves the volume attached.
	DetachLeaves Bug = "detach-leaves"
	// DetachMissingFails: ControllerUnpublishVolume of a volume that does not exist fails.
	DetachMissingFails Bug = "detach-missing-fails"
	// ExpandShrinks: ControllerExpandVolume to a smaller size shrinks the volume.
	ExpandShrinks Bug = "expand-shrinks"
	// ExpandOnlineFails: ControllerExpandVolume of an attached volume fails, although the driver says that it expands volumes online.
	ExpandOnlineFails Bug = "expand-online-fails"
	// ModifyAgainFails: ControllerModifyVolume to the present parameters fails.
	ModifyAgainFails Bug = "modify-again-fails"
	// ListPublishedStale: ListVolumes has the nodes to which a volume was published once.
	ListPublishedStale Bug = "list-published-stale"
	// CapacityMaximumTooSmall: GetCapacity has a maximum_volume_size that is smaller than volumes that exist.
	CapacityMaximumTooSmall Bug = "capacity-maximum-too-small"
	// ProbeNotReady: Probe answers that the driver is not ready while it executes calls.
	ProbeNotReady Bug = "probe-not-ready"

	// NodeZoneChanges: NodeGetInfo returns another accessible_topology after a restart of the kubelet.
	NodeZoneChanges Bug = "node-zone-changes"
	// NodeLimitNegative: NodeGetInfo returns a negative max_volumes_per_node.
	NodeLimitNegative Bug = "node-limit-negative"
	// StageTrustsFile: NodeStageVolume reads from a file on the node that a volume is staged, also after the node has rebooted.
	StageTrustsFile Bug = "stage-trusts-file"
	// UnstageLeaves: NodeUnstageVolume succeeds and leaves the mount.
	UnstageLeaves Bug = "unstage-leaves"
	// UnpublishLeaves: NodeUnpublishVolume succeeds and leaves the mount.
	UnpublishLeaves Bug = "unpublish-leaves"
	// UnpublishRemovesData: NodeUnpublishVolume removes the files below the target path before it unmounts the volume.
	UnpublishRemovesData Bug = "unpublish-removes-data"
	// UnpublishUnstages: NodeUnpublishVolume of the last pod removes the mount at the staging path as well.
	UnpublishUnstages Bug = "unpublish-unstages"
	// PublishSecondFails: NodePublishVolume for a second pod of the node fails.
	PublishSecondFails Bug = "publish-second-fails"
	// PublishReadOnlyForAll: NodePublishVolume with readonly makes the volume read-only for all pods of the node.
	PublishReadOnlyForAll Bug = "publish-read-only-for-all"
	// NodeExpandWantsStaging: NodeExpandVolume fails unless volume_path is the staging path.
	NodeExpandWantsStaging Bug = "node-expand-wants-staging"
	// GroupForgetsNames: names of group snapshots are in memory only, so a restarted driver makes a second one.
	GroupForgetsNames Bug = "group-forgets-names"
	// SnapshotMissingInternal: CreateSnapshot of a volume that does not exist fails with Internal instead of NotFound.
	SnapshotMissingInternal Bug = "snapshot-missing-internal"
)

var moreBugs = []Bug{CreateTruncatesNames, CreateLongID, CreateOtherTopologyKey, RestoreInterruptedEmpty, RestoreAgainWithoutSource, DeleteLeaves,
	LockLeaks, AttachManyNodes, AttachForgetsContext, AttachLimitTooStrict, DetachLeaves, DetachMissingFails, ExpandShrinks, ExpandOnlineFails,
	ModifyAgainFails, ListPublishedStale, CapacityMaximumTooSmall, ProbeNotReady, NodeZoneChanges, NodeLimitNegative,
	StageTrustsFile, UnstageLeaves, UnpublishLeaves, UnpublishRemovesData, UnpublishUnstages, PublishSecondFails, PublishReadOnlyForAll,
	NodeExpandWantsStaging, SnapshotMissingInternal, GroupForgetsNames}
