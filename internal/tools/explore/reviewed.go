package explore

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/volsim/volsim/api"
	"github.com/volsim/volsim/internal/core/actors"
	coreobjects "github.com/volsim/volsim/internal/core/objects"
)

// independent names the independent actors, see Run.Independent. Their code was reviewed for it.
var independent = []string{
	actors.PersistentVolume, actors.PVProtection, actors.PVCProtection, actors.Ephemeral, actors.Expander, actors.VACProtection,
}

// idleActors are the actors that are idle until an object wakes them, see Run.Idle. Their code was reviewed for it.
var idleActors = map[string]func(api.Object) bool{
	// They queue only objects whose finalizer is misplaced, and the claims of pods.
	actors.PVProtection: func(obj api.Object) bool {
		return api.KindOf(obj) == api.PersistentVolume && coreobjects.FinalizerMisplaced(obj, coreobjects.VolumeProtectionFinalizer)
	},
	actors.PVCProtection: func(obj api.Object) bool {
		kind := api.KindOf(obj)
		return kind == api.Pod || kind == api.PersistentVolumeClaim && coreobjects.FinalizerMisplaced(obj, coreobjects.ClaimProtectionFinalizer)
	},
	// It queues only pods with an ephemeral volume.
	actors.Ephemeral: func(obj api.Object) bool {
		pod, ok := obj.(*corev1.Pod)
		return ok && slices.ContainsFunc(pod.Spec.Volumes, func(v corev1.Volume) bool { return v.Ephemeral != nil })
	},
	// It queues only classes.
	actors.VACProtection: func(obj api.Object) bool { return api.KindOf(obj) == api.VolumeAttributesClass },
	// Its graph has only objects that refer to owners, and those whose deletion in the foreground or with orphans begins.
	actors.GarbageCollector: func(obj api.Object) bool {
		return len(obj.GetOwnerReferences()) > 0 || slices.ContainsFunc(obj.GetFinalizers(), func(finalizer string) bool {
			return finalizer == metav1.FinalizerDeleteDependents || finalizer == metav1.FinalizerOrphanDependents
		})
	},
	// Without nodes and pods no volume is desired, and none is attached. What it does then is to look for pods.
	actors.AttachDetach: func(obj api.Object) bool {
		kind := api.KindOf(obj)
		return kind == api.Node || kind == api.Pod || kind == api.VolumeAttachment
	},
	// They act on pods only.
	actors.PodGC:     isPod,
	actors.Scheduler: isPod,
}

func isPod(obj api.Object) bool { return api.KindOf(obj) == api.Pod }

// dependentActor returns the actor that an object makes dependent, "" if none: to recycle a volume, the PersistentVolume controller watches
// a pod without an informer.
func dependentActor(obj api.Object) string {
	if pv, ok := obj.(*corev1.PersistentVolume); ok && pv.Spec.PersistentVolumeReclaimPolicy == corev1.PersistentVolumeReclaimRecycle {
		return actors.PersistentVolume
	}
	return ""
}
