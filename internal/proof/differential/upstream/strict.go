package upstream

import (
	"cmp"
	"maps"
	"slices"
	"time"

	"github.com/volsim/volsim/api"
	"github.com/volsim/volsim/internal/proof/differential"
)

// pickStrictly chooses whose turn it is, going through the plan from one thing to the next: a component is told of what it looks at, and what
// is asked for takes effect. A worker that waits for its turn has it after what it looks at. What is not asked for is passed over; it may still
// come. Then come workers that look at nothing, the events that nobody looked at, what is planned for later, and passes of loops. Nil is
// nobody's: what somebody has asked for is on its way, and comes before what that one looks at next.
func (d *director) pickStrictly() *turn {
	now := time.Now()
	for len(d.plan) > 0 && (d.plan[0].made || d.plan[0].Time.Add(lateness).Before(now)) {
		d.plan = d.plan[1:]
	}
	if i := slices.IndexFunc(d.pending, func(t *turn) bool { return t.asks() && d.place(t) < 0 }); i >= 0 {
		return d.pending[i]
	}
	busy := map[string]time.Time{} // components that have asked for something which is on its way, and when it took effect elsewhere
	var later []*planned           // what they look at then
	for i := range d.plan {
		p := &d.plan[i]
		since, waits := busy[p.Actor]
		switch {
		case p.made:
		case p.Look() && waits:
			if !p.Time.After(since) {
				later = append(later, p)
			}
		case slices.ContainsFunc(d.coming, p.is):
			if !waits {
				busy[p.Actor] = p.Time
			}
		case p.Time.After(now):
		default:
			if t := d.turnOf(p); t != nil {
				return t
			}
		}
	}
	if work := d.workOf(""); work != nil {
		return work
	}
	if events := d.those(func(t *turn) bool {
		return t.Verb == "" && !slices.ContainsFunc(later, func(p *planned) bool { return p.looksAt(t) })
	}); len(events) > 0 {
		return slices.MinFunc(events, d.compareStrictly)
	}
	if requests := d.those((*turn).asks); len(requests) > 0 {
		t := slices.MinFunc(requests, func(a, b *turn) int { return cmp.Compare(d.place(a), d.place(b)) })
		d.plan[d.place(t)].made = true
		return t
	}
	if passes := d.those(func(t *turn) bool { return loopOf(t) >= 0 }); len(passes) > 0 {
		return slices.MinFunc(passes, compareLoops)
	}
	return nil
}

func compareLoops(a, b *turn) int { return cmp.Compare(loopOf(a), loopOf(b)) }

// looksAt reports whether an event tells of something that is looked at.
func (p *planned) looksAt(t *turn) bool {
	return t.Verb == "" && t.Component == p.Actor && t.Number <= p.Seen[t.Object.Kind]
}

// turnOf is the turn that something of the plan is due to have, or one that leads to it; nil for none.
func (d *director) turnOf(p *planned) *turn {
	if p.Look() {
		due := d.those(p.looksAt)
		if len(due) == 0 {
			// What comes later here than in the plan is looked at when it has come.
			for kind, n := range p.Seen {
				if d.changes(kind) < n {
					return nil
				}
			}
			p.made = true
			return d.workOf(p.Actor)
		}
		t := slices.MinFunc(due, d.compareStrictly)
		d.until = p.Seen
		return t
	}
	if i := slices.IndexFunc(d.pending, p.is); i >= 0 {
		p.made = true
		return d.pending[i]
	}
	if p.Read() {
		p.made = true
		return nil
	}
	if work := d.workOf(p.Actor); work != nil {
		return work
	}
	// It may have to read what ours had no need to.
	if i := slices.IndexFunc(d.pending, func(t *turn) bool { return t.Component == p.Actor && isRead(t.Verb) }); i >= 0 {
		return d.pending[i]
	}
	if p.Seen != nil {
		return nil
	}
	// What leads to it is not known in this much detail.
	if events := d.those(func(t *turn) bool { return t.Verb == "" && t.Component == p.Actor }); len(events) > 0 {
		return slices.MinFunc(events, d.compareStrictly)
	}
	if passes := d.those(func(t *turn) bool { return loopOf(t) >= 0 && t.Component == p.Actor }); len(passes) > 0 {
		return slices.MinFunc(passes, compareLoops)
	}
	return nil
}

// workOf is the worker of a component that has waited longest for its turn, "" is of any; nil for none.
func (d *director) workOf(component string) *turn {
	if i := slices.IndexFunc(d.pending, func(t *turn) bool { return t.isWork() && (component == "" || component == t.Component) }); i >= 0 {
		return d.pending[i]
	}
	return nil
}

func isRead(verb string) bool { return differential.Request{Verb: verb}.Read() }

// planStrictly makes a plan of what the components did elsewhere. If they are lazy, they look once at what they looked at one time after the
// other without asking for anything between.
func (d *director) planStrictly(requests []differential.Request) {
	for i, r := range requests {
		if r.Emission() {
			continue
		}
		if r.Look() && d.manner.Lazy {
			next := slices.IndexFunc(requests[i+1:], func(other differential.Request) bool { return other.Actor == r.Actor && !other.Emission() })
			if next >= 0 && requests[i+1+next].Look() && requests[i+1+next].Time.Equal(r.Time) {
				continue
			}
			for j := i - 1; j >= 0 && requests[j].Time.Equal(r.Time); j-- {
				if other := requests[j]; other.Actor == r.Actor && other.Look() {
					r.Seen = union(r.Seen, other.Seen)
				} else if other.Actor == r.Actor && !other.Emission() {
					break
				}
			}
		}
		d.plan = append(d.plan, planned{Request: r})
	}
}

func union(a, b map[api.Kind]int) map[api.Kind]int {
	both := maps.Clone(a)
	for kind, n := range b {
		both[kind] = max(both[kind], n)
	}
	return both
}

// those are the turns of a sort that are pending.
func (d *director) those(match func(*turn) bool) []*turn {
	return slices.DeleteFunc(slices.Clone(d.pending), func(t *turn) bool { return !match(t) })
}

// compareStrictly has events about claims and volumes last, and others in the order of the changes.
func (d *director) compareStrictly(a, b *turn) int {
	return cmp.Or(cmp.Compare(d.rank(a), d.rank(b)), cmp.Compare(a.Order, b.Order))
}
