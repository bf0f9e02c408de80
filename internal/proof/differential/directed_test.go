package differential_test

import (
	"github.com/volsim/volsim/internal/proof/differential"
	"github.com/volsim/volsim/internal/proof/differential/apiserver"
	"github.com/volsim/volsim/internal/proof/differential/upstream"
)

// manners are the ways in which the real controllers are directed first. Those come first that most often lead to what ours do.
var manners = []upstream.Manner{
	{Strict: true, Burst: apiserver.Merged},
	{Strict: true, Burst: apiserver.Merged, Lazy: true},
	{Strict: true, Burst: apiserver.Merged, Workers: true},
	{Strict: true, Burst: apiserver.Together},
	{Burst: apiserver.Merged, Follow: true},
	{},
	{Burst: apiserver.Together, Everywhere: true, EndsFirst: true},
	{Burst: apiserver.Merged, Follow: true, ClaimsFirst: true},
	{Burst: apiserver.Together, Follow: true, EndsFirst: true},
	{Burst: apiserver.Together},
	{Burst: apiserver.Together, Follow: true, ClaimsFirst: true},
	{Burst: apiserver.Together, Lazy: true},
	{Burst: apiserver.Merged, Lazy: true},
	{Burst: apiserver.Merged, Everywhere: true},
}

// directed are under what circumstances a scenario is played the nth time if there is a plan: first as the plan has it, then with more left
// to chance, and now and then as conditions has it.
func directed(run int, plan []differential.Request) upstream.Config {
	cfg := upstream.Config{Directed: true, Plan: plan, Latency: *latency, Seed: uint64(run), Sorted: run < len(manners) || run%3 > 0}
	switch {
	case run < len(manners):
		cfg.Manner = manners[run]
	case run%8 == 0:
		return conditions(run / 8)
	default:
		cfg.Manner = upstream.Manner{Chance: true, Follow: run%4 != 0, Lazy: run%2 == 0, EventsFirst: run%6 == 0, EndsFirst: run%5 < 2, Burst: apiserver.Burst(run % 3)}
	}
	return cfg
}
