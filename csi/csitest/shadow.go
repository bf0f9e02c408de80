package csitest

import (
	"maps"
	"reflect"
	"slices"
	"strings"

	spec "github.com/container-storage-interface/spec/lib/go/csi"
	"google.golang.org/protobuf/proto"
	corev1 "k8s.io/api/core/v1"

	"github.com/volsim/volsim/fake"
	"github.com/volsim/volsim/storage"
)

// shadow is the reference: a fake.Memory that gets the calls that took effect in the driver.
type shadow struct {
	caps  capabilities
	nodes map[string]string // names by ID
	*fake.Memory
	ids     map[string]string // names under which volumes were created, by volume_id
	snaps   map[string]string // IDs of snapshots in the reference, by snapshot_id
	groups  map[string]string // names under which group snapshots were created, by group_snapshot_id
	applied []func(*fake.Memory)
}

func newShadow(caps capabilities, nodes map[string]string) *shadow {
	s := &shadow{caps: caps, nodes: nodes, ids: map[string]string{}, snaps: map[string]string{}, groups: map[string]string{}}
	s.Memory = s.fresh()
	return s
}

func (s *shadow) fresh() *fake.Memory {
	opts := []fake.MemoryOption{fake.CreatedOnly()}
	without := func(has bool, op storage.Op) {
		if !has {
			opts = append(opts, fake.Without(op))
		}
	}
	without(s.caps.Create, storage.Create)
	without(s.caps.Attach, storage.Attach)
	without(s.caps.Stage, storage.Stage)
	without(s.caps.Expand, storage.Expand)
	without(s.caps.NodeExpand, storage.NodeExpand)
	without(s.caps.Modify, storage.Modify)
	return fake.CSI("reference", opts...)
}

// node returns the name of a node.
func (s *shadow) node(id string) string {
	if name, ok := s.nodes[id]; ok {
		return name
	}
	return id
}

// volume returns the ID of a volume in the reference.
func (s *shadow) volume(id string) string {
	if name, ok := s.ids[id]; ok {
		return name
	}
	return id
}

// outcome is the answer of the reference to a request.
type outcome struct {
	err     error
	changed bool // the call changed the state of its volume
	size    int64
}

// apply executes a request on the reference.
func (s *shadow) apply(node string, request proto.Message) outcome {
	o := s.run(s.Memory, node, request)
	if o.err == nil {
		ids, snaps, groups := maps.Clone(s.ids), maps.Clone(s.snaps), maps.Clone(s.groups)
		s.applied = append(s.applied, func(m *fake.Memory) {
			past := &shadow{caps: s.caps, nodes: s.nodes, Memory: m, ids: ids, snaps: snaps, groups: groups}
			past.run(m, node, request)
		})
	}
	return o
}

// ask returns the answer of the reference to a request, and does not execute it.
func (s *shadow) ask(node string, request proto.Message) outcome {
	m := s.fresh()
	for _, apply := range s.applied {
		apply(m)
	}
	return s.run(m, node, request)
}

func (s *shadow) run(m *fake.Memory, node string, request proto.Message) (o outcome) {
	if o, ok := s.runSnapshot(m, request); ok {
		return o
	}
	id := ""
	if r, ok := request.(interface{ GetVolumeId() string }); ok {
		id = s.volume(r.GetVolumeId())
	}
	if r, ok := request.(*spec.CreateVolumeRequest); ok {
		id = r.GetName()
	}
	before, existed := m.Volume(id)
	switch r := request.(type) {
	case *spec.CreateVolumeRequest:
		var v storage.Volume
		req := createRequest(r)
		s.content(&req, r.GetVolumeContentSource())
		v, o.err = m.Create(req)
		o.size = v.Size
	case *spec.DeleteVolumeRequest:
		o.err = m.Delete(storage.DeleteRequest{ID: id})
	case *spec.ControllerPublishVolumeRequest:
		_, o.err = m.Attach(storage.NodeRequest{ID: id, Node: s.node(r.GetNodeId()), Mode: mode(r.GetVolumeCapability()), ReadOnly: r.GetReadonly()})
	case *spec.ControllerUnpublishVolumeRequest:
		name := ""
		if r.GetNodeId() != "" {
			name = s.node(r.GetNodeId())
		}
		o.err = m.Detach(storage.NodeRequest{ID: id, Node: name})
	case *spec.ControllerExpandVolumeRequest:
		o.size, _, o.err = m.Expand(storage.ExpandRequest{ID: id, Size: r.GetCapacityRange().GetRequiredBytes(), Limit: r.GetCapacityRange().GetLimitBytes(),
			VolumeMode: volumeMode(r.GetVolumeCapability())})
	case *spec.ControllerModifyVolumeRequest:
		o.err = m.Modify(storage.ModifyRequest{ID: id, Parameters: r.GetMutableParameters()})
	case *spec.NodeStageVolumeRequest:
		o.err = m.Stage(storage.NodeRequest{ID: id, Node: node, StagingPath: r.GetStagingTargetPath(), Mode: mode(r.GetVolumeCapability()),
			VolumeMode: volumeMode(r.GetVolumeCapability())})
	case *spec.NodeUnstageVolumeRequest:
		o.err = m.Unstage(storage.NodeRequest{ID: id, Node: node, StagingPath: r.GetStagingTargetPath()})
	case *spec.NodePublishVolumeRequest:
		o.err = m.Publish(storage.NodeRequest{ID: id, Node: node, StagingPath: r.GetStagingTargetPath(), TargetPath: r.GetTargetPath(),
			Mode: mode(r.GetVolumeCapability()), VolumeMode: volumeMode(r.GetVolumeCapability()), ReadOnly: r.GetReadonly(), Pod: podOf(r.GetTargetPath())})
	case *spec.NodeUnpublishVolumeRequest:
		o.err = m.Unpublish(storage.NodeRequest{ID: id, Node: node, TargetPath: r.GetTargetPath()})
	case *spec.NodeExpandVolumeRequest:
		o.size, o.err = m.NodeExpand(storage.NodeRequest{ID: id, Node: node, StagingPath: r.GetStagingTargetPath(), TargetPath: r.GetVolumePath(),
			Size: r.GetCapacityRange().GetRequiredBytes()})
	}
	after, exists := m.Volume(id)
	o.changed = existed != exists || !reflect.DeepEqual(before, after)
	return o
}

// podOf returns the pod of a target path by its uid: a kubelet publishes volumes below pods/<uid>.
func podOf(path string) storage.PodRef {
	words := strings.Split(path, "/")
	if i := slices.Index(words, "pods"); i >= 0 && i+1 < len(words) {
		return storage.PodRef{Namespace: "pods", Name: words[i+1]}
	}
	return storage.PodRef{Namespace: "path", Name: path}
}

// happens applies an event of a node.
func (s *shadow) happens(e *event) {
	do := func(m *fake.Memory) {
		if r, ok := storage.Backend(m).(storage.Rebooter); ok {
			r.Reboot(e.Node)
		}
		if !e.Gone || !s.caps.Attach {
			return
		}
		for _, v := range m.Volumes() {
			_ = m.Detach(storage.NodeRequest{ID: v.ID, Node: e.Node})
		}
	}
	do(s.Memory)
	s.applied = append(s.applied, do)
}

func createRequest(r *spec.CreateVolumeRequest) storage.CreateRequest {
	req := storage.CreateRequest{Name: r.GetName(), Size: r.GetCapacityRange().GetRequiredBytes(), Limit: r.GetCapacityRange().GetLimitBytes(),
		Parameters: maps.Clone(r.GetParameters()), Mutable: maps.Clone(r.GetMutableParameters())}
	for _, c := range r.GetVolumeCapabilities() {
		req.Modes = append(req.Modes, mode(c))
		req.VolumeMode = volumeMode(c)
		req.MountOptions = slices.Clone(c.GetMount().GetMountFlags())
	}
	return req
}

// mode returns the access mode of Kubernetes that a capability comes from.
func mode(c *spec.VolumeCapability) corev1.PersistentVolumeAccessMode {
	switch c.GetAccessMode().GetMode() {
	case spec.VolumeCapability_AccessMode_MULTI_NODE_MULTI_WRITER, spec.VolumeCapability_AccessMode_MULTI_NODE_SINGLE_WRITER:
		return corev1.ReadWriteMany
	case spec.VolumeCapability_AccessMode_MULTI_NODE_READER_ONLY:
		return corev1.ReadOnlyMany
	case spec.VolumeCapability_AccessMode_SINGLE_NODE_SINGLE_WRITER:
		return corev1.ReadWriteOncePod
	}
	return corev1.ReadWriteOnce
}

func volumeMode(c *spec.VolumeCapability) corev1.PersistentVolumeMode {
	if c.GetBlock() != nil {
		return corev1.PersistentVolumeBlock
	}
	return corev1.PersistentVolumeFilesystem
}
