package fake

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/volsim/volsim/storage"
	corev1 "k8s.io/api/core/v1"
)

// Memory is a backend that keeps its volumes in memory, and remembers who used them how. [CSI] makes one; [Plugin] is one that
// acts as an in-tree plugin. Its methods are for one goroutine at a time.
//
// A volume's ID is the name it was created by. An ID that it never heard of is the ID of a static volume, made by other means,
// of unknown size, and is taken as it comes ([CreatedOnly] changes that); the ID of a deleted volume is code NotFound.
//
// Unless it is [Lenient] it refuses what a good driver refuses: to attach a volume of a single node to a second one, to stage
// before it is attached, to publish before it is staged, to unstage what a pod has, to delete what is in use. To detach is never
// refused, since the control plane may force it; but the pods left behind cannot write any more.
type Memory struct {
	name   string
	inTree bool
	settings

	volumes  map[string]*volume
	gone     []*volume // deleted, in order of deletion
	problems []Problem

	nodeLimits map[string]int32 // attach limits of single nodes
	heard      []func()         // see OnAttachLimit
}

// settings are what options change.
type settings struct {
	able        map[storage.Op]bool
	latency     map[storage.Op]time.Duration
	minSize     int64
	maxSize     int64 // 0 is no limit
	quota       int64 // 0 is no limit
	attachLimit *int32
	mountGroup  bool
	segments    []storage.Segment
	lenient     bool
	createdOnly bool
	offline     bool
	mutable     []string // nil is any
	faults      []string // of the options
}

// volume is one life of a volume: from creation, or first use, to deletion.
type volume struct {
	id        string
	request   *storage.CreateRequest // nil: static
	response  storage.CreateResponse
	size      int64             // 0: unknown
	used      int64             // how much of size a file system makes use of
	modified  map[string]string // by Modify
	block     bool
	attached  []Attachment
	staged    []Staging
	published []Publication
	writes    []Write
	content   Write
	deleted   bool
	revived   bool                  // an earlier life was deleted, and this one was not created
	pv        storage.DeleteRequest // what deleted it
}

// CSI makes a CSI driver that can do everything but recycle. The name is its driver name, such as "disk.example.com".
func CSI(name string, opts ...MemoryOption) *Memory {
	m := newMemory(name, storage.Create, storage.Delete, storage.Attach, storage.Detach, storage.Stage, storage.Unstage, storage.Publish, storage.Unpublish, storage.Expand, storage.NodeExpand, storage.Modify)
	m.apply(opts)
	return m
}

func newMemory(name string, able ...storage.Op) *Memory {
	m := &Memory{name: name, volumes: map[string]*volume{}}
	m.able = map[storage.Op]bool{}
	m.latency = map[storage.Op]time.Duration{}
	for _, op := range able {
		m.able[op] = true
	}
	return m
}

func (m *Memory) apply(opts []MemoryOption) {
	for i, opt := range opts {
		if opt == nil {
			m.fault("option %d is nil", i+1)
			continue
		}
		opt(m)
	}
	if m.maxSize > 0 && m.minSize > m.maxSize {
		m.fault("MinSize %d is more than MaxSize %d", m.minSize, m.maxSize)
	}
}

func (m *Memory) fault(format string, args ...any) {
	m.faults = append(m.faults, fmt.Sprintf(format, args...))
}

// Err tells what is wrong with the options, nil if nothing is. [NewSet] asks.
func (m *Memory) Err() error {
	if len(m.faults) == 0 {
		return nil
	}
	return fmt.Errorf("backend %s: %s", m.name, strings.Join(m.faults, "; "))
}

// Name is the name it was made with.
func (m *Memory) Name() string { return m.name }

// Can reports whether the options leave op to it.
func (m *Memory) Can(op storage.Op) bool { return m.able[op] }

// Delay is what [Latency] says, for every volume.
func (m *Memory) Delay(op storage.Op, _ string) time.Duration { return m.latency[op] }

// HasTopology reports whether there are segments; see [Topology].
func (m *Memory) HasTopology() bool { return len(m.segments) > 0 }

// Reboot forgets what is staged and published on the node. Attachments stay, and so does what was written.
func (m *Memory) Reboot(node string) {
	for _, v := range m.volumes {
		v.staged = slices.DeleteFunc(v.staged, func(s Staging) bool { return s.Node == node })
		v.published = slices.DeleteFunc(v.published, func(p Publication) bool { return p.Node == node })
	}
}

// refuse is the error with which the backend refuses: with a status from a CSI driver, plain from an in-tree plugin.
func (m *Memory) refuse(code storage.Code, format string, args ...any) error {
	if m.inTree {
		return fmt.Errorf(format, args...)
	}
	return storage.Errorf(code, format, args...)
}

// check begins every operation: it must be one of the backend's, and the fields it cannot do without must be set. Fields are
// pairs of a name and a value.
func (m *Memory) check(op storage.Op, fields ...string) error {
	if !m.able[op] {
		return m.refuse(storage.Unimplemented, "%s cannot %s", m.name, op)
	}
	for i := 0; i+1 < len(fields); i += 2 {
		if fields[i+1] == "" {
			return m.refuse(storage.InvalidArgument, "%s without %s", op, fields[i])
		}
	}
	return nil
}

// use finds the volume for an operation on it. A static volume that was not used before is made up; keep it when the operation
// succeeds.
func (m *Memory) use(id string) (*volume, error) {
	if v, ok := m.volumes[id]; ok {
		return v, nil
	}
	revived := m.tombstone(id) != nil
	if m.createdOnly || revived && !m.inTree && !m.lenient {
		return nil, m.refuse(storage.NotFound, "volume %s does not exist", id)
	}
	return &volume{id: id, revived: revived}, nil
}

func (m *Memory) keep(v *volume) { m.volumes[v.id] = v }

// tombstone is the last deleted volume of that ID.
func (m *Memory) tombstone(id string) *volume {
	for i := len(m.gone) - 1; i >= 0; i-- {
		if m.gone[i].id == id {
			return m.gone[i]
		}
	}
	return nil
}

// mode is the access mode of a request.
func mode(m corev1.PersistentVolumeAccessMode) corev1.PersistentVolumeAccessMode {
	if m == "" {
		return corev1.ReadWriteOnce
	}
	return m
}

// manyNodes reports whether the mode is for more than one node.
func manyNodes(m corev1.PersistentVolumeAccessMode) bool {
	return m == corev1.ReadWriteMany || m == corev1.ReadOnlyMany
}

func volumeMode(m corev1.PersistentVolumeMode) corev1.PersistentVolumeMode {
	if m == "" {
		return corev1.PersistentVolumeFilesystem
	}
	return m
}
