package mount

import (
	"errors"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/volsim/volsim/internal/core/backends"
	"github.com/volsim/volsim/internal/core/engine"
	"github.com/volsim/volsim/internal/core/objects"
	"github.com/volsim/volsim/mount/internal/plugin"
	"github.com/volsim/volsim/mount/internal/volumes"
)

// errOnePod is what a second pod gets for a volume that is for one (MNT-194).
var errOnePod = errors.New("volume uses the ReadWriteOncePod access mode and is already in use by another pod")

// errNodeAffinity is what a pod gets for a volume that is for other nodes (MNT-191).
var errNodeAffinity = errors.New("no matching NodeSelectorTerms")

// mountVolume starts to mount a file system for a pod.
func (op *operations) mountVolume(p *engine.Process, pr volumes.DesiredPair) {
	// MNT-159: what is desired now counts until the operation ends.
	desired, pod, spec := *pr.Volume, pr.Pod.Pod, pr.Pod.Spec
	// MNT-151
	op.start(mountKey(pr.Volume, pod.UID), opMount, func(p *engine.Process) error {
		prefix, err := op.mount(p, desired, spec, pod)
		if err == nil {
			// MNT-200: no word of success.
			p.Decide("MNT-199", pod, "volume %s is mounted as %s", desired.Name, spec.PodName)
			return nil
		}
		if is[panicError](err) {
			return err
		}
		err = fmt.Errorf("%s for volume %q : %w", prefix, spec.Name(), err)
		// MNT-390
		op.k.Event(p, pod, corev1.EventTypeWarning, "FailedMount", "%s", err.Error())
		return err
	})
}

// mount is the operation, one step after the other (MNT-203): the error comes with the step that failed.
func (op *operations) mount(p *engine.Process, v volumes.DesiredVolume, spec *volumes.Spec, pod *corev1.Pod) (failed string, err error) {
	// MNT-190
	if _, err := objects.PluginOf(op.k.node.nodes.backends, spec.VolumeSpec); err != nil {
		return "MountVolume.FindPluginBySpec failed", err
	}
	if err := op.checkAffinity(spec); err != nil {
		return "MountVolume.NodeAffinity check failed", err
	}
	// MNT-192
	volumePlugin := op.k.plugins.For(spec.Plugin.Name)
	if err := op.checkMounter(spec); err != nil {
		return "MountVolume.NewMounter initialization failed", err
	}
	// MNT-193
	if spec.PV != nil && len(spec.PV.Spec.MountOptions) > 0 && !takesMountOptions(spec.Plugin) {
		return "MountVolume.MountOptionSupport check failed", fmt.Errorf("mount options are not supported for this volume type")
	}
	// MNT-194, MNT-922: before anything is asked of the storage.
	if spec.SinglePod() && op.usedByOther(v.Name, pod.UID) {
		return "MountVolume.SetUp failed", errOnePod
	}
	devicePath := ""
	if av, ok := op.k.actual.Volume(v.Name); ok {
		devicePath = av.DevicePath
	}
	if op.mustAttach(v, spec) {
		// MNT-195, MNT-177
		if devicePath, err = volumePlugin.WaitForAttach(p, spec, devicePath); err != nil {
			return "MountVolume.WaitForAttach failed", err
		}
	}
	// MNT-196, MNT-201, MNT-916: also when it is uncertain.
	if av, ok := op.k.actual.Volume(v.Name); ok && v.DeviceMountable && av.Device != volumes.DeviceMounted {
		mountPath, err := volumePlugin.DeviceMountPath(spec)
		if err != nil {
			return "MountVolume.GetDeviceMountPath failed", err
		}
		if err := volumePlugin.MountDevice(p, spec, pod, mountPath); err != nil {
			op.reportMismatch(p, spec, err)
			op.deviceFailed(av, err, devicePath, mountPath)
			return "MountVolume.MountDevice failed", err
		}
		// MNT-203: seen by others before the next step.
		av.SetDevice(volumes.DeviceMounted, devicePath, mountPath)
	}
	// MNT-197
	ap, known := op.k.actual.PodVolume(v.Name, pod.UID)
	how := plugin.SetUpOptions{Reconstructed: op.k.actual.PodReconstructed(v.Name, pod.UID), Remount: known && ap.State == volumes.Mounted}
	if err := volumePlugin.SetUp(p, spec, pod, how); err != nil {
		op.reportMismatch(p, spec, err)
		// MNT-912: the device stays as it is.
		op.podFailed(v.Name, pod.UID, spec, err)
		return "MountVolume.SetUp failed", err
	}
	if err := op.k.expansion.expandAtMount(p, v.Name, spec, pod, ""); is[panicError](err) {
		// MNT-430: the pod has it, and the kubelet does not know.
		return "", err
	} else if err != nil {
		// MNT-198, MNT-923: it is mounted, and the pod must not use it, even if it did before.
		op.setPodState(v.Name, pod.UID, spec, volumes.MountUncertain)
		return "MountVolume.Setup failed while expanding volume", err
	}
	// MNT-199
	op.setPodState(v.Name, pod.UID, spec, volumes.Mounted)
	return "", nil
}

// errFilesystemMismatch is the error of an in-tree plugin that finds another file system on the volume than it should have. Only a broken
// disk or a fault of a backend causes it.
var errFilesystemMismatch = errors.New("wrong file system type")

// reportMismatch emits an Event on the PersistentVolume if it has the wrong file system (MNT-202).
func (op *operations) reportMismatch(p *engine.Process, spec *volumes.Spec, err error) {
	if spec.PV != nil && errors.Is(err, errFilesystemMismatch) {
		// MNT-202, MNT-397
		op.k.Event(p, spec.PV, corev1.EventTypeWarning, "FailedMountOnFilesystemMismatch", "MountVolume failed for volume %q %s", spec.Name(), err.Error())
	}
}

// checkMounter refuses what no mounter can be made for: a CSI source without a driver.
func (op *operations) checkMounter(spec *volumes.Spec) error {
	if spec.Plugin.Name == objects.CSIPluginName && spec.Plugin.Driver == "" {
		return fmt.Errorf("kubernetes.io/csi: volume %s names no driver", spec.Name())
	}
	return nil
}

// takesMountOptions reports whether the plugin mounts with options (MNT-193).
func takesMountOptions(plugin objects.Plugin) bool {
	if plugin.Name == objects.CSIPluginName {
		return true
	}
	return plugin.Backend != nil && backends.TakesMountOptions(plugin.Backend)
}

// usedByOther reports whether another pod has the volume, or may have it.
func (op *operations) usedByOther(name corev1.UniqueVolumeName, uid types.UID) bool {
	v, ok := op.k.actual.Volume(name)
	if !ok {
		return false
	}
	other := false
	v.Pods.Scan(func(pod types.UID, _ *volumes.ActualPod) bool {
		other = pod != uid
		return !other
	})
	return other
}

// deviceFailed and podFailed note what a failed step may have left (MNT-243 to MNT-248).
func (op *operations) deviceFailed(av *volumes.ActualVolume, err error, devicePath, mountPath string) {
	class := volumes.ClassOf(err)
	switch after := volumes.DeviceAfterFailure(av.Device, class, op.k.actual.DeviceReconstructed(av.Name)); {
	case after == volumes.DeviceNotMounted && av.Device != volumes.DeviceNotMounted:
		// MNT-911
		av.SetDevice(volumes.DeviceNotMounted, devicePath, "")
	case after == volumes.DeviceUncertain && class == volumes.Uncertain:
		av.SetDevice(volumes.DeviceUncertain, devicePath, mountPath)
	}
}

func (op *operations) podFailed(name corev1.UniqueVolumeName, uid types.UID, spec *volumes.Spec, err error) {
	prior := volumes.NotMounted
	if ap, ok := op.k.actual.PodVolume(name, uid); ok {
		prior = ap.State
	}
	switch volumes.PodAfterFailure(prior, volumes.ClassOf(err), op.k.actual.PodReconstructed(name, uid)) {
	case volumes.NotMounted:
		if prior != volumes.NotMounted {
			op.k.actual.RemovePodVolume(name, uid)
			op.k.podVolumesChanged(uid)
		}
	case volumes.MountUncertain:
		if prior != volumes.MountUncertain {
			op.setPodState(name, uid, spec, volumes.MountUncertain)
		}
	case volumes.Mounted:
		// MNT-248: the mount stays and so does the wish to do it again.
	}
}

// setPod is actualState.setPod with word to the pod's worker.
func (op *operations) setPodState(name corev1.UniqueVolumeName, uid types.UID, spec *volumes.Spec, state volumes.PodState) {
	op.k.actual.SetPodState(name, uid, spec, state)
	op.k.podVolumesChanged(uid)
}

// checkAffinity tells why a volume cannot be mounted on this node (MNT-191, MNT-220).
func (op *operations) checkAffinity(spec *volumes.Spec) error {
	switch {
	case spec.PV == nil:
		return nil
	case op.k.object == nil:
		// MNT-191: without the Node there are no labels to compare, whether or not the volume is for certain nodes.
		return fmt.Errorf("error retrieving node: node %q not found", op.k.node.name)
	case !objects.AdmitsNode(spec.PV, op.k.object.Labels):
		// MNT-191, MNT-919
		return errNodeAffinity
	}
	return nil
}

// pluginTakesDevice reports whether the volume is mounted from a device that the node has once.
func (k *kubelet) pluginTakesDevice(spec *volumes.Spec) bool {
	return spec.Plugin.DeviceMountable(spec.VolumeSpec)
}
