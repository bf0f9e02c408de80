package mount

import "github.com/volsim/volsim/mount/internal/volumes"

// The decisions of the reconciler are pure functions. A program can ask them for a kubelet's next step about a volume in a given state.
type (
	// Step is the next step of a kubelet about a volume, as a short phrase such as "mount". "" is no step.
	Step = volumes.Step
	// PodVolume describes one volume and one pod. Its fields say whether the volume is Desired, Attached, to Remount and a Block device,
	// whether an operation on it is running (Busy), and in which State its mount is: "VolumeNotMounted" or "", "VolumeMounted",
	// "VolumeMountUncertain".
	PodVolume = volumes.PodVolume
	// Device describes a volume on the node as a whole. Its fields say whether the volume is Desired and a Block device, for how many
	// Pods it is mounted, whether an operation on it is running (Busy), and in which State its device is: "DeviceNotMounted",
	// "DeviceGloballyMounted", "DeviceMountUncertain".
	Device = volumes.Device
)

// PlanMount returns the next step towards a volume that its pod wants: verify that it is attached, mount it, or map it (MNT-133, MNT-134).
func PlanMount(v PodVolume) Step { return volumes.PlanMount(v) }

// PlanUnmount returns the next step for a volume that is mounted, or may be mounted, for a pod that may no longer want it (MNT-132).
func PlanUnmount(v PodVolume) Step { return volumes.PlanUnmount(v) }

// PlanDevice returns the next step for a volume on the node: unmount or unmap the device, or forget the volume (MNT-135).
func PlanDevice(d Device) Step { return volumes.PlanDevice(d) }
