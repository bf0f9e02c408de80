package binder

import (
	"fmt"
	"strconv"

	corev1 "k8s.io/api/core/v1"

	"github.com/volsim/volsim/api"
	"github.com/volsim/volsim/internal/core/klog"
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
	if entry.PV == pv {
		c.logStored(lineUpdated, aVolume, pv.Name, pv)
		return entry, true, nil
	}
	// BIND-111: a volume that was deleted in the meantime is added again.
	what := lineAdded
	if entry.PV != nil {
		fresh, err := notOlder(pv, entry.PV)
		if err != nil || !fresh {
			c.logStored(lineIgnored, aVolume, pv.Name, pv)
			return entry, false, err
		}
		what = lineUpdated
	}
	c.logStored(what, aVolume, pv.Name, pv)
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
	what := lineAdded
	if entry != nil {
		if entry.Claim == claim {
			c.logStored(lineUpdated, aClaim, key, claim)
			return entry, true, nil
		}
		fresh, err := notOlder(claim, entry.Claim)
		if err != nil || !fresh {
			c.logStored(lineIgnored, aClaim, key, claim)
			return entry, false, err
		}
		what = lineUpdated
	}
	c.logStored(what, aClaim, key, claim)
	entry = c.own.PutClaim(key, claim)
	c.markClaim(entry)
	c.markPointing(entry)
	return entry, true, nil
}

// The lines about the own cache.
const (
	lineAdded   = "storeObjectUpdate, adding obj"
	lineUpdated = "storeObjectUpdate updating obj with version"
	lineIgnored = "storeObjectUpdate: ignoring obj"
)

// logStored logs that a version was put into the own cache, or is too old for it. kind is aVolume or aClaim.
func (c *controller) logStored(text, kind, key string, obj api.Object) {
	if !c.base.Enabled(4) {
		return
	}
	c.base.Info(4, text, klog.String("storageClassName", kind), klog.String("objName", key),
		klog.String("resourceVersion", obj.GetResourceVersion()))
}

// notOlder compares the versions of two states of an object (BIND-021).
func notOlder(incoming, cached api.Object) (bool, error) {
	// BIND-021: as integers; the same version again passes, because a resync brings it.
	if incoming.GetResourceVersion() == cached.GetResourceVersion() {
		_, err := version(incoming)
		return err == nil, err
	}
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
