package binder

import (
	"slices"

	"github.com/volsim/volsim/api"
	"github.com/volsim/volsim/internal/core/engine"
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
		key := api.KeyOf(claim)
		_, queued := slices.BinarySearch(claims, key)
		own := c.claims.find(key)
		if queued || own == nil || own.claim != claim || own.restless {
			continue // its turn has come, or will come
		}
		before := c.stirred(p)
		if err := c.syncClaim(p, claim); err != nil || c.stirred(p) != before {
			c.stirClaim(own)
		}
	}
	for pv := range c.infVolumes.All() {
		_, queued := slices.BinarySearch(volumes, pv.Name)
		own := c.volumes.find(pv.Name)
		if queued || own == nil || own.pv != pv || own.restless {
			continue
		}
		before := c.stirred(p)
		if err := c.syncVolume(p, pv); err != nil || c.stirred(p) != before {
			c.stirVolume(own)
		}
	}
}

// restless knows which claims and volumes a resync has to look at. The others were found at peace by their last sync, which
// wrote, emitted, queued and started nothing; and nothing that sync read has changed since. Syncing them again would do nothing
// again, so a resync may leave them out.
type restless struct {
	claims  []*ownClaim // that have been restless since the last resync, and may have come to rest
	volumes []*entry
	// nudges counts the keys that syncs have queued.
	nudges uint64 `explore:"difference"`
}

// unrest is the part of a claim or volume in the set of restless ones.
type unrest struct {
	restless bool
	listed   bool // in the list, where it stays when it comes to rest
}

// take empties the set and returns the keys of what is in it, in order.
func (r *restless) take() (claims, volumes []string) {
	for _, own := range r.claims {
		if own.restless {
			claims = append(claims, own.Key)
		}
		own.unrest = unrest{}
	}
	for _, e := range r.volumes {
		if e.restless {
			volumes = append(volumes, e.Key)
		}
		e.unrest = unrest{}
	}
	r.claims, r.volumes = nil, nil
	slices.Sort(claims)
	slices.Sort(volumes)
	return claims, volumes
}

// stirred counts everything a sync can do. A sync that leaves it as it was found nothing to do.
func (c *Controller) stirred(p *engine.Proc) uint64 { return p.Effects() + c.restless.nudges }

func (c *Controller) stirClaim(own *ownClaim) {
	own.restless = true
	if !own.listed {
		own.listed = true
		c.restless.claims = append(c.restless.claims, own)
	}
	c.resync.Arm()
}

func (c *Controller) stirVolume(e *entry) {
	e.restless = true
	if !e.listed {
		e.listed = true
		c.restless.volumes = append(c.restless.volumes, e)
	}
	c.resync.Arm()
}

// touchVolume marks whatever reads a volume that has changed: itself and the claims that name it. Those that name none look at
// all volumes and are never at peace.
func (c *Controller) touchVolume(e *entry) {
	c.stirVolume(e)
	c.touchNaming(e.naming)
}

// touchNaming marks the claims that name a volume that has changed, from the first on.
func (c *Controller) touchNaming(own *ownClaim) {
	for ; own != nil; own = own.next {
		c.stirClaim(own)
	}
}

// touchPointing marks the volumes that point at a claim that has changed, from the first on: they read it.
func (c *Controller) touchPointing(e *entry) {
	for ; e != nil; e = e.next {
		c.stirVolume(e)
	}
}
