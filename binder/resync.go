package binder

import (
	"slices"

	"github.com/volsim/volsim/api"
	"github.com/volsim/volsim/internal/core/engine"
	"github.com/volsim/volsim/internal/core/klog"
)

// resyncDirty is one resync. Upstream queues every claim and every volume; here it queues the dirty ones, because syncing a clean one
// would do nothing (see dirtySet).
func (c *controller) resyncDirty(*engine.Process) { c.queueDirty() }

// resyncAll is a resync that also syncs the clean objects: an injected fault may hit their reads.
func (c *controller) resyncAll(*engine.Process) {
	claims, volumes := c.queueDirty()
	// In the background, because its reads may take time, and the period counts from the end of the resync.
	c.actor.Background(0, "full resync", func(p *engine.Process) { c.syncClean(p, claims, volumes) })
}

// queueDirty queues the dirty objects and returns their keys.
func (c *controller) queueDirty() (claims, volumes []string) {
	// BIND-032: claims first, then volumes; SIM: in the order of their keys.
	c.base.Info(4, "Resyncing PV controller")
	claims, volumes = c.dirty.take()
	c.logResync(claims, volumes)
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
	return claims, volumes
}

// logResync logs the keys that a resync queues: those of the dirty objects or, if no work is skipped, of all objects.
func (c *controller) logResync(claims, volumes []string) {
	if !c.base.Enabled(5) {
		return
	}
	keys := slices.Concat(claims, volumes)
	if !c.actor.NoteMaySkip() {
		keys = nil
		for _, claim := range c.infClaims.List() {
			keys = append(keys, api.KeyOf(claim))
		}
		for _, pv := range c.infVolumes.List() {
			keys = append(keys, pv.Name)
		}
	}
	for _, key := range keys {
		c.base.Info(5, "Enqueued for sync", klog.String("objName", key))
	}
}

// syncClean syncs what a resync would have skipped: everything but these keys.
func (c *controller) syncClean(p *engine.Process, claims, volumes []string) {
	for _, claim := range c.infClaims.List() {
		key := api.KeyOf(claim)
		if _, queued := slices.BinarySearch(claims, key); !queued {
			c.syncCleanClaim(p, key)
		}
	}
	for _, pv := range c.infVolumes.List() {
		if _, queued := slices.BinarySearch(volumes, pv.Name); !queued {
			c.syncCleanVolume(p, pv.Name)
		}
	}
}

// syncCleanClaim syncs a claim that is clean. It has no effect, unless an injected fault hits one of its reads. It does not use the queue,
// so that the order of the rest is the same with and without it.
func (c *controller) syncCleanClaim(p *engine.Process, key string) {
	claim, exists := c.infClaims.Get(key)
	entry := c.own.Claim(key)
	if !exists || entry == nil || entry.Claim != claim || entry.Dirty {
		return // it has been synced, or will be
	}
	before := c.effects(p)
	c.base.Info(5, "syncClaimByKey", klog.String("claimKey", key))
	c.logStored(lineUpdated, aClaim, key, claim)
	err := c.syncClaim(p, claim)
	c.logClaimFailure(claim, err)
	if err != nil || c.effects(p) != before {
		c.markClaim(entry)
	}
	if err != nil {
		// BIND-035: a failed key is added again after a delay.
		c.claimQueue.AddRateLimited(key)
	}
}

// syncCleanVolume is syncCleanClaim for a volume.
func (c *controller) syncCleanVolume(p *engine.Process, name string) {
	pv, exists := c.infVolumes.Get(name)
	entry := c.own.Volume(name)
	if !exists || entry == nil || entry.PV != pv || entry.Dirty {
		return
	}
	before := c.effects(p)
	c.base.Info(5, "syncVolumeByKey", klog.String("volumeKey", name))
	c.logStored(lineUpdated, aVolume, name, pv)
	err := c.syncVolume(p, pv)
	c.logVolumeFailure(pv, err)
	if err != nil || c.effects(p) != before {
		c.markVolume(entry)
	}
	if err != nil {
		// BIND-035: the same for volumes.
		c.volumeQueue.AddRateLimited(name)
	}
}
