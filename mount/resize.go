package mount

import (
	"errors"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/volsim/volsim/api"
	"github.com/volsim/volsim/internal/core/engine"
	"github.com/volsim/volsim/mount/internal/volumes"
)

// resizeRequest is what a plugin is asked to expand: the places where the volume is on the node, and the size in bytes it shall have.
type resizeRequest struct {
	volumePath, stagingPath string
	size                    int64
}

// The errors of an expansion that mean more than that it failed (MNT-415, MNT-416, MNT-419). They may be wrapped.
type (
	notSupportedError struct{ error }
	infeasibleError   struct{ error }
	inUseError        struct{ error }
)

// is reports whether there is an error of type T in err.
func is[T error](err error) bool {
	var target T
	return errors.As(err, &target)
}

// paths are the places of a volume on the node (MNT-424).
func (k *kubelet) paths(spec *volumes.Spec, pod *corev1.Pod, devicePath string) (resizeRequest, error) {
	plugin := k.pluginFor(spec.Plugin.Name)
	if spec.Block() {
		// MNT-424: a device is not mounted, so its own path stands for it.
		return resizeRequest{volumePath: devicePath, stagingPath: plugin.stagingPath(spec)}, nil
	}
	req := resizeRequest{volumePath: k.podMountPath(spec, pod)}
	if !k.pluginTakesDevice(spec) {
		return req, nil
	}
	var err error
	// MNT-424
	req.stagingPath, err = plugin.deviceMountPath(spec)
	return req, err
}

// needsExpansion reports whether the volume, which is mounted for a pod, is larger than what the node makes use of (MNT-405).
func (k *kubelet) needsExpansion(v *volumes.DesiredVolume, spec *volumes.Spec) bool {
	av, ok := k.actual.Volume(v.Name)
	// MNT-405, EXP-040: sizes that are not known yet are no reason, and neither is a driver that refuses while the volume is in use.
	if !ok || av.RefusesExpansionInUse || av.Size == 0 || v.Size == 0 || v.Size <= av.Size {
		return false
	}
	// MNT-405: driver by driver, not volume by volume.
	if !k.pluginFor(spec.Plugin.Name).nodeExpandable(spec) {
		return false
	}
	// MNT-406, MNT-925: what came to no decision is looked at in every pass, and comes to the same as long as the claim does not change.
	key := claimKey(spec)
	return !k.undecided[key] || k.looksAgain(key)
}

// looksAgain reports whether each pass looks at a claim that it came to no decision about.
func (k *kubelet) looksAgain(claim string) bool {
	return k.cfg.EveryPass || k.awaited("get", api.PersistentVolumeClaim, claim)
}

// claimKey is the claim of a volume.
func claimKey(spec *volumes.Spec) string {
	if spec.PV == nil || spec.PV.Spec.ClaimRef == nil {
		return ""
	}
	return api.Key(spec.PV.Spec.ClaimRef.Namespace, spec.PV.Spec.ClaimRef.Name)
}

// expandInUse starts to expand a volume that pods have, for all of them (MNT-429).
func (k *kubelet) expandInUse(pr volumes.DesiredPair) {
	snapshot, pod, spec := *pr.Volume, pr.Pod.Pod, pr.Pod.Spec
	// MNT-153, MNT-406
	k.startBefore(volumeKey(snapshot.Name), opExpand, func() { k.afterExpansion(snapshot.Name, claimKey(spec)) }, func(p *engine.Proc) error {
		err := k.expandMounted(p, snapshot, spec, pod)
		if err == nil || is[panicError](err) {
			return err
		}
		err = fmt.Errorf("NodeExpandVolume.NodeExpandVolume failed for volume %q : %w", spec.Name(), err)
		// MNT-393
		k.event(p, pod, corev1.EventTypeWarning, "VolumeResizeFailed", "%s", err.Error())
		return err
	})
}

// afterExpansion has a pass come after an attempt to expand a volume in use.
func (k *kubelet) afterExpansion(name corev1.UniqueVolumeName, claim string) {
	refused, next := k.refusals[name], k.actor.Engine().Now().Add(1)
	switch {
	case k.hindered[name]:
		k.reconciler.Next()
	case refused != nil && !k.looksAgain(claim):
		// MNT-406: in each pass, of which those are left out that no Event is stored of.
		k.reconciler.RestAt(k.nextRefusal(refused, next))
	case refused != nil, k.undecided[claim] && k.looksAgain(claim):
		// MNT-406, MNT-925: it is likely to come to the same.
		k.reconciler.RestAt(next)
	default:
		k.reconciler.Next()
	}
}

// expandMounted is the operation (MNT-406).
func (k *kubelet) expandMounted(p *engine.Proc, v volumes.DesiredVolume, spec *volumes.Spec, pod *corev1.Pod) error {
	av, ok := k.actual.Volume(v.Name)
	if !ok || v.Size <= av.Size {
		return nil
	}
	p.Decide("MNT-405", pod, "volume %s is larger than the node knows", v.Name)
	key := claimKey(spec)
	// Whatever happens to the claim from here on may change the answer.
	k.undecided[key] = true
	if spec.MountsReadOnly() {
		delete(k.undecided, key)
		return k.refuse(p, v, spec, pod, av)
	}
	done, size, err := k.tryExpansion(p, v, spec, pod, av)
	if err != nil {
		delete(k.undecided, key)
		return err
	}
	if !done {
		// MNT-406, MNT-925: the operation succeeds, and the decision is the same again in the next pass.
		p.Decide("MNT-406", pod, "volume %s waits to be expanded", v.Name)
		return nil
	}
	// MNT-406, MNT-427: on this node, whatever others do.
	av.Size = size
	delete(k.undecided, key)
	return nil
}

// tryExpansion is expand with the claim read first.
func (k *kubelet) tryExpansion(p *engine.Proc, v volumes.DesiredVolume, spec *volumes.Spec, pod *corev1.Pod, av *volumes.ActualVolume) (done bool, size int64, err error) {
	claim, err := k.claimOf(p, spec)
	if err != nil {
		return false, 0, err
	}
	req, err := k.paths(spec, pod, av.DevicePath)
	if err != nil {
		return false, 0, err
	}
	req.size = v.Size
	return k.expand(p, v.Name, spec, pod, claim, req)
}

// expandAtMount expands a volume that has just been given to a pod, if that is left to do (MNT-410). An error keeps the pod from it. A device may
// have been staged for it.
func (k *kubelet) expandAtMount(p *engine.Proc, name corev1.UniqueVolumeName, spec *volumes.Spec, pod *corev1.Pod, staged string) error {
	// MNT-410: a volume of a claim. What is adopted is as it was left.
	if k.adopting || claimKey(spec) == "" || !k.pluginFor(spec.Plugin.Name).nodeExpandable(spec) {
		return nil
	}
	// With a new pod the question is open again.
	delete(k.undecided, claimKey(spec))
	claim, err := k.claimOf(p, spec)
	if err != nil {
		return err
	}
	// MNT-410, EXP-040: the volume as the pod got it, the claim as it is.
	if claimSize(claim) >= spec.Capacity() {
		return nil
	}
	if spec.MountsReadOnly() {
		k.refuseReadOnly(p, spec, pod, claim)
		return nil
	}
	devicePath := ""
	if av, ok := k.actual.Volume(name); ok {
		devicePath = av.DevicePath
	}
	req, err := k.paths(spec, pod, devicePath)
	if err != nil {
		return err
	}
	if spec.Block() {
		// MNT-424: nobody says where the device was staged before.
		req.stagingPath = staged
	}
	req.size = spec.Capacity()
	// MNT-410, MNT-426: the size that the node knows stays, so that once the pod has the volume there is one more look at it.
	_, _, err = k.expand(p, name, spec, pod, claim, req)
	return err
}

// claimOf reads the claim of a volume.
func (k *kubelet) claimOf(p *engine.Proc, spec *volumes.Spec) (*corev1.PersistentVolumeClaim, error) {
	claim, err := k.getClaim(p, claimKey(spec))
	if err != nil {
		return nil, fmt.Errorf("mountVolume.NodeExpandVolume get PVC failed : %w", err)
	}
	return claim, nil
}

// writer is the pair to expand a volume for: the first pod that has it and may write to it, or the given one. [SIM] Upstream takes
// whichever its map has first, which is a writer sooner or later.
func (k *kubelet) writer(pr volumes.DesiredPair) volumes.DesiredPair {
	best := pr
	if !pr.Pod.Spec.MountsReadOnly() {
		return pr
	}
	pr.Volume.Pods.Scan(func(_ types.UID, dp *volumes.DesiredPod) bool {
		if !dp.Spec.MountsReadOnly() && k.actual.IsMounted(pr.Volume.Name, dp.Pod.UID) {
			best.Pod = dp
			return false
		}
		return true
	})
	return best
}
