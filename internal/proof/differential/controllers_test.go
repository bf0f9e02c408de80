package differential_test

import (
	"testing"

	"github.com/volsim/volsim/internal/proof/differential"
)

// TestDifferentialStatefulSets compares scenarios of StatefulSets.
func TestDifferentialStatefulSets(t *testing.T) {
	compareScenarios(t, differential.GenerateStatefulSets, 20)
}

// TestDifferentialReplicaSets compares scenarios of ReplicaSets.
func TestDifferentialReplicaSets(t *testing.T) {
	compareScenarios(t, differential.GenerateReplicaSets, 20)
}

// TestDifferentialDeployments compares scenarios of Deployments and their ReplicaSets.
func TestDifferentialDeployments(t *testing.T) {
	compareScenarios(t, differential.GenerateDeployments, 20)
}

// TestDifferentialDaemonSets compares scenarios of DaemonSets.
func TestDifferentialDaemonSets(t *testing.T) {
	compareScenarios(t, differential.GenerateDaemonSets, 20)
}

// TestDifferentialJobs compares scenarios of Jobs.
func TestDifferentialJobs(t *testing.T) {
	compareScenarios(t, differential.GenerateJobs, 20)
}
