package rundiff

import (
	"regexp"
	"slices"
	"time"

	"github.com/volsim/volsim/trace"
)

// Divergence is the first time at which one run has an entry that the other does not have.
type Divergence struct {
	// At is the time since the start, such as +15s.
	At string `json:"at"`
	// A and B are the entries of each run around it.
	A []Entry `json:"a"`
	B []Entry `json:"b"`
}

// Entry is an entry of a trace.
type Entry struct {
	Seq   uint64 `json:"seq"`
	At    string `json:"at"`
	Actor string `json:"actor"`
	// Text describes the entry. Rule is set for decisions.
	Text string `json:"text"`
	Rule string `json:"rule,omitempty"`
	// Only reports whether the other run has no such entry at this time.
	Only bool `json:"only,omitempty"`
}

// Number of entries reported before and after the first one that the other run does not have.
const (
	contextBefore = 4
	contextAfter  = 4
)

// item is an entry to compare.
type item struct {
	entry trace.Entry
	at    time.Duration
	text  string
	only  bool
}

func items(run Run, n *names) []item {
	all := make([]item, 0, run.Trace.Len())
	for e := range run.Trace.Entries() {
		all = append(all, item{entry: e, at: e.Time.Sub(run.Start), text: translated(n, e.String())})
	}
	return all
}

var timeForm = regexp.MustCompile(`\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z`)

// key returns a string that is equal for matching entries: it contains timestamps relative to the start.
func (i item) key(start time.Time) string {
	text := timeForm.ReplaceAllStringFunc(i.text, func(text string) string {
		at, err := time.Parse(time.RFC3339, text)
		if err != nil {
			return text
		}
		return at.Sub(start).String()
	})
	return i.entry.Actor + "\n" + text
}

// findDivergence returns where two traces diverge, and the first entry before that whose order differs.
func findDivergence(runA, runB Run, n *names) (*Divergence, *Entry) {
	a, b := items(runA, nil), items(runB, n)
	var reordered *Entry
	for endA, endB := 0, 0; endA < len(a) || endB < len(b); {
		startA, startB := endA, endB
		at := instant(a[startA:], b[startB:])
		endA, endB = endOfInstant(a, startA, at), endOfInstant(b, startB, at)
		keysA, keysB := keys(a[startA:endA], runA.Start), keys(b[startB:endB], runB.Start)
		markOnly(a[startA:endA], keysA, keysB)
		markOnly(b[startB:endB], keysB, keysA)
		firstA, firstB := firstOnly(a, startA, endA), firstOnly(b, startB, endB)
		if firstA == endA && firstB == endB {
			if reordered == nil {
				if i := firstDifference(keysA, keysB); i < len(keysA) {
					reordered = a[startA+i].toEntry()
				}
			}
			continue
		}
		mark(a, b, endA, endB, runA.Start, runB.Start)
		return &Divergence{At: "+" + at.String(), A: context(a, firstA), B: context(b, firstB)}, reordered
	}
	return nil, reordered
}

// instant returns the time of the next entry of either trace.
func instant(a, b []item) time.Duration {
	switch {
	case len(a) == 0:
		return b[0].at
	case len(b) == 0:
		return a[0].at
	}
	return min(a[0].at, b[0].at)
}

// endOfInstant returns the index of the first entry from start on that is later than at.
func endOfInstant(all []item, start int, at time.Duration) int {
	for start < len(all) && all[start].at <= at {
		start++
	}
	return start
}

func keys(all []item, start time.Time) []string {
	texts := make([]string, len(all))
	for i := range all {
		texts[i] = all[i].key(start)
	}
	return texts
}

// markOnly marks the entries of one time that the other run does not have, or fewer times.
func markOnly(all []item, mine, others []string) {
	left := map[string]int{}
	for _, key := range others {
		left[key]++
	}
	for i, key := range mine {
		left[key]--
		all[i].only = left[key] < 0
	}
}

func firstOnly(all []item, start, end int) int {
	for i := start; i < end; i++ {
		if all[i].only {
			return i
		}
	}
	return end
}

func firstDifference(a, b []string) int {
	for i := range a {
		if a[i] != b[i] {
			return i
		}
	}
	return len(a)
}

// mark marks the reported entries after the divergence.
func mark(a, b []item, endA, endB int, startA, startB time.Time) {
	lastA, lastB := min(len(a), endA+contextAfter), min(len(b), endB+contextAfter)
	for endA < lastA || endB < lastB {
		fromA, fromB := endA, endB
		at := instant(a[fromA:], b[fromB:])
		endA, endB = endOfInstant(a, fromA, at), endOfInstant(b, fromB, at)
		keysA, keysB := keys(a[fromA:endA], startA), keys(b[fromB:endB], startB)
		markOnly(a[fromA:endA], keysA, keysB)
		markOnly(b[fromB:endB], keysB, keysA)
	}
}

// context returns the entries around an index.
func context(all []item, index int) []Entry {
	shown := []Entry{}
	for _, i := range all[max(0, index-contextBefore):min(len(all), index+1+contextAfter)] {
		shown = append(shown, *i.toEntry())
	}
	return slices.Clip(shown)
}

func (i item) toEntry() *Entry {
	return &Entry{Seq: i.entry.Seq, At: "+" + i.at.String(), Actor: i.entry.Actor, Text: i.text, Rule: i.entry.Rule, Only: i.only}
}
