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

// GarbageCollectorConfig sets up the garbage collector. The zero value works.
type GarbageCollectorConfig struct {
	// Workers is how many objects are worked on side by side; zero means 20, as upstream.
	Workers int
}

// NewGarbageCollector adds the garbage collector (API-270 to API-276). It looks after all kinds of a store but Events, and collects
// in the background. An object with an owner of a kind that is not simulated is left alone: whether that owner lives cannot be
// told.
func NewGarbageCollector(e *engine.Engine, cfg GarbageCollectorConfig) (*engine.Actor, error) {
	if err := checkWorkers("GarbageCollectorConfig", cfg.Workers); err != nil {
		return nil, err
	}
	if cfg.Workers == 0 {
		cfg.Workers = 20
	}
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
		c.queue = a.NewQueue(engine.QueueConfig{Name: "garbage collector", Workers: cfg.Workers, Sync: c.sync})
		// All views first: whether an owner is missing can only be said with all of them.
		for _, k := range kinds {
			c.kinds[k.kind()] = k
			k.view(a)
		}
		for _, k := range kinds {
			k.handle(c.seen, c.gone)
		}
	})
}

type collector struct {
	kinds map[api.Kind]collectable
	order []collectable
	queue *engine.Queue
}

// seen queues an object of which an owner is not in the view.
func (c *collector) seen(kind api.Kind, obj api.Object) {
	// API-274: what is going already is left alone.
	if obj.GetDeletionTimestamp() != nil {
		return
	}
	owners := obj.GetOwnerReferences()
	for i := range owners {
		k := c.ownerKind(&owners[i])
		if k == nil {
			continue
		}
		// API-273: a dependent that appears with an owner that is missing.
		owner, ok := k.known(ownerKey(k, obj, &owners[i]))
		if !ok || owner.GetUID() != owners[i].UID {
			c.queue.Add(string(kind) + "/" + api.KeyOf(obj))
			return
		}
	}
}

// gone queues the dependents of an object that was deleted.
func (c *collector) gone(obj api.Object) {
	// API-273: the owner's end, and not its mark of deletion, is what counts.
	for _, k := range c.order {
		for _, dependent := range k.dependents(obj) {
			c.queue.Add(string(k.kind()) + "/" + api.KeyOf(dependent))
		}
	}
}

// ownerKind is the kind an owner is of, nil for one that is not simulated.
func (c *collector) ownerKind(ref *metav1.OwnerReference) collectable {
	kind := api.Kind(ref.Kind)
	if gvk := store.GroupVersionKind(kind); gvk.Kind == "" || gvk.GroupVersion().String() != ref.APIVersion {
		return nil
	}
	return c.kinds[kind]
}

// ownerKey is where an owner is looked for: under its name, in the dependent's namespace if the kind has namespaces (API-270).
func ownerKey(k collectable, dependent metav1.Object, ref *metav1.OwnerReference) string {
	if !k.namespaced() {
		return ref.Name
	}
	return api.Key(dependent.GetNamespace(), ref.Name)
}

func (c *collector) sync(p *engine.Proc, queued string) error {
	kind, key, _ := strings.Cut(queued, "/")
	k := c.kinds[api.Kind(kind)]
	obj, err := k.get(p, key)
	if apierrors.IsNotFound(err) {
		return nil
	}
	if err != nil {
		return err
	}
	// API-274: what is going already is left alone.
	if obj.GetDeletionTimestamp() != nil || len(obj.GetOwnerReferences()) == 0 {
		return nil
	}
	alive, dangling, judged, err := c.judge(p, obj)
	switch {
	case err != nil || !judged || len(dangling) == 0:
		return err
	case len(alive) > 0:
		// API-272: an object with an owner stays, and forgets the others.
		p.Decide("API-272", obj, "%d of %d owners are gone", len(dangling), len(alive)+len(dangling))
		return k.setOwners(p, obj, alive)
	}
	// API-271: nobody owns it any more.
	p.Decide("API-271", obj, "all owners are gone")
	return c.delete(p, k, obj)
}

// judge tells the owners of an object that live from those that do not, by asking the server. It gives up, judged false, on an
// object that is never collected.
func (c *collector) judge(p *engine.Proc, obj api.Object) (alive, dangling []metav1.OwnerReference, judged bool, err error) {
	for _, ref := range obj.GetOwnerReferences() {
		k := c.ownerKind(&ref)
		if k == nil {
			p.Decide("API-270", obj, "owner %s: %s (%s) is not simulated", ref.Name, ref.Kind, ref.APIVersion)
			return nil, nil, false, nil
		}
		// API-275: in which namespace would that owner be?
		if k.namespaced() && obj.GetNamespace() == "" {
			p.Decide("API-275", obj, "owner %s %s has a namespace, the object has none", ref.Kind, ref.Name)
			return nil, nil, false, nil
		}
		owner, err := k.get(p, ownerKey(k, obj, &ref))
		switch {
		case apierrors.IsNotFound(err):
			// API-270: absent.
			dangling = append(dangling, ref)
		case err != nil:
			return nil, nil, false, err
		case owner.GetUID() != ref.UID:
			// API-270: another object has its name now.
			dangling = append(dangling, ref)
		default:
			// API-272: an owner that is being deleted still lives.
			alive = append(alive, ref)
		}
	}
	return alive, dangling, true, nil
}

// delete deletes an object, unless its owners have changed since it was read.
func (c *collector) delete(p *engine.Proc, k collectable, obj api.Object) error {
	key := api.KeyOf(obj)
	// API-271: this object, in this version. What its finalizers or its grace hold back is not the collector's concern.
	err := k.delete(p, key, api.DeleteOptions{UID: obj.GetUID(), ResourceVersion: obj.GetResourceVersion()})
	if apierrors.IsConflict(err) {
		live, liveErr := k.get(p, key)
		if liveErr == nil && live.GetUID() == obj.GetUID() && reflect.DeepEqual(live.GetOwnerReferences(), obj.GetOwnerReferences()) {
			// API-271: the change had nothing to do with the owners.
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
