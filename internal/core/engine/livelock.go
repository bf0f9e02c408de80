package engine

import (
	"cmp"
	"fmt"
	"maps"
	"slices"

	"github.com/volsim/volsim/api"
)

const (
	maxEventsAtOnce    = 10_000
	maxEventsPerObject = 200
)

// livelock reports whether so many events ran at this instant that they seem to have no end: one instant may have many for each object, but a
// bounded number. From the half of them on, the engine counts the calls.
func (d *drain) livelock() bool {
	if d.count <= maxEventsAtOnce/2 {
		return false
	}
	limit := max(maxEventsAtOnce, maxEventsPerObject*d.engine.store.Len())
	if d.count > limit/2 && d.engine.repeated == nil {
		d.engine.repeated = map[api.Call]int{}
	}
	return d.count > limit
}

// mostRepeated describes the calls that were made most often, each with its number.
func (e *Engine) mostRepeated() []string {
	const shown = 3
	calls := slices.SortedFunc(maps.Keys(e.repeated), func(a, b api.Call) int {
		return cmp.Or(cmp.Compare(e.repeated[b], e.repeated[a]), cmp.Compare(fmt.Sprint(a), fmt.Sprint(b)))
	})
	var texts []string
	for _, call := range calls[:min(shown, len(calls))] {
		on := api.Ref{Kind: api.Kind(call.Kind), Key: call.Key}.String()
		if call.Target != api.APIServer {
			on = call.Key + " of " + call.Target
		}
		texts = append(texts, fmt.Sprintf("%s: %s %s (%d times)", call.Actor, call.Verb, on, e.repeated[call]))
	}
	return texts
}
