package fake

import (
	"cmp"
	"maps"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/volsim/volsim/storage"
)

// VolumeState is a copy of the state of a volume.
type VolumeState struct {
	ID        string            // the volumeHandle
	Size      int64             // bytes; 0 for a static volume that was never expanded
	Usable    int64             // bytes that the file system uses
	Static    bool              // not created by this backend
	Topology  []storage.Segment // segments that reach the volume; none: all nodes
	Modified  map[string]string // parameters set by Modify; nil if none
	Attached  []Use             // sorted by node
	Staged    []Use             // sorted by node
	Published []Use             // sorted by node and path
	Content   storage.Write     // the content of the volume; zero if nothing was written since it was created or recycled
	Origin    string            // ID of the volume or snapshot whose copy it is; "" for a volume that was created empty
	Writes    []storage.Write   // all writes, in order
}

// Use is a volume attached to a node, staged on a node, or published to a pod there. Fields have the values of the request.
type Use struct {
	Node       string                            // name of the node
	Path       string                            // where the volume is staged or published; "" for attached volumes
	Pod        storage.PodRef                    // the pod of a published volume
	Mode       corev1.PersistentVolumeAccessMode // default ReadWriteOnce
	VolumeMode corev1.PersistentVolumeMode       // default Filesystem; "" for attached volumes
	ReadOnly   bool                              // attached or published for reading only
}

func (v *volume) state() VolumeState {
	return VolumeState{ID: v.id, Size: v.size, Usable: v.usable, Static: v.request == nil, Topology: v.describe().Topology,
		Modified: maps.Clone(v.modified),
		Attached: slices.Clone(v.attached), Staged: slices.Clone(v.staged), Published: slices.Clone(v.published),
		Content: v.content, Origin: v.origin, Writes: slices.Clone(v.writes)}
}

// Volumes implements Memory.Volumes.
func (m *model) Volumes() []VolumeState {
	states := make([]VolumeState, 0, len(m.volumes))
	for _, id := range slices.Sorted(maps.Keys(m.volumes)) {
		states = append(states, m.volumes[id].state())
	}
	return states
}

// Volume implements Memory.Volume.
func (m *model) Volume(id string) (VolumeState, bool) {
	v, ok := m.volumes[id]
	if !ok {
		return VolumeState{}, false
	}
	return v.state(), true
}

// Deleted implements Memory.Deleted.
func (m *model) Deleted() []VolumeState {
	states := make([]VolumeState, len(m.deleted))
	for i, v := range m.deleted {
		states[i] = v.state()
	}
	return states
}

// writers returns the publications through which the volume can be written now.
func (m *model) writers(v *volume) []Use {
	var writers []Use
	for _, p := range v.published {
		if p.writable() && m.reaches(v, p.Node, true) {
			writers = append(writers, p)
		}
	}
	return writers
}

// writable reports whether the pod may write. A volume with mode ReadOnlyMany is mounted for reading.
func (u Use) writable() bool { return !u.ReadOnly && u.Mode != corev1.ReadOnlyMany }

// reaches reports whether the node can access the data. If the backend does not attach, every node can.
func (m *model) reaches(v *volume, node string, write bool) bool {
	if !m.able[storage.Attach] || m.lenient && len(v.attached) == 0 {
		return true
	}
	return slices.ContainsFunc(v.attached, func(u Use) bool { return u.Node == node && !(write && u.ReadOnly) })
}

// Write implements Memory.Write.
func (m *model) Write(id string, pod storage.PodRef, node string, at time.Time) (storage.Write, error) {
	v, err := m.access(id, pod, node, true)
	if err != nil {
		return storage.Write{}, err
	}
	w := storage.Write{Version: len(v.writes) + 1, Pod: pod, Node: node, At: at}
	v.writes = append(v.writes, w)
	v.content = w
	return w, nil
}

// Read implements Memory.Read.
func (m *model) Read(id string, pod storage.PodRef, node string) (storage.Write, error) {
	v, err := m.access(id, pod, node, false)
	if err != nil {
		return storage.Write{}, err
	}
	return v.content, nil
}

func (m *model) access(id string, pod storage.PodRef, node string, write bool) (*volume, error) {
	v, ok := m.volumes[id]
	if !ok {
		return nil, m.fail(storage.NotFound, "volume %s does not exist", id)
	}
	published := false
	for _, p := range v.published {
		if p.Node == node && samePod(p.Pod, pod) && (!write || p.writable()) {
			published = true
		}
	}
	switch {
	case !published && write:
		return nil, m.fail(storage.FailedPrecondition, "volume %s is not published to pod %s on node %s for writing", id, pod, node)
	case !published:
		return nil, m.fail(storage.FailedPrecondition, "volume %s is not published to pod %s on node %s", id, pod, node)
	case !m.reaches(v, node, write):
		return nil, m.fail(storage.FailedPrecondition, "volume %s is not attached to node %s", id, node)
	}
	return v, nil
}

// samePod compares pods by UID, or by name if one has no UID.
func samePod(a, b storage.PodRef) bool {
	if a.UID != "" && b.UID != "" {
		return a.UID == b.UID
	}
	return a.Namespace == b.Namespace && a.Name == b.Name
}

func sortProblems(problems []Problem) {
	slices.SortFunc(problems, func(a, b Problem) int {
		return cmp.Or(cmp.Compare(a.Volume, b.Volume), cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.Detail, b.Detail))
	})
}
