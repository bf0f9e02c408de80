package compare

import (
	"time"

	"github.com/volsim/volsim/internal/proof/differential"
	"github.com/volsim/volsim/internal/proof/differential/apiserver"
	"github.com/volsim/volsim/internal/proof/differential/harness"
)

// Conditions are those of one run of a scenario on the real controllers.
type Conditions struct {
	// Delay, Lag, Seed, Sequenced, Order, Variation and Latency are those of harness.Config.
	Delay, Lag time.Duration
	Seed       uint64
	Sequenced  bool
	Order      []differential.Action
	Variation  harness.Variation
	Latency    time.Duration
	// Phase is the maximum random delay of a kubelet's loops after its start. Sorted sorts what upstream takes from maps.
	Phase  time.Duration
	Sorted bool
}

// exact and batched follow our order most closely. In the second, kubelets receive several changes at once.
var (
	exact   = harness.Variation{Burst: apiserver.Alone, Workers: true, Exact: true}
	batched = harness.Variation{Burst: apiserver.Merged, Workers: true, Exact: true, Lazy: true}
)

// variations are tried in this order. The first ones most often lead to our outcome. They come again: what the real controllers take from a Go map
// has another order in each run.
var variations = []harness.Variation{
	exact,
	batched,
	{Burst: apiserver.Merged},
	{Burst: apiserver.Merged, Lazy: true},
	exact,
	{Burst: apiserver.Merged, Workers: true},
	{Burst: apiserver.Merged, Strict: true},
	batched,
	{Burst: apiserver.Together},
	{Burst: apiserver.Merged, Lazy: true, Workers: true},
	exact,
	{Burst: apiserver.Together, Lazy: true},
	{Burst: apiserver.Together, Workers: true},
	batched,
	{Burst: apiserver.Alone},
	{Burst: apiserver.Alone, Lazy: true},
	{Burst: apiserver.Alone, Workers: true},
}

// Sequenced returns the conditions of the nth run of a scenario: in our order with one variation after the other, and after that every second
// run with random delays instead.
func Sequenced(run int, order []differential.Action, latency time.Duration) Conditions {
	first := run < len(variations)
	if !first && run%2 == 0 {
		return Random(run / 2)
	}
	variation := variations[run%len(variations)]
	if !first {
		// Runs are odd here, and each variation has its turn again.
		variation = variations[run/2%len(variations)]
	}
	return Conditions{
		Sequenced: true, Order: order, Variation: variation, Latency: latency, Seed: uint64(run), Sorted: first || run%3 > 0,
	}
}

// Random returns the conditions of the nth run with random delays: none, or for requests, or for watch events, or for both.
func Random(run int) Conditions {
	longest := []time.Duration{time.Millisecond, 3 * time.Millisecond, 10 * time.Millisecond, 30 * time.Millisecond, 100 * time.Millisecond}[run/4%5]
	c := Conditions{Seed: uint64(run)}
	// Kubelets start when ours do or at another time, and walk maps sorted or not.
	c.Phase, c.Sorted = time.Duration(run/4%2)*100*time.Millisecond, run%3 < 2
	if run%2 == 1 {
		c.Delay = longest
	}
	if run/2%2 == 1 {
		c.Lag = longest
	}
	return c
}
