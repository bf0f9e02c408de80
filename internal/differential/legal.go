package differential

import (
	"fmt"
	"slices"
	"strings"

	"github.com/google/go-cmp/cmp"
)

// Outcomes are the ways in which the controllers of Kubernetes were seen to play a scenario.
type Outcomes struct{ runs [][]Observation }

// Add adds a run.
func (o *Outcomes) Add(run []Observation) { o.runs = append(o.runs, run) }

// Check tells why what we saw is not one of the outcomes, "" if it is.
//
// Each observation must have been made in some run in the same state, that is after the same objects had been seen; not all observations
// need to come from one run, since races at one step have nothing to do with those at another. The writes to an object must have been made
// in that order. Writes to different objects are made by goroutines that do not wait for each other: of these, two must be in
// the order that they had in all runs that made the observation.
func (o *Outcomes) Check(ours []Observation) string {
	for i, got := range ours {
		var before []string
		if i > 0 {
			before = ours[i-1].Objects
		}
		var same []Observation
		var nearest string
		for _, run := range o.runs {
			if i >= len(run) || i > 0 && !slices.Equal(run[i-1].Objects, before) {
				continue
			}
			diff := cmp.Diff(run[i].withoutOrder(), got.withoutOrder())
			if diff == "" {
				same = append(same, run[i])
			} else if nearest == "" || len(diff) < len(nearest) {
				nearest = diff
			}
		}
		if len(same) == 0 {
			return fmt.Sprintf("after step %d, never seen in %d runs; -the nearest of them +ours:\n%s", got.Step, len(o.runs), nearest)
		}
		if first, second, ok := outOfOrder(same, got); ok {
			return fmt.Sprintf("after step %d, in each of %d runs the first of these writes came before the second:\n  %s\n  %s", got.Step, len(same), first, second)
		}
	}
	return ""
}

// withoutOrder has the writes of each object in order, and the objects sorted.
func (o Observation) withoutOrder() Observation {
	o.Writes = slices.Clone(o.Writes)
	slices.SortStableFunc(o.Writes, func(a, b string) int { return strings.Compare(objectOf(a), objectOf(b)) })
	return o
}

// objectOf is the object that a write is about.
func objectOf(write string) string { return write[:strings.Index(write, " by ")] }

// outOfOrder finds two writes that come in another order than in all of the runs.
func outOfOrder(runs []Observation, got Observation) (first, second string, ok bool) {
	var places []map[string]int
	for _, run := range runs {
		places = append(places, placesOf(run.Writes))
	}
	ours := numbered(got.Writes)
	for i, later := range ours {
		for _, earlier := range ours[i+1:] {
			// Ours has "later" first.
			always := true
			for _, place := range places {
				always = always && place[earlier] < place[later]
			}
			if always {
				return earlier, later, true
			}
		}
	}
	return "", "", false
}

// numbered makes equal writes different.
func numbered(writes []string) []string {
	count := map[string]int{}
	var out []string
	for _, w := range writes {
		count[w]++
		out = append(out, fmt.Sprintf("%s (%d)", w, count[w]))
	}
	return out
}

func placesOf(writes []string) map[string]int {
	places := map[string]int{}
	for i, w := range numbered(writes) {
		places[w] = i
	}
	return places
}
