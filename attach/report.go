package attach

import (
	"slices"

	corev1 "k8s.io/api/core/v1"

	"github.com/volsim/volsim/internal/core/objects"
)

// report is the list that volumesAttached of one node should have. It is never removed (ATT-049).
type report struct {
	volumes map[corev1.UniqueVolumeName]struct{}
	dirty   bool
}

// setDirty sets whether the report has to be written.
func (w *actualState) setDirty(r *report, dirty bool) {
	switch {
	case dirty && !r.dirty:
		w.dirty++
	case !dirty && r.dirty:
		w.dirty--
	}
	r.dirty = dirty
}

func (w *actualState) anyDirty() bool { return w.dirty > 0 }

// report adds a volume to the report of a node, if it is in the actual state there.
func (w *actualState) report(at pair) {
	// ATT-048: an uncertain attachment is reported too.
	if _, ok := w.get(at); !ok {
		w.log.Info(4, "Volume is no longer attached to node", nodeName(at.node), volumeName(at))
		return
	}
	// ATT-049: the first volume of a node creates its report.
	r, ok := w.reports[at.node]
	if !ok {
		r = &report{volumes: map[corev1.UniqueVolumeName]struct{}{}}
		w.reports[at.node] = r
		w.log.Info(4, "Add new node to nodesToUpdateStatusFor", nodeName(at.node))
	}
	// ATT-042: a volume that is reported already causes no write.
	if _, reported := r.volumes[at.volume]; !reported {
		r.volumes[at.volume] = struct{}{}
		w.setDirty(r, true)
		w.log.Info(4, "Report volume as attached to node", nodeName(at.node), volumeName(at))
	}
}

// unreport removes a volume from the report of a node.
func (w *actualState) unreport(at pair) {
	r, ok := w.reports[at.node]
	if !ok {
		return
	}
	// ATT-047: a volume that is not reported causes no write.
	if _, reported := r.volumes[at.volume]; reported {
		delete(r.volumes, at.volume)
		w.setDirty(r, true)
	}
}

// markDirty marks the report of a node, if it has one, to be written again.
func (w *actualState) markDirty(node string) {
	if r, ok := w.reports[node]; ok {
		w.setDirty(r, true)
	}
}

// dirtyNodes lists the nodes whose report has to be written.
func (w *actualState) dirtyNodes() []string {
	if w.dirty == 0 {
		return nil
	}
	var nodes []string
	for node, r := range w.reports {
		if r.dirty {
			nodes = append(nodes, node)
		}
	}
	slices.Sort(nodes)
	return nodes
}

// take returns the report of a node, to be written now. It reports false if there is nothing to write.
func (w *actualState) take(node string) ([]corev1.AttachedVolume, bool) {
	r, ok := w.reports[node]
	if !ok || !r.dirty {
		return nil, false
	}
	// ATT-113: the flag is cleared before the write, and set again if that fails.
	w.setDirty(r, false)
	if len(r.volumes) == 0 {
		return nil, true
	}
	volumes := make([]corev1.AttachedVolume, 0, len(r.volumes))
	// ATT-110: another order would be a change. SIM: by name.
	for _, volume := range objects.SortedKeys(r.volumes) {
		// ATT-006: the device path belongs to the volume, and is empty for CSI.
		path := ""
		if v, ok := w.volumes[volume]; ok {
			path = v.devicePath
		}
		volumes = append(volumes, corev1.AttachedVolume{Name: volume, DevicePath: path})
	}
	return volumes, true
}
