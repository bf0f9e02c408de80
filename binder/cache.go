package binder

import (
	"slices"

	corev1 "k8s.io/api/core/v1"

	"github.com/volsim/volsim/engine"
	"github.com/volsim/volsim/store"
)

// claimCache holds the controller's own claims by key, and finds those that name a volume.
type claimCache struct {
	byKey    map[string]*corev1.PersistentVolumeClaim
	byVolume map[string][]string
}

func newClaimCache() claimCache {
	return claimCache{byKey: map[string]*corev1.PersistentVolumeClaim{}, byVolume: map[string][]string{}}
}

func (cc *claimCache) get(key string) (*corev1.PersistentVolumeClaim, bool) {
	claim, ok := cc.byKey[key]
	return claim, ok
}

func (cc *claimCache) put(claim *corev1.PersistentVolumeClaim) {
	key := store.KeyOf(claim)
	old := cc.byKey[key]
	cc.byKey[key] = claim
	if old != nil && old.Spec.VolumeName == claim.Spec.VolumeName {
		return
	}
	cc.unname(key, old)
	if name := claim.Spec.VolumeName; name != "" {
		cc.byVolume[name] = append(cc.byVolume[name], key)
	}
}

func (cc *claimCache) delete(key string) {
	cc.unname(key, cc.byKey[key])
	delete(cc.byKey, key)
}

// unname forgets that a claim names its volume.
func (cc *claimCache) unname(key string, claim *corev1.PersistentVolumeClaim) {
	if claim == nil || claim.Spec.VolumeName == "" {
		return
	}
	name := claim.Spec.VolumeName
	rest := slices.DeleteFunc(cc.byVolume[name], func(k string) bool { return k == key })
	if len(rest) == 0 {
		delete(cc.byVolume, name)
	} else {
		cc.byVolume[name] = rest
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
	for _, key := range c.claims.byVolume[name] {
		c.stirClaim(key)
	}
}

// touchClaim marks whatever reads a claim that has changed: itself and the volumes that point at it.
func (c *Controller) touchClaim(key string) {
	c.stirClaim(key)
	for _, pv := range c.volumes.VolumesFor(key) {
		c.stirVolume(pv.Name)
	}
}
