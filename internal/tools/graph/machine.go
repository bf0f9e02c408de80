package graph

import (
	"cmp"
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"

	"github.com/volsim/volsim/api"
	"github.com/volsim/volsim/trace"
)

// None is the state of an object that does not exist: before it is created, and after it is gone.
const None = ""

// Transition is one kind of phase change.
type Transition struct {
	// From and To are phases; None is before the creation, and after the deletion.
	From, To string
	// Reason is the ID of the rule that decided, or the name of the actor of a write without a decision.
	Reason string
	// Count is the number of times that it occurred.
	Count int
}

// Machine is the observed state machine of one kind. Create one with NewMachine.
type Machine struct {
	kind   api.Kind
	counts map[Transition]int // Count is zero in the keys
	phases map[string]struct{}
}

// Kinds lists the kinds that have a state machine.
func Kinds() []api.Kind { return []api.Kind{api.PersistentVolume, api.PersistentVolumeClaim} }

// NewMachine returns an empty machine of a kind. It only ever observes something if the kind is one of Kinds.
func NewMachine(kind api.Kind) *Machine {
	return &Machine{kind: kind, counts: map[Transition]int{}, phases: map[string]struct{}{}}
}

// Kind returns the kind of the machine.
func (m *Machine) Kind() api.Kind { return m.kind }

// Observe adds the transitions in a trace. A nil trace has none.
func (m *Machine) Observe(log *trace.Trace) {
	if log == nil {
		return
	}
	var reasons Reasons
	for e := range log.Entries() {
		reasons.Add(e)
		if e.Type != trace.Write || e.Err != nil || e.Object.Kind != m.kind || e.Old == e.New {
			continue
		}
		from, to := phaseOf(e.Old), phaseOf(e.New)
		if from == to {
			continue
		}
		m.see(from)
		m.see(to)
		m.counts[Transition{From: from, To: to, Reason: reasonOf(&reasons, e)}]++
	}
}

func (m *Machine) see(phase string) {
	if phase != None {
		m.phases[phase] = struct{}{}
	}
}

func reasonOf(reasons *Reasons, e trace.Entry) string {
	if decision, ok := reasons.Behind(e); ok {
		return decision.Rule
	}
	return e.Actor
}

// phaseOf returns the phase of an object, None for nil.
func phaseOf(obj api.Object) string {
	switch obj := obj.(type) {
	case *corev1.PersistentVolume:
		return string(cmp.Or(obj.Status.Phase, corev1.VolumePending))
	case *corev1.PersistentVolumeClaim:
		return string(cmp.Or(obj.Status.Phase, corev1.ClaimPending))
	}
	return None
}

// Phases returns the observed phases, in the order in which an object usually passes through them.
func (m *Machine) Phases() []string {
	return slices.SortedFunc(maps.Keys(m.phases), func(a, b string) int {
		return cmp.Or(cmp.Compare(place(a), place(b)), cmp.Compare(a, b))
	})
}

// usual is the order in which objects pass through their phases. No phase has different positions in the two kinds.
var usual = []string{
	None, string(corev1.VolumePending), string(corev1.VolumeAvailable), string(corev1.VolumeBound), string(corev1.VolumeReleased),
	string(corev1.VolumeFailed), string(corev1.ClaimLost),
}

func place(phase string) int {
	if i := slices.Index(usual, phase); i >= 0 {
		return i
	}
	return len(usual)
}

// Transitions returns the observed transitions in the order of phases; between the same two phases, the most frequent comes first.
func (m *Machine) Transitions() []Transition {
	all := make([]Transition, 0, len(m.counts))
	for t, count := range m.counts {
		t.Count = count
		all = append(all, t)
	}
	slices.SortFunc(all, func(a, b Transition) int {
		return cmp.Or(
			cmp.Compare(place(a.From), place(b.From)), cmp.Compare(a.From, b.From),
			cmp.Compare(end(a.To), end(b.To)), cmp.Compare(a.To, b.To),
			cmp.Compare(b.Count, a.Count), cmp.Compare(a.Reason, b.Reason))
	})
	return all
}

// end returns the position of a target phase: None comes last.
func end(phase string) int {
	if phase == None {
		return len(usual) + 1
	}
	return place(phase)
}
