package differential_test

import (
	"flag"
	"os"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/volsim/volsim/internal/differential"
	"github.com/volsim/volsim/internal/differential/upstream"
)

var (
	seeds   = flag.Int("seeds", 20, "how many random scenarios are played")
	runs    = flag.Int("runs", 240, "how often a scenario is played upstream before it counts as a divergence")
	shuffle = flag.Int64("shuffle", 0, "the seed of our cluster; 0 is in order")
	latency = flag.Duration("latency", 0, "how long an API call takes in our cluster")
	first   = flag.Uint64("first", 1, "the seed of the first")
)

func TestMain(m *testing.M) {
	flag.Parse()
	upstream.Quiet()
	os.Exit(m.Run())
}

// playUpstream plays a scenario with the controllers of Kubernetes.
func playUpstream(t *testing.T, s differential.Scenario, cfg upstream.Config) (seen []differential.Observation) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		cfg.Wait, cfg.Attach = synctest.Wait, s.Attach
		w, err := upstream.New(cfg)
		require.NoError(t, err)
		defer w.Close()
		seen, err = differential.Play(w, s)
		require.NoError(t, err)
	})
	return seen
}

func playOurs(t *testing.T, s differential.Scenario, opts differential.Options) []differential.Observation {
	t.Helper()
	w, err := differential.NewOurs(opts)
	require.NoError(t, err)
	defer w.Close()
	seen, err := differential.Play(w, s)
	require.NoError(t, err)
	return seen
}

// optionsOf are the options of our world for a scenario.
func optionsOf(s differential.Scenario) differential.Options {
	return differential.Options{Attach: s.Attach, Seed: *shuffle, Latency: *latency}
}

// conditions are under what circumstances a scenario is played the nth time: nothing takes any time, or requests or watch events
// or both do.
func conditions(run int) upstream.Config {
	longest := []time.Duration{time.Millisecond, 3 * time.Millisecond, 10 * time.Millisecond, 30 * time.Millisecond, 100 * time.Millisecond}[run/4%5]
	cfg := upstream.Config{Seed: uint64(run)}
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
	ours := playOurs(t, s, optionsOf(s))
	var outcomes differential.Outcomes
	why := ""
	for run := range runs {
		outcomes.Add(playUpstream(t, s, conditions(run)))
		if why = outcomes.Check(ours); why == "" {
			break
		}
	}
	return why
}

// TestDifferential plays scenarios of volumes and claims.
func TestDifferential(t *testing.T) { compareScenarios(t, differential.Generate) }

// TestDifferentialAttach plays scenarios of nodes, with the attach/detach controller.
func TestDifferentialAttach(t *testing.T) { compareScenarios(t, differential.GenerateAttach) }

func compareScenarios(t *testing.T, generate func(uint64) differential.Scenario) {
	var events, writes, calls int
	for i := range *seeds {
		seed := *first + uint64(i)
		s := generate(seed)
		for _, o := range playOurs(t, s, optionsOf(s)) {
			events, writes, calls = events+len(o.Events), writes+len(o.Writes), calls+len(o.Calls)
		}
		if divergence(t, s, *runs) == "" {
			continue
		}
		small := differential.Shrink(s, func(s differential.Scenario) bool { return divergence(t, s, *runs) != "" })
		why := divergence(t, small, *runs)
		if why == "" {
			// So rare a race that it is not seen each time: the whole scenario is what we have.
			small, why = s, divergence(t, s, 2**runs)
		}
		script, err := small.Script()
		require.NoError(t, err)
		t.Errorf("seed %d, shrunk:\n%s\n%s", seed, script, why)
	}
	t.Logf("%d scenarios: %d Events, %d writes and %d storage calls", *seeds, events, writes, calls)
	require.Greater(t, min(events, writes, calls), *seeds/4, "too little happens for this to mean anything")
}
