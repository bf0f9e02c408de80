package upstream

import (
	"cmp"
	"math/rand/v2"
	"slices"
	"sync"
	"time"

	"github.com/volsim/volsim/api"
	"github.com/volsim/volsim/internal/proof/differential"
	"github.com/volsim/volsim/internal/proof/differential/apiserver"
	"github.com/volsim/volsim/trace"
)

// director has one thing happen after the other. Requests that are to take effect, calls to storage and watch events that are to arrive
// wait until it is their turn; nobody gets one before all others wait, for a turn or for time to pass. So what the components do follows
// from the order of turns, as far as it does not come from the order in which the goroutines of one component run. The director keeps to a
// plan: what the components asked for elsewhere.
//
// Whatever it does, the API server might have done the same: some requests and events take longer than others.
type director struct {
	wait    func()
	random  *rand.Rand
	manner  Manner
	latency time.Duration
	// changes counts the changes of a kind so far.
	changes func(api.Kind) int
	// claimsFirst is Manner.ClaimsFirst, for now.
	claimsFirst bool
	// until is how many changes of each kind the component whose turn it is may be told of; nil is not known.
	until map[api.Kind]int

	mu      sync.Mutex
	pending []*turn
	coming  []*turn // requests on their way, which will be pending
	plan    []planned
	over    bool

	wake  chan struct{}      // has something in it when turns may be pending
	quiet chan chan struct{} // of those who wait until none is
	done  chan struct{}
}

type turn struct {
	apiserver.Turn
	granted chan apiserver.Grant
}

type planned struct {
	differential.Request
	made bool
}

func (c *Cluster) newDirector() *director {
	d := &director{
		wait: c.cfg.Wait, random: rand.New(rand.NewPCG(c.cfg.Seed, 1)), manner: c.cfg.Manner, latency: c.cfg.Latency,
		wake: make(chan struct{}, 1), quiet: make(chan chan struct{}), done: make(chan struct{}),
	}
	d.changes = func(kind api.Kind) int { return c.server.Changes(kind) }
	if d.manner.Strict {
		d.planStrictly(c.cfg.Plan)
		return d
	}
	for _, r := range c.cfg.Plan {
		if !r.Look() && !r.Read() {
			d.plan = append(d.plan, planned{Request: r})
		}
	}
	return d
}

// await returns when it is somebody's turn.
func (d *director) await(what apiserver.Turn, canceled <-chan struct{}) apiserver.Grant {
	return d.awaitTurn(&turn{Turn: what, granted: make(chan apiserver.Grant, 1)}, canceled)
}

func (d *director) awaitTurn(t *turn, canceled <-chan struct{}) apiserver.Grant {
	d.mu.Lock()
	d.coming = without(d.coming, t)
	if d.over {
		d.mu.Unlock()
		return apiserver.Grant{Burst: apiserver.Together}
	}
	d.pending = append(d.pending, t)
	d.mu.Unlock()
	select {
	case d.wake <- struct{}{}:
	default:
	}
	select {
	case burst := <-t.granted:
		return burst
	case <-canceled:
		d.mu.Lock()
		defer d.mu.Unlock()
		d.pending = without(d.pending, t)
		return apiserver.Grant{}
	}
}

// late is await for what comes over the network: requests take time on their way.
func (d *director) late(what apiserver.Turn, canceled <-chan struct{}) apiserver.Grant {
	t := &turn{Turn: what, granted: make(chan apiserver.Grant, 1)}
	if d.latency > 0 && what.Verb != "" {
		d.mu.Lock()
		d.coming = append(d.coming, t)
		d.mu.Unlock()
		select {
		case <-time.After(d.latency):
		case <-canceled:
		}
	}
	return d.awaitTurn(t, canceled)
}

func without(turns []*turn, t *turn) []*turn {
	return slices.DeleteFunc(turns, func(other *turn) bool { return other == t })
}

// run gives turns until it is closed.
func (d *director) run() {
	for {
		var asked chan struct{}
		select {
		case <-d.wake:
		case asked = <-d.quiet:
		case <-d.done:
			return
		}
		for {
			d.wait()
			if !d.grant() {
				break
			}
		}
		if asked != nil {
			close(asked)
		}
	}
}

// settle waits until everybody waits for time to pass.
func (d *director) settle() {
	asked := make(chan struct{})
	d.quiet <- asked
	<-asked
}

// close lets everybody go on.
func (d *director) close() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.over = true
	for _, t := range d.pending {
		t.granted <- apiserver.Grant{Burst: apiserver.Together}
	}
	d.pending = nil
	close(d.done)
}

// grant gives one turn, and reports whether there was any to give.
func (d *director) grant() bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	if len(d.pending) == 0 {
		return false
	}
	d.until = nil
	next := d.next()
	if next == nil {
		return false
	}
	turns := []*turn{next}
	if next.Verb == "" && d.manner.Everywhere {
		anybody := !d.manner.Lazy && !d.manner.Follow
		turns = append(turns, d.those(func(t *turn) bool {
			return t != next && t.Verb == "" && (anybody || t.Component == next.Component) && !d.early(t)
		})...)
	}
	for _, t := range turns {
		t.granted <- d.burst(t)
	}
	d.pending = d.those(func(t *turn) bool { return !slices.Contains(turns, t) })
	return true
}

// next is whose turn it is.
func (d *director) next() *turn {
	if d.manner.Strict {
		return d.pickStrictly()
	}
	return d.pick()
}

// pick chooses whose turn it is. The request that comes next in the plan is granted as soon as somebody asks for it; those that come later
// in the plan are when nothing else can happen. Passes of loops come after all that, in their order.
func (d *director) pick() *turn {
	var free, passes []*turn
	var soonest *turn
	at := len(d.plan)
	for _, t := range d.pending {
		i := d.place(t)
		switch {
		case loopOf(t) >= 0 && !(d.manner.EndsFirst && loopOf(t) == ends):
			passes = append(passes, t)
		case i < 0:
			free = append(free, t)
		case i < at:
			soonest, at = t, i
		}
	}
	for now := time.Now(); len(d.plan) > 0 && (d.plan[0].made || at > 0 && d.plan[0].Time.Add(lateness).Before(now)); at-- {
		d.plan = d.plan[1:]
	}
	own := d.own(free)
	if soonest != nil && (at == 0 || len(free) == 0 && !d.awaits(passes) || len(own) == 0 && d.emissions() >= at) {
		d.plan[at].made = true
		return soonest
	}
	if d.manner.Chance && d.random.IntN(8) == 0 {
		free, passes = append(free, passes...), nil
	}
	if len(free) == 0 {
		return slices.MinFunc(passes, func(a, b *turn) int { return cmp.Compare(loopOf(a), loopOf(b)) })
	}
	if len(own) > 0 {
		free = own
	}
	if d.manner.Follow {
		timely := slices.DeleteFunc(slices.Clone(free), d.early)
		if len(timely) > 0 {
			free = timely
		}
	}
	if d.manner.Chance && d.random.IntN(4) == 0 {
		return free[d.random.IntN(len(free))]
	}
	if events := slices.DeleteFunc(slices.Clone(free), func(t *turn) bool { return t.Verb != "" }); d.manner.EventsFirst && len(events) > 0 {
		free = events
	}
	d.claimsFirst = d.manner.ClaimsFirst != (d.manner.Chance && d.random.IntN(2) == 0)
	return slices.MinFunc(free, d.compare)
}

// lateness is how much later something may come here than in the plan: the PersistentVolume controller looks every 100 ms whether its informers
// have begun, and its periods are counted from when they have.
const lateness = 150 * time.Millisecond

// own are those of the component that comes next in the plan, in a manner in which these go first.
func (d *director) own(free []*turn) []*turn {
	if len(d.plan) == 0 || !d.manner.Lazy && (!d.manner.Follow || d.plan[0].Time.After(time.Now())) {
		return nil
	}
	return slices.DeleteFunc(slices.Clone(free), func(t *turn) bool { return t.Component != d.plan[0].Actor || d.early(t) })
}

// emissions is how many Events come first in the plan.
func (d *director) emissions() int {
	return max(slices.IndexFunc(d.plan, func(p planned) bool { return !p.Emission() }), 0)
}

// emitted notes that an Event was emitted.
func (d *director) emitted(e trace.Entry) {
	verb, object := differential.EmissionOf(e)
	d.mu.Lock()
	defer d.mu.Unlock()
	i := slices.IndexFunc(d.plan, func(p planned) bool {
		return !p.made && p.Actor == e.Actor && p.Verb == verb && p.Object == object
	})
	if i >= 0 {
		d.plan[i].made = true
	}
}

// awaits reports whether the request that is to come next may come from one of these passes.
func (d *director) awaits(passes []*turn) bool {
	return len(d.plan) > 0 && !d.plan[0].Time.After(time.Now()) &&
		slices.ContainsFunc(passes, func(t *turn) bool { return t.Component == d.plan[0].Actor })
}

// place is where a turn is in the plan, -1 if it is not.
func (d *director) place(t *turn) int {
	return slices.IndexFunc(d.plan, func(p planned) bool { return !p.made && p.is(t) })
}

// is reports whether a turn is that of the request.
func (p planned) is(t *turn) bool {
	return p.Actor == t.Component && p.Verb == t.Verb && p.Object == t.Object
}
