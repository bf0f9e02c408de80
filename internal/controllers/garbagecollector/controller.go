package garbagecollector

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/volsim/volsim/api"
	"github.com/volsim/volsim/internal/core/actors"
	"github.com/volsim/volsim/internal/core/engine"
	"github.com/volsim/volsim/internal/core/objkinds"
	"github.com/volsim/volsim/internal/core/plain"
	"github.com/volsim/volsim/internal/core/store"
)

// workers is the number of workers of each queue.
const workers = 20

// collector is one life of the garbage collector.
type collector struct {
	actor    *engine.Actor
	store    *store.Store
	nodes    map[types.UID]*node
	numbers  numbers // of nodes
	absent   absentOwners
	deletes  *engine.Queue
	orphans  *engine.Queue
	recorder *engine.Recorder
	// invalid are Events that wait for a process to emit them.
	invalid []invalidOwner
}

// invalidOwner is an owner reference across namespaces.
type invalidOwner struct {
	dependent, owner identity
}

// view returns the collector's informer on a kind, or nil.
func (c *collector) view(kind api.Kind) engine.View {
	for _, view := range c.actor.Views() {
		if view.Kind() == kind {
			return view
		}
	}
	return nil
}

// New adds the garbage collector.
func New(e *engine.Engine) (*engine.Actor, error) {
	var live *collector
	var others []store.Table[*plain.Object]
	actor, err := e.NewActor(actors.GarbageCollector, func(a *engine.Actor) {
		c := newCollector(a)
		live = c
		a.OnStop(func() { live = nil })
		c.start(others)
	})
	if err != nil {
		return nil, err
	}
	e.Store().OnOther(func(table store.Table[*plain.Object]) {
		if name, _ := objkinds.Split(string(table.Kind())); name == string(api.Event) {
			return
		}
		others = append(others, table)
		if live != nil {
			engine.Handle(engine.NewInformer(live.actor, table), live, &otherHandlers)
		}
	})
	return actor, nil
}

func newCollector(a *engine.Actor) *collector {
	c := &collector{
		actor: a, store: a.Engine().Store(), nodes: map[types.UID]*node{},
		recorder: a.NewRecorder("garbage-collector-controller"),
	}
	c.deletes = a.NewQueue(engine.QueueConfig{Name: "garbage_collector_attempt_to_delete", Workers: workers,
		Of: c, Work: engine.Work[*collector]((*collector).attemptToDelete)})
	c.orphans = a.NewQueue(engine.QueueConfig{Name: "garbage_collector_attempt_to_orphan", Workers: workers,
		Of: c, Work: engine.Work[*collector]((*collector).attemptToOrphan)})
	return c
}

// start starts the informers. All of them come before the handlers, because a handler reads the informers of all kinds of owners.
func (c *collector) start(others []store.Table[*plain.Object]) {
	a, s := c.actor, c.store
	nodes, classes, attributesClasses := engine.NewInformer(a, s.Nodes), engine.NewInformer(a, s.Classes), engine.NewInformer(a, s.AttributesClasses)
	drivers, csiNodes, capacities := engine.NewInformer(a, s.CSIDrivers), engine.NewInformer(a, s.CSINodes), engine.NewInformer(a, s.Capacities)
	volumes, claims, pods, attachments := engine.NewInformer(a, s.Volumes), engine.NewInformer(a, s.Claims), engine.NewInformer(a, s.Pods), engine.NewInformer(a, s.Attachments)
	var rest []engine.Informer[*plain.Object]
	for _, table := range others {
		rest = append(rest, engine.NewInformer(a, table))
	}
	engine.Handle(nodes, c, &nodeHandlers)
	engine.Handle(classes, c, &classHandlers)
	engine.Handle(attributesClasses, c, &attributesClassHandlers)
	engine.Handle(drivers, c, &driverHandlers)
	engine.Handle(csiNodes, c, &csiNodeHandlers)
	engine.Handle(capacities, c, &capacityHandlers)
	engine.Handle(volumes, c, &volumeHandlers)
	engine.Handle(claims, c, &claimHandlers)
	engine.Handle(pods, c, &podHandlers)
	engine.Handle(attachments, c, &attachmentHandlers)
	for _, informer := range rest {
		engine.Handle(informer, c, &otherHandlers)
	}
}

// The handlers of changes.
var (
	nodeHandlers            = handlers[*corev1.Node]()
	classHandlers           = handlers[*storagev1.StorageClass]()
	attributesClassHandlers = handlers[*storagev1.VolumeAttributesClass]()
	driverHandlers          = handlers[*storagev1.CSIDriver]()
	csiNodeHandlers         = handlers[*storagev1.CSINode]()
	capacityHandlers        = handlers[*storagev1.CSIStorageCapacity]()
	volumeHandlers          = handlers[*corev1.PersistentVolume]()
	claimHandlers           = handlers[*corev1.PersistentVolumeClaim]()
	podHandlers             = handlers[*corev1.Pod]()
	attachmentHandlers      = handlers[*storagev1.VolumeAttachment]()
	otherHandlers           = handlers[*plain.Object]()
)

func handlers[T api.Object]() engine.Handlers[*collector, T] {
	return engine.Handlers[*collector, T]{
		Add:    func(c *collector, obj T) { c.changed(nil, obj) },
		Update: func(c *collector, old, obj T) { c.changed(old, obj) },
		Delete: func(c *collector, obj T) { c.removed(obj) },
	}
}

// of returns the identity of an object.
func (c *collector) of(obj api.Object) identity {
	gvk := c.store.GroupVersionKind(api.KindOf(obj))
	return identityOf(gvk.GroupVersion().String(), gvk.Kind, obj)
}

// changed updates the graph when an object was added or updated (GC-010). old is nil for one that was added.
func (c *collector) changed(old, obj api.Object) {
	// Most objects have no owner, no dependents, and are not being deleted.
	if obj.GetDeletionTimestamp() == nil && len(obj.GetOwnerReferences()) == 0 && !c.numbers.mayHave(obj) {
		return
	}
	n, found := c.nodeOf(obj)
	begins := func(finalizer string) bool { return beginsDeletion(old, obj, finalizer) }
	if !found {
		// An object that nothing refers to, and that refers to nothing, matters when its deletion begins.
		if len(obj.GetOwnerReferences()) == 0 && !begins(metav1.FinalizerDeleteDependents) && !begins(metav1.FinalizerOrphanDependents) {
			return
		}
		n = c.insert(obj)
		c.link(n, n.owners)
	} else {
		if n.virtual {
			c.observe(n, obj)
		}
		if owners := obj.GetOwnerReferences(); len(n.owners) > 0 || len(owners) > 0 {
			added, removed, freed := changedOwners(n.owners, owners)
			// GC-021: an owner that waits for its dependents is looked at again when one no longer blocks it.
			for _, uid := range freed {
				if owner, ok := c.nodes[uid]; ok {
					c.deletes.Add(owner.key())
				}
			}
			n.owners = owners
			c.link(n, added)
			c.unlink(n, removed)
		}
		n.beingDeleted = n.beingDeleted || obj.GetDeletionTimestamp() != nil
	}
	switch {
	case begins(metav1.FinalizerOrphanDependents):
		// GC-030: the deletion with orphans begins.
		c.orphans.Add(n.key())
	case begins(metav1.FinalizerDeleteDependents):
		// GC-020: the deletion in the foreground begins with the dependents.
		n.deletingDependents = true
		for _, dependent := range n.sorted() {
			c.deletes.Add(dependent.key())
		}
		c.deletes.Add(n.key())
	}
}

// beginsDeletion reports whether a change begins the deletion of an object with that finalizer.
func beginsDeletion(old, obj api.Object, finalizer string) bool {
	has := func(o api.Object) bool {
		return o.GetDeletionTimestamp() != nil && slices.Contains(o.GetFinalizers(), finalizer)
	}
	return has(obj) && (old == nil || !has(old))
}

// insert adds an observed object to the graph.
func (c *collector) insert(obj api.Object) *node {
	deleted := obj.GetDeletionTimestamp() != nil
	n := &node{
		identity: c.of(obj), owners: obj.GetOwnerReferences(), dependents: map[types.UID]*node{}, beingDeleted: deleted,
		deletingDependents: deleted && slices.Contains(obj.GetFinalizers(), metav1.FinalizerDeleteDependents),
	}
	c.nodes[n.uid] = n
	n.counted = countedKindOf(obj)
	c.numbers.observed[n.counted]++
	return n
}

// nodeOf returns the node of an object, if there is one.
func (c *collector) nodeOf(obj api.Object) (*node, bool) {
	if !c.numbers.mayHave(obj) {
		return nil, false
	}
	n, ok := c.nodes[obj.GetUID()]
	return n, ok
}

// observe makes a virtual node that of an object that was delivered. Dependents that describe it differently are checked (GC-011).
func (c *collector) observe(n *node, obj api.Object) {
	if id := c.of(obj); id != n.identity {
		_, other := partition(n.sorted(), id)
		for _, dependent := range other {
			if id.namespace != "" && dependent.namespace != id.namespace {
				c.reportNamespace(dependent, id.uid)
			}
			c.deletes.Add(dependent.key())
		}
		n.identity = id
	}
	n.virtual, n.counted = false, countedKindOf(obj)
	c.numbers.virtual--
	c.numbers.observed[n.counted]++
}

// link adds n to the dependents of these owners. An owner without a node gets one: an observed one if the informers know it, else a virtual
// one, which is checked (GC-011).
func (c *collector) link(n *node, owners []metav1.OwnerReference) {
	doubtful := false
	for i := range owners {
		ref := &owners[i]
		owner, ok := c.nodes[ref.UID]
		known := ok
		if !ok {
			if obj, exists := c.known(ref, n.namespace); exists {
				owner, known = c.insert(obj), true
				c.link(owner, owner.owners)
			} else {
				owner = &node{identity: referred(ref, n.namespace), dependents: map[types.UID]*node{}, virtual: true}
				c.nodes[ref.UID] = owner
				c.numbers.virtual++
			}
		}
		owner.dependents[n.uid] = n
		switch namespaced := owner.namespace != ""; {
		case !known:
			// GC-011: the API server is asked about an owner that the informers do not know.
			if !c.assumed(ref) {
				c.deletes.Add(owner.key())
			}
		case namespaced && owner.namespace != n.namespace:
			if !owner.virtual && !doubtful {
				c.reportNamespace(n, ref.UID)
			}
			doubtful = true
		case !owner.matches(ref), !namespaced && owner.namespace != n.namespace && owner.virtual:
			doubtful = true
		}
	}
	// GC-013: a reference that does not match the owner with its uid is checked.
	if doubtful {
		c.deletes.Add(n.key())
	}
}

// known finds the owner of an object in that namespace in the informers.
func (c *collector) known(ref *metav1.OwnerReference, namespace string) (api.Object, bool) {
	if kind, namespaced, ok := c.kindOf(ref.APIVersion, ref.Kind); ok {
		key := ref.Name
		if namespaced {
			key = api.Key(namespace, ref.Name)
		}
		if view := c.view(kind); view != nil {
			if obj, ok := view.Object(key); ok && obj.GetUID() == ref.UID {
				return obj, true
			}
		}
	}
	for _, kind := range c.store.Kinds() {
		if view := c.view(kind); view != nil {
			if obj, ok := view.Find(func(obj api.Object) bool { return obj.GetUID() == ref.UID }); ok {
				return obj, true
			}
		}
	}
	return nil, false
}

// kindOf returns the kind that an owner reference names, and whether it is namespaced. It reports false for one that the server does not
// know.
func (c *collector) kindOf(apiVersion, name string) (kind api.Kind, namespaced, ok bool) {
	group, version := splitVersion(apiVersion)
	kind = api.Kind(objkinds.Name(group, name))
	known := c.store.Describe(kind)
	if known == nil || known.Group != group || !known.Serves(version) {
		return "", false, false
	}
	return kind, known.Namespaced, true
}

// assumed reports whether an owner is assumed to exist: only loaded objects refer to it, and nothing of its kind was loaded (GC-040).
func (c *collector) assumed(ref *metav1.OwnerReference) bool {
	group, _ := splitVersion(ref.APIVersion)
	return c.store.OwnerAssumed(api.Kind(objkinds.Name(group, ref.Kind)), ref.UID)
}

func (c *collector) unlink(n *node, owners []metav1.OwnerReference) {
	for i := range owners {
		if owner, ok := c.nodes[owners[i].UID]; ok {
			delete(owner.dependents, n.uid)
		}
	}
}

// removed updates the graph when an object is gone (API-273).
func (c *collector) removed(obj api.Object) {
	if n, ok := c.nodeOf(obj); ok {
		if n.virtual {
			c.observe(n, obj)
		}
		c.remove(n, c.of(obj))
	}
}

// remove takes a node out of the graph, and queues its dependents, and the owners that may wait for it (GC-021).
func (c *collector) remove(n *node, id identity) {
	delete(c.nodes, n.uid)
	if n.virtual {
		c.numbers.virtual--
	} else {
		c.numbers.observed[n.counted]--
	}
	c.unlink(n, n.owners)
	if len(n.dependents) > 0 {
		c.absent.add(id)
	}
	// API-273: the removal of the owner counts, not its deletionTimestamp.
	for _, dependent := range n.sorted() {
		c.deletes.Add(dependent.key())
	}
	for i := range n.owners {
		if owner, ok := c.nodes[n.owners[i].UID]; ok && owner.deletingDependents {
			c.deletes.Add(owner.key())
		}
	}
}

// notFound updates the graph when the API server has no object with that identity (GC-011).
func (c *collector) notFound(id identity) {
	n, ok := c.nodes[id.uid]
	switch {
	case !ok:
	case n.virtual:
		matching, other := partition(n.sorted(), id)
		if len(other) == 0 {
			c.remove(n, id)
			return
		}
		c.queueAbsent(matching, id)
		// GC-013: dependents describe the owner differently: the next description is checked.
		if next, found := alternative(other, id); n.identity == id && found {
			n.identity = next
			c.deletes.AddRateLimited(n.key())
		}
	case n.identity != id:
		matching, _ := partition(n.sorted(), id)
		c.queueAbsent(matching, id)
	default:
		c.remove(n, id)
	}
}

func (c *collector) queueAbsent(dependents []*node, id identity) {
	if len(dependents) > 0 {
		c.absent.add(id)
	}
	for _, dependent := range dependents {
		c.deletes.Add(dependent.key())
	}
}

// reportNamespace remembers that a reference names an owner in another namespace. The next sync emits the Event (GC-013).
func (c *collector) reportNamespace(n *node, uid types.UID) {
	for i := range n.owners {
		if ref := &n.owners[i]; ref.UID == uid {
			c.invalid = append(c.invalid, invalidOwner{n.identity, referred(ref, n.namespace)})
			return
		}
	}
}

// emit emits the Events that are due.
func (c *collector) emit(p *engine.Process) {
	due := c.invalid
	c.invalid = nil
	for _, i := range due {
		kind, _, ok := c.kindOf(i.dependent.apiVersion, i.dependent.kind)
		view := c.view(kind)
		if !ok || view == nil {
			continue
		}
		if obj, exists := view.Object(api.Key(i.dependent.namespace, i.dependent.name)); exists {
			o := i.owner
			c.recorder.Event(p, obj, corev1.EventTypeWarning, "OwnerRefInvalidNamespace",
				"ownerRef [%s/%s, namespace: %s, name: %s, uid: %s] does not exist in namespace %q",
				o.apiVersion, o.kind, o.namespace, o.name, o.uid, i.dependent.namespace)
		}
	}
}
