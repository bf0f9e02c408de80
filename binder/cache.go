package binder

import (
	"fmt"
	"strconv"

	corev1 "k8s.io/api/core/v1"

	"github.com/volsim/volsim/api"
)

// forget empties the controller's own caches.
func (c *Controller) forget() {
	c.volumes = NewIndex()
	c.claims = claimCache{c.volumes}
}

// claimCache holds the controller's own claims, in the places that the index of volumes has for them.
type claimCache struct{ index *Index }

// find is what the cache has under the key, nil if that is nothing.
func (cc claimCache) find(key string) *ownClaim {
	if own := cc.index.claim(key); own != nil && own.claim != nil {
		return own
	}
	return nil
}

func (cc claimCache) get(key string) (*corev1.PersistentVolumeClaim, bool) {
	if own := cc.find(key); own != nil {
		return own.claim, true
	}
	return nil, false
}

// named is get without a key.
func (cc claimCache) named(namespace, name string) (*corev1.PersistentVolumeClaim, bool) {
	if own := cc.index.named(namespace, name); own != nil && own.claim != nil {
		return own.claim, true
	}
	return nil, false
}

// put keeps the claim under its key.
func (cc claimCache) put(key string, claim *corev1.PersistentVolumeClaim) *ownClaim {
	own := cc.index.claimFor(key)
	own.claim = claim
	cc.index.name(own, claim.Spec.VolumeName)
	return own
}

func (cc claimCache) delete(key string) {
	if own := cc.find(key); own != nil {
		cc.index.name(own, "")
		own.claim, own.restless = nil, false
		cc.index.dropClaim(own)
	}
}

// keepVolume stores a version of a volume in own, unless a newer one is there.
func (c *Controller) keepVolume(pv *corev1.PersistentVolume) error {
	_, _, err := c.newVolume(pv)
	return err
}

// newVolume is keepVolume; it reports whether the version was not older than what is there.
func (c *Controller) newVolume(pv *corev1.PersistentVolume) (own *entry, fresh bool, err error) {
	own = c.volumes.entryFor(pv.Name)
	if own.pv != nil {
		if own.pv == pv {
			return own, true, nil
		}
		fresh, err := notOlder(pv, own.pv)
		if err != nil || !fresh {
			return own, false, err
		}
	}
	c.volumes.put(own, pv)
	c.touchVolume(own)
	return own, true, nil
}

// keepClaim does for a claim what keepVolume does for a volume.
func (c *Controller) keepClaim(claim *corev1.PersistentVolumeClaim) error {
	_, _, err := c.newClaim(c.store.Claims.KeyOf(claim), claim)
	return err
}

// newClaim does for a claim of that key what newVolume does for a volume.
func (c *Controller) newClaim(key string, claim *corev1.PersistentVolumeClaim) (own *ownClaim, fresh bool, err error) {
	own = c.claims.find(key)
	if own != nil {
		if own.claim == claim {
			return own, true, nil
		}
		fresh, err := notOlder(claim, own.claim)
		if err != nil || !fresh {
			return own, false, err
		}
	}
	own = c.claims.put(key, claim)
	c.stirClaim(own)
	c.touchPointing(own.pointing)
	return own, true, nil
}

// notOlder compares the versions of two states of an object (BIND-021).
func notOlder(incoming, cached api.Object) (bool, error) {
	// BIND-021: as integers; the same version again passes, or a resync would do nothing.
	in, err := version(incoming)
	if err != nil {
		return false, err
	}
	have, err := version(cached)
	if err != nil {
		return false, err
	}
	return in >= have, nil
}

func version(obj api.Object) (uint64, error) {
	v, err := strconv.ParseUint(obj.GetResourceVersion(), 10, 64)
	if err != nil {
		return 0, fmt.Errorf("%s has the resourceVersion %q, which is no number", api.RefTo(obj), obj.GetResourceVersion())
	}
	return v, nil
}
