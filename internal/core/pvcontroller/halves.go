// Package pvcontroller declares the interfaces between the two halves of the PersistentVolume controller: package binder binds volumes
// and claims, package reclaim applies reclaim policies. Neither imports the other.
package pvcontroller

import (
	corev1 "k8s.io/api/core/v1"

	"github.com/volsim/volsim/api"
	"github.com/volsim/volsim/internal/core/engine"
	"github.com/volsim/volsim/internal/core/klog"
)

// Reclaimer handles volumes whose claim is gone. Package reclaim implements it; package binder decides when to call it.
type Reclaimer interface {
	// Finalizers returns the finalizers that a volume should have, and whether that is a change (RECL-040).
	Finalizers(pv *corev1.PersistentVolume) (finalizers []string, changed bool)
	// Reclaim applies the policy of a released volume (RECL-001). After an error the volume is synced again.
	Reclaim(p *engine.Process, pv *corev1.PersistentVolume) error
}

// Host gives a Reclaimer the caches, the writers of phases and the background operations of the controller. Package binder implements it.
type Host interface {
	// OwnClaim returns the claim of that key in the controller's own cache (BIND-020).
	OwnClaim(key string) (*corev1.PersistentVolumeClaim, bool)
	// CacheVolume puts a version of a volume into the controller's own cache, unless a newer one is there (BIND-021, BIND-023).
	CacheVolume(pv *corev1.PersistentVolume)
	// PodsUsing lists the pods, as the informer has them, that refer to the claim of that key and are not terminated (RECL-066), by name.
	PodsUsing(claimKey string) []*corev1.Pod
	// SetVolumePhase writes the phase and message of a volume, unless it has that phase (BIND-078).
	SetVolumePhase(p *engine.Process, pv *corev1.PersistentVolume, phase corev1.PersistentVolumePhase, message string) (
		*corev1.PersistentVolume, error)
	// SetVolumePhaseWithEvent is SetVolumePhase; after a write it also emits an Event with the message (BIND-079).
	SetVolumePhaseWithEvent(p *engine.Process, pv *corev1.PersistentVolume, phase corev1.PersistentVolumePhase,
		eventType, reason, message string) (*corev1.PersistentVolume, error)
	// Unbind removes the pointer of a volume to its claim (BIND-072).
	Unbind(p *engine.Process, pv *corev1.PersistentVolume) error
	// Operations returns the controller's background operations (BIND-090).
	Operations() *engine.NestedOperations
	// Event emits an Event of the controller.
	Event(p *engine.Process, obj api.Object, eventType, reason, text string, args ...any)
	// Loggers returns the loggers of pv_controller.go and pv_controller_base.go.
	Loggers() (log, base *klog.Logger)
}
