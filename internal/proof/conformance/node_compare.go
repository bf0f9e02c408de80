package conformance

import (
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

// Tolerance is how much earlier or later than recorded something may happen. A state is compared only if nothing happens within
// Tolerance. It is the period of the controller's and the kubelets' loops, whose phase is not determined.
const Tolerance = 100 * time.Millisecond

// Slack is how far a call may be outside its recorded range. Start times of components differ by up to 30 ms, and a few dozen runs do not
// cover every combination.
const Slack = 50 * time.Millisecond

// Check returns the differences between observed and recorded; nil if there is none.
//
// States and Events are compared after each step with margins larger than Tolerance, and after steps without duration that follow one.
// The calls since the previous comparison must be the same, in an order that agrees with the recorded partial order, each within its
// range extended by Slack.
func (s NodeScenario) Check(got []NodeObservation) []string {
	return CompareNodes(s.Steps, s.Observations, got)
}

// CompareNodes is Check for steps and their recorded observations.
func CompareNodes(steps []NodeStep, want, got []NodeObservation) []string {
	if len(want) != len(steps) || len(got) != len(steps) {
		return []string{fmt.Sprintf("%d steps, but %d observations recorded and %d made", len(steps), len(want), len(got))}
	}
	var diffs []string
	note := func(i int, format string, args ...any) {
		diffs = append(diffs, fmt.Sprintf("after step %d (%s, %d ms): ", i, steps[i].Op, want[i].AtMs)+fmt.Sprintf(format, args...))
	}
	compared := Compared(steps, want)
	first, began := 0, 0
	for i := range steps {
		if len(want[i].CallTimesMs) != len(want[i].Calls) {
			note(i, "%d calls and %d times of calls", len(want[i].Calls), len(want[i].CallTimesMs))
			continue
		}
		if want[i].AtMs != got[i].AtMs {
			note(i, "it is %d ms", got[i].AtMs)
		}
		if !compared[i] {
			continue
		}
		if diff := cmp.Diff(state(want[i]), state(got[i]), cmpopts.EquateEmpty()); diff != "" {
			note(i, "%s", diff)
		}
		if diff := cmp.Diff(allEvents(want[first:i+1]), allEvents(got[first:i+1]), cmpopts.EquateEmpty()); diff != "" {
			note(i, "%s", diff)
		}
		for _, diff := range compareCalls(began, want[first:i+1], got[first:i+1]) {
			note(i, "%s", diff)
		}
		first, began = i+1, want[i].AtMs
	}
	return diffs
}

// Compared returns the steps after which states are compared: those with nothing happening so close to their end that it may fall on the
// other side.
func Compared(steps []NodeStep, recorded []NodeObservation) []bool {
	compared := make([]bool, len(steps))
	after := true
	for i, step := range steps {
		after = comparable(step, recorded[i], after)
		compared[i] = after
	}
	return compared
}

// comparable reports whether nothing happens that close to the end of the step. after is the answer for the step before.
func comparable(step NodeStep, o NodeObservation, after bool) bool {
	switch step.Op {
	case "advance":
		limit := int(Tolerance.Milliseconds())
		return o.MarginMs != nil && o.MarginMs[0] > limit && o.MarginMs[1] > limit
	case "startNode", "rebootNode", "startController":
		return false
	}
	return after
}

// state returns the observation without what happened before it.
func state(o NodeObservation) NodeObservation {
	return NodeObservation{AtMs: o.AtMs, Nodes: o.Nodes, Pods: o.Pods, VolumeAttachments: o.VolumeAttachments}
}

// allEvents returns the set of Events of several observations.
func allEvents(observations []NodeObservation) [][]string {
	var all [][]string
	for _, o := range observations {
		all = append(all, o.Events...)
	}
	slices.SortFunc(all, slices.Compare)
	return slices.CompactFunc(all, slices.Equal)
}

// timedCall is a call with its time since the first step, and its recorded range.
type timedCall struct {
	What
	at, least, greatest int
}

// timed returns the calls of observations. began is the time of the first of their steps.
func timed(began int, observations []NodeObservation) []timedCall {
	var calls []timedCall
	for _, o := range observations {
		for i, c := range o.Calls {
			t := timedCall{What: c.What, at: began + c.Ms}
			if i < len(o.CallTimesMs) {
				t.least, t.greatest = began+o.CallTimesMs[i][0], began+o.CallTimesMs[i][1]
			}
			calls = append(calls, t)
		}
		began = o.AtMs
	}
	return calls
}

// compareCalls compares the calls of several steps: which, in which order, and when.
func compareCalls(began int, want, got []NodeObservation) []string {
	recorded, observed := timed(began, want), timed(began, got)
	places := map[What][]int{} // of the observed calls
	for i, c := range observed {
		places[c.What] = append(places[c.What], i)
	}
	var diffs []string
	partner := make([]int, len(recorded))
	used := map[What]int{}
	for i, c := range recorded {
		n := used[c.What]
		used[c.What]++
		if n >= len(places[c.What]) {
			partner[i] = -1
			diffs = append(diffs, fmt.Sprintf("%v at %d..%d ms: not observed", c.What, c.least, c.greatest))
			continue
		}
		partner[i] = places[c.What][n]
		at, slack := observed[partner[i]].at, int(Slack.Milliseconds())
		if at < c.least-slack || at > c.greatest+slack {
			diffs = append(diffs, fmt.Sprintf("%v: recorded %d..%d ms after the first step, observed %d", c.What, c.least, c.greatest, at))
		}
	}
	for _, c := range slices.SortedFunc(maps.Keys(places), func(a, b What) int { return slices.Compare(a.fields(), b.fields()) }) {
		for _, i := range places[c][min(used[c], len(places[c])):] {
			diffs = append(diffs, fmt.Sprintf("%v at %d ms: not recorded", c, observed[i].at))
		}
	}
	base := 0
	for _, o := range want {
		for _, pair := range o.CallOrder {
			if pair[0] < 0 || pair[1] < 0 || pair[0] >= len(o.Calls) || pair[1] >= len(o.Calls) {
				diffs = append(diffs, fmt.Sprintf("order %v of %d calls", pair, len(o.Calls)))
				continue
			}
			a, b := base+pair[0], base+pair[1]
			if partner[a] >= 0 && partner[b] >= 0 && partner[a] >= partner[b] {
				diffs = append(diffs,
					fmt.Sprintf("%v at %d ms must come before %v at %d ms", recorded[a].What, recorded[a].at, recorded[b].What, recorded[b].at))
			}
		}
		base += len(o.Calls)
	}
	return diffs
}

func (w What) fields() []string { return []string{w.Call, w.Volume, w.Node, w.Pod, w.Result} }
