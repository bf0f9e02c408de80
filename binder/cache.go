package binder

import (
	"fmt"
	"strconv"

	corev1 "k8s.io/api/core/v1"

	"github.com/volsim/volsim/store"
)

// claimCache holds the controller's own claims by key, and finds those that name a volume.
type claimCache struct {
	byKey    map[string]*ownClaim
	byVolume map[string]*ownClaim // the first of those that name the volume
	last     *ownClaim            // that was asked for
}

// ownClaim is a claim in the cache.
type ownClaim struct {
	claim *corev1.PersistentVolumeClaim
	key   string
	next  *ownClaim // that names the same volume
	unrest
}

func newClaimCache() claimCache {
	return claimCache{byKey: map[string]*ownClaim{}, byVolume: map[string]*ownClaim{}}
}

func (cc *claimCache) get(key string) (*corev1.PersistentVolumeClaim, bool) {
	if own := cc.find(key); own != nil {
		return own.claim, true
	}
	return nil, false
}

// named is get without a key.
func (cc *claimCache) named(namespace, name string) (*corev1.PersistentVolumeClaim, bool) {
	if cc.last != nil && cc.last.claim.Name == name && cc.last.claim.Namespace == namespace {
		return cc.last.claim, true
	}
	var buf [128]byte
	key := append(append(append(buf[:0], namespace...), '/'), name...)
	own := cc.byKey[string(key)]
	if own == nil {
		return nil, false
	}
	cc.last = own
	return own.claim, true
}

// find is what the cache has under the key, nil if that is nothing. One claim is often asked for several times in a row.
func (cc *claimCache) find(key string) *ownClaim {
	if cc.last != nil && cc.last.key == key {
		return cc.last
	}
	own := cc.byKey[key]
	if own != nil {
		cc.last = own
	}
	return own
}

// put keeps the claim under its key.
func (cc *claimCache) put(key string, claim *corev1.PersistentVolumeClaim) {
	cc.keep(cc.find(key), key, claim)
}

// keep is put for a claim of which it is known what the cache has under the key: nil if that is nothing.
func (cc *claimCache) keep(own *ownClaim, key string, claim *corev1.PersistentVolumeClaim) *ownClaim {
	switch {
	case own == nil:
		own = &ownClaim{key: key}
		cc.byKey[key] = own
		cc.last = own
	case own.claim.Spec.VolumeName == claim.Spec.VolumeName:
		own.claim = claim
		return own
	default:
		cc.unname(own)
	}
	own.claim = claim
	if name := claim.Spec.VolumeName; name != "" {
		own.next = cc.byVolume[name]
		cc.byVolume[name] = own
	}
	return own
}

func (cc *claimCache) delete(key string) {
	if own := cc.byKey[key]; own != nil {
		own.restless = false
		cc.unname(own)
		delete(cc.byKey, key)
		cc.last = nil
	}
}

// unname forgets that a claim names its volume.
func (cc *claimCache) unname(own *ownClaim) {
	name := own.claim.Spec.VolumeName
	if name == "" {
		return
	}
	next := own.next
	own.next = nil
	if first := cc.byVolume[name]; first != own {
		for first.next != own {
			first = first.next
		}
		first.next = next
		return
	}
	if next == nil {
		delete(cc.byVolume, name)
	} else {
		cc.byVolume[name] = next
	}
}

// keepVolume stores a version of a volume in own. It reports whether the version was not older than what is there.
func (c *Controller) keepVolume(pv *corev1.PersistentVolume) (fresh bool, err error) {
	own := c.volumes.find(pv.Name)
	if own != nil {
		if own.pv == pv {
			return true, nil
		}
		fresh, err := notOlder(pv, own.pv)
		if err != nil || !fresh {
			return false, err
		}
	}
	c.volumes.Put(pv)
	c.touchVolume(pv.Name)
	return true, nil
}

// keepClaim does for a claim what keepVolume does for a volume.
func (c *Controller) keepClaim(claim *corev1.PersistentVolumeClaim) (fresh bool, err error) {
	_, fresh, err = c.keepClaimAs(c.store.Claims.KeyOf(claim), claim)
	return fresh, err
}

// keepClaimAs is keepClaim for a claim of that key, and gives what the cache then has under it.
func (c *Controller) keepClaimAs(key string, claim *corev1.PersistentVolumeClaim) (own *ownClaim, fresh bool, err error) {
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
	own = c.claims.keep(own, key, claim)
	c.stirClaim(own)
	c.touchPointing(key)
	return own, true, nil
}

// notOlder compares the versions of two states of an object (BIND-021).
func notOlder(incoming, cached store.Object) (bool, error) {
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

func version(obj store.Object) (uint64, error) {
	v, err := strconv.ParseUint(obj.GetResourceVersion(), 10, 64)
	if err != nil {
		return 0, fmt.Errorf("%s has the resourceVersion %q, which is no number", store.RefTo(obj), obj.GetResourceVersion())
	}
	return v, nil
}
