package testdriver

import (
	"context"
	"maps"
	"slices"

	"github.com/container-storage-interface/spec/lib/go/csi"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

func (s *controllerServer) ControllerExpandVolume(ctx context.Context, req *csi.ControllerExpandVolumeRequest) (
	*csi.ControllerExpandVolumeResponse, error) {
	d := s.d
	if err := d.required("volume_id", req.GetVolumeId()); err != nil {
		return nil, err
	}
	size, limit := req.GetCapacityRange().GetRequiredBytes(), req.GetCapacityRange().GetLimitBytes()
	if size <= 0 || limit > 0 && limit < size {
		return nil, status.Errorf(codes.InvalidArgument, "capacity_range %d to %d is invalid", size, limit)
	}
	if d.has(ExpandUnimplemented) {
		return nil, status.Error(codes.Unimplemented, "not implemented")
	}
	key := req.GetVolumeId()
	if d.has(ExpandRestoresAttachment) {
		key += " expand"
	}
	end, err := d.begin(key)
	if err != nil {
		return nil, err
	}
	defer end()
	v := d.byID(req.GetVolumeId())
	switch {
	case v == nil && d.has(ExpandMissingInternal):
		return nil, status.Errorf(codes.Internal, "read volume %s: no such object", req.GetVolumeId())
	case v == nil:
		return nil, status.Errorf(codes.NotFound, "volume %s does not exist", req.GetVolumeId())
	case size > maxSize && d.has(CreateTooLargeInternal):
		return nil, status.Errorf(codes.Internal, "the storage system cannot do that")
	case size > maxSize:
		return nil, status.Errorf(codes.OutOfRange, "volume %s cannot have %d bytes", v.id, size)
	case size <= v.size && d.has(ExpandAgainFails):
		return nil, status.Errorf(codes.Internal, "volume %s has %d bytes already", v.id, v.size)
	case len(v.attached) > 0 && size > v.size && d.has(ExpandPublishedInternal):
		return nil, status.Errorf(codes.Internal, "volume %s is busy", v.id)
	case len(v.attached) > 0 && size > v.size && (d.Offline || d.has(ExpandOnlineFails)):
		return nil, status.Errorf(codes.FailedPrecondition, "volume %s is attached to node %s", v.id, v.attached[0].node)
	case limit > 0 && v.size > limit:
		return nil, status.Errorf(codes.OutOfRange, "volume %s has %d bytes", v.id, v.size)
	}
	if size == v.size && d.has(ExpandAdds) {
		size += gib
	}
	if d.has(ExpandIgnoresLimit) {
		size = (size + gib - 1) / gib * gib
	}
	reported := max(v.size, size)
	if size < v.size && d.has(ExpandShrinks) {
		v.size, reported = size, size
	}
	if size > v.size && !d.has(ExpandNotDelivered) && size > v.recordedSize {
		record := slices.Clone(v.attached)
		if d.pause(ctx); d.has(ExpandRecordsEarly) && ctx.Err() != nil {
			v.recordedSize = size
			return nil, status.FromContextError(ctx.Err()).Err()
		}
		v.size = size
		if d.has(ExpandRestoresAttachment) {
			v.attached = record
		}
	}
	if d.has(ExpandRoundsDown) {
		v.size = v.size / gib * gib
		reported = v.size
	}
	if d.has(ExpandZero) {
		reported = 0
	}
	block := req.GetVolumeCapability().GetBlock() != nil && !d.has(NodeExpandBlockFails)
	return &csi.ControllerExpandVolumeResponse{CapacityBytes: reported, NodeExpansionRequired: !block && !d.has(ExpandSkipsNode)}, nil
}

// supported returns an error for mutable parameters other than "iops".
func supported(mutable map[string]string) error {
	for _, name := range slices.Sorted(maps.Keys(mutable)) {
		if name != "iops" {
			return status.Errorf(codes.InvalidArgument, "mutable parameter %q is not supported", name)
		}
	}
	return nil
}

func (s *controllerServer) ControllerModifyVolume(_ context.Context, req *csi.ControllerModifyVolumeRequest) (
	*csi.ControllerModifyVolumeResponse, error) {
	d := s.d
	if err := d.required("volume_id", req.GetVolumeId()); err != nil {
		return nil, err
	}
	if err := supported(req.GetMutableParameters()); err != nil && !d.has(ModifyAcceptsAll) {
		return nil, err
	}
	end, err := d.begin(req.GetVolumeId())
	if err != nil {
		return nil, err
	}
	defer end()
	v := d.byID(req.GetVolumeId())
	if v == nil && d.has(ModifyMissingSucceeds) {
		return &csi.ControllerModifyVolumeResponse{}, nil
	}
	if v == nil {
		return nil, status.Errorf(codes.NotFound, "volume %s does not exist", req.GetVolumeId())
	}
	if d.has(ModifyAgainFails) && len(v.mutable) > 0 && maps.Equal(v.mutable, req.GetMutableParameters()) {
		return nil, status.Errorf(codes.InvalidArgument, "volume %s has these parameters already", v.id)
	}
	if v.mutable == nil {
		v.mutable = map[string]string{}
	}
	maps.Copy(v.mutable, req.GetMutableParameters())
	return &csi.ControllerModifyVolumeResponse{}, nil
}
