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

// SetAdmission sets who reviews the objects that actors create from now on. With nil, the default, they are not reviewed. The user's own writes
// never are.
func (e *Engine) SetAdmission(a Admission) { e.admission = a }

// Admission returns the reviewer that SetAdmission has set; nil if there is none.
func (e *Engine) Admission() Admission { return e.admission }

// reviewOf returns the review of a write that p is about to make, nil if there is none.
func (p *Process) reviewOf(verb string, ref api.Ref) Review {
	if p.engine.admission == nil || p.inline || verb != "create" {
		return nil
	}
	return p.engine.admission.Review(p.actor.name, ref)
}

// writeReviewed makes a write again until its review is complete. It returns the stored object before the write, too.
func (p *Process) writeReviewed(review Review, ref api.Ref, fn func() (api.Object, error)) (obj, old api.Object, err error) {
	effect := func() {
		old = p.engine.store.Lookup(ref.Kind, ref.Key)
		obj, err = fn()
	}
	for !review.Try(effect) {
		review.Answers().WaitUntil(p, review.Answered)
		p.engine.writer = p.actor.name
	}
	return obj, old, err
}
