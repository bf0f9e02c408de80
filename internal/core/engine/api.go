package engine

import (
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/volsim/volsim/api"
	"github.com/volsim/volsim/internal/core/store"
)

// API is the API server as actors use it. Each call lets other actors run in between, may take time, may fail by an injected fault, and
// is traced. Arguments and results are shared: treat them as read-only.
type API struct {
	engine *Engine
	tokens int // requested by Token

	Volumes           Client[*corev1.PersistentVolume]
	Claims            Client[*corev1.PersistentVolumeClaim]
	Classes           Client[*storagev1.StorageClass]
	AttributesClasses Client[*storagev1.VolumeAttributesClass]
	Pods              Client[*corev1.Pod]
	Nodes             Client[*corev1.Node]
	Attachments       Client[*storagev1.VolumeAttachment]
	CSIDrivers        Client[*storagev1.CSIDriver]
	CSINodes          Client[*storagev1.CSINode]
	Capacities        Client[*storagev1.CSIStorageCapacity]
	Events            Client[*corev1.Event]
}

// Client makes calls about one kind of object. Its methods are explained where type client has them. It is an interface for the reason that
// store.Table is one.
type Client[T api.Object] interface {
	Get(p *Process, key string) (T, error)
	List(p *Process, namespace string) ([]T, error)
	ListUnder(p *Process, namespace string, ix store.Index[T], values []string) ([][]T, error)
	Create(p *Process, obj T) (T, error)
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
	return c.write(p, "create", api.KeyOf(obj), func() (T, error) { return c.table.Create(obj) })
}

// Update is store.Table.Update.
func (c *client[T]) Update(p *Process, obj T) (T, error) {
	return c.write(p, "update", c.table.KeyOf(obj), func() (T, error) { return c.table.Update(obj) })
}

// UpdateStatus is store.Table.UpdateStatus.
func (c *client[T]) UpdateStatus(p *Process, obj T) (T, error) {
	return c.write(p, "update-status", c.table.KeyOf(obj), func() (T, error) { return c.table.UpdateStatus(obj) })
}

// Replace is Update with an object that was made for this call alone; see store.Table.Replace.
func (c *client[T]) Replace(p *Process, obj T) (T, error) {
	return c.write(p, "update", c.table.KeyOf(obj), func() (T, error) { return c.replace(p, obj, api.Main) })
}

// ReplaceStatus is UpdateStatus with an object that was made for this call alone; see store.Table.Replace.
func (c *client[T]) ReplaceStatus(p *Process, obj T) (T, error) {
	return c.write(p, "update-status", c.table.KeyOf(obj), func() (T, error) { return c.replace(p, obj, api.Status) })
}

// replace hands an object over to the store. For a write that may be reviewed, and made again, it is copied.
func (c *client[T]) replace(p *Process, obj T, sub api.Subresource) (T, error) {
	if p.engine.admission != nil {
		if sub == api.Status {
			return c.table.UpdateStatus(obj)
		}
		return c.table.Update(obj)
	}
	return c.table.Replace(obj, sub)
}

// Patch is store.Table.Patch.
func (c *client[T]) Patch(p *Process, key string, patch []byte, sub api.Subresource) (T, error) {
	return c.write(p, verbOf("patch", sub), key, func() (T, error) { return c.table.Patch(key, patch, sub) })
}

// PatchWith is store.Table.PatchWith: change is applied to the version that the server has when the patch takes effect.
func (c *client[T]) PatchWith(p *Process, key string, change func(obj T) error, sub api.Subresource) (T, error) {
	return c.write(p, verbOf("patch", sub), key, func() (T, error) { return c.table.PatchWith(key, change, sub) })
}

// Delete is store.Table.Delete.
func (c *client[T]) Delete(p *Process, key string, opts api.DeleteOptions) (T, error) {
	if p.engine.admission != nil {
		obj, err := p.engine.api.Delete(p, api.Ref{Kind: c.table.Kind(), Key: key}, opts)
		typed, _ := obj.(T)
		return typed, err
	}
	return c.write(p, "delete", key, func() (T, error) { return c.table.Delete(key, opts) })
}

func (c *client[T]) call(verb, key string) api.Call {
	return api.Call{Target: api.APIServer, Verb: verb, Kind: string(c.table.Kind()), Key: key}
}

// write makes a write. Without a trace and an observer it allocates nothing.
func (c *client[T]) write(p *Process, verb, key string, fn func() (T, error)) (T, error) {
	e := p.engine
	if e.trace == nil && e.observer == nil && e.admission == nil {
		var none T
		e.effects++
		fault, err := p.before(c.call(verb, key), e.latency)
		if err != nil {
			return none, err
		}
		e.writer = p.actor.name
		obj, err := fn()
		if lost := p.after(fault); lost != nil {
			return none, lost
		}
		if err != nil {
			return none, err
		}
		return obj, nil
	}
	obj, err := e.api.write(p, verb, api.Ref{Kind: c.table.Kind(), Key: key}, func() (api.Object, error) { return fn() })
	typed, _ := obj.(T)
	return typed, err
}

// write makes an API write in the name of p: a fault or a delay may come first, then fn takes effect, and the write is traced.
func (server *API) write(p *Process, verb string, ref api.Ref, fn func() (api.Object, error)) (api.Object, error) {
	return server.send(p, server.engine.latency, Write{Verb: verb, Ref: ref}, fn)
}

// send is write with the time until fn takes effect, and with what a review has to know.
func (server *API) send(p *Process, latency time.Duration, w Write, fn func() (api.Object, error)) (api.Object, error) {
	e, verb, ref := server.engine, w.Verb, w.Ref
	e.effects++
	fault, err := p.before(api.Call{Target: api.APIServer, Verb: verb, Kind: string(ref.Kind), Key: ref.Key}, latency)
	if err != nil {
		p.traceWrite(verb, ref, nil, nil, err)
		return nil, err
	}
	var obj, old api.Object
	e.writer = p.actor.name
	if review := p.reviewOf(w); review != nil {
		obj, old, err = p.writeReviewed(review, ref, fn)
	} else {
		if e.trace != nil {
			old = e.store.Lookup(ref.Kind, ref.Key)
		}
		obj, err = fn()
	}
	if e.trace != nil {
		now := old
		if err == nil {
			if ref.Key == "" || strings.HasSuffix(ref.Key, "/") {
				ref = api.RefTo(obj) // the server has generated the name
			}
			now = e.store.Lookup(ref.Kind, ref.Key)
		}
		p.traceWrite(verb, ref, old, now, err)
	}
	if e.footprint != nil {
		p.noteRead(api.Call{Target: api.APIServer, Verb: verb, Kind: string(ref.Kind), Key: ref.Key}, err, obj)
	}
	if lost := p.after(fault); lost != nil {
		return nil, lost
	}
	if err != nil {
		return nil, err
	}
	return obj, nil
}

// Write makes any write of one object in the name of p: fn makes it in the store and returns the object of the answer. verb is that of the
// trace.
func (server *API) Write(p *Process, verb string, ref api.Ref, fn func() (api.Object, error)) (api.Object, error) {
	return server.write(p, verb, ref, fn)
}

// Create stores a new object of any kind in the name of p.
func (server *API) Create(p *Process, obj api.Object, opts store.CreateOptions) (api.Object, error) {
	return server.write(p, "create", api.RefTo(obj), func() (api.Object, error) { return server.engine.store.CreateWith(obj, opts) })
}

// Update replaces an object of any kind, or its status, in the name of p.
func (server *API) Update(p *Process, obj api.Object, sub api.Subresource, opts store.UpdateOptions) (api.Object, error) {
	return server.write(p, verbOf("update", sub), api.RefTo(obj), func() (api.Object, error) {
		return server.engine.store.UpdateWith(obj, sub, opts)
	})
}

// Load stores an object of any kind as it is, in the name of p; see store.Table.Load.
func (server *API) Load(p *Process, obj api.Object) (api.Object, error) {
	return server.write(p, "load", api.RefTo(obj), func() (api.Object, error) { return server.engine.store.Load(obj) })
}

// Patch applies a JSON merge patch to an object of any kind in the name of p.
func (server *API) Patch(p *Process, ref api.Ref, patch []byte, sub api.Subresource) (api.Object, error) {
	return server.write(p, verbOf("patch", sub), ref, func() (api.Object, error) {
		return server.engine.store.Patch(ref.Kind, ref.Key, patch, sub)
	})
}

// Delete deletes an object of any kind in the name of p.
func (server *API) Delete(p *Process, ref api.Ref, opts api.DeleteOptions) (api.Object, error) {
	return server.delete(p, server.engine.latency, Write{Ref: ref, Delete: opts})
}

func (server *API) delete(p *Process, latency time.Duration, w Write) (api.Object, error) {
	w.Verb = "delete"
	return server.send(p, latency, w, func() (api.Object, error) { return server.engine.store.Delete(w.Ref.Kind, w.Ref.Key, w.Delete) })
}

// DeleteCollection deletes the objects of a kind in the namespace with one request. The server deletes one after the other, until one cannot
// be deleted. A fault may hit the request, or, as a delete, one of the objects.
func (server *API) DeleteCollection(p *Process, kind api.Kind, namespace string, opts api.DeleteOptions) error {
	return server.collect(p, "deletecollection", kind, namespace, func(objs []api.Object) error {
		for _, obj := range objs {
			if _, err := server.delete(p, 0, Write{Ref: api.RefTo(obj), Delete: opts, Collection: true}); err != nil && !apierrors.IsNotFound(err) {
				return err
			}
		}
		return nil
	})
}

// List reads all objects of a kind in the namespace from the server; "" is all namespaces.
func (server *API) List(p *Process, kind api.Kind, namespace string) (objs []api.Object, err error) {
	err = server.collect(p, "list", kind, namespace, func(found []api.Object) error {
		objs = found
		return nil
	})
	if err != nil {
		return nil, err
	}
	return objs, nil
}

// collect makes a request for all objects of a kind in the namespace. fn carries it out.
func (server *API) collect(p *Process, verb string, kind api.Kind, namespace string, fn func(objs []api.Object) error) error {
	call := api.Call{Target: api.APIServer, Verb: verb, Kind: string(kind), Key: namespace}
	fault, err := p.before(call, p.engine.latency)
	if err != nil {
		return err
	}
	objs := slices.DeleteFunc(server.engine.store.List(kind), func(obj api.Object) bool {
		return namespace != "" && obj.GetNamespace() != namespace
	})
	if p.engine.footprint != nil {
		noteList(p, call, objs)
	}
	err = fn(objs)
	if lost := p.after(fault); lost != nil {
		return lost
	}
	return err
}

// Get reads the newest version of an object of any kind from the server.
func (server *API) Get(p *Process, ref api.Ref) (api.Object, error) {
	call := api.Call{Target: api.APIServer, Verb: "get", Kind: string(ref.Kind), Key: ref.Key}
	fault, err := p.before(call, p.engine.latency)
	if err != nil {
		return nil, err
	}
	obj, err := server.engine.store.Get(ref.Kind, ref.Key)
	if p.engine.footprint != nil {
		p.noteRead(call, err, obj)
	}
	if lost := p.after(fault); lost != nil {
		return nil, lost
	}
	return obj, err
}

// FinalizeNamespace is store.Store.FinalizeNamespace.
func (server *API) FinalizeNamespace(p *Process, name, version string, finalizers []string) (api.Object, error) {
	return server.write(p, "update-finalize", api.Ref{Kind: store.NamespaceKind, Key: name}, func() (api.Object, error) {
		return server.engine.store.FinalizeNamespace(name, version, finalizers)
	})
}

// Bind gives a pod a node in the name of p; see store.Store.Bind.
func (server *API) Bind(p *Process, key string, binding *corev1.Binding) (*corev1.Pod, error) {
	w := Write{Verb: "bind", Ref: api.Ref{Kind: api.Pod, Key: key}, Binding: binding}
	obj, err := server.send(p, server.engine.latency, w, func() (api.Object, error) { return server.engine.store.Bind(key, w.Binding) })
	if err != nil {
		return nil, err
	}
	return obj.(*corev1.Pod), nil
}

func verbOf(verb string, sub api.Subresource) string {
	switch {
	case sub == api.Main:
		return verb
	case sub == api.Status && verb == "patch":
		return "patch-status" // spares the allocation of the most frequent one
	}
	return verb + "-" + string(sub)
}
