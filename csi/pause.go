package csi

import (
	"context"
	"sync"
	"time"
)

// Pause is for drivers in the same process: a driver calls it in the middle of a call, for example where it waits for its storage system.
// If the call stays open (Overlap) or is interrupted (Reset, KilledDuring), Pause returns when the other call has ended or waits for this
// one. It returns at once for any other call.
func Pause(ctx context.Context) {
	if g, ok := ctx.Value(gateKey{}).(*gate); ok {
		g.pause()
	}
}

type gateKey struct{}

// gate stops a call where the driver pauses.
type gate struct {
	paused, opened         chan struct{}
	pausedOnce, openedOnce sync.Once
}

func newGate() *gate { return &gate{paused: make(chan struct{}), opened: make(chan struct{})} }

func (g *gate) pause() {
	g.pausedOnce.Do(func() { close(g.paused) })
	<-g.opened
}

func (g *gate) open() { g.openedOnce.Do(func() { close(g.opened) }) }

// reached waits until the call pauses or is done, at most for the given real time.
func (g *gate) reached(done <-chan struct{}, limit time.Duration) {
	timer := time.NewTimer(limit)
	defer timer.Stop()
	select {
	case <-g.paused:
	case <-done:
	case <-timer.C:
	}
}
