package mount

import "github.com/volsim/volsim/mount/internal/volumes"

// The decisions of the reconciler are pure functions. A program can ask what a kubelet does next about a volume in a given state.
type (
	// Step is what a kubelet does next about a volume, as a short phrase such as "mount". "" is nothing.
	Step = volumes.Step
	// PodVolume describes one volume and one pod.
	PodVolume = volumes.PodVolume
	// Device describes a volume on the node as a whole.
	Device = volumes.Device
)

// PlanMount returns the next step towards a volume that its pod wants: verify that it is attached, mount it, or map it (MNT-133, MNT-134).
func PlanMount(v PodVolume) Step { return volumes.PlanMount(v) }

// PlanUnmount returns the next step for a volume that is mounted, or may be mounted, for a pod that may no longer want it (MNT-132).
func PlanUnmount(v PodVolume) Step { return volumes.PlanUnmount(v) }

// PlanDevice returns the next step for a volume on the node: unmount or unmap the device, or forget the volume (MNT-135).
func PlanDevice(d Device) Step { return volumes.PlanDevice(d) }
