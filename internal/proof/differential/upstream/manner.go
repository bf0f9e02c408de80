package upstream

import (
	"cmp"
	"slices"
	"time"

	"github.com/volsim/volsim/api"
	"github.com/volsim/volsim/internal/proof/differential/apiserver"
)

// Manner is in what order a director has things happen that the plan says nothing about: reads, watch events, and writes that were not
// planned. The zero value has requests go first, and then one event after the other.
type Manner struct {
	// Strict has components be told of what ours looked at when these looked, and of all else when nothing else is left to do. Then only Burst means
	// anything besides, and Lazy, which has components look once at what ours looked at one time after the other.
	Strict bool
	// Workers has the workers of controllers wait for their turns, in a manner that is strict: events that arrive at one instant come first.
	Workers bool
	// EventsFirst has events go first.
	EventsFirst bool
	// Burst says which events arrive together.
	Burst apiserver.Burst
	// Follow has a component be told of what it had seen by then, when it is to make the next request of the plan, and not earlier.
	Follow bool
	// ClaimsFirst has that be claims before volumes, and not the other way round.
	ClaimsFirst bool
	// Everywhere has all watches have theirs at once.
	Everywhere bool
	// Lazy has only that component get events which makes the next request of the plan, until it asks.
	Lazy bool
	// EndsFirst has calls to drivers end before the passes of loops that are due at the same instant.
	EndsFirst bool
	// Chance now and then has something else go first, or other events arrive together.
	Chance bool
}

// burst says which events arrive with one.
func (d *director) burst(t *turn) apiserver.Grant {
	grant := apiserver.Grant{Burst: d.manner.Burst}
	if d.manner.Chance && d.random.IntN(3) == 0 {
		grant.Burst = apiserver.Burst(d.random.IntN(int(apiserver.Merged) + 1))
	}
	if d.manner.Strict {
		grant.Until = d.until[t.Object.Kind]
	} else if last, ok := d.allowed(t); ok {
		grant.Until = max(last, t.Number)
	}
	return grant
}

// allowed is the last change that the component may be told of now, by its number: what it had seen when it asked for what it is to ask for next.
// What it has asked for already is decided, whether it had its turn or not. ok is false if that is not known.
func (d *director) allowed(t *turn) (last int, ok bool) {
	if !d.manner.Follow || t.Verb != "" {
		return 0, false
	}
	now := time.Now()
	outstanding := slices.Concat(d.pending, d.coming)
	place := 0
	for _, p := range d.plan {
		if p.made || p.Actor != t.Component {
			continue
		}
		if i := slices.IndexFunc(outstanding, p.is); i >= 0 {
			outstanding = slices.Delete(outstanding, i, i+1)
			continue
		}
		if p.Place > 0 && !p.At.After(now) && p.Seen != nil && (place == 0 || p.Place < place) {
			place, last, ok = p.Place, p.Seen[t.Object.Kind], true
		}
	}
	return last, ok
}

// early reports whether the component may not yet be told of that.
func (d *director) early(t *turn) bool {
	last, ok := d.allowed(t)
	return ok && t.Number > last
}

// compare has requests before events, and events in the order of the changes. Whoever follows a plan is told of claims and volumes last: it
// is these that make it act, and by then it is to know the rest.
func (d *director) compare(a, b *turn) int {
	if d.manner.Follow {
		if order := cmp.Compare(d.rank(a), d.rank(b)); order != 0 {
			return order
		}
	}
	return cmp.Compare(a.Order, b.Order)
}

func (d *director) rank(t *turn) int {
	switch {
	case t.Verb != "":
		return 0
	case t.Object.Kind == api.PersistentVolume && d.claimsFirst, t.Object.Kind == api.PersistentVolumeClaim && !d.claimsFirst:
		return 3
	case t.Object.Kind == api.PersistentVolume, t.Object.Kind == api.PersistentVolumeClaim:
		return 2
	}
	return 1
}
