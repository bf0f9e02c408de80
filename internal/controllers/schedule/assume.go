package schedule

import (
	"fmt"

	"github.com/volsim/volsim/api"
)

// assumeCache holds versions of objects that the scheduler has decided on and not yet seen come back (SCHED-132). A version counts
// only as long as the object it was made from is the newest that the informer knows.
type assumeCache[T api.Object] struct {
	informed func(key string) (T, bool)
	assumed  map[string]T
}

func newAssumeCache[T api.Object](informed func(key string) (T, bool)) *assumeCache[T] {
	return &assumeCache[T]{informed: informed, assumed: map[string]T{}}
}

// get is the assumed version of the object, or else the informer's.
func (c *assumeCache[T]) get(key string) (T, bool) {
	obj, ok := c.informed(key)
	if !ok {
		return obj, false
	}
	// SCHED-134: it is over as soon as the informer has another version, whichever.
	if assumed, is := c.assumed[key]; is && assumed.GetResourceVersion() == obj.GetResourceVersion() {
		return assumed, true
	}
	return obj, true
}

// assume has get return obj until something happens to the object (SCHED-133).
func (c *assumeCache[T]) assume(obj T) error {
	key := api.KeyOf(obj)
	stored, ok := c.informed(key)
	if !ok {
		return fmt.Errorf("%q is not there any more", key)
	}
	// SCHED-133: the decision was made on a version that is no longer the newest.
	if stored.GetResourceVersion() != obj.GetResourceVersion() {
		return fmt.Errorf("%q is out of sync (stored: %s, assume: %s)", key, stored.GetResourceVersion(), obj.GetResourceVersion())
	}
	c.assumed[key] = obj
	return nil
}

// restore takes an assumption back, if it is still in place (SCHED-135).
func (c *assumeCache[T]) restore(obj T) {
	key := api.KeyOf(obj)
	// SCHED-135: another pod may have made one since, on a newer version.
	if assumed, is := c.assumed[key]; is && assumed.GetResourceVersion() == obj.GetResourceVersion() {
		delete(c.assumed, key)
	}
}

// seen notes that the informer delivered a version of the object (SCHED-134).
func (c *assumeCache[T]) seen(obj T) {
	if len(c.assumed) == 0 {
		return
	}
	key := api.KeyOf(obj)
	// SCHED-134
	if assumed, is := c.assumed[key]; is && assumed.GetResourceVersion() != obj.GetResourceVersion() {
		delete(c.assumed, key)
	}
}

// gone notes that the object was deleted (SCHED-134).
func (c *assumeCache[T]) gone(obj T) { delete(c.assumed, api.KeyOf(obj)) }
