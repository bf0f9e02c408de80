package volsim

import (
	"errors"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/volsim/volsim/api"
	"github.com/volsim/volsim/fake"
	"github.com/volsim/volsim/internal/core/apply"
	"github.com/volsim/volsim/internal/core/manifests"
	"github.com/volsim/volsim/internal/core/objects"
	"github.com/volsim/volsim/internal/core/plain"
	"github.com/volsim/volsim/internal/core/store"
)

// Create creates objects in order, as the API server does: defaults, admission, validation, finalizers. Like client.Client, it writes the
// result back into the objects: uid, resourceVersion, creationTimestamp, defaults. If the server rejects one of them, none is created.
// An object without a namespace, whose kind has one, belongs to namespace default; that holds for all methods. Errors are those of
// k8s.io/apimachinery/pkg/api/errors.
func (c *Cluster) Create(objs ...api.Object) error {
	given := make(map[api.Ref]bool, len(objs))
	requests, s := make([]creation, len(objs)), c.engine.Store()
	for i, obj := range objs {
		sent, err := c.request("create", obj)
		if err != nil {
			return err
		}
		named, try := sent.GetName() != "", s.Prepare
		if !named {
			try = s.Try // the name is generated when the object is created
		}
		var tried store.Tried
		if c.engine.Admission() == nil {
			tried, err = try(sent)
		} else {
			err = c.engine.API().TryCreate(c.engine.User(), sent)
		}
		if err != nil && !isMissing(err, given) {
			return describe("create", sent, err)
		}
		ref := api.Ref{Kind: api.KindOf(sent), Key: tried.Key()}
		if ref.Key == "" {
			ref = api.RefTo(sent)
		}
		if named && given[ref] {
			return fmt.Errorf("create %s: the object is given twice", ref)
		}
		given[ref] = true
		requests[i] = creation{sent, tried, named}
	}
	for i, obj := range objs {
		r := &requests[i]
		// An object before this one may be its namespace, or its class.
		if r.named && !s.Holds(api.KindOf(r.sent), r.tried) {
			sent, err := c.request("create", obj)
			if err != nil {
				return err
			}
			r.sent, r.tried = sent, store.Tried{}
		}
		if err := c.send("create", obj, r.sent, func() (api.Object, error) {
			return c.engine.API().Create(c.engine.User(), r.sent, store.CreateOptions{Owned: true, Tried: r.tried})
		}); err != nil {
			return err
		}
	}
	return nil
}

// give is Create for one object with a name, which it takes over: the caller must not use it any more, and does not get the result.
func (c *Cluster) give(obj api.Object) error {
	if err := c.checkObject("create", obj); err != nil {
		return err
	}
	sent, err := c.requestOf("create", obj)
	if err != nil {
		return err
	}
	var tried store.Tried
	if c.engine.Admission() == nil {
		if tried, err = c.engine.Store().Prepare(sent); err != nil {
			return describe("create", sent, err)
		}
	}
	return c.send("create", nil, sent, func() (api.Object, error) {
		return c.engine.API().Create(c.engine.User(), sent, store.CreateOptions{Owned: true, Tried: tried})
	})
}

// creation is the request for one of the objects of Create.
type creation struct {
	sent  api.Object
	tried store.Tried
	named bool // by the user
}

// isMissing reports whether the error is about a namespace that is missing, and is given in the same call.
func isMissing(err error, given map[api.Ref]bool) bool {
	status := apierrors.APIStatus(nil)
	if !apierrors.IsNotFound(err) || !errors.As(err, &status) || status.Status().Details == nil {
		return false
	}
	details := status.Status().Details
	return details.Kind == "namespaces" && given[api.Ref{Kind: store.NamespaceKind, Key: details.Name}]
}

// create creates one object.
func (c *Cluster) create(obj api.Object, opts store.CreateOptions) error {
	sent, err := c.request("create", obj)
	if err != nil {
		return err
	}
	return c.send("create", obj, sent, func() (api.Object, error) { return c.engine.API().Create(c.engine.User(), sent, opts) })
}

// Update replaces an object except for its status, and writes the result back into obj. If obj has a resourceVersion that is not the stored
// one, because a controller wrote in between, the error is a Conflict; get the object again. Without a resourceVersion Update overwrites
// what is stored, for kinds that allow that.
func (c *Cluster) Update(obj api.Object) error {
	return c.update(obj, api.Main, store.UpdateOptions{})
}

// UpdateStatus is Update for the status of an object. It leaves everything else alone.
func (c *Cluster) UpdateStatus(obj api.Object) error {
	return c.update(obj, api.Status, store.UpdateOptions{})
}

func (c *Cluster) update(obj api.Object, sub api.Subresource, opts store.UpdateOptions) error {
	sent, err := c.request("update", obj)
	if err != nil {
		return err
	}
	return c.send("update", obj, sent, func() (api.Object, error) { return c.engine.API().Update(c.engine.User(), sent, sub, opts) })
}

// Patch applies a JSON merge patch to the object that obj names by type, namespace and name, and writes the result into obj.
func (c *Cluster) Patch(obj api.Object, patch string) error { return c.patch(obj, patch, api.Main) }

// PatchStatus is Patch for the status of an object. It leaves everything else alone.
func (c *Cluster) PatchStatus(obj api.Object, patch string) error {
	return c.patch(obj, patch, api.Status)
}

func (c *Cluster) patch(obj api.Object, patch string, sub api.Subresource) error {
	sent, err := c.request("patch", obj)
	if err != nil {
		return err
	}
	return c.send("patch", obj, sent, func() (api.Object, error) {
		return c.engine.API().Patch(c.engine.User(), api.RefTo(sent), []byte(patch), sub)
	})
}

// Delete deletes the object that obj names by type, namespace and name, whatever its uid and resourceVersion. An object with finalizers
// stays, marked as deleted, until they are removed.
func (c *Cluster) Delete(obj api.Object) error {
	return c.DeleteWith(obj, api.DeleteOptions{})
}

// DeleteWith is Delete with options: a grace period, and preconditions.
func (c *Cluster) DeleteWith(obj api.Object, opts api.DeleteOptions) error {
	if err := c.checkObject("delete", obj); err != nil {
		return err
	}
	if !store.HasTypedTable(api.KindOf(obj)) {
		// Other kinds may have to be converted, which can fail.
		sent, err := c.request("delete", obj)
		if err != nil {
			return err
		}
		obj = sent
	}
	ref := api.RefTo(obj)
	ref.Key = c.withNamespace(ref.Kind, ref.Key)
	if _, err := c.engine.API().Delete(c.engine.User(), ref, opts); err != nil {
		return fmt.Errorf("delete %s: %w", ref, err)
	}
	return nil
}

// Load stores objects unchanged, with status, uid, timestamps and finalizers, for example from a dump of another cluster. It replaces an
// object of the same name. It validates names, and what controllers cannot do without, such as the selector of a Deployment; nothing else.
func (c *Cluster) Load(objs ...api.Object) error {
	sent := make([]api.Object, len(objs))
	for i, obj := range objs {
		var err error
		if sent[i], err = c.request("load", obj); err != nil {
			return err
		}
	}
	for _, obj := range sent {
		if err := c.load(obj); err != nil {
			return err
		}
	}
	return nil
}

// load stores an object, which must not change afterwards.
func (c *Cluster) load(obj api.Object) error {
	_, err := c.engine.API().Load(c.engine.User(), obj)
	return describe("load", obj, err)
}

// Apply creates the objects of a manifest, in YAML or JSON, and changes those that exist, as kubectl apply does: it sets the fields of the
// manifest, and removes those that only the manifest of the Apply before has. Other fields, such as the volumeName of a bound claim, and the
// status stay. Update replaces an object. A malformed manifest changes nothing. If the server rejects an object, those before it stay.
// Objects of kinds that are not simulated are stored; see StoredOnly.
func (c *Cluster) Apply(manifest []byte) error {
	objs, err := manifests.Read(manifest)
	if err != nil {
		return fmt.Errorf("apply: %w", err)
	}
	for _, obj := range objs {
		if err := c.apply(obj); err != nil {
			return err
		}
	}
	return nil
}

func (c *Cluster) apply(obj api.Object) error {
	wanted := apply.NewManifest(obj.DeepCopyObject().(api.Object))
	key := c.withNamespace(api.KindOf(obj), api.KeyOf(obj))
	stored, err := c.engine.Store().Get(api.KindOf(obj), key)
	if err != nil {
		err = c.Create(obj)
	} else {
		var patch string
		if patch, err = c.applied.Patch(wanted, stored); err == nil {
			err = c.Patch(obj, patch)
		}
	}
	if err != nil {
		return err
	}
	if c.applied == nil {
		c.applied = make(apply.Applied)
	}
	c.applied[api.RefTo(obj)] = wanted
	return nil
}

func (c *Cluster) checkObject(verb string, obj api.Object) error {
	if err := c.open(verb); err != nil {
		return err
	}
	if err := objects.CheckWritten(verb, obj); err != nil {
		return err
	}
	if err := fake.Err(obj); err != nil {
		return fmt.Errorf("%s %s: %w", verb, api.RefTo(obj), err)
	}
	return nil
}

// request checks obj and returns a copy to send to the API server, which keeps it.
func (c *Cluster) request(verb string, obj api.Object) (api.Object, error) {
	if err := c.checkObject(verb, obj); err != nil {
		return nil, err
	}
	return c.requestOf(verb, c.engine.Store().Copy(obj))
}

// requestOf is request for an object that it may change. Its callers have checked it.
func (c *Cluster) requestOf(verb string, obj api.Object) (api.Object, error) {
	sent, err := c.engine.Store().Native(obj)
	if err != nil {
		return nil, describe(verb, obj, err)
	}
	if namespaced := c.namespaced(api.KindOf(sent)); !namespaced {
		sent.SetNamespace("")
	} else if sent.GetNamespace() == "" {
		sent.SetNamespace(metav1.NamespaceDefault)
	}
	return sent, nil
}

// send makes a request that writes sent. It writes the stored object into the caller's, unless that is nil, or describes the error of the
// request. The stored object is shared, so obj gets a copy. Warnings go to Config.Warn.
func (c *Cluster) send(verb string, obj, sent api.Object, write func() (api.Object, error)) error {
	var stored api.Object
	var err error
	if c.cfg.Warn == nil {
		stored, err = write()
	} else {
		c.engine.Store().Warned(c.cfg.Warn, func() { stored, err = write() })
	}
	if err != nil {
		return describe(verb, sent, err)
	}
	if obj == nil {
		return nil
	}
	return plain.Write(stored, obj)
}

// describe adds the call to the API server's error.
func describe(verb string, obj api.Object, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%s %s: %w", verb, api.RefTo(obj), err)
}
