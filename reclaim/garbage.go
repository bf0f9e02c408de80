package reclaim

import (
	"reflect"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/volsim/volsim/api"
	"github.com/volsim/volsim/internal/core/actors"
	"github.com/volsim/volsim/internal/core/engine"
	"github.com/volsim/volsim/internal/core/store"
)

// newGarbageCollector adds the garbage collector (API-270 to API-276). It collects objects of all kinds but Events, in the background. It
// leaves an object alone whose owner is of a kind that is not simulated, because it cannot know whether that owner exists.
func newGarbageCollector(e *engine.Engine) (*engine.Actor, error) {
	s, server := e.Store(), e.API()
	kinds := []collectable{
		newKindCollector(s.Nodes, server.Nodes),
		newKindCollector(s.Classes, server.Classes),
		newKindCollector(s.AttributesClasses, server.AttributesClasses),
		newKindCollector(s.CSIDrivers, server.CSIDrivers),
		newKindCollector(s.CSINodes, server.CSINodes),
		newKindCollector(s.Capacities, server.Capacities),
		newKindCollector(s.Volumes, server.Volumes),
		newKindCollector(s.Claims, server.Claims),
		newKindCollector(s.Pods, server.Pods),
		newKindCollector(s.Attachments, server.Attachments),
	}
	return e.NewActor(actors.GarbageCollector, func(a *engine.Actor) {
		c := &collector{kinds: map[api.Kind]collectable{}, order: kinds}
		c.queue = a.NewQueue(engine.QueueConfig{Name: "garbage collector", Workers: 20, Sync: c.sync})
		// All informers come first: a handler reads the informers of all kinds of owners.
		for _, k := range kinds {
			c.kinds[k.kind()] = k
			k.start(a)
		}
		for _, k := range kinds {
			k.handle(c.changed, c.deleted)
		}
	})
}

type collector struct {
	kinds map[api.Kind]collectable
	order []collectable
	queue *engine.Queue
}

// changed queues an object if the informers lack one of its owners.
func (c *collector) changed(kind api.Kind, obj api.Object) {
	// API-274: an object that is being deleted is left alone.
	if obj.GetDeletionTimestamp() != nil {
		return
	}
	owners := obj.GetOwnerReferences()
	for i := range owners {
		k := c.ownerKind(&owners[i])
		if k == nil {
			continue
		}
		// API-273: a dependent with a missing owner is queued when it is created or updated.
		owner, ok := k.known(ownerKey(k, obj, &owners[i]))
		if !ok || owner.GetUID() != owners[i].UID {
			c.queue.Add(string(kind) + "/" + api.KeyOf(obj))
			return
		}
	}
}

// deleted queues the dependents of an object that was deleted.
func (c *collector) deleted(obj api.Object) {
	// API-273: the removal of the owner counts, not its deletionTimestamp.
	for _, k := range c.order {
		for _, dependent := range k.dependents(obj) {
			c.queue.Add(string(k.kind()) + "/" + api.KeyOf(dependent))
		}
	}
}

// ownerKind returns the kind of an owner, nil for one that is not simulated.
func (c *collector) ownerKind(ref *metav1.OwnerReference) collectable {
	kind := api.Kind(ref.Kind)
	if gvk := store.GroupVersionKind(kind); gvk.Kind == "" || gvk.GroupVersion().String() != ref.APIVersion {
		return nil
	}
	return c.kinds[kind]
}

// ownerKey returns the key of an owner: its name, with the dependent's namespace if the kind is namespaced (API-270).
func ownerKey(k collectable, dependent metav1.Object, ref *metav1.OwnerReference) string {
	if !k.namespaced() {
		return ref.Name
	}
	return api.Key(dependent.GetNamespace(), ref.Name)
}

func (c *collector) sync(p *engine.Process, queued string) error {
	kind, key, _ := strings.Cut(queued, "/")
	k := c.kinds[api.Kind(kind)]
	obj, err := k.get(p, key)
	if apierrors.IsNotFound(err) {
		return nil
	}
	if err != nil {
		return err
	}
	// API-274: an object that is being deleted is left alone.
	if obj.GetDeletionTimestamp() != nil || len(obj.GetOwnerReferences()) == 0 {
		return nil
	}
	alive, dangling, eligible, err := c.classifyOwners(p, obj)
	switch {
	case err != nil || !eligible || len(dangling) == 0:
		return err
	case len(alive) > 0:
		// API-272: an object with a living owner stays, and loses the references to the others.
		p.Decide("API-272", obj, "%d of %d owners are gone", len(dangling), len(alive)+len(dangling))
		return k.setOwners(p, obj, alive)
	}
	// API-271: an object without a living owner is deleted.
	p.Decide("API-271", obj, "all owners are gone")
	return c.delete(p, k, obj)
}

// classifyOwners reads the owners of an object from the API server, and splits the references by whether the owner exists. It reports
// false for an object that is never collected.
func (c *collector) classifyOwners(p *engine.Process, obj api.Object) (alive, dangling []metav1.OwnerReference, eligible bool, err error) {
	for _, ref := range obj.GetOwnerReferences() {
		k := c.ownerKind(&ref)
		if k == nil {
			p.Decide("API-270", obj, "owner %s: %s (%s) is not simulated", ref.Name, ref.Kind, ref.APIVersion)
			return nil, nil, false, nil
		}
		// API-275: an object without a namespace cannot have an owner in one.
		if k.namespaced() && obj.GetNamespace() == "" {
			p.Decide("API-275", obj, "owner %s %s has a namespace, the object has none", ref.Kind, ref.Name)
			return nil, nil, false, nil
		}
		owner, err := k.get(p, ownerKey(k, obj, &ref))
		switch {
		case apierrors.IsNotFound(err):
			// API-270: an absent owner is dangling.
			dangling = append(dangling, ref)
		case err != nil:
			return nil, nil, false, err
		case owner.GetUID() != ref.UID:
			// API-270: so is one whose name another object has now.
			dangling = append(dangling, ref)
		default:
			// API-272: an owner that is being deleted counts as alive.
			alive = append(alive, ref)
		}
	}
	return alive, dangling, true, nil
}

// delete deletes an object, unless its owners have changed since it was read.
func (c *collector) delete(p *engine.Process, k collectable, obj api.Object) error {
	key := api.KeyOf(obj)
	// API-271: the object is deleted in this version only. Finalizers and grace periods may delay its removal.
	err := k.delete(p, key, api.DeleteOptions{UID: obj.GetUID(), ResourceVersion: obj.GetResourceVersion()})
	if apierrors.IsConflict(err) {
		live, liveErr := k.get(p, key)
		if liveErr == nil && live.GetUID() == obj.GetUID() && reflect.DeepEqual(live.GetOwnerReferences(), obj.GetOwnerReferences()) {
			// API-271: after a conflict it is deleted if the owners are the same.
			err = k.delete(p, key, api.DeleteOptions{UID: obj.GetUID()})
		} else if apierrors.IsNotFound(liveErr) {
			err = liveErr
		}
	}
	if apierrors.IsNotFound(err) {
		return nil
	}
	return err
}
