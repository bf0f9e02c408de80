package csitest

import (
	"strings"
	"testing"

	spec "github.com/container-storage-interface/spec/lib/go/csi"
	"github.com/stretchr/testify/require"

	"github.com/volsim/volsim/csi/internal/specdriver"
	"github.com/volsim/volsim/csi/internal/testdriver"
)

// requireOne runs stories without faults, and returns the only finding.
func requireOne(t *testing.T, cfg Config, stories ...string) Finding {
	t.Helper()
	cfg.Stories, cfg.Seeds, cfg.Pairs, cfg.every = stories, -1, -1, 7
	report, err := Check(cfg)
	require.NoError(t, err)
	require.Len(t, report.Findings, 1, "%v", report.Findings)
	return report.Findings[0]
}

// A list of volumes with names of nodes is wrong if the driver has other IDs for them.
func TestListedNodeNames(t *testing.T) {
	cfg := legalConfig(specdriver.Options{}, false)
	cfg.Controller = altered{cfg.Controller, change(func(list *spec.ListVolumesResponse) {
		for _, entry := range list.GetEntries() {
			for i, id := range entry.GetStatus().GetPublishedNodeIds() {
				entry.Status.PublishedNodeIds[i] = strings.TrimPrefix(id, "i-0")
			}
		}
	})}
	f := requireOne(t, cfg, "life")
	require.Equal(t, "ListVolumes", f.Section)
	require.Contains(t, f.Detail, `is published to "n1", and no reply to NodeGetInfo has that node_id; it is published to i-0n1`)
}

// A second DeleteVolume that fails is one finding, also if the volume had snapshots.
func TestDeletedAgainWithSnapshots(t *testing.T) {
	f := requireOne(t, testConfig(testdriver.DeleteAgainFails), "snapshot-source-deleted")
	require.Equal(t, string(undone), f.Kind)
}
