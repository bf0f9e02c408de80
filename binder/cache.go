package binder

import (
	"fmt"
	"strconv"

	corev1 "k8s.io/api/core/v1"

	"github.com/volsim/volsim/api"
	"github.com/volsim/volsim/internal/core/match"
)

// forget empties the controller's own caches.
func (c *controller) forget() { c.own = match.NewIndex() }

// cacheVolume puts a version of a volume into the own cache, unless a newer one is there.
func (c *controller) cacheVolume(pv *corev1.PersistentVolume) error {
	_, _, err := c.storeVolume(pv)
	return err
}

// storeVolume is cacheVolume; fresh reports that the version was not older than the cached one.
func (c *controller) storeVolume(pv *corev1.PersistentVolume) (entry *match.VolumeEntry, fresh bool, err error) {
	entry = c.own.EntryFor(pv.Name)
	if entry.PV != nil {
		if entry.PV == pv {
			return entry, true, nil
		}
		fresh, err := notOlder(pv, entry.PV)
		if err != nil || !fresh {
			return entry, false, err
		}
	}
	c.own.Update(entry, pv)
	c.volumeChanged(entry)
	return entry, true, nil
}

// cacheClaim puts a version of a claim into the own cache, unless a newer one is there.
func (c *controller) cacheClaim(claim *corev1.PersistentVolumeClaim) error {
	_, _, err := c.storeClaim(c.store.Claims.KeyOf(claim), claim)
	return err
}

// storeClaim is cacheClaim for a claim of that key; fresh reports that the version was not older than the cached one.
func (c *controller) storeClaim(key string, claim *corev1.PersistentVolumeClaim) (entry *match.ClaimEntry, fresh bool, err error) {
	entry = c.own.Claim(key)
	if entry != nil {
		if entry.Claim == claim {
			return entry, true, nil
		}
		fresh, err := notOlder(claim, entry.Claim)
		if err != nil || !fresh {
			return entry, false, err
		}
	}
	entry = c.own.PutClaim(key, claim)
	c.markClaim(entry)
	c.markPointing(entry)
	return entry, true, nil
}

// notOlder compares the versions of two states of an object (BIND-021).
func notOlder(incoming, cached api.Object) (bool, error) {
	// BIND-021: as integers; the same version again passes, because a resync brings it.
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
		return 0, fmt.Errorf("read resourceVersion %q of %s: not a number", obj.GetResourceVersion(), api.RefTo(obj))
	}
	return v, nil
}
