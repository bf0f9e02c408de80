package engine

import (
	"slices"
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
		ref = p.traceWritten(verb, ref, old, obj, err)
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
	ref := api.Ref{Kind: api.KindOf(obj), Key: opts.Tried.Key()}
	if ref.Key == "" {
		ref = api.RefTo(obj)
	}
	return server.write(p, "create", ref, func() (api.Object, error) { return server.engine.store.CreateWith(obj, opts) })
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
	return server.delete(p, server.engine.latency, Write{Verb: "delete", Ref: ref, Delete: opts})
}

func (server *API) delete(p *Process, latency time.Duration, w Write) (api.Object, error) {
	ref, opts := w.Ref, w.Delete // the function keeps these, and not w
	return server.send(p, latency, w, func() (api.Object, error) { return server.engine.store.Delete(ref.Kind, ref.Key, opts) })
}

// DeleteCollection deletes the objects of a kind in the namespace with one request. The server deletes one after the other, until one cannot
// be deleted. A fault may hit the request, or, as a delete, one of the objects.
func (server *API) DeleteCollection(p *Process, kind api.Kind, namespace string, opts api.DeleteOptions) error {
	return server.collect(p, "deletecollection", kind, namespace, func(objs []api.Object) error {
		for _, obj := range objs {
			if _, err := server.delete(p, 0, Write{Verb: "delete", Ref: api.RefTo(obj), Delete: opts, Collection: true}); err != nil && !apierrors.IsNotFound(err) {
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
	obj, err := server.send(p, server.engine.latency, w, func() (api.Object, error) { return server.engine.store.Bind(key, binding) })
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
