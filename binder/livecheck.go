package binder

import (
	"maps"
	"slices"

	"github.com/volsim/volsim/api"
)

// A volume whose claimRef names a claim with another uid is synced by reading that claim from the API server (BIND-061). Such a read has
// no effect, so resyncs skip the volume. But an injected fault may be meant for the read: then the volume must be synced.

// faultPending reports whether a fault is armed that matches a read of the claim from the API server.
func (c *controller) faultPending(claim string) bool {
	return c.actor.Awaited(api.Call{Target: api.APIServer, Verb: "get", Kind: string(api.PersistentVolumeClaim), Key: claim})
}

// noteLiveCheck records that the sync of a volume has read a claim from the API server. The next resync skips the volume unless a fault
// waits for the read.
func (c *controller) noteLiveCheck(volume, claim string) {
	c.liveChecked[volume] = claim
	if c.faultPending(claim) {
		c.dirty.effects++
	}
}

// faultArmed marks the volumes whose reads a newly armed fault matches, so that the next resync syncs them.
func (c *controller) faultArmed() {
	for _, volume := range slices.Sorted(maps.Keys(c.liveChecked)) {
		// BIND-032, BIND-061: the fault meets the read that the next resync makes.
		if entry := c.own.Volume(volume); entry != nil && c.faultPending(c.liveChecked[volume]) {
			c.markVolume(entry)
		}
	}
}
