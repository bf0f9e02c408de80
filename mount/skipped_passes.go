package mount

import (
	"time"

	"github.com/volsim/volsim/internal/core/engine"
)

// grid is a periodic pass that runs only when it was armed. A loop that never sleeps would find the same again at all other ticks, so they
// are skipped. Passes run exactly at the ticks of such a loop: every period, counted from the first tick or from the end of the last pass.
type grid struct {
	actor  *engine.Actor
	name   string
	period time.Duration
	pass   func(*engine.Process)
	// rank orders passes that are due at the same instant (MNT-014): other events first, then passes by rank.
	rank int

	base  time.Time // the first tick at which no pass has run
	timer *engine.Timer
	due   time.Time // when the timer fires
	fore  bool      // Settle waits for it
	state gridState
	again time.Time // requested during a pass, for after it
	more  bool      // a pass was requested during a pass
	eager bool      // that request was in the foreground
}

type gridState int

const (
	idle gridState = iota
	begun
	passing
)

// newGrid makes a loop whose first tick is at first.
func newGrid(a *engine.Actor, name string, first time.Time, period time.Duration, rank int, pass func(*engine.Process)) *grid {
	return &grid{actor: a, name: name, base: first, period: period, rank: rank, pass: pass}
}

// Arm requests a pass at the next tick. Settle waits for it.
func (g *grid) Arm() { g.at(g.actor.Engine().Now(), true) }

// Rest is like Arm, but Settle does not wait for the pass, because it is likely to find the same again.
func (g *grid) Rest() { g.at(g.actor.Engine().Now(), false) }

// ArmAt requests a pass at the first tick at or after t.
func (g *grid) ArmAt(t time.Time) { g.at(t, true) }

// RestAt is ArmAt in the background.
func (g *grid) RestAt(t time.Time) { g.at(t, false) }

func (g *grid) at(t time.Time, fore bool) {
	now := g.actor.Engine().Now()
	if t.Before(now) {
		t = now
	}
	// A pass that is about to begin at this instant sees the change.
	if g.state == begun && !t.After(now) {
		return
	}
	if g.state != idle {
		if !g.more || t.Before(g.again) {
			g.again = t
		}
		g.more, g.eager = true, g.eager || fore
		return
	}
	tick := g.tick(t)
	if g.timer != nil {
		if !g.due.After(tick) {
			if g.fore || !fore {
				return
			}
			tick = g.due
		}
		fore = fore || g.fore
		g.timer.Stop()
	}
	g.due, g.fore = tick, fore
	if fore {
		g.timer = g.actor.After(tick.Sub(now), g.name, g.run)
	} else {
		g.timer = g.actor.Background(tick.Sub(now), g.name, g.run)
	}
}

// afterPasses lets the passes of this instant come first.
func afterPasses(p *engine.Process) {
	for range rankPoll {
		p.Sleep(0)
	}
}

// Next requests a pass at the first tick after this instant.
func (g *grid) Next() { g.at(g.actor.Engine().Now().Add(1), true) }

// tick is the first tick at or after t.
func (g *grid) tick(t time.Time) time.Time {
	if !t.After(g.base) {
		return g.base
	}
	past := t.Sub(g.base)
	if rest := past % g.period; rest > 0 {
		past += g.period - rest
	}
	return g.base.Add(past)
}

func (g *grid) run(p *engine.Process) {
	g.timer, g.state = nil, begun
	// MNT-014: other events of this instant come first.
	for range g.rank {
		p.Sleep(0)
	}
	g.state = passing
	g.pass(p)
	g.state = idle
	// MNT-001, MNT-002: the pause counts from the end of the pass.
	g.base = p.Now().Add(g.period)
	if g.more {
		g.more = false
		eager := g.eager
		g.eager = false
		g.at(g.again, eager)
	}
}
