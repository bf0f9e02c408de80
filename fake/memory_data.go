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
	Deleted   bool              // it no longer exists
	Topology  []storage.Segment // segments that reach it; none is every node
	Modified  map[string]string // parameters set by Modify; nil if none
	Attached  []Attachment      // by node
	Staged    []Staging         // by node
	Published []Publication     // by node and target path
	Content   storage.Write     // what the next reader finds
	Writes    []storage.Write   // every write, in order
}

func (v *volume) state() VolumeState {
	return VolumeState{ID: v.id, Size: v.size, Usable: v.used, Static: v.request == nil, Deleted: v.deleted, Topology: v.answer().Topology,
		Modified: maps.Clone(v.modified),
		Attached: slices.Clone(v.attached), Staged: slices.Clone(v.staged), Published: slices.Clone(v.published),
		Content: v.content, Writes: slices.Clone(v.writes)}
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
	states := make([]VolumeState, len(m.gone))
	for i, v := range m.gone {
		states[i] = v.state()
	}
	return states
}

// Writers implements Memory.Writers.
func (m *model) Writers(id string) []Publication {
	v, ok := m.volumes[id]
	if !ok {
		return nil
	}
	return m.writers(v)
}

func (m *model) writers(v *volume) []Publication {
	var writers []Publication
	for _, p := range v.published {
		if p.writable() && m.reaches(v, p.Node, true) {
			writers = append(writers, p)
		}
	}
	return writers
}

// writable reports whether the pod may write. A volume with mode ReadOnlyMany is mounted for reading.
func (p Publication) writable() bool { return !p.ReadOnly && p.Mode != corev1.ReadOnlyMany }

// reaches reports whether the node can access the data: always, if the backend does not attach.
func (m *model) reaches(v *volume, node string, write bool) bool {
	if !m.able[storage.Attach] || m.lenient && len(v.attached) == 0 {
		return true
	}
	return slices.ContainsFunc(v.attached, func(a Attachment) bool { return a.Node == node && !(write && a.ReadOnly) })
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
		return nil, m.refuse(storage.NotFound, "volume %s does not exist", id)
	}
	published := false
	for _, p := range v.published {
		if p.Node == node && samePod(p.Pod, pod) && (!write || p.writable()) {
			published = true
		}
	}
	switch {
	case !published && write:
		return nil, m.refuse(storage.FailedPrecondition, "volume %s is not published to pod %s on node %s for writing", id, pod, node)
	case !published:
		return nil, m.refuse(storage.FailedPrecondition, "volume %s is not published to pod %s on node %s", id, pod, node)
	case !m.reaches(v, node, write):
		return nil, m.refuse(storage.FailedPrecondition, "volume %s is not attached to node %s", id, node)
	}
	return v, nil
}

// samePod compares by UID; by name when one side has no UID.
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
