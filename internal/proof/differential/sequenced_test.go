package differential_test

import (
	"github.com/volsim/volsim/internal/proof/differential"
	"github.com/volsim/volsim/internal/proof/differential/apiserver"
	"github.com/volsim/volsim/internal/proof/differential/upstream"
)

// variations are tried in this order. The first ones most often lead to our outcome.
var variations = []upstream.Variation{
	{Burst: apiserver.Merged},
	{Burst: apiserver.Merged, Lazy: true},
	{Burst: apiserver.Merged, Workers: true},
	{Burst: apiserver.Together},
	{Burst: apiserver.Merged, Lazy: true, Workers: true},
	{Burst: apiserver.Together, Lazy: true},
	{Burst: apiserver.Together, Workers: true},
	{Burst: apiserver.Alone},
	{Burst: apiserver.Alone, Lazy: true},
	{Burst: apiserver.Alone, Workers: true},
}

// sequenced configures the nth run of a scenario on the real components: in our order with one variation after the other, and after that
// every second run with random delays instead.
func sequenced(run int, order []differential.Action) upstream.Config {
	if run >= len(variations) && run%2 == 0 {
		return conditions(run / 2)
	}
	return upstream.Config{
		Sequenced: true, Order: order, Variation: variations[run%len(variations)], Latency: *latency, Seed: uint64(run),
		Sorted: run < len(variations) || run%3 > 0,
	}
}
