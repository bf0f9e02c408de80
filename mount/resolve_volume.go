package mount

import (
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/volsim/volsim/api"
	"github.com/volsim/volsim/internal/core/engine"
	"github.com/volsim/volsim/internal/core/objects"
	"github.com/volsim/volsim/mount/internal/volumes"
)

// resolved is a pod's volume with its source and its claim.
type resolved struct {
	spec  *volumes.Spec
	claim *corev1.PersistentVolumeClaim // nil for a source in the pod
}

// resolve finds the source of a volume of a pod. It reads the API live (MNT-071, MNT-072a).
func (pp *populator) resolve(p *engine.Process, pod *corev1.Pod, volume *corev1.Volume, use volumes.Use) (resolved, error) {
	name := objects.ClaimOf(pod, volume)
	if name == "" {
		// MNT-071: the pod contains the source.
		return pp.withPlugin(pod, resolved{spec: &volumes.Spec{VolumeSpec: objects.SpecOfInline(volume), PodName: volume.Name}})
	}
	key := api.Key(pod.Namespace, name)
	processing := func(why string, args ...any) error {
		return fmt.Errorf("error processing PVC %s: %s", key, fmt.Sprintf(why, args...))
	}
	// MNT-072a: the claim is read live.
	claim, err := pp.k.getClaim(p, key)
	if err != nil {
		return resolved{}, processing("failed to fetch PVC from API server: %v", err)
	}
	if why := unusable(claim); why != "" {
		return resolved{}, processing("%s", why)
	}
	// MNT-072e: a claim of that name may have another owner.
	if volume.Ephemeral != nil && !objects.OwnsClaim(pod, claim) {
		return resolved{}, fmt.Errorf("PVC %s was not created for pod %s (pod is not owner)", key, api.KeyOf(pod))
	}
	// MNT-072f: the PersistentVolume is read live.
	pv, err := pp.k.getVolume(p, claim.Spec.VolumeName)
	if err != nil {
		return resolved{}, processing("failed to fetch PV %s from API server: %v", claim.Spec.VolumeName, err)
	}
	switch ref := pv.Spec.ClaimRef; {
	case ref == nil:
		// MNT-072g: a volume without a claimRef is not bound.
		return resolved{}, processing("found PV object %s but it has a nil pv.Spec.ClaimRef indicating it is not yet bound to the claim", pv.Name)
	case ref.UID != claim.UID:
		// MNT-072h, MNT-073: only the uid counts; the phase of the volume and the name in its claimRef do not.
		return resolved{}, processing("found PV object %s but its pv.Spec.ClaimRef.UID %s does not point to claim.UID %s", pv.Name, ref.UID,
			claim.UID)
	}
	// MNT-072i: the CSI driver that replaced an in-tree plugin is in charge.
	spec, err := objects.SpecOfVolume(volume, pv).Translated(pod.Namespace)
	if err != nil {
		return resolved{}, err
	}
	if err := checkMode(volume.Name, spec.PV, use); err != nil {
		return resolved{}, err
	}
	return pp.withPlugin(pod, resolved{&volumes.Spec{VolumeSpec: spec, PodName: volume.Name}, claim})
}

// withPlugin finds the plugin of the volume (MNT-020).
func (pp *populator) withPlugin(pod *corev1.Pod, r resolved) (resolved, error) {
	// MNT-071, MIG-002: so is it for a source in the pod.
	translated, err := r.spec.Translated(pod.Namespace)
	if err != nil {
		return resolved{}, err
	}
	r.spec.VolumeSpec = translated
	plugin, err := objects.PluginOf(pp.k.node.nodes.backends, r.spec.VolumeSpec)
	if err != nil {
		// MNT-020, MNT-047: no plugin supports it, or more than one does.
		return resolved{}, fmt.Errorf("failed to get Plugin from volumeSpec for volume %q err=%v", r.spec.Name(), err)
	}
	r.spec.Plugin = plugin
	return r, nil
}

// unusable returns why the volume of a claim cannot be mounted, "" if it can.
func unusable(claim *corev1.PersistentVolumeClaim) string {
	switch {
	case claim.DeletionTimestamp != nil && !slices.Contains(claim.Finalizers, objects.ClaimProtectionFinalizer):
		// MNT-072b, MNT-905: with the finalizer, a pod may be using it, perhaps this one before a restart of the kubelet.
		return "PVC is being deleted"
	case claim.Status.Phase != corev1.ClaimBound:
		// MNT-072c: the claim is not bound.
		return "PVC is not bound"
	case claim.Spec.VolumeName == "":
		// MNT-072d: the claim names no volume.
		return "PVC has empty pvc.Spec.VolumeName"
	}
	return ""
}

// checkMode returns an error if containers use a device as a file system, or a file system as a device.
func checkMode(outer string, pv *corev1.PersistentVolume, use volumes.Use) error {
	mode := pv.Spec.VolumeMode
	switch {
	case mode == nil:
		// MNT-072j: the volume has no mode.
		return fmt.Errorf("cannot get volumeMode for volume: %s", pv.Name)
	case use.Mounted && *mode != corev1.PersistentVolumeFilesystem:
		// MNT-072k: a device cannot be mounted.
		return fmt.Errorf("volume %s has volumeMode Block, but is specified in volumeMounts", outer)
	case use.Device && *mode != corev1.PersistentVolumeBlock:
		// MNT-072l: a file system is not a device.
		return fmt.Errorf("volume %s has volumeMode Filesystem, but is specified in volumeDevices", outer)
	}
	return nil
}

// claimSize returns the capacity in the claim's status, in bytes.
func claimSize(claim *corev1.PersistentVolumeClaim) int64 {
	size, ok := claim.Status.Capacity[corev1.ResourceStorage]
	if !ok {
		size = resource.Quantity{}
	}
	return size.Value()
}
