package csitest

import "github.com/volsim/volsim/csi/internal/testdriver"

// replyBugs are the rows about codes, lists that do not end, fields of replies, and repeats that are incompatible.
var replyBugs = []bugRow{
	{testdriver.CreateWithoutTopology, "zones", stuck, "CreateVolume"},
	{testdriver.DeleteAttachedInvalid, "attached-deleted", wrongCode, "DeleteVolume Errors"},
	{testdriver.AttachElsewhereInvalid, "attachment-forgotten", wrongCode, "ControllerPublishVolume Errors"},
	{testdriver.AttachIgnoresReadOnly, "queries", accepts, "ControllerPublishVolume Errors"},
	{testdriver.PublishIgnoresOtherReadOnly, "queries", accepts, "NodePublishVolume Errors"},
	{testdriver.ListWithoutCondition, "life", invalid, "ListVolumes"},
	{testdriver.SnapshotTimeMoves, "snapshot", differs, "CreateSnapshot"},
	{testdriver.SnapshotListEndless, "snapshot", inventories, "ListSnapshots"},
}
