package differential_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/volsim/volsim/internal/proof/differential"
	"github.com/volsim/volsim/internal/proof/differential/compare"
)

// TestSkipping compares our cluster, which skips work that would find nothing new, with one that skips nothing, as in all other tests. Only two
// things may differ: unchanged reports of a node, and Events that the recorder would drop (MNT-406).
func TestSkipping(t *testing.T) {
	visible := func(lines []string) (visible []string) {
		for _, line := range lines {
			if !strings.Contains(line, "lastHeartbeatTime") && !strings.Contains(line, "requested read-only file system") {
				visible = append(visible, line)
			}
		}
		return visible
	}
	const modest = 12
	for _, tt := range []struct {
		name     string
		generate func(uint64) differential.Scenario
		known    []uint64 // seeds that once differed
	}{
		{"volumes", differential.Generate, nil},
		{"attach", differential.GenerateAttach, nil},
		{"nodes", differential.GenerateNodes, nil},
		{"kubelets", differential.GenerateKubelet, nil},
		{"block", differential.GenerateBlock, nil},
		{"inline", differential.GenerateInline, nil},
		{"node expand", differential.GenerateNodeExpand, nil},
		{"faults", differential.GenerateKubeletFaults, []uint64{90, 124}},
		{"pod status", differential.GeneratePodStatus, nil},
		{"own claims", differential.GenerateOwnClaims, nil},
		{"pod volumes", differential.GeneratePodVolumes, nil},
		{"limit", differential.GenerateAttachLimit, nil},
		{"groups", differential.GenerateFSGroup, nil},
		{"node volumes", differential.GenerateNodeVolumes, []uint64{4, 649}},
		{"everything", differential.GenerateEverything, []uint64{4, 38, 113, 140}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			seeds := tt.known
			for seed := range uint64(compare.Number(modest)) {
				seeds = append(seeds, *compare.First+seed)
			}
			for _, seed := range seeds {
				s := tt.generate(seed)
				opts := optionsOf(s)
				all, _ := compare.RunOurs(t, s, opts)
				opts.Skips = true
				some, _ := compare.RunOurs(t, s, opts)
				require.Len(t, some, len(all))
				for i := range all {
					a, b := &all[i], &some[i]
					for _, lists := range [][2][]string{{a.Objects, b.Objects}, {a.Writes, b.Writes}, {a.Calls, b.Calls}, {a.Orders, b.Orders},
						{a.Events, b.Events}, {a.Machines, b.Machines}} {
						require.Equal(t, visible(lists[0]), visible(lists[1]), "seed %d, step %d", seed, i)
					}
				}
			}
		})
	}
}
