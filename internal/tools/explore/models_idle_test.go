package explore

import (
	corev1 "k8s.io/api/core/v1"

	"github.com/volsim/volsim/api"
	"github.com/volsim/volsim/internal/core/engine"
)

// idle adds a dependent actor that is idle until a volume has a label. Then it labels c with what it remembers: the volumes whose changes it
// got, in order.
func (s *fixture) idle(name, value string) {
	wakes := func(obj api.Object) bool {
		return api.KindOf(obj) == api.PersistentVolume && obj.GetLabels()["x"] == value
	}
	s.run.Idle = map[string]func(api.Object) bool{name: wakes}
	s.actor(name, func(a *actor) {
		seen := ""
		volumes, nodes := engine.NewInformer(a, s.Store().Volumes), engine.NewInformer(a, s.Store().Nodes)
		q := a.NewQueue(engine.QueueConfig{Name: "q", Sync: func(p *proc, key string) error {
			if pv, ok := volumes.Get(key); ok && wakes(pv) {
				label(p, "c", "saw"+seen)
			}
			return nil
		}})
		volumes.Handle(engine.Handler[*volume]{Update: func(_, pv *volume) {
			seen += pv.Name
			q.Add(pv.Name)
		}})
		nodes.Handle(engine.Handler[*corev1.Node]{Update: func(_, _ *corev1.Node) { seen += "n" }})
	})
}

// modelsOfIdle are about idle actors, and those that are not idle any more.
var modelsOfIdle = []smallModel{
	{name: "an idle actor", outcomes: 2, build: func(s *fixture) {
		s.idle("idler", "wake")
		s.does("first", func(p *proc) { label(p, "a", "1") })
		s.does("second", func(p *proc) { label(p, "a", "2") })
	}},
	{name: "an actor that wakes after others have changed", outcomes: 2, build: func(s *fixture) {
		s.idle("idler", "wake")
		s.user(func() {
			label(s.User(), "a", "1")
			labelNode(s.User(), "1")
			s.Advance(pause)
			label(s.User(), "b", "wake")
			s.Advance(pause)
		})
	}},
	{name: "an object that wakes an actor in some orders, and is gone before the actor gets it", outcomes: 2, build: func(s *fixture) {
		s.idle("idler", "wake")
		s.user(func() {
			label(s.User(), "a", "wake")
			label(s.User(), "a", "")
			s.Advance(pause)
		})
	}},
	{name: "an idle actor and a background event", outcomes: 2, build: func(s *fixture) {
		s.idle("idler", "wake")
		s.background("second", nil)
		s.user(func() {
			label(s.User(), "a", "1")
			s.settle()
		})
	}},
	{name: "an idle actor and a background event that becomes due", outcomes: 2, build: func(s *fixture) {
		s.idle("idler", "wake")
		s.background("second", func(*proc) {})
		s.user(func() {
			label(s.User(), "a", "1")
			s.settle()
		})
	}},
	{name: "an idle actor, and the user acts after each event", outcomes: 2, build: func(s *fixture) {
		s.idle("idler", "wake")
		s.does("writer", func(p *proc) { label(p, "b", "1") })
		s.user(func() {
			labelNode(s.User(), "1")
			s.Step()
			s.Step()
			s.note("%s", s.labelOf("b"))
			s.Advance(pause)
		})
	}},
}
