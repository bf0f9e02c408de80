package mount

import (
	"cmp"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/volsim/volsim/api"
	"github.com/volsim/volsim/internal/core/backends"
	"github.com/volsim/volsim/internal/core/engine"
	"github.com/volsim/volsim/internal/core/kubeletstatus"
	"github.com/volsim/volsim/internal/core/objects"
	"github.com/volsim/volsim/mount/internal/volumes"
	"github.com/volsim/volsim/storage"
)

// adopter puts the kubelet into the state in which it already runs pods, for a cluster that is loaded from a dump.
type adopter struct {
	k    *kubelet
	pods map[types.UID]bool // that were adopted
}

// resolveAdopted finds the claim, the PersistentVolume and the plugin of a volume that was mounted at some time, even if it could not be
// mounted now.
func (ad *adopter) resolveAdopted(pod *corev1.Pod, volume *corev1.Volume) (resolved, error) {
	name := objects.ClaimOf(pod, volume)
	if name == "" {
		return ad.k.populator.withPlugin(pod, resolved{spec: &volumes.Spec{VolumeSpec: objects.SpecOfInline(volume), PodName: volume.Name}})
	}
	s := ad.k.node.nodes.engine.Store()
	claim, _ := s.Claims.Lookup(api.Key(pod.Namespace, name))
	if claim != nil && claim.Spec.VolumeName != "" {
		if pv, ok := s.Volumes.Lookup(claim.Spec.VolumeName); ok {
			return ad.k.populator.withPlugin(pod, resolved{&volumes.Spec{VolumeSpec: objects.SpecOfVolume(volume, pv), PodName: volume.Name}, claim})
		}
	}
	for _, pv := range s.Volumes.List() {
		if ref := pv.Spec.ClaimRef; ref != nil && ref.Namespace == pod.Namespace && ref.Name == name {
			return ad.k.populator.withPlugin(pod, resolved{&volumes.Spec{VolumeSpec: objects.SpecOfVolume(volume, pv), PodName: volume.Name}, claim})
		}
	}
	return resolved{}, fmt.Errorf("the PersistentVolume of claim %s/%s does not exist", pod.Namespace, name)
}

// adoptPod mounts the volumes for the pod, without trace and faults, and adds its running containers.
func (ad *adopter) adoptPod(p *engine.Process, pod *corev1.Pod, volumes []resolved) error {
	for _, dir := range []string{ad.k.layout.PodVolumes(pod.UID), ad.k.layout.PodPlugins(pod.UID)} {
		if err := ad.k.node.disk.Mkdir(dir); err != nil {
			return err
		}
	}
	for _, r := range volumes {
		if err := ad.adoptVolume(p, pod, r); err != nil {
			return fmt.Errorf("volume %s: %w", r.spec.PodName, err)
		}
	}
	for _, containers := range [][]corev1.Container{pod.Spec.InitContainers, pod.Spec.Containers} {
		for i := range containers {
			if err := cmp.Or(ad.k.missingDevice(pod.UID, &containers[i]), ad.k.missingMount(pod.UID, &containers[i])); err != nil {
				return err
			}
		}
	}
	if !kubeletstatus.Fails(&pod.Status) {
		ad.k.node.runtime.resume(ad.k.newContainer(pod))
	}
	ad.pods[pod.UID] = true
	return nil
}

func (ad *adopter) adoptVolume(p *engine.Process, pod *corev1.Pod, r resolved) error {
	spec := r.spec
	id := volumes.Identify(spec, pod.UID, ad.k.CSIDriver(spec.Plugin.Driver))
	if err := ad.k.takeLabel(id, pod, spec); err != nil {
		return err
	}
	ad.k.desired.AddPodVolume(id, pod, spec)
	desired, _ := ad.k.desired.Volume(id.Name)
	if ad.k.actual.IsMounted(id.Name, pod.UID) {
		return nil
	}
	attachable, devicePath := volumes.NotAttachable, ""
	if id.Attachable {
		var err error
		if devicePath, err = ad.adoptAttachment(spec, id.Name); err != nil {
			return err
		}
		attachable = volumes.Attachable
	}
	av := ad.k.actual.MarkAttached(id.Name, spec, attachable, devicePath)
	if r.claim != nil {
		av.Size = claimSize(r.claim)
	}
	// The volume was attached when it was mounted, so mounting does not check that again.
	snapshot := *desired
	snapshot.Attachable = false
	if !spec.Block() {
		m := &mounting{op: ad.k.operations, v: snapshot, spec: spec, pod: pod}
		return m.mount(p)
	}
	volumePlugin := ad.k.plugins.For(spec.Plugin.Name)
	if err := volumePlugin.PrepareMap(spec); err != nil {
		return err
	}
	_, err := ad.k.operations.mapDevice(p, snapshot, spec, pod, volumePlugin)
	return err
}

// adoptAttachment attaches the volume to the node in its backend, and returns the path of its device.
func (ad *adopter) adoptAttachment(spec *volumes.Spec, name corev1.UniqueVolumeName) (devicePath string, err error) {
	if source := spec.CSI(); source != nil {
		devicePath = objects.AttachmentName(source.VolumeHandle, source.Driver, ad.k.node.name)
	} else {
		for _, a := range ad.k.object.Status.VolumesAttached {
			if a.Name == name {
				devicePath = a.DevicePath
			}
		}
	}
	b := spec.Plugin.Backend
	if b == nil || !backends.Can(b, storage.Attach) {
		return devicePath, nil
	}
	req := storage.NodeRequest{ID: spec.ID(), Node: ad.k.node.name, Mode: attachMode(spec.PV.Spec.AccessModes)}
	err = backends.Safely(b.Name(), storage.Attach, func() error { _, err := b.(storage.Attacher).Attach(backends.OwnNode(req)); return err })
	if storage.CodeOf(err) == storage.AlreadyExists {
		return devicePath, nil
	}
	return devicePath, err
}

// attachMode returns the access mode with which a volume of these modes is attached.
func attachMode(modes []corev1.PersistentVolumeAccessMode) corev1.PersistentVolumeAccessMode {
	best := corev1.ReadWriteOnce
	for _, mode := range modes {
		switch {
		case mode == corev1.ReadWriteMany:
			return mode
		case len(modes) == 1 && mode == corev1.ReadOnlyMany:
			best = mode
		}
	}
	return best
}

// takeBack unmounts a volume from a pod, as far as possible.
func (ad *adopter) takeBack(p *engine.Process, pr volumes.ActualPair) {
	name, uid, spec := pr.Volume.Name, pr.Pod.UID, pr.Pod.Spec
	volumePlugin := ad.k.plugins.For(spec.Plugin.Name)
	if spec.Block() {
		if unmap, err := volumePlugin.NewUnmapper(uid, spec.Name()); err == nil {
			_ = ad.k.operations.unmapFrom(p, name, uid, spec, pr.Volume.DeviceMountPath, unmap)
		}
		return
	}
	if tearDown, err := volumePlugin.NewUnmounter(uid, spec.Name()); err == nil {
		u := &unmounting{op: ad.k.operations, name: name, uid: uid, spec: spec, tearDown: tearDown}
		_ = u.unmount(p)
	}
}

// disown undoes what was done for a pod that could not be adopted.
func (ad *adopter) disown(p *engine.Process, pod *corev1.Pod) {
	for _, pr := range ad.k.actual.PodVolumes() {
		if pr.Pod.UID == pod.UID {
			ad.takeBack(p, pr)
		}
	}
	for _, pr := range ad.k.desired.PodVolumes() {
		if pr.Pod.Pod.UID == pod.UID {
			ad.k.desired.RemovePodVolume(pr.Volume.Name, pod.UID)
		}
	}
	for _, v := range ad.k.actual.Volumes() {
		if v.Pods.Len() > 0 {
			continue
		}
		switch {
		case v.Device == volumes.DeviceNotMounted:
		case v.Spec.Block():
			_ = ad.k.operations.unmapDeviceFromNode(p, v)
		default:
			d := &deviceUnmounting{op: ad.k.operations, v: v}
			_ = d.unmount(p)
		}
		if v.Device == volumes.DeviceNotMounted {
			ad.k.actual.Forget(v.Name)
		}
	}
	ad.k.housekeeping.removePodDir(pod.UID)
}
