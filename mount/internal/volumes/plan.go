package volumes

// Step is the reconciler's next action on a volume. The zero value is none.
type Step string

const (
	// Wait means that a step is needed, and that a running operation blocks it.
	Wait Step = "wait for the running operation"
	// VerifyAttached checks in the node's status that the volume is attached.
	VerifyAttached Step = "verify that the volume is attached"
	// MountForPod mounts a file system: on the node if needed, then for the pod.
	MountForPod Step = "mount"
	// MapForPod maps a block device for the pod.
	MapForPod Step = "map"
	// UnmountFromPod unmounts a file system from the pod.
	UnmountFromPod Step = "unmount"
	// UnmapFromPod unmaps a block device from the pod.
	UnmapFromPod Step = "unmap"
	// Expand expands a volume that pods use.
	Expand Step = "expand"
	// UnmountDevice unmounts a file system from the node.
	UnmountDevice Step = "unmount the device"
	// UnmapDevice unmaps a block device from the node.
	UnmapDevice Step = "unmap the device"
	// Forget drops the record of the volume: the node no longer uses it, and it may be detached.
	Forget Step = "forget"
)

// PodVolume describes one volume and one pod, for PlanMount and PlanUnmount.
type PodVolume struct {
	// Desired says that the pod wants the volume.
	Desired bool
	// Attached says that the node has a record of the volume (MNT-100: a record means that the volume is attached).
	Attached bool
	// OtherLabel says that the volume is mounted with another SELinux label than the pod wants.
	OtherLabel bool
	// State says how far the volume is mounted for the pod. "" is NotMounted.
	State PodState
	// Remount says that the mount has to be set up again.
	Remount bool
	// Block says that the pod gets a device instead of a file system.
	Block bool
	// Busy says that an operation is running that blocks the step: for PlanMount any operation on the volume, for PlanUnmount one on
	// this pod's mount or on the volume as a whole.
	Busy bool
}

// Gap returns what a desired volume lacks for its pod (MNT-108).
func (v PodVolume) Gap() Gap {
	switch {
	case !v.Attached:
		return GapNotAttached
	case v.OtherLabel:
		// MNT-108: before it can be mounted for the pod, it is unmounted.
		return GapOtherLabel
	case v.State != Mounted:
		// MNT-108: an uncertain mount counts as no mount, also if a remount is pending.
		return GapNotMounted
	case v.Remount:
		// MNT-108: it is mounted, and must be set up again.
		return GapRemount
	}
	return NoGap
}

// PlanMount returns the next step towards a volume that its pod wants.
func PlanMount(v PodVolume) Step {
	gap := v.Gap()
	switch {
	case !v.Desired, gap == NoGap, gap == GapOtherLabel:
		// MNT-134: the wrong mount goes first, by PlanUnmount and PlanDevice.
		return ""
	case v.Busy:
		// MNT-133: an operation for any pod of the volume blocks.
		return Wait
	case gap == GapNotAttached:
		// MNT-134: an unknown volume is verified first.
		return VerifyAttached
	case v.Block:
		return MapForPod
	}
	// MNT-134: a missing mount and a pending remount take the same operation.
	return MountForPod
}

// PlanUnmount returns the next step for a volume that is, or may be, mounted for a pod.
func PlanUnmount(v PodVolume) Step {
	switch {
	case v.Desired, v.State == NotMounted, v.State == "":
		// MNT-132, MNT-045: only what the pod no longer wants is unmounted.
		return ""
	case v.Busy:
		return Wait
	case v.Block:
		return UnmapFromPod
	}
	// MNT-132: uncertain mounts are unmounted, too.
	return UnmountFromPod
}

// Usage describes the sizes of a volume that is mounted, for PlanExpansion. Sizes are in bytes; zero means unknown.
type Usage struct {
	// DesiredSize is the capacity of the PersistentVolume, ActualSize what the node uses of it.
	DesiredSize, ActualSize int64
	// RefusesInUse says that the driver has refused to expand the volume while it is in use.
	RefusesInUse bool
	// Expandable says that the plugin can expand volumes on the node.
	Expandable bool
	// Busy says that an operation on the volume as a whole is running.
	Busy bool
}

// PlanExpansion returns Expand if a volume that is mounted for a pod is larger than what the node uses (MNT-405).
func PlanExpansion(u Usage) Step {
	switch {
	case u.Busy, u.RefusesInUse, !u.Expandable:
		// MNT-405, EXP-040: a driver that refuses while the volume is in use is not asked again.
		return ""
	case u.ActualSize == 0, u.DesiredSize <= u.ActualSize:
		// MNT-405: unknown sizes are no reason to expand.
		return ""
	}
	return Expand
}

// Device describes a volume on the node as a whole, for PlanDevice.
type Device struct {
	// Desired says that a pod of the node wants the volume.
	Desired bool
	// Pods is the number of pods for which it is, or may be, mounted.
	Pods int
	// State says how far the device is mounted on the node.
	State DeviceState
	// Block says that it is a device and not a file system.
	Block bool
	// Busy says that an operation on the volume is running.
	Busy bool
}

// PlanDevice returns the next step for the device of a volume (MNT-135).
func PlanDevice(d Device) Step {
	switch {
	case d.Desired, d.Pods > 0:
		// MNT-135: the device stays as long as a pod wants or has the volume.
		return ""
	case d.Busy:
		return Wait
	case d.State == DeviceNotMounted:
		// MNT-135, MNT-139, MNT-287, MNT-932: the last step; from now on the node does not report the volume in use.
		return Forget
	case d.Block:
		return UnmapDevice
	}
	// MNT-135: uncertain devices are unmounted, too.
	return UnmountDevice
}
