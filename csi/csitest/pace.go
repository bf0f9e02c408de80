package csitest

import (
	"slices"
	"time"

	spec "github.com/container-storage-interface/spec/lib/go/csi"

	"github.com/volsim/volsim/csi"
)

// A driver may work on in real time after it has replied: it takes a snapshot, or answers Aborted until a volume is there. All repetitions of a
// call are made within milliseconds of real time, so such a driver seems to be stuck. A run that ends so is made again, with pauses.

const (
	firstPause = 50 * time.Millisecond
	maxPause   = time.Second
)

// pace waits before the repetition of a call that was not done, in all at most Config.Limit of real time in a run.
func (r *run) pace(call csi.Call) {
	if !r.cfg.paced || r.paused >= r.cfg.Limit {
		return
	}
	for _, c := range slices.Backward(r.driver.Calls()) {
		if c.Method != call.Method || c.Node != call.Node || c.Volume != call.Volume || c.Snapshot != call.Snapshot || len(c.Replies) == 0 {
			continue
		}
		if unfinished(c.Replies[len(c.Replies)-1]) {
			pause := min(firstPause<<min(r.pauses, 10), maxPause, r.cfg.Limit-r.paused)
			time.Sleep(pause)
			r.pauses, r.paused = r.pauses+1, r.paused+pause
		}
		return
	}
}

// unfinished reports whether the call is made again because of the reply.
func unfinished(r csi.Reply) bool {
	if s, ok := r.Message.(*spec.CreateSnapshotResponse); ok {
		return !s.GetSnapshot().GetReadyToUse()
	}
	return r.Status != nil
}

// again makes a run again that seems to be stuck, once for each story. It returns what that shows if it is not stuck then; from then on, all runs
// have pauses.
func (x *explorer) again(rec *recording, flaws []flaw) (*recording, []flaw) {
	if x.cfg.paced || x.retried == rec.plan.story.name || !isStuck(rec, flaws) {
		return rec, flaws
	}
	x.retried = rec.plan.story.name
	x.cfg.paced = true
	x.number++
	slow := execute(x.cfg, rec.plan, x.number)
	if slow.err == nil && slow.gone == nil && !slow.broken {
		if found := examine(slow, slow.steps); !isStuck(slow, found) {
			return slow, found
		}
	}
	x.cfg.paced = false
	return rec, flaws
}

// isStuck reports whether a goal was not reached, and no flaw but that explains it.
func isStuck(rec *recording, flaws []flaw) bool {
	return len(rec.missed) > 0 && !rec.broken && !slices.ContainsFunc(flaws, func(f flaw) bool { return f.kind != stuck || f.excused })
}
