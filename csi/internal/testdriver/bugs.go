package testdriver

import "slices"

// Bug names a mistake that the driver can make.
type Bug string

// The bugs. The name in brackets is a published report of the same kind; the model may differ from it in detail.
const (
	// CreateAgainFails: CreateVolume of an existing name fails with AlreadyExists (gcp-compute-persistent-disk-csi-driver#558).
	CreateAgainFails Bug = "create-again-fails"
	// CreateAgainMakesSecond: a second CreateVolume while the first continues makes a second volume (vsphere-csi-driver#2507).
	CreateAgainMakesSecond Bug = "create-again-makes-second"
	// CreateForgetsNames: names of volumes are in memory only, so a restarted driver makes a second volume.
	CreateForgetsNames Bug = "create-forgets-names"
	// CreateAgainDiffers: the second answer to CreateVolume has another volume_context (csi-powerstore PR 501).
	CreateAgainDiffers Bug = "create-again-differs"
	// CreateIgnoresProperties: CreateVolume of an existing name succeeds, whatever it requests.
	CreateIgnoresProperties Bug = "create-ignores-properties"
	// CreateTooSmall: the volume is smaller than required_bytes, because the size is rounded down.
	CreateTooSmall Bug = "create-too-small"
	// CreateWithoutID: the answer to CreateVolume has no volume_id.
	CreateWithoutID Bug = "create-without-id"
	// DeleteAgainFails: DeleteVolume of a volume that does not exist fails with NotFound.
	DeleteAgainFails Bug = "delete-again-fails"
	// DeleteAttached: DeleteVolume destroys a volume that is attached.
	DeleteAttached Bug = "delete-attached"

	// AttachAgainFails: ControllerPublishVolume of an attached volume fails (longhorn#159).
	AttachAgainFails Bug = "attach-again-fails"
	// AttachAgainLosesContext: the second answer to ControllerPublishVolume has no publish_context (cloud-provider-openstack PR 3124).
	AttachAgainLosesContext Bug = "attach-again-loses-context"
	// AttachSteals: ControllerPublishVolume takes the volume from the node to which it is attached.
	AttachSteals Bug = "attach-steals"
	// AttachDetachOverlap: ControllerUnpublishVolume succeeds while ControllerPublishVolume continues (azuredisk-csi-driver#656).
	AttachDetachOverlap Bug = "attach-detach-overlap"
	// DetachAgainFails: ControllerUnpublishVolume of a volume that is not attached fails (cloud-provider-openstack PR 1500).
	DetachAgainFails Bug = "detach-again-fails"
	// DetachNodeGoneFails: ControllerUnpublishVolume fails if the node does not exist (cloud-provider-openstack#718, vsphere-csi-driver#526).
	DetachNodeGoneFails Bug = "detach-node-gone-fails"
	// DetachesAllNodes: ControllerUnpublishVolume detaches the volume from all nodes.
	DetachesAllNodes Bug = "detaches-all-nodes"

	// ExpandAgainFails: ControllerExpandVolume to the present size fails (hetznercloud/csi-driver PR 623).
	ExpandAgainFails Bug = "expand-again-fails"
	// ExpandNotDelivered: ControllerExpandVolume reports the new size, and the volume keeps the old one (linstor-csi PR 452).
	ExpandNotDelivered Bug = "expand-not-delivered"
	// ExpandSkipsNode: ControllerExpandVolume does not ask for the expansion on the node that the file system needs.
	ExpandSkipsNode Bug = "expand-skips-node"
	// NodeExpandAgainFails: NodeExpandVolume of a file system that has the size fails (container-storage-interface/spec#396).
	NodeExpandAgainFails Bug = "node-expand-again-fails"
	// NodeExpandDoesNothing: NodeExpandVolume succeeds and does not grow the file system.
	NodeExpandDoesNothing Bug = "node-expand-does-nothing"

	// StageAgainFails: NodeStageVolume of a staged volume fails (pmem-csi#386).
	StageAgainFails Bug = "stage-again-fails"
	// StageAgainMountsTwice: the second NodeStageVolume mounts once more over the first mount (hetznercloud/csi-driver#172).
	StageAgainMountsTwice Bug = "stage-again-mounts-twice"
	// StageFormats: NodeStageVolume formats a volume that has a file system already.
	StageFormats Bug = "stage-formats"
	// StageUnstageOverlap: NodeUnstageVolume succeeds while NodeStageVolume continues (aws-ebs-csi-driver#370, ceph-csi#615).
	StageUnstageOverlap Bug = "stage-unstage-overlap"
	// UnstageForgets: staged volumes are in memory only, so NodeUnstageVolume of a restarted driver leaves the mount.
	UnstageForgets Bug = "unstage-forgets"
	// UnstageAgainFails: NodeUnstageVolume of a volume that is not staged fails (zfssa-csi-driver PR 19).
	UnstageAgainFails Bug = "unstage-again-fails"

	// PublishAgainFails: NodePublishVolume to a target that has the volume fails.
	PublishAgainFails Bug = "publish-again-fails"
	// PublishAgainMountsTwice: the second NodePublishVolume mounts once more over the first mount.
	PublishAgainMountsTwice Bug = "publish-again-mounts-twice"
	// PublishWithoutStage: NodePublishVolume succeeds for a volume that is not staged (mayastor-control-plane PR 1178).
	PublishWithoutStage Bug = "publish-without-stage"
	// PublishIgnoresReadOnly: NodePublishVolume with readonly mounts the volume for writing.
	PublishIgnoresReadOnly Bug = "publish-ignores-readonly"
	// PublishUnpublishOverlap: NodeUnpublishVolume succeeds while NodePublishVolume continues (blob-csi-driver#320, csi-driver-smb#208).
	PublishUnpublishOverlap Bug = "publish-unpublish-overlap"
	// UnpublishAgainFails: NodeUnpublishVolume of a target without a mount fails (csi-baremetal#751).
	UnpublishAgainFails Bug = "unpublish-again-fails"
	// UnpublishesAllPods: NodeUnpublishVolume unmounts the volume from all pods of the node.
	UnpublishesAllPods Bug = "unpublishes-all-pods"

	// CreateWrongCapacity: the answer to CreateVolume has a larger capacity_bytes than the volume.
	CreateWrongCapacity Bug = "create-wrong-capacity"
	// CreateIgnoresTopology: CreateVolume makes the volume where no node of the requisite topology reaches it.
	CreateIgnoresTopology Bug = "create-ignores-topology"
	// CreateTooLargeInternal: CreateVolume and ControllerExpandVolume of an impossible size fail with Internal instead of OutOfRange.
	CreateTooLargeInternal Bug = "create-too-large-internal"
	// AttachIgnoresLimit: ControllerPublishVolume succeeds although the node has max_volumes_per_node volumes.
	AttachIgnoresLimit Bug = "attach-ignores-limit"
	// AttachMissingInternal: ControllerPublishVolume of a volume that does not exist fails with Internal instead of NotFound.
	AttachMissingInternal Bug = "attach-missing-internal"
	// AttachMissingSucceeds: ControllerPublishVolume of a volume that does not exist succeeds.
	AttachMissingSucceeds Bug = "attach-missing-succeeds"
	// AttachNodeGoneSucceeds: ControllerPublishVolume to a node that does not exist succeeds.
	AttachNodeGoneSucceeds Bug = "attach-node-gone-succeeds"
	// ExpandMissingInternal: ControllerExpandVolume of a volume that does not exist fails with Internal instead of NotFound.
	ExpandMissingInternal Bug = "expand-missing-internal"
	// ListRepeats: the pages of ListVolumes overlap.
	ListRepeats Bug = "list-repeats"
	// ListLosesLast: the last page of ListVolumes lacks a volume.
	ListLosesLast Bug = "list-loses-last"
	// ListIgnoresMaxEntries: ListVolumes returns more entries than max_entries.
	ListIgnoresMaxEntries Bug = "list-ignores-max-entries"
	// ListAcceptsTokens: ListVolumes with an invalid starting_token succeeds.
	ListAcceptsTokens Bug = "list-accepts-tokens"
	// ListLosesContext: ListVolumes returns volumes with another volume_context than CreateVolume.
	ListLosesContext Bug = "list-loses-context"
	// GetDisagrees: ControllerGetVolume says that no volume is published.
	GetDisagrees Bug = "get-disagrees"
	// GetMissingSucceeds: ControllerGetVolume of a volume that does not exist succeeds.
	GetMissingSucceeds Bug = "get-missing-succeeds"
	// ValidateMissingSucceeds: ValidateVolumeCapabilities of a volume that does not exist succeeds.
	ValidateMissingSucceeds Bug = "validate-missing-succeeds"
	// ValidateConfirmsNothing: ValidateVolumeCapabilities does not confirm the capabilities with which the volume was created.
	ValidateConfirmsNothing Bug = "validate-confirms-nothing"
	// CapacityNegative: GetCapacity returns a negative capacity.
	CapacityNegative Bug = "capacity-negative"
	// ArgumentsMissing: calls without volume_id succeed.
	ArgumentsMissing Bug = "arguments-missing"
	// NodeIDChanges: NodeGetInfo returns another node_id after a restart of the kubelet.
	NodeIDChanges Bug = "node-id-changes"
	// StageWrongPath: NodeStageVolume mounts at another path than staging_target_path.
	StageWrongPath Bug = "stage-wrong-path"
	// StatsUnmounted: NodeGetVolumeStats of a path where the volume is not mounted succeeds.
	StatsUnmounted Bug = "stats-unmounted"
	// StatsWithoutCondition: NodeGetVolumeStats has no volume_condition, although the driver has VOLUME_CONDITION.
	StatsWithoutCondition Bug = "stats-without-condition"
	// StatsWrong: NodeGetVolumeStats says that more bytes are used than there are.
	StatsWrong Bug = "stats-wrong"
	// SecretInError: the text of an error has the content of a secret.
	SecretInError Bug = "secret-in-error"
	// SecretInContext: the volume_context has the content of a secret.
	SecretInContext Bug = "secret-in-context"
	// SecretRequired: NodePublishVolume without secrets fails, although the StorageClass names none.
	SecretRequired Bug = "secret-required"
	// InlineAgainFails: NodePublishVolume of an inline volume fails if it is published already.
	InlineAgainFails Bug = "inline-again-fails"
	// InlineLeft: NodeUnpublishVolume of an inline volume leaves its mount.
	InlineLeft Bug = "inline-left"
	// RepublishFails: NodePublishVolume fails if the volume_context has changed since it was published.
	RepublishFails Bug = "republish-fails"

	// Panics: the driver panics when a volume is staged a second time.
	Panics Bug = "panics"
	// Hangs: NodeStageVolume of a staged volume does not return.
	Hangs Bug = "hangs"
	// RepliesNothing: the second NodeStageVolume returns neither a reply nor an error.
	RepliesNothing Bug = "replies-nothing"
)

// Bugs returns all bugs.
func Bugs() []Bug {
	return slices.Concat([]Bug{CreateAgainFails, CreateAgainMakesSecond, CreateForgetsNames, CreateAgainDiffers, CreateIgnoresProperties, CreateTooSmall,
		CreateWithoutID, DeleteAgainFails, DeleteAttached, AttachAgainFails, AttachAgainLosesContext, AttachSteals, AttachDetachOverlap,
		DetachAgainFails, DetachNodeGoneFails, DetachesAllNodes, ExpandAgainFails, ExpandNotDelivered, ExpandSkipsNode, NodeExpandAgainFails,
		NodeExpandDoesNothing, StageAgainFails, StageAgainMountsTwice, StageFormats, StageUnstageOverlap, UnstageForgets, UnstageAgainFails,
		PublishAgainFails, PublishAgainMountsTwice, PublishWithoutStage, PublishIgnoresReadOnly, PublishUnpublishOverlap, UnpublishAgainFails,
		UnpublishesAllPods, CreateWrongCapacity, CreateIgnoresTopology, CreateTooLargeInternal, AttachIgnoresLimit, AttachMissingInternal,
		AttachMissingSucceeds, AttachNodeGoneSucceeds, ExpandMissingInternal, ListRepeats, ListLosesLast, ListIgnoresMaxEntries,
		ListAcceptsTokens, ListLosesContext, GetDisagrees, GetMissingSucceeds, ValidateMissingSucceeds, ValidateConfirmsNothing, CapacityNegative,
		ArgumentsMissing, NodeIDChanges, StageWrongPath, StatsUnmounted, StatsWithoutCondition, StatsWrong, SecretInError, SecretInContext,
		SecretRequired, InlineAgainFails, InlineLeft, RepublishFails, Panics, Hangs, RepliesNothing}, snapshotBugs, moreBugs, furtherBugs, stateBugs, requestBugs, replyBugs, codeBugs)
}
