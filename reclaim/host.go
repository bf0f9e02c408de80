package reclaim

import (
	corev1 "k8s.io/api/core/v1"

	"github.com/volsim/volsim/api"
	"github.com/volsim/volsim/internal/core/engine"
)

// Host is the PersistentVolume controller, of which reclaiming is a part: it has the caches, the writers of phases and the
// background operations. Package binder implements it; the two meet in the root.
type Host interface {
	// OwnClaim is the claim of that key in the controller's own cache (BIND-020).
	OwnClaim(key string) (*corev1.PersistentVolumeClaim, bool)
	// KeepVolume puts a version of a volume into the controller's own cache (BIND-021, BIND-023).
	KeepVolume(pv *corev1.PersistentVolume)
	// PodsUsing lists the pods, as the informer has them, that refer to the claim of that key and are not terminated (RECL-066), by name.
	PodsUsing(claimKey string) []*corev1.Pod
	// SetVolumePhase is BIND-078.
	SetVolumePhase(p *engine.Proc, pv *corev1.PersistentVolume, phase corev1.PersistentVolumePhase, message string) (*corev1.PersistentVolume, error)
	// SetVolumePhaseWithEvent is BIND-079; message is that of the phase and of the Event.
	SetVolumePhaseWithEvent(p *engine.Proc, pv *corev1.PersistentVolume, phase corev1.PersistentVolumePhase, eventType, reason, message string) (*corev1.PersistentVolume, error)
	// Unbind is BIND-072.
	Unbind(p *engine.Proc, pv *corev1.PersistentVolume) error
	// Operations are those of BIND-090.
	Operations() *engine.NestedOperations
	// Event emits an Event of the controller.
	Event(p *engine.Proc, obj api.Object, eventType, reason, text string, args ...any)
}
