package harness

import (
	"cmp"
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/volsim/volsim/api"
	"github.com/volsim/volsim/internal/core/actors"
	"github.com/volsim/volsim/internal/core/snapshots"
	"github.com/volsim/volsim/internal/proof/differential"
)

// lateness is how much later than in our order something may come here: the PersistentVolume controller checks every 100 ms whether its
// informers have synced, and its periods are counted from then.
const lateness = 150 * time.Millisecond

// next chooses the transition that gets the next permit. It goes through our order: a component receives what it views, and a request takes
// effect. A worker that waits gets its permit after the views of its component. An action that no transition matches yet is passed over; it may
// still come. After that come, in this order: workers, events that no component viewed, requests that our order has later, and passes of
// loops. Nil means that none may happen: a request on its way comes before what its component views next.
func (s *Sequencer) next() *transition {
	now := time.Now()
	for len(s.order) > 0 && (s.order[0].done || s.order[0].Time.Add(lateness).Before(now)) {
		s.order = s.order[1:]
	}
	if i := slices.IndexFunc(s.waiting, func(t *transition) bool { return t.asks() && s.foreign(t, now) }); i >= 0 {
		return s.waiting[i]
	}
	busy := map[string]time.Time{} // components with a request on its way, and when it took effect in our run
	var later []*ordered           // what they view after it
	for i := range s.order {
		a := &s.order[i]
		since, waits := busy[a.Actor]
		switch {
		case a.done:
		case a.IsView() && waits:
			if !a.Time.After(since) {
				later = append(later, a)
			}
		case slices.ContainsFunc(s.coming, a.matches) && !slices.ContainsFunc(s.waiting, a.matches):
			if !waits {
				busy[a.Actor] = a.Time
			}
		case a.Time.After(now):
		default:
			if t := s.transitionFor(a); t != nil {
				return t
			}
		}
	}
	if work := s.workerOf("", ""); work != nil {
		return work
	}
	if events := s.those(func(t *transition) bool {
		return t.Verb == "" && !slices.ContainsFunc(later, func(a *ordered) bool { return a.needs(t) })
	}); len(events) > 0 {
		return slices.MinFunc(events, compareEvents)
	}
	if requests := s.those((*transition).asks); len(requests) > 0 {
		t := slices.MinFunc(requests, func(a, b *transition) int { return cmp.Compare(s.indexOf(a), s.indexOf(b)) })
		// One that our order has much later is another request for the same.
		if a := &s.order[s.indexOf(t)]; !a.Time.After(now.Add(lateness)) {
			a.done = true
		}
		return t
	}
	if passes := s.those(func(t *transition) bool { return loopOf(t) >= 0 }); len(passes) > 0 {
		return slices.MinFunc(passes, compareLoops)
	}
	return nil
}

// transitionFor returns the transition that carries out an action of our order, or one that leads to it; nil if there is none.
func (s *Sequencer) transitionFor(a *ordered) *transition {
	if a.IsView() {
		due := s.those(a.needs)
		if len(due) == 0 {
			// A change that comes later here than in our order is viewed when it has come.
			for kind, n := range a.Seen {
				if s.changes(kind) < n {
					return nil
				}
			}
			a.done = true
			switch {
			case a.Handler:
				return nil
			case a.Pass:
				return s.passOf(a.Actor)
			}
			if s.variation.Exact {
				return s.workerOn(a.Actor, a.Key)
			}
			return s.workerOf(a.Actor, a.Key)
		}
		s.until = a.Seen
		return slices.MinFunc(due, compareEvents)
	}
	if requests := s.those(a.matches); len(requests) > 0 {
		a.done = true
		if s.variation.Strict {
			slices.Reverse(requests)
		}
		return requests[0]
	}
	if a.IsRead() {
		a.done = !s.variation.Strict
		return nil
	}
	if work := s.workerOf(a.Actor, a.Key); work != nil {
		return work
	}
	// The real component may read what ours did not need to read.
	if i := slices.IndexFunc(s.waiting, func(t *transition) bool { return t.Component == a.Actor && isRead(t.Verb) && !s.comes(t) }); i >= 0 {
		return s.waiting[i]
	}
	if a.Seen != nil {
		return nil
	}
	// What leads to this action is not known in this detail.
	if events := s.those(func(t *transition) bool { return t.Verb == "" && t.Component == a.Actor }); len(events) > 0 {
		return slices.MinFunc(events, compareEvents)
	}
	// Passes come after requests, which may have another order here.
	if slices.ContainsFunc(s.waiting, func(t *transition) bool { return t.Component == a.Actor && t.asks() }) {
		return nil
	}
	if passes := s.those(func(t *transition) bool { return loopOf(t) >= 0 && t.Component == a.Actor }); len(passes) > 0 {
		return slices.MinFunc(passes, compareLoops)
	}
	return nil
}

// comes reports whether our order has a read of this instant, so that it gets its permit there; always false without Variation.Strict.
func (s *Sequencer) comes(t *transition) bool {
	i := s.indexOf(t)
	return s.variation.Strict && i >= 0 && !s.order[i].Time.After(time.Now())
}

// setOrder takes over our order. With Variation.Lazy, views of one component at one instant with no request between them become one; with
// Variation.Exact as well, only arrivals at one kubelet do.
func (s *Sequencer) setOrder(actions []differential.Action) {
	for i, a := range actions {
		if a.Exact && !s.variation.Exact {
			continue
		}
		if a.IsView() && s.variation.Lazy && (!s.variation.Exact || a.Exact && differential.IsKubelet(a.Actor)) {
			next := slices.IndexFunc(actions[i+1:], func(other differential.Action) bool { return other.Actor == a.Actor })
			if next >= 0 && actions[i+1+next].IsView() && actions[i+1+next].Time.Equal(a.Time) {
				continue
			}
			for j := i - 1; j >= 0 && actions[j].Time.Equal(a.Time); j-- {
				if other := actions[j]; other.Actor == a.Actor && other.IsView() {
					a.Seen, a.Pass = union(a.Seen, other.Seen), a.Pass || other.Pass
					a.Handler = a.Handler && other.Handler
				} else if other.Actor == a.Actor {
					break
				}
			}
		}
		s.order = append(s.order, ordered{Action: a})
	}
}

// indexOf is the index of a transition in our order, -1 if it is not there.
func (s *Sequencer) indexOf(t *transition) int {
	return slices.IndexFunc(s.order, func(a ordered) bool { return !a.done && a.matches(t) })
}

// foreign reports whether a request is not in our order. With Variation.Exact, neither is a read that our order has much later.
func (s *Sequencer) foreign(t *transition, now time.Time) bool {
	i := s.indexOf(t)
	return i < 0 || s.variation.Exact && isRead(t.Verb) && s.order[i].Time.After(now.Add(lateness))
}

// matches reports whether a transition carries out the action. A creation that failed before its name was generated has only a namespace.
func (a *ordered) matches(t *transition) bool {
	same := a.Object == t.Object || a.Verb == "create" && a.Object.Kind == t.Object.Kind && strings.HasSuffix(a.Object.Key, "/") &&
		strings.HasPrefix(t.Object.Key, a.Object.Key)
	return a.Actor == t.Component && a.Verb == t.Verb && same && (a.Node == "" || a.Node == nodeOf(t))
}

// nodeOf returns the node that the pod requires which a request creates.
func nodeOf(t *transition) string {
	var pod corev1.Pod
	if json.Unmarshal(t.Body, &pod) != nil {
		return ""
	}
	return differential.RequiredNode(&pod)
}

// needs reports whether a view needs an event.
func (a *ordered) needs(t *transition) bool {
	return t.Verb == "" && a.Concerns(t.Component) && t.Number <= a.Seen[t.Object.Kind]
}

// workerOf returns the worker of a component that waits to start on a key, else the one that has waited longest, of any component for ""; nil if
// none waits.
func (s *Sequencer) workerOf(component, key string) *transition {
	workers := s.those(func(t *transition) bool { return t.isWork() && (component == "" || component == t.Component) })
	if len(workers) == 0 {
		return nil
	}
	return workers[max(0, slices.IndexFunc(workers, func(t *transition) bool { return t.Object.Key == key }))]
}

// workerOn returns the worker of a component that waits to start on a key; nil if none does.
func (s *Sequencer) workerOn(component, key string) *transition {
	work := s.workerOf(component, key)
	if work == nil || work.Object.Key != key {
		return nil
	}
	return work
}

// passOf returns the pass of a component that waits; nil if none does.
func (s *Sequencer) passOf(component string) *transition {
	i := slices.IndexFunc(s.waiting, func(t *transition) bool { return loopOf(t) >= 0 && t.Component == component })
	if i < 0 {
		return nil
	}
	return s.waiting[i]
}

// those returns the waiting transitions that match.
func (s *Sequencer) those(match func(*transition) bool) []*transition {
	return slices.DeleteFunc(slices.Clone(s.waiting), func(t *transition) bool { return !match(t) })
}

// compareEvents orders events: those that make components act last, because the components then know the rest; others in the order of changes.
// The garbage collector receives all in the order of changes: so it knows most owners before their dependents, as ours does (GC-011).
func compareEvents(a, b *transition) int {
	if a.Component == actors.GarbageCollector && b.Component == actors.GarbageCollector {
		return cmp.Compare(a.Order, b.Order)
	}
	return cmp.Or(cmp.Compare(rank(a), rank(b)), cmp.Compare(a.Order, b.Order))
}

// snapshotKinds are the kinds whose changes make the snapshot controller and the csi-snapshotter act. Changes of claims and volumes do not.
var snapshotKinds = []api.Kind{snapshots.SnapshotKind, snapshots.ContentKind, snapshots.GroupKind, snapshots.GroupContentKind}

func rank(t *transition) int {
	switch {
	case t.Verb != "":
		return 0
	case slices.Contains(snapshotKinds, t.Object.Kind):
		return 4
	case t.Object.Kind == api.PersistentVolumeClaim:
		return 3
	case t.Object.Kind == api.PersistentVolume:
		return 2
	}
	return 1
}

func compareLoops(a, b *transition) int { return cmp.Compare(loopOf(a), loopOf(b)) }

func isRead(verb string) bool { return differential.Action{Verb: verb}.IsRead() }

func union(a, b map[api.Kind]int) map[api.Kind]int {
	both := maps.Clone(a)
	for kind, n := range b {
		both[kind] = max(both[kind], n)
	}
	return both
}
