package engine

import "time"

// Ticker is a periodic pass of an actor that costs nothing while there is nothing to do: a pass runs only at a tick for which the ticker
// was armed. Of several requests the earliest counts, and one pass answers them all: a later pass must be requested again. A request
// during a pass is served after it.
type Ticker struct {
	actor   *Actor
	cfg     TickerConfig
	created time.Duration
	base    time.Duration // a tick: the first one, or the first one after the last pass
	timer   *Timer        // of the next pass; nil if none is requested
	spent   *Timer        // that fired last, to be used again
	due     time.Duration // of the timer
	waits   bool          // Settle waits for the timer
	state   tickerState
	begun   time.Duration  // the tick of the last pass
	again   tickerRequest  // made during a pass
	pass    func(*Process) // run, as the process of a timer
}

// tickerRequest asks for a pass at the first tick that is not too early for the time at.
type tickerRequest struct {
	set        bool
	at         time.Duration
	foreground bool
}

type tickerState int

const (
	tickerIdle tickerState = iota
	tickerActive
)

// TickerConfig sets up a ticker. Name, Period and Pass are required.
type TickerConfig struct {
	Name string
	// Period is the time between two ticks.
	Period time.Duration
	// First is the time from the creation of the ticker to its first tick; the default is none: a ticker that is armed at the instant of
	// its creation runs at once.
	First time.Duration
	// Fixed keeps the ticks at whole periods from the first one, as those of a time.Ticker: of the ticks during a pass one is kept, and
	// comes at the end of the pass. The default: the next tick comes a period after the end of a pass, as with wait.Until.
	Fixed bool
	// Rank orders passes that are due at the same instant. At zero, the default, a pass begins when its timer fires, and a request at the
	// instant of a tick, except at the instant of the ticker's creation, is too late for it. With a positive rank the other events of the
	// instant come first, then the passes by rank, those of one rank in the order of their actors. A request at that instant is in time
	// until the turn of the pass has come, or the run of the engine has ended with that instant. So it makes no difference whether the
	// pass was requested before. If Config chooses the order, the pass may begin at any time in its instant. At the instant of the
	// ticker's creation there is no rank.
	Rank uint8
	// Pass is the work.
	Pass func(*Process)
	// Idle returns when the next pass is due that makes requests although nothing has changed; the past is the next tick, see EveryTick. Such
	// a pass is skipped unless a fault may hit its requests; see skipping.go. ok is false if there is none. The default: there are none.
	Idle func() (at time.Time, ok bool)
	// Full replaces Pass while the actor may not skip, for a Pass that omits requests that would find nothing new. The default is Pass.
	Full func(*Process)
}

// NewTicker adds a ticker to this life of the actor.
func (a *Actor) NewTicker(cfg TickerConfig) *Ticker {
	now := a.engine.now
	t := a.engine.memory.tickers.next()
	*t = Ticker{actor: a, cfg: cfg, created: now, base: now + cfg.First}
	t.pass = t.run
	if cfg.Idle != nil {
		a.addIdle(t)
	}
	return t
}

// Arm requests a pass at the next tick. Arming twice is the same as once.
func (t *Ticker) Arm() { t.arm(t.actor.engine.now, true) }

// ArmAt requests a pass at the first tick after the given time, or also at that time with a positive rank.
func (t *Ticker) ArmAt(at time.Time) { t.arm(t.since(at), true) }

// ArmNext requests a pass at the first tick after this instant, whatever the rank.
func (t *Ticker) ArmNext() { t.arm(t.actor.engine.now+1, true) }

// ArmBackground is Arm for a pass that is likely to find nothing new: Settle does not wait for it.
func (t *Ticker) ArmBackground() { t.arm(t.actor.engine.now, false) }

// ArmBackgroundAt is ArmAt for a pass that Settle does not wait for.
func (t *Ticker) ArmBackgroundAt(at time.Time) { t.arm(t.since(at), false) }

// TickAfter returns the tick at which a pass runs that is requested for the given time, if no pass runs before.
func (t *Ticker) TickAfter(at time.Time) time.Time {
	return t.actor.engine.start.Add(t.tick(t.since(at)))
}

// LastTick returns the last tick that is over: its pass has ended or was skipped. Before the first one it returns an earlier time.
func (t *Ticker) LastTick() time.Time {
	at := t.actor.engine.now
	if t.state != tickerIdle {
		at = t.begun - 1
	} else if t.timer != nil && t.due == at {
		at-- // that pass is still to come
	}
	last := t.base - t.cfg.Period
	if at >= t.base {
		last = at - (at-t.base)%t.cfg.Period
	}
	return t.actor.engine.start.Add(last)
}

// Stop withdraws all requests and ends the idle passes. A pass that has begun goes on.
func (t *Ticker) Stop() {
	if t.cfg.Idle != nil {
		t.cfg.Idle = nil
		t.actor.dropIdle(t)
	}
	t.withdraw()
}

// Reset withdraws all requests and sets the period: the next tick comes a period from now. ArmIdle requests its idle passes again.
func (t *Ticker) Reset(period time.Duration) {
	t.withdraw()
	t.cfg.Period, t.base = period, later(t.actor.engine.now, period)
}

func (t *Ticker) withdraw() {
	t.again = tickerRequest{}
	if t.timer != nil {
		t.timer.Stop()
		t.timer, t.due, t.waits = nil, 0, false
	}
}

func (t *Ticker) since(at time.Time) time.Duration { return at.Sub(t.actor.engine.start) }

func (t *Ticker) arm(at time.Duration, foreground bool) {
	now := t.actor.engine.now
	at = max(at, now)
	switch {
	case t.state == tickerIdle:
		t.request(t.tick(at), foreground)
	case t.again.set:
		t.again.at, t.again.foreground = min(at, t.again.at), foreground || t.again.foreground
	default:
		t.again = tickerRequest{set: true, at: at, foreground: foreground}
	}
}

// request schedules a pass for the tick, unless an earlier one is scheduled.
func (t *Ticker) request(tick time.Duration, foreground bool) {
	if t.timer != nil {
		if t.due <= tick {
			if t.waits || !foreground {
				return
			}
			tick = t.due
		}
		foreground = foreground || t.waits
		t.timer.Stop()
	}
	t.due, t.waits = tick, foreground
	rank := t.cfg.Rank
	if tick == t.created {
		rank = 0
	}
	timer := t.spent
	if t.spent = nil; timer == nil {
		timer = &Timer{}
	}
	*timer = Timer{name: t.cfg.Name, process: t.pass, rank: rank, background: !foreground}
	t.timer = t.actor.arm(tick-t.actor.engine.now, timer)
}

// tick returns the first tick that a request for the given time is not too late for.
func (t *Ticker) tick(at time.Duration) time.Duration {
	at = max(at, t.created)
	if at == t.created || t.cfg.Rank > 0 && (at > t.actor.engine.now || t.toCome()) {
		at--
	}
	return t.next(at)
}

// toCome reports whether a pass at this instant would still have its turn.
func (t *Ticker) toCome() bool {
	return t.actor.engine.turn.compare(turn{t.cfg.Rank, t.actor.index}) < 0
}

// next returns the first tick later than at.
func (t *Ticker) next(at time.Duration) time.Duration {
	if at < t.base {
		return t.base
	}
	return later(at, t.cfg.Period-(at-t.base)%t.cfg.Period)
}

func (t *Ticker) run(p *Process) {
	e := p.engine
	t.spent, t.timer, t.due, t.waits, t.state = t.timer, nil, 0, false, tickerActive
	t.begun = e.now
	if t.full() {
		t.cfg.Full(p)
	} else {
		t.cfg.Pass(p)
	}
	t.ArmIdle()
	t.state = tickerIdle
	if t.cfg.Fixed {
		t.base = t.next(t.begun)
	} else {
		t.base = later(e.now, t.cfg.Period)
	}
	if !t.again.set {
		return
	}
	r := t.again
	t.again = tickerRequest{}
	tick := t.tick(max(r.at, e.now))
	if t.cfg.Fixed && r.at <= e.now && t.next(t.begun) <= e.now {
		tick = e.now // kept
	}
	t.request(tick, r.foreground)
}
