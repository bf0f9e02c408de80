package csitest

import "github.com/volsim/volsim/csi/internal/testdriver"

// requestBugs are the rows about what requests ask for, callers that gave up, and what a node reports.
var requestBugs = []bugRow{
	{testdriver.CreateRevives, "never-used", inventories, "Concurrency"},
	{testdriver.CreateCleansUp, "never-used", inventories, "Concurrency"},
	{testdriver.RestoreSmaller, "snapshot-queries", size, "CreateVolume Errors"},
	{testdriver.SecretsCached, "secrets-wrong", stuck, "Error Scheme"},
	{testdriver.SecretWrongLeaves, "secrets-wrong", inventories, "CreateVolume Errors"},
	{testdriver.MountIgnoresOptions, "mount-options", mounts, "NodeStageVolume"},
	{testdriver.PublishIgnoresGroup, "group", mounts, "NodePublishVolume"},
	{testdriver.CapacityMinimumTooLarge, "queries", invalid, "GetCapacity"},
	{testdriver.CapacityInGiB, "capacity", stuck, "GetCapacity"},
	{testdriver.ExpandNeedsMissingCall, "expand-offline", invalid, "ControllerExpandVolume"},
	{testdriver.NodeLimitRemaining, "attach-limit-restart", invalid, "NodeGetInfo"},
	{testdriver.NodeExpandBlockFails, "expand-block", stuck, "NodeExpandVolume"},
	{testdriver.StageInterruptedSmall, "restore-larger", size, "NodeStageVolume"},
	{testdriver.UnstageNeedsDevice, "node-cut-off", stuck, "NodeUnstageVolume"},
	{testdriver.SnapshotLongID, "snapshot", invalid, "CreateSnapshot"},
	{testdriver.SnapshotInUseInternal, "restore", wrongCode, "DeleteSnapshot Errors"},
	{testdriver.SnapshotDeleteEndsCopies, "snapshot-deleted-in-restore", data, "CreateVolume"},
	{testdriver.CloneLeavesSnapshot, "clone", inventories, "DeleteVolume"},
}
