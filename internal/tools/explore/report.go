package explore

import (
	"cmp"
	"slices"

	"github.com/volsim/volsim/check"
	"github.com/volsim/volsim/internal/core/engine"
)

// sample is the result of one run. Either Seed or Choices repeat it.
type sample struct {
	Seed       int64
	Choices    []engine.Choice
	Outcome    Outcome
	ID         string // of the outcome
	Failed     bool
	Violations []check.Violation
}

// Found is a distinct outcome: the number of runs that had it, and one of them.
type Found struct {
	ID      string          `json:"id"`
	Count   int             `json:"count"`
	Failed  bool            `json:"failed,omitempty"`
	Seed    int64           `json:"seed"`
	Choices []engine.Choice `json:"choices,omitempty"`
	Outcome Outcome         `json:"outcome"`
}

// Violated is a violated invariant: the number of runs, and the run with the fewest trace entries up to the violation.
type Violated struct {
	Invariant string          `json:"invariant"`
	Forced    bool            `json:"forced,omitempty"` // all violations were forced by a user or a fault
	Count     int             `json:"count"`
	Seed      int64           `json:"seed"`
	Choices   []engine.Choice `json:"choices,omitempty"`
	Entries   uint64          `json:"entries"` // the number of trace entries up to the violation
	Text      string          `json:"text"`    // the violation and its witness
}

// Report counts runs. A report of seeds does not depend on the order in which runs are added or reports are joined.
type Report struct {
	Outcomes []Found
	Violated []Violated
	// Failed are the lines of a script that failed, each with the text of one of its failures.
	Failed []Line
	// Some are the lines of a script that must hold with at least one seed.
	Some []Line
}

// add adds a run.
func (r *Report) add(s sample) {
	if s.ID == "" {
		s.ID = s.Outcome.ID()
	}
	r.addOutcome(Found{ID: s.ID, Count: 1, Failed: s.Failed, Seed: s.Seed, Choices: s.Choices, Outcome: s.Outcome})
	r.addViolations(s)
	r.sort()
}

// addViolations adds the violations of a run, each invariant once.
func (r *Report) addViolations(s sample) {
	byName := map[string]Violated{}
	for _, v := range s.Violations {
		one := Violated{Invariant: v.Invariant, Forced: v.Forced != "", Count: 1, Seed: s.Seed, Choices: s.Choices, Entries: entries(v),
			Text: v.String()}
		if before, ok := byName[v.Invariant]; !ok || shorter(one, before) {
			byName[v.Invariant] = one
		}
	}
	for _, v := range byName {
		r.addViolated(v)
	}
	if len(byName) > 0 {
		r.sort()
	}
}

// entries returns the number of trace entries up to a violation.
func entries(v check.Violation) uint64 {
	var last uint64
	for _, e := range v.Witness {
		last = max(last, e.Seq)
	}
	return last
}

// Add adds another report.
func (r *Report) Add(other Report) {
	for _, f := range other.Outcomes {
		r.addOutcome(f)
	}
	for _, v := range other.Violated {
		r.addViolated(v)
	}
	for _, l := range other.Failed {
		r.Failed = addLine(r.Failed, l)
	}
	for _, l := range other.Some {
		r.Some = addLine(r.Some, l)
	}
	r.sort()
}

func addLine(lines []Line, l Line) []Line {
	for i := range lines {
		if have := &lines[i]; have.Line == l.Line {
			count := have.Count + l.Count
			if have.Count == 0 || l.Count > 0 && (l.Seed < have.Seed || len(l.Choices) < len(have.Choices)) {
				*have = l
			}
			have.Count = count
			return lines
		}
	}
	return append(lines, l)
}

func (r *Report) addOutcome(f Found) {
	for i := range r.Outcomes {
		if have := &r.Outcomes[i]; have.Outcome == f.Outcome {
			count := have.Count + f.Count
			// Keep the smaller seed, or the shorter list of choices.
			if len(f.Choices) < len(have.Choices) || f.Choices == nil && f.Seed < have.Seed {
				*have = f
			}
			have.Count = count
			return
		}
	}
	r.Outcomes = append(r.Outcomes, f)
}

func (r *Report) addViolated(v Violated) {
	for i := range r.Violated {
		if have := &r.Violated[i]; have.Invariant == v.Invariant {
			count := have.Count + v.Count
			if shorter(v, *have) {
				*have = v
			}
			have.Count = count
			return
		}
	}
	r.Violated = append(r.Violated, v)
}

// shorter reports whether a is the better example: not forced, then with fewer entries before it, then of the smaller seed or fewer
// choices.
func shorter(a, b Violated) bool {
	if a.Forced != b.Forced {
		return !a.Forced
	}
	return cmp.Or(cmp.Compare(a.Entries, b.Entries), cmp.Compare(a.Seed, b.Seed), cmp.Compare(len(a.Choices), len(b.Choices)),
		cmp.Compare(a.Text, b.Text)) < 0
}

// sort puts frequent outcomes first and makes the order deterministic.
func (r *Report) sort() {
	slices.SortFunc(r.Outcomes, func(a, b Found) int { return cmp.Or(-cmp.Compare(a.Count, b.Count), cmp.Compare(a.ID, b.ID)) })
	byLine := func(a, b Line) int { return cmp.Compare(a.Line, b.Line) }
	slices.SortFunc(r.Failed, byLine)
	slices.SortFunc(r.Some, byLine)
	slices.SortFunc(r.Violated, func(a, b Violated) int { return cmp.Compare(a.Invariant, b.Invariant) })
}
