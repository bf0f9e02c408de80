package workload

import (
	"fmt"
	"strconv"

	"github.com/volsim/volsim/api"
)

// Reached reports whether an informer has delivered all changes up to a version.
type Reached func(version uint64) bool

// Consistency remembers what a controller wrote for each of its keys, and reports whether its informers have delivered that (WORK-005).
type Consistency struct {
	informers map[string]Reached
	written   map[string]map[string]uint64 // by key, then by resource
}

// NewConsistency returns a Consistency for informers by the names of their resources.
func NewConsistency(informers map[string]Reached) *Consistency {
	return &Consistency{informers, map[string]map[string]uint64{}}
}

// Wrote remembers a write for a key.
func (c *Consistency) Wrote(key, resource string, obj api.Object) {
	version, err := strconv.ParseUint(obj.GetResourceVersion(), 10, 64)
	if err != nil {
		return
	}
	if c.written[key] == nil {
		c.written[key] = map[string]uint64{}
	}
	c.written[key][resource] = max(c.written[key][resource], version)
}

// Forget removes what is known about a key.
func (c *Consistency) Forget(key string) { delete(c.written, key) }

// Ready returns an error if an informer has not delivered what was written for the key (WORK-005).
func (c *Consistency) Ready(key string, resources ...string) error {
	for _, resource := range resources {
		version, ok := c.written[key][resource]
		if !ok {
			continue
		}
		// WORK-005: the key is retried with backoff until the informer has the controller's own writes.
		if reached := c.informers[resource]; reached != nil && !reached(version) {
			return fmt.Errorf("%s: the informer has not delivered version %d, which the controller wrote", resource, version)
		}
		delete(c.written[key], resource)
	}
	return nil
}
