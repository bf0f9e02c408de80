package expand_test

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	apiresource "k8s.io/apimachinery/pkg/api/resource"

	"github.com/volsim/volsim/fake"
	"github.com/volsim/volsim/internal/controllers/expand"
)

func storageOf(size string) corev1.ResourceList {
	if size == "" {
		return nil
	}
	return corev1.ResourceList{corev1.ResourceStorage: apiresource.MustParse(size)}
}

func stepText(s expand.Step) string {
	switch {
	case s.Stop:
		return "stop"
	case s.NodeOnly:
		return "node"
	}
	return s.Size.String()
}

func TestNextSize(t *testing.T) {
	const failed, nodeOnly = 1, 2
	for _, tt := range []struct {
		rule, name string
		volume     string // of a request of 5Gi
		status     corev1.ClaimResourceStatus
		allocated  string
		pending    bool // FileSystemResizePending
		driver     int
		inTree     string // "" is not looked at
		csi        string
	}{
		{"EXP-030", "idle", "1Gi", "", "", false, 0, "5Gi", "5Gi"},
		{"EXP-030", "idle, with a size of the last time", "1Gi", "", "1Gi", false, 0, "5Gi", "5Gi"},
		{"EXP-030", "infeasible", "1Gi", "ControllerResizeInfeasible", "9Gi", false, failed, "5Gi", "5Gi"},
		{"EXP-030", "in progress", "1Gi", "ControllerResizeInProgress", "9Gi", false, 0, "9Gi", "9Gi"},
		{"EXP-030", "in progress, of no size", "1Gi", "ControllerResizeInProgress", "", false, 0, "5Gi", "5Gi"},
		{"EXP-030", "in progress, failed", "1Gi", "ControllerResizeInProgress", "9Gi", false, failed, "", "5Gi"},
		{"EXP-030", "pending on the node", "1Gi", "NodeResizePending", "2Gi", false, 0, "2Gi", "2Gi"},
		{"EXP-030", "pending on the node, large enough for that", "2Gi", "NodeResizePending", "2Gi", false, 0, "2Gi", "stop"},
		{"EXP-030", "in progress on the node, large enough for that", "3Gi", "NodeResizeInProgress", "2Gi", false, 0, "2Gi", "stop"},
		{"EXP-030", "infeasible on the node", "3Gi", "NodeResizeInfeasible", "3Gi", false, 0, "3Gi", "3Gi"},
		{"EXP-030", "large enough, pending", "5Gi", "NodeResizePending", "5Gi", false, 0, "stop", "stop"},
		{"EXP-030", "large enough, in progress on the node", "6Gi", "NodeResizeInProgress", "6Gi", false, 0, "stop", "stop"},
		{"EXP-030", "large enough, infeasible on the node", "6Gi", "NodeResizeInfeasible", "6Gi", false, 0, "node", "6Gi"},
		{"EXP-030", "large enough, infeasible on the node, expanded there only", "6Gi", "NodeResizeInfeasible", "6Gi", false, nodeOnly, "",
			"5Gi"},
		{"EXP-030", "large enough, in progress", "5Gi", "ControllerResizeInProgress", "9Gi", false, failed, "9Gi", "9Gi"},
		{"EXP-030", "large enough, infeasible", "5Gi", "ControllerResizeInfeasible", "9Gi", false, 0, "9Gi", "9Gi"},
		{"EXP-030", "large enough, idle, with a size", "5Gi", "", "4Gi", true, 0, "4Gi", "4Gi"},
		{"EXP-030", "large enough, idle", "5Gi", "", "", false, 0, "5Gi", "5Gi"},
		{"EXP-030", "large enough, idle, pending by an old resizer", "5Gi", "", "", true, 0, "5Gi", "stop"},
	} {
		claim := fake.Claim("data", "5Gi")
		claim.Status.AllocatedResources = storageOf(tt.allocated)
		if tt.status != "" {
			claim.Status.AllocatedResourceStatuses = map[corev1.ResourceName]corev1.ClaimResourceStatus{corev1.ResourceStorage: tt.status}
		}
		if tt.pending {
			claim.Status.Conditions = []corev1.PersistentVolumeClaimCondition{{Type: corev1.PersistentVolumeClaimFileSystemResizePending,
				Status: corev1.ConditionTrue}}
		}
		pv := fake.Volume("pv", tt.volume)
		if got := stepText(expand.InTreeSize(claim, pv)); tt.inTree != "" && got != tt.inTree {
			t.Errorf("%s %s: InTreeSize = %s, want %s", tt.rule, tt.name, got, tt.inTree)
		}
		if got := stepText(expand.ResizerSize(claim, pv, tt.driver == failed, tt.driver != nodeOnly)); got != tt.csi {
			t.Errorf("%s %s: ResizerSize = %s, want %s", tt.rule, tt.name, got, tt.csi)
		}
	}
}
