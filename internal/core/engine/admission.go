package engine

import (
	corev1 "k8s.io/api/core/v1"

	"github.com/volsim/volsim/api"
	"github.com/volsim/volsim/internal/core/store"
)

// Admission lets others review what actors write, and take their time for it, as admission webhooks do.
type Admission interface {
	// Review returns the review of a write, nil if there is none.
	Review(w Write) Review
}

// Write is a write that an actor is about to make. The user's is reviewed at once, or not at all.
type Write struct {
	Actor string // api.User for the user
	Verb  string // as in the trace
	Ref   api.Ref
	// Delete has the options of a delete. Collection says that it is one of a deletecollection.
	Delete     api.DeleteOptions
	Collection bool
	// Binding is the object of a bind, which the review may change; nil for other writes.
	Binding *corev1.Binding
}

// Review is the review of one write.
type Review interface {
	// Try calls fn, which makes the write; without effect if an answer is missing: then it returns false, and has to be called again. The error
	// is that of fn, or that of a review that refuses the write without calling it.
	Try(fn func() error) (done bool, err error)
	// Answers is broadcast when answers arrive; Answered reports that all of them have.
	Answers() *Signal
	Answered() bool
}

// SetAdmission sets who reviews what actors and the user write from now on. With nil, the default, it is not reviewed.
func (e *Engine) SetAdmission(a Admission) { e.admission = a }

// Admission returns the reviewer that SetAdmission has set; nil if there is none.
func (e *Engine) Admission() Admission { return e.admission }

// reviewOf returns the review of a write that p is about to make, nil if there is none.
func (p *Process) reviewOf(w Write) Review {
	if p.engine.admission == nil || p.inline && p != p.engine.user {
		return nil // the server reviews the requests of clients itself
	}
	w.Actor = p.actor.name
	return p.engine.admission.Review(w)
}

// TryCreate returns the error that a create of the object by p would have now. Nothing is stored.
func (server *API) TryCreate(p *Process, obj api.Object) error {
	s := server.engine.store
	review := p.reviewOf(Write{Verb: "create", Ref: api.RefTo(obj)})
	if review == nil {
		_, err := s.Try(obj)
		return err
	}
	_, err := review.Try(func() error {
		_, err := s.CreateWith(obj, store.CreateOptions{DryRun: true})
		return err
	})
	return err
}

// writeReviewed makes a write again until its review is complete. It returns the stored object before the write, too.
func (p *Process) writeReviewed(review Review, ref api.Ref, fn func() (api.Object, error)) (obj, old api.Object, err error) {
	effect := func() error {
		old = p.engine.store.Lookup(ref.Kind, ref.Key)
		obj, err = fn()
		return err
	}
	for {
		var done bool
		if done, err = review.Try(effect); done {
			return obj, old, err
		}
		review.Answers().WaitUntil(p, review.Answered)
		p.engine.writer = p.actor.name
	}
}
