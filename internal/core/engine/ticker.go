package engine

import "time"

// Ticker is a periodic pass of an actor for foreground work: unlike with Loop, Settle waits for an armed pass, and a pass can be armed
// for a later time. Passes fall on the grid of the period, counted from the start or the end of the last pass. Of several requests the
// earliest counts, and one pass answers them all: a later pass must be requested again.
type Ticker struct {
	actor    *Actor
	name     string
	period   time.Duration
	base     time.Duration // of the grid
	fresh    bool          // no pass has run: the base itself is a tick
	active   bool          // a pass is on its way
	pass     func(*Process)
	requests [2]request // foreground and background
}

// request asks for a pass at the first tick after a time.
type request struct {
	set   bool
	after time.Duration
	timer *Timer
}

const (
	asWork = iota
	inBackground
)

// NewTicker makes a ticker whose first tick is now, if it is armed at this instant, and whose next ticks follow every period.
func (a *Actor) NewTicker(name string, period time.Duration, pass func(*Process)) *Ticker {
	return &Ticker{actor: a, name: name, period: period, base: a.engine.now, fresh: true, pass: pass}
}

// Arm requests a pass at the next tick. Arming twice is the same as once. A ticker that is armed during a pass has its next tick a period
// after the end of that pass; one that is armed on a tick, except the first, has missed it.
func (t *Ticker) Arm() { t.ArmAfter(0) }

// ArmAfter requests a pass at the first tick that is later than d from now.
func (t *Ticker) ArmAfter(d time.Duration) { t.arm(asWork, d) }

// ArmInBackground is ArmAfter for a pass that Settle does not wait for.
func (t *Ticker) ArmInBackground(d time.Duration) { t.arm(inBackground, d) }

func (t *Ticker) arm(kind int, d time.Duration) {
	w, after := &t.requests[kind], t.actor.engine.in(max(d, 0))
	if w.set && w.after <= after {
		return
	}
	w.set, w.after = true, after
	if !t.active {
		t.schedule(kind)
	}
}

func (t *Ticker) schedule(kind int) {
	w := &t.requests[kind]
	w.stop()
	w.timer = t.actor.timer(t.tickAfter(w.after)-t.actor.engine.now, t.name, kind == inBackground, t.tick)
}

func (w *request) stop() {
	if w.timer != nil {
		w.timer.Stop()
		w.timer = nil
	}
}

// TickAfter is the first tick after the given time, if no pass runs before.
func (t *Ticker) TickAfter(at time.Time) time.Time {
	start := t.actor.engine.start
	return start.Add(t.tickAfter(at.Sub(start)))
}

func (t *Ticker) tickAfter(at time.Duration) time.Duration {
	past := max(at-t.base, 0)
	if t.fresh && past == 0 {
		return t.base
	}
	wait := t.period - past%t.period
	if at > forever-wait {
		return forever
	}
	return t.base + past + wait
}

// tick runs a pass, which answers all requests so far.
func (t *Ticker) tick() {
	for kind := range t.requests {
		t.requests[kind].stop()
		t.requests[kind].set = false
	}
	t.actor.spawn(t.name, func(p *Process) {
		t.active = true
		t.pass(p)
		t.active, t.fresh = false, false
		t.base = p.engine.now
		for kind := range t.requests {
			if t.requests[kind].set {
				t.schedule(kind)
			}
		}
	})
}
