package explore

import (
	"slices"
	"strings"

	"github.com/volsim/volsim/api"
	"github.com/volsim/volsim/internal/core/engine"
)

// access is what an event reads and changes of what others may read or change. Two events that are due at once and of which neither changes
// what the other reads or changes lead to the same, whichever comes first.
type access struct {
	// all depends on everything: who drives the engine came to act after it, or an actor ended or started.
	all bool
	// wide is an event of an actor of which it is not known what it reads: everything but what discreet actors keep.
	wide  bool
	cells []cell
}

// cell is a part of the world.
type cell struct {
	name   string
	change bool
}

// What a cell's name begins with. Those that only discreet actors have are in lower case.
const (
	objectCell  = "O " // an object
	kindCell    = "K " // the objects of a kind, and the order of their changes
	storageCell = "S " // a backend
	otherCell   = "E " // counters, faults, the trace
	memoryCell  = "m " // what an actor keeps
	queueCell   = "q "
	viewCell    = "v " // one object as an informer has it, or its place
)

func (a *access) reads(name string)   { a.cells = append(a.cells, cell{name, false}) }
func (a *access) changes(name string) { a.cells = append(a.cells, cell{name, true}) }

// dependent reports whether it may make a difference which of two events comes first.
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

// disturbs reports whether an event changes an object, which an actor may read of which nothing is known, or asks a backend, which such an actor
// may change past all calls. What such an actor does with counters, faults and the trace is in its own cells.
func (a *access) disturbs() bool {
	return slices.ContainsFunc(a.cells, func(c cell) bool {
		return strings.HasPrefix(c.name, storageCell) ||
			c.change && strings.HasPrefix(c.name, kindCell)
	})
}

// The cells of which there is one.
const (
	effectsCell    = otherCell + "effects"
	faultsCell     = otherCell + "faults"
	traceCell      = otherCell + "trace"
	backgroundCell = "w background" // whether Settle ends does not depend on the order of work, but on whether work or background comes first
)

// note adds what the footprint of an event shows.
func (a *access) note(t *tracker, f *engine.Footprint, discreet bool) {
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
				// Admission looks at classes.
				a.reads(kindCell + string(api.StorageClass))
			}
		}
		for _, obj := range effect.Objects {
			if call.Verb == "create" && obj.GetGenerateName() != "" {
				a.all = true // the name is made of how much was written so far
			}
		}
	}
	if t.run.Injects && f.Code {
		a.changes(faultsCell)
	}
	if len(f.Counts) > 0 {
		a.changes(effectsCell) // as against those that count up, whose order makes no difference among themselves
	}
	if !discreet {
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
	for _, l := range f.Looks {
		a.reads(viewCell + actor + string(number(viewIndex(f.Event.Actor, l.View))) + l.Key)
	}
}

func viewIndex(a *engine.Actor, v engine.View) int { return slices.Index(a.Views(), v) }
