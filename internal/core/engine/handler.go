package engine

import (
	"github.com/volsim/volsim/api"
)

// Handler reacts to changes when an informer delivers them. It only reads and queues; a nil function ignores such changes.
type Handler[T api.Object] struct {
	Add    func(obj T)
	Update func(old, obj T)
	Delete func(obj T)
}

// Handlers are the functions of a Handler that all actors of one sort share. Their first argument is the actor's controller, so clusters need
// no functions of their own.
type Handlers[C any, T api.Object] struct {
	Add    func(c C, obj T)
	Update func(c C, old, obj T)
	Delete func(c C, obj T)
}

// Handle adds shared handlers to an informer, as Informer.Handle does. c should be a pointer.
func Handle[C any, T api.Object](inf Informer[T], c C, h *Handlers[C, T]) { inf.handle(c, h) }

// receiver is a *Handler or *Handlers.
type receiver[T api.Object] interface {
	adds() bool
	// receive gets the fields of a change: the change itself would be allocated.
	receive(c any, change api.ChangeType, old, obj T)
}

// handling is a handler of an informer.
type handling[T api.Object] struct {
	c any // for Handlers
	receiver[T]
}

func (h *Handler[T]) adds() bool { return h.Add != nil }

func (h *Handler[T]) receive(_ any, change api.ChangeType, old, obj T) {
	switch {
	case change == api.Added && h.Add != nil:
		h.Add(obj)
	case change == api.Modified && h.Update != nil:
		h.Update(old, obj)
	case change == api.Deleted && h.Delete != nil:
		h.Delete(obj)
	}
}

func (h *Handlers[C, T]) adds() bool { return h.Add != nil }

func (h *Handlers[C, T]) receive(c any, change api.ChangeType, old, obj T) {
	switch {
	case change == api.Added && h.Add != nil:
		h.Add(c.(C), obj)
	case change == api.Modified && h.Update != nil:
		h.Update(c.(C), old, obj)
	case change == api.Deleted && h.Delete != nil:
		h.Delete(c.(C), obj)
	}
}
