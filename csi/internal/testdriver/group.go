package testdriver

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/container-storage-interface/spec/lib/go/csi"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/timestamppb"
)

type groupServer struct {
	csi.UnimplementedGroupControllerServer
	d *Driver
}

func (groupServer) GroupControllerGetCapabilities(context.Context, *csi.GroupControllerGetCapabilitiesRequest) (
	*csi.GroupControllerGetCapabilitiesResponse, error) {
	return &csi.GroupControllerGetCapabilitiesResponse{Capabilities: []*csi.GroupControllerServiceCapability{{
		Type: &csi.GroupControllerServiceCapability_Rpc{Rpc: &csi.GroupControllerServiceCapability_RPC{
			Type: csi.GroupControllerServiceCapability_RPC_CREATE_DELETE_GET_VOLUME_GROUP_SNAPSHOT}}}}}, nil
}

// describeGroup returns the group as a reply has it.
func (d *Driver) describeGroup(g *group) *csi.VolumeGroupSnapshot {
	out := &csi.VolumeGroupSnapshot{GroupSnapshotId: g.id, CreationTime: timestamppb.New(timeOf(g.second)), ReadyToUse: true}
	for _, s := range d.snapshots {
		if s.group == g.id {
			member := d.describe(s)
			out.Snapshots = append(out.Snapshots, member)
			out.ReadyToUse = out.ReadyToUse && (member.GetReadyToUse() || d.has(GroupReadyEarly))
		}
	}
	return out
}

func (d *Driver) groupByID(id string) *group {
	i := slices.IndexFunc(d.groups, func(g *group) bool { return g.id == id })
	if i < 0 {
		return nil
	}
	return d.groups[i]
}

func (s groupServer) CreateVolumeGroupSnapshot(ctx context.Context, req *csi.CreateVolumeGroupSnapshotRequest) (
	*csi.CreateVolumeGroupSnapshotResponse, error) {
	d := s.d
	if err := d.required("name", req.GetName(), "source_volume_ids", strings.Join(req.GetSourceVolumeIds(), ",")); err != nil {
		return nil, err
	}
	end, err := d.begin("group " + req.GetName())
	if err != nil {
		return nil, err
	}
	defer end()
	volumes := slices.Sorted(slices.Values(req.GetSourceVolumeIds()))
	if i := slices.IndexFunc(d.groups, func(g *group) bool { return g.name == req.GetName() }); i >= 0 && !d.has(GroupAgainMakesSecond) &&
		(!d.has(GroupForgetsNames) || d.names["group "+req.GetName()] != "") {
		if g := d.groups[i]; slices.Equal(g.volumes, volumes) || d.has(GroupIgnoresSources) {
			return &csi.CreateVolumeGroupSnapshotResponse{GroupSnapshot: d.describeGroup(g)}, nil
		}
		return nil, status.Errorf(codes.AlreadyExists, "group snapshot %s exists, of other volumes", req.GetName())
	}
	d.taken++
	g := &group{id: fmt.Sprintf("group-%d", d.taken), name: req.GetName(), volumes: volumes, second: firstSecond + int64(d.taken)}
	var members []*snapshot
	for _, id := range req.GetSourceVolumeIds() {
		v := d.byID(id)
		if v == nil {
			return nil, status.Errorf(codes.NotFound, "volume %s does not exist", id)
		}
		members = append(members, d.take(v, g.id+" "+id, g.id))
	}
	d.pause(ctx)
	d.groups, d.snapshots = append(d.groups, g), append(d.snapshots, members...)
	d.names["group "+req.GetName()] = g.id
	return &csi.CreateVolumeGroupSnapshotResponse{GroupSnapshot: d.describeGroup(g)}, nil
}

// members returns an error if the IDs are not those of the snapshots of the group.
func (d *Driver) members(g *group, ids []string) error {
	var have []string
	for _, s := range d.snapshots {
		if s.group == g.id {
			have = append(have, s.id)
		}
	}
	if slices.Sort(have); !slices.Equal(have, slices.Sorted(slices.Values(ids))) {
		return status.Errorf(codes.InvalidArgument, "snapshot_ids are not those of group snapshot %s", g.id)
	}
	return nil
}

func (s groupServer) DeleteVolumeGroupSnapshot(ctx context.Context, req *csi.DeleteVolumeGroupSnapshotRequest) (
	*csi.DeleteVolumeGroupSnapshotResponse, error) {
	d := s.d
	if err := d.required("group_snapshot_id", req.GetGroupSnapshotId()); err != nil {
		return nil, err
	}
	end, err := d.begin("group " + req.GetGroupSnapshotId())
	if err != nil {
		return nil, err
	}
	defer end()
	g := d.groupByID(req.GetGroupSnapshotId())
	switch {
	case g == nil && d.has(GroupDeleteAgainFails):
		return nil, status.Errorf(codes.NotFound, "group snapshot %s does not exist", req.GetGroupSnapshotId())
	case g == nil:
		return &csi.DeleteVolumeGroupSnapshotResponse{}, nil
	}
	if err := d.members(g, req.GetSnapshotIds()); err != nil {
		return nil, err
	}
	d.pause(ctx)
	d.groups = slices.DeleteFunc(d.groups, func(other *group) bool { return other == g })
	if !d.has(GroupDeleteLeaves) {
		d.snapshots = slices.DeleteFunc(d.snapshots, func(s *snapshot) bool { return s.group == g.id })
	}
	return &csi.DeleteVolumeGroupSnapshotResponse{}, nil
}

func (s groupServer) GetVolumeGroupSnapshot(_ context.Context, req *csi.GetVolumeGroupSnapshotRequest) (
	*csi.GetVolumeGroupSnapshotResponse, error) {
	d := s.d
	if err := d.required("group_snapshot_id", req.GetGroupSnapshotId()); err != nil {
		return nil, err
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	g := d.groupByID(req.GetGroupSnapshotId())
	switch {
	case g == nil && d.has(GroupMissingSucceeds):
		return &csi.GetVolumeGroupSnapshotResponse{GroupSnapshot: d.describeGroup(&group{id: req.GetGroupSnapshotId()})}, nil
	case g == nil:
		return nil, status.Errorf(codes.NotFound, "group snapshot %s does not exist", req.GetGroupSnapshotId())
	}
	if err := d.members(g, req.GetSnapshotIds()); err != nil {
		return nil, err
	}
	return &csi.GetVolumeGroupSnapshotResponse{GroupSnapshot: d.describeGroup(g)}, nil
}
