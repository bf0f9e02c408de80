package dump

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"

	"github.com/volsim/volsim/api"
	"github.com/volsim/volsim/fake"
	"github.com/volsim/volsim/internal/core/backends"
	"github.com/volsim/volsim/internal/core/evidence"
	"github.com/volsim/volsim/internal/core/intree"
	"github.com/volsim/volsim/internal/core/objects"
	"github.com/volsim/volsim/internal/core/snapshots"
	"github.com/volsim/volsim/storage"
)

// longestName is the maximum length of the name of a CSI driver.
const longestName = 63

// Backends infers the storage systems: a CSI driver for each name that objects mention, and the in-tree plugins of
// kube-controller-manager. notes names drivers that are skipped because their names are invalid.
// assumed has the largest sizes that drivers accept.
func (d *Dump) Backends(assumed *evidence.Set) (all []storage.Backend, notes []string) {
	drivers := map[string]*storagev1.CSIDriver{}
	mention := func(name string) {
		if _, known := drivers[name]; name != "" && !known && !strings.HasPrefix(name, backends.InTreePrefix) {
			drivers[name] = nil
		}
	}
	for _, obj := range d.Objects {
		switch obj := obj.(type) {
		case *storagev1.CSIDriver:
			drivers[obj.Name] = obj
		case *storagev1.CSINode:
			for _, of := range obj.Spec.Drivers {
				mention(of.Name)
			}
		case *storagev1.VolumeAttachment:
			mention(obj.Spec.Attacher)
		case *storagev1.StorageClass:
			if migrated, ok := objects.MigratedDriver(obj.Provisioner); ok {
				mention(migrated)
			} else {
				mention(obj.Provisioner)
			}
		case *corev1.PersistentVolume:
			if csi := objects.CSIOf(obj); csi != nil {
				mention(csi.Driver)
			}
			mention(obj.Annotations[objects.AnnProvisionedBy])
		case *corev1.Pod:
			for i := range obj.Spec.Volumes {
				if csi := obj.Spec.Volumes[i].CSI; csi != nil {
					mention(csi.Driver)
				}
				if plugin, ok := intree.PluginInPod(&obj.Spec.Volumes[i]); ok {
					driver, _ := intree.Driver(plugin)
					mention(driver)
				}
			}
		}
	}
	for _, name := range slices.Sorted(maps.Keys(drivers)) {
		if len(name) > longestName {
			notes = append(notes, fmt.Sprintf("Driver %s is not simulated: its name is longer than 63 characters.", name))
			continue
		}
		all = append(all, d.driver(name, drivers[name], assumed))
	}
	return append(all, fake.HostPath(), fake.NFS()), notes
}

// driver returns a driver of that name. object is its CSIDriver, nil if there is none.
func (d *Dump) driver(name string, object *storagev1.CSIDriver, assumed *evidence.Set) storage.Backend {
	var opts []fake.MemoryOption
	if size, limited := assumed.MaxSize(name); limited {
		opts = append(opts, fake.MaxSize(strconv.FormatInt(size, 10)))
	}
	if object != nil && object.Spec.AttachRequired != nil && !*object.Spec.AttachRequired {
		opts = append(opts, fake.Without(storage.Attach))
	}
	if segments := d.segments(name); len(segments) > 0 {
		opts = append(opts, fake.Topology(segments...))
	}
	b := fake.CSI(name, opts...)
	for _, node := range objectsOf[*storagev1.CSINode](d) {
		for _, of := range node.Spec.Drivers {
			if of.Name == name && of.Allocatable != nil && of.Allocatable.Count != nil {
				b.SetAttachLimit(node.Name, *of.Allocatable.Count)
			}
		}
	}
	d.attach(b)
	d.takeSnapshots(b)
	return b
}

// takeSnapshots gives the driver the snapshots whose contents have a handle. The name of a request becomes the handle.
func (d *Dump) takeSnapshots(b *fake.Memory) {
	for _, obj := range d.Objects {
		if api.KindOf(obj) != snapshots.ContentKind {
			continue
		}
		content := snapshots.Of[snapshots.Content](obj)
		if content.Spec.Driver != b.Name() || content.Status == nil || content.Status.Handle == nil {
			continue
		}
		volume := objects.ValueOf(content.Spec.Source.Volume)
		if volume == "" {
			volume = "source of " + *content.Status.Handle // a snapshot that was there before its content
		}
		// The driver may reject what the real one allowed.
		_, _ = b.CreateSnapshot(storage.SnapshotRequest{Name: *content.Status.Handle, VolumeID: volume})
	}
}

// segments returns the topology segments of a driver: the labels of its nodes under its topology keys.
func (d *Dump) segments(name string) []storage.Segment {
	labels := map[string]map[string]string{}
	for _, node := range objectsOf[*corev1.Node](d) {
		labels[node.Name] = node.Labels
	}
	var segments []storage.Segment
	for _, node := range objectsOf[*storagev1.CSINode](d) {
		for _, of := range node.Spec.Drivers {
			segment := storage.Segment{}
			for _, key := range of.TopologyKeys {
				if value, ok := labels[node.Name][key]; ok {
					segment[key] = value
				}
			}
			known := slices.ContainsFunc(segments, func(s storage.Segment) bool { return maps.Equal(s, segment) })
			if of.Name == name && len(segment) > 0 && !known {
				segments = append(segments, segment)
			}
		}
	}
	return segments
}

// attach attaches the volumes of the driver according to the VolumeAttachments, except those that the driver rejects.
func (d *Dump) attach(b *fake.Memory) {
	pvs := map[string]*corev1.PersistentVolume{}
	for _, pv := range objectsOf[*corev1.PersistentVolume](d) {
		pvs[pv.Name] = pv
	}
	for _, va := range objectsOf[*storagev1.VolumeAttachment](d) {
		name := va.Spec.Source.PersistentVolumeName
		if va.Spec.Attacher != b.Name() || !va.Status.Attached || name == nil || !backends.Can(b, storage.Attach) {
			continue
		}
		if pv := pvs[*name]; pv != nil && objects.CSIOf(pv) != nil {
			// The driver may reject a combination that the real one allowed.
			_, _ = b.Attach(storage.NodeRequest{ID: backends.Handle(pv), Node: va.Spec.NodeName, Mode: attachMode(pv.Spec.AccessModes)})
		}
	}
}

// attachMode returns the single access mode with which a volume is attached (ATT-176).
func attachMode(modes []corev1.PersistentVolumeAccessMode) corev1.PersistentVolumeAccessMode {
	switch {
	case slices.Contains(modes, corev1.ReadWriteMany):
		return corev1.ReadWriteMany
	case slices.Contains(modes, corev1.ReadOnlyMany):
		return corev1.ReadOnlyMany
	}
	return corev1.ReadWriteOnce
}

// objectsOf returns the objects of one type, in the order of the input.
func objectsOf[T any](d *Dump) []T {
	var found []T
	for _, obj := range d.Objects {
		if of, ok := obj.(T); ok {
			found = append(found, of)
		}
	}
	return found
}
