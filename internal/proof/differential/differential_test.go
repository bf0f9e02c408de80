package differential_test

import (
	"flag"
	"os"
	"runtime"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/volsim/volsim/internal/proof/differential"
	"github.com/volsim/volsim/internal/proof/differential/upstream"
)

var (
	seeds   = flag.Int("seeds", 0, "number of random scenarios; 0 is a default that takes little time")
	runs    = flag.Int("runs", 240, "upstream runs of a scenario before it counts as a divergence")
	shuffle = flag.Int64("shuffle", 0, "seed of our cluster; 0 runs events in order")
	latency = flag.Duration("latency", 0, "how long an API call takes in our cluster")
	shrink  = flag.Bool("shrink", true, "shrink divergences; takes long")
	first   = flag.Uint64("first", 1, "first seed")
)

func TestMain(m *testing.M) {
	flag.Parse()
	upstream.Quiet()
	upstream.SignalsOutside()
	upstream.Unjittered()
	upstream.OrderedQueues()
	os.Exit(m.Run())
}

// runUpstream runs a scenario on the controllers of Kubernetes.
func runUpstream(t *testing.T, s differential.Scenario, cfg upstream.Config) (seen []differential.Observation) {
	t.Helper()
	if cfg.Sequenced {
		// With one processor, a component usually receives all events that arrive together before it acts.
		defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	}
	synctest.Test(t, func(t *testing.T) {
		cfg.Wait, cfg.Attach, cfg.Kubelets, cfg.Nodes, cfg.Controllers = synctest.Wait, s.Attach, s.Kubelets, s.Nodes, s.Controllers
		cfg.Cannot, cfg.MountGroup, cfg.GroupChange = s.Cannot, s.MountGroup, s.GroupChange
		w, err := upstream.New(cfg)
		require.NoError(t, err)
		defer w.Close()
		seen, err = differential.Run(w, s)
		require.NoError(t, err)
	})
	return seen
}

// runOurs runs a scenario on our controllers.
func runOurs(t *testing.T, s differential.Scenario, opts differential.Options) []differential.Observation {
	t.Helper()
	seen, _ := orderOurs(t, s, opts)
	return seen
}

// orderOurs is runOurs, and also returns our order.
func orderOurs(t *testing.T, s differential.Scenario, opts differential.Options) ([]differential.Observation, []differential.Action) {
	t.Helper()
	w, err := differential.NewOurs(opts)
	require.NoError(t, err)
	defer w.Close()
	seen, err := differential.Run(w, s)
	require.NoError(t, err)
	return seen, w.Order()
}

// optionsOf returns the options of our side for a scenario.
func optionsOf(s differential.Scenario) differential.Options {
	return differential.Options{
		Attach: s.Attach, Kubelets: s.Kubelets, Nodes: s.Nodes, Controllers: s.Controllers, Cannot: s.Cannot, MountGroup: s.MountGroup, GroupChange: s.GroupChange,
		Seed: *shuffle, Latency: *latency,
	}
}

// conditions configures the nth run with random delays: none, or for requests, or for watch events, or for both.
func conditions(run int) upstream.Config {
	longest := []time.Duration{time.Millisecond, 3 * time.Millisecond, 10 * time.Millisecond, 30 * time.Millisecond, 100 * time.Millisecond}[run/4%5]
	cfg := upstream.Config{Seed: uint64(run)}
	// Kubelets start when ours do or at another time, and walk maps sorted or not.
	cfg.Phase, cfg.Sorted = time.Duration(run/4%2)*100*time.Millisecond, run%3 < 2
	if run%2 == 1 {
		cfg.Delay = longest
	}
	if run/2%2 == 1 {
		cfg.Lag = longest
	}
	return cfg
}

// divergence runs a scenario here, and then upstream until our outcome is legal. After too many runs it describes what was not seen.
func divergence(t *testing.T, s differential.Scenario, runs int) string {
	t.Helper()
	opts := optionsOf(s)
	opts.Watch = true
	ours, order := orderOurs(t, s, opts)
	var outcomes differential.Outcomes
	for run := range runs {
		outcomes.Add(runUpstream(t, s, sequenced(run, order)))
		if outcomes.Legal(ours) {
			runsNeeded.add(run + 1)
			return ""
		}
	}
	return outcomes.Check(ours)
}

// count counts upstream runs, and the most of one scenario.
type count struct{ all, most int }

func (c *count) add(n int) { c.all, c.most = c.all+n, max(c.most, n) }

var runsNeeded count

// many is the number of runs above which a scenario is logged.
const many = 10

// TestDifferential compares scenarios of volumes and claims.
func TestDifferential(t *testing.T) { compareScenarios(t, differential.Generate, 300) }

// TestDifferentialAttach compares scenarios of nodes with the attach/detach controller.
func TestDifferentialAttach(t *testing.T) { compareScenarios(t, differential.GenerateAttach, 100) }

// compareScenarios compares as many scenarios as -seeds says, or a default number.
func compareScenarios(t *testing.T, generate func(uint64) differential.Scenario, modest int) {
	runsNeeded = count{}
	number := modest
	if *seeds > 0 {
		number = *seeds
	}
	var events, writes, calls int
	for i := range number {
		seed := *first + uint64(i)
		s := generate(seed)
		for _, o := range runOurs(t, s, optionsOf(s)) {
			events, writes, calls = events+len(o.Events), writes+len(o.Writes), calls+len(o.Calls)
		}
		before := runsNeeded.all
		why := divergence(t, s, *runs)
		if why == "" {
			if needed := runsNeeded.all - before; needed > many {
				t.Logf("seed %d needed %d upstream runs", seed, needed)
			}
			continue
		}
		if *shrink {
			small := differential.Shrink(s, func(s differential.Scenario) bool { return divergence(t, s, *runs) != "" })
			// A race too rare to be seen in each attempt cannot be shrunk.
			if again := divergence(t, small, *runs); again != "" {
				s, why = small, again
			}
		}
		script, err := s.Script()
		require.NoError(t, err)
		t.Errorf("seed %d (shrunk if possible):\n%s\n%s", seed, script, why)
	}
	t.Logf("%d scenarios, %d upstream runs, at most %d for one: %d Events, %d writes and %d storage calls", number, runsNeeded.all, runsNeeded.most, events, writes, calls)
	if number >= 20 {
		require.Greater(t, min(events, writes), number/4, "too little happens to mean anything")
		require.True(t, calls > number/4 || generate(*first).Nodes || len(generate(*first).Controllers) > 0, "too few storage calls to mean anything")
	}
}
