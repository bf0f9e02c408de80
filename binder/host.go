package binder

import (
	corev1 "k8s.io/api/core/v1"

	"github.com/volsim/volsim/api"
	"github.com/volsim/volsim/internal/core/engine"
)

// What the reclaiming half asks of the controller, besides SetVolumePhase, SetVolumePhaseWithEvent, Unbind and PodsUsing.

// OwnClaim is the claim of that key in the controller's own cache (BIND-020).
func (c *Controller) OwnClaim(key string) (*corev1.PersistentVolumeClaim, bool) {
	return c.claims.get(key)
}

// KeepVolume puts a version of a volume into the controller's own cache, unless a newer one is there (BIND-021).
func (c *Controller) KeepVolume(pv *corev1.PersistentVolume) {
	// An unparsable version cannot come from a store.
	_ = c.keepVolume(pv)
}

// Operations are the controller's background operations (BIND-090).
func (c *Controller) Operations() *engine.NestedOperations { return c.ops }

// Event emits an Event in the controller's name.
func (c *Controller) Event(p *engine.Proc, obj api.Object, eventType, reason, text string, args ...any) {
	c.events.Event(p, obj, eventType, reason, text, args...)
}
