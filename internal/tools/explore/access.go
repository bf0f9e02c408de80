package explore

import (
	"encoding/binary"
	"slices"

	"github.com/volsim/volsim/api"
	"github.com/volsim/volsim/internal/core/engine"
)

// access summarizes what an event reads and changes, as far as other events may read or change it. If of two events that are due at once
// neither changes what the other reads or changes, both orders lead to the same state.
type access struct {
	// all marks an event that depends on every other: after it the driver of the run acts, or an actor started or crashed.
	all bool
	// wide marks an event of a dependent actor, or with a write that is reviewed: it may read everything except the memory of independent
	// actors.
	wide  bool
	cells []cell
}

// cell is a part of the cluster: the sort and a hash of its name, and whether it is changed. If two cells should have the same hash, events
// that are independent are taken for dependent ones, so less is skipped.
type cell uint64

// The sorts of cells.
const (
	objectCell  cell = iota << 60 // an object
	kindCell                      // the objects of a kind, and the order of their changes
	storageCell                   // a backend
	otherCell                     // what exists once: counters, faults, the trace
	// Cells that only independent actors have.
	memoryCell // the memory of an actor
	queueCell
	viewCell // one object in an informer, or the informer's position in the delta queue

	changed  cell = 1 << 63
	sortMask cell = 7 << 60
	hashMask cell = 1<<60 - 1
)

// named returns the cell of that sort with a name of several parts.
func (c cell) named(parts ...string) cell {
	for _, part := range parts {
		c = c.with(bytesOf(part))
	}
	return c
}

// at returns the cell of one of several things that are numbered, and of that of an object in a thing; "" is the thing itself, which a list
// reads.
func (c cell) at(n int) cell { return c.with(number(n)) }

func (c cell) of(key string) cell {
	if key == "" {
		return c
	}
	return c.with(bytesOf(key))
}

func (c cell) with(part []byte) cell {
	var room [128]byte
	d := digestOf(append(binary.LittleEndian.AppendUint64(room[:0], uint64(c)), part...))
	return c&sortMask | cell(binary.LittleEndian.Uint64(d[:]))&hashMask
}

func (a *access) reads(c cell)   { a.cells = append(a.cells, c) }
func (a *access) changes(c cell) { a.cells = append(a.cells, c|changed) }

// keep returns a copy that does not share memory.
func (a access) keep() access {
	a.cells = slices.Clone(a.cells)
	return a
}

// dependent reports whether the order of two events may matter.
func dependent(a, b *access) bool {
	if a.all || b.all || a.wide && b.wide {
		return true
	}
	if a.wide && b.disturbs() || b.wide && a.disturbs() {
		return true
	}
	for _, x := range a.cells {
		for _, y := range b.cells {
			if (x^y)&^changed == 0 && (x|y)&changed != 0 {
				return true
			}
		}
	}
	return false
}

// disturbs reports whether an event affects a dependent actor: it changes an object, which that actor may read, or calls a backend, which
// that actor may change without a call. Counters, faults and the trace are in the cells of the dependent actor itself.
func (a *access) disturbs() bool {
	return slices.ContainsFunc(a.cells, func(c cell) bool {
		return c&sortMask == storageCell || c&sortMask == kindCell && c&changed != 0
	})
}

// Cells that exist once.
const (
	effectsCell cell = otherCell + iota
	faultsCell
	traceCell
	backgroundCell // the end of Settle depends on whether work or background comes first
)

// note adds the footprint of an event.
func (a *access) note(t *tracker, f *engine.Footprint, independent bool) {
	for _, effect := range f.Calls {
		call := effect.Call
		switch {
		case call.Target != api.APIServer:
			a.changes(storageCell.named(call.Target))
		case call.Verb == "list" || call.Verb == "deletecollection":
			a.reads(kindCell.named(call.Kind))
		default:
			a.reads(objectCell.named(call.Kind, call.Key))
			if call.Verb != "get" {
				// Admission reads classes.
				a.reads(kindCell.named(string(api.StorageClass)))
				// A review may read every object (API-429).
				a.wide = a.wide || t.engine.Admission() != nil
			}
		}
		for _, obj := range effect.Objects {
			if call.Verb == "create" && obj.GetGenerateName() != "" {
				a.all = true // the name depends on the number of writes so far
			}
		}
	}
	if t.run.Injects && f.Code {
		a.changes(faultsCell)
	}
	if len(f.Counts) > 0 {
		a.changes(effectsCell) // events that only count up read it: their order does not matter
	}
	if !independent {
		a.wide = true
		return
	}
	actor := f.Event.Actor.Name()
	if v := f.Event.View; v != nil {
		view := viewCell.named(actor).at(viewIndex(f.Event.Actor, v))
		a.changes(view)
		a.changes(view.of(t.key))
	}
	if f.Code {
		a.changes(memoryCell.named(actor))
	}
	for _, q := range f.Queues {
		a.changes(queueCell.named(actor).at(q.Index()))
	}
	for _, l := range f.Reads {
		a.reads(viewCell.named(actor).at(viewIndex(f.Event.Actor, l.View)).of(l.Key))
	}
}

func viewIndex(a *engine.Actor, v engine.View) int { return slices.Index(a.Views(), v) }
