package csitest

import (
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/volsim/volsim/csi/internal/testdriver"
)

// Each bug of the test driver is found by the story meant for it.
func TestBugs(t *testing.T) {
	rows := []bugRow{
		{testdriver.CreateAgainFails, "life", again, "CreateVolume"},
		{testdriver.CreateAgainMakesSecond, "life", duplicate, "CreateVolume"},
		{testdriver.CreateForgetsNames, "life", duplicate, "CreateVolume"},
		{testdriver.CreateAgainDiffers, "life", differs, "CreateVolume"},
		{testdriver.CreateIgnoresProperties, "create-queries", accepts, "CreateVolume Errors"},
		{testdriver.CreateTooSmall, "life", invalid, "CreateVolume"},
		{testdriver.CreateWithoutID, "life", invalid, "CreateVolume"},
		{testdriver.DeleteAgainFails, "life", undone, "DeleteVolume"},
		{testdriver.DeleteAttached, "attached-deleted", accepts, "DeleteVolume Errors"},
		{testdriver.AttachAgainFails, "life", again, "ControllerPublishVolume"},
		{testdriver.AttachAgainLosesContext, "life", differs, "ControllerPublishVolume"},
		{testdriver.AttachSteals, "attachment-forgotten", accepts, "ControllerPublishVolume Errors"},
		{testdriver.AttachDetachOverlap, "attach-cancelled", inventories, "Concurrency"},
		{testdriver.DetachAgainFails, "life", undone, "ControllerUnpublishVolume"},
		{testdriver.DetachNodeGoneFails, "node-removed", undone, "ControllerUnpublishVolume"},
		{testdriver.DetachesAllNodes, "shared-writers", inventories, "ListVolumes"},
		{testdriver.ExpandAgainFails, "expand-online", again, "ControllerExpandVolume"},
		{testdriver.ExpandNotDelivered, "expand-online", size, "ControllerExpandVolume"},
		{testdriver.ExpandSkipsNode, "expand-online", size, "ControllerExpandVolume"},
		{testdriver.NodeExpandAgainFails, "expand-online", again, "NodeExpandVolume"},
		{testdriver.NodeExpandDoesNothing, "expand-online", size, "NodeExpandVolume"},
		{testdriver.StageAgainFails, "life", again, "NodeStageVolume"},
		{testdriver.StageAgainMountsTwice, "life", mounts, "NodeStageVolume"},
		{testdriver.StageFormats, "restart-pod", data, "NodeStageVolume"},
		{testdriver.StageUnstageOverlap, "pod-cancelled", mounts, "Concurrency"},
		{testdriver.UnstageForgets, "life", mounts, "NodeUnstageVolume"},
		{testdriver.UnstageAgainFails, "life", undone, "NodeUnstageVolume"},
		{testdriver.PublishAgainFails, "life", again, "NodePublishVolume"},
		{testdriver.PublishAgainMountsTwice, "life", mounts, "NodePublishVolume"},
		{testdriver.PublishWithoutStage, "mount-lost", accepts, "RPC Interactions and Reference Counting"},
		{testdriver.PublishIgnoresReadOnly, "read-only", mounts, "NodePublishVolume"},
		{testdriver.PublishUnpublishOverlap, "pod-cancelled", mounts, "Concurrency"},
		{testdriver.UnpublishAgainFails, "life", undone, "NodeUnpublishVolume"},
		{testdriver.CreateWrongCapacity, "life", size, "CreateVolume"},
		{testdriver.CreateIgnoresTopology, "life", invalid, "CreateVolume"},
		{testdriver.CreateTooLargeInternal, "create-too-much", wrongCode, "CreateVolume Errors"},
		{testdriver.CreateTooLargeInternal, "expand-too-much", wrongCode, "ControllerExpandVolume Errors"},
		{testdriver.AttachIgnoresLimit, "attach-limit-forced", accepts, "ControllerPublishVolume Errors"},
		{testdriver.AttachMissingInternal, "volume-vanished", wrongCode, "ControllerPublishVolume Errors"},
		{testdriver.AttachMissingSucceeds, "volume-vanished", accepts, "ControllerPublishVolume Errors"},
		{testdriver.AttachNodeGoneSucceeds, "node-missing", accepts, "ControllerPublishVolume Errors"},
		{testdriver.ExpandMissingInternal, "volume-vanished", wrongCode, "ControllerExpandVolume Errors"},
		{testdriver.ListRepeats, "queries", inventories, "ListVolumes"},
		{testdriver.ListLosesLast, "queries", inventories, "ListVolumes"},
		{testdriver.ListIgnoresMaxEntries, "queries", inventories, "ListVolumes"},
		{testdriver.ListAcceptsTokens, "queries", accepts, "ListVolumes Errors"},
		{testdriver.ListLosesContext, "queries", differs, "ListVolumes"},
		{testdriver.GetDisagrees, "queries", differs, "ControllerGetVolume"},
		{testdriver.GetMissingSucceeds, "queries", accepts, "ControllerGetVolume Errors"},
		{testdriver.ValidateMissingSucceeds, "queries", accepts, "ValidateVolumeCapabilities Errors"},
		{testdriver.ValidateConfirmsNothing, "queries", wrongCode, "ValidateVolumeCapabilities"},
		{testdriver.CapacityNegative, "queries", invalid, "GetCapacity"},
		{testdriver.ArgumentsMissing, "invalid-requests", accepts, "DeleteVolume Errors"},
		{testdriver.NodeIDChanges, "kubelet-restart", differs, "NodeGetInfo"},
		{testdriver.StageWrongPath, "life", mounts, "NodeStageVolume"},
		{testdriver.StatsUnmounted, "queries", accepts, "NodeGetVolumeStats Errors"},
		{testdriver.StatsWithoutCondition, "queries", invalid, "NodeGetVolumeStats"},
		{testdriver.StatsWrong, "queries", invalid, "NodeGetVolumeStats"},
		{testdriver.SecretInError, "secrets", secret, "Secrets Requirements"},
		{testdriver.SecretInContext, "secrets", secret, "Secrets Requirements"},
		{testdriver.SecretRequired, "life", stuck, "NodePublishVolume Errors"},
		{testdriver.InlineAgainFails, "inline", again, "NodePublishVolume"},
		{testdriver.InlineLeft, "inline", mounts, "NodeUnpublishVolume"},
		{testdriver.RepublishFails, "tokens", again, "NodePublishVolume"},
		{testdriver.RepublishFails, "inline-tokens", again, "NodePublishVolume"},
		{testdriver.Panics, "life", broken, "RPC Interface"},
		{testdriver.Hangs, "life", broken, "RPC Interface"},
		{testdriver.RepliesNothing, "life", broken, "RPC Interface"},
		{testdriver.UnpublishesAllPods, "two-pods", mounts, "NodeUnpublishVolume"},
	}
	rows = slices.Concat(rows, snapshotBugs, moreBugs, furtherBugs, stateBugs, requestBugs, replyBugs, codeBugs)
	for _, bug := range testdriver.Bugs() {
		found := false
		for _, r := range rows {
			found = found || r.bug == bug
		}
		if !found {
			t.Errorf("no row for %s", bug)
		}
	}
	for _, r := range rows {
		t.Run(string(r.bug), func(t *testing.T) {
			t.Parallel()
			cfg := r.config()
			found := func(f Finding) bool { return f.Kind == string(r.kind) && f.Section == r.section }
			cfg.Stories, cfg.Pairs, cfg.Seeds, cfg.every = []string{r.story}, -1, -1, 1000 // a run without faults, and few others
			report, err := Check(cfg)
			if err == nil && !slices.ContainsFunc(report.Findings, found) {
				cfg.Pairs, cfg.every = 1, 1
				report, err = Check(cfg)
			}
			if err != nil {
				t.Fatal(err)
			}
			var others []string
			for _, f := range report.Findings {
				if !found(f) {
					others = append(others, f.String())
					continue
				}
				require.LessOrEqual(t, len(f.Calls), maxCalls)
				require.NotEmpty(t, f.Requirement)
				require.NotEmpty(t, f.Why)
				if f.Recorded == "" {
					return // the driver fails before a run begins
				}
				replay := r.config()
				replay.Replay = f.Replay
				again, err := Check(replay)
				require.NoError(t, err)
				require.NotEmpty(t, again.Findings, "%s shows it again", f.Replay)
				recorded, err := Check(Config{Replay: f.Replay, Recorded: f.Recorded})
				require.NoError(t, err)
				require.Len(t, recorded.Findings, 1, "the recorded replies show it again")
				require.Equal(t, []string{f.Kind, f.Method, f.Section, f.Detail}, []string{recorded.Findings[0].Kind, recorded.Findings[0].Method,
					recorded.Findings[0].Section, recorded.Findings[0].Detail})
				return
			}
			t.Errorf("%s does not find %s of section %q in %d runs, but\n%s", r.story, r.kind, r.section, report.Runs, strings.Join(others, "\n"))
		})
	}
}

// A second volume is one finding: calls about the volume_id that the driver returned are right.
func TestSecondVolumeOnce(t *testing.T) {
	for _, bug := range []testdriver.Bug{testdriver.CreateAgainMakesSecond, testdriver.CreateForgetsNames} {
		cfg := testConfig(bug)
		cfg.Stories, cfg.Seeds, cfg.Pairs, cfg.every = []string{"life", "move"}, 1, 5, 2
		report, err := Check(cfg)
		require.NoError(t, err)
		require.Len(t, report.Findings, 1, "%s: %v", bug, report.Findings)
		require.Equal(t, string(duplicate), report.Findings[0].Kind)
	}
}
