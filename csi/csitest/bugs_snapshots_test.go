package csitest

import (
	"time"

	"github.com/volsim/volsim/csi/internal/testdriver"
)

// bugRow is a row of TestBugs.
type bugRow struct {
	bug     testdriver.Bug
	story   string
	kind    flawKind
	section string // of the CSI specification
}

// config returns the configuration for a row.
func (r bugRow) config() Config {
	d := testdriver.New(r.bug)
	if r.story == "zones" {
		d.Zones = map[string]string{"n2": "b"}
	}
	d.Offline = r.bug == testdriver.ExpandPublishedInternal
	cfg := configOf(d)
	cfg.Limit = time.Second // a goal that is never reached is waited for that long
	return cfg
}

// snapshotBugs are the rows about snapshots, copies and groups.
var snapshotBugs = []bugRow{
	{testdriver.SnapshotAgainFails, "snapshot", again, "CreateSnapshot"},
	{testdriver.SnapshotForgetsNames, "snapshot", secondSnapshot, "CreateSnapshot"},
	{testdriver.SnapshotOverlap, "snapshot", secondSnapshot, "Concurrency"},
	{testdriver.SnapshotIgnoresSource, "snapshot-queries", accepts, "CreateSnapshot Errors"},
	{testdriver.SnapshotWithoutTime, "snapshot", invalid, "CreateSnapshot"},
	{testdriver.SnapshotWithoutSource, "snapshot", invalid, "CreateSnapshot"},
	{testdriver.SnapshotTooLarge, "restore", size, "CreateSnapshot"},
	{testdriver.SnapshotTimeChanges, "snapshot", differs, "CreateSnapshot"},
	{testdriver.SnapshotBecomesUnready, "snapshot-queries", differs, "CreateSnapshot"},
	{testdriver.SnapshotDeleteAgainFails, "snapshot", undone, "DeleteSnapshot"},
	{testdriver.SnapshotDeleteLeaves, "snapshot", inventories, "DeleteSnapshot"},
	{testdriver.SnapshotsEndWithVolume, "snapshot-source-deleted", inventories, "DeleteVolume"},
	{testdriver.DeleteWithSnapshotsInternal, "snapshot-source-deleted", wrongCode, "DeleteVolume Errors"},
	{testdriver.SnapshotListLosesLast, "snapshot-queries", inventories, "ListSnapshots"},
	{testdriver.SnapshotListIgnoresID, "snapshot-unknown", inventories, "ListSnapshots"},
	{testdriver.SnapshotListIgnoresVolume, "snapshot-queries", inventories, "ListSnapshots"},
	{testdriver.SnapshotListUnknownFails, "snapshot-queries", wrongCode, "ListSnapshots"},
	{testdriver.SnapshotListAcceptsTokens, "snapshot-queries", accepts, "ListSnapshots Errors"},
	{testdriver.SnapshotSecretRequired, "snapshot", stuck, "DeleteSnapshot Errors"},
	{testdriver.RestoreEmpty, "restore", data, "CreateVolume"},
	{testdriver.RestoreLatest, "restore", data, "CreateVolume"},
	{testdriver.RestoreWithoutSource, "restore", invalid, "CreateVolume"},
	{testdriver.RestoreTooSmall, "restore-larger", invalid, "CreateVolume"},
	{testdriver.RestoreKeepsFileSystem, "restore-larger", size, "CreateVolume"},
	{testdriver.RestoreMissingSucceeds, "snapshot-queries", accepts, "CreateVolume Errors"},
	{testdriver.CloneEmpty, "clone", data, "CreateVolume"},
	{testdriver.CloneShares, "clone", data, "CreateVolume"},
	{testdriver.CloneEndsWithSource, "clone-source-deleted", data, "CreateVolume"},
	{testdriver.GroupAgainMakesSecond, "group-snapshot", secondSnapshot, "CreateVolumeGroupSnapshot"},
	{testdriver.GroupReadyEarly, "group-snapshot", invalid, "CreateVolumeGroupSnapshot"},
	{testdriver.GroupMembersWithoutID, "group-snapshot", invalid, "CreateVolumeGroupSnapshot"},
	{testdriver.GroupDeleteLeaves, "group-snapshot", inventories, "DeleteVolumeGroupSnapshot"},
	{testdriver.GroupDeleteAgainFails, "group-snapshot", wrongCode, "DeleteVolumeGroupSnapshot"},
	{testdriver.GroupMissingSucceeds, "group-snapshot", accepts, "GetVolumeGroupSnapshot Errors"},
	{testdriver.GroupIgnoresSources, "group-snapshot", accepts, "CreateVolumeGroupSnapshot Errors"},
}
