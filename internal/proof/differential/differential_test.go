package differential_test

import (
	"os"
	"testing"

	"github.com/volsim/volsim/internal/proof/differential"
	"github.com/volsim/volsim/internal/proof/differential/compare"
	"github.com/volsim/volsim/internal/proof/differential/harness"
	"github.com/volsim/volsim/internal/proof/differential/upstream"
)

// seeds and first are flags.
var seeds, first = compare.Seeds, compare.First

func TestMain(m *testing.M) {
	harness.Quiet()
	upstream.SignalsOutside()
	upstream.Unjittered()
	upstream.OrderedQueues()
	os.Exit(m.Run())
}

// kubernetes makes the side that runs the controllers of Kubernetes.
func kubernetes(s differential.Scenario, c compare.Conditions, wait func()) (compare.Side, error) {
	return upstream.New(configOf(s, c, wait))
}

func configOf(s differential.Scenario, c compare.Conditions, wait func()) upstream.Config {
	return upstream.Config{
		Delay: c.Delay, Lag: c.Lag, Seed: c.Seed, Sequenced: c.Sequenced, Order: c.Order, Variation: c.Variation, Latency: c.Latency, Phase: c.Phase,
		Sorted: c.Sorted, Wait: wait, Attach: s.Attach, Kubelets: s.Kubelets, Nodes: s.Nodes, Controllers: s.Controllers, Volumes: s.Volumes, Cannot: s.Cannot,
		MountGroup: s.MountGroup, GroupChange: s.GroupChange,
	}
}

// runUpstream runs a scenario on the controllers of Kubernetes.
func runUpstream(t *testing.T, s differential.Scenario, c compare.Conditions) []differential.Observation {
	t.Helper()
	return compare.Real(kubernetes).Run(t, s, c)
}

// runOurs runs a scenario on our controllers.
func runOurs(t *testing.T, s differential.Scenario, opts differential.Options) []differential.Observation {
	t.Helper()
	seen, _ := compare.RunOurs(t, s, opts)
	return seen
}

// optionsOf returns the options of our side for a scenario.
func optionsOf(s differential.Scenario) differential.Options { return compare.Options(s) }

// TestDifferential compares scenarios of volumes and claims.
func TestDifferential(t *testing.T) { compareScenarios(t, differential.Generate, 300) }

// TestDifferentialAttach compares scenarios of nodes with the attach/detach controller.
func TestDifferentialAttach(t *testing.T) { compareScenarios(t, differential.GenerateAttach, 100) }

// compareScenarios compares as many scenarios as -seeds says, or a default number.
func compareScenarios(t *testing.T, generate func(uint64) differential.Scenario, modest int) {
	t.Helper()
	compare.Scenarios(t, kubernetes, generate, modest)
}
