package explore

import "github.com/volsim/volsim/internal/core/engine"

// told adds a discreet actor that in its first life has an informer from the beginning, and in later ones has an activity start it and keep
// what it is told: in which order the volumes a and b are labelled after more than a pause.
func (s *fixture) told(first func(a *actor)) *actor {
	watcher := s.independent("watcher", func(a *actor, _ *actorMemory) {
		if a.Lives() == 1 {
			engine.NewInformer(a, s.Store().Volumes)
			first(a)
			return
		}
		a.Go("watch", func(p *proc) {
			told := ""
			engine.NewInformer(a, s.Store().Volumes).Handle(engine.Handler[*volume]{Update: func(_, pv *volume) { told += pv.Name }})
			p.Sleep(2 * pause)
			label(p, "c", told)
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
	{name: "what an actor has that the user crashed and started", outcomes: 2, build: func(s *fixture) {
		watcher := s.told(func(*actor) {})
		s.play(func() {
			watcher.Crash()
			watcher.Start()
			s.Advance(4 * pause)
		})
	}},
	{name: "what an actor has that starts after a fault", outcomes: 2, build: func(s *fixture) {
		s.run.Injects = true
		s.told(func(a *actor) { a.Go("crash", func(p *proc) { labelNode(p, "1") }) })
		s.play(func() { s.Advance(4 * pause) })
	}, change: crashing},
	{name: "an actor of which nothing is known that crashes another", outcomes: 2, build: func(s *fixture) {
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
	{name: "an actor of which nothing is known that crashes another for good", outcomes: 2, build: func(s *fixture) {
		victim := s.independent("victim", func(a *actor, _ *actorMemory) {
			a.Go("label", func(p *proc) { label(p, "b", "1") })
		})
		s.actor("chaos", func(a *actor) { a.Go("crash", func(*proc) { victim.Crash() }) })
	}},
}
