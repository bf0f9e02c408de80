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

// TestDifferentialReplicationControllers compares scenarios of ReplicationControllers, some with ReplicaSets beside them.
func TestDifferentialReplicationControllers(t *testing.T) {
	compareScenarios(t, differential.GenerateReplicationControllers, 20)
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

// TestDifferentialCronJobs compares scenarios of CronJobs and their Jobs.
func TestDifferentialCronJobs(t *testing.T) {
	compareScenarios(t, differential.GenerateCronJobs, 20)
}

// TestDifferentialDisruptions compares scenarios of PodDisruptionBudgets.
func TestDifferentialDisruptions(t *testing.T) {
	compareScenarios(t, differential.GenerateDisruptions, 20)
}

// TestDifferentialQuotas compares scenarios of ResourceQuotas.
func TestDifferentialQuotas(t *testing.T) {
	compareScenarios(t, differential.GenerateQuotas, 20)
}

// TestDifferentialNamespaces compares scenarios of namespaces.
func TestDifferentialNamespaces(t *testing.T) {
	compareScenarios(t, differential.GenerateNamespaces, 20)
}

// TestDifferentialGarbage compares scenarios of owners and dependents.
func TestDifferentialGarbage(t *testing.T) {
	compareScenarios(t, differential.GenerateGarbage, 20)
}

// TestDifferentialOwners compares scenarios of objects with several owners, and of volumes that refer to owners in namespaces.
func TestDifferentialOwners(t *testing.T) {
	compareScenarios(t, differential.GenerateOwners, 20)
}

// TestDifferentialTogether compares scenarios in which all controllers run.
func TestDifferentialTogether(t *testing.T) {
	compareScenarios(t, differential.GenerateTogether, 20)
}

// TestDifferentialEverything compares scenarios in which all controllers run, with those of nodes and kubelets.
func TestDifferentialEverything(t *testing.T) {
	compareScenarios(t, differential.GenerateEverything, 10)
}
