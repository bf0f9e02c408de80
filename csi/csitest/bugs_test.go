package csitest

import (
	"strings"
	"testing"

	"github.com/volsim/volsim/csi/internal/testdriver"
)

// Each bug of the test driver is found by the story meant for it.
func TestBugs(t *testing.T) {
	type row struct {
		bug    testdriver.Bug
		story  string
		kind   flawKind
		method string
	}
	rows := []row{
		{testdriver.CreateAgainFails, "life", again, "CreateVolume"},
		{testdriver.CreateAgainMakesSecond, "life", duplicate, "CreateVolume"},
		{testdriver.CreateForgetsNames, "life", duplicate, "CreateVolume"},
		{testdriver.CreateAgainDiffers, "life", differs, "CreateVolume"},
		{testdriver.CreateIgnoresProperties, "class-replaced", accepts, "CreateVolume"},
		{testdriver.CreateTooSmall, "life", invalid, "CreateVolume"},
		{testdriver.CreateWithoutID, "life", invalid, "CreateVolume"},
		{testdriver.DeleteAgainFails, "life", undone, "DeleteVolume"},
		{testdriver.DeleteAttached, "attached-deleted", accepts, "DeleteVolume"},
		{testdriver.AttachAgainFails, "life", again, "ControllerPublishVolume"},
		{testdriver.AttachAgainLosesContext, "life", differs, "ControllerPublishVolume"},
		{testdriver.AttachSteals, "attachment-forgotten", accepts, "ControllerPublishVolume"},
		{testdriver.AttachDetachOverlap, "attach-cancelled", inventories, "ControllerPublishVolume"},
		{testdriver.DetachAgainFails, "life", undone, "ControllerUnpublishVolume"},
		{testdriver.DetachNodeGoneFails, "node-removed", undone, "ControllerUnpublishVolume"},
		{testdriver.DetachesAllNodes, "shared-writers", inventories, ""},
		{testdriver.ExpandAgainFails, "expand-online", again, "ControllerExpandVolume"},
		{testdriver.ExpandNotDelivered, "expand-online", size, ""},
		{testdriver.ExpandSkipsNode, "expand-online", size, ""},
		{testdriver.NodeExpandAgainFails, "expand-online", again, "NodeExpandVolume"},
		{testdriver.NodeExpandDoesNothing, "expand-online", size, ""},
		{testdriver.StageAgainFails, "life", again, "NodeStageVolume"},
		{testdriver.StageAgainMountsTwice, "life", mounts, ""},
		{testdriver.StageFormats, "restart-pod", data, ""},
		{testdriver.StageUnstageOverlap, "pod-cancelled", mounts, "NodeStageVolume"},
		{testdriver.UnstageForgets, "life", mounts, ""},
		{testdriver.UnstageAgainFails, "life", undone, "NodeUnstageVolume"},
		{testdriver.PublishAgainFails, "life", again, "NodePublishVolume"},
		{testdriver.PublishAgainMountsTwice, "life", mounts, ""},
		{testdriver.PublishWithoutStage, "mount-lost", accepts, "NodePublishVolume"},
		{testdriver.PublishIgnoresReadOnly, "read-only", mounts, ""},
		{testdriver.PublishUnpublishOverlap, "pod-cancelled", mounts, "NodePublishVolume"},
		{testdriver.UnpublishAgainFails, "life", undone, "NodeUnpublishVolume"},
		{testdriver.UnpublishesAllPods, "two-pods", mounts, ""},
	}
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
			cfg := testConfig(r.bug)
			cfg.Stories, cfg.Pairs, cfg.Seeds = []string{r.story}, -1, -1
			report, err := Check(cfg)
			if err != nil {
				t.Fatal(err)
			}
			var others []string
			for _, f := range report.Findings {
				if f.Kind == string(r.kind) && (r.method == "" || f.Method == r.method) {
					t.Log(f.Detail, f.Replay, len(others))
					return
				}
				others = append(others, f.Kind+" "+f.Method+": "+f.Detail+" ("+f.Replay+")")
			}
			t.Errorf("%s does not find %s of %q in %d runs, but\n%s", r.story, r.kind, r.method, report.Runs, strings.Join(others, "\n"))
		})
	}
}
