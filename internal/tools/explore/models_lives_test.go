package explore

import "github.com/volsim/volsim/internal/core/engine"

// informed adds an independent actor. In its first life it has an informer from the start; in later lives a process starts the
// informer. It remembers the order in which the volumes a and b were labeled, and reports it after more than a pause.
func (s *fixture) informed(first func(a *actor)) *actor {
	watcher := s.independent("watcher", func(a *actor, _ *actorMemory) {
		if a.Lives() == 1 {
			engine.NewInformer(a, s.Store().Volumes)
			first(a)
			return
		}
		a.Go("watch", func(p *proc) {
			delivered := ""
			engine.NewInformer(a, s.Store().Volumes).Handle(engine.Handler[*volume]{Update: func(_, pv *volume) { delivered += pv.Name }})
			p.Sleep(2 * pause)
			label(p, "c", delivered)
		})
	})
	for _, name := range []string{"a", "b"} {
		s.independent("writer-"+name, func(a *actor, _ *actorMemory) {
			a.After(3*pause/2, "write", func(p *proc) { label(p, name, "1") })
		})
	}
	return watcher
}

// modelsOfLives are about actors that crash and start.
var modelsOfLives = []smallModel{
	{name: "the memory of an actor that the user crashed and started", outcomes: 2, build: func(s *fixture) {
		watcher := s.informed(func(*actor) {})
		s.user(func() {
			watcher.Crash()
			watcher.Start()
			s.Advance(4 * pause)
		})
	}},
	{name: "the memory of an actor that starts after a fault", outcomes: 2, build: func(s *fixture) {
		s.run.Injects = true
		s.informed(func(a *actor) { a.Go("crash", func(p *proc) { labelNode(p, "1") }) })
		s.user(func() { s.Advance(4 * pause) })
	}, change: crashing},
	{name: "a dependent actor that crashes another", outcomes: 2, build: func(s *fixture) {
		victim := s.independent("victim", func(a *actor, m *actorMemory) {
			if a.Lives() > 1 {
				return
			}
			a.Go("label", func(p *proc) { label(p, "b", "1") })
		})
		s.actor("chaos", func(a *actor) {
			a.Go("crash", func(*proc) {
				victim.Crash()
				victim.Start()
			})
		})
	}},
	{name: "a dependent actor that crashes another for good", outcomes: 2, build: func(s *fixture) {
		victim := s.independent("victim", func(a *actor, _ *actorMemory) {
			a.Go("label", func(p *proc) { label(p, "b", "1") })
		})
		s.actor("chaos", func(a *actor) { a.Go("crash", func(*proc) { victim.Crash() }) })
	}},
}
