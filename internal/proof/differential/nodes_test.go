package differential_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/volsim/volsim/internal/proof/differential"
)

// TestDifferentialNodes compares scenarios of nodes that fail.
func TestDifferentialNodes(t *testing.T) { compareScenarios(t, differential.GenerateNodes, 40) }

// TestNodesHappen checks that the scenarios really contain what they are about, often enough to mean something.
func TestNodesHappen(t *testing.T) {
	const scenarios = 200
	seen := map[string]int{}
	wanted := []string{
		"Node is not ready", "status is now: NodeNotReady", "RegisteredNode", "RemovingNode", "Marking for deletion", "Cancelling deletion",
		"reason: DeletionByTaintManager", "pod-garbage-collector-controller: patch-status", "pod-garbage-collector-controller: delete",
		"reason: NodeStatusUnknown", "reason: NodeStatusNeverUpdated", "key: node.kubernetes.io/unreachable", "key: node.kubernetes.io/not-ready",
		"key: node.kubernetes.io/unschedulable", "key: node.kubernetes.io/memory-pressure", "metadata.labels[beta.kubernetes.io/os]",
		"patch at", "update-status at",
	}
	for seed := range uint64(scenarios) {
		s := differential.GenerateNodes(seed + 1)
		var text strings.Builder
		for _, o := range runOurs(t, s, optionsOf(s)) {
			fmt.Fprintln(&text, o.Events, o.Writes, o.Objects)
		}
		for _, want := range wanted {
			if strings.Contains(text.String(), want) {
				seen[want]++
			}
		}
	}
	for _, want := range wanted {
		require.GreaterOrEqual(t, seen[want], scenarios/50, "%q", want)
	}
	t.Log(seen)
}
