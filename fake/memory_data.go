package fake

import (
	"cmp"
	"maps"
	"slices"
	"time"

	"github.com/volsim/volsim/storage"
	corev1 "k8s.io/api/core/v1"
)

// DataHolder is a backend whose volumes can be written and read, as a pod would. The volume must be published to the pod on the
// node; a backend that attaches can be written and read only where the volume is attached.
type DataHolder interface {
	Write(id string, pod storage.PodRef, node string, at time.Time) (Write, error)
	Read(id string, pod storage.PodRef, node string) (Write, error)
}

// Write is something that a pod wrote: it replaces what was on the volume. The zero value is an empty volume.
type Write struct {
	Version int // counts the writes of a volume's life, from 1
	Pod     storage.PodRef
	Node    string
	At      time.Time
}

// VolumeState is what a [Memory] knows about a volume. It is a copy.
type VolumeState struct {
	ID       string
	Size     int64 // bytes; 0 for a static volume that was never expanded
	Usable   int64 // bytes that the file system makes use of
	Static   bool  // not created by this backend
	Deleted  bool
	Topology []storage.Segment
	// Modified are the parameters that Modify has given it, nil if none.
	Modified map[string]string
	// In the order of node and target path:
	Attached  []Attachment
	Staged    []Staging
	Published []Publication
	// Content is what the next reader sees, Writes is what was ever written.
	Content Write
	Writes  []Write
}

func (v *volume) state() VolumeState {
	return VolumeState{ID: v.id, Size: v.size, Usable: v.used, Static: v.request == nil, Deleted: v.deleted, Topology: v.answer().Topology, Modified: maps.Clone(v.modified),
		Attached: slices.Clone(v.attached), Staged: slices.Clone(v.staged), Published: slices.Clone(v.published),
		Content: v.content, Writes: slices.Clone(v.writes)}
}

// Volumes are the volumes there are, by ID.
func (m *Memory) Volumes() []VolumeState {
	states := make([]VolumeState, 0, len(m.volumes))
	for _, id := range slices.Sorted(maps.Keys(m.volumes)) {
		states = append(states, m.volumes[id].state())
	}
	return states
}

// Volume is the volume of that ID, if it exists.
func (m *Memory) Volume(id string) (VolumeState, bool) {
	v, ok := m.volumes[id]
	if !ok {
		return VolumeState{}, false
	}
	return v.state(), true
}

// Deleted are the volumes there were, in the order of their deletion. An ID that was used again stands here once for each time.
func (m *Memory) Deleted() []VolumeState {
	states := make([]VolumeState, len(m.gone))
	for i, v := range m.gone {
		states[i] = v.state()
	}
	return states
}

// Writers are the publications through which the volume can be written at this moment.
func (m *Memory) Writers(id string) []Publication {
	v, ok := m.volumes[id]
	if !ok {
		return nil
	}
	return m.writers(v)
}

func (m *Memory) writers(v *volume) []Publication {
	var writers []Publication
	for _, p := range v.published {
		if p.writable() && m.reaches(v, p.Node, true) {
			writers = append(writers, p)
		}
	}
	return writers
}

// writable reports whether the pod may write: a driver that is asked for a volume that many nodes read mounts it for reading.
func (p Publication) writable() bool { return !p.ReadOnly && p.Mode != corev1.ReadOnlyMany }

// reaches reports whether the node can get at the data: always, if the backend does not attach.
func (m *Memory) reaches(v *volume, node string, write bool) bool {
	if !m.able[storage.Attach] || m.lenient && len(v.attached) == 0 {
		return true
	}
	return slices.ContainsFunc(v.attached, func(a Attachment) bool { return a.Node == node && !(write && a.ReadOnly) })
}

// Write puts a new version on the volume, at the given moment of virtual time. It fails if the pod cannot write there.
func (m *Memory) Write(id string, pod storage.PodRef, node string, at time.Time) (Write, error) {
	v, err := m.access(id, pod, node, true)
	if err != nil {
		return Write{}, err
	}
	w := Write{Version: len(v.writes) + 1, Pod: pod, Node: node, At: at}
	v.writes = append(v.writes, w)
	v.content = w
	return w, nil
}

// Read is what the pod finds on the volume: the last write, or the zero Write if there is none. It fails if the pod cannot read.
func (m *Memory) Read(id string, pod storage.PodRef, node string) (Write, error) {
	v, err := m.access(id, pod, node, false)
	if err != nil {
		return Write{}, err
	}
	return v.content, nil
}

func (m *Memory) access(id string, pod storage.PodRef, node string, write bool) (*volume, error) {
	v, ok := m.volumes[id]
	if !ok {
		return nil, m.refuse(storage.NotFound, "volume %s does not exist", id)
	}
	published := false
	for _, p := range v.published {
		if p.Node == node && p.Pod.Same(pod) && (!write || p.writable()) {
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

func sortProblems(problems []Problem) {
	slices.SortFunc(problems, func(a, b Problem) int {
		return cmp.Or(cmp.Compare(a.Volume, b.Volume), cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.Detail, b.Detail))
	})
}
