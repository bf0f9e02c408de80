package csitest

import (
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/volsim/volsim/csi/internal/testdriver"
)

// A cause is one finding, also if runs show it in more than one way.
func TestOneCauseOneFinding(t *testing.T) {
	for _, tt := range []struct {
		bug     testdriver.Bug
		stories []string
		pairs   int
		method  string
	}{
		{testdriver.InlineLeft, []string{"inline"}, -1, "NodeUnpublishVolume"},
		{testdriver.UnstageForgets, []string{"life", "kubelet-restart"}, 100, "NodeUnstageVolume"},
		{testdriver.StageAgainMountsTwice, []string{"life", "pod-cancelled"}, -1, "NodeStageVolume"},
		{testdriver.StageAgainMountsTwice, []string{"pod-cancelled", "life"}, -1, "NodeStageVolume"},
		{testdriver.UnpublishesAllPods, []string{"two-pods", "pod-replaced"}, -1, "NodeUnpublishVolume"},
		{testdriver.SnapshotForgetsNames, []string{"snapshot"}, -1, "CreateSnapshot"},
		{testdriver.GroupAgainMakesSecond, []string{"group-snapshot"}, -1, "CreateVolumeGroupSnapshot"},
	} {
		cfg := testConfig(tt.bug)
		cfg.Stories, cfg.Seeds, cfg.Pairs = tt.stories, -1, tt.pairs
		report, err := Check(cfg)
		require.NoError(t, err)
		require.Len(t, report.Findings, 1, "%s: %v", tt.bug, report.Findings)
		require.Equal(t, tt.method, report.Findings[0].Method, tt.bug)
	}
}

// Mistakes of one method are findings of their own, also if they are of one kind or in one story.
func TestEachMistakeOneFinding(t *testing.T) {
	for _, tt := range []struct {
		bugs    []testdriver.Bug
		stories []string
		details []string
	}{
		{[]testdriver.Bug{testdriver.CreateIgnoresProperties}, []string{"snapshot-queries", "create-queries"}, []string{
			"a volume of that name exists, which was not created from the snapshot", "a volume of that name exists, and it is smaller than required_bytes"}},
		{[]testdriver.Bug{testdriver.PublishIgnoresOtherReadOnly, testdriver.ValidateMissingSucceeds}, []string{"queries"}, []string{
			"the volume is published at target_path with another readonly", "ValidateVolumeCapabilities succeeds, and code NotFound is required: the volume does not exist"}},
	} {
		cfg := testConfig(tt.bugs...)
		cfg.Stories, cfg.Seeds, cfg.Pairs = tt.stories, -1, -1
		report, err := Check(cfg)
		require.NoError(t, err)
		require.Len(t, report.Findings, len(tt.details), "%v", report.Findings)
		for _, detail := range tt.details {
			require.True(t, slices.ContainsFunc(report.Findings, func(f Finding) bool { return strings.Contains(f.Detail, detail) }), "%s: %v", detail, report.Findings)
		}
	}
}
