package schedule

import (
	"fmt"

	"github.com/volsim/volsim/api"
	"github.com/volsim/volsim/internal/core/engine"
)

// assumeCache has the objects as the scheduler will write them, until its informer delivers a new version (SCHED-132). An assumed version
// counts only while the version that it was made from is the newest one in the informer.
type assumeCache[T api.Object] struct {
	informer engine.Informer[T]
	assumed  map[string]T
}

// get returns the assumed version of the object, or else the informer's.
func (c *assumeCache[T]) get(key string) (T, bool) {
	obj, ok := c.informer.Get(key)
	if !ok {
		return obj, false
	}
	// SCHED-134: any other version in the informer ends the assumption.
	if assumed, is := c.assumed[key]; is && assumed.GetResourceVersion() == obj.GetResourceVersion() {
		return assumed, true
	}
	return obj, true
}

// assume makes get return obj until the object changes (SCHED-133).
func (c *assumeCache[T]) assume(obj T) error {
	key := api.KeyOf(obj)
	stored, ok := c.informer.Get(key)
	if !ok {
		return fmt.Errorf("%q is not there any more", key)
	}
	// SCHED-133: the decision was made on a version that is no longer the newest.
	if stored.GetResourceVersion() != obj.GetResourceVersion() {
		return fmt.Errorf("%q is out of sync (stored: %s, assume: %s)", key, stored.GetResourceVersion(), obj.GetResourceVersion())
	}
	if c.assumed == nil {
		c.assumed = map[string]T{}
	}
	c.assumed[key] = obj
	return nil
}

// restore removes an assumption, if it still counts (SCHED-135).
func (c *assumeCache[T]) restore(obj T) {
	key := api.KeyOf(obj)
	// SCHED-135: another pod may have assumed a newer version since.
	if assumed, is := c.assumed[key]; is && assumed.GetResourceVersion() == obj.GetResourceVersion() {
		delete(c.assumed, key)
	}
}

// delivered handles a version of the object that the informer delivered (SCHED-134).
func (c *assumeCache[T]) delivered(obj T) {
	if len(c.assumed) == 0 {
		return
	}
	key := api.KeyOf(obj)
	// SCHED-134: the assumption was made from an older version.
	if assumed, is := c.assumed[key]; is && assumed.GetResourceVersion() != obj.GetResourceVersion() {
		delete(c.assumed, key)
	}
}

// deleted handles the deletion of the object (SCHED-134).
func (c *assumeCache[T]) deleted(obj T) {
	if len(c.assumed) > 0 {
		delete(c.assumed, api.KeyOf(obj))
	}
}
