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
	seeds   = flag.Int("seeds", 0, "how many random scenarios are played; 0 is a modest number, which is more of those that are soon played")
	runs    = flag.Int("runs", 240, "how often a scenario is played upstream before it counts as a divergence")
	shuffle = flag.Int64("shuffle", 0, "the seed of our cluster; 0 is in order")
	latency = flag.Duration("latency", 0, "how long an API call takes in our cluster")
	shrink  = flag.Bool("shrink", true, "whether a divergence is shrunk, which takes long")
	first   = flag.Uint64("first", 1, "the seed of the first")
)

func TestMain(m *testing.M) {
	flag.Parse()
	upstream.Quiet()
	upstream.SignalsOutside()
	upstream.Unjittered()
	os.Exit(m.Run())
}

// playUpstream plays a scenario with the controllers of Kubernetes.
func playUpstream(t *testing.T, s differential.Scenario, cfg upstream.Config) (seen []differential.Observation) {
	t.Helper()
	if cfg.Sequenced {
		// With one processor, a component takes in the events that arrive together before it acts, more often than not.
		defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	}
	synctest.Test(t, func(t *testing.T) {
		cfg.Wait, cfg.Attach, cfg.Kubelets = synctest.Wait, s.Attach, s.Kubelets
		cfg.Cannot, cfg.MountGroup, cfg.GroupChange = s.Cannot, s.MountGroup, s.GroupChange
		w, err := upstream.New(cfg)
		require.NoError(t, err)
		defer w.Close()
		seen, err = differential.Play(w, s)
		require.NoError(t, err)
	})
	return seen
}

// playOurs plays a scenario with ours.
func playOurs(t *testing.T, s differential.Scenario, opts differential.Options) []differential.Observation {
	t.Helper()
	seen, _ := orderOurs(t, s, opts)
	return seen
}

// orderOurs is playOurs, and tells besides what the controllers asked for.
func orderOurs(t *testing.T, s differential.Scenario, opts differential.Options) ([]differential.Observation, []differential.Action) {
	t.Helper()
	w, err := differential.NewOurs(opts)
	require.NoError(t, err)
	defer w.Close()
	seen, err := differential.Play(w, s)
	require.NoError(t, err)
	return seen, w.Order()
}

// optionsOf are the options of our world for a scenario.
func optionsOf(s differential.Scenario) differential.Options {
	return differential.Options{Attach: s.Attach, Kubelets: s.Kubelets, Cannot: s.Cannot, MountGroup: s.MountGroup, GroupChange: s.GroupChange, Seed: *shuffle, Latency: *latency}
}

// conditions are under what circumstances a scenario is played the nth time: nothing takes any time, or requests or watch events
// or both do.
func conditions(run int) upstream.Config {
	longest := []time.Duration{time.Millisecond, 3 * time.Millisecond, 10 * time.Millisecond, 30 * time.Millisecond, 100 * time.Millisecond}[run/4%5]
	cfg := upstream.Config{Seed: uint64(run)}
	// Kubelets begin when ours do, or at another time, and go through what they want in order or not.
	cfg.Phase, cfg.Sorted = time.Duration(run/4%2)*100*time.Millisecond, run%3 < 2
	if run%2 == 1 {
		cfg.Delay = longest
	}
	if run/2%2 == 1 {
		cfg.Lag = longest
	}
	return cfg
}

// divergence plays a scenario here, and upstream until what was seen here is seen there. It tells what was not seen in so many runs.
func divergence(t *testing.T, s differential.Scenario, runs int) string {
	t.Helper()
	opts := optionsOf(s)
	opts.Watch = true
	ours, order := orderOurs(t, s, opts)
	var outcomes differential.Outcomes
	for run := range runs {
		outcomes.Add(playUpstream(t, s, sequenced(run, order)))
		if outcomes.Legal(ours) {
			plays.of(run + 1)
			return ""
		}
	}
	return outcomes.Check(ours)
}

// count counts how often scenarios were played upstream, and what was the most.
type count struct{ all, most int }

func (c *count) of(n int) { c.all, c.most = c.all+n, max(c.most, n) }

var plays count

// many are so many plays that a scenario which needs more is told of.
const many = 10

// TestDifferential plays scenarios of volumes and claims.
func TestDifferential(t *testing.T) { compareScenarios(t, differential.Generate, 300) }

// TestDifferentialAttach plays scenarios of nodes, with the attach/detach controller.
func TestDifferentialAttach(t *testing.T) { compareScenarios(t, differential.GenerateAttach, 100) }

// compareScenarios plays as many scenarios as -seeds says, or else a modest number.
func compareScenarios(t *testing.T, generate func(uint64) differential.Scenario, modest int) {
	plays = count{}
	number := modest
	if *seeds > 0 {
		number = *seeds
	}
	var events, writes, calls int
	for i := range number {
		seed := *first + uint64(i)
		s := generate(seed)
		for _, o := range playOurs(t, s, optionsOf(s)) {
			events, writes, calls = events+len(o.Events), writes+len(o.Writes), calls+len(o.Calls)
		}
		before := plays.all
		why := divergence(t, s, *runs)
		if why == "" {
			if needed := plays.all - before; needed > many {
				t.Logf("seed %d was played upstream %d times", seed, needed)
			}
			continue
		}
		if *shrink {
			small := differential.Shrink(s, func(s differential.Scenario) bool { return divergence(t, s, *runs) != "" })
			// Of so rare a race that it is not seen each time, the whole scenario is what we have.
			if again := divergence(t, small, *runs); again != "" {
				s, why = small, again
			}
		}
		script, err := s.Script()
		require.NoError(t, err)
		t.Errorf("seed %d, perhaps shrunk:\n%s\n%s", seed, script, why)
	}
	t.Logf("%d scenarios, played upstream %d times, one of them %d times: %d Events, %d writes and %d storage calls", number, plays.all, plays.most, events, writes, calls)
	if number >= 20 {
		require.Greater(t, min(events, writes, calls), number/4, "too little happens for this to mean anything")
	}
}
