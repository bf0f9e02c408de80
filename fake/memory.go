package fake

import (
	"fmt"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/volsim/volsim/internal/core/backends"
	"github.com/volsim/volsim/storage"
)

// Memory is a backend that stores its volumes in memory and records how they are used. [CSI] returns one that acts as a CSI driver; a
// [Plugin] acts as an in-tree plugin. A Memory is not safe for concurrent use.
//
// The ID of a volume is the name with which it was created. An unknown ID is accepted as that of a static volume, which an administrator
// created, of unknown size; [CreatedOnly] changes that. The ID of a deleted volume gives code NotFound.
//
// Like a good driver, a Memory rejects: attaching a volume for a single node to a second one, staging before attaching, publishing before
// staging, unstaging while a pod uses the volume, and deleting a volume in use. [Lenient] allows all these. It never rejects a detach,
// because the control plane may force it, but then pods on that node cannot write any more.
//
// Besides the methods below, a Memory has those that controllers call: [storage.Provisioner], [storage.Attacher] and so on.
type Memory struct {
	contract
	model *model
}

// contract has the methods that controllers call.
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
	storage.CapacityReporter
	storage.Snapshotter
	storage.SnapshotLister
	storage.GroupSnapshotter
	storage.ContentReporter
	storage.ConditionReporter
	backends.Delayer
	storage.Rebooter
	storage.AttachLimiter
	NotifyAttachLimit(self storage.Backend, fn func()) bool
	Err() error  // of the options; backends.NewSet returns it
	Take() error // see backends.Set.Take
}

// Volumes returns the volumes that exist, sorted by ID.
func (m *Memory) Volumes() []VolumeState { return m.model.Volumes() }

// Volume returns the volume with that ID, if it exists.
func (m *Memory) Volume(id string) (VolumeState, bool) { return m.model.Volume(id) }

// Snapshots returns the snapshots that exist, sorted by ID.
func (m *Memory) Snapshots() []SnapshotState { return m.model.Snapshots() }

// Deleted returns the deleted volumes, in the order of their deletion. An ID that was created again is listed once for each deletion.
func (m *Memory) Deleted() []VolumeState { return m.model.Deleted() }

// Write replaces the content of the volume, at a virtual time. It returns an error if the pod cannot write to the volume on that node.
func (m *Memory) Write(id string, pod storage.PodRef, node string, at time.Time) (storage.Write, error) {
	return m.model.Write(id, pod, node, at)
}

// Read returns the content of the volume: the last write, or the zero Write if there is none. It returns an error if the pod cannot read
// the volume on that node.
func (m *Memory) Read(id string, pod storage.PodRef, node string) (storage.Write, error) {
	return m.model.Read(id, pod, node)
}

// Problems returns the problems that occurred, in order: all kinds but Leaked and DeletedWhenWanted, which [Memory.Report] adds.
func (m *Memory) Problems() []Problem { return m.model.Problems() }

// Report returns the problems that occurred, and after them, by volume, the differences from the PersistentVolumes of the cluster. pvs are
// all PersistentVolumes, including those of other backends.
//
//   - Leaked: the volume was created and not deleted, but no PersistentVolume has it. This is normal while it is being provisioned.
//   - DeletedWhenWanted: the volume was deleted, but its PersistentVolume is Bound; or it is not being deleted and is neither Bound,
//     Released nor Failed.
func (m *Memory) Report(pvs []*corev1.PersistentVolume) []Problem { return m.model.Report(pvs) }

// SetAttachLimit changes how many volumes can be attached to the node, for example because a network interface takes one of its slots. The
// node "" stands for all nodes, including those with their own limit. Negative is no limit.
//
// A kubelet reads the limit at intervals if the CSIDriver sets nodeAllocatableUpdatePeriodSeconds (MNT-359); then the CSINode has it, and
// the scheduler respects it. The backend itself does not enforce it: to make Attach fail, inject [storage.ResourceExhausted] with [Faults].
func (m *Memory) SetAttachLimit(node string, volumes int32) { m.model.SetAttachLimit(node, volumes) }

// SetCondition sets the problem of a volume; "" means that it is healthy. With a node, only the kubelet of that node gets the problem as the
// answer to its question; with node "" every kubelet and the external-health-monitor do. Kubelets ask only with the feature gate
// CSIVolumeHealth. Nothing else changes: the volume still works. It returns an error for a volume that does not exist.
func (m *Memory) SetCondition(id, node, problem string) error {
	return m.model.SetCondition(id, node, problem)
}

// model implements a Memory.
type model struct {
	name   string
	inTree bool
	settings
	owner    storage.Backend // the Memory; nil for a Plugin; see NotifyAttachLimit
	taken    bool            // by a cluster
	supports func(*corev1.PersistentVolumeSource) bool

	volumes  map[string]*volume
	deleted  []*volume // in order of deletion
	problems []Problem

	snapshots map[string]*snapshot
	groups    map[string]*storage.GroupSnapshot // without its snapshots, which have GroupID

	capabilities storage.Capabilities
	asPlugin     backends.InTreeCapabilities

	nodeLimits map[string]int32 // attach limits of single nodes
	watchers   []func()         // called after each change of a limit
}

// settings has what options change.
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
	mutable     []string // parameters; nil is all

	slowSnapshots int
	mistakes      []string // in options
}

// volume is a volume from its creation, or first use, to its deletion.
type volume struct {
	id         string
	request    *storage.CreateRequest // nil for a static volume
	response   storage.Volume
	size       int64             // 0 if unknown
	usable     int64             // bytes of size that the file system uses
	modified   map[string]string // by Modify
	block      bool
	attached   []Use // sorted by node
	staged     []Use // sorted by node
	published  []Use // sorted by node and path
	writes     []storage.Write
	content    storage.Write
	conditions map[string]string // what is wrong, by node; "" is the volume itself
	origin     string            // ID of the volume or snapshot whose copy it is; "" for an empty volume
	revived    bool              // static, with the ID of a deleted volume
	deletedPV  types.UID         // of the PersistentVolume that was deleted with it; "" if not known
}

// CSI returns a CSI driver with all capabilities. The name is that of the driver, such as "disk.example.com".
func CSI(name string, opts ...MemoryOption) *Memory {
	m := newModel(name, storage.Create, storage.Delete, storage.Attach, storage.Detach, storage.Stage, storage.Unstage, storage.Publish,
		storage.Unpublish, storage.Expand, storage.NodeExpand, storage.Modify, storage.GetCapacity, storage.CreateSnapshot,
		storage.DeleteSnapshot, storage.GetSnapshot, storage.CreateGroupSnapshot, storage.DeleteGroupSnapshot, storage.GetGroupSnapshot, storage.NodeCondition, storage.GetCondition,
		storage.ListConditions)
	m.supports = func(source *corev1.PersistentVolumeSource) bool {
		return source.CSI != nil && source.CSI.Driver == name
	}
	m.apply(opts)
	memory := &Memory{contract: m, model: m}
	m.owner = memory
	return memory
}

func newModel(name string, able ...storage.Op) *model {
	m := &model{name: name, volumes: map[string]*volume{}, snapshots: map[string]*snapshot{}, groups: map[string]*storage.GroupSnapshot{}}
	m.able = make(map[storage.Op]bool, len(able))
	m.latency = map[storage.Op]time.Duration{}
	for _, op := range able {
		m.able[op] = true
	}
	return m
}

func (m *model) apply(opts []MemoryOption) {
	for i, opt := range opts {
		if opt == nil {
			m.mistake("option %d is nil", i+1)
			continue
		}
		opt(m)
	}
	if m.maxSize > 0 && m.minSize > m.maxSize {
		m.mistake("MinSize %d is more than MaxSize %d", m.minSize, m.maxSize)
	}
	m.capabilities.TopologyKeys = m.topologyKeys()
	if m.quota == 0 {
		delete(m.able, storage.GetCapacity)
	}
	for _, op := range backends.Ops() {
		if !m.able[op] {
			m.capabilities.Without = append(m.capabilities.Without, op)
		}
	}
}

func (m *model) mistake(format string, args ...any) {
	m.mistakes = append(m.mistakes, fmt.Sprintf(format, args...))
}

// Err returns an error for invalid options, nil if there are none.
func (m *model) Err() error {
	if len(m.mistakes) == 0 {
		return nil
	}
	return fmt.Errorf("backend %s: %s", m.name, strings.Join(m.mistakes, "; "))
}

// Take makes the backend part of a cluster. It is an error if it has been used in another one. One that only began, to list its controllers,
// has not used it.
func (m *model) Take() error {
	if m.taken && len(m.volumes)+len(m.deleted)+len(m.snapshots)+len(m.problems) > 0 {
		return fmt.Errorf("backend %q belongs to another cluster, and has its volumes; make a new backend for each cluster", m.name)
	}
	m.taken = true
	return nil
}

// Name returns the name of the driver or plugin.
func (m *model) Name() string { return m.name }

// Capabilities implements storage.Describer.
func (m *model) Capabilities() storage.Capabilities { return m.capabilities }

// InTreeCapabilities implements backends.InTreeDescriber.
func (m *model) InTreeCapabilities() backends.InTreeCapabilities { return m.asPlugin }

// Delay returns the option Latency, for every volume.
func (m *model) Delay(op storage.Op, _ string) time.Duration { return m.latency[op] }

// Reboot removes what is staged and published on the node. Attachments and data stay.
func (m *model) Reboot(node string) {
	for _, v := range m.volumes {
		v.staged = slices.DeleteFunc(v.staged, func(u Use) bool { return u.Node == node })
		v.published = slices.DeleteFunc(v.published, func(u Use) bool { return u.Node == node })
	}
}

// fail returns the error of a call: with a gRPC code from a CSI driver, without one from an in-tree plugin.
func (m *model) fail(code storage.Code, format string, args ...any) error {
	if m.inTree {
		return fmt.Errorf(format, args...)
	}
	return storage.Errorf(code, format, args...)
}

// check returns an error if the backend cannot do the operation or a required field is empty. fields are pairs of a name and a value.
func (m *model) check(op storage.Op, fields ...string) error {
	if !m.able[op] {
		return m.fail(storage.Unimplemented, "%s cannot %s", m.name, op)
	}
	for i := 0; i+1 < len(fields); i += 2 {
		if fields[i+1] == "" {
			return m.fail(storage.InvalidArgument, "%s without %s", op, fields[i])
		}
	}
	return nil
}

// find returns the volume for an operation on it. For a static volume that was not used before it returns a new one; call store when the
// operation succeeds.
func (m *model) find(id string) (*volume, error) {
	if v, ok := m.volumes[id]; ok {
		return v, nil
	}
	revived := m.lastDeleted(id) != nil
	if m.createdOnly || revived && !m.inTree && !m.lenient {
		return nil, m.fail(storage.NotFound, "volume %s does not exist", id)
	}
	return &volume{id: id, revived: revived}, nil
}

func (m *model) store(v *volume) { m.volumes[v.id] = v }

// lastDeleted returns the last deleted volume with that ID, nil if there is none.
func (m *model) lastDeleted(id string) *volume {
	for _, v := range slices.Backward(m.deleted) {
		if v.id == id {
			return v
		}
	}
	return nil
}

// mode returns the access mode of a request.
func mode(m corev1.PersistentVolumeAccessMode) corev1.PersistentVolumeAccessMode {
	if m == "" {
		return corev1.ReadWriteOnce
	}
	return m
}

// manyNodes reports whether the mode allows more than one node.
func manyNodes(m corev1.PersistentVolumeAccessMode) bool {
	return m == corev1.ReadWriteMany || m == corev1.ReadOnlyMany
}

func volumeMode(m corev1.PersistentVolumeMode) corev1.PersistentVolumeMode {
	if m == "" {
		return corev1.PersistentVolumeFilesystem
	}
	return m
}
