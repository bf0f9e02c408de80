package mount

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"

	"github.com/volsim/volsim/api"
	"github.com/volsim/volsim/internal/core/backends"
	"github.com/volsim/volsim/internal/core/engine"
	"github.com/volsim/volsim/internal/core/objects"
	"github.com/volsim/volsim/mount/internal/volumes"
	"github.com/volsim/volsim/storage"
)

// resolveAdopted finds what stands behind a volume that was mounted at some time: whether it could be mounted now does not matter.
func (k *kubelet) resolveAdopted(pod *corev1.Pod, volume *corev1.Volume) (resolved, error) {
	name := objects.ClaimOf(pod, volume)
	if name == "" {
		return k.withPlugin(resolved{spec: &volumes.Spec{VolumeSpec: objects.SpecOfInline(volume), PodName: volume.Name}})
	}
	s := k.node.nodes.engine.Store()
	claim, _ := s.Claims.Lookup(api.Key(pod.Namespace, name))
	if claim != nil && claim.Spec.VolumeName != "" {
		if pv, ok := s.Volumes.Lookup(claim.Spec.VolumeName); ok {
			return k.withPlugin(resolved{&volumes.Spec{VolumeSpec: objects.SpecOfVolume(volume, pv), PodName: volume.Name}, claim})
		}
	}
	for pv := range s.Volumes.All() {
		if ref := pv.Spec.ClaimRef; ref != nil && ref.Namespace == pod.Namespace && ref.Name == name {
			return k.withPlugin(resolved{&volumes.Spec{VolumeSpec: objects.SpecOfVolume(volume, pv), PodName: volume.Name}, claim})
		}
	}
	return resolved{}, fmt.Errorf("the PersistentVolume of claim %s/%s is not in the API: load it first", pod.Namespace, name)
}

// adopt makes it so that the volumes are mounted for the pod and its containers run.
func (k *kubelet) adopt(p *engine.Proc, pod *corev1.Pod, volumes []resolved) error {
	for _, dir := range []string{k.layout.PodVolumes(pod.UID), k.layout.Pod(pod.UID) + "/plugins"} {
		if err := k.node.disk.Mkdir(dir); err != nil {
			return err
		}
	}
	for _, r := range volumes {
		if err := k.adoptVolume(p, pod, r); err != nil {
			return fmt.Errorf("volume %s: %w", r.spec.PodName, err)
		}
	}
	c, err := k.newContainer(pod)
	if err != nil {
		return err
	}
	k.node.runtime.resume(c)
	k.adopted[pod.UID] = true
	return nil
}

func (k *kubelet) adoptVolume(p *engine.Proc, pod *corev1.Pod, r resolved) error {
	spec := r.spec
	id := volumes.Identify(spec, pod.UID, k.driver(spec.Plugin.Driver))
	k.desired.AddPodVolume(id, pod, spec)
	desired, _ := k.desired.Volume(id.Name)
	if k.actual.IsMounted(id.Name, pod.UID) {
		return nil
	}
	attachable, devicePath := volumes.NotAttachable, ""
	if id.Attachable {
		var err error
		if devicePath, err = k.adoptAttachment(spec, id.Name); err != nil {
			return err
		}
		attachable = volumes.Attachable
	}
	av := k.actual.MarkAttached(id.Name, spec, attachable, devicePath)
	if r.claim != nil {
		av.Size = claimSize(r.claim)
	}
	// Nobody looks at the attachment any more.
	snapshot := *desired
	snapshot.Attachable = false
	if !spec.Block() {
		_, err := k.mount(p, snapshot, spec, pod)
		return err
	}
	plugin := k.pluginFor(spec.Plugin.Name)
	if err := plugin.mapper(spec); err != nil {
		return err
	}
	_, err := k.mapDevice(p, snapshot, spec, pod, plugin)
	return err
}

// adoptAttachment has the volume attached to the node and returns the path of its device.
func (k *kubelet) adoptAttachment(spec *volumes.Spec, name corev1.UniqueVolumeName) (devicePath string, err error) {
	if source := spec.CSI(); source != nil {
		devicePath = objects.AttachmentName(source.VolumeHandle, source.Driver, k.node.name)
	} else {
		for _, a := range k.object.Status.VolumesAttached {
			if a.Name == name {
				devicePath = a.DevicePath
			}
		}
	}
	b := spec.Plugin.Backend
	if b == nil || !backends.Can(b, storage.Attach) {
		return devicePath, nil
	}
	req := storage.AttachRequest{ID: spec.ID(), Node: k.node.name, Mode: attachMode(spec.PV.Spec.AccessModes)}
	err = backends.Safely(b.Name(), storage.Attach, func() error { _, err := b.(storage.Attacher).Attach(req); return err })
	if storage.CodeOf(err) == storage.AlreadyExists {
		return devicePath, nil
	}
	return devicePath, err
}

// attachMode is the one mode that stands for those of a volume when it is attached.
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

// takeBack takes a volume from a pod as far as that can be done.
func (k *kubelet) takeBack(p *engine.Proc, pr volumes.ActualPair) {
	name, uid, spec := pr.Volume.Name, pr.Pod.UID, pr.Pod.Spec
	plugin := k.pluginFor(spec.Plugin.Name)
	if spec.Block() {
		if unmap, err := plugin.unmapper(uid, spec.Name()); err == nil {
			_ = k.unmapFrom(p, name, uid, spec, pr.Volume.DeviceMountPath, unmap)
		}
		return
	}
	if tearDown, err := plugin.unmounter(uid, spec.Name()); err == nil {
		_ = k.unmountFrom(p, name, uid, spec, tearDown)
	}
}

// disown takes back what was done for a pod that could not be adopted.
func (k *kubelet) disown(p *engine.Proc, pod *corev1.Pod) {
	for _, pr := range k.actual.PodVolumes() {
		if pr.Pod.UID == pod.UID {
			k.takeBack(p, pr)
		}
	}
	for _, pr := range k.desired.PodVolumes() {
		if pr.Pod.Pod.UID == pod.UID {
			k.desired.RemovePodVolume(pr.Volume.Name, pod.UID)
		}
	}
	for _, v := range k.actual.Volumes() {
		if v.Pods.Len() > 0 {
			continue
		}
		switch {
		case v.Device == volumes.DeviceNotMounted:
		case v.Spec.Block():
			_ = k.takeDeviceMap(p, v)
		default:
			_ = k.takeDeviceMount(p, v)
		}
		if v.Device == volumes.DeviceNotMounted {
			k.actual.Forget(v.Name)
		}
	}
	k.removePodDir(pod.UID)
}
