package attach

import (
	"cmp"
	"slices"

	corev1 "k8s.io/api/core/v1"
)

// report is the list that volumesAttached of one node should have, by name and without device paths. It is never removed (ATT-049).
type report struct {
	volumes []corev1.AttachedVolume
	// shared: a Node has the list, so that it does not change any more.
	shared bool
	dirty  bool
}

// find returns the position of a volume in the report, and whether it is there.
func (r *report) find(volume corev1.UniqueVolumeName) (int, bool) {
	return slices.BinarySearchFunc(r.volumes, volume, func(v corev1.AttachedVolume, name corev1.UniqueVolumeName) int { return cmp.Compare(v.Name, name) })
}

// add adds a volume at a position.
func (r *report) add(i int, volume corev1.UniqueVolumeName) {
	if r.shared {
		r.volumes = append(make([]corev1.AttachedVolume, 0, len(r.volumes)+1), r.volumes...)
	}
	r.volumes, r.shared = slices.Insert(r.volumes, i, corev1.AttachedVolume{Name: volume}), false
}

// remove removes the volume at a position.
func (r *report) remove(i int) {
	switch {
	case i == 0:
		// Volumes that are detached together are detached by name: the rest of a shared list is shared.
		r.volumes = r.volumes[1:]
	case r.shared:
		r.volumes, r.shared = slices.Concat(r.volumes[:i], r.volumes[i+1:]), false
	default:
		r.volumes = slices.Delete(r.volumes, i, i+1)
	}
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
		r = &report{}
		w.reports[at.node] = r
		w.log.Info(4, "Add new node to nodesToUpdateStatusFor", nodeName(at.node))
	}
	// ATT-042: a volume that is reported already causes no write.
	if i, reported := r.find(at.volume); !reported {
		r.add(i, at.volume)
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
	if i, reported := r.find(at.volume); reported {
		r.remove(i)
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
	// ATT-110: another order would be a change. SIM: by name.
	r.shared = true
	if w.paths == 0 {
		return slices.Clip(r.volumes), true
	}
	volumes := slices.Clone(r.volumes)
	for i := range volumes {
		// ATT-006: the device path belongs to the volume, and is empty for CSI.
		if v, ok := w.volumes[volumes[i].Name]; ok {
			volumes[i].DevicePath = v.devicePath
		}
	}
	return volumes, true
}
