package check

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/volsim/volsim/internal/core/backends"
	"github.com/volsim/volsim/internal/core/objects"
	"github.com/volsim/volsim/storage"
	"github.com/volsim/volsim/trace"
)

// volumeID identifies a volume at a backend. Two PersistentVolumes may refer to the same one.
type volumeID struct{ Backend, ID string }

// String returns "ID of backend".
func (id volumeID) String() string { return id.ID + " of " + id.Backend }

// use is an attachment, stage or publication of a volume, as the calls show it.
type use struct {
	// Op is storage.Attach, storage.Stage or storage.Publish.
	Op   storage.Op
	Node string
	// Pod is the pod of a published volume.
	Pod types.UID
	// Entry is the call.
	Entry trace.Entry
	// Lost is the fault that turned the success of the last such call into a final error for its caller; its Seq is zero if there is none.
	Lost trace.Entry
}

// record is the state of one volume.
type record struct {
	id   volumeID
	pvs  []string                 // names of the PersistentVolumes about it, in order
	last *corev1.PersistentVolume // the one written last, even if it is deleted
	uses []use                    // in the order in which they came about
	// forced are the decisions to detach it by force, by node, until its next attachment there.
	forced map[string]trace.Entry
	// found are the starts of kubelets that found the volume on their disk, by node, until it is no longer there.
	found map[string]trace.Entry
	// orphaned are the starts of kubelets that do not know that the volume is staged, because no pod there has it, by node.
	orphaned map[string]trace.Entry
	// files are the nodes that lost their mounts of the volume but still have the directories.
	files map[string]bool
}

// empty reports whether the record can be dropped.
func (r *record) empty() bool { return len(r.pvs) == 0 && len(r.uses) == 0 && len(r.files) == 0 }

func (r *record) find(op storage.Op, node string, pod types.UID) int {
	for i := range r.uses {
		if u := &r.uses[i]; u.Op == op && u.Node == node && u.Pod == pod {
			return i
		}
	}
	return -1
}

// first returns the oldest use of that kind on the node, nil if there is none.
func (r *record) first(op storage.Op, node string) *use {
	for i := range r.uses {
		if r.uses[i].Op == op && r.uses[i].Node == node {
			return &r.uses[i]
		}
	}
	return nil
}

// mountedOn reports whether the volume is staged or published on the node.
func (r *record) mountedOn(node string) bool {
	return r.first(storage.Stage, node) != nil || r.first(storage.Publish, node) != nil
}

// idOf returns the volume of a PersistentVolume. ok is false if no backend serves it.
func (s *state) idOf(pv *corev1.PersistentVolume) (id volumeID, ok bool) {
	spec := objects.SpecOf(pv)
	if csi := spec.CSI(); csi != nil {
		return volumeID{csi.Driver, csi.VolumeHandle}, true
	}
	plugin, err := objects.PluginOf(s.backends, spec)
	if err != nil || plugin.Backend == nil {
		return volumeID{}, false
	}
	return volumeID{plugin.Backend.Name(), spec.ID()}, true
}

// uniqueName returns the name that nodes use for the volume of a PersistentVolume; "" if no backend serves it.
func (s *state) uniqueName(pv *corev1.PersistentVolume) corev1.UniqueVolumeName {
	spec := objects.SpecOf(pv)
	if csi := spec.CSI(); csi != nil {
		return objects.CSIVolumeName(csi.Driver, csi.VolumeHandle)
	}
	plugin, err := objects.PluginOf(s.backends, spec)
	if err != nil || plugin.Backend == nil {
		return ""
	}
	return objects.UniqueVolumeName(plugin, spec)
}

// attachable reports whether the volume must be attached before a node can use it.
func (s *state) attachable(pv *corev1.PersistentVolume) bool {
	plugin, err := objects.PluginOf(s.backends, objects.SpecOf(pv))
	if err != nil || plugin.Backend == nil || !backends.Can(plugin.Backend, storage.Attach) {
		return false
	}
	return plugin.Attachable(objects.SpecOf(pv), s.drivers[plugin.Driver])
}

// can reports whether the backend of the volume supports op.
func (s *state) can(id volumeID, op storage.Op) bool { return s.backends.Has(id.Backend, op) }
