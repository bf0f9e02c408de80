package testdriver

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/container-storage-interface/spec/lib/go/csi"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// nodeServer is the Node service on one node.
type nodeServer struct {
	csi.UnimplementedNodeServer
	d  *Driver
	id string // of the node
}

func (s *nodeServer) NodeGetCapabilities(context.Context, *csi.NodeGetCapabilitiesRequest) (*csi.NodeGetCapabilitiesResponse, error) {
	resp := &csi.NodeGetCapabilitiesResponse{}
	for _, t := range []csi.NodeServiceCapability_RPC_Type{
		csi.NodeServiceCapability_RPC_STAGE_UNSTAGE_VOLUME,
		csi.NodeServiceCapability_RPC_EXPAND_VOLUME,
		csi.NodeServiceCapability_RPC_GET_VOLUME_STATS,
		csi.NodeServiceCapability_RPC_SINGLE_NODE_MULTI_WRITER,
		csi.NodeServiceCapability_RPC_VOLUME_CONDITION,
		csi.NodeServiceCapability_RPC_VOLUME_MOUNT_GROUP,
	} {
		if t == csi.NodeServiceCapability_RPC_VOLUME_MOUNT_GROUP && !s.d.MountGroup ||
			t == csi.NodeServiceCapability_RPC_EXPAND_VOLUME && s.d.has(ExpandNeedsMissingCall) {
			continue
		}
		resp.Capabilities = append(resp.Capabilities, &csi.NodeServiceCapability{
			Type: &csi.NodeServiceCapability_Rpc{Rpc: &csi.NodeServiceCapability_RPC{Type: t}}})
	}
	return resp, nil
}

func (s *nodeServer) NodeGetInfo(context.Context, *csi.NodeGetInfoRequest) (*csi.NodeGetInfoResponse, error) {
	resp := &csi.NodeGetInfoResponse{NodeId: s.id, MaxVolumesPerNode: s.d.AttachLimit}
	if s.d.Zone != "" {
		resp.AccessibleTopology = &csi.Topology{Segments: map[string]string{zoneKey: s.d.zoneOf(s.id)}}
	}
	s.d.mu.Lock()
	defer s.d.mu.Unlock()
	n := s.d.node(s.id)
	if n.asked++; s.d.has(NodeIDChanges) && n.asked > 3 {
		resp.NodeId = fmt.Sprintf("%s#%d", s.id, n.asked)
	}
	if s.d.has(NodeZoneChanges) && n.asked > 3 && s.d.Zone != "" {
		resp.AccessibleTopology.Segments[zoneKey] += "-2"
	}
	if s.d.has(NodeLimitNegative) {
		resp.MaxVolumesPerNode = -1
	}
	if s.d.has(NodeLimitRemaining) {
		resp.MaxVolumesPerNode = s.d.AttachLimit - s.d.attachedTo(s.id)
	}
	return resp, nil
}

// begin is Driver.begin for a volume on this node, or for what key adds to it.
func (s *nodeServer) begin(volume, key string) (end func(), err error) {
	return s.d.begin(s.id + " " + volume + key)
}

func (s *nodeServer) NodeStageVolume(ctx context.Context, req *csi.NodeStageVolumeRequest) (*csi.NodeStageVolumeResponse, error) {
	d := s.d
	if err := d.required("volume_id", req.GetVolumeId(), "staging_target_path", req.GetStagingTargetPath()); err != nil {
		return nil, err
	}
	if req.GetVolumeCapability() == nil {
		return nil, status.Error(codes.InvalidArgument, "volume_capability is missing")
	}
	if err := d.logIn(req.GetSecrets()); err != nil {
		return nil, err
	}
	key := ""
	if d.has(StageUnstageOverlap) {
		key = " stage"
	}
	if d.has(StageTwiceOverlap) {
		key = fmt.Sprintf(" %p", req)
	}
	end, err := s.begin(req.GetVolumeId(), key)
	if err != nil {
		return nil, err
	}
	if d.has(StageLockLeaks) {
		end = d.leak(ctx, s.id+" "+req.GetVolumeId()+key, end)
	}
	defer end()
	n, v := d.node(s.id), d.byID(req.GetVolumeId())
	if v == nil {
		return nil, status.Errorf(codes.NotFound, "volume %s does not exist", req.GetVolumeId())
	}
	if n.marked[v.id] && d.has(StageTrustsFile) {
		return &csi.NodeStageVolumeResponse{}, nil
	}
	if req.GetPublishContext()["device"] == "" || v.attachedTo(s.id) == nil {
		return nil, status.Errorf(codes.FailedPrecondition, "there is no device of volume %s", v.id)
	}
	m := Mount{Node: s.id, Path: req.GetStagingTargetPath(), Volume: v.id, Block: req.GetVolumeCapability().GetBlock() != nil,
		capability: req.GetVolumeCapability(), staging: true, Options: d.mountOptions(req.GetVolumeCapability(), false)}
	if was := n.mountAt(m.Path); was != nil {
		switch {
		case d.has(Panics):
			panic("assignment to entry in nil map")
		case d.has(RepliesNothing):
			return nil, nil
		case d.has(Hangs):
			d.mu.Unlock()
			<-ctx.Done()
			time.Sleep(100 * time.Millisecond) // it ends after its caller gave up, so that tests end
			d.mu.Lock()
		case d.has(StageAgainFails):
			return nil, status.Errorf(codes.Internal, "%s is already mounted", m.Path)
		case was.Volume != v.id || !sameCapability(was.capability, m.capability):
			return nil, status.Errorf(codes.AlreadyExists, "%s has another mount", m.Path)
		case !d.has(StageAgainMountsTwice):
			return &csi.NodeStageVolumeResponse{}, nil
		}
	}
	if d.has(StageWrongDevice) {
		v = d.attachedLast(s.id)
		m.Volume = v.id
	}
	d.pause(ctx)
	if d.has(StageWrongPath) {
		n.mounts = append(n.mounts, m)
		m.Path += "-stage"
	}
	if !m.Block && (v.usable == 0 || d.has(StageFormats)) {
		v.usable, v.data = v.size, ""
	}
	if d.has(StageInterruptedSmall) && v.copied && ctx.Err() != nil {
		v.copied = false
		n.mounts = append(n.mounts, m)
		return nil, status.FromContextError(ctx.Err()).Err()
	}
	if v.copied && v.usable > 0 && !d.has(RestoreKeepsFileSystem) {
		v.usable = v.size
	}
	v.copied = false
	n.mounts = append(n.mounts, m)
	n.staged[v.id], n.marked[v.id] = true, true
	return &csi.NodeStageVolumeResponse{}, nil
}

func (s *nodeServer) NodeUnstageVolume(ctx context.Context, req *csi.NodeUnstageVolumeRequest) (*csi.NodeUnstageVolumeResponse, error) {
	d := s.d
	if err := d.required("volume_id", req.GetVolumeId(), "staging_target_path", req.GetStagingTargetPath()); err != nil {
		return nil, err
	}
	end, err := s.begin(req.GetVolumeId(), "")
	if err != nil {
		return nil, err
	}
	defer end()
	n := d.node(s.id)
	m := n.mountAt(req.GetStagingTargetPath())
	if v := d.byID(req.GetVolumeId()); m != nil && d.has(UnstageNeedsDevice) && (v == nil || v.attachedTo(s.id) == nil) {
		return nil, status.Errorf(codes.Internal, "there is no device of volume %s", req.GetVolumeId())
	}
	if d.has(UnstageIgnoresPath) {
		n.mounts = slices.DeleteFunc(n.mounts, func(m Mount) bool { return m.Volume == req.GetVolumeId() && m.staging })
		return &csi.NodeUnstageVolumeResponse{}, nil
	}
	switch {
	case m == nil && d.has(UnstageAgainFails):
		return nil, status.Errorf(codes.Internal, "%s is not mounted", req.GetStagingTargetPath())
	case m == nil, (d.has(UnstageForgets) || d.has(UnstageRecordsEarly)) && !n.staged[req.GetVolumeId()]:
		return &csi.NodeUnstageVolumeResponse{}, nil
	case slices.ContainsFunc(n.mounts, func(m Mount) bool { return m.Volume == req.GetVolumeId() && !m.staging }):
		return nil, status.Errorf(codes.FailedPrecondition, "volume %s is published on node %s", req.GetVolumeId(), s.id)
	}
	if d.pause(ctx); d.has(UnstageRecordsEarly) && ctx.Err() != nil {
		delete(n.staged, req.GetVolumeId())
		return nil, status.FromContextError(ctx.Err()).Err()
	}
	if d.has(UnstageLeaves) {
		return &csi.NodeUnstageVolumeResponse{}, nil
	}
	n.unmount(req.GetStagingTargetPath())
	for _, other := range d.nodes {
		if d.has(UnstagesAllNodes) {
			other.mounts = slices.DeleteFunc(other.mounts, func(m Mount) bool { return m.Volume == req.GetVolumeId() })
		}
	}
	delete(n.staged, req.GetVolumeId())
	delete(n.marked, req.GetVolumeId())
	return &csi.NodeUnstageVolumeResponse{}, nil
}

func (s *nodeServer) NodePublishVolume(ctx context.Context, req *csi.NodePublishVolumeRequest) (*csi.NodePublishVolumeResponse, error) {
	d := s.d
	if err := d.required("volume_id", req.GetVolumeId(), "target_path", req.GetTargetPath()); err != nil {
		return nil, err
	}
	if req.GetVolumeCapability() == nil {
		return nil, status.Error(codes.InvalidArgument, "volume_capability is missing")
	}
	if err := d.logIn(req.GetSecrets()); err != nil {
		return nil, err
	}
	key := ""
	if d.has(PublishUnpublishOverlap) {
		key = " publish"
	}
	if d.has(PublishTwiceOverlap) {
		key = fmt.Sprintf(" %p", req)
	}
	end, err := s.begin(req.GetVolumeId(), key)
	if err != nil {
		return nil, err
	}
	defer end()
	n, v := d.node(s.id), d.byID(req.GetVolumeId())
	if req.GetVolumeContext()["csi.storage.k8s.io/ephemeral"] == "true" {
		return s.publishInline(ctx, req)
	}
	if v == nil {
		return nil, status.Errorf(codes.NotFound, "volume %s does not exist", req.GetVolumeId())
	}
	if len(req.GetSecrets()) == 0 && d.has(SecretRequired) {
		return nil, status.Error(codes.InvalidArgument, "secrets are missing")
	}
	staged := n.mountAt(req.GetStagingTargetPath())
	if (staged == nil || staged.Volume != v.id) && !d.has(PublishWithoutStage) && !d.has(StageWrongDevice) || d.has(PublishForgetsStage) && !n.staged[v.id] {
		return nil, status.Errorf(codes.FailedPrecondition, "volume %s is not staged at %q", v.id, req.GetStagingTargetPath())
	}
	if d.has(StageWrongDevice) && staged != nil {
		v = d.byID(staged.Volume)
	}
	m := Mount{Node: s.id, Path: req.GetTargetPath(), Volume: v.id, Block: req.GetVolumeCapability().GetBlock() != nil,
		ReadOnly: req.GetReadonly(), capability: req.GetVolumeCapability(), token: req.GetVolumeContext()[tokensKey],
		Options: d.mountOptions(req.GetVolumeCapability(), req.GetReadonly())}
	if d.has(PublishIgnoresReadOnly) {
		m.ReadOnly = false
	}
	if was := n.mountAt(m.Path); was != nil {
		switch {
		case d.has(PublishAgainFails):
			return nil, status.Errorf(codes.Internal, "%s is already mounted", m.Path)
		case d.has(RepublishFails) && was.token != m.token:
			return nil, status.Errorf(codes.AlreadyExists, "%s has another volume_context", m.Path)
		case was.Volume != v.id || was.ReadOnly != m.ReadOnly && !d.has(PublishIgnoresOtherReadOnly) || !sameCapability(was.capability, m.capability):
			return nil, status.Errorf(codes.AlreadyExists, "%s has another mount", m.Path)
		case !d.has(PublishAgainMountsTwice):
			return &csi.NodePublishVolumeResponse{}, nil
		}
	}
	if d.has(PublishSecondFails) && slices.ContainsFunc(n.mounts, func(other Mount) bool {
		return other.Volume == v.id && !other.staging && other.Path != m.Path
	}) {
		return nil, status.Errorf(codes.Internal, "volume %s is already published", v.id)
	}
	if m.onePod() && !d.has(PublishIgnoresOnePod) && slices.ContainsFunc(n.mounts, func(other Mount) bool {
		return other.Volume == v.id && !other.staging && other.Path != m.Path
	}) {
		return nil, status.Errorf(codes.FailedPrecondition, "volume %s allows one pod only", v.id)
	}
	d.pause(ctx)
	n.mounts = append(n.mounts, m)
	if m.ReadOnly && d.has(PublishReadOnlyForAll) {
		v.readOnlyOn = s.id
	}
	return &csi.NodePublishVolumeResponse{}, nil
}

// tokensKey is the key of the tokens of the pod in the volume_context.
const tokensKey = "csi.storage.k8s.io/serviceAccount.tokens"

// publishInline mounts a volume of a pod itself. The driver is locked.
func (s *nodeServer) publishInline(ctx context.Context, req *csi.NodePublishVolumeRequest) (*csi.NodePublishVolumeResponse, error) {
	n := s.d.node(s.id)
	token := req.GetVolumeContext()[tokensKey]
	if was := n.mountAt(req.GetTargetPath()); was != nil {
		if s.d.has(InlineAgainFails) || s.d.has(RepublishFails) && was.token != token {
			return nil, status.Errorf(codes.Internal, "%s is already mounted", req.GetTargetPath())
		}
		was.token = token
		return &csi.NodePublishVolumeResponse{}, nil
	}
	s.d.pause(ctx)
	if s.d.has(InlineLeaksVolume) {
		s.d.volumes = append(s.d.volumes, &volume{id: req.GetVolumeId(), name: req.GetVolumeId(), size: gib})
	}
	n.mounts = append(n.mounts, Mount{Node: s.id, Path: req.GetTargetPath(), Volume: req.GetVolumeId(), ReadOnly: req.GetReadonly(),
		capability: req.GetVolumeCapability(), inline: true, token: token})
	return &csi.NodePublishVolumeResponse{}, nil
}

func (m Mount) onePod() bool {
	return m.capability.GetAccessMode().GetMode() == csi.VolumeCapability_AccessMode_SINGLE_NODE_SINGLE_WRITER
}

func (s *nodeServer) NodeUnpublishVolume(ctx context.Context,
	req *csi.NodeUnpublishVolumeRequest) (*csi.NodeUnpublishVolumeResponse, error) {
	d := s.d
	if err := d.required("volume_id", req.GetVolumeId(), "target_path", req.GetTargetPath()); err != nil {
		return nil, err
	}
	end, err := s.begin(req.GetVolumeId(), "")
	if err != nil {
		return nil, err
	}
	defer end()
	n := d.node(s.id)
	if n.mountAt(req.GetTargetPath()) == nil {
		if d.has(UnpublishAgainFails) {
			return nil, status.Errorf(codes.Internal, "%s is not mounted", req.GetTargetPath())
		}
		if d.has(InlineUnpublishNotFound) && d.byID(req.GetVolumeId()) == nil {
			return nil, status.Errorf(codes.NotFound, "volume %s does not exist", req.GetVolumeId())
		}
		return &csi.NodeUnpublishVolumeResponse{}, nil
	}
	d.pause(ctx)
	if m := n.mountAt(req.GetTargetPath()); m != nil && m.inline && d.has(InlineLeft) {
		return &csi.NodeUnpublishVolumeResponse{}, nil
	}
	if d.has(UnpublishLeaves) {
		return &csi.NodeUnpublishVolumeResponse{}, nil
	}
	v := d.byID(req.GetVolumeId())
	if v != nil && d.has(UnpublishRemovesData) {
		v.data = ""
	}
	n.unmount(req.GetTargetPath())
	if v != nil && v.readOnlyOn == s.id && !slices.ContainsFunc(n.mounts, func(m Mount) bool { return m.Volume == v.id && m.ReadOnly }) {
		v.readOnlyOn = ""
	}
	if d.has(UnpublishUnstages) && !slices.ContainsFunc(n.mounts, func(m Mount) bool { return m.Volume == req.GetVolumeId() && !m.staging }) {
		n.mounts = slices.DeleteFunc(n.mounts, func(m Mount) bool { return m.Volume == req.GetVolumeId() && m.staging })
	}
	if d.has(UnpublishesAllPods) {
		n.mounts = slices.DeleteFunc(n.mounts, func(m Mount) bool { return m.Volume == req.GetVolumeId() && !m.staging })
	}
	return &csi.NodeUnpublishVolumeResponse{}, nil
}

func (s *nodeServer) NodeExpandVolume(ctx context.Context, req *csi.NodeExpandVolumeRequest) (*csi.NodeExpandVolumeResponse, error) {
	d := s.d
	if err := d.required("volume_id", req.GetVolumeId(), "volume_path", req.GetVolumePath()); err != nil {
		return nil, err
	}
	end, err := s.begin(req.GetVolumeId(), "")
	if err != nil {
		return nil, err
	}
	defer end()
	v := d.byID(req.GetVolumeId())
	m := d.node(s.id).mountAt(req.GetVolumePath())
	if m != nil && !m.staging && d.has(NodeExpandWantsStaging) {
		m = nil
	}
	switch {
	case v == nil || m == nil || m.Volume != v.id:
		return nil, status.Errorf(codes.NotFound, "volume %s is not mounted at %s", req.GetVolumeId(), req.GetVolumePath())
	case d.OnNode && req.GetCapacityRange().GetRequiredBytes() > v.size:
		v.size = req.GetCapacityRange().GetRequiredBytes()
	case m.Block && d.has(NodeExpandBlockFails):
		return nil, status.Errorf(codes.Internal, "%s is no file system", req.GetVolumePath())
	case req.GetCapacityRange().GetRequiredBytes() > v.size:
		return nil, status.Errorf(codes.OutOfRange, "volume %s has %d bytes", v.id, v.size)
	case v.usable == v.size && d.has(NodeExpandAgainFails):
		return nil, status.Errorf(codes.Internal, "the file system of volume %s has %d bytes already", v.id, v.size)
	}
	d.pause(ctx)
	if !m.Block && !d.has(NodeExpandDoesNothing) {
		v.usable = v.size
	}
	if d.has(NodeExpandLess) {
		return &csi.NodeExpandVolumeResponse{CapacityBytes: v.size / 2}, nil
	}
	return &csi.NodeExpandVolumeResponse{CapacityBytes: v.size}, nil
}

func (s *nodeServer) NodeGetVolumeStats(_ context.Context, req *csi.NodeGetVolumeStatsRequest) (*csi.NodeGetVolumeStatsResponse, error) {
	d := s.d
	if err := d.required("volume_id", req.GetVolumeId(), "volume_path", req.GetVolumePath()); err != nil {
		return nil, err
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	v := d.byID(req.GetVolumeId())
	m := d.node(s.id).mountAt(req.GetVolumePath())
	if v != nil && m == nil && d.has(StatsUnmounted) {
		m = &Mount{Volume: v.id}
	}
	if v == nil || m == nil || m.Volume != v.id {
		return nil, status.Errorf(codes.NotFound, "volume %s is not mounted at %s", req.GetVolumeId(), req.GetVolumePath())
	}
	total := v.usable
	if m.Block && d.has(StatsBlockFails) {
		return nil, status.Errorf(codes.Internal, "statfs %s: not a file system", req.GetVolumePath())
	}
	if m.Block {
		total = v.size
	}
	resp := &csi.NodeGetVolumeStatsResponse{Usage: []*csi.VolumeUsage{{Unit: csi.VolumeUsage_BYTES, Total: total, Available: total}},
		VolumeCondition: d.condition()}
	if d.has(StatsAvailable) {
		resp.Usage[0].Available = 3 * total
	}
	if d.has(StatsWrong) {
		resp.Usage[0].Used = 2 * total
	}
	if d.has(StatsWithoutCondition) {
		resp.VolumeCondition = nil
	}
	return resp, nil
}

// attachedLast returns the volume that was attached last of those that a node has.
func (d *Driver) attachedLast(node string) *volume {
	var last *volume
	for _, v := range d.volumes {
		if v.attachedTo(node) != nil {
			last = v
		}
	}
	return last
}
