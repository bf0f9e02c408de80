package explain

import "time"

// Explanation says why one object is in its state, and what changes that.
type Explanation struct {
	// Object names it: pvc/namespace/name, pod/namespace/name, pv/name or va/name.
	Object string `json:"object"`
	// Phase is its phase; Terminating if it is being deleted, Attaching or Attached for an attachment.
	Phase string `json:"phase"`
	// Rule decides, and Why says what it decides here.
	Rule string `json:"rule"`
	Why  string `json:"why"`
	// Candidates are the volumes considered for a claim, or the nodes considered for a pod, in the order of the search.
	Candidates []Candidate `json:"candidates,omitempty"`
	// Next lists who does what next. It is empty if nothing needs doing.
	Next []Step `json:"next,omitempty"`
	// Changes says when the state can change.
	Changes Change `json:"changes"`
	// Assumes lists what the answer assumes about drivers, nodes and controllers, and the evidence for it. It is empty for a simulated
	// cluster: whether a controller runs is known there.
	Assumes []string `json:"assumes,omitempty"`
	// Notes add facts that do not decide, such as what happens to the data when the object is deleted.
	Notes []string `json:"notes,omitempty"`
	// Related explains the objects that this one waits for or depends on; the one that blocks it comes first.
	Related []Explanation `json:"related,omitempty"`

	// now is the time of the snapshot.
	now time.Time
}

// Candidate is a volume or a node that was considered.
type Candidate struct {
	// Name is the name of the volume or the node.
	Name string `json:"name"`
	// Rule is the first rule that rejected it; "" if it fits.
	Rule string `json:"rule,omitempty"`
	// Got describes the candidate, and Needed what is needed instead; Needed is "" where Got says it all.
	Got    string `json:"got,omitempty"`
	Needed string `json:"needed,omitempty"`
	// Also are its further rejections, in the order of the rules; they have no Name.
	Also []Candidate `json:"also,omitempty"`
	// Candidates are, for a node that reaches no volume for a claim, the volumes considered on that node.
	Candidates []Candidate `json:"candidates,omitempty"`
}

// Step is one action.
type Step struct {
	// Actor is the component that acts, by its name as an actor; "" for the user.
	Actor string `json:"actor,omitempty"`
	// Does is the action: "binds the claim" for a component, "create volume pv-1" for the user.
	Does string `json:"does"`
}

// When says how the state of an object changes.
type When string

// The values of When.
const (
	// Settled: the object has reached the state that its spec asks for.
	Settled When = "settled"
	// Automatic: a component changes the state, at Change.At or later.
	Automatic When = "automatic"
	// Manual: nothing changes until the user acts.
	Manual When = "manual"
	// Follows: the state changes together with the object whose explanation lists this one as related.
	Follows When = "follows"
)

// Change says when the state of an object can change.
type Change struct {
	When When `json:"when"`
	// At is the earliest virtual time of an automatic change; zero unless When is Automatic.
	At time.Time `json:"at,omitzero"`
	// Rule and Text say what triggers the change, or why there is none. Rule may be "".
	Rule string `json:"rule,omitempty"`
	Text string `json:"text,omitempty"`
}

// Root returns the explanation at the end of the chain of blocking objects: the object that waits for no other one. It returns x if no
// related object blocks it.
func (x *Explanation) Root() *Explanation {
	if x.Changes.When == Settled {
		return x
	}
	for i := range x.Related {
		if c := x.Related[i].Changes.When; c != Settled && c != Follows {
			return x.Related[i].Root()
		}
	}
	return x
}

func (x *Explanation) because(rule, why string) { x.Rule, x.Why = rule, why }

// next adds what a component does.
func (x *Explanation) next(actor, does string) {
	x.Next = append(x.Next, Step{Actor: actor, Does: does})
}

// todo adds what the user has to do.
func (x *Explanation) todo(does string) { x.Next = append(x.Next, Step{Does: does}) }

func (x *Explanation) settled() { x.Changes = Change{When: Settled} }

func (x *Explanation) manual(text string) { x.Changes = Change{When: Manual, Text: text} }

func (x *Explanation) automatic(at time.Time, rule, text string) {
	x.Changes = Change{When: Automatic, At: at, Rule: rule, Text: text}
}

// follow makes x change with the first related object that changes.
func (x *Explanation) follow() {
	first := Change{When: Manual, Text: "everything that it waits for needs your action"}
	for i := range x.Related {
		c := x.Related[i].Changes
		if c.When == Automatic && (first.When == Manual || c.At.Before(first.At)) {
			first = c
			first.Text = x.Related[i].Object + ": " + c.Text
		}
	}
	x.Changes = first
}
