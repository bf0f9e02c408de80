package engine

import "time"

// Loop is a periodic pass of an actor that costs nothing while there is nothing to do: a tick happens only if the loop was armed before
// it. Ticks fall on the grid of the period, counted from the start of the loop or the end of the last pass. It is background work: Settle
// does not wait for it.
type Loop struct {
	actor  *Actor
	name   string
	period time.Duration
	base   time.Duration
	fresh  bool // no pass has run: the base itself is a tick
	armed  bool
	active bool // a pass is on its way
	pass   func(*Process)
}

// NewLoop makes a loop whose first tick is now, if it is armed at this instant, and whose next ones come every period.
func (a *Actor) NewLoop(name string, period time.Duration, pass func(*Process)) *Loop {
	return &Loop{actor: a, name: name, period: period, base: a.engine.now, fresh: true, pass: pass}
}

// Arm requests a pass at the next tick. Arming twice is the same as once. A loop that is armed during a pass has its next tick a period
// after the end of that pass; one that is armed on a tick, except the first, has missed it.
func (l *Loop) Arm() {
	if l.armed {
		return
	}
	l.armed = true
	if !l.active {
		l.schedule()
	}
}

func (l *Loop) schedule() {
	past := l.actor.engine.now - l.base
	wait := l.period - past%l.period
	if l.fresh && past == 0 {
		wait = 0
	}
	l.actor.timer(wait, l.name, true, l.tick)
}

func (l *Loop) tick() {
	l.actor.spawn(l.name, func(p *Process) {
		l.fresh, l.armed, l.active = false, false, true
		l.pass(p)
		l.active = false
		l.base = p.engine.now
		if l.armed {
			l.schedule()
		}
	})
}
