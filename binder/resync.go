package binder

import (
	"slices"

	"github.com/volsim/volsim/engine"
	"github.com/volsim/volsim/store"
)

// pass is one resync.
func (c *Controller) pass(*engine.Proc) {
	// BIND-032: claims first, then volumes; SIM: in the order of their keys.
	claims, volumes := c.restless.take()
	for _, key := range claims {
		if _, ok := c.infClaims.Get(key); ok {
			c.claimQueue.Add(key)
		}
	}
	for _, name := range volumes {
		if _, ok := c.infVolumes.Get(name); ok {
			c.volumeQueue.Add(name)
		}
	}
	if c.cfg.FullResync {
		// Beside the pass, for what it reads may take time, and the periods count from the end of the pass.
		c.actor.Background(0, "full resync", func(p *engine.Proc) { c.syncCalm(p, claims, volumes) })
		c.resync.Arm()
	}
}

// syncCalm syncs what a resync has left out: all but these keys (Config.FullResync). It should do nothing; so that the order of the
// rest is the same with it and without, it does not go through the queues.
func (c *Controller) syncCalm(p *engine.Proc, claims, volumes []string) {
	for claim := range c.infClaims.All() {
		key := store.KeyOf(claim)
		_, queued := slices.BinarySearch(claims, key)
		if own, _ := c.claims.get(key); queued || own != claim || c.restless.hasClaim(key) {
			continue // its turn has come, or will come
		}
		before := c.stirred(p)
		if err := c.syncClaim(p, claim); err != nil || c.stirred(p) != before {
			c.stirClaim(key)
		}
	}
	for pv := range c.infVolumes.All() {
		_, queued := slices.BinarySearch(volumes, pv.Name)
		if own, _ := c.volumes.Get(pv.Name); queued || own != pv || c.restless.hasVolume(pv.Name) {
			continue
		}
		before := c.stirred(p)
		if err := c.syncVolume(p, pv); err != nil || c.stirred(p) != before {
			c.stirVolume(pv.Name)
		}
	}
}

// restless knows which claims and volumes a resync has to look at. The others were found at peace by their last sync, which
// wrote, emitted, queued and started nothing; and nothing that sync read has changed since. Syncing them again would do nothing
// again, so a resync may leave them out.
type restless struct {
	claims  map[string]struct{}
	volumes map[string]struct{}
	// nudges counts the keys that syncs have queued.
	nudges uint64
}

func newRestless() restless {
	return restless{claims: map[string]struct{}{}, volumes: map[string]struct{}{}}
}

func (r *restless) calmClaim(key string)   { delete(r.claims, key) }
func (r *restless) calmVolume(name string) { delete(r.volumes, name) }

func (r *restless) hasClaim(key string) bool   { _, ok := r.claims[key]; return ok }
func (r *restless) hasVolume(name string) bool { _, ok := r.volumes[name]; return ok }

// take empties the sets and returns them in order.
func (r *restless) take() (claims, volumes []string) {
	claims, volumes = sortedKeys(r.claims), sortedKeys(r.volumes)
	clear(r.claims)
	clear(r.volumes)
	return claims, volumes
}

func sortedKeys(set map[string]struct{}) []string {
	keys := make([]string, 0, len(set))
	for key := range set {
		keys = append(keys, key)
	}
	slices.Sort(keys)
	return keys
}

// stirred counts everything a sync can do. A sync that leaves it as it was found nothing to do.
func (c *Controller) stirred(p *engine.Proc) uint64 { return p.Effects() + c.restless.nudges }

func (c *Controller) stirClaim(key string) {
	c.restless.claims[key] = struct{}{}
	c.resync.Arm()
}

func (c *Controller) stirVolume(name string) {
	c.restless.volumes[name] = struct{}{}
	c.resync.Arm()
}

// touchVolume marks whatever reads a volume that has changed: itself and the claims that name it. Those that name none look at
// all volumes and are never at peace.
func (c *Controller) touchVolume(name string) {
	c.stirVolume(name)
	for own := c.claims.byVolume[name]; own != nil; own = own.next {
		c.stirClaim(own.key)
	}
}

// touchClaim marks whatever reads a claim that has changed: itself and the volumes that point at it.
func (c *Controller) touchClaim(key string) {
	c.stirClaim(key)
	for _, e := range c.volumes.pointingAt(key) {
		c.stirVolume(e.name)
	}
}
