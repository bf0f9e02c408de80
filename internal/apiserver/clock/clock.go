// Package clock makes virtual time pass while a cluster is served.
package clock

import (
	"context"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/volsim/volsim/internal/core/engine"
)

// Pace is how virtual time passes while a cluster is served.
type Pace struct {
	// Settle lets the controllers finish their work after each write.
	Settle bool
	// Factor is how fast time passes: 1 is the pace of real time, 0 is not at all. With Settle it is half of that while virtual time is ahead
	// of its start plus the real time since then.
	Factor float64
}

// ParsePace reads auto, settle, manual, or a factor such as 10x.
func ParsePace(text string) (Pace, error) {
	switch text {
	case "auto":
		return Pace{Settle: true, Factor: 1}, nil
	case "settle":
		return Pace{Settle: true}, nil
	case "manual":
		return Pace{}, nil
	}
	number, ok := strings.CutSuffix(text, "x")
	factor, err := strconv.ParseFloat(number, 64)
	if !ok || err != nil || !(factor > 0 && factor <= maxFactor) {
		return Pace{}, fmt.Errorf("%q is not auto, settle, manual, or a factor from 0 to %dx", text, maxFactor)
	}
	return Pace{Factor: factor}, nil
}

const maxFactor = 1_000_000

// Clock makes the time of a served cluster pass. The server's lock guards all but Run and Serve, which take it.
type Clock struct {
	cluster *engine.Engine
	pace    Pace
	locked  func(func()) // calls a function with the lock held
	journal Journal

	ahead     time.Duration // how far virtual time is ahead of real time
	allowance time.Duration // how long the next jump may be
	paused    bool
}

const (
	// maxJump is how far one write may move virtual time: farther than the longest chain of timeouts after one event, which is 40 s until a
	// node is unreachable, 5 minutes of toleration, and 6 minutes until its volumes are detached by force.
	maxJump = 15 * time.Minute
	// settleLimit is how far a client may move virtual time by do=settle.
	settleLimit = time.Hour
)

// Journal records how time passes. Its methods are called with the server's lock held.
type Journal interface {
	// Advanced: virtual time passed for this long, and what was due happened.
	Advanced(time.Duration)
	// Settled: the cluster ran until nothing was left to do.
	Settled()
}

type noJournal struct{}

func (noJournal) Advanced(time.Duration) {}
func (noJournal) Settled()               {}

// Pause lets nothing happen after writes until Keep is called: a script makes time pass.
func (c *Clock) Pause() { c.paused = true }

// Keep records in a journal what happens from now on. It must be called before any request of a client.
func (c *Clock) Keep(j Journal) { c.journal, c.paused = j, false }

func (c *Clock) advance(d time.Duration) {
	start := c.cluster.Now()
	// A livelock is no failure of the server: it goes on when time passes again. Until then, clients can end it.
	_ = c.cluster.Advance(d)
	c.journal.Advanced(c.cluster.Now().Sub(start))
}

// settle settles the cluster. If that takes longer than limit, so much time has passed.
func (c *Clock) settle(limit time.Duration) error {
	start := c.cluster.Now()
	err := c.cluster.Settle(limit)
	if err == nil {
		c.journal.Settled()
	} else {
		c.journal.Advanced(c.cluster.Now().Sub(start))
	}
	return err
}

// New returns the clock of a cluster. locked calls a function with the server's lock held.
func New(cluster *engine.Engine, pace Pace, locked func(func())) *Clock {
	cluster.KeepCoroutine() // each write is a run
	return &Clock{cluster: cluster, pace: pace, locked: locked, allowance: maxJump, journal: noJournal{}}
}

// Wrote runs after each write, with the server's lock held: what is due now happens, or everything that the write has led to. A controller
// that fails for ever would move time ahead with each write: work that did not end uses up the allowance, which grows again with real time.
func (c *Clock) Wrote() {
	if c.paused {
		return
	}
	if !c.pace.Settle || c.allowance <= 0 {
		c.advance(0)
		return
	}
	start := c.cluster.Now()
	err := c.settle(c.allowance)
	jump := c.cluster.Now().Sub(start)
	c.ahead += jump
	if err != nil {
		c.allowance -= jump // the rest of the work is done as time passes
	} else {
		c.allowance = maxJump
	}
}

// pass makes real time pass.
func (c *Clock) pass(d time.Duration) {
	passed := time.Duration(float64(d) * c.pace.Factor)
	if c.pace.Settle && c.ahead > 0 {
		slow := min(c.ahead, passed/2)
		c.ahead -= slow
		passed -= slow
	}
	c.allowance = min(c.allowance+d, maxJump)
	c.advance(passed)
}

// beat is the real time between two advances.
const beat = 20 * time.Millisecond

// Run makes time pass until ctx ends.
func (c *Clock) Run(ctx context.Context) {
	if c.pace.Factor == 0 {
		return
	}
	ticker := time.NewTicker(beat)
	defer ticker.Stop()
	last := time.Now()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
		now := time.Now()
		c.locked(func() { c.pass(now.Sub(last)) })
		last = now
	}
}

// Serve answers a request: POST with do=advance&by=5s, do=settle or do=now.
func (c *Clock) Serve(req *http.Request) (code int, text string) {
	var err error
	code = http.StatusBadRequest
	switch query := req.URL.Query(); {
	case req.Method != http.MethodPost:
		code, err = http.StatusMethodNotAllowed, fmt.Errorf("%s %s: want POST", req.Method, req.URL.Path)
	case query.Get("do") == "now":
	case query.Get("do") == "settle":
		code = http.StatusConflict
		c.locked(func() { err = c.settle(settleLimit) })
	case query.Get("do") == "advance":
		var d time.Duration
		if d, err = time.ParseDuration(query.Get("by")); err == nil && d < 0 {
			err = fmt.Errorf("advance %v: time does not run backwards; give zero or more", d)
		}
		if err == nil {
			c.locked(func() { c.advance(d) })
		}
	default:
		err = fmt.Errorf("clock: want do=now, do=settle or do=advance")
	}
	if err != nil {
		text = err.Error()
	} else {
		code = http.StatusOK
		c.locked(func() { text = c.cluster.Now().Format(time.RFC3339Nano) })
	}
	return code, text + "\n"
}
