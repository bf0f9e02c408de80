package attach

import (
	"maps"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/volsim/volsim/internal/core/objects"
)

// actualWorld is what the controller believes to be attached where (ATT-040). It lives in memory only.
type actualWorld struct {
	volumes map[corev1.UniqueVolumeName]*actualVolume
	// ATT-043: what each node said last that it uses, and what is assumed.
	inUse   map[string]map[corev1.UniqueVolumeName]struct{}
	reports map[string]*report
	dirty   int // reports that are not written
}

// actualVolume is a volume that is, or may be, attached to nodes. Spec and device path are those of the last writer, whatever the
// node (ATT-040).
type actualVolume struct {
	spec       objects.VolumeSpec
	devicePath string
	nodes      map[string]*attachment
}

type attachment struct {
	confirmed bool
	// requested is when the first pass found that the volume should be detached, zero if none did (ATT-045).
	requested time.Time
	// waiting is the rule by which detaching was put off last, so that the trace has it once.
	waiting string
}

// attachState is what is known of a volume on a node.
type attachState int

// ATT-041
const (
	detached attachState = iota
	uncertain
	attached
)

func newActualWorld() actualWorld {
	return actualWorld{
		volumes: map[corev1.UniqueVolumeName]*actualVolume{},
		inUse:   map[string]map[corev1.UniqueVolumeName]struct{}{},
		reports: map[string]*report{},
	}
}

func (w *actualWorld) get(at pair) (*attachment, bool) {
	v, ok := w.volumes[at.volume]
	if !ok {
		return nil, false
	}
	a, ok := v.nodes[at.node]
	return a, ok
}

func (w *actualWorld) state(at pair) attachState {
	a, ok := w.get(at)
	switch {
	case !ok:
		return detached
	case a.confirmed:
		return attached
	}
	return uncertain
}

// spec is the spec of the volume, unknown if nobody gave one.
func (w *actualWorld) spec(volume corev1.UniqueVolumeName) objects.VolumeSpec {
	if v, ok := w.volumes[volume]; ok {
		return v.spec
	}
	return objects.VolumeSpec{}
}

// markAttached notes that the volume is attached to the node.
func (w *actualWorld) markAttached(at pair, spec objects.VolumeSpec, devicePath string) {
	// ATT-042: what was asked for and what is in use stay as they are.
	w.mark(at, spec, devicePath, true)
	w.report(at)
}

// markUncertain notes that the volume may be attached to the node.
func (w *actualWorld) markUncertain(at pair, spec objects.VolumeSpec) {
	// ATT-042, ATT-046: the report does not follow.
	w.mark(at, spec, "", false)
}

func (w *actualWorld) mark(at pair, spec objects.VolumeSpec, devicePath string, confirmed bool) {
	v, ok := w.volumes[at.volume]
	if !ok {
		v = &actualVolume{nodes: map[string]*attachment{}}
		w.volumes[at.volume] = v
	}
	v.spec, v.devicePath = spec, devicePath
	a, ok := v.nodes[at.node]
	if !ok {
		a = &attachment{}
		v.nodes[at.node] = a
		// ATT-042, ATT-044: mounted until the node says otherwise.
		if w.inUse[at.node] == nil {
			w.inUse[at.node] = map[corev1.UniqueVolumeName]struct{}{}
		}
		w.inUse[at.node][at.volume] = struct{}{}
	}
	a.confirmed = confirmed
}

// markDetached forgets the volume on the node.
func (w *actualWorld) markDetached(at pair) {
	v, ok := w.volumes[at.volume]
	if !ok {
		return
	}
	// ATT-042: what is in use stays as it is.
	delete(v.nodes, at.node)
	if len(v.nodes) == 0 {
		delete(w.volumes, at.volume)
	}
	w.unreport(at)
}

// mounted reports whether the node uses the volume, as far as it said or is assumed to (ATT-043).
func (w *actualWorld) mounted(at pair) bool {
	_, inUse := w.inUse[at.node][at.volume]
	return inUse
}

// setInUse replaces what a node uses.
func (w *actualWorld) setInUse(node string, volumes []corev1.UniqueVolumeName) {
	// ATT-043: as a whole, whatever was assumed.
	if len(volumes) == 0 {
		delete(w.inUse, node)
		return
	}
	set := make(map[corev1.UniqueVolumeName]struct{}, len(volumes))
	for _, volume := range volumes {
		set[volume] = struct{}{}
	}
	w.inUse[node] = set
}

// attachedTo lists the nodes that the volume is attached to for sure.
func (w *actualWorld) attachedTo(volume corev1.UniqueVolumeName) []string {
	var nodes []string
	if v, ok := w.volumes[volume]; ok {
		for node, a := range v.nodes {
			if a.confirmed {
				nodes = append(nodes, node)
			}
		}
	}
	slices.Sort(nodes)
	return nodes
}

// confirmed lists, by node, the volumes that are attached for sure.
func (w *actualWorld) confirmed() map[string][]corev1.UniqueVolumeName {
	byNode := map[string][]corev1.UniqueVolumeName{}
	for _, volume := range slices.Sorted(maps.Keys(w.volumes)) {
		for node, a := range w.volumes[volume].nodes {
			if a.confirmed {
				byNode[node] = append(byNode[node], volume)
			}
		}
	}
	return byNode
}

// requestDetach notes that the volume should be detached, and says for how long that has been so.
func (w *actualWorld) requestDetach(a *attachment, now time.Time) time.Duration {
	// ATT-045: the first time counts.
	if a.requested.IsZero() {
		a.requested = now
	}
	return now.Sub(a.requested)
}

// requestedAt is when the detachment was first asked for, zero if it was not.
func (w *actualWorld) requestedAt(at pair) time.Time {
	if a, ok := w.get(at); ok {
		return a.requested
	}
	return time.Time{}
}

// touch notes that the volume is to stay attached.
func (w *actualWorld) touch(at pair) {
	// ATT-045, ATT-073: only this clears the time.
	if a, ok := w.get(at); ok {
		a.requested, a.waiting = time.Time{}, ""
	}
}
