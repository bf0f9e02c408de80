package binder

import (
	"slices"

	"github.com/volsim/volsim/internal/core/engine"
	"github.com/volsim/volsim/internal/core/match"
)

// dirtySet holds the claims and volumes whose next sync may have an effect. All others are clean: their last sync wrote, emitted, queued
// and started nothing, and nothing that it read has changed since. Syncing them again would do nothing again, so a resync skips them.
type dirtySet struct {
	claims  []*match.ClaimEntry // marked since the last resync; they may be clean again
	volumes []*match.VolumeEntry
	// effects counts the effects of syncs that engine.Process.Effects does not count.
	effects uint64 `explore:"difference"`
}

// take empties the set and returns the keys of the dirty objects, in order.
func (d *dirtySet) take() (claims, volumes []string) {
	for _, entry := range d.claims {
		if entry.Dirty {
			claims = append(claims, entry.Key)
		}
		entry.Mark = match.Mark{}
	}
	for _, entry := range d.volumes {
		if entry.Dirty {
			volumes = append(volumes, entry.Key)
		}
		entry.Mark = match.Mark{}
	}
	d.claims, d.volumes = nil, nil
	slices.Sort(claims)
	slices.Sort(volumes)
	return claims, volumes
}

// effects counts everything that syncs have done. A sync that leaves it unchanged found nothing to do.
func (c *controller) effects(p *engine.Process) uint64 { return p.Effects() + c.dirty.effects }

func (c *controller) markClaim(entry *match.ClaimEntry) {
	entry.Dirty = true
	if !entry.Listed {
		entry.Listed = true
		c.dirty.claims = append(c.dirty.claims, entry)
	}
	c.resync.ArmBackground()
}

func (c *controller) markVolume(entry *match.VolumeEntry) {
	entry.Dirty = true
	if !entry.Listed {
		entry.Listed = true
		c.dirty.volumes = append(c.dirty.volumes, entry)
	}
	c.resync.ArmBackground()
}

// volumeChanged marks what reads a volume that has changed: the volume itself and the claims that name it. Unbound claims that name none
// read all volumes and are always dirty.
func (c *controller) volumeChanged(entry *match.VolumeEntry) {
	c.markVolume(entry)
	c.markNaming(entry)
}

// markNaming marks the claims that name a volume that has changed.
func (c *controller) markNaming(entry *match.VolumeEntry) {
	for claim := range entry.Naming() {
		c.markClaim(claim)
	}
}

// markPointing marks the volumes that point at a claim that has changed: they read it.
func (c *controller) markPointing(entry *match.ClaimEntry) {
	for volume := range entry.Pointing() {
		c.markVolume(volume)
	}
}
