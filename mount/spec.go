package mount

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/volsim/volsim/internal/core/objects"
)

// gidAnnotation is on a volume whose files belong to a group (MNT-073).
const gidAnnotation = "pv.beta.kubernetes.io/gid"

// volumeSpec is a volume of a pod, resolved, with the plugin in charge of it.
type volumeSpec struct {
	objects.VolumeSpec
	plugin objects.Plugin
	// outer is the name of the volume in the pod (MNT-023).
	outer string
}

// mode is Filesystem for everything without a PersistentVolume.
func (s *volumeSpec) block() bool {
	return s.PV != nil && objects.VolumeModeOf(s.PV.Spec.VolumeMode) == corev1.PersistentVolumeBlock
}

// readOnly is what the pod says about its claim (MNT-073), or about the source it has itself.
func (s *volumeSpec) readOnly() bool {
	if s.Inline != nil && s.Inline.CSI != nil {
		return s.Inline.CSI.ReadOnly != nil && *s.Inline.CSI.ReadOnly
	}
	return s.ReadOnly
}

// gid is the group of a volume's files, "" if it says none (MNT-073).
func (s *volumeSpec) gid() string {
	if s.PV == nil {
		return ""
	}
	// MNT-073: read from the volume and not from the claim.
	return s.PV.Annotations[gidAnnotation]
}

// accessMode is the one mode that stands for those of the volume (MNT-301).
func (s *volumeSpec) accessMode() corev1.PersistentVolumeAccessMode {
	// MNT-301, MNT-303, MNT-309: only the first counts.
	if s.PV == nil || len(s.PV.Spec.AccessModes) == 0 {
		return corev1.ReadWriteOnce
	}
	return s.PV.Spec.AccessModes[0]
}

// forOnePod reports whether the volume must not be used by two pods at a time (MNT-194).
func (s *volumeSpec) forOnePod() bool {
	// MNT-922: a volume with more than one mode is not looked at.
	return s.PV != nil && slices.Equal(s.PV.Spec.AccessModes, []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOncePod})
}

// capacity is the size of the PersistentVolume in bytes.
func (s *volumeSpec) capacity() int64 { return capacityOf(s.PV) }

// capacityOf is the size of a PersistentVolume in bytes.
func capacityOf(pv *corev1.PersistentVolume) int64 {
	size := pv.Spec.Capacity[corev1.ResourceStorage]
	return size.Value()
}

// identity is what the volume manager wants to know about a volume once, when it first hears of it.
type identity struct {
	name            corev1.UniqueVolumeName
	attachable      bool
	deviceMountable bool
}

// identify names the volume for a pod (MNT-021, MNT-022). driver is the CSIDriver object, nil if there is none.
func identify(spec *volumeSpec, pod types.UID, driver *storagev1.CSIDriver) identity {
	id := identity{
		attachable:      spec.plugin.Attachable(spec.VolumeSpec, driver),
		deviceMountable: spec.plugin.DeviceMountable(spec.VolumeSpec),
	}
	if id.attachable || id.deviceMountable {
		// MNT-021: what the node has once, all its pods share.
		id.name = objects.UniqueVolumeName(spec.plugin, spec.VolumeSpec)
	} else {
		// MNT-022: all else is the pod's own.
		id.name = objects.UniquePodVolumeName(spec.plugin, pod, spec.VolumeSpec)
	}
	return id
}

// requiresRemount reports whether the volume is set up anew at each sync of its pod (MNT-070).
func requiresRemount(spec *volumeSpec, driver *storagev1.CSIDriver) bool {
	if spec.plugin.Name == objects.CSIPluginName {
		// MNT-070: a driver may ask for it.
		return driver != nil && driver.Spec.RequiresRepublish != nil && *driver.Spec.RequiresRepublish
	}
	if spec.Inline == nil {
		return false
	}
	// MNT-070: what the API may change under a running pod.
	in := &spec.Inline.VolumeSource
	return in.Secret != nil || in.ConfigMap != nil || in.Projected != nil || in.DownwardAPI != nil
}

// usedVolumes are the volumes that containers of the pod mount, and those they have as devices (MNT-065).
func usedVolumes(pod *corev1.Pod) (mounts, devices map[string]bool) {
	mounts, devices = map[string]bool{}, map[string]bool{}
	// MNT-065, MNT-931: a volume that no container uses is none.
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
