package mount

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"

	"github.com/volsim/volsim/internal/core/engine"
	"github.com/volsim/volsim/mount/internal/disk"
	"github.com/volsim/volsim/mount/internal/plugin"
	"github.com/volsim/volsim/mount/internal/volumes"
)

// mapVolume starts to map a block device for a pod.
func (op *operations) mapVolume(p *engine.Process, pr volumes.DesiredPair) {
	desired, pod, spec := *pr.Volume, pr.Pod.Pod, pr.Pod.Spec
	volumePlugin := op.k.plugins.For(spec.Plugin.Name)
	// MNT-220, MNT-919: these checks come before the operation starts, so each pass repeats them and emits an Event, without backoff.
	if err := op.checkAffinity(spec); err != nil {
		op.k.Event(p, pod, corev1.EventTypeWarning, "FailedMount", "MapVolume.NodeAffinity check failed for volume %q : %v", spec.Name(), err)
		op.k.reconciler.ticker.ArmBackground()
		return
	}
	// MNT-308: creating a mapper writes to the disk, even if the operation then does not start.
	if err := volumePlugin.PrepareMap(spec); err != nil {
		// MNT-220, MNT-391: a mapper that cannot be created emits an Event in each pass.
		op.k.Event(p, pod, corev1.EventTypeWarning, "FailedMapVolume",
			"MapVolume.NewBlockVolumeMapper initialization failed for volume %q : %v", spec.Name(), err)
		op.k.reconciler.ticker.ArmBackground()
		return
	}
	// MNT-151: the key is that of a mount.
	op.start(mountKey(pr.Volume, pod.UID), opMap, pod, func(p *engine.Process) error {
		prefix, err := op.mapDevice(p, desired, spec, pod, volumePlugin)
		if err == nil {
			p.Decide("MNT-230", pod, "volume %s is mapped as %s", desired.Name, spec.PodName)
			return nil
		}
		if is[panicError](err) {
			return err
		}
		err = fmt.Errorf("%s for volume %q : %w", prefix, spec.Name(), err)
		// MNT-391: each failed operation emits an Event.
		op.k.Event(p, pod, corev1.EventTypeWarning, "FailedMapVolume", "%s", err.Error())
		return err
	})
}

// mapDevice runs the operation. With an error, failed names the step.
func (op *operations) mapDevice(p *engine.Process, v volumes.DesiredVolume, spec *volumes.Spec, pod *corev1.Pod,
	volumePlugin plugin.Plugin) (failed string, err error) {
	// MNT-221: step 1: a ReadWriteOncePod volume has one pod.
	if spec.SinglePod() && op.usedByOther(v.Name, pod.UID) {
		return "MapVolume.SetUpDevice failed", errOnePod
	}
	devicePath := ""
	if av, ok := op.k.actual.Volume(v.Name); ok {
		devicePath = av.DevicePath
	}
	if op.mustAttach(v, spec) {
		// MNT-222: step 2: the volume must be attached.
		if devicePath, err = volumePlugin.WaitForAttach(p, spec, devicePath); err != nil {
			return "MapVolume.WaitForAttach failed", err
		}
	}
	av, ok := op.k.actual.Volume(v.Name)
	if !ok {
		return "MapVolume failed", fmt.Errorf("volume %s is not attached", v.Name)
	}
	mapPath, staged := volumePlugin.GlobalMapPath(spec), ""
	if volumePlugin.MapsDevice(spec) && av.Device != volumes.DeviceMounted {
		// MNT-223: step 3: the device is set up once per node.
		if staged, err = volumePlugin.SetUpDevice(p, spec); err != nil {
			op.deviceFailed(av, spec, err, devicePath, mapPath)
			return "MapVolume.SetUpDevice failed", err
		}
	}
	// MNT-224: step 4: the device counts as mounted, even if the plugin sets none up.
	av.SetDevice(volumes.DeviceMounted, devicePath, mapPath)
	if volumePlugin.MapsDevice(spec) {
		// MNT-225: step 5: the device is mapped for the pod.
		if devicePath, err = volumePlugin.MapPodDevice(p, spec, pod); err != nil {
			op.podFailed(v.Name, pod.UID, spec, err)
			return "MapVolume.MapPodDevice failed", err
		}
	} else if source := spec.Source(); source != nil && source.Local != nil {
		devicePath = source.Local.Path
	}
	if prefix, err := op.bindDevice(av, spec, pod, devicePath, mapPath); err != nil {
		// MNT-226, MNT-227, MNT-918: the storage has published the device for the pod, so it must be unmapped later.
		if !op.k.actual.MayBeMounted(v.Name, pod.UID) {
			op.setPodState(v.Name, pod.UID, spec, volumes.MountUncertain)
		}
		return prefix, err
	}
	// MNT-228, MNT-392: success emits two Events.
	op.k.Event(p, pod, corev1.EventTypeNormal, "SuccessfulMountVolume", "MapVolume.MapPodDevice succeeded for volume %q globalMapPath %q",
		spec.Name(), mapPath)
	op.k.Event(p, pod, corev1.EventTypeNormal, "SuccessfulMountVolume", "MapVolume.MapPodDevice succeeded for volume %q volumeMapPath %q",
		spec.Name(), op.podMapDir(spec, pod))
	if err := op.k.expansion.expandAtMount(p, v.Name, spec, pod, staged); is[panicError](err) {
		// MNT-430: the state of the pod's mount is not recorded.
		return "", err
	} else if err != nil {
		// MNT-229: step 9: the device is mapped, but the pod must not use it.
		op.setPodState(v.Name, pod.UID, spec, volumes.MountUncertain)
		return "MapVolume.MarkVolumeAsMounted failed while expanding volume", err
	}
	// MNT-230: step 10: the volume is mapped for the pod.
	op.setPodState(v.Name, pod.UID, spec, volumes.Mounted)
	return "", nil
}

// bindDevice links the device in the directories of the volume and of the pod.
func (op *operations) bindDevice(av *volumes.ActualVolume, spec *volumes.Spec, pod *corev1.Pod, devicePath, mapPath string,
) (failed string, err error) {
	// MNT-226: step 6: a device needs a path.
	if devicePath == "" {
		return "MapVolume failed", fmt.Errorf("Device path of the volume is empty")
	}
	av.SetDevice(volumes.DeviceMounted, devicePath, mapPath)
	// MNT-227, MNT-231: step 7: the bind file marks the pod as a user of the device.
	fs, bind := op.k.node.disk, mapPath+"/"+string(pod.UID)
	if err := fs.Mount(disk.Mount{Path: bind, Source: devicePath, Plugin: spec.Plugin.Name, Volume: spec.ID(), Pod: string(pod.UID),
		Block: true}); err != nil {
		return "MapVolume.MapBlockVolume failed", err
	}
	if err := fs.Link(op.k.layout.PodDevice(pod.UID, spec.Plugin.Name, spec.Name()), devicePath); err != nil {
		return "MapVolume.MapBlockVolume failed", err
	}
	fs.Lock(bind, true)
	return "", nil
}

// podMapDir returns the directory with the links to a pod's devices.
func (op *operations) podMapDir(spec *volumes.Spec, pod *corev1.Pod) string {
	return op.k.layout.PodDevices(pod.UID) + "/" + disk.EscapePlugin(spec.Plugin.Name)
}
