// Package resourcequota counts what the objects of a namespace use of its ResourceQuotas, as the resource quota controller of
// kube-controller-manager does.
//
// The API server charges a quota when an object is created (package store). The controller writes the limits and the first usage of a new
// quota, and counts anew when objects are deleted or change what they use (QUO-030 to QUO-034).
package resourcequota

import (
	"maps"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/volsim/volsim/api"
	"github.com/volsim/volsim/internal/core/actors"
	"github.com/volsim/volsim/internal/core/engine"
	"github.com/volsim/volsim/internal/core/objkinds"
	"github.com/volsim/volsim/internal/core/plain"
	"github.com/volsim/volsim/internal/core/quota"
	"github.com/volsim/volsim/internal/core/store"
)

const (
	// workers is the number of workers of each queue.
	workers = 5
	// resyncPeriod is the time between counts of all quotas.
	resyncPeriod = 5 * time.Minute
)

// controller is one life of the resource quota controller.
type controller struct {
	actor    *engine.Actor
	quotas   engine.Informer[*plain.Object]
	pods     engine.Informer[*corev1.Pod]
	counters []counter
	// uncounted has the quotas whose limits are not in their status yet; queue has the others.
	uncounted, queue *engine.Queue
	resync           *engine.Ticker
}

// counter counts the objects of one kind.
type counter struct {
	kind     api.Kind
	resource schema.GroupResource
	count    func(q *corev1.ResourceQuota) corev1.ResourceList
}

// New adds the controller. quotas contains the ResourceQuotas.
func New(e *engine.Engine, quotas store.Table[*plain.Object]) (*engine.Actor, error) {
	var live *controller
	var others []store.Table[*plain.Object]
	actor, err := e.NewActor(actors.ResourceQuota, func(a *engine.Actor) {
		c := &controller{actor: a, quotas: engine.NewInformer(a, quotas)}
		live = c
		a.OnStop(func() { live = nil })
		c.uncounted = a.NewQueue(engine.QueueConfig{Name: "resourcequota_priority", Kind: store.QuotaKind, Workers: workers, Sync: c.sync})
		c.queue = a.NewQueue(engine.QueueConfig{Name: "resourcequota_primary", Kind: store.QuotaKind, Workers: workers, Sync: c.sync})
		c.resync = a.NewTicker(engine.TickerConfig{Name: "resync", Period: resyncPeriod, First: c.untilResync(), Pass: func(*engine.Process) {
			for _, q := range c.quotas.List() {
				c.queue.Add(api.KeyOf(q))
			}
			// QUO-012: the usage of a pod that is being deleted ends without an event.
			for _, pod := range c.pods.List() {
				if pod.DeletionTimestamp != nil && !quota.Ended(pod, a.Engine().Now()) {
					c.resync.ArmBackground()
				}
			}
		}})
		s := a.Engine().Store()
		c.pods = watch(c, s.Pods, c.podChanged)
		// QUO-032: every change of a claim leads to a count.
		watch(c, s.Claims, func(_, _ *corev1.PersistentVolumeClaim) bool { return true })
		for _, table := range others {
			watch(c, table, serviceChanged)
		}
		c.quotas.Handle(engine.Handler[*plain.Object]{
			Add:    func(q *plain.Object) { c.add(q) },
			Update: c.updated,
			Delete: func(q *plain.Object) { c.queue.Add(api.KeyOf(q)) },
		})
	})
	if err != nil {
		return nil, err
	}
	e.Store().OnOther(func(table store.Table[*plain.Object]) {
		if name, _ := objkinds.Split(string(table.Kind())); name == string(api.Event) || !table.Namespaced() {
			return
		}
		others = append(others, table)
		if live != nil {
			watch(live, table, serviceChanged)
		}
	})
	return actor, nil
}

// untilResync returns the time until the first count of all quotas in this life: at once after a restart, and at the start of the cluster.
func (c *controller) untilResync() time.Duration {
	if c.actor.Lives() > 1 {
		return 0
	}
	return c.actor.UntilResync(resyncPeriod) % resyncPeriod
}

// podChanged reports whether a change of a pod leads to a count (QUO-032).
func (c *controller) podChanged(old, pod *corev1.Pod) bool {
	now := c.actor.Engine().Now()
	ended, ends := quota.Ended(old, now), quota.Ended(pod, now)
	// QUO-033: a pod that runs again is counted at the next resync.
	resized, matters := quota.Resized(old, pod)
	if !ends && (ended || pod.DeletionTimestamp != nil || matters) {
		c.resync.ArmBackground()
	}
	// QUO-032: a pod that ends, one that gets or loses a deadline, and one that is resized.
	return quota.HasDeadline(old) != quota.HasDeadline(pod) || !ended && ends || resized
}

// serviceChanged reports whether a change of an object of another kind leads to a count (QUO-032): a Service gets another type that is limited.
func serviceChanged(old, obj *plain.Object) bool {
	return api.KindOf(obj) == "Service" && quota.ServiceType(plain.Shared[*corev1.Service](old)) != quota.ServiceType(plain.Shared[*corev1.Service](obj))
}

// watch counts the objects of a table. A deletion, and an update for which changed returns true, lead to a new count.
func watch[T api.Object](c *controller, table store.Table[T], changed func(old, obj T) bool) engine.Informer[T] {
	informer := engine.NewInformer(c.actor, table)
	cnt := counter{kind: table.Kind(), resource: table.GroupResource()}
	cnt.count = func(q *corev1.ResourceQuota) corev1.ResourceList {
		if len(quota.Names(cnt.resource, q.Spec.Hard)) == 0 {
			return nil
		}
		var objs []T
		for _, obj := range informer.List() {
			if obj.GetNamespace() == q.Namespace {
				objs = append(objs, obj)
			}
		}
		return quota.Count(q, cnt.resource, objs, c.actor.Engine().Now())
	}
	c.counters = append(c.counters, cnt)
	informer.Handle(engine.Handler[T]{
		Update: func(old, obj T) {
			if changed(old, obj) {
				c.released(cnt.resource, obj.GetNamespace())
			}
		},
		Delete: func(obj T) { c.released(cnt.resource, obj.GetNamespace()) },
	})
	return informer
}

// released queues the quotas of a namespace that count objects like one that was deleted or changed (QUO-032).
func (c *controller) released(r schema.GroupResource, namespace string) {
	for _, obj := range c.quotas.List() {
		if q := plain.Shared[*corev1.ResourceQuota](obj); q.Namespace == namespace && len(quota.Names(r, q.Status.Hard)) > 0 {
			c.queue.Add(api.KeyOf(obj))
		}
	}
}

// updated queues a quota whose limits have changed (QUO-031).
func (c *controller) updated(old, obj *plain.Object) {
	// QUO-033: a usage that another client wrote is counted again at the next resync.
	c.resync.ArmBackground()
	// QUO-031: changes of the status are not followed.
	if !quota.Equal(plain.Shared[*corev1.ResourceQuota](old).Spec.Hard, plain.Shared[*corev1.ResourceQuota](obj).Spec.Hard) {
		c.add(obj)
	}
}

// add queues a quota, first of all one whose status lacks limits or a usage (QUO-031).
func (c *controller) add(obj *plain.Object) {
	q := plain.Shared[*corev1.ResourceQuota](obj)
	if !equality.Semantic.DeepEqual(q.Spec.Hard, q.Status.Hard) || c.incomplete(q) {
		c.uncounted.Add(api.KeyOf(obj))
		return
	}
	c.queue.Add(api.KeyOf(obj))
}

// incomplete reports whether the status lacks the usage of a limit that the controller can count.
func (c *controller) incomplete(q *corev1.ResourceQuota) bool {
	return slices.ContainsFunc(c.counters, func(cnt counter) bool {
		return slices.ContainsFunc(quota.Names(cnt.resource, q.Status.Hard), func(name corev1.ResourceName) bool {
			_, ok := q.Status.Used[name]
			return !ok
		})
	})
}

// countsKind reports whether a limit is about the number of objects of a kind that the API server serves.
func (c *controller) countsKind(name corev1.ResourceName) bool {
	serves := func(k *objkinds.Kind) bool {
		r := schema.GroupResource{Group: k.Group, Resource: k.Plural}
		return k.Namespaced && !quota.Ignored(r) && len(quota.Names(r, corev1.ResourceList{name: {}})) > 0
	}
	return slices.ContainsFunc(objkinds.All(), serves) || slices.ContainsFunc(c.actor.Engine().Store().CustomKinds(), serves)
}

// sync counts the usage of a quota and writes its status if that differs (QUO-030).
func (c *controller) sync(p *engine.Process, key string) error {
	obj, ok := c.quotas.Get(key)
	if !ok {
		return nil
	}
	q := plain.Shared[*corev1.ResourceQuota](obj)
	used := corev1.ResourceList{}
	for name := range q.Spec.Hard {
		// QUO-034: the last usage of what the controller cannot count stays.
		if last, ok := q.Status.Used[name]; ok {
			used[name] = last
		}
	}
	for name := range q.Spec.Hard {
		// QUO-030: of a kind without objects nothing is used.
		if c.countsKind(name) {
			used[name] = resource.Quantity{Format: resource.DecimalSI}
		}
	}
	for _, cnt := range c.counters {
		maps.Copy(used, cnt.count(q))
	}
	if equality.Semantic.DeepEqual(q.Spec.Hard, q.Status.Hard) && q.Status.Hard != nil && q.Status.Used != nil && quota.Equal(used, q.Status.Used) {
		return nil
	}
	counted := q.DeepCopy()
	counted.Status = corev1.ResourceQuotaStatus{Hard: q.Spec.Hard.DeepCopy(), Used: used}
	_, err := p.API().Update(p, counted, api.Status, store.UpdateOptions{})
	return err
}
