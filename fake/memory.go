package fake

import (
	"fmt"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/volsim/volsim/internal/core/backends"
	"github.com/volsim/volsim/storage"
)

// Memory is a backend that keeps its volumes in memory and records how they are used. [CSI] makes one; [Plugin] is one that
// acts as an in-tree plugin. It is not safe for concurrent use.
//
// The ID of a volume is the name by which it was created. An unknown ID is that of a static volume, made by other means, of unknown
// size, and is accepted ([CreatedOnly] changes that); the ID of a deleted volume is code NotFound.
//
// Unless it is [Lenient] it refuses what a good driver refuses: attaching a volume of a single node to a second one, staging
// before attaching, publishing before staging, unstaging while a pod uses the volume, deleting a volume in use. It never refuses to
// detach, because the control plane may force it; but the remaining pods cannot write any more.
//
// Besides the methods below it has those of package storage ([storage.Provisioner] and so on), which controllers call.
type Memory struct {
	contract
	model *model
}

// contract is how controllers see a Memory.
type contract interface {
	storage.Backend
	storage.Describer
	storage.Provisioner
	backends.Recycler
	backends.InTreeDescriber
	storage.Attacher
	storage.Stager
	storage.Publisher
	storage.Expander
	storage.NodeExpander
	storage.Modifier
	backends.Delayer
	storage.Rebooter
	storage.AttachLimiter
	NotifyAttachLimit(self storage.Backend, fn func()) bool
	Err() error // of the options; backends.NewSet asks
}

// Volumes returns the volumes that exist, by ID.
func (m *Memory) Volumes() []VolumeState { return m.model.Volumes() }

// Volume returns the volume of that ID, if it exists.
func (m *Memory) Volume(id string) (VolumeState, bool) { return m.model.Volume(id) }

// Deleted returns the deleted volumes, in the order of their deletion. An ID that was used again appears once for each life.
func (m *Memory) Deleted() []VolumeState { return m.model.Deleted() }

// Writers returns the publications through which the volume can be written at this moment.
func (m *Memory) Writers(id string) []Publication { return m.model.Writers(id) }

// Write replaces the content of the volume, at the given moment of virtual time. It fails if the pod cannot write there.
func (m *Memory) Write(id string, pod storage.PodRef, node string, at time.Time) (storage.Write, error) {
	return m.model.Write(id, pod, node, at)
}

// Read returns what the pod finds on the volume: the last write, or the zero Write if there is none. It fails if the pod cannot read.
func (m *Memory) Read(id string, pod storage.PodRef, node string) (storage.Write, error) {
	return m.model.Read(id, pod, node)
}

// Problems returns the problems that were noticed as they happened, in that order: all kinds but Leaked and DeletedWhenWanted.
func (m *Memory) Problems() []Problem { return m.model.Problems() }

// Report lists the problems so far, and after them, by volume, what does not fit the PersistentVolumes of the cluster. pvs are all of
// them, also those of other backends:
//
//   - Leaked: created here, not deleted, and in no PersistentVolume. While a volume is being provisioned that is no mistake yet.
//   - DeletedWhenWanted: deleted here, and the same PersistentVolume is Bound; or it is neither Bound, Released, Failed nor being deleted.
func (m *Memory) Report(pvs []*corev1.PersistentVolume) []Problem { return m.model.Report(pvs) }

// SetAttachLimit changes how many volumes the node can have attached, as when a network interface uses one of its slots. "" is every
// node, including those with a limit of their own. A negative number is no limit.
//
// The control plane learns it when the driver is asked: if its CSIDriver sets nodeAllocatableUpdatePeriodSeconds, a kubelet asks at that
// interval (MNT-359). Then the CSINode and the scheduler use it. The backend itself does not count; to have it refuse, let Attach fail with
// [storage.ResourceExhausted].
func (m *Memory) SetAttachLimit(node string, volumes int32) { m.model.SetAttachLimit(node, volumes) }

// model implements a Memory.
type model struct {
	name   string
	inTree bool
	settings
	owner    storage.Backend // the Memory, whose attach limits only SetAttachLimit changes; nil for a Plugin
	supports func(*corev1.PersistentVolumeSource) bool

	volumes  map[string]*volume
	gone     []*volume // deleted, in order of deletion
	problems []Problem

	capabilities storage.Capabilities // what the options allow
	asPlugin     backends.InTreeCapabilities

	nodeLimits map[string]int32 // attach limits of single nodes
	heard      []func()         // called after each change of a limit
}

// settings are what options change.
type settings struct {
	able        map[storage.Op]bool
	latency     map[storage.Op]time.Duration
	minSize     int64
	maxSize     int64 // 0 is no limit
	quota       int64 // 0 is no limit
	attachLimit *int32
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
	response  storage.Volume
	size      int64             // 0: unknown
	used      int64             // how much of size a file system makes use of
	modified  map[string]string // by Modify
	block     bool
	attached  []Attachment
	staged    []Staging
	published []Publication
	writes    []storage.Write
	content   storage.Write
	deleted   bool
	revived   bool                  // an earlier life was deleted, and this one was not created
	pv        storage.DeleteRequest // what deleted it
}

// CSI returns a CSI driver that can do everything but recycle. The name is its driver name, such as "disk.example.com".
func CSI(name string, opts ...MemoryOption) *Memory {
	m := newModel(name, storage.Create, storage.Delete, storage.Attach, storage.Detach, storage.Stage, storage.Unstage, storage.Publish,
		storage.Unpublish, storage.Expand, storage.NodeExpand, storage.Modify)
	m.supports = func(source *corev1.PersistentVolumeSource) bool {
		return source.CSI != nil && source.CSI.Driver == name
	}
	m.apply(opts)
	memory := &Memory{contract: m, model: m}
	m.owner = memory
	return memory
}

func newModel(name string, able ...storage.Op) *model {
	m := &model{name: name, volumes: map[string]*volume{}}
	m.able = map[storage.Op]bool{}
	m.latency = map[storage.Op]time.Duration{}
	for _, op := range able {
		m.able[op] = true
	}
	return m
}

func (m *model) apply(opts []MemoryOption) {
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
	m.capabilities.TopologyKeys = m.topologyKeys()
	for _, op := range backends.Ops() {
		if !m.able[op] {
			m.capabilities.Without = append(m.capabilities.Without, op)
		}
	}
}

func (m *model) fault(format string, args ...any) {
	m.faults = append(m.faults, fmt.Sprintf(format, args...))
}

// Err returns what is wrong with the options, nil if nothing is.
func (m *model) Err() error {
	if len(m.faults) == 0 {
		return nil
	}
	return fmt.Errorf("backend %s: %s", m.name, strings.Join(m.faults, "; "))
}

// Name is that of the driver or plugin.
func (m *model) Name() string { return m.name }

// Capabilities is what the options allow.
func (m *model) Capabilities() storage.Capabilities { return m.capabilities }

// InTreeCapabilities is what the in-tree plugin allows.
func (m *model) InTreeCapabilities() backends.InTreeCapabilities { return m.asPlugin }

// Delay is that of the option Latency, for every volume.
func (m *model) Delay(op storage.Op, _ string) time.Duration { return m.latency[op] }

// Reboot forgets what is staged and published on the node. Attachments stay, and so does what was written.
func (m *model) Reboot(node string) {
	for _, v := range m.volumes {
		v.staged = slices.DeleteFunc(v.staged, func(s Staging) bool { return s.Node == node })
		v.published = slices.DeleteFunc(v.published, func(p Publication) bool { return p.Node == node })
	}
}

// refuse returns the error of a failed call: with a status from a CSI driver, plain from an in-tree plugin.
func (m *model) refuse(code storage.Code, format string, args ...any) error {
	if m.inTree {
		return fmt.Errorf(format, args...)
	}
	return storage.Errorf(code, format, args...)
}

// check begins every operation: the backend must be able to do it, and the required fields must be set. Fields are
// pairs of a name and a value.
func (m *model) check(op storage.Op, fields ...string) error {
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

// use finds the volume for an operation on it. For a static volume that was not used before it returns a new one; call keep when the
// operation succeeds.
func (m *model) use(id string) (*volume, error) {
	if v, ok := m.volumes[id]; ok {
		return v, nil
	}
	revived := m.tombstone(id) != nil
	if m.createdOnly || revived && !m.inTree && !m.lenient {
		return nil, m.refuse(storage.NotFound, "volume %s does not exist", id)
	}
	return &volume{id: id, revived: revived}, nil
}

func (m *model) keep(v *volume) { m.volumes[v.id] = v }

// tombstone is the last deleted volume of that ID.
func (m *model) tombstone(id string) *volume {
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
