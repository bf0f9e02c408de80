package mount

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/volsim/volsim/internal/core/engine"
	"github.com/volsim/volsim/mount/internal/volumes"
)

// populator keeps the desired state up to date with the pods of the node. It is the only writer of that state (MNT-013).
type populator struct {
	k      *kubelet
	ticker *engine.Ticker
	// processed says whether the volumes of a pod are in the desired state: true is done, false is repeated, absent is a pod that
	// was never processed (MNT-064).
	processed map[types.UID]bool
	// hasAddedPods says that all pods known at the start are in the desired state (MNT-063).
	hasAddedPods bool
}

// pass updates the desired state.
func (pp *populator) pass(p *engine.Process) {
	ready := pp.k.sourcesReady
	pp.populate(p)
	if ready && !pp.hasAddedPods {
		// MNT-063: a pass that began with all pods known has added all of them.
		pp.hasAddedPods = true
		// MNT-002: one more pass follows at once; terminating pods are now treated differently.
		pp.populate(p)
		pp.k.reconciler.ticker.Arm()
	}
	pp.k.status.reportIfChanged()
}

func (pp *populator) populate(p *engine.Process) {
	// MNT-060: pods of all phases are processed.
	if pp.hasWork() {
		for _, uid := range sorted(pp.k.pods) {
			if pod, ok := pp.k.pods[uid]; ok && pp.wantsProcessing(uid) {
				pp.processPod(p, pod)
			}
		}
	}
	pp.removePods()
}

// hasWork reports whether a pod has to be processed.
func (pp *populator) hasWork() bool {
	for uid := range pp.k.pods {
		if pp.wantsProcessing(uid) {
			return true
		}
	}
	return false
}

func (pp *populator) wantsProcessing(uid types.UID) bool {
	// MNT-064: a processed pod is not processed again.
	return !pp.processed[uid] && !pp.skips(uid)
}

// skips reports whether a pod's volumes are no longer added.
func (pp *populator) skips(uid types.UID) bool {
	if !pp.hasAddedPods {
		// MNT-061, MNT-460: a terminating pod may have containers, so its volumes must not be torn down.
		return pp.runtimeRemoved(uid)
	}
	// MNT-062: later, a pod that ends gets no more volumes.
	w, known := pp.k.workers[uid]
	return !known || !w.state.mounts() || w.refusal.refuses()
}

// runtimeRemoved reports whether no container of the pod runs or ever will run.
func (pp *populator) runtimeRemoved(uid types.UID) bool {
	w, known := pp.k.workers[uid]
	return !known || w.state.containersGone()
}

// processPod adds the volumes of a pod to the desired state.
func (pp *populator) processPod(p *engine.Process, pod *corev1.Pod) {
	failed := false
	for i := range pod.Spec.Volumes {
		volume := &pod.Spec.Volumes[i]
		// MNT-065, MNT-931: volumes that no container uses are ignored.
		use := volumes.UseOf(pod, volume.Name)
		if !use.Any() {
			continue
		}
		// MNT-066: volumes are processed in the order of the spec; an error is stored, and the next volume follows.
		r, err := pp.resolve(p, pod, volume, use)
		if err != nil {
			pp.fail(pod, err)
			failed = true
			continue
		}
		if err := pp.addVolume(p, pod, r); err != nil {
			pp.fail(pod, err)
			failed = true
		}
	}
	_, seen := pp.processed[pod.UID]
	switch {
	case !failed:
		// MNT-067: a pod without errors is processed, and its stored errors are dropped.
		pp.processed[pod.UID] = true
		pp.markRemounts(pod.UID)
		pp.k.desired.ClearPodErrors(pod.UID)
	case seen:
		// MNT-068: the worker requests the next attempt, also for a pod with all its volumes, whose desired state may be out of date.
		pp.processed[pod.UID] = true
		if w, known := pp.k.workers[pod.UID]; known {
			w.volumesStale()
		}
	default:
		// MNT-068: at the first attempt, the next pass tries again.
		pp.ticker.ArmBackground()
	}
	pp.k.podVolumesChanged(pod.UID)
	pp.k.reconciler.ticker.Arm()
}

// fail stores why a volume of the pod is not in the desired state.
func (pp *populator) fail(pod *corev1.Pod, err error) {
	pp.k.desired.AddPodError(pod.UID, err.Error())
	pp.k.podVolumesChanged(pod.UID)
}

// addVolume adds one volume to the desired state, with its size. It fails if the SELinux label of the pod rules that out.
func (pp *populator) addVolume(p *engine.Process, pod *corev1.Pod, r resolved) error {
	object := pp.k.CSIDriver(r.spec.Plugin.Driver)
	id := volumes.Identify(r.spec, pod.UID, object)
	// MNT-337, MNT-339: like a volume that cannot be resolved.
	if err := pp.k.takeLabel(id, pod, r.spec); err != nil {
		return err
	}
	if pp.k.desired.AddPodVolume(id, pod, r.spec) && p.Tracing() {
		p.Decide("MNT-066", pod, "wants volume %s as %s", id.Name, r.spec.PodName)
	}
	// MNT-066: a pass of the reconciler or a status report may run before the next volume of the pod has been read.
	pp.k.reconciler.ticker.Arm()
	pp.k.status.reportIfChanged()
	// MNT-074: sizes matter only for pods that may write.
	if r.claim == nil || r.spec.MountsReadOnly() {
		return nil
	}
	v, _ := pp.k.desired.Volume(id.Name)
	v.Size = r.spec.Capacity()
	if av, ok := pp.k.actual.Volume(id.Name); ok && av.Size == 0 {
		av.Size = claimSize(r.claim)
	}
	return nil
}

// markRemounts requests another SetUp for the pod's volumes whose plugin requires that at each sync (MNT-067, MNT-070).
func (pp *populator) markRemounts(uid types.UID) {
	for _, ap := range pp.k.actual.VolumesOf(uid) {
		if volumes.RequiresRemount(ap.Spec, pp.k.CSIDriver(ap.Spec.Plugin.Driver)) {
			ap.NeedsRemount = true
		}
	}
}

// removePods removes what is no longer desired (MNT-080 to MNT-085).
func (pp *populator) removePods() {
	for _, pr := range pp.k.desired.PodVolumes() {
		uid := pr.Pod.Pod.UID
		_, managed := pp.k.pods[uid]
		switch {
		case managed && pr.Volume.Attachable && !pp.k.operations.stillAttachable(pr.Pod.Spec):
			// MNT-080, MNT-930: the volume becomes not attachable, and keeps its name.
			pr.Volume.Attachable = false
			pp.k.reconciler.ticker.Arm()
			// The next pass decides whether the pair is still desired.
			pp.ticker.ArmNext()
			continue
		case !pp.runtimeRemoved(uid):
			// MNT-081: containers may still use it, even if the pod is gone.
			continue
		case managed && !pp.k.actual.MayBeMounted(pr.Volume.Name, uid):
			// MNT-082, MNT-901: there is nothing to unmount.
			continue
		}
		// MNT-083: otherwise the pair is removed.
		pp.k.desired.RemovePodVolume(pr.Volume.Name, uid)
		delete(pp.processed, uid)
		pp.k.podVolumesChanged(uid)
		pp.k.reconciler.ticker.Arm()
	}
	pp.forgetPods()
}

// forgetPods drops what is stored about pods that are gone.
func (pp *populator) forgetPods() {
	for uid := range pp.processed {
		// MNT-084: pods without desired volumes and without containers are forgotten.
		if _, managed := pp.k.pods[uid]; !managed && pp.runtimeRemoved(uid) && !pp.k.desired.HasPod(uid) {
			delete(pp.processed, uid)
		}
	}
	for _, uid := range pp.k.desired.PodsWithErrors() {
		// MNT-085: the errors of pods that are gone are dropped.
		if _, managed := pp.k.pods[uid]; !managed {
			pp.k.desired.ClearPodErrors(uid)
		}
	}
}

// stillAttachable asks the plugin again whether the volume must be attached before it is used.
func (op *operations) stillAttachable(spec *volumes.Spec) bool {
	return spec.Plugin.Attachable(spec.VolumeSpec, op.k.CSIDriver(spec.Plugin.Driver))
}

// mustAttach reports whether an operation needs the volume to be attached. The plugin is asked again, whatever its answer was when the
// volume became desired (MNT-041). Adopted volumes keep the first answer.
func (op *operations) mustAttach(v volumes.DesiredVolume, spec *volumes.Spec) bool {
	if op.k.plugins.Silent {
		return v.Attachable
	}
	// MNT-195, MNT-222: the current answer of the plugin counts.
	return op.stillAttachable(spec)
}

// reprocess makes the populator process a pod again (MNT-069).
func (pp *populator) reprocess(uid types.UID) {
	// MNT-069: the desired state is refreshed once for each sync of the pod.
	pp.processed[uid] = false
	pp.ticker.Arm()
}

// podVolumesChanged wakes the pod's worker after a change of its volumes.
func (k *kubelet) podVolumesChanged(uid types.UID) {
	if w, ok := k.workers[uid]; ok {
		w.signal.Broadcast()
		if w.state == podRetrying {
			// MNT-378: volumes do not help containers that lack other things.
			w.requeue(!w.lacksFiles)
		}
		// MNT-082: a volume that was mounted for a terminated pod must be unmounted.
		if w.state.containersGone() {
			k.populator.ticker.ArmNext()
		}
	}
}
