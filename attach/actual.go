package attach

import (
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/volsim/volsim/internal/core/klog"
	"github.com/volsim/volsim/internal/core/objects"
)

// actualState is which volumes the controller takes to be attached to which nodes (ATT-040). It is in memory only.
type actualState struct {
	volumes map[corev1.UniqueVolumeName]*actualVolume
	// ATT-043: by node, the volumes that it last reported in use, and those that are assumed to be.
	inUse   map[string]map[corev1.UniqueVolumeName]struct{}
	reports map[string]*report
	dirty   int // number of reports that have to be written
	paths   int // number of volumes with a device path
	log     *klog.Logger
	// pass is not nil while a pass detaches volumes.
	pass *passBegin
}

// passBegin is the actual state at the begin of a pass, as far as it has changed since.
type passBegin struct {
	inUse map[string]map[corev1.UniqueVolumeName]struct{} // by node
	added map[pair]struct{}
}

// beginPass keeps the actual state as it is now, until endPass.
func (w *actualState) beginPass() *passBegin {
	w.pass = &passBegin{}
	return w.pass
}

func (w *actualState) endPass() { w.pass = nil }

// had reports whether the volume was attached, certainly or not.
func (b *passBegin) had(at pair) bool {
	_, added := b.added[at]
	return !added
}

// mounted reports whether the node used the volume.
func (b *passBegin) mounted(w *actualState, at pair) bool {
	if inUse, changed := b.inUse[at.node]; changed {
		_, mounted := inUse[at.volume]
		return mounted
	}
	return w.mounted(at)
}

// actualVolume is a volume that is, or may be, attached to nodes. The last attachment to any node sets spec and device path (ATT-040).
type actualVolume struct {
	spec        objects.VolumeSpec
	devicePath  string
	attachments []*attachment // by node
}

type attachment struct {
	node      string
	confirmed bool
	// requested is when a pass first found that the volume should be detached; zero if none did (ATT-045).
	requested time.Time
	// waiting is the last recorded reason for not detaching yet, so that the trace has it once.
	waiting string
}

// attachState is the state of a volume on a node.
type attachState int

// ATT-041: an attachment is uncertain after a failed operation, and after a restart if only a VolumeAttachment shows it.
const (
	detached attachState = iota
	uncertain
	attached
)

func newActualState() actualState {
	return actualState{
		volumes: map[corev1.UniqueVolumeName]*actualVolume{},
		inUse:   map[string]map[corev1.UniqueVolumeName]struct{}{},
		reports: map[string]*report{},
	}
}

func (w *actualState) get(at pair) (*attachment, bool) {
	v, ok := w.volumes[at.volume]
	if !ok {
		return nil, false
	}
	i, ok := v.find(at.node)
	if !ok {
		return nil, false
	}
	return v.attachments[i], true
}

// find returns the position of the attachment to a node, and whether there is one.
func (v *actualVolume) find(node string) (int, bool) {
	return slices.BinarySearchFunc(v.attachments, node, func(a *attachment, node string) int { return strings.Compare(a.node, node) })
}

func (w *actualState) state(at pair) attachState {
	a, ok := w.get(at)
	switch {
	case !ok:
		return detached
	case a.confirmed:
		return attached
	}
	return uncertain
}

// spec returns the spec of the volume; it is unknown for volumes that were found in the status of a node only.
func (w *actualState) spec(volume corev1.UniqueVolumeName) objects.VolumeSpec {
	if v, ok := w.volumes[volume]; ok {
		return v.spec
	}
	return objects.VolumeSpec{}
}

// markAttached records that the volume is attached to the node.
func (w *actualState) markAttached(at pair, spec objects.VolumeSpec, devicePath string) {
	// ATT-042: the time of a detach request and the use by the node do not change.
	w.mark(at, spec, devicePath, true)
	w.report(at)
}

// markUncertain records that the volume may be attached to the node.
func (w *actualState) markUncertain(at pair, spec objects.VolumeSpec) {
	// ATT-042, ATT-046: the node's volumesAttached does not change.
	w.mark(at, spec, "", false)
}

func (w *actualState) mark(at pair, spec objects.VolumeSpec, devicePath string, confirmed bool) {
	v, ok := w.volumes[at.volume]
	if !ok {
		v = &actualVolume{}
		w.volumes[at.volume] = v
	}
	if ok {
		w.log.Info(2, "Volume is already added to attachedVolume list to node, update device path", volumeName(at), nodeName(at.node),
			klog.String("devicePath", devicePath))
	}
	w.setPath(v, devicePath)
	v.spec = spec
	i, ok := v.find(at.node)
	if !ok {
		v.attachments = slices.Insert(v.attachments, i, &attachment{node: at.node})
		// ATT-042, ATT-044: a new attachment counts as mounted until the node reports again.
		if w.inUse[at.node] == nil {
			w.inUse[at.node] = map[corev1.UniqueVolumeName]struct{}{}
		}
		w.inUse[at.node][at.volume] = struct{}{}
		if w.pass != nil {
			if w.pass.added == nil {
				w.pass.added = map[pair]struct{}{}
			}
			w.pass.added[at] = struct{}{}
		}
	} else if w.log.Enabled(5) {
		w.log.Info(5, "Volume is already added to attachedVolume list to the node", volumeName(at), nodeName(at.node),
			klog.JSON("currentAttachState", confirmed))
	}
	v.attachments[i].confirmed = confirmed
}

// markDetached removes the volume from the node.
func (w *actualState) markDetached(at pair) {
	v, ok := w.volumes[at.volume]
	if !ok {
		return
	}
	// ATT-042: the use by the node does not change.
	if i, ok := v.find(at.node); ok {
		v.attachments = slices.Delete(v.attachments, i, i+1)
	}
	if len(v.attachments) == 0 {
		w.setPath(v, "")
		delete(w.volumes, at.volume)
	}
	w.unreport(at)
}

// setPath sets the device path of a volume.
func (w *actualState) setPath(v *actualVolume, path string) {
	if v.devicePath != "" {
		w.paths--
	}
	if path != "" {
		w.paths++
	}
	v.devicePath = path
}

// mounted reports whether the node uses the volume, by its last report or by assumption (ATT-043).
func (w *actualState) mounted(at pair) bool {
	_, inUse := w.inUse[at.node][at.volume]
	return inUse
}

// setInUse sets the volumes that a node uses.
func (w *actualState) setInUse(node string, volumes []corev1.UniqueVolumeName) {
	if w.log.Enabled(5) {
		w.log.Info(5, "SetVolumesMountedByNode volume to the node", nodeName(node), klog.JSON("volumeNames", volumes))
	}
	if b := w.pass; b != nil {
		if b.inUse == nil {
			b.inUse = map[string]map[corev1.UniqueVolumeName]struct{}{}
		}
		if _, changed := b.inUse[node]; !changed {
			b.inUse[node] = w.inUse[node]
		}
	}
	// ATT-043: a report replaces everything, assumptions included.
	if len(volumes) == 0 {
		delete(w.inUse, node)
		return
	}
	if w.pass == nil && isSet(w.inUse[node], volumes) {
		return // most reports repeat the last one
	}
	set := make(map[corev1.UniqueVolumeName]struct{}, len(volumes))
	for _, volume := range volumes {
		set[volume] = struct{}{}
	}
	w.inUse[node] = set
}

// isSet reports whether a set has exactly the volumes of a list. It may return false for a list that is not in order.
func isSet(set map[corev1.UniqueVolumeName]struct{}, volumes []corev1.UniqueVolumeName) bool {
	if len(set) != len(volumes) {
		return false
	}
	for i, volume := range volumes {
		if _, ok := set[volume]; !ok || i > 0 && volumes[i-1] >= volume {
			return false
		}
	}
	return true
}

// attachedTo lists, by name, the nodes to which the volume is attached, without uncertain ones.
func (w *actualState) attachedTo(volume corev1.UniqueVolumeName) []string {
	var nodes []string
	if v, ok := w.volumes[volume]; ok {
		for _, a := range v.attachments {
			if a.confirmed {
				nodes = append(nodes, a.node)
			}
		}
	}
	return nodes
}

// confirmed lists, by node, the attached volumes, without uncertain ones.
func (w *actualState) confirmed() map[string][]corev1.UniqueVolumeName {
	byNode := map[string][]corev1.UniqueVolumeName{}
	for _, volume := range objects.SortedKeys(w.volumes) {
		for _, a := range w.volumes[volume].attachments {
			if a.confirmed {
				byNode[a.node] = append(byNode[a.node], volume)
			}
		}
	}
	return byNode
}

// requestDetach records that the volume should be detached, and returns for how long that has been so.
func (w *actualState) requestDetach(at pair, a *attachment, now time.Time) time.Duration {
	// ATT-045: the time of the first request counts.
	if a.requested.IsZero() {
		a.requested = now
		w.log.Info(4, "Set detach request time to current time for volume on node", nodeName(at.node), volumeName(at))
	}
	return now.Sub(a.requested)
}

// requestedAt returns when the detachment was first requested, zero if it was not.
func (w *actualState) requestedAt(at pair) time.Time {
	if a, ok := w.get(at); ok {
		return a.requested
	}
	return time.Time{}
}

// cancelDetach records that the volume stays attached.
func (w *actualState) cancelDetach(at pair) {
	// ATT-045, ATT-073: only a pod that wants the volume again clears the time of the request.
	if a, ok := w.get(at); ok {
		a.requested, a.waiting = time.Time{}, ""
	}
}
