package differential_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/volsim/volsim/internal/proof/differential"
)

// TestDifferentialBlock compares scenarios with block volumes.
func TestDifferentialBlock(t *testing.T) { compareScenarios(t, differential.GenerateBlock, 3) }

// TestDifferentialNodeExpand compares scenarios with volumes that grow in use.
func TestDifferentialNodeExpand(t *testing.T) {
	compareScenarios(t, differential.GenerateNodeExpand, 3)
}

// TestDifferentialInline compares scenarios with inline CSI volumes.
func TestDifferentialInline(t *testing.T) { compareScenarios(t, differential.GenerateInline, 3) }

// TestDifferentialPodStatus compares scenarios in which a kubelet cannot write the statuses of its pods.
func TestDifferentialPodStatus(t *testing.T) {
	compareScenarios(t, differential.GeneratePodStatus, 3)
}

// TestDifferentialKubeletFaults compares scenarios with failing kubelet requests.
func TestDifferentialKubeletFaults(t *testing.T) {
	compareScenarios(t, differential.GenerateKubeletFaults, 3)
}

// TestDifferentialOwnClaims compares scenarios with generic ephemeral volumes.
func TestDifferentialOwnClaims(t *testing.T) {
	compareScenarios(t, differential.GenerateOwnClaims, 3)
}

// TestDifferentialPodVolumes compares scenarios with volumes without a driver.
func TestDifferentialPodVolumes(t *testing.T) {
	compareScenarios(t, differential.GeneratePodVolumes, 3)
}

// TestDifferentialFSGroup compares scenarios with fsGroup.
func TestDifferentialFSGroup(t *testing.T) { compareScenarios(t, differential.GenerateFSGroup, 3) }

// TestDifferentialAttachLimit compares scenarios with attach limits.
func TestDifferentialAttachLimit(t *testing.T) {
	compareScenarios(t, differential.GenerateAttachLimit, 3)
}

// TestDifferentialNodeVolumes compares scenarios with a mix of all these.
func TestDifferentialNodeVolumes(t *testing.T) {
	compareScenarios(t, differential.GenerateNodeVolumes, 3)
}

// TestNodeVolumesHappen checks that the scenarios really contain what they are about, often enough to mean something.
func TestNodeVolumesHappen(t *testing.T) {
	_, some, others := differential.Groups()
	groups := []string{
		fmt.Sprint("of group ", some), fmt.Sprint("of group ", others), "VolumePermissionChangeInProgress", fmt.Sprint("Group:", some),
		"kubernetes.io~local-volume/pv1 of group",
	}
	if some != others {
		groups = append(groups, "AlreadyMountedVolume")
	}
	tests := []struct {
		name     string
		generate func(uint64) differential.Scenario
		want     []string // texts that must be seen, each in one of 20 scenarios
	}{
		{"block", differential.GenerateBlock,
			[]string{"SuccessfulMountVolume", "held: ", "MapVolume.SetUpDevice failed", "MapVolume.MapPodDevice failed"}},
		{"node expansion", differential.GenerateNodeExpand, []string{
			" NodeExpand handle1 end", "NodeExpand handle1 end at n1: ", "FileSystemResizeSuccessful", "VolumeResizeFailed",
			"NodeResizeInfeasible", "FileSystemResizeFailed",
		}},
		{"inline", differential.GenerateInline, []string{"Publish csi-", "Unpublish csi-", "not supported by driver"}},
		{"faults", differential.GenerateKubeletFaults,
			[]string{"failed to fetch PVC from API server: Internal error", "failed to fetch PV pv1 from API server: Internal error",
				"has GET error for volume attachment"}},
		{"own claims", differential.GenerateOwnClaims, []string{"Publish pvc-", "Unpublish pvc-", "Unstage pvc-"}},
		{"pod volumes", differential.GeneratePodVolumes, []string{
			"mounted: /var/lib/kubelet/pods/", "/volume-subpaths/", "/ready", "/wrapped_key/", "kubernetes.io~configmap/settings/",
			" run in groups [5]", "git-repo volume plugin has been disabled",
		}},
		{"limit", differential.GenerateAttachLimit,
			[]string{"VolumeAttachmentLimitExceeded", "s spec.drivers[0].allocatable.count", "s spec.drivers\n"}},
		{"groups", differential.GenerateFSGroup, groups},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			const scenarios = 100
			seen := map[string]int{}
			for seed := range uint64(scenarios) {
				s := test.generate(seed + 1)
				text := ""
				for _, o := range runOurs(t, s, optionsOf(s)) {
					for _, lines := range [][]string{o.Objects, o.Events, o.Writes, o.Calls, o.Requests, o.Machines} {
						text += strings.Join(lines, "\n") + "\n"
					}
				}
				for _, want := range test.want {
					if strings.Contains(text, want) {
						seen[want]++
					}
				}
			}
			for _, want := range test.want {
				require.GreaterOrEqual(t, seen[want], scenarios/20, "%q", want)
			}
			t.Log(seen)
		})
	}
}
