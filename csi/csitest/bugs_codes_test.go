package csitest

import "github.com/volsim/volsim/csi/internal/testdriver"

// codeBugs are the rows about codes that ask the caller to repeat what cannot succeed, sizes that are reported in two ways, and questions that get
// the answer that the request suggests.
var codeBugs = []bugRow{
	{testdriver.DeleteAttachedAborted, "attached-deleted", wrongCode, "DeleteVolume Errors"},
	{testdriver.AttachElsewhereAborted, "attachment-forgotten", wrongCode, "ControllerPublishVolume Errors"},
	{testdriver.AttachMissingAborted, "volume-vanished", wrongCode, "ControllerPublishVolume Errors"},
	{testdriver.GetMissingAborted, "queries", wrongCode, "ControllerGetVolume Errors"},
	{testdriver.ExpandPublishedInternal, "expand-when-unused", wrongCode, "ControllerExpandVolume Errors"},
	{testdriver.DeleteUnknownInvalid, "queries", wrongCode, "DeleteVolume"},
	{testdriver.CreateAgainLarger, "life", differs, "CreateVolume"},
	{testdriver.CreateNeedsRange, "create-queries", wrongCode, "CreateVolume"},
	{testdriver.ListLarger, "life", size, "ListVolumes"},
	{testdriver.GetLarger, "queries", size, "ControllerGetVolume"},
	{testdriver.SnapshotTooSmall, "snapshot-queries", size, "CreateSnapshot"},
	{testdriver.SnapshotShrinks, "snapshot-queries", differs, "CreateSnapshot"},
	{testdriver.ValidateConfirmsContext, "queries", invalid, "ValidateVolumeCapabilities"},
	{testdriver.ValidateConfirmsUnknown, "queries", invalid, "ValidateVolumeCapabilities"},
	{testdriver.ValidateConfirmsEmpty, "queries", invalid, "ValidateVolumeCapabilities"},
	{testdriver.StatsBlockFails, "block", wrongCode, "NodeGetVolumeStats"},
}
