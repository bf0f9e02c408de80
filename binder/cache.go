package binder

import (
	"fmt"
	"slices"
	"strconv"

	corev1 "k8s.io/api/core/v1"

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

// keepVolume stores a version of a volume in own. It reports whether the version was not older than what is there.
func (c *Controller) keepVolume(pv *corev1.PersistentVolume) (fresh bool, err error) {
	if old, known := c.volumes.Get(pv.Name); known {
		if old == pv {
			return true, nil
		}
		fresh, err := notOlder(pv, old)
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
	key := store.KeyOf(claim)
	old, known := c.claims.get(key)
	if known {
		if old == claim {
			return true, nil
		}
		fresh, err := notOlder(claim, old)
		if err != nil || !fresh {
			return false, err
		}
	}
	c.claims.put(claim)
	c.touchClaim(key)
	return true, nil
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
