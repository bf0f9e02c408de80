package differential

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
)

// Outcomes are the outcomes of the real controllers for one scenario.
type Outcomes struct {
	runs   [][]Observation
	sorted [][]Observation // the same outcomes, each without the order of writes
}

// Add adds the outcome of a run.
func (o *Outcomes) Add(run []Observation) {
	o.runs = append(o.runs, run)
	o.sorted = append(o.sorted, withoutOrder(run))
}

// Legal reports whether our outcome is legal; see Check.
func (o *Outcomes) Legal(ours []Observation) bool {
	return o.examine(ours, func(int, int, []Observation, string, string) {})
}

// Check returns why our outcome is not legal, "" if it is.
//
// Each observation must have been made in some run in the same state, that is after the same objects were observed; different observations
// may match different runs, because races at one step are independent of those at another. Writes to one object must have the same order.
// Writes to different objects come from goroutines that do not wait for each other: two of them must have the order that they had in all
// runs that made the observation, if those runs agree.
func (o *Outcomes) Check(ours []Observation) (why string) {
	o.examine(ours, func(i, same int, others []Observation, first, second string) {
		if first != "" {
			why = fmt.Sprintf("after step %d, in each of %d runs the first of these writes came before the second:\n  %s\n  %s\nours:\n  %s", ours[i].Step, same, first, second,
				strings.Join(ours[i].Writes, "\n  "))
			return
		}
		nearest := ""
		for _, other := range others {
			if diff := difference(other, ours[i].withoutOrder()); nearest == "" || len(diff) < len(nearest) {
				nearest = diff
			}
		}
		why = fmt.Sprintf("after step %d, never seen in %d runs; -the nearest of them +ours:\n%s", ours[i].Step, len(o.runs), nearest)
	})
	return why
}

// difference lists the lines that only one of two observations has, in order. If only the order differs, it lists all lines of that field.
func difference(theirs, ours Observation) string {
	var text strings.Builder
	a, b := reflect.ValueOf(theirs), reflect.ValueOf(ours)
	for i := range a.NumField() {
		was, ok := a.Field(i).Interface().([]string)
		if !ok || slices.Equal(was, b.Field(i).Interface().([]string)) {
			continue
		}
		now := b.Field(i).Interface().([]string)
		fmt.Fprintf(&text, "%s:\n", a.Type().Field(i).Name)
		only := func(sign string, lines, others []string) (found bool) {
			others = numbered(others)
			for j, line := range numbered(lines) {
				if !slices.Contains(others, line) {
					fmt.Fprintf(&text, "%s %s\n", sign, lines[j])
					found = true
				}
			}
			return found
		}
		if removed, added := only("-", was, now), only("+", now, was); !removed && !added {
			fmt.Fprintf(&text, "- %s\n+ %s\n", strings.Join(was, "\n- "), strings.Join(now, "\n+ "))
		}
	}
	return text.String()
}

// examine searches the runs for each of our observations. If one is missing, it says which, and what was seen instead, or which two
// writes have another order in otherwise equal runs.
func (o *Outcomes) examine(ours []Observation, missing func(i, same int, others []Observation, first, second string)) bool {
	sorted := withoutOrder(ours)
	for i, got := range ours {
		var same, others []Observation
		for r, run := range o.sorted {
			switch {
			case i >= len(run) || i > 0 && !slices.Equal(run[i-1].Objects, ours[i-1].Objects):
			case reflect.DeepEqual(run[i], sorted[i]):
				same = append(same, o.runs[r][i])
			default:
				others = append(others, run[i])
			}
		}
		first, second, ok := outOfOrder(same, got)
		if len(same) == 0 || ok {
			missing(i, len(same), others, first, second)
			return false
		}
	}
	return true
}

func withoutOrder(run []Observation) []Observation {
	sorted := make([]Observation, len(run))
	for i, o := range run {
		sorted[i] = o.withoutOrder()
	}
	return sorted
}

// withoutOrder groups the writes by object, sorted by object.
func (o Observation) withoutOrder() Observation {
	o.Writes = slices.Clone(o.Writes)
	slices.SortStableFunc(o.Writes, func(a, b string) int { return strings.Compare(objectOf(a), objectOf(b)) })
	return o
}

// objectOf returns the object of a write.
func objectOf(write string) string { return write[:strings.Index(write, " by ")] }

// outOfOrder finds two writes whose order differs from that in all runs.
func outOfOrder(runs []Observation, got Observation) (first, second string, ok bool) {
	if len(runs) == 0 || slices.ContainsFunc(runs, func(run Observation) bool { return slices.Equal(run.Writes, got.Writes) }) {
		return "", "", false
	}
	var places []map[string]int
	for _, run := range runs {
		places = append(places, placesOf(run.Writes))
	}
	ours := numbered(got.Writes)
	for i, later := range ours {
		for _, earlier := range ours[i+1:] {
			// In our run "later" comes first.
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

// numbered makes equal writes distinct.
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
