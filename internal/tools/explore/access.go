package explore

import (
	"slices"
	"strings"

	"github.com/volsim/volsim/api"
	"github.com/volsim/volsim/internal/core/engine"
)

// access summarizes what an event reads and changes, as far as other events may read or change it. If of two events that are due at once
// neither changes what the other reads or changes, both orders lead to the same state.
type access struct {
	// all marks an event that depends on every other: after it the driver of the run acts, or an actor started or crashed.
	all bool
	// wide marks an event of a dependent actor: it may read everything except the memory of independent actors.
	wide  bool
	cells []cell
}

// cell is a part of the cluster.
type cell struct {
	name   string
	change bool
}

// Prefixes of the names of cells. Cells that only independent actors have are in lower case.
const (
	objectCell  = "O " // an object
	kindCell    = "K " // the objects of a kind, and the order of their changes
	storageCell = "S " // a backend
	otherCell   = "E " // counters, faults, the trace
	memoryCell  = "m " // the memory of an actor
	queueCell   = "q "
	viewCell    = "v " // one object in an informer, or the informer's position in the delta queue
)

func (a *access) reads(name string)   { a.cells = append(a.cells, cell{name, false}) }
func (a *access) changes(name string) { a.cells = append(a.cells, cell{name, true}) }

// dependent reports whether the order of two events may matter.
func dependent(a, b *access) bool {
	if a.all || b.all || a.wide && b.wide {
		return true
	}
	if a.wide && b.disturbs() || b.wide && a.disturbs() {
		return true
	}
	for _, x := range a.cells {
		if slices.ContainsFunc(b.cells, func(y cell) bool { return x.name == y.name && (x.change || y.change) }) {
			return true
		}
	}
	return false
}

// disturbs reports whether an event affects a dependent actor: it changes an object, which that actor may read, or calls a backend, which
// that actor may change without a call. Counters, faults and the trace are in the cells of the dependent actor itself.
func (a *access) disturbs() bool {
	return slices.ContainsFunc(a.cells, func(c cell) bool {
		return strings.HasPrefix(c.name, storageCell) ||
			c.change && strings.HasPrefix(c.name, kindCell)
	})
}

// Cells that exist once.
const (
	effectsCell    = otherCell + "effects"
	faultsCell     = otherCell + "faults"
	traceCell      = otherCell + "trace"
	backgroundCell = "w background" // the end of Settle depends on whether work or background comes first
)

// note adds the footprint of an event.
func (a *access) note(t *tracker, f *engine.Footprint, independent bool) {
	for _, effect := range f.Calls {
		call := effect.Call
		switch {
		case call.Target != api.APIServer:
			a.changes(storageCell + call.Target)
		case call.Verb == "list":
			a.reads(kindCell + call.Kind)
		default:
			a.reads(objectCell + call.Kind + "/" + call.Key)
			if call.Verb != "get" {
				// Admission reads classes.
				a.reads(kindCell + string(api.StorageClass))
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
		view := viewCell + actor + string(number(viewIndex(f.Event.Actor, v)))
		a.changes(view)
		a.changes(view + t.key)
	}
	if f.Code {
		a.changes(memoryCell + actor)
	}
	for _, q := range f.Queues {
		a.changes(queueCell + actor + string(number(q.Index())))
	}
	for _, l := range f.Reads {
		a.reads(viewCell + actor + string(number(viewIndex(f.Event.Actor, l.View))) + l.Key)
	}
}

func viewIndex(a *engine.Actor, v engine.View) int { return slices.Index(a.Views(), v) }
