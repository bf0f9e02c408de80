package schedule

import (
	"cmp"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/volsim/volsim/api"
	"github.com/volsim/volsim/internal/core/actors"
	"github.com/volsim/volsim/internal/core/engine"
	"github.com/volsim/volsim/internal/core/plain"
	"github.com/volsim/volsim/internal/core/snapshot"
	"github.com/volsim/volsim/internal/core/store"
)

// scheduler is the scheduler from one start to the next crash: its queue, its caches and the pods it is binding.
type scheduler struct {
	cfg    Config
	actor  *engine.Actor
	api    *engine.API
	events *engine.Recorder
	inf    informers
	ix     indexes
	// look is made at the first attempt. See lookups.
	look *lookups
	// namespaces and disruptionBudgets are nil until the first object of their kind is written.
	namespaces, disruptionBudgets engine.Informer[*plain.Object]
	// groups are the informers of the kinds whose pods are spread by default, as far as objects were written.
	groups map[api.Kind]engine.Informer[*plain.Object]

	queue     *queue
	pods      podCache
	volumes   assumeCache[*corev1.PersistentVolume]
	claims    assumeCache[*corev1.PersistentVolumeClaim]
	nominated nominations
	// evicting are the pods for which others are being evicted, with the key of the last victim once that is the only one left (SCHED-315).
	evicting map[types.UID]string
	watching watching
	// preBinding are the pods whose volumes are being bound, by key.
	preBinding map[string]*reservation
	// busy is set while an attempt runs or is queued.
	busy bool
	// attempt is tryNext. cycle is the memory of its cycle.
	attempt func(*engine.Process)
	cycle   cycle
	// first is the index of the node at which the next search begins (SCHED-025).
	first int
	table nodeTable
	// fit is the memory of feasible.
	fit []*nodeState
}

// New adds the scheduler to the engine. It returns an error for a negative duration, an RetryStart above RetryMax, an empty profile, and
// a second scheduler.
func New(e *engine.Engine, cfg Config) (*engine.Actor, error) {
	if err := cfg.complete(); err != nil {
		return nil, err
	}
	ix := newIndexes(e.Store())
	var live *scheduler
	var others []store.Table[*plain.Object]
	actor, err := e.NewActor(actors.Scheduler, func(a *engine.Actor) {
		live = newScheduler(a, cfg, ix)
		a.OnStop(func() { live = nil })
		for _, table := range others {
			live.follow(table)
		}
		live.run()
	})
	if err != nil {
		return nil, err
	}
	e.Store().OnOther(func(t store.Table[*plain.Object]) {
		if t.Kind() != store.NamespaceKind && t.Kind() != store.DisruptionBudgetKind && !slices.Contains(snapshot.Grouping, t.Kind()) {
			return
		}
		others = append(others, t)
		slices.SortFunc(others, func(a, b store.Table[*plain.Object]) int { return cmp.Compare(a.Kind(), b.Kind()) })
		if live != nil {
			live.follow(t)
		}
	})
	return actor, nil
}

// follow starts the informer of a kind that is stored as data.
func (s *scheduler) follow(t store.Table[*plain.Object]) {
	informer := engine.NewInformer(s.actor, t)
	switch t.Kind() {
	case store.NamespaceKind:
		s.namespaces = informer
	case store.DisruptionBudgetKind:
		s.disruptionBudgets = informer
	default:
		if s.groups == nil {
			s.groups = map[api.Kind]engine.Informer[*plain.Object]{}
		}
		s.groups[t.Kind()] = informer
	}
}

func newScheduler(a *engine.Actor, cfg Config, ix indexes) *scheduler {
	s := &scheduler{
		cfg:    cfg,
		actor:  a,
		api:    a.Engine().API(),
		events: a.NewRecorder(component),
		inf:    newInformers(a),
		ix:     ix,
	}
	s.volumes.informer, s.claims.informer = s.inf.volumes, s.inf.claims
	s.queue, s.attempt = newQueue(a, &s.cfg, s.wake, s.isEvicting), s.tryNext
	return s
}

// run starts the informers. Pods come last, because an attempt reads the objects of all other kinds.
func (s *scheduler) run() {
	engine.Handle(s.inf.nodes, s, &nodeHandlers)
	engine.Handle(s.inf.volumes, s, &volumeHandlers)
	engine.Handle(s.inf.claims, s, &claimHandlers)
	engine.Handle(s.inf.classes, s, &classHandlers)
	engine.Handle(s.inf.drivers, s, &driverHandlers)
	engine.Handle(s.inf.csiNodes, s, &csiNodeHandlers)
	engine.Handle(s.inf.capacities, s, &capacityHandlers)
	engine.Handle(s.inf.attachments, s, &attachmentHandlers)
	engine.Handle(s.inf.pods, s, &podHandlers)
}

// moved requeues the pods that a change may help, and wakes binding cycles that wait for the object.
func (s *scheduler) moved(kind api.Kind, what verb, old, new api.Object) {
	s.queue.move(change{kind: kind, what: what, old: old, new: new}, nil)
	if new == nil {
		new = old
	}
	s.watching.changed(new)
}

func (s *scheduler) podAdded(pod *corev1.Pod) {
	if pod.Spec.NodeName != "" {
		s.assigned(s.inf.pods.KeyOf(pod), pod)
	} else if s.cfg.responsible(pod) {
		// SCHED-020: a pod created with a node never gets here, so no node is selected for its claims.
		s.nominate(pod)
		s.queue.add(s.inf.pods.KeyOf(pod), pod)
	}
}

// assigned records a pod that is bound to a node, which ends its assumption.
func (s *scheduler) assigned(key string, pod *corev1.Pod) {
	s.pods.put(key, pod)
	s.queue.move(change{kind: api.Pod, what: added, new: pod}, nil)
}

func (s *scheduler) podUpdated(old, pod *corev1.Pod) {
	key := s.inf.pods.KeyOf(pod)
	switch {
	case old.Spec.NodeName != "":
		s.pods.put(key, pod)
		s.queue.move(change{kind: api.Pod, what: updated, old: old, new: pod}, nil)
	case pod.Spec.NodeName != "":
		s.queue.remove(key)
		s.nominated.remove(key)
		s.assigned(key, pod)
	case !s.cfg.responsible(pod):
	case s.pods.isAssumed(key):
		// The pod is being bound: the end of the binding cycle decides, unless the pod is being deleted.
		if pod.DeletionTimestamp != nil && old.DeletionTimestamp == nil {
			s.forget(key)
		}
	default:
		s.nominate(pod)
		s.queue.update(key, old, pod)
		s.nominationChanged(old, pod)
	}
	s.watching.changed(pod)
}

func (s *scheduler) podDeleted(pod *corev1.Pod) {
	key := s.inf.pods.KeyOf(pod)
	s.nominated.remove(key)
	switch {
	case pod.Spec.NodeName != "":
		// SCHED-277, SCHED-187: a completed pod counts as deleted, a terminating one does not.
		s.pods.remove(key)
		s.podGone(pod, nil)
	case s.cfg.responsible(pod):
		s.queue.remove(key)
		if s.pods.isAssumed(key) {
			s.forget(key)
		} else {
			s.nominationChanged(pod, &corev1.Pod{})
		}
	}
	s.watching.changed(pod)
}

// forget frees what an assumed pod occupies on its node. Its binding cycle continues and will fail.
func (s *scheduler) forget(key string) {
	pod := s.pods.pods[key].placed()
	s.pods.remove(key)
	s.podGone(pod, nil)
}

// podGone requeues pods that may fit where another pod left (SCHED-277).
func (s *scheduler) podGone(pod *corev1.Pod, among func(*corev1.Pod) bool) {
	s.queue.move(change{kind: api.Pod, what: deleted, old: pod}, among)
}

// wake starts an attempt if a pod is waiting and no attempt runs.
func (s *scheduler) wake() {
	if s.busy || !s.queue.waiting() {
		return
	}
	s.busy = true
	s.actor.Go("scheduling", s.attempt)
}

// tryNext tries the next pod.
func (s *scheduler) tryNext(p *engine.Process) {
	if item := s.queue.next(); item != nil {
		s.schedule(p, item)
	}
	// SCHED-027: one attempt after the other; binding cycles run meanwhile.
	s.busy = false
	s.wake()
}

// now returns the virtual time.
func (s *scheduler) now() time.Time { return s.actor.Engine().Now() }
