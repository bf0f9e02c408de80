package specdriver

import (
	"context"
	"strings"

	spec "github.com/container-storage-interface/spec/lib/go/csi"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"
)

type nodeServer struct {
	spec.UnimplementedNodeServer
	d *Driver
	n *node
}

func (s nodeServer) NodeGetCapabilities(context.Context, *spec.NodeGetCapabilitiesRequest) (*spec.NodeGetCapabilitiesResponse, error) {
	o, r := s.d.o, &spec.NodeGetCapabilitiesResponse{}
	add := func(has bool, t spec.NodeServiceCapability_RPC_Type) {
		if has {
			r.Capabilities = append(r.Capabilities, &spec.NodeServiceCapability{
				Type: &spec.NodeServiceCapability_Rpc{Rpc: &spec.NodeServiceCapability_RPC{Type: t}}})
		}
	}
	add(!o.NoStage, spec.NodeServiceCapability_RPC_STAGE_UNSTAGE_VOLUME)
	add(o.Expansion != "none" && !o.Shared, spec.NodeServiceCapability_RPC_EXPAND_VOLUME)
	add(!o.InlineOnly, spec.NodeServiceCapability_RPC_GET_VOLUME_STATS)
	add(o.MultiWriter, spec.NodeServiceCapability_RPC_SINGLE_NODE_MULTI_WRITER)
	add(!o.Bare, spec.NodeServiceCapability_RPC_VOLUME_MOUNT_GROUP)
	return r, nil
}

func (s nodeServer) NodeGetInfo(context.Context, *spec.NodeGetInfoRequest) (*spec.NodeGetInfoResponse, error) {
	r := &spec.NodeGetInfoResponse{NodeId: s.n.id, MaxVolumesPerNode: s.d.o.Limit}
	if s.d.o.Zones != nil {
		r.AccessibleTopology = &spec.Topology{Segments: map[string]string{zoneKey: s.d.o.Zones[s.n.name]}}
	}
	return r, nil
}

// volume returns the volume of a call to the node, or an error if the node does not reach it.
func (s nodeServer) volume(id string, published map[string]string) (*volume, error) {
	v := s.d.volumes[id]
	switch {
	case v == nil:
		return nil, status.Errorf(codes.NotFound, "volume %s does not exist", id)
	case s.d.o.NoAttach:
	case v.users[s.n.id] == nil:
		return nil, status.Errorf(codes.Internal, "volume %s has no device on node %s", id, s.n.id)
	case !s.d.o.Bare && published["lun"] != v.id+"@"+s.n.id:
		return nil, status.Errorf(codes.InvalidArgument, "publish_context %v has no lun of volume %s", published, id)
	}
	return v, nil
}

func (s nodeServer) NodeStageVolume(ctx context.Context, r *spec.NodeStageVolumeRequest) (*spec.NodeStageVolumeResponse, error) {
	d := s.d
	if err := missing("volume_id", r.GetVolumeId(), "staging_target_path", r.GetStagingTargetPath()); err != nil {
		return nil, err
	}
	if err := d.check(r.GetVolumeCapability()); err != nil {
		return nil, err
	}
	unlock, err := d.lock(ctx, s.n.name+" "+r.GetVolumeId())
	if err != nil {
		return nil, err
	}
	defer unlock()
	v, err := s.volume(r.GetVolumeId(), r.GetPublishContext())
	if err != nil {
		return nil, err
	}
	if was := s.n.staged[r.GetStagingTargetPath()]; was != nil {
		if was.GetVolumeId() != v.id || !proto.Equal(was.GetVolumeCapability(), r.GetVolumeCapability()) {
			return nil, status.Errorf(codes.AlreadyExists, "%s has another volume", r.GetStagingTargetPath())
		}
		return &spec.NodeStageVolumeResponse{}, nil
	}
	if err := d.work(ctx); err != nil {
		return nil, err
	}
	if r.GetVolumeCapability().GetMount() != nil {
		s.mount(v)
	}
	s.n.staged[r.GetStagingTargetPath()] = proto.Clone(r).(*spec.NodeStageVolumeRequest)
	return &spec.NodeStageVolumeResponse{}, nil
}

// mount formats a volume that has no file system. That of a copy grows to the size of the volume.
func (s nodeServer) mount(v *volume) {
	if v.grown == 0 || v.create.GetVolumeContentSource() != nil {
		v.grown = v.size
	}
}

func (s nodeServer) NodeUnstageVolume(ctx context.Context, r *spec.NodeUnstageVolumeRequest) (*spec.NodeUnstageVolumeResponse, error) {
	d := s.d
	if err := missing("volume_id", r.GetVolumeId(), "staging_target_path", r.GetStagingTargetPath()); err != nil {
		return nil, err
	}
	unlock, err := d.lock(ctx, s.n.name+" "+r.GetVolumeId())
	if err != nil {
		return nil, err
	}
	defer unlock()
	was := s.n.staged[r.GetStagingTargetPath()]
	if was == nil && d.volumes[r.GetVolumeId()] == nil && d.o.NotFound {
		return nil, status.Errorf(codes.NotFound, "volume %s does not exist", r.GetVolumeId())
	}
	if was == nil || was.GetVolumeId() != r.GetVolumeId() {
		return &spec.NodeUnstageVolumeResponse{}, nil
	}
	for path, target := range s.n.targets {
		if target.GetVolumeId() == r.GetVolumeId() {
			return nil, status.Errorf(codes.Internal, "volume %s is published at %s", r.GetVolumeId(), path)
		}
	}
	if err := d.work(ctx); err != nil {
		return nil, err
	}
	delete(s.n.staged, r.GetStagingTargetPath())
	return &spec.NodeUnstageVolumeResponse{}, nil
}

func (s nodeServer) NodePublishVolume(ctx context.Context, r *spec.NodePublishVolumeRequest) (*spec.NodePublishVolumeResponse, error) {
	d := s.d
	if err := missing("volume_id", r.GetVolumeId(), "target_path", r.GetTargetPath()); err != nil {
		return nil, err
	}
	if err := d.check(r.GetVolumeCapability()); err != nil {
		return nil, err
	}
	unlock, err := d.lock(ctx, s.n.name+" "+r.GetVolumeId())
	if err != nil {
		return nil, err
	}
	defer unlock()
	inline := r.GetVolumeContext()["csi.storage.k8s.io/ephemeral"] == "true"
	if !inline {
		v, err := s.volume(r.GetVolumeId(), r.GetPublishContext())
		if err != nil {
			return nil, err
		}
		staged := s.n.staged[r.GetStagingTargetPath()]
		switch {
		case d.o.NoStage && r.GetVolumeCapability().GetMount() != nil:
			s.mount(v)
		case !d.o.NoStage && (staged == nil || staged.GetVolumeId() != v.id):
			return nil, status.Errorf(codes.FailedPrecondition, "volume %s is not staged at %q", v.id, r.GetStagingTargetPath())
		}
	}
	if was := s.n.targets[r.GetTargetPath()]; was != nil {
		if was.GetVolumeId() != r.GetVolumeId() || was.GetReadonly() != r.GetReadonly() || !proto.Equal(was.GetVolumeCapability(), r.GetVolumeCapability()) {
			return nil, status.Errorf(codes.AlreadyExists, "%s has another volume", r.GetTargetPath())
		}
		return &spec.NodePublishVolumeResponse{}, nil
	}
	if err := s.another(r); err != nil {
		return nil, err
	}
	if err := d.work(ctx); err != nil {
		return nil, err
	}
	s.n.targets[r.GetTargetPath()] = proto.Clone(r).(*spec.NodePublishVolumeRequest)
	return &spec.NodePublishVolumeResponse{}, nil
}

// another returns an error for a volume that has another target_path, and may have one only.
func (s nodeServer) another(r *spec.NodePublishVolumeRequest) error {
	switch r.GetVolumeCapability().GetAccessMode().GetMode() {
	case spec.VolumeCapability_AccessMode_SINGLE_NODE_SINGLE_WRITER:
	case spec.VolumeCapability_AccessMode_SINGLE_NODE_WRITER:
		if !s.d.o.OneTarget {
			return nil
		}
	default:
		return nil
	}
	for path, target := range s.n.targets {
		if target.GetVolumeId() == r.GetVolumeId() {
			return status.Errorf(codes.FailedPrecondition, "volume %s is published at %s", r.GetVolumeId(), path)
		}
	}
	return nil
}

func (s nodeServer) NodeUnpublishVolume(ctx context.Context, r *spec.NodeUnpublishVolumeRequest) (*spec.NodeUnpublishVolumeResponse, error) {
	d := s.d
	if err := missing("volume_id", r.GetVolumeId(), "target_path", r.GetTargetPath()); err != nil {
		return nil, err
	}
	unlock, err := d.lock(ctx, s.n.name+" "+r.GetVolumeId())
	if err != nil {
		return nil, err
	}
	defer unlock()
	was := s.n.targets[r.GetTargetPath()]
	if was == nil && d.volumes[r.GetVolumeId()] == nil && d.o.NotFound && !strings.HasPrefix(r.GetVolumeId(), "csi-") {
		return nil, status.Errorf(codes.NotFound, "volume %s does not exist", r.GetVolumeId())
	}
	if was == nil || was.GetVolumeId() != r.GetVolumeId() {
		return &spec.NodeUnpublishVolumeResponse{}, nil
	}
	if err := d.work(ctx); err != nil {
		return nil, err
	}
	delete(s.n.targets, r.GetTargetPath())
	return &spec.NodeUnpublishVolumeResponse{}, nil
}

func (s nodeServer) NodeExpandVolume(ctx context.Context, r *spec.NodeExpandVolumeRequest) (*spec.NodeExpandVolumeResponse, error) {
	d := s.d
	if err := missing("volume_id", r.GetVolumeId(), "volume_path", r.GetVolumePath()); err != nil {
		return nil, err
	}
	unlock, err := d.lock(ctx, s.n.name+" "+r.GetVolumeId())
	if err != nil {
		return nil, err
	}
	defer unlock()
	staged, target, v := s.n.staged[r.GetVolumePath()], s.n.targets[r.GetVolumePath()], d.volumes[r.GetVolumeId()]
	if v == nil || staged.GetVolumeId() != v.id && target.GetVolumeId() != v.id {
		return nil, status.Errorf(codes.NotFound, "volume %s is not at %s", r.GetVolumeId(), r.GetVolumePath())
	}
	if err := d.work(ctx); err != nil {
		return nil, err
	}
	if d.o.Expansion == "node" {
		v.size = max(v.size, r.GetCapacityRange().GetRequiredBytes())
	}
	if v.grown > 0 {
		v.grown = v.size
	}
	reply := &spec.NodeExpandVolumeResponse{}
	if !d.o.Bare {
		reply.CapacityBytes = v.size
	}
	return reply, nil
}

func (s nodeServer) NodeGetVolumeStats(_ context.Context, r *spec.NodeGetVolumeStatsRequest) (*spec.NodeGetVolumeStatsResponse, error) {
	d := s.d
	if err := missing("volume_id", r.GetVolumeId(), "volume_path", r.GetVolumePath()); err != nil {
		return nil, err
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	v, target := d.volumes[r.GetVolumeId()], s.n.targets[r.GetVolumePath()]
	if v == nil || target.GetVolumeId() != v.id {
		return nil, status.Errorf(codes.NotFound, "volume %s is not at %s", r.GetVolumeId(), r.GetVolumePath())
	}
	usage := &spec.VolumeUsage{Unit: spec.VolumeUsage_BYTES, Total: v.grown}
	if v.grown == 0 {
		usage.Total = v.size
	}
	if d.o.Shared {
		usage.Total = largest
	}
	inodes := &spec.VolumeUsage{Unit: spec.VolumeUsage_INODES, Total: 1000, Used: 1, Available: 999}
	return &spec.NodeGetVolumeStatsResponse{Usage: []*spec.VolumeUsage{inodes, usage}}, nil
}
