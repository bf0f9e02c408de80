package controllerruntime

import (
	"cmp"
	"context"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing/synctest"
	"time"

	"github.com/volsim/volsim/internal/core/engine"
)

// pump lets the goroutines of operators run in the time of an engine, and turns what they do into tasks of the engine: a request takes
// effect, its answer arrives, a watch event arrives. Each task lets one goroutine go on, and waits until all are blocked again. So at any time
// they only do what follows from one task, and the engine chooses between the tasks.
type pump struct {
	wake chan struct{} // not empty if there may be arrivals
	// test is the goroutine of the test, as callingGoroutine returns it, and waits says that it waits for the others.
	test  string
	waits atomic.Bool

	mu       sync.Mutex
	arrivals []arrival
}

// arrival is a request or a watch event that waits for its task.
type arrival struct {
	operator string
	// rank sorts arrivals of one operator whose order is not determined.
	rank     string
	schedule func()
}

type pumpKey struct{}

// pumpOf returns the pump of an engine. The first call starts the time of the bubble at that of the engine.
func pumpOf(e *engine.Engine) *pump {
	return e.Attached(pumpKey{}, func() any {
		time.Sleep(e.Now().Sub(time.Now()))
		p := &pump{wake: make(chan struct{}, 1), test: callingGoroutine()}
		e.SetOutside(p)
		return p
	}).(*pump)
}

// inTest reports whether the calling goroutine is that of the test. What it waits for never happens, because no event of the engine runs meanwhile.
func (p *pump) inTest() bool { return !p.waits.Load() && callingGoroutine() == p.test }

// now calls fn. In the goroutine of the test fn does what it can without waiting, and it reports true.
func (p *pump) now(ctx context.Context, fn func(context.Context)) bool {
	if !p.inTest() {
		fn(ctx)
		return false
	}
	ctx, cancel := context.WithCancel(ctx)
	done := make(chan struct{})
	go func() {
		fn(ctx)
		close(done)
	}()
	synctest.Wait()
	cancel()
	<-done
	return true
}

// callingGoroutine returns the number of the calling goroutine.
func callingGoroutine() string {
	var buf [64]byte // goroutine 18 [running]:
	return strings.Fields(string(buf[:runtime.Stack(buf[:], false)]))[1]
}

// add adds an arrival. It may be called by any goroutine of the bubble.
func (p *pump) add(a arrival) {
	p.mu.Lock()
	p.arrivals = append(p.arrivals, a)
	p.mu.Unlock()
	select {
	case p.wake <- struct{}{}:
	default:
	}
}

// wait waits until all goroutines are blocked, and schedules what has arrived.
func (p *pump) wait() {
	p.block(synctest.Wait)
	p.mu.Lock()
	arrivals := p.arrivals
	p.arrivals = nil
	p.mu.Unlock()
	select {
	case <-p.wake:
	default:
	}
	slices.SortStableFunc(arrivals, func(a, b arrival) int {
		return cmp.Or(cmp.Compare(a.operator, b.operator), cmp.Compare(a.rank, b.rank))
	})
	for _, a := range arrivals {
		a.schedule()
	}
}

// block calls a function that waits for other goroutines.
func (p *pump) block(wait func()) {
	p.waits.Store(true)
	wait()
	p.waits.Store(false)
}

// Sleep implements engine.Outside.
func (p *pump) Sleep(d time.Duration) time.Duration {
	if d == 0 {
		p.wait()
		return 0
	}
	start := time.Now()
	timer := time.NewTimer(d)
	defer timer.Stop()
	p.block(func() {
		select {
		case <-p.wake:
		case <-timer.C:
		}
	})
	p.wait()
	return time.Since(start)
}
