package csitest

import (
	"fmt"
	"slices"

	"github.com/volsim/volsim/csi"
)

// shrink returns the shortest part of the steps of a flaw that still shows it. It removes steps one by one and evaluates the recorded replies
// of the others, so the result is the same every time and needs no driver. What explains the flaw stays: the calls in which something went
// wrong, the creation of the volume, the previous call of the same method, and calls about the same mount. Calls of volsim stay only if they show
// it.
func shrink(rec *recording, f flaw) []step {
	steps := slices.Clone(f.steps)
	keep := needed(f)
	silent := *rec
	silent.missed = nil
	if f.kind == stuck {
		return onlyCalls(steps, f, keep)
	}
	for again := true; again; {
		again = false
		for i := len(steps) - 2; i >= 0; i-- {
			if keep[stepID(steps[i])] {
				continue
			}
			shorter := slices.Delete(slices.Clone(steps), i, i+1)
			if shows(&silent, shorter, f) {
				steps, again = shorter, true
			}
		}
	}
	return steps
}

// stepID identifies a step: the Call, or another of its pointers.
func stepID(s step) any {
	switch {
	case s.Call != nil:
		return s.Call
	case s.Event != nil:
		return s.Event
	case s.Listed != nil:
		return s.Listed
	case s.Access != nil:
		return s.Access
	}
	return s.Stats
}

// needed returns the steps that stay.
func needed(f flaw) map[any]bool {
	keep := map[any]bool{}
	last := f.steps[len(f.steps)-1]
	if last.Call != nil {
		c := previous(f.steps[:len(f.steps)-1], last.Call)
		keep[c] = slices.ContainsFunc(f.steps, func(s step) bool { return s.Call == c && c != nil && s.Audit == nil })
	}
	var cause *csi.Call // the last call of the method that is wrong
	for i, s := range f.steps {
		c := s.Call
		if c == nil {
			keep[stepID(s)] = s.Event != nil || s.Access != nil && f.kind == data
			continue
		}
		named := f.snapshot == "" && nameOf(f, c.Volume) == nameOf(f, f.volume) || f.snapshot != "" && snapshotNameOf(f, c) == f.snapshot ||
			c.Method == "CreateVolume" && nameOf(f, c.Volume) == nameOf(f, f.volume)
		if named && c.Method == f.method && f.kind != again && f.kind != undone {
			cause = c
		}
		// A volume that no reply named was made for a name that was requested again.
		if f.kind == inventories && f.method == "CreateVolume" && c.Method == f.method && s.Audit == nil && !named {
			if was := previous(f.steps[:i], c); cause == nil || was != nil {
				cause = c
				keep[was] = was != nil
			}
		}
		if s.Audit != nil && (c.Method == "ListVolumes" || c.Method == "ListSnapshots") && f.method == c.Method {
			keep[c] = true // a page belongs to the others
		}
		if named && s.Audit == nil && (c.Method == "CreateVolume" || c.Method == "CreateSnapshot") || s.Crash || c.Fault != (csi.Fault{}) && c.Fault.Kind != csi.NotDelivered ||
			f.path != "" && path(c.Request) == f.path {
			keep[c] = true
		}
	}
	if cause != nil {
		keep[cause] = true
	}
	// A reply that comes at the same time as that of another call belongs to it.
	for _, s := range f.steps {
		if s.Call == nil {
			continue
		}
		for _, reply := range s.Call.Replies {
			for _, other := range f.steps {
				if reply.Met != 0 && other.Call != nil && other.Call.Seq == reply.Met && keep[s.Call] {
					keep[other.Call] = true
				}
			}
		}
	}
	return keep
}

// shows reports whether the steps show the same flaw.
func shows(rec *recording, steps []step, f flaw) bool {
	return slices.ContainsFunc(examine(rec, steps), func(g flaw) bool {
		return g.kind == f.kind && g.method == f.method && g.path == f.path && g.detail == f.detail
	})
}

// onlyCalls returns the last call of each method to the volume, and those that stay.
func onlyCalls(steps []step, f flaw, keep map[any]bool) []step {
	var all []step
	for i, s := range steps {
		if s.Call == nil || !about(f, s.Call) {
			continue
		}
		later := slices.ContainsFunc(steps[i+1:], func(t step) bool { return t.Call != nil && t.Call.Method == s.Call.Method })
		if !later || keep[s.Call] && s.Call.Fault != (csi.Fault{}) || i == len(steps)-1 {
			all = append(all, s)
		}
	}
	return all
}

// about reports whether a call is about the volume or the snapshot of a flaw. A flaw without either is about its method.
func about(f flaw, c *csi.Call) bool {
	if f.volume == "" && f.snapshot == "" {
		return c.Method == f.method
	}
	return f.volume != "" && nameOf(f, c.Volume) == nameOf(f, f.volume) || f.snapshot != "" && snapshotNameOf(f, c) == f.snapshot
}

// maxCalls is the number of calls that a report shows.
const maxCalls = 8

// callTexts describes steps. Of more than maxCalls, the middle is omitted.
func callTexts(steps []step) []CallText {
	var all []CallText
	for _, s := range steps {
		all = append(all, callText(s))
	}
	if len(all) > maxCalls {
		omitted := len(all) - maxCalls + 1
		note := CallText{Note: fmt.Sprintf("%d more calls", omitted)}
		all = slices.Concat(all[:maxCalls/2-1], []CallText{note}, all[len(all)-maxCalls/2:])
	}
	return all
}

// notes says in words what went wrong with a call.
var notes = map[csi.FaultKind]string{
	csi.NotDelivered: "the call is not delivered",
	csi.LostReply:    "the reply is lost",
	csi.Late:         "the reply arrives after the deadline",
	csi.Twice:        "the call is delivered twice",
	csi.Reset:        "the connection breaks during the call",
	csi.KilledBefore: "the driver restarts before the call",
	csi.KilledDuring: "the driver restarts during the call",
	csi.KilledAfter:  "the driver restarts before the caller has the reply",
	csi.Overlap:      "the call continues after its deadline, while the next one is made",
}

func callText(s step) CallText {
	switch {
	case s.Event != nil && s.Event.Gone:
		return CallText{Note: "node " + s.Event.Node + " is removed from the storage system"}
	case s.Event != nil:
		return CallText{Note: "node " + s.Event.Node + " loses its mounts"}
	case s.Listed != nil:
		return CallText{Note: "volsim compares volumes and mounts with the replies"}
	case s.Access != nil && s.Access.Write:
		return CallText{Note: fmt.Sprintf("a container writes %q to %s on node %s", s.Access.Data, s.Access.Path, s.Access.Node)}
	case s.Access != nil:
		return CallText{Note: fmt.Sprintf("a container reads %s on node %s: %q", s.Access.Path, s.Access.Node, s.Access.Data)}
	case s.Stats != nil:
		return CallText{Note: fmt.Sprintf("NodeGetVolumeStats of volume %s on node %s: %d bytes", s.Stats.Volume, s.Stats.Node, s.Stats.Total)}
	}
	c := s.Call
	text := CallText{Actor: s.Actor, Method: c.Method, Request: compact(c.Request)}
	for i, reply := range c.Replies {
		if i > 0 {
			text.Reply += "; then "
		}
		if reply.Status != nil {
			text.Reply += fmt.Sprintf("code %s: %s", reply.Status.Code(), reply.Status.Message())
		} else {
			text.Reply += compact(reply.Message)
		}
	}
	if len(c.Replies) == 0 {
		text.Reply = "none"
	}
	if c.Fault.Kind != "" {
		text.Note = notes[c.Fault.Kind]
	}
	if c.Fault.GivenUp {
		text.Note = describe[givenUp]
	}
	if s.Crash {
		text.Note = describe[crash]
	}
	return text
}
