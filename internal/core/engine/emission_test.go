package engine_test

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/volsim/volsim/api"
	"github.com/volsim/volsim/internal/core/engine"
	"github.com/volsim/volsim/internal/core/store"
)

// emitter emits the same Events as others with the same seed.
type emitter struct {
	*press
	rng  *rand.Rand
	objs []api.Object
}

func newEmitter(t *testing.T, seed uint64) *emitter {
	m := &emitter{press: newPress(t, engine.Config{History: 40}), rng: rand.New(rand.NewPCG(seed, 1))}
	s := m.e.Store()
	m.objs = []api.Object{mustCreate(t, s.Nodes, node("n", nil)), mustCreate(t, s.Claims, claim("shop/data")), mustCreate(t, s.Claims, claim("shop/logs"))}
	// The store does not have these. One has a name and a namespace that an Event cannot have.
	m.objs = append(m.objs, node("elsewhere", nil), claim("No Namespace/Not A Name"), claim("shop/Not A Name"), claim("nowhere"))
	return m
}

// act does one thing at random. It returns what it did, for messages.
func (m *emitter) act() string {
	obj := m.objs[m.rng.IntN(len(m.objs))]
	events := m.e.Store().Events
	switch what := m.rng.IntN(200); {
	case what < 150:
		text := fmt.Sprint("text ", m.rng.IntN(14))
		kind := []string{corev1.EventTypeNormal, corev1.EventTypeWarning}[m.rng.IntN(2)]
		m.recorder.Event(m.e.User(), obj, kind, fmt.Sprint("Reason", m.rng.IntN(2)), text)
		return "emit " + text
	case what < 190:
		d := []time.Duration{time.Millisecond, time.Second, 200 * time.Second, 700 * time.Second}[m.rng.IntN(4)]
		m.e.Advance(d)
		return "advance " + d.String()
	case what < 194:
		m.recorder.Dropped(m.objs[0], corev1.EventTypeNormal, "Reason0", "text 0", 3)
		return "drop"
	case what < 195:
		m.a.Crash()
		m.a.Start()
		return "crash"
	case what < 196:
		list := events.List()
		if len(list) > 0 {
			_, err := events.Delete(api.KeyOf(list[m.rng.IntN(len(list))]), api.DeleteOptions{})
			return fmt.Sprint("delete ", err)
		}
	case what < 197:
		_, err := events.Create(&corev1.Event{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: fmt.Sprint("e", m.rng.IntN(1000))},
			InvolvedObject: corev1.ObjectReference{Namespace: "shop"}})
		return fmt.Sprint("create ", err)
	case what < 198:
		_, err := m.e.Store().Create(&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "shop"}})
		return fmt.Sprint("namespace ", err)
	}
	return "nothing"
}

// seen has the Events of a cluster, their changes, and the counters of the store.
type seen struct {
	Events         []*corev1.Event
	Changes        []api.Change[*corev1.Event]
	Version, Count uint64
	Len            int
}

func (m *emitter) seen(t *testing.T) seen {
	t.Helper()
	s := m.e.Store()
	all := seen{Version: s.Version(), Count: s.Writes(api.Event), Len: s.Len()}
	all.Events = s.Events.List()
	// The history has the last 40 changes.
	for from := uint64(1); ; from++ {
		w, err := s.Events.Watch(store.WatchOptions[*corev1.Event]{From: from}, func(c api.Change[*corev1.Event]) { all.Changes = append(all.Changes, c) })
		if err == nil {
			w.Stop()
			return all
		}
	}
}

// Deferred Events are those that would have been stored at once. A watch of Events ends all deferring.
func TestDeferredEvents(t *testing.T) {
	for seed := range uint64(60) {
		deferred, atOnce := newEmitter(t, seed), newEmitter(t, seed)
		if _, err := atOnce.e.Store().Events.Watch(store.WatchOptions[*corev1.Event]{}, func(api.Change[*corev1.Event]) {}); err != nil {
			t.Fatal(err)
		}
		for i := range 150 {
			did, same := deferred.act(), atOnce.act()
			if did != same {
				t.Fatalf("seed %d, step %d: %s, want %s", seed, i, did, same)
			}
			if a, b := deferred.e.Store(), atOnce.e.Store(); a.Version() != b.Version() || a.Len() != b.Len() {
				t.Fatalf("seed %d, after step %d (%s): version %d and %d objects, want %d and %d", seed, i, did, a.Version(), a.Len(), b.Version(), b.Len())
			}
			if i%50 == 49 {
				if diff := cmp.Diff(atOnce.seen(t), deferred.seen(t)); diff != "" {
					t.Fatalf("seed %d, after step %d (%s): Events (-stored at once +deferred):\n%s", seed, i, did, diff)
				}
			}
		}
	}
}

// A deferred Event takes no object until Events are read.
func TestDeferredEventsTakeNoObject(t *testing.T) {
	p := newPress(t, engine.Config{})
	n := mustCreate(t, p.e.Store().Nodes, node("n", nil))
	p.warn(n, "text")
	i := 0
	allocs := testing.AllocsPerRun(20, func() {
		i++
		p.recorder.Event(p.e.User(), n, corev1.EventTypeNormal, "Reason", "text")
		p.e.Advance(time.Hour)
	})
	if allocs > 2 {
		t.Errorf("a counted Event takes %v allocations, want at most 2", allocs)
	}
	p.want("n Failed ×1 text", fmt.Sprintf("n Reason ×%d text", i))
}
