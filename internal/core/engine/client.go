package engine

import (
	"slices"

	"github.com/volsim/volsim/api"
	"github.com/volsim/volsim/internal/core/store"
)

// Client makes calls about one kind of object. Its methods are explained where type client has them. It is an interface for the reason that
// store.Table is one.
type Client[T api.Object] interface {
	Get(p *Process, key string) (T, error)
	List(p *Process, namespace string) ([]T, error)
	ListUnder(p *Process, namespace string, ix store.Index[T], values []string) ([][]T, error)
	Create(p *Process, obj T) (T, error)
	Add(p *Process, obj T) (T, error)
	Update(p *Process, obj T) (T, error)
	UpdateStatus(p *Process, obj T) (T, error)
	Replace(p *Process, obj T) (T, error)
	ReplaceStatus(p *Process, obj T) (T, error)
	Patch(p *Process, key string, patch []byte, sub api.Subresource) (T, error)
	PatchWith(p *Process, key string, change func(obj T) error, sub api.Subresource) (T, error)
	Delete(p *Process, key string, opts api.DeleteOptions) (T, error)
}

// client is a Client.
type client[T api.Object] struct{ table store.Table[T] }

// Get reads the newest version from the server.
func (c *client[T]) Get(p *Process, key string) (T, error) {
	var none T
	fault, err := p.before(c.call("get", key), p.engine.latency)
	if err != nil {
		return none, err
	}
	obj, err := c.table.Get(key)
	if p.engine.footprint != nil {
		p.noteRead(c.call("get", key), err, obj)
	}
	if lost := p.after(fault); lost != nil {
		return none, lost
	}
	return obj, err
}

// List reads all objects of the kind in the namespace from the server; "" is all namespaces.
func (c *client[T]) List(p *Process, namespace string) ([]T, error) {
	var objs []T
	err := c.list(p, namespace, func() { objs = c.in(namespace) })
	if err != nil {
		return nil, err
	}
	return objs, nil
}

// ListUnder makes the call of List for a caller who needs few of the objects: for each value, those that the index finds under it.
func (c *client[T]) ListUnder(p *Process, namespace string, ix store.Index[T], values []string) ([][]T, error) {
	found := make([][]T, len(values))
	err := c.list(p, namespace, func() {
		for i, value := range values {
			found[i] = slices.DeleteFunc(ix.Objects(value), func(obj T) bool { return namespace != "" && obj.GetNamespace() != namespace })
		}
	})
	if err != nil {
		return nil, err
	}
	return found, nil
}

// list makes the call of List; read has its effect.
func (c *client[T]) list(p *Process, namespace string, read func()) error {
	fault, err := p.before(c.call("list", namespace), p.engine.latency)
	if err != nil {
		return err
	}
	read()
	if p.engine.footprint != nil {
		noteList(p, c.call("list", namespace), c.in(namespace))
	}
	return p.after(fault)
}

// in returns the objects in a namespace; "" is all namespaces.
func (c *client[T]) in(namespace string) []T {
	objs := c.table.List()
	if namespace == "" {
		return objs
	}
	return slices.DeleteFunc(objs, func(obj T) bool { return obj.GetNamespace() != namespace })
}

// Create is store.Table.Create.
func (c *client[T]) Create(p *Process, obj T) (T, error) {
	return c.write(p, &request[T]{method: create, verb: "create", key: api.KeyOf(obj), obj: obj})
}

// Add is Create with an object that was made for this call alone: the store owns it from then on, whatever the result is.
func (c *client[T]) Add(p *Process, obj T) (T, error) {
	return c.write(p, &request[T]{method: add, verb: "create", key: api.KeyOf(obj), obj: obj})
}

// Update is store.Table.Update.
func (c *client[T]) Update(p *Process, obj T) (T, error) {
	return c.write(p, &request[T]{method: update, verb: "update", key: c.table.KeyOf(obj), obj: obj})
}

// UpdateStatus is store.Table.UpdateStatus.
func (c *client[T]) UpdateStatus(p *Process, obj T) (T, error) {
	return c.write(p, &request[T]{method: update, verb: "update-status", key: c.table.KeyOf(obj), obj: obj, sub: api.Status})
}

// Replace is Update with an object that was made for this call alone; see store.Table.Replace.
func (c *client[T]) Replace(p *Process, obj T) (T, error) {
	return c.write(p, &request[T]{method: replace, verb: "update", key: c.table.KeyOf(obj), obj: obj})
}

// ReplaceStatus is UpdateStatus with an object that was made for this call alone; see store.Table.Replace.
func (c *client[T]) ReplaceStatus(p *Process, obj T) (T, error) {
	return c.write(p, &request[T]{method: replace, verb: "update-status", key: c.table.KeyOf(obj), obj: obj, sub: api.Status})
}

// Patch is store.Table.Patch.
func (c *client[T]) Patch(p *Process, key string, patch []byte, sub api.Subresource) (T, error) {
	return c.write(p, &request[T]{method: mergePatch, verb: verbOf("patch", sub), key: key, patch: patch, sub: sub})
}

// PatchWith is store.Table.PatchWith: change is applied to the version that the server has when the patch takes effect.
func (c *client[T]) PatchWith(p *Process, key string, change func(obj T) error, sub api.Subresource) (T, error) {
	return c.write(p, &request[T]{method: patchWith, verb: verbOf("patch", sub), key: key, change: change, sub: sub})
}

// Delete is store.Table.Delete.
func (c *client[T]) Delete(p *Process, key string, opts api.DeleteOptions) (T, error) {
	if p.engine.admission != nil {
		obj, err := p.engine.api.Delete(p, api.Ref{Kind: c.table.Kind(), Key: key}, opts)
		typed, _ := obj.(T)
		return typed, err
	}
	return c.write(p, &request[T]{method: remove, verb: "delete", key: key, opts: opts})
}

// request is a write of one object. It is a value and no function, because a function would be allocated for each write.
type request[T api.Object] struct {
	method    tableMethod
	verb, key string // as in the trace
	obj       T
	patch     []byte
	change    func(obj T) error
	sub       api.Subresource
	opts      api.DeleteOptions
}

// tableMethod is the method of store.Table that makes a write.
type tableMethod uint8

const (
	create tableMethod = iota
	add
	update
	replace
	mergePatch
	patchWith
	remove
)

// apply makes the write in the store.
func (c *client[T]) apply(r *request[T]) (T, error) {
	switch r.method {
	case create:
		return c.table.Create(r.obj)
	case add:
		return c.table.CreateWith(r.obj, store.CreateOptions{Owned: true})
	case replace:
		return c.table.Replace(r.obj, r.sub)
	case mergePatch:
		return c.table.Patch(r.key, r.patch, r.sub)
	case patchWith:
		return c.table.PatchWith(r.key, r.change, r.sub)
	case remove:
		return c.table.Delete(r.key, r.opts)
	}
	if r.sub == api.Status {
		return c.table.UpdateStatus(r.obj)
	}
	return c.table.Update(r.obj)
}

func (c *client[T]) call(verb, key string) api.Call {
	return api.Call{Target: api.APIServer, Verb: verb, Kind: string(c.table.Kind()), Key: key}
}

// write makes a write. Without reviews it allocates nothing but what the store, the trace and the observer do.
func (c *client[T]) write(p *Process, r *request[T]) (T, error) {
	e := p.engine
	if e.admission != nil {
		return c.writeReviewed(p, *r)
	}
	var none T
	e.effects++
	fault, err := p.before(c.call(r.verb, r.key), e.latency)
	if err != nil {
		p.traceWrite(r.verb, c.ref(r), nil, nil, err)
		return none, err
	}
	e.writer = p.actor.name
	var old api.Object
	if e.trace != nil {
		old = e.store.Lookup(c.table.Kind(), r.key)
	}
	obj, err := c.apply(r)
	ref := c.ref(r)
	if e.trace != nil {
		ref = p.traceWritten(r.verb, ref, old, obj, err)
	}
	if e.footprint != nil {
		p.noteRead(c.call(r.verb, ref.Key), err, obj)
	}
	if lost := p.after(fault); lost != nil {
		return none, lost
	}
	if err != nil {
		return none, err
	}
	return obj, nil
}

func (c *client[T]) ref(r *request[T]) api.Ref { return api.Ref{Kind: c.table.Kind(), Key: r.key} }

// writeReviewed is write for a cluster with reviews.
func (c *client[T]) writeReviewed(p *Process, r request[T]) (T, error) {
	// A write that is reviewed may be made again, so the object is copied.
	switch r.method {
	case add:
		r.method = create
	case replace:
		r.method = update
	}
	obj, err := p.engine.api.write(p, r.verb, c.ref(&r), func() (api.Object, error) { return c.apply(&r) })
	typed, _ := obj.(T)
	return typed, err
}
