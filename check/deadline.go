package check

import (
	"maps"
	"slices"
	"time"

	"github.com/volsim/volsim/internal/core/actors"
	"github.com/volsim/volsim/trace"
)

// disruptions are the events that delay progress.
type disruptions struct {
	lastDisruption time.Time            // the time of the last fault, crash or start of a controller
	atNode         map[string]time.Time // the last time at which a kubelet was down or started
	down           map[string]bool      // crashed controllers
	// lastCrash is the last crash of each controller.
	lastCrash map[string]trace.Entry
}

func (t *disruptions) noteLifecycle(e *trace.Entry) {
	if node, ok := actors.NodeOfKubelet(e.Actor); ok {
		set(&t.atNode, node, e.Time)
		return
	}
	if _, ok := actors.NodeName(e.Actor); ok {
		return
	}
	t.lastDisruption = e.Time
	if e.Type == trace.Crashed {
		set(&t.down, e.Actor, true)
		set(&t.lastCrash, e.Actor, *e)
	} else {
		delete(t.down, e.Actor)
	}
}

// deadlines are conditions that must end within a time. Each disruption restarts the time.
type deadlines struct {
	state  *state
	within time.Duration
	items  map[string]*deadline
	next   time.Time // no deadline is earlier; zero if there is none
}

type deadline struct {
	since    time.Time
	node     string // whose kubelet must act, "" if none
	reported bool
	late     func()
}

func newDeadlines(s *state, within time.Duration) *deadlines {
	return &deadlines{state: s, within: within}
}

// forget ends all conditions.
func (d *deadlines) forget() {
	clear(d.items)
	d.next = time.Time{}
}

// begun reports whether the condition of that key has begun and not ended.
func (d *deadlines) begun(key string) bool { return d.items[key] != nil }

// begin calls late if the condition of that key has not ended in time, counted from since. It does not change a condition that has begun.
func (d *deadlines) begin(key string, since time.Time, node string, late func()) {
	if d.begun(key) {
		return
	}
	set(&d.items, key, &deadline{since: since, node: node, late: late})
	d.sooner(since.Add(d.within))
}

func (d *deadlines) end(key string) { delete(d.items, key) }

func (d *deadlines) sooner(at time.Time) {
	if d.next.IsZero() || at.Before(d.next) {
		d.next = at
	}
}

// passed calls late for the conditions whose time is over.
func (d *deadlines) passed() {
	if len(d.items) == 0 {
		d.next = time.Time{}
		return
	}
	d.watchNodes()
	now := d.state.now
	if d.next.IsZero() || now.Before(d.next) {
		return
	}
	d.next = time.Time{}
	for _, key := range slices.Sorted(maps.Keys(d.items)) {
		item := d.items[key]
		if item.reported {
			continue
		}
		start := latest(item.since, d.state.lastDisruption, d.state.atNode[item.node])
		if len(d.state.down) > 0 {
			start = now
		}
		if due := start.Add(d.within); now.Before(due) {
			d.sooner(due)
			continue
		}
		item.reported = true
		// The violation is at the deadline, even if it is noticed later.
		d.state.now = start.Add(d.within)
		item.late()
		d.state.now = now
	}
}

// watchNodes records the nodes that must act but are unreachable.
func (d *deadlines) watchNodes() {
	if d.state.reachable == nil {
		return
	}
	for _, item := range d.items {
		if item.node != "" && !d.state.atNode[item.node].Equal(d.state.now) && !d.state.reachable(item.node) {
			set(&d.state.atNode, item.node, d.state.now)
		}
	}
}

func latest(times ...time.Time) time.Time {
	last := times[0]
	for _, t := range times[1:] {
		if t.After(last) {
			last = t
		}
	}
	return last
}
