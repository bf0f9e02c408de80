package tainteviction

import (
	"time"

	"github.com/volsim/volsim/internal/core/engine"
)

// timers are the pods that are to be deleted, by key. There is one timer for each name, whatever the uid (NODE-063).
type timers struct {
	actor *engine.Actor
	fire  func(p *engine.Process, pod string)
	byPod map[string]*timer
}

// timer is the deletion of one pod.
type timer struct {
	timer *engine.Timer
	// running says that it has no delay: it can neither be cancelled nor replaced.
	running bool
}

// add deletes a pod after a delay, unless it has a timer already.
func (t *timers) add(pod string, delay time.Duration) {
	if t.byPod[pod] != nil {
		return
	}
	if t.byPod == nil {
		t.byPod = map[string]*timer{}
	}
	run := func(p *engine.Process) {
		t.fire(p, pod)
		delete(t.byPod, pod)
	}
	name := "eviction of pod " + pod
	if delay <= 0 {
		t.byPod[pod] = &timer{running: true}
		t.actor.Go(name, run)
		return
	}
	// The timer is background work: Settle does not wait until tolerations end.
	t.byPod[pod] = &timer{timer: t.actor.Background(delay, name, run)}
}

// waits reports whether a pod has a timer that can be cancelled.
func (t *timers) waits(pod string) bool { return t.byPod[pod] != nil && !t.byPod[pod].running }

// cancel removes the timer of a pod. It reports whether the deletion had a delay; a deletion that has begun goes on (NODE-065).
func (t *timers) cancel(pod string) bool {
	found := t.byPod[pod]
	delete(t.byPod, pod)
	if found == nil || found.running {
		return false
	}
	found.timer.Stop()
	return true
}
