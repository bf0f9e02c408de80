package engine

import "github.com/volsim/volsim/api"

// Admission lets others review what actors create, and take their time for it, as admission webhooks do.
type Admission interface {
	// Review returns the review of a create that an actor is about to make, nil if there is none.
	Review(actor string, ref api.Ref) Review
}

// Review is the review of one write.
type Review interface {
	// Try calls fn, which makes the write. It returns false if fn had no effect because an answer is missing, and has to be called again.
	Try(fn func()) bool
	// Answers is broadcast when answers arrive; Answered reports that all of them have.
	Answers() *Signal
	Answered() bool
}

// SetAdmission sets who reviews creates from now on. Nil, the default, is nobody. The user's own writes are not reviewed.
func (e *Engine) SetAdmission(a Admission) { e.admission = a }

// reviewed calls fn, which makes a write of p, again until all who review it have answered.
func (p *Process) reviewed(verb string, ref api.Ref, fn func()) {
	if p.inline || verb != "create" {
		fn()
		return
	}
	review := p.engine.admission.Review(p.actor.name, ref)
	if review == nil {
		fn()
		return
	}
	for !review.Try(fn) {
		review.Answers().WaitUntil(p, review.Answered)
		p.engine.writer = p.actor.name
	}
}
