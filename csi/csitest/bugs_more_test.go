package csitest

import "github.com/volsim/volsim/csi/internal/testdriver"

// moreBugs are the rows about bugs that are reported for real drivers again and again.
var moreBugs = []bugRow{
	{testdriver.CreateTruncatesNames, "queries", duplicate, "CreateVolume"},
	{testdriver.CreateLongID, "life", invalid, "CreateVolume"},
	{testdriver.CreateOtherTopologyKey, "life", invalid, "CreateVolume"},
	{testdriver.RestoreInterruptedEmpty, "restore", data, "CreateVolume"},
	{testdriver.RestoreAgainWithoutSource, "restore", invalid, "CreateVolume"},
	{testdriver.DeleteLeaves, "life", inventories, "ListVolumes"},
	{testdriver.LockLeaks, "life", stuck, "Concurrency"},
	{testdriver.AttachManyNodes, "attachment-forgotten", accepts, "ControllerPublishVolume Errors"},
	{testdriver.AttachForgetsContext, "life", differs, "ControllerPublishVolume"},
	{testdriver.AttachLimitTooStrict, "attach-limit", stuck, "ControllerPublishVolume Errors"},
	{testdriver.DetachLeaves, "life", inventories, "ListVolumes"},
	{testdriver.DetachMissingFails, "queries", wrongCode, "ControllerUnpublishVolume Errors"},
	{testdriver.ExpandShrinks, "expand-unused", invalid, "ControllerExpandVolume"},
	{testdriver.ExpandOnlineFails, "expand-online", stuck, "ControllerExpandVolume"},
	{testdriver.ModifyAgainFails, "modify", again, "ControllerModifyVolume"},
	{testdriver.ListPublishedStale, "attach-limit", inventories, "ListVolumes"},
	{testdriver.CapacityMaximumTooSmall, "queries", invalid, "GetCapacity"},
	{testdriver.ProbeNotReady, "queries", invalid, "Probe"},
	{testdriver.NodeZoneChanges, "kubelet-restart", differs, "NodeGetInfo"},
	{testdriver.NodeLimitNegative, "life", invalid, "NodeGetInfo"},
	{testdriver.StageTrustsFile, "life", stuck, "NodeStageVolume"},
	{testdriver.UnstageLeaves, "life", mounts, "NodeUnstageVolume"},
	{testdriver.UnpublishLeaves, "life", mounts, "NodeUnpublishVolume"},
	{testdriver.UnpublishRemovesData, "two-pods", data, "NodeUnpublishVolume"},
	{testdriver.UnpublishUnstages, "pod-replaced", stuck, "NodeUnpublishVolume"},
	{testdriver.PublishSecondFails, "two-pods", stuck, "NodePublishVolume"},
	{testdriver.PublishReadOnlyForAll, "read-only", data, "NodePublishVolume"},
	{testdriver.NodeExpandWantsStaging, "expand-online", stuck, "NodeExpandVolume"},
	{testdriver.GroupAgainMakesSecond, "group-snapshot-life", secondSnapshot, "CreateVolumeGroupSnapshot"},
	{testdriver.GroupDeleteAgainFails, "group-snapshot-life", undone, "DeleteVolumeGroupSnapshot"},
	{testdriver.GroupForgetsNames, "group-snapshot-life", secondSnapshot, "CreateVolumeGroupSnapshot"},
	{testdriver.SnapshotMissingInternal, "queries", wrongCode, "CreateSnapshot Errors"},
}
