package testdriver

// Bugs about codes that ask the caller to repeat what cannot succeed, sizes that are reported too small, too large or in two ways, and questions
// that get the answer that the request suggests.
const (
	// DeleteAttachedAborted: DeleteVolume of an attached volume fails with Aborted instead of FailedPrecondition.
	DeleteAttachedAborted Bug = "delete-attached-aborted"
	// AttachElsewhereAborted: ControllerPublishVolume to a second node fails with Aborted instead of FailedPrecondition.
	AttachElsewhereAborted Bug = "attach-elsewhere-aborted"
	// AttachMissingAborted: ControllerPublishVolume of a volume that does not exist fails with Aborted.
	AttachMissingAborted Bug = "attach-missing-aborted"
	// GetMissingAborted: ControllerGetVolume of a volume that does not exist fails with Aborted.
	GetMissingAborted Bug = "get-missing-aborted"
	// ExpandPublishedInternal: a driver with OFFLINE expansion answers Internal for an attached volume instead of FailedPrecondition.
	ExpandPublishedInternal Bug = "expand-published-internal"
	// DeleteUnknownInvalid: DeleteVolume of a volume_id that the driver did not make fails with InvalidArgument.
	DeleteUnknownInvalid Bug = "delete-unknown-invalid"

	// CreateAgainLarger: the first answer to CreateVolume has the requested size, and the second one a larger one.
	CreateAgainLarger Bug = "create-again-larger"
	// CreateNeedsRange: CreateVolume without capacity_range fails.
	CreateNeedsRange Bug = "create-needs-range"
	// ListLarger: ListVolumes says that volumes are larger than the replies to CreateVolume did.
	ListLarger Bug = "list-larger"
	// GetLarger: ControllerGetVolume says that volumes are larger than the replies to CreateVolume did.
	GetLarger Bug = "get-larger"
	// SnapshotTooSmall: size_bytes of a snapshot is half of its volume, and no volume of that size can be created from it.
	SnapshotTooSmall Bug = "snapshot-too-small"
	// SnapshotShrinks: size_bytes of a snapshot that is ready becomes smaller.
	SnapshotShrinks Bug = "snapshot-shrinks"

	// ValidateConfirmsContext: ValidateVolumeCapabilities confirms any volume_context (ceph-csi#733).
	ValidateConfirmsContext Bug = "validate-confirms-context"
	// ValidateConfirmsUnknown: ValidateVolumeCapabilities confirms an access mode that does not exist.
	ValidateConfirmsUnknown Bug = "validate-confirms-unknown"
	// ValidateConfirmsEmpty: ValidateVolumeCapabilities confirms without naming the capabilities (nomad PR 9049).
	ValidateConfirmsEmpty Bug = "validate-confirms-empty"
	// StatsBlockFails: NodeGetVolumeStats of a published device fails.
	StatsBlockFails Bug = "stats-block-fails"
)

var codeBugs = []Bug{DeleteAttachedAborted, AttachElsewhereAborted, AttachMissingAborted, GetMissingAborted, ExpandPublishedInternal,
	DeleteUnknownInvalid, CreateAgainLarger, CreateNeedsRange, ListLarger, GetLarger, SnapshotTooSmall, SnapshotShrinks, ValidateConfirmsContext,
	ValidateConfirmsUnknown, ValidateConfirmsEmpty, StatsBlockFails}
