package csitest

import "github.com/volsim/volsim/csi/internal/testdriver"

// stateBugs are the rows about other volumes, IDs that are used twice, and replies that change.
var stateBugs = []bugRow{
	{testdriver.CreateReusesIDs, "create-after-delete", duplicate, "CreateVolume"},
	{testdriver.CreateRestartReusesIDs, "create-after-delete", duplicate, "CreateVolume"},
	{testdriver.CreateAgainSmaller, "odd-size", differs, "CreateVolume"},
	{testdriver.CloneMissingSucceeds, "create-queries", accepts, "CreateVolume Errors"},
	{testdriver.CreateAgainEarly, "life", stuck, "Timeouts"},
	{testdriver.ExpandRecordsEarly, "expand-online", size, "ControllerExpandVolume"},
	{testdriver.UnstageRecordsEarly, "life", mounts, "NodeUnstageVolume"},
	{testdriver.SnapshotInterruptedUnready, "snapshot", stuck, "CreateSnapshot"},
	{testdriver.DetachesOtherVolumes, "attach-limit", inventories, "ListVolumes"},
	{testdriver.ExpandAdds, "expand-online", differs, "ControllerExpandVolume"},
	{testdriver.StageTwiceOverlap, "life", mounts, "Concurrency"},
	{testdriver.PublishTwiceOverlap, "life", mounts, "Concurrency"},
	{testdriver.UnstagesAllNodes, "shared-writers", mounts, "NodeUnstageVolume"},
	{testdriver.InlineLeaksVolume, "inline", inventories, "NodeUnpublishVolume"},
	{testdriver.InlineUnpublishNotFound, "inline", undone, "NodeUnpublishVolume"},
	{testdriver.SnapshotSizeFollows, "snapshot-expand", differs, "CreateSnapshot"},
	{testdriver.SnapshotListRepeats, "snapshot-queries", inventories, "ListSnapshots"},
	{testdriver.SnapshotListIgnoresMaxEntries, "snapshot-queries", inventories, "ListSnapshots"},
	{testdriver.CapacityRefusesSegment, "capacity", stuck, "GetCapacity"},
}
