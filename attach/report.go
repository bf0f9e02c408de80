package attach

import (
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
)

// report is what the status of one node should say about attached volumes. Once there, it stays (ATT-049).
type report struct {
	volumes map[corev1.UniqueVolumeName]struct{}
	dirty   bool
}

// setDirty notes whether the report has to be written.
func (w *actualWorld) setDirty(r *report, dirty bool) {
	switch {
	case dirty && !r.dirty:
		w.dirty++
	case !dirty && r.dirty:
		w.dirty--
	}
	r.dirty = dirty
}

func (w *actualWorld) anyDirty() bool { return w.dirty > 0 }

// report adds a volume to the report of a node, if it is anything to the controller there.
func (w *actualWorld) report(at pair) {
	// ATT-048: whether it is attached for sure is not asked.
	if _, ok := w.get(at); !ok {
		return
	}
	// ATT-049
	r, ok := w.reports[at.node]
	if !ok {
		r = &report{volumes: map[corev1.UniqueVolumeName]struct{}{}}
		w.reports[at.node] = r
	}
	// ATT-042: nothing to write if it is there already.
	if _, reported := r.volumes[at.volume]; !reported {
		r.volumes[at.volume] = struct{}{}
		w.setDirty(r, true)
	}
}

// unreport takes a volume out of the report of a node.
func (w *actualWorld) unreport(at pair) {
	r, ok := w.reports[at.node]
	if !ok {
		return
	}
	// ATT-047: nothing to write if it is not there.
	if _, reported := r.volumes[at.volume]; reported {
		delete(r.volumes, at.volume)
		w.setDirty(r, true)
	}
}

// soil has the report of a node written again, if it has one.
func (w *actualWorld) soil(node string) {
	if r, ok := w.reports[node]; ok {
		w.setDirty(r, true)
	}
}

// dirtyNodes lists the nodes whose report is not written.
func (w *actualWorld) dirtyNodes() []string {
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

// take is the report of a node, to be written now. It reports false if it is written already.
func (w *actualWorld) take(node string) ([]corev1.AttachedVolume, bool) {
	r, ok := w.reports[node]
	if !ok || !r.dirty {
		return nil, false
	}
	// ATT-113: the flag is cleared before the write.
	w.setDirty(r, false)
	var volumes []corev1.AttachedVolume
	// ATT-110: SIM: by name, since a pure reorder would be a change.
	for _, volume := range slices.Sorted(maps.Keys(r.volumes)) {
		// ATT-006: the device path belongs to the volume, and is empty for CSI.
		path := ""
		if v, ok := w.volumes[volume]; ok {
			path = v.devicePath
		}
		volumes = append(volumes, corev1.AttachedVolume{Name: volume, DevicePath: path})
	}
	return volumes, true
}
