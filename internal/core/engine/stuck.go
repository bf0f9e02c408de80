package engine

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/volsim/volsim/api"
)

// StuckCause is the reason for which the engine stopped before the condition of its caller held.
type StuckCause int

// The causes of a StuckError.
const (
	Livelock    StuckCause = iota // too many events ran at one instant
	TimeLimit                     // the limit of virtual time was reached
	NothingLeft                   // no event was left that could change anything
)

// StuckError reports that the engine stopped before the condition of its caller held.
type StuckError struct {
	Cause StuckCause
	// Events is how many events ran at the last instant of a Livelock.
	Events int
	// Repeated describes the calls that were made most often in the second half of these events.
	Repeated []string
	// Limit is the virtual time that the caller granted, for TimeLimit and NothingLeft.
	Limit time.Duration
	// Pending describes the work that was still queued, in the order in which it is due.
	Pending []string
}

// Error names the cause and the first pieces of pending work.
func (err *StuckError) Error() string {
	const shown = 10
	text := err.cause()
	if len(err.Repeated) > 0 {
		text += ", again and again with " + strings.Join(err.Repeated, ", ")
	}
	for i, p := range err.Pending {
		if i == shown {
			return fmt.Sprintf("%s; and %d more", text, len(err.Pending)-shown)
		}
		sep := "; pending: "
		if i > 0 {
			sep = ", "
		}
		text += sep + p
	}
	return text
}

func (err *StuckError) cause() string {
	switch err.Cause {
	case Livelock:
		return fmt.Sprintf("%d events passed at one instant", err.Events)
	case TimeLimit:
		return fmt.Sprintf("%v of virtual time is spent", err.Limit)
	}
	return "nothing is left that could change anything"
}

// Pending describes the work that is queued, in the order in which it is due.
func (e *Engine) Pending() []string {
	var pending []string
	for _, ev := range slices.Concat(e.ready.all(), e.passes.sorted()) {
		if t, ok := ev.task.(*Timer); ok && t.stopped {
			continue
		}
		pending = append(pending, e.describe(ev, e.now))
	}
	for _, ev := range e.timers.sorted() {
		if t, ok := ev.task.(*Timer); ok && t.stopped {
			continue
		}
		pending = append(pending, e.describe(ev, ev.at))
	}
	return pending
}

func (e *Engine) describe(ev event, at time.Duration) string {
	text := fmt.Sprint(ev.task)
	if ev.owner != nil {
		text = ev.owner.name + ": " + text
	}
	if ev.background {
		text += " (background)"
	}
	return fmt.Sprintf("%s at +%v", text, at)
}

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
