package reclaim

import (
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/volsim/volsim/api"
	"github.com/volsim/volsim/internal/core/backends"
	"github.com/volsim/volsim/internal/core/engine"
	"github.com/volsim/volsim/internal/core/klog"
	"github.com/volsim/volsim/storage"
)

// recycleVolume is the operation that scrubs a released volume and makes it available again (RECL-060 to RECL-069). captured is
// the volume as it was when the operation was started.
func (r *reclaimer) recycleVolume(p *engine.Process, captured *corev1.PersistentVolume) error {
	// RECL-060: the operation never fails, so there is no backoff; the next sync of the volume retries.
	r.recycle(p, captured)
	return nil
}

func (r *reclaimer) recycle(p *engine.Process, captured *corev1.PersistentVolume) {
	r.log.Info(4, "RecycleVolumeOperation started", volumeName(captured))
	// RECL-061, RECL-069: from here on the stored version counts.
	pv, err := p.API().Volumes.Get(p, captured.Name)
	if err != nil {
		p.Decide("RECL-061", captured, "the volume cannot be read")
		r.log.Info(3, "Error reading persistent volume", volumeName(captured), failureOf(err))
		return
	}
	if !r.released(pv) {
		p.Decide("RECL-061", pv, "the volume is not released any more")
		r.log.Info(3, "Volume no longer needs recycling, skipping", volumeName(pv))
		return
	}
	// RECL-062: pods that use the old claim may still write to the volume.
	claimKey := api.Key(pv.Spec.ClaimRef.Namespace, pv.Spec.ClaimRef.Name)
	users := podKeys(r.host.PodsUsing(claimKey))
	// RECL-068: a claim with that name is another one, and the pods use that.
	_, claimed := r.host.OwnClaim(claimKey)
	if len(users) > 0 && !claimed {
		// RECL-063: the Event has type Normal, in spite of its reason.
		p.Decide("RECL-063", pv, "pods use the volume: %s", strings.Join(users, ", "))
		text := "Volume is used by pods: " + strings.Join(users, ",")
		r.log.Info(3, "Can't recycle volume", volumeName(pv), klog.String("msg", text))
		r.host.Event(p, pv, corev1.EventTypeNormal, reasonVolumeFailedRecycle, text)
		return
	}
	plugin, err := r.backends.RecyclableBySource(&pv.Spec.PersistentVolumeSource)
	if err != nil {
		// RECL-064: the message does not depend on the error.
		r.recycleFailed(p, "RECL-064", pv, "No recycler plugin found for the volume!")
		return
	}
	p.Decide("RECL-065", pv, "plugin %s recycles the volume", plugin.Name())
	if err := r.scrub(p, plugin, pv); err != nil {
		// RECL-065: the message of the first failure stays.
		r.recycleFailed(p, "RECL-065", pv, fmt.Sprintf("Recycle failed: %v", err))
		return
	}
	// RECL-067: the volume becomes Available; one that a user reserved stays reserved for the claim's name.
	r.log.Info(2, "Volume recycled", volumeName(pv))
	r.host.Event(p, pv, corev1.EventTypeNormal, reasonVolumeRecycled, "Volume recycled")
	if err := r.host.Unbind(p, pv); err != nil {
		p.Decide("RECL-067", pv, "the volume could not be unbound: %v", err)
		r.log.Info(3, "RecycleVolumeOperation: failed to make recycled volume 'Available', we will recycle the volume again", volumeName(pv),
			failureOf(err))
	}
}

// podKeys lists the keys of the pods in order.
func podKeys(pods []*corev1.Pod) []string {
	var keys []string
	for _, pod := range pods {
		keys = append(keys, api.KeyOf(pod))
	}
	slices.Sort(keys)
	return keys
}

// scrub recycles the volume with the plugin, which does it by itself or with a pod.
func (r *reclaimer) scrub(p *engine.Process, plugin storage.Backend, pv *corev1.PersistentVolume) error {
	if backends.RecyclesByPod(plugin) {
		return r.scrubByPod(p, pv)
	}
	return scrubDirectly(p, plugin, backends.Handle(pv), &pv.Spec.PersistentVolumeSource)
}

func scrubDirectly(p *engine.Process, plugin storage.Backend, id string, source *corev1.PersistentVolumeSource) error {
	recycler, ok := plugin.(backends.Recycler)
	if !ok {
		return fmt.Errorf("plugin %s cannot recycle", plugin.Name())
	}
	return callBackend(p, plugin, storage.Recycle, id, func() error {
		return recycler.Recycle(id, source)
	})
}

// recycleFailed sets the volume to Failed, on the version that this run has read (RECL-069). A failure of that write is ignored (RECL-060).
func (r *reclaimer) recycleFailed(p *engine.Process, rule string, pv *corev1.PersistentVolume, message string) {
	p.Decide(rule, pv, "%s", message)
	_, err := r.host.SetVolumePhaseWithEvent(p, pv, corev1.VolumeFailed, corev1.EventTypeWarning, reasonVolumeFailedRecycle, message)
	if err != nil {
		p.Decide(rule, pv, "the volume could not be marked: %v", err)
		r.log.Info(4, "RecycleVolumeOperation: failed to mark volume as failed", volumeName(pv), failureOf(err))
	}
}
