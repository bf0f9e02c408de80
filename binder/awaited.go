package binder

import (
	"maps"
	"slices"

	"github.com/volsim/volsim/api"
)

// awaited reports whether a fault waits for the controller to read a claim from the API server.
func (c *Controller) awaited(claim string) bool {
	return c.actor.Awaited(api.Call{Target: api.APIServer, Verb: "get", Kind: string(api.PersistentVolumeClaim), Key: claim})
}

// doubted notes that the sync of a volume has read its claim from the API server, and may find nothing to do. The next resync reads it again, and is
// left out unless a fault waits for that.
func (c *Controller) doubted(volume, claim string) {
	c.doubts[volume] = claim
	if c.awaited(claim) {
		c.restless.nudges++
	}
}

// faulted has volumes synced by the next resync for whose reads there is a fault now.
func (c *Controller) faulted() {
	for _, volume := range slices.Sorted(maps.Keys(c.doubts)) {
		// BIND-032, BIND-061
		if e := c.volumes.find(volume); e != nil && c.awaited(c.doubts[volume]) {
			c.stirVolume(e)
		}
	}
}
