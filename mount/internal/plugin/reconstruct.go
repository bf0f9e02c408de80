package plugin

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/volsim/volsim/internal/core/objects"
	"github.com/volsim/volsim/mount/internal/disk"
	"github.com/volsim/volsim/mount/internal/volumes"
)

// VolumeDir is the directory of a volume of a pod, as an earlier kubelet left it.
type VolumeDir struct {
	Pod          types.UID
	Plugin, Name string
}

// Reconstruct returns the spec of a volume as far as the disk reveals it.
func (h *Host) Reconstruct(l VolumeDir, block bool) (*volumes.Spec, error) {
	spec := &volumes.Spec{PodName: l.Name}
	mode := corev1.PersistentVolumeFilesystem
	if block {
		mode = corev1.PersistentVolumeBlock
	}
	pv := &corev1.PersistentVolume{ObjectMeta: metav1.ObjectMeta{Name: l.Name}, Spec: corev1.PersistentVolumeSpec{VolumeMode: &mode}}
	switch backend, err := h.Backends.ByName(l.Plugin); {
	case l.Plugin == objects.CSIPluginName:
		file := h.Layout.PodVolume(l.Pod, l.Plugin, l.Name) + "/" + disk.MetadataFile
		if block {
			file = h.Layout.CSIDeviceData(l.Name) + "/" + disk.MetadataFile
		}
		// MNT-451, MNT-453: no access modes, no capacity, no claim.
		data, err := h.Disk.ReadMetadata(file)
		if err != nil {
			return nil, err
		}
		spec.Plugin = objects.Plugin{Name: l.Plugin, Driver: data.Driver}
		spec.Plugin.Backend, _ = h.Backends.Driver(data.Driver)
		if data.Ephemeral {
			spec.Inline = &corev1.Volume{Name: data.SpecName, VolumeSource: corev1.VolumeSource{CSI: &corev1.CSIVolumeSource{Driver: data.Driver}}}
			return spec, nil
		}
		// MNT-451: the label that it was mounted with.
		spec.Label = data.Label
		pv.Name = data.SpecName
		pv.Spec.CSI = &corev1.CSIPersistentVolumeSource{Driver: data.Driver, VolumeHandle: data.Handle}
		spec.PV = pv
		return spec, nil
	case l.Plugin == LocalPluginName:
		path := h.Layout.PodVolume(l.Pod, l.Plugin, l.Name)
		if !block && !h.Disk.Mounted(h.Layout.GlobalMount(l.Plugin, l.Name)) {
			// MNT-453: only a mounted device reveals its path.
			return nil, fmt.Errorf("the source of the mount at %s is unknown", path)
		}
		fsType := "ext4"
		pv.Spec.Local = &corev1.LocalVolumeSource{Path: path, FSType: &fsType}
		spec.PV, spec.Plugin = pv, objects.Plugin{Name: l.Plugin}
		return spec, nil
	case err == nil:
		spec.Plugin = objects.Plugin{Name: l.Plugin, Backend: backend}
		for _, m := range h.Disk.MountsUnder(h.Layout.PodVolume(l.Pod, l.Plugin, l.Name)) {
			spec.Label = m.Label
		}
		if spec.Plugin.DeviceMountable(objects.VolumeSpec{PV: pv}) {
			spec.PV = pv
		} else {
			spec.Inline = &corev1.Volume{Name: l.Name}
		}
		return spec, nil
	case isPodPlugin(l.Plugin), l.Plugin == nfsPluginName:
		spec.Plugin = objects.Plugin{Name: l.Plugin}
		spec.Inline = &corev1.Volume{Name: l.Name}
		return spec, nil
	}
	// MNT-453: volumes of unknown plugins cannot be reconstructed.
	return nil, fmt.Errorf("no volume plugin matched name: %s", l.Plugin)
}

const LocalPluginName = "kubernetes.io/local-volume"

// nfsPluginName is the NFS plugin, which needs no backend on a node.
const nfsPluginName = "kubernetes.io/nfs"
