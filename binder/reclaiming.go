package binder

import (
	corev1 "k8s.io/api/core/v1"

	"github.com/volsim/volsim/api"
	"github.com/volsim/volsim/internal/core/engine"
	"github.com/volsim/volsim/internal/core/klog"
)

// The rest of pvcontroller.Host, which the reclaiming half uses: SetVolumePhase, SetVolumePhaseWithEvent and Unbind are in bind.go,
// PodsUsing in pods.go.

// OwnClaim returns the claim of that key in the controller's own cache (BIND-020).
func (c *controller) OwnClaim(key string) (*corev1.PersistentVolumeClaim, bool) {
	if entry := c.own.Claim(key); entry != nil {
		return entry.Claim, true
	}
	return nil, false
}

// CacheVolume puts a version of a volume into the controller's own cache, unless a newer one is there (BIND-021).
func (c *controller) CacheVolume(pv *corev1.PersistentVolume) {
	// A version from a store is always a number.
	_ = c.cacheVolume(pv)
}

// Operations returns the controller's background operations (BIND-090).
func (c *controller) Operations() *engine.NestedOperations { return c.ops }

// Loggers returns the loggers of pv_controller.go and pv_controller_base.go.
func (c *controller) Loggers() (log, base *klog.Logger) { return c.log, c.base }

// Event emits an Event of the controller.
func (c *controller) Event(p *engine.Process, obj api.Object, eventType, reason, text string, args ...any) {
	c.events.Event(p, obj, eventType, reason, text, args...)
}
