package engine

import (
	"time"
)

// Restart ends the actor, as a panic of its program does, and starts it again. It does not return.
func (p *Process) Restart() { p.crash(0) }

// crash ends the actor from within one of its own processes.
func (p *Process) crash(restart time.Duration) {
	p.actor.crash(p)
	restart = max(restart, p.actor.restartPause())
	p.engine.schedule(restart, &restarting{p.actor, p.actor.lives}, nil, false)
	panic(killed{})
}

const (
	// promptRestarts is how often an actor that crashes at one instant restarts at that instant.
	promptRestarts = 20
	// slowRestart is the pause before later restarts. Without it an actor that crashes at its first call would do so for ever at one instant.
	slowRestart = time.Second
)

// restartPause counts a crash by a fault, and returns the least pause before the restart.
func (a *Actor) restartPause() time.Duration {
	if now := a.engine.now; a.crashedAt != now {
		a.crashedAt, a.crashes = now, 0
	}
	if a.crashes++; a.crashes > promptRestarts {
		return slowRestart
	}
	return 0
}

// restarting starts an actor after a crash, unless it was started meanwhile.
type restarting struct {
	actor *Actor
	lives int
}

func (r *restarting) run() {
	if r.actor.lives == r.lives {
		r.actor.Start()
	}
}

func (r *restarting) String() string { return "restart of " + r.actor.name }
