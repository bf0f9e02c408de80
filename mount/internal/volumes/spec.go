package volumes

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/volsim/volsim/internal/core/objects"
)

// GIDAnnotation on a PersistentVolume names the group of its files (MNT-073).
const GIDAnnotation = "pv.beta.kubernetes.io/gid"

// Spec is a volume of a pod, resolved to its source and its plugin.
type Spec struct {
	objects.VolumeSpec
	Plugin objects.Plugin
	// PodName is the name of the volume in the pod (MNT-023).
	PodName string
	// Label is the SELinux label that the volume is mounted with, "" for none. PodLabel is the one that the containers of the first pod
	// expect, also on a volume that is mounted without (MNT-335).
	Label, PodLabel string
}

// Block reports whether the volume mode is Block. Without a PersistentVolume it is Filesystem.
func (s *Spec) Block() bool {
	return s.PV != nil && objects.VolumeModeOf(s.PV.Spec.VolumeMode) == corev1.PersistentVolumeBlock
}

// MountsReadOnly reports whether the pod asks for a read-only mount: in its claim reference (MNT-073) or its inline source.
func (s *Spec) MountsReadOnly() bool {
	if s.Inline != nil && s.Inline.CSI != nil {
		return s.Inline.CSI.ReadOnly != nil && *s.Inline.CSI.ReadOnly
	}
	return s.ReadOnly
}

// GID returns the group of the files, "" if the volume names none.
func (s *Spec) GID() string {
	if s.PV == nil {
		return ""
	}
	// MNT-073: the annotation is on the volume, not on the claim.
	return s.PV.Annotations[GIDAnnotation]
}

// AccessMode returns the one access mode that is sent to drivers (MNT-301).
func (s *Spec) AccessMode() corev1.PersistentVolumeAccessMode {
	// MNT-301, MNT-303, MNT-309: only the first mode counts.
	if s.PV == nil || len(s.PV.Spec.AccessModes) == 0 {
		return corev1.ReadWriteOnce
	}
	return s.PV.Spec.AccessModes[0]
}

// SinglePod reports whether at most one pod may use the volume at a time (MNT-194).
func (s *Spec) SinglePod() bool {
	// MNT-922: a volume with several modes is not restricted.
	return s.PV != nil && slices.Equal(s.PV.Spec.AccessModes, []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOncePod})
}

// Capacity returns the size of the PersistentVolume in bytes.
func (s *Spec) Capacity() int64 { return CapacityOf(s.PV) }

// CapacityOf returns the size of a PersistentVolume in bytes.
func CapacityOf(pv *corev1.PersistentVolume) int64 {
	size := pv.Spec.Capacity[corev1.ResourceStorage]
	return size.Value()
}

// Identity contains the facts that the volume manager determines once, when a pod first uses a volume on the node.
type Identity struct {
	Name            corev1.UniqueVolumeName
	Attachable      bool
	DeviceMountable bool
}

// Identify names the volume for a pod (MNT-021, MNT-022). driver is the CSIDriver object, nil if there is none.
func Identify(spec *Spec, pod types.UID, driver *storagev1.CSIDriver) Identity {
	id := Identity{
		Attachable:      spec.Plugin.Attachable(spec.VolumeSpec, driver),
		DeviceMountable: spec.Plugin.DeviceMountable(spec.VolumeSpec),
	}
	if id.Attachable || id.DeviceMountable {
		// MNT-021: a volume that is attached or mounted once per node is shared by all its pods.
		id.Name = objects.UniqueVolumeName(spec.Plugin, spec.VolumeSpec)
	} else {
		// MNT-022: every other volume belongs to one pod.
		id.Name = objects.UniquePodVolumeName(spec.Plugin, pod, spec.VolumeSpec)
	}
	return id
}

// RequiresRemount reports whether each sync of the pod sets the volume up again.
func RequiresRemount(spec *Spec, driver *storagev1.CSIDriver) bool {
	if spec.Plugin.Name == objects.CSIPluginName {
		// MNT-070: the CSIDriver may request republishing.
		return driver != nil && driver.Spec.RequiresRepublish != nil && *driver.Spec.RequiresRepublish
	}
	if spec.Inline == nil {
		return false
	}
	// MNT-070: the API may change these sources while the pod runs.
	in := &spec.Inline.VolumeSource
	return in.Secret != nil || in.ConfigMap != nil || in.Projected != nil || in.DownwardAPI != nil
}

// UsedBy returns the names of the volumes that containers of the pod mount, and of those they use as devices.
func UsedBy(pod *corev1.Pod) (mounts, devices map[string]bool) {
	mounts, devices = map[string]bool{}, map[string]bool{}
	// MNT-065, MNT-931: volumes that no container uses are ignored.
	add := func(ms []corev1.VolumeMount, ds []corev1.VolumeDevice) {
		for i := range ms {
			mounts[ms[i].Name] = true
		}
		for i := range ds {
			devices[ds[i].Name] = true
		}
	}
	for i := range pod.Spec.InitContainers {
		add(pod.Spec.InitContainers[i].VolumeMounts, pod.Spec.InitContainers[i].VolumeDevices)
	}
	for i := range pod.Spec.Containers {
		add(pod.Spec.Containers[i].VolumeMounts, pod.Spec.Containers[i].VolumeDevices)
	}
	for i := range pod.Spec.EphemeralContainers {
		add(pod.Spec.EphemeralContainers[i].VolumeMounts, pod.Spec.EphemeralContainers[i].VolumeDevices)
	}
	return mounts, devices
}
