package compare

import (
	"flag"
	"runtime"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/volsim/volsim/internal/proof/differential"
)

// The flags of the tests.
var (
	Seeds   = flag.Int("seeds", 0, "number of random scenarios; 0 is a default that takes little time")
	First   = flag.Uint64("first", 1, "first seed")
	runs    = flag.Int("runs", 240, "upstream runs of a scenario before it counts as a divergence")
	shuffle = flag.Int64("shuffle", 0, "seed of our cluster; 0 runs events in order")
	latency = flag.Duration("latency", 0, "how long an API call takes in our cluster")
	shrink  = flag.Bool("shrink", true, "shrink divergences; takes long")
)

// Side is a real side that ends.
type Side interface {
	differential.Side
	Close()
}

// Real makes the real side for a scenario, inside a bubble. wait is synctest.Wait.
type Real func(s differential.Scenario, c Conditions, wait func()) (Side, error)

// Run runs a scenario on the real controllers.
func (real Real) Run(t *testing.T, s differential.Scenario, c Conditions) (seen []differential.Observation) {
	t.Helper()
	if c.Sequenced {
		// With one processor, a component usually receives all events that arrive together before it acts.
		defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	}
	synctest.Test(t, func(t *testing.T) {
		w, err := real(s, c, synctest.Wait)
		require.NoError(t, err)
		defer w.Close()
		seen, err = differential.Run(w, s)
		require.NoError(t, err)
	})
	return seen
}

// RunOurs runs a scenario on our controllers, and returns our order if opts.Watch is set.
func RunOurs(t *testing.T, s differential.Scenario, opts differential.Options) ([]differential.Observation, []differential.Action) {
	t.Helper()
	w, err := differential.NewOurs(opts)
	require.NoError(t, err)
	defer w.Close()
	seen, err := differential.Run(w, s)
	require.NoError(t, err)
	return seen, w.Order()
}

// Options returns the options of our side for a scenario.
func Options(s differential.Scenario) differential.Options {
	return differential.Options{
		Attach: s.Attach, Kubelets: s.Kubelets, Nodes: s.Nodes, Controllers: s.Controllers, Volumes: s.Volumes, Cannot: s.Cannot, MountGroup: s.MountGroup, GroupChange: s.GroupChange,
		Seed: *shuffle, Latency: *latency,
	}
}

// Latency is how long an API call takes.
func Latency() time.Duration { return *latency }

// count counts upstream runs, and the most of one scenario.
type count struct{ all, most int }

func (c *count) add(n int) { c.all, c.most = c.all+n, max(c.most, n) }

// comparison compares scenarios.
type comparison struct {
	real   Real
	needed count
}

// divergence runs a scenario here, and then upstream until our outcome is legal. After too many runs it describes what was not seen.
func (c *comparison) divergence(t *testing.T, s differential.Scenario) string {
	t.Helper()
	opts := Options(s)
	opts.Watch = true
	ours, order := RunOurs(t, s, opts)
	var outcomes differential.Outcomes
	for run := range *runs {
		outcomes.Add(c.real.Run(t, s, Sequenced(run, order, *latency)))
		if outcomes.Legal(ours) {
			c.needed.add(run + 1)
			return ""
		}
		if run+1 == many {
			t.Logf("not seen yet, after %d of %d upstream runs: %s", many, *runs, outcomes.Check(ours))
		}
	}
	return outcomes.Check(ours)
}

// many is the number of runs above which a scenario is logged.
const many = 10

// Number is the number of scenarios: what -seeds says, or a default.
func Number(modest int) int {
	if *Seeds > 0 {
		return *Seeds
	}
	return modest
}

// Scenarios compares as many scenarios as -seeds says, or a default number.
func Scenarios(t *testing.T, real Real, generate func(uint64) differential.Scenario, modest int) {
	c := comparison{real: real}
	number := Number(modest)
	var events, writes, calls int
	for i := range number {
		seed := *First + uint64(i)
		s := generate(seed)
		seen, _ := RunOurs(t, s, Options(s))
		for _, o := range seen {
			events, writes, calls = events+len(o.Events), writes+len(o.Writes), calls+len(o.Calls)
		}
		before := c.needed.all
		why := c.divergence(t, s)
		if why == "" {
			if needed := c.needed.all - before; needed > many {
				t.Logf("seed %d needed %d upstream runs", seed, needed)
			}
			continue
		}
		if *shrink {
			small := differential.Shrink(s, func(s differential.Scenario) bool { return c.divergence(t, s) != "" })
			// A race too rare to be seen in each attempt cannot be shrunk.
			if again := c.divergence(t, small); again != "" {
				s, why = small, again
			}
		}
		script, err := s.Script()
		require.NoError(t, err)
		t.Errorf("seed %d (shrunk if possible):\n%s\n%s", seed, script, why)
	}
	t.Logf("%d scenarios, %d upstream runs, at most %d for one: %d Events, %d writes and %d storage calls", number, c.needed.all, c.needed.most, events, writes, calls)
	if number >= 20 {
		some := generate(*First)
		require.Greater(t, writes, number/4, "too little happens to mean anything")
		require.True(t, events > number/4 || some.Quiet(), "too few Events to mean anything")
		require.True(t, calls > number/4 || some.Nodes || len(some.Controllers) > 0, "too few storage calls to mean anything")
	}
}
