package explain

import "time"

// Explanation says why one object is in the state it is in.
type Explanation struct {
	// Object names it: pvc/namespace/name, pod/namespace/name, pv/name or va/name.
	Object string `json:"object"`
	// Phase is its phase, Terminating for one that is being deleted.
	Phase string `json:"phase"`
	// Because is what decides.
	Because Reason `json:"because"`
	// Candidates are what was considered for it, in the order of the search: volumes for a claim, nodes for a pod.
	Candidates []Candidate `json:"candidates,omitempty"`
	// Next says who has to do what for anything to change; empty when nothing is to be done.
	Next []Step `json:"next,omitempty"`
	// Changes says when anything can change.
	Changes Change `json:"changes"`
	// Notes are what else is worth knowing, such as what becomes of the data.
	Notes []string `json:"notes,omitempty"`
	// Related are the explanations of the objects that it waits for or stands on, the one that is in the way first.
	Related []Explanation `json:"related,omitempty"`
}

// Reason is a rule and what it comes to here, in words.
type Reason struct {
	Rule string `json:"rule"`
	Text string `json:"text"`
}

// Candidate is a volume or a node that was considered.
type Candidate struct {
	// Name is that of the volume or the node.
	Name string `json:"name"`
	// Rule is the first rule that refused it, "" for one that was not refused.
	Rule string `json:"rule,omitempty"`
	// Got describes the candidate, and Needed what is needed instead; Needed is "" where Got says it all.
	Got    string `json:"got,omitempty"`
	Needed string `json:"needed,omitempty"`
	// Candidates are, for a node without a volume that a claim could have, the volumes looked at there.
	Candidates []Candidate `json:"candidates,omitempty"`
}

// Step is something to be done.
type Step struct {
	// Actor is the component, by its name as an actor, or Somebody.
	Actor string `json:"actor"`
	Does  string `json:"does"`
}

// Somebody is the actor of a step that no component takes by itself.
const Somebody = "somebody"

// When says whether an object changes by itself.
type When string

// What When can be.
const (
	// Settled: it is as it should be.
	Settled When = "settled"
	// ByItself: it can change without anybody's doing, from Change.At on.
	ByItself When = "by itself"
	// Never: nothing changes until somebody acts.
	Never When = "never"
	// Along: it changes with the object that it is related to, which is explained above it.
	Along When = "along"
)

// Change says when an object can change.
type Change struct {
	When When `json:"when"`
	// At is the earliest virtual time at which it can change by itself; zero unless When is ByItself.
	At time.Time `json:"at,omitzero"`
	// Rule and Text say what happens then, or why nothing does.
	Rule string `json:"rule,omitempty"`
	Text string `json:"text,omitempty"`
}

// Root is the explanation at the end of the chain: of the object that is in the way and waits for no other. It is x itself when nothing
// related is unsettled.
func (x *Explanation) Root() *Explanation {
	if x.Changes.When == Settled {
		return x
	}
	for i := range x.Related {
		if c := x.Related[i].Changes.When; c != Settled && c != Along {
			return x.Related[i].Root()
		}
	}
	return x
}

// say sets what decides.
func (x *Explanation) say(rule, text string) { x.Because = Reason{Rule: rule, Text: text} }

func (x *Explanation) next(actor, does string) {
	x.Next = append(x.Next, Step{Actor: actor, Does: does})
}

func (x *Explanation) settled() { x.Changes = Change{When: Settled} }

func (x *Explanation) never(text string) { x.Changes = Change{When: Never, Text: text} }

func (x *Explanation) at(at time.Time, rule, text string) {
	x.Changes = Change{When: ByItself, At: at, Rule: rule, Text: text}
}

// follow has x change when one of those it waits for does: the first of them to change.
func (x *Explanation) follow() {
	first := Change{When: Never, Text: "nothing that it waits for changes by itself"}
	for i := range x.Related {
		c := x.Related[i].Changes
		if c.When == ByItself && (first.When == Never || c.At.Before(first.At)) {
			first = c
			first.Text = x.Related[i].Object + ": " + c.Text
		}
	}
	x.Changes = first
}
