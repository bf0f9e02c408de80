package specdriver

import (
	"cmp"
	"context"
	"slices"

	spec "github.com/container-storage-interface/spec/lib/go/csi"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"
)

func (c controller) ControllerPublishVolume(ctx context.Context, r *spec.ControllerPublishVolumeRequest) (*spec.ControllerPublishVolumeResponse, error) {
	d := c.d
	if err := missing("volume_id", r.GetVolumeId(), "node_id", r.GetNodeId()); err != nil {
		return nil, err
	}
	if err := d.check(r.GetVolumeCapability()); err != nil {
		return nil, err
	}
	unlock, err := d.lock(ctx, "volume "+d.nameOf(r.GetVolumeId()))
	if err != nil {
		return nil, err
	}
	defer unlock()
	v, n := d.volumes[r.GetVolumeId()], d.byID(r.GetNodeId())
	switch {
	case v == nil:
		return nil, status.Errorf(codes.NotFound, "volume %s does not exist", r.GetVolumeId())
	case n == nil || n.gone:
		return nil, status.Errorf(codes.NotFound, "node %s does not exist", r.GetNodeId())
	}
	reply := &spec.ControllerPublishVolumeResponse{}
	if !d.o.Bare {
		reply.PublishContext = map[string]string{"lun": v.id + "@" + n.id}
	}
	if was := v.users[n.id]; was != nil {
		if was.GetReadonly() != r.GetReadonly() || !proto.Equal(was.GetVolumeCapability(), r.GetVolumeCapability()) {
			return nil, status.Errorf(codes.AlreadyExists, "volume %s is published at node %s in another way", v.id, n.id)
		}
		return reply, nil
	}
	if len(v.users) > 0 && !manyNodes(r.GetVolumeCapability()) {
		return nil, status.Errorf(codes.FailedPrecondition, "volume %s is published at another node", v.id)
	}
	on := int64(0)
	for _, other := range d.volumes {
		if other.users[n.id] != nil {
			on++
		}
	}
	if d.o.Limit > 0 && on >= d.o.Limit {
		return nil, status.Errorf(codes.ResourceExhausted, "node %s has %d volumes", n.id, on)
	}
	if err := d.work(ctx); err != nil {
		return nil, err
	}
	if n.gone {
		return nil, status.Errorf(codes.NotFound, "node %s does not exist", r.GetNodeId())
	}
	v.users[n.id] = proto.Clone(r).(*spec.ControllerPublishVolumeRequest)
	return reply, nil
}

func (d *Driver) byID(id string) *node {
	for _, n := range d.nodes {
		if n.id == id {
			return n
		}
	}
	return nil
}

func (c controller) ControllerUnpublishVolume(ctx context.Context, r *spec.ControllerUnpublishVolumeRequest) (*spec.ControllerUnpublishVolumeResponse, error) {
	d := c.d
	if err := missing("volume_id", r.GetVolumeId()); err != nil {
		return nil, err
	}
	unlock, err := d.lock(ctx, "volume "+d.nameOf(r.GetVolumeId()))
	if err != nil {
		return nil, err
	}
	defer unlock()
	v := d.volumes[r.GetVolumeId()]
	if v == nil && d.o.NotFound {
		return nil, status.Errorf(codes.NotFound, "volume %s does not exist", r.GetVolumeId())
	}
	if v == nil || r.GetNodeId() != "" && v.users[r.GetNodeId()] == nil {
		return &spec.ControllerUnpublishVolumeResponse{}, nil
	}
	if err := d.work(ctx); err != nil {
		return nil, err
	}
	if r.GetNodeId() == "" {
		clear(v.users)
	}
	delete(v.users, r.GetNodeId())
	return &spec.ControllerUnpublishVolumeResponse{}, nil
}

func (c controller) ControllerExpandVolume(ctx context.Context, r *spec.ControllerExpandVolumeRequest) (*spec.ControllerExpandVolumeResponse, error) {
	d := c.d
	if err := missing("volume_id", r.GetVolumeId()); err != nil {
		return nil, err
	}
	if r.GetCapacityRange() == nil {
		return nil, status.Error(codes.InvalidArgument, "capacity_range is required")
	}
	unlock, err := d.lock(ctx, "volume "+d.nameOf(r.GetVolumeId()))
	if err != nil {
		return nil, err
	}
	defer unlock()
	v := d.volumes[r.GetVolumeId()]
	if v == nil {
		return nil, status.Errorf(codes.NotFound, "volume %s does not exist", r.GetVolumeId())
	}
	size, err := d.bytes(r.GetCapacityRange())
	if err != nil {
		return nil, err
	}
	if size > v.size {
		if d.o.Expansion == "offline" && len(v.users) > 0 {
			return nil, status.Errorf(codes.FailedPrecondition, "volume %s is published", v.id)
		}
		if err := d.work(ctx); err != nil {
			return nil, err
		}
		v.size = max(v.size, size)
	}
	return &spec.ControllerExpandVolumeResponse{CapacityBytes: v.size, NodeExpansionRequired: r.GetVolumeCapability().GetBlock() == nil && !d.o.Shared}, nil
}

// page returns the part of a list that a token and max_entries ask for, and the token of the next page.
func (d *Driver) page(ids []string, token string, most int32) (part []string, next string, err error) {
	slices.Sort(ids)
	if token != "" {
		i := slices.Index(ids, token)
		if i < 0 {
			return nil, "", status.Errorf(codes.Aborted, "starting_token %q is not valid", token)
		}
		ids = ids[i:]
	}
	n := len(ids)
	if most > 0 {
		n = min(n, int(most))
	}
	if d.o.PageSize > 0 {
		n = min(n, d.o.PageSize)
	}
	if n < len(ids) {
		next = ids[n]
	}
	return ids[:n], next, nil
}

func (c controller) ListVolumes(_ context.Context, r *spec.ListVolumesRequest) (*spec.ListVolumesResponse, error) {
	d := c.d
	d.mu.Lock()
	defer d.mu.Unlock()
	var ids []string
	for id := range d.volumes {
		ids = append(ids, id)
	}
	ids, next, err := d.page(ids, r.GetStartingToken(), r.GetMaxEntries())
	if err != nil {
		return nil, err
	}
	reply := &spec.ListVolumesResponse{NextToken: next}
	for _, id := range ids {
		entry := &spec.ListVolumesResponse_Entry{Volume: d.describe(d.volumes[id], false)}
		if !d.o.Bare {
			entry.Status = &spec.ListVolumesResponse_VolumeStatus{}
			for node := range d.volumes[id].users {
				entry.Status.PublishedNodeIds = append(entry.Status.PublishedNodeIds, node)
			}
			slices.SortFunc(entry.Status.PublishedNodeIds, cmp.Compare[string])
		}
		reply.Entries = append(reply.Entries, entry)
	}
	return reply, nil
}
