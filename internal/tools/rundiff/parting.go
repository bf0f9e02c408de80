package rundiff

import (
	"regexp"
	"slices"
	"time"

	"github.com/volsim/volsim/trace"
)

// Parting is the first instant at which one run does what the other does not.
type Parting struct {
	// At is the time since the start, as +15s.
	At string `json:"at"`
	// A and B are what each does around it: a few entries before the first that the other does not have, that entry, and a few behind.
	A []Entry `json:"a"`
	B []Entry `json:"b"`
}

// Entry is one of a trace.
type Entry struct {
	Seq   uint64 `json:"seq"`
	At    string `json:"at"`
	Actor string `json:"actor"`
	// Text says what happened. Rule is the rule behind a decision; what follows from one stands behind it, with nothing to tell which.
	Text string `json:"text"`
	Rule string `json:"rule,omitempty"`
	// Only reports whether the other run does not do this at this instant.
	Only bool `json:"only,omitempty"`
}

// How many entries are shown before the first that the other does not have, and behind it.
const (
	before = 4
	behind = 4
)

// item is an entry on its way to be compared.
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

// key is what two entries have in common that say the same: times in them are counted from the start.
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

// part finds where two traces part, and where before that their order differs first.
func part(runA, runB Run, n *names) (*Parting, *Entry) {
	a, b := items(runA, nil), items(runB, n)
	var reordered *Entry
	for endA, endB := 0, 0; endA < len(a) || endB < len(b); {
		startA, startB := endA, endB
		at := instant(a[startA:], b[startB:])
		endA, endB = after(a, startA, at), after(b, startB, at)
		keysA, keysB := keys(a[startA:endA], runA.Start), keys(b[startB:endB], runB.Start)
		markOnly(a[startA:endA], keysA, keysB)
		markOnly(b[startB:endB], keysB, keysA)
		firstA, firstB := firstOnly(a, startA, endA), firstOnly(b, startB, endB)
		if firstA == endA && firstB == endB {
			if reordered == nil {
				if i := firstDifference(keysA, keysB); i < len(keysA) {
					reordered = a[startA+i].shown()
				}
			}
			continue
		}
		mark(a, b, endA, endB, runA.Start, runB.Start)
		return &Parting{At: "+" + at.String(), A: around(a, firstA), B: around(b, firstB)}, reordered
	}
	return nil, reordered
}

// instant is the earlier of the times at which the two go on.
func instant(a, b []item) time.Duration {
	switch {
	case len(a) == 0:
		return b[0].at
	case len(b) == 0:
		return a[0].at
	}
	return min(a[0].at, b[0].at)
}

// after is the first place from start on with an entry that is later than at.
func after(all []item, start int, at time.Duration) int {
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

// markOnly marks the entries of one instant that the other does not have, or not as often.
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

// mark goes on marking behind the parting, as far as is shown.
func mark(a, b []item, endA, endB int, startA, startB time.Time) {
	lastA, lastB := min(len(a), endA+behind), min(len(b), endB+behind)
	for endA < lastA || endB < lastB {
		fromA, fromB := endA, endB
		at := instant(a[fromA:], b[fromB:])
		endA, endB = after(a, fromA, at), after(b, fromB, at)
		keysA, keysB := keys(a[fromA:endA], startA), keys(b[fromB:endB], startB)
		markOnly(a[fromA:endA], keysA, keysB)
		markOnly(b[fromB:endB], keysB, keysA)
	}
}

// around are the entries near a place, as they are shown.
func around(all []item, place int) []Entry {
	shown := []Entry{}
	for _, i := range all[max(0, place-before):min(len(all), place+1+behind)] {
		shown = append(shown, *i.shown())
	}
	return slices.Clip(shown)
}

func (i item) shown() *Entry {
	return &Entry{Seq: i.entry.Seq, At: "+" + i.at.String(), Actor: i.entry.Actor, Text: i.text, Rule: i.entry.Rule, Only: i.only}
}
