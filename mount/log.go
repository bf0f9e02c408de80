package mount

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/volsim/volsim/api"
	"github.com/volsim/volsim/internal/core/engine"
	"github.com/volsim/volsim/internal/core/klog"
	"github.com/volsim/volsim/mount/internal/volumes"
)

// volumeLog writes what the volume manager of a kubelet logs about the volumes of pods. The lines do not name the node.
type volumeLog struct {
	reconciler, operations *klog.Logger
}

func newVolumeLog(a *engine.Actor) volumeLog {
	return volumeLog{a.Logger("reconciler_common", ""), a.Logger("operation_generator", "")}
}

// remounting is the end of a line about a volume that is mounted again for a pod that has it.
const remounting = "Volume is already mounted to pod, but remount was requested."

// forPod returns a line about a volume of a pod, as GenerateMsgDetailed of VolumeToMount does. It ends with a space if suffix is empty.
func forPod(what string, name corev1.UniqueVolumeName, spec *volumes.Spec, pod *corev1.Pod, suffix string) string {
	return fmt.Sprintf("%s for volume %q (UniqueName: %q) pod %q (UID: %q) %s", what, spec.Name(), name, pod.Name, pod.UID, suffix)
}

// onNode returns a line about a volume of a node, as GenerateMsgDetailed of AttachedVolume does.
func onNode(what string, v *volumes.ActualVolume, node, suffix string) string {
	return fmt.Sprintf("%s for volume %q (UniqueName: %q) on node %q %s", what, v.Spec.Name(), v.Name, node, suffix)
}

func podAttr(pod *corev1.Pod) klog.Attr { return klog.String("pod", api.KeyOf(pod)) }

func (l *volumeLog) verifyStarted(name corev1.UniqueVolumeName, spec *volumes.Spec, pod *corev1.Pod) {
	if l.reconciler.Enabled(0) {
		l.reconciler.Info(0, forPod("operationExecutor.VerifyControllerAttachedVolume started", name, spec, pod, ""), podAttr(pod))
	}
}

func (l *volumeLog) attached(name corev1.UniqueVolumeName, spec *volumes.Spec, pod *corev1.Pod, devicePath string) {
	if l.operations.Enabled(0) {
		l.operations.Info(0, forPod("Controller attach succeeded", name, spec, pod, fmt.Sprintf("device path: %q", devicePath)), podAttr(pod))
	}
}

func (l *volumeLog) mountStarted(name corev1.UniqueVolumeName, spec *volumes.Spec, pod *corev1.Pod, again bool) {
	level, suffix := 1, ""
	if again {
		level, suffix = 5, remounting
	}
	if l.reconciler.Enabled(level) {
		l.reconciler.Info(level, forPod("operationExecutor.MountVolume started", name, spec, pod, suffix), podAttr(pod))
	}
}

func (l *volumeLog) waitForAttach(what string, name corev1.UniqueVolumeName, spec *volumes.Spec, pod *corev1.Pod, devicePath string) {
	if l.operations.Enabled(0) {
		l.operations.Info(0, forPod("MountVolume.WaitForAttach "+what, name, spec, pod, fmt.Sprintf("DevicePath %q", devicePath)), podAttr(pod))
	}
}

func (l *volumeLog) deviceMounted(name corev1.UniqueVolumeName, spec *volumes.Spec, pod *corev1.Pod, path string) {
	if l.operations.Enabled(0) {
		l.operations.Info(0, forPod("MountVolume.MountDevice succeeded", name, spec, pod, fmt.Sprintf("device mount path %q", path)), podAttr(pod))
	}
}

func (l *volumeLog) mounted(name corev1.UniqueVolumeName, spec *volumes.Spec, pod *corev1.Pod, again bool) {
	level := 1
	if again {
		level = 4
	}
	if l.operations.Enabled(level) {
		l.operations.Info(level, forPod("MountVolume.SetUp succeeded", name, spec, pod, ""), podAttr(pod))
	}
}

// unmountStarted logs as the real kubelet does, which here has the uid of the pod for its name, and the unique name for that of the volume.
func (l *volumeLog) unmountStarted(name corev1.UniqueVolumeName, uid types.UID) {
	if l.reconciler.Enabled(0) {
		l.reconciler.Info(0, fmt.Sprintf("operationExecutor.UnmountVolume started for volume %q (UniqueName: %q) pod %q (UID: %q) ", name, name, uid, uid))
	}
}

func (l *volumeLog) unmounted(name corev1.UniqueVolumeName, spec *volumes.Spec, uid types.UID) {
	if l.operations.Enabled(0) {
		l.operations.Infof(0, "UnmountVolume.TearDown succeeded for volume %q pod %q (UID: %q). InnerVolumeSpecName %q. PluginName %q, VolumeGIDValue %q",
			name, uid, uid, spec.Name(), spec.Plugin.Name, spec.GID())
	}
}

func (l *volumeLog) unmountDeviceStarted(v *volumes.ActualVolume, node string) {
	if l.reconciler.Enabled(0) {
		l.reconciler.Info(0, onNode("operationExecutor.UnmountDevice started", v, node, ""))
	}
}

func (l *volumeLog) deviceUnmounted(v *volumes.ActualVolume, node string) {
	if l.operations.Enabled(0) {
		l.operations.Infof(0, "%s", onNode("UnmountDevice succeeded", v, node, ""))
	}
}

func (l *volumeLog) forgotten(v *volumes.ActualVolume, node string) {
	if l.reconciler.Enabled(0) {
		l.reconciler.Info(0, onNode("Volume detached", v, node, fmt.Sprintf("DevicePath %q", v.DevicePath)))
	}
}
