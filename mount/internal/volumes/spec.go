package volumes

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/volsim/volsim/internal/core/objects"
	"github.com/volsim/volsim/mount/internal/disk"
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

	// attachment and globalMount are computed once; see AttachmentName and GlobalMount.
	attachment, globalMount string
}

// AttachmentName returns the name of the VolumeAttachment of a CSI volume on the node (MNT-300). All calls are about one node.
func (s *Spec) AttachmentName(node string) string {
	if s.attachment == "" {
		source := s.CSI()
		s.attachment = objects.AttachmentName(source.VolumeHandle, source.Driver, node)
	}
	return s.attachment
}

// GlobalMount returns where a CSI driver stages the volume. All calls are about one node.
func (s *Spec) GlobalMount(layout disk.Layout) string {
	if s.globalMount == "" {
		source := s.CSI()
		s.globalMount = layout.CSIGlobalMount(source.Driver, source.VolumeHandle)
	}
	return s.globalMount
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

// Use says how containers of a pod use a volume: as a file system that they mount, as a device, or both.
type Use struct{ Mounted, Device bool }

// Any reports whether a container uses the volume at all.
func (u Use) Any() bool { return u.Mounted || u.Device }

// UseOf returns how the containers of the pod use its volume of that name.
func UseOf(pod *corev1.Pod, name string) (use Use) {
	eachUse(pod, func(volume string, u Use) {
		if volume == name {
			use.Mounted, use.Device = use.Mounted || u.Mounted, use.Device || u.Device
		}
	})
	return use
}

// UsedBy returns the names of the volumes that containers of the pod use, sorted.
func UsedBy(pod *corev1.Pod) []string {
	var names []string
	eachUse(pod, func(volume string, _ Use) { names = append(names, volume) })
	slices.Sort(names)
	return slices.Compact(names)
}

// eachUse visits what the containers of the pod use, container by container.
func eachUse(pod *corev1.Pod, visit func(volume string, use Use)) {
	// MNT-065, MNT-931: volumes that no container uses are ignored.
	container := func(mounts []corev1.VolumeMount, devices []corev1.VolumeDevice) {
		for i := range mounts {
			visit(mounts[i].Name, Use{Mounted: true})
		}
		for i := range devices {
			visit(devices[i].Name, Use{Device: true})
		}
	}
	for i := range pod.Spec.InitContainers {
		container(pod.Spec.InitContainers[i].VolumeMounts, pod.Spec.InitContainers[i].VolumeDevices)
	}
	for i := range pod.Spec.Containers {
		container(pod.Spec.Containers[i].VolumeMounts, pod.Spec.Containers[i].VolumeDevices)
	}
	for i := range pod.Spec.EphemeralContainers {
		container(pod.Spec.EphemeralContainers[i].VolumeMounts, pod.Spec.EphemeralContainers[i].VolumeDevices)
	}
}
