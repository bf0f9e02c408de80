package mount

import (
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/volsim/volsim/internal/core/engine"
	"github.com/volsim/volsim/internal/core/objects"
	"github.com/volsim/volsim/mount/internal/disk"
	"github.com/volsim/volsim/mount/internal/volumes"
)

// leftover is a directory of a volume that nobody can tell the volume from (MNT-451).
type leftover struct {
	pod          types.UID
	plugin, name string
}

// reconstruct reads from the disk what an earlier kubelet had mounted (MNT-450).
func (k *kubelet) reconstruct(p *engine.Proc) {
	fs := k.node.disk
	for _, pod := range fs.Children(k.layout.Pods()) {
		uid := types.UID(pod)
		if k.adopted[uid] {
			continue
		}
		for _, dir := range fs.Children(k.layout.PodVolumes(uid)) {
			for _, name := range fs.Children(k.layout.PodVolumes(uid) + "/" + dir) {
				k.reconstructVolume(p, leftover{uid, disk.UnescapePlugin(dir), name}, false)
			}
		}
		for _, dir := range fs.Children(k.layout.PodDevices(uid)) {
			for _, name := range fs.Children(k.layout.PodDevices(uid) + "/" + dir) {
				k.reconstructVolume(p, leftover{uid, disk.UnescapePlugin(dir), name}, true)
			}
		}
	}
}

// reconstructVolume makes uncertain records of one directory.
func (k *kubelet) reconstructVolume(p *engine.Proc, l leftover, block bool) {
	spec, err := k.rebuild(l, block)
	if err != nil {
		// MNT-451
		p.Decide("MNT-451", k.podRef(l.pod), "cannot reconstruct volume %s of %s: %v", l.name, l.plugin, err)
		k.failed = append(k.failed, l)
		return
	}
	// MNT-451: what the plugin says about the device comes first; the API is not asked.
	id := volumes.Identify(spec, l.pod, nil)
	if _, known := k.actual.Volume(id.Name); !known {
		// MNT-452
		k.actual.MarkAttached(id.Name, spec, volumes.AttachableUncertain, "")
		k.actual.Reconstructed[id.Name] = map[types.UID]bool{}
		// MNT-454: until the node's status is read nothing is unmounted.
		k.awaiting = append(k.awaiting, id.Name)
	}
	v, _ := k.actual.Volume(id.Name)
	// MNT-452
	k.actual.SetPodState(id.Name, l.pod, spec, volumes.MountUncertain)
	k.actual.Reconstructed[id.Name][l.pod] = true
	plugin := k.pluginFor(l.plugin)
	switch {
	case block:
		v.SetDevice(volumes.DeviceUncertain, "", plugin.globalMapPath(spec))
	case id.DeviceMountable:
		if path, err := plugin.deviceMountPath(spec); err == nil {
			v.SetDevice(volumes.DeviceUncertain, "", path)
		}
	}
	p.Decide("MNT-452", k.podRef(l.pod), "volume %s may be mounted", id.Name)
}

// rebuild makes a spec of what the disk says about a volume.
func (k *kubelet) rebuild(l leftover, block bool) (*volumes.Spec, error) {
	spec := &volumes.Spec{PodName: l.name}
	mode := corev1.PersistentVolumeFilesystem
	if block {
		mode = corev1.PersistentVolumeBlock
	}
	pv := &corev1.PersistentVolume{ObjectMeta: metav1.ObjectMeta{Name: l.name}, Spec: corev1.PersistentVolumeSpec{VolumeMode: &mode}}
	switch backend, err := k.cfg.Backends.ByName(l.plugin); {
	case l.plugin == objects.CSIPluginName:
		file := k.layout.PodVolume(l.pod, l.plugin, l.name) + "/" + disk.MetadataFile
		if block {
			file = k.layout.CSIDeviceData(l.name) + "/" + disk.MetadataFile
		}
		// MNT-451, MNT-453: no access modes, no capacity, no claim.
		data, err := k.node.disk.ReadMetadata(file)
		if err != nil {
			return nil, err
		}
		spec.Plugin = objects.Plugin{Name: l.plugin, Driver: data.Driver}
		spec.Plugin.Backend, _ = k.cfg.Backends.Driver(data.Driver)
		if data.Ephemeral {
			spec.Inline = &corev1.Volume{Name: data.SpecName, VolumeSource: corev1.VolumeSource{CSI: &corev1.CSIVolumeSource{Driver: data.Driver}}}
			return spec, nil
		}
		pv.Name = data.SpecName
		pv.Spec.CSI = &corev1.CSIPersistentVolumeSource{Driver: data.Driver, VolumeHandle: data.Handle}
		spec.PV = pv
		return spec, nil
	case l.plugin == localPluginName:
		path := k.layout.PodVolume(l.pod, l.plugin, l.name)
		if !block && !k.node.disk.Mounted(k.layout.GlobalMount(l.plugin, l.name)) {
			// MNT-453: only a device leads back to its path.
			return nil, fmt.Errorf("the source of the mount at %s is unknown", path)
		}
		fsType := "ext4"
		pv.Spec.Local = &corev1.LocalVolumeSource{Path: path, FSType: &fsType}
		spec.PV, spec.Plugin = pv, objects.Plugin{Name: l.plugin}
		return spec, nil
	case err == nil:
		spec.Plugin = objects.Plugin{Name: l.plugin, Backend: backend}
		if spec.Plugin.DeviceMountable(objects.VolumeSpec{PV: pv}) {
			spec.PV = pv
		} else {
			spec.Inline = &corev1.Volume{Name: l.name}
		}
		return spec, nil
	case isPodPlugin(l.plugin), l.plugin == nfsPluginName:
		spec.Plugin = objects.Plugin{Name: l.plugin}
		spec.Inline = &corev1.Volume{Name: l.name}
		return spec, nil
	}
	// MNT-453
	return nil, fmt.Errorf("no volume plugin matched name: %s", l.plugin)
}

const localPluginName = "kubernetes.io/local-volume"

// nfsPluginName is the plugin of shares, for which a node needs no backend.
const nfsPluginName = "kubernetes.io/nfs"

// correct compares what was reconstructed with the status of the node (MNT-457).
func (k *kubelet) correct(p *engine.Proc) {
	node, err := k.getNode(p)
	if err != nil {
		// MNT-457: the next pass tries again.
		k.reconciler.Rest()
		return
	}
	for _, name := range k.awaiting {
		v, ok := k.actual.Volume(name)
		if !ok {
			continue
		}
		at := slices.IndexFunc(node.Status.VolumesAttached, func(a corev1.AttachedVolume) bool { return a.Name == name })
		switch {
		case at >= 0:
			// MNT-457: what an operation has found out meanwhile is better.
			if v.Device == volumes.DeviceUncertain {
				v.DevicePath = node.Status.VolumesAttached[at].DevicePath
			}
			v.Attachable = volumes.Attachable
		case v.Attachable == volumes.AttachableUncertain:
			// MNT-457, MNT-928
			v.Attachable = volumes.NotAttachable
		}
		p.Decide("MNT-457", node, "volume %s is attached: %v", name, at >= 0)
	}
	k.awaiting = nil
	k.reconciler.Arm()
}

// cleanUpFailed deals once with what could not be reconstructed (MNT-461).
func (k *kubelet) cleanUpFailed(p *engine.Proc) {
	failed := k.failed
	// MNT-461: whatever comes of it.
	k.failed = nil
	for _, l := range failed {
		if k.wants(l) {
			// MNT-461: its SetUp makes the state anew.
			continue
		}
		tearDown, err := k.pluginFor(l.plugin).unmounter(l.pod, l.name)
		if err != nil {
			p.Decide("MNT-461", k.podRef(l.pod), "volume %s of %s is left as it is: %v", l.name, l.plugin, err)
			continue
		}
		name := corev1.UniqueVolumeName(l.plugin + "/" + string(l.pod) + "-" + l.name)
		k.start(podKey(name, l.pod), opUnmount, func(p *engine.Proc) error {
			if err := k.removeSubpaths(l.pod, l.name); err != nil {
				return err
			}
			if err := tearDown(p); err != nil {
				return err
			}
			// MNT-387, MNT-461: a pod that ends waits for what is on the disk, too.
			k.changed(l.pod)
			return nil
		})
	}
}

// wants reports whether the pod wants a volume of that name.
func (k *kubelet) wants(l leftover) bool {
	return slices.ContainsFunc(k.desired.PodVolumes(), func(pr volumes.DesiredPair) bool {
		return pr.Pod.Pod.UID == l.pod && pr.Pod.Spec.Name() == l.name
	})
}
