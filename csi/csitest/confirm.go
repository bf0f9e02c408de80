package csitest

import (
	"slices"

	"github.com/volsim/volsim/csi"
)

// confirmations is how often a run is made again whose findings may come from the order in which a driver got two calls.
const confirmations = 2

// confirm makes a run again in which calls met in another process. Over a socket, a call that was sent first may arrive second, if the computer
// is busy, and then a right driver seems to be wrong. It returns the run that shows nothing, if there is one.
func (x *explorer) confirm(rec *recording, flaws []flaw) (*recording, []flaw) {
	if !rec.caps.Remote || rec.broken || !blames(flaws) || !met(rec) {
		return rec, flaws
	}
	for range confirmations {
		x.number++
		other := execute(x.cfg, rec.plan, x.number)
		if other.err != nil || other.gone != nil || other.broken {
			break
		}
		if found := examine(other, other.steps); !blames(found) {
			return other, found
		}
	}
	return rec, flaws
}

// blames reports whether a flaw is one of the driver.
func blames(flaws []flaw) bool {
	return slices.ContainsFunc(flaws, func(f flaw) bool { return !f.excused })
}

// met reports whether the driver executed two calls at the same time.
func met(rec *recording) bool {
	return slices.ContainsFunc(rec.steps, func(s step) bool {
		return s.Call != nil && slices.ContainsFunc(s.Call.Replies, func(r csi.Reply) bool { return r.Met != 0 })
	})
}
