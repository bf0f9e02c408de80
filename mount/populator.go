package mount

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/volsim/volsim/internal/core/engine"
	"github.com/volsim/volsim/mount/internal/volumes"
)

// populatePass is a pass of the populator, the only writer of the desired state (MNT-013).
func (k *kubelet) populatePass(p *engine.Proc) {
	ready := k.sourcesReady
	k.populate(p)
	if ready && !k.hasAddedPods {
		// MNT-063: a pass that began with all pods known has put all of them in.
		k.hasAddedPods = true
		// MNT-002: and at once another one, by the other rule.
		k.populate(p)
		k.reconciler.Arm()
	}
	k.watchInUse()
}

func (k *kubelet) populate(p *engine.Proc) {
	// MNT-060: whatever the phase.
	for _, uid := range sorted(k.pods) {
		pod, ok := k.pods[uid]
		if !ok || k.skips(uid) {
			continue
		}
		// MNT-064: done is done.
		if k.processed[uid] {
			continue
		}
		k.processPod(p, pod)
	}
	k.removePods()
}

// skips reports whether a pod's volumes are no longer added.
func (k *kubelet) skips(uid types.UID) bool {
	if !k.hasAddedPods {
		// MNT-061, MNT-460: a terminating pod may have containers, so its volumes must not be torn down.
		return k.runtimeRemoved(uid)
	}
	// MNT-062: later on, whoever begins to end gets nothing more.
	w, known := k.workers[uid]
	return !known || w.ending
}

// runtimeRemoved reports whether no container of the pod runs or ever will.
func (k *kubelet) runtimeRemoved(uid types.UID) bool {
	w, known := k.workers[uid]
	return !known || w.runtimeGone
}

// processPod puts the volumes of a pod into the desired state.
func (k *kubelet) processPod(p *engine.Proc, pod *corev1.Pod) {
	mounts, devices := volumes.UsedBy(pod)
	failed := false
	for i := range pod.Spec.Volumes {
		volume := &pod.Spec.Volumes[i]
		// MNT-065, MNT-931
		if !mounts[volume.Name] && !devices[volume.Name] {
			continue
		}
		// MNT-066: in the order of the spec; what fails is noted, and the others go on.
		r, err := k.resolve(p, pod, volume, mounts, devices)
		if err != nil {
			k.desired.AddPodError(pod.UID, err.Error())
			k.changed(pod.UID)
			failed = true
			continue
		}
		k.want(p, pod, r)
	}
	_, seen := k.processed[pod.UID]
	switch {
	case !failed:
		// MNT-067
		k.processed[pod.UID] = true
		k.markRemounts(pod.UID)
		k.desired.ClearPodErrors(pod.UID)
	case seen:
		// MNT-068: the worker will ask again, also one whose pod has all it needs: what is desired for it may be out of date.
		k.processed[pod.UID] = true
		if w, known := k.workers[pod.UID]; known {
			w.outdated()
		}
	default:
		// MNT-068: nobody asked yet, so the next pass tries again.
		k.populator.Rest()
	}
	k.changed(pod.UID)
	k.reconciler.Arm()
}

// want adds one volume, and what is known of its size.
func (k *kubelet) want(p *engine.Proc, pod *corev1.Pod, r resolved) {
	object := k.driver(r.spec.Plugin.Driver)
	id := volumes.Identify(r.spec, pod.UID, object)
	if k.desired.AddPodVolume(id, pod, r.spec) {
		p.Decide("MNT-066", pod, "wants volume %s as %s", id.Name, r.spec.PodName)
	}
	// MNT-066: a pass of the reconciler or a round of the status may come before the next volume of the pod has been read.
	k.reconciler.Arm()
	k.watchInUse()
	// MNT-074: sizes matter only where the file system may be written to.
	if r.claim == nil || r.spec.MountsReadOnly() {
		return
	}
	v, _ := k.desired.Volume(id.Name)
	v.Size = r.spec.Capacity()
	if av, ok := k.actual.Volume(id.Name); ok && av.Size == 0 {
		av.Size = claimSize(r.claim)
	}
}

// markRemounts has volumes of the pod set up again whose plugin wants that at each sync (MNT-067, MNT-070).
func (k *kubelet) markRemounts(uid types.UID) {
	for _, v := range k.actual.Volumes() {
		if ap, ok := v.Pods.Get(uid); ok && volumes.RequiresRemount(ap.Spec, k.driver(ap.Spec.Plugin.Driver)) {
			ap.NeedsRemount = true
		}
	}
}

// removePods takes out what is desired no longer (MNT-080 to MNT-085).
func (k *kubelet) removePods() {
	for _, pr := range k.desired.PodVolumes() {
		uid := pr.Pod.Pod.UID
		_, managed := k.pods[uid]
		switch {
		case managed && pr.Volume.Attachable && !k.stillAttachable(pr.Pod.Spec):
			// MNT-080, MNT-930: under the same name.
			pr.Volume.Attachable = false
			k.reconciler.Arm()
			// Whether the pair is desired any longer is for the next pass to see.
			k.populator.Next()
			continue
		case !k.runtimeRemoved(uid):
			// MNT-081: containers may still use it, whatever became of the pod.
			continue
		case managed && !k.actual.MayBeMounted(pr.Volume.Name, uid):
			// MNT-082, MNT-901: there is nothing to unmount.
			continue
		}
		// MNT-083
		k.desired.RemovePodVolume(pr.Volume.Name, uid)
		delete(k.processed, uid)
		k.changed(uid)
		k.reconciler.Arm()
	}
	k.forgetPods()
}

// forgetPods drops what is remembered of pods that are gone.
func (k *kubelet) forgetPods() {
	if len(k.processed) > 0 {
		wanted := map[types.UID]bool{}
		for _, pr := range k.desired.PodVolumes() {
			wanted[pr.Pod.Pod.UID] = true
		}
		for _, uid := range sorted(k.processed) {
			// MNT-084
			if _, managed := k.pods[uid]; !managed && !wanted[uid] && k.runtimeRemoved(uid) {
				delete(k.processed, uid)
			}
		}
	}
	for _, uid := range k.desired.PodsWithErrors() {
		// MNT-085
		if _, managed := k.pods[uid]; !managed {
			k.desired.ClearPodErrors(uid)
		}
	}
}

// stillAttachable asks the plugin again whether the volume is attached before it is used.
func (k *kubelet) stillAttachable(spec *volumes.Spec) bool {
	return spec.Plugin.Attachable(spec.VolumeSpec, k.driver(spec.Plugin.Driver))
}

// mustAttach reports whether a volume has to be attached before an operation goes on with it: the plugin is asked anew, whatever it said when the
// volume came to be wanted (MNT-041). What is adopted is as it was left.
func (k *kubelet) mustAttach(v volumes.DesiredVolume, spec *volumes.Spec) bool {
	if k.adopting {
		return v.Attachable
	}
	// MNT-195, MNT-222
	return k.stillAttachable(spec)
}

// reprocess has the populator look at a pod again (MNT-069).
func (k *kubelet) reprocess(uid types.UID) {
	// MNT-069: so what is desired is refreshed once for each sync of the pod.
	k.processed[uid] = false
	k.populator.Arm()
}

// changed tells the pod's worker that something about its volumes is new.
func (k *kubelet) changed(uid types.UID) {
	if w, ok := k.workers[uid]; ok {
		w.signal.Broadcast()
		if w.failedSync {
			w.stir(true)
		}
		// MNT-082: what a terminated pod got after all must go again.
		if w.runtimeGone {
			k.populator.Next()
		}
	}
}
