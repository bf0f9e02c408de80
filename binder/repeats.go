package binder

import (
	"github.com/volsim/volsim/internal/core/engine"
	"github.com/volsim/volsim/internal/core/klog"
)

// repeats has the keys whose sync the real controller repeats. There, the cache has a change before the handlers get its event: a worker
// that has just written an object takes its key because of an earlier event, syncs the newest version, and syncs it again when the last
// event arrives. Here both events come before that sync, which would be the only one. The second finds nothing to do, so it is made for
// the log alone.
type repeats map[repeated]bool

type repeated struct {
	queue *engine.Queue
	key   string
}

func (r *repeats) add(queue *engine.Queue, key string) {
	if *r == nil {
		*r = repeats{}
	}
	(*r)[repeated{queue, key}] = true
}

// repeatsSyncs reports whether syncs are repeated for the log: if it has their lines, nothing is skipped, and no fault can hit a repeated
// read in place of a later one.
func (c *controller) repeatsSyncs() bool {
	return c.base.Enabled(4) && !c.actor.NoteMaySkip() && !c.actor.Faulty()
}

// repeat syncs an object once more if two events had queued it. It is called after the first sync.
func (c *controller) repeat(queue *engine.Queue, key string, sync func(c *controller, p *engine.Process, key string)) {
	of := repeated{queue, key}
	if !c.repeats[of] {
		return
	}
	delete(c.repeats, of)
	c.base.Info(5, "Enqueued for sync", klog.String("objName", key))
	c.actor.Background(0, "repeated sync", func(p *engine.Process) { sync(c, p, key) })
}
