package apiserver

import (
	"context"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// Cluster is the part of a cluster that makes its virtual time pass.
type Cluster interface {
	Now() time.Time
	Advance(d time.Duration) error
	Settle() error
}

// Pace is how virtual time passes while a cluster is served.
type Pace struct {
	// Settle lets the controllers finish their work after each write.
	Settle bool
	// Factor is how fast time passes: 1 is the pace of real time, 0 is not at all.
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

// Clock makes the time of a served cluster pass.
type Clock struct {
	cluster Cluster
	pace    Pace
	server  *Server
}

// NewWithClock returns a server, and the clock of its cluster. The server answers requests for /volsim/clock: POST with do=advance&by=5s,
// do=settle or do=now.
func NewWithClock(cfg Config, cluster Cluster, pace Pace) (*Server, *Clock) {
	clock := &Clock{cluster: cluster, pace: pace}
	wrote := cfg.Wrote
	cfg.Wrote = func() {
		if wrote != nil {
			wrote()
		}
		clock.wrote()
	}
	clock.server = New(cfg)
	clock.server.clock = clock
	return clock.server, clock
}

// wrote runs after each write, with the server's lock held: what is due now happens, or everything that the write has led to.
func (c *Clock) wrote() {
	if c.pace.Settle {
		_ = c.cluster.Settle() // work that never ends goes on as time passes
		return
	}
	_ = c.cluster.Advance(0) // zero is not negative
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
		d := time.Duration(float64(now.Sub(last)) * c.pace.Factor)
		last = now
		c.server.Do(func() { _ = c.cluster.Advance(d) }) // d is not negative
	}
}

// serve answers a request for the clock.
func (c *Clock) serve(req *http.Request) *answer {
	var err error
	code := http.StatusBadRequest
	switch query := req.URL.Query(); {
	case req.Method != http.MethodPost:
		code, err = http.StatusMethodNotAllowed, fmt.Errorf("%s %s: want POST", req.Method, req.URL.Path)
	case query.Get("do") == "now":
	case query.Get("do") == "settle":
		code = http.StatusConflict
		c.server.Do(func() { err = c.cluster.Settle() })
	case query.Get("do") == "advance":
		var d time.Duration
		if d, err = time.ParseDuration(query.Get("by")); err == nil {
			c.server.Do(func() { err = c.cluster.Advance(d) })
		}
	default:
		err = fmt.Errorf("clock: want do=now, do=settle or do=advance")
	}
	text := ""
	if err != nil {
		text = err.Error()
	} else {
		code = http.StatusOK
		c.server.Do(func() { text = c.cluster.Now().Format(time.RFC3339Nano) })
	}
	return &answer{code: code, contentType: "text/plain; charset=utf-8", data: []byte(text + "\n")}
}
