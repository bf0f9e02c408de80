package mount

import (
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/volsim/volsim/api"
	"github.com/volsim/volsim/internal/core/engine"
	"github.com/volsim/volsim/mount/internal/plugin"
	"github.com/volsim/volsim/mount/internal/volumes"
)

// volumeExpansion expands file systems and devices on the node after the controller has expanded the volume.
type volumeExpansion struct {
	k *kubelet
	// undecided are the claims whose volumes are larger than the node knows, and for which nothing can be done until the claim changes
	// (MNT-406).
	undecided map[string]bool
	// deferrals are the volumes that the last pass did not expand because no pod may write to them (MNT-406).
	deferrals map[corev1.UniqueVolumeName]*expansionDeferral
	// recheck says that the pass that runs checks undecided claims again.
	recheck bool
	// everyPass skips none of the passes that check these volumes again. Tests set it.
	everyPass bool
}

// newExpandRequest returns a request with the paths of the volume on the node, without a size (MNT-424).
func (ex *volumeExpansion) newExpandRequest(spec *volumes.Spec, pod *corev1.Pod, devicePath string) (plugin.ExpandRequest, error) {
	volumePlugin := ex.k.plugins.For(spec.Plugin.Name)
	if spec.Block() {
		// MNT-424: a block device is not mounted, so its own path is the volume path.
		return plugin.ExpandRequest{VolumePath: devicePath, StagingPath: volumePlugin.StagingPath(spec)}, nil
	}
	req := plugin.ExpandRequest{VolumePath: ex.k.podMountPath(spec, pod)}
	if !spec.Plugin.DeviceMountable(spec.VolumeSpec) {
		return req, nil
	}
	var err error
	// MNT-424: a file system that is mounted once per node has a staging path.
	req.StagingPath, err = volumePlugin.DeviceMountPath(spec)
	return req, err
}

// needsExpansion reports whether a pass has to expand the volume, which is mounted for a pod (MNT-405).
func (ex *volumeExpansion) needsExpansion(v *volumes.DesiredVolume, spec *volumes.Spec) bool {
	av, ok := ex.k.actual.Volume(v.Name)
	pending := ex.k.operations.pending
	busy := ok && v.Size > av.Size && pending.RunningAtTick(volumeKey(v.Name))
	if busy && !pending.Running(volumeKey(v.Name)) {
		// MNT-014: the operation ended at this instant, so the pass that it requested is this one.
		ex.k.reconciler.ticker.ArmNext()
	}
	if !ok || volumes.PlanExpansion(volumes.Usage{
		DesiredSize: v.Size, ActualSize: av.Size, RefusesInUse: av.RefusesExpansionInUse,
		// MNT-405: whether it can be expanded depends on the driver, not on the volume.
		Expandable: ex.k.plugins.For(spec.Plugin.Name).CanExpandOnNode(spec),
		Busy:       busy,
	}) != volumes.Expand {
		return false
	}
	// MNT-406, MNT-925: until the claim changes, another attempt would find the same, so it is skipped. MNT-155: unless it ends the backoff of
	// another operation on the volume.
	return !ex.undecided[claimKey(spec)] || ex.recheck || ex.everyPass || pending.TakesOver(volumeKey(v.Name), opExpand)
}

// nextRecheck returns when a pass checks undecided claims and deferrals again. MNT-406, MNT-925: each pass does.
func (ex *volumeExpansion) nextRecheck() (at time.Time, ok bool) {
	return time.Time{}, len(ex.undecided) > 0 || len(ex.deferrals) > 0
}

// claimKey returns the key of the claim of a volume, "" if it has none.
func claimKey(spec *volumes.Spec) string {
	if spec.PV == nil || spec.PV.Spec.ClaimRef == nil {
		return ""
	}
	return api.Key(spec.PV.Spec.ClaimRef.Namespace, spec.PV.Spec.ClaimRef.Name)
}

// expandInUse starts to expand a mounted volume, for all of its pods (MNT-429).
func (ex *volumeExpansion) expandInUse(pr volumes.DesiredPair) {
	snapshot, pod, spec := *pr.Volume, pr.Pod.Pod, pr.Pod.Spec
	// MNT-155: another operation on the volume need not back off any more.
	frees := ex.k.operations.pending.TakesOver(volumeKey(snapshot.Name), opExpand)
	// MNT-153, MNT-406: the operation is on the volume as a whole, and has a backoff only after an error.
	ex.k.operations.start(volumeKey(snapshot.Name), opExpand, pod, func(p *engine.Process) error {
		err := ex.expandMounted(p, snapshot, spec, pod)
		if err != nil && !is[panicError](err) {
			err = fmt.Errorf("NodeExpandVolume.NodeExpandVolume failed for volume %q : %w", spec.Name(), err)
			// MNT-393: each failed operation emits an Event.
			ex.k.Event(p, pod, corev1.EventTypeWarning, "VolumeResizeFailed", "%s", err.Error())
		}
		ex.afterExpansion(snapshot.Name, claimKey(spec), frees)
		return err
	})
}

// afterExpansion requests the next pass after an attempt to expand a mounted volume. frees says that another operation may start after it.
func (ex *volumeExpansion) afterExpansion(name corev1.UniqueVolumeName, claim string, frees bool) {
	ticker, deferral := ex.k.reconciler.ticker, ex.deferrals[name]
	next := ex.k.actor.Engine().Now().Add(1)
	switch {
	case ex.k.operations.blocked[name], frees:
		ticker.ArmNext()
	case (deferral != nil || ex.undecided[claim]) && (ex.everyPass || ticker.ArmIdle()):
		// MNT-406, MNT-925: each pass repeats the attempt, in the background, because it is likely to find the same.
		ticker.ArmBackgroundAt(next)
	case deferral != nil:
		// MNT-406: passes whose Events would not be stored are skipped.
		ticker.ArmBackgroundAt(ex.nextDeferral(deferral, next))
	default:
		ticker.ArmNext()
	}
}

// expandMounted runs the operation (MNT-406).
func (ex *volumeExpansion) expandMounted(p *engine.Process, v volumes.DesiredVolume, spec *volumes.Spec, pod *corev1.Pod) error {
	av, ok := ex.k.actual.Volume(v.Name)
	if !ok || v.Size <= av.Size {
		return nil
	}
	p.Decide("MNT-405", pod, "volume %s is larger than the node knows", v.Name)
	key := claimKey(spec)
	// Any change of the claim from here on may change the decision.
	ex.undecided[key] = true
	if spec.MountsReadOnly() {
		delete(ex.undecided, key)
		return ex.deferExpansion(p, v, spec, pod, av)
	}
	done, size, err := ex.tryExpansion(p, v, spec, pod, av)
	if err != nil {
		delete(ex.undecided, key)
		return err
	}
	if !done {
		// MNT-406, MNT-925: the operation succeeds without an expansion, and the next pass repeats it.
		p.Decide("MNT-406", pod, "volume %s waits to be expanded", v.Name)
		return nil
	}
	// MNT-406, MNT-427: the size counts for this node only.
	av.Size = size
	delete(ex.undecided, key)
	return nil
}

// tryExpansion reads the claim and expands the volume.
func (ex *volumeExpansion) tryExpansion(p *engine.Process, v volumes.DesiredVolume, spec *volumes.Spec, pod *corev1.Pod,
	av *volumes.ActualVolume) (done bool, size int64, err error) {
	claim, err := ex.claimOf(p, spec)
	if err != nil {
		return false, 0, err
	}
	req, err := ex.newExpandRequest(spec, pod, av.DevicePath)
	if err != nil {
		return false, 0, err
	}
	req.Size = v.Size
	return ex.expand(p, v.Name, spec, pod, claim, req)
}

// expandAtMount expands a volume that has just been mounted for a pod, if it is larger than the claim (MNT-410). With an error, the pod
// does not get the volume. staged is where a device was staged, "" if it was not.
func (ex *volumeExpansion) expandAtMount(p *engine.Process, name corev1.UniqueVolumeName, spec *volumes.Spec, pod *corev1.Pod,
	staged string) error {
	// MNT-410: only volumes of claims are expanded. Adopted volumes stay as they are.
	if ex.k.plugins.Silent || claimKey(spec) == "" || !ex.k.plugins.For(spec.Plugin.Name).CanExpandOnNode(spec) {
		return nil
	}
	// A new pod may change the decision.
	delete(ex.undecided, claimKey(spec))
	claim, err := ex.claimOf(p, spec)
	if err != nil {
		return err
	}
	// MNT-410, EXP-040: the size of the volume is that at the start of the operation, the claim is read live.
	if claimSize(claim) >= spec.Capacity() {
		return nil
	}
	if spec.MountsReadOnly() {
		ex.reportReadOnly(p, spec, pod, claim)
		return nil
	}
	devicePath := ""
	if av, ok := ex.k.actual.Volume(name); ok {
		devicePath = av.DevicePath
	}
	req, err := ex.newExpandRequest(spec, pod, devicePath)
	if err != nil {
		return err
	}
	if spec.Block() {
		// MNT-424: only the operation itself knows where the device was staged.
		req.StagingPath = staged
	}
	req.Size = spec.Capacity()
	// MNT-410, MNT-426: the recorded size stays, so the next pass checks once more.
	_, _, err = ex.expand(p, name, spec, pod, claim, req)
	return err
}

// claimOf reads the claim of a volume.
func (ex *volumeExpansion) claimOf(p *engine.Process, spec *volumes.Spec) (*corev1.PersistentVolumeClaim, error) {
	claim, err := ex.k.getClaim(p, claimKey(spec))
	if err != nil {
		return nil, fmt.Errorf("mountVolume.NodeExpandVolume get PVC failed : %w", err)
	}
	return claim, nil
}

// writablePair returns the pair for which a volume is expanded: the first pod that has it and may write to it, or else pr. [SIM] Upstream
// takes the first pod of its map, which is one that may write sooner or later.
func (ex *volumeExpansion) writablePair(pr volumes.DesiredPair) volumes.DesiredPair {
	best := pr
	if !pr.Pod.Spec.MountsReadOnly() {
		return pr
	}
	pr.Volume.Pods.Scan(func(_ types.UID, dp *volumes.DesiredPod) bool {
		if !dp.Spec.MountsReadOnly() && ex.k.actual.IsMounted(pr.Volume.Name, dp.Pod.UID) {
			best.Pod = dp
			return false
		}
		return true
	})
	return best
}
