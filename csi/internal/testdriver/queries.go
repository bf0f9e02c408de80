package testdriver

import (
	"context"
	"maps"
	"slices"
	"strconv"

	"github.com/container-storage-interface/spec/lib/go/csi"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/wrapperspb"
)

func (s *controllerServer) ListVolumes(_ context.Context, req *csi.ListVolumesRequest) (*csi.ListVolumesResponse, error) {
	d := s.d
	d.mu.Lock()
	defer d.mu.Unlock()
	switch {
	case d.has(ListUnimplemented):
		return nil, status.Error(codes.Unimplemented, "not implemented")
	case d.has(ListFails) && slices.ContainsFunc(d.volumes, func(v *volume) bool { return len(v.attached) > 0 }):
		return nil, status.Error(codes.Internal, "assertion failed")
	}
	first := 0
	if token := req.GetStartingToken(); token != "" {
		n, err := strconv.Atoi(token)
		switch {
		case err == nil && n <= len(d.volumes):
			first = n
		case !d.has(ListAcceptsTokens):
			return nil, status.Error(codes.Aborted, "starting_token is invalid")
		}
	}
	last := len(d.volumes)
	if m := int(req.GetMaxEntries()); m > 0 && !d.has(ListIgnoresMaxEntries) {
		last = min(last, first+m)
	}
	resp := &csi.ListVolumesResponse{}
	if last < len(d.volumes) {
		resp.NextToken = strconv.Itoa(last)
	}
	if d.has(ListEndless) {
		resp.NextToken = strconv.Itoa(last)
	}
	if first > 0 && d.has(ListRepeats) {
		first--
	}
	if req.GetMaxEntries() > 0 && last == len(d.volumes) && d.has(ListLosesLast) {
		last = first
	}
	for _, v := range d.volumes[first:last] {
		found := &csi.Volume{VolumeId: v.id, CapacityBytes: v.size, VolumeContext: v.context}
		if d.has(ListLarger) {
			found.CapacityBytes += gib
		}
		if d.has(ListLosesContext) {
			found.VolumeContext = map[string]string{"storage": "disk"}
		}
		nodes := v.publishedNodes()
		if d.has(ListPublishedStale) {
			nodes = v.wasOn
		}
		resp.Entries = append(resp.Entries, &csi.ListVolumesResponse_Entry{Volume: found,
			Status: &csi.ListVolumesResponse_VolumeStatus{PublishedNodeIds: nodes, VolumeCondition: d.condition()}})
		if d.has(ListWithoutCondition) {
			resp.Entries[len(resp.Entries)-1].Status.VolumeCondition = nil
		}
	}
	return resp, nil
}

// condition returns the condition of every volume.
func (d *Driver) condition() *csi.VolumeCondition {
	if d.Problem != "" {
		return &csi.VolumeCondition{Abnormal: true, Message: d.Problem}
	}
	return &csi.VolumeCondition{Message: "the volume is healthy"}
}

func (v *volume) publishedNodes() (nodes []string) {
	for _, a := range v.attached {
		nodes = append(nodes, a.node)
	}
	return nodes
}

func (s *controllerServer) ControllerGetVolume(_ context.Context, req *csi.ControllerGetVolumeRequest) (*csi.ControllerGetVolumeResponse, error) {
	d := s.d
	if err := d.required("volume_id", req.GetVolumeId()); err != nil {
		return nil, err
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	v := d.byID(req.GetVolumeId())
	switch {
	case d.has(GetUnimplemented):
		return nil, status.Error(codes.Unimplemented, "not implemented")
	case v == nil && d.has(GetMissingSucceeds):
		return &csi.ControllerGetVolumeResponse{Volume: &csi.Volume{VolumeId: req.GetVolumeId()},
			Status: &csi.ControllerGetVolumeResponse_VolumeStatus{VolumeCondition: d.condition()}}, nil
	case v == nil && d.has(GetMissingAborted):
		return nil, status.Errorf(codes.Aborted, "read volume %s: try again", req.GetVolumeId())
	case v == nil:
		return nil, status.Errorf(codes.NotFound, "volume %s does not exist", req.GetVolumeId())
	}
	resp := &csi.ControllerGetVolumeResponse{Volume: &csi.Volume{VolumeId: v.id, CapacityBytes: v.size, VolumeContext: v.context},
		Status: &csi.ControllerGetVolumeResponse_VolumeStatus{PublishedNodeIds: v.publishedNodes(), VolumeCondition: d.condition()}}
	if d.has(GetLarger) {
		resp.Volume.CapacityBytes += gib
	}
	if d.has(GetDisagrees) {
		resp.Status.PublishedNodeIds = nil
	}
	return resp, nil
}

func (s *controllerServer) GetCapacity(_ context.Context, req *csi.GetCapacityRequest) (*csi.GetCapacityResponse, error) {
	if s.d.has(CapacityRefusesSegment) && req.GetAccessibleTopology() != nil {
		return nil, status.Error(codes.InvalidArgument, "accessible_topology is not supported")
	}
	if s.d.has(CapacityNegative) {
		return &csi.GetCapacityResponse{AvailableCapacity: -1}, nil
	}
	if s.d.has(CapacityMaximumTooSmall) {
		return &csi.GetCapacityResponse{AvailableCapacity: maxSize, MaximumVolumeSize: wrapperspb.Int64(1 << 20)}, nil
	}
	if s.d.has(CapacityMinimumTooLarge) {
		return &csi.GetCapacityResponse{AvailableCapacity: maxSize, MinimumVolumeSize: wrapperspb.Int64(10 * gib)}, nil
	}
	if s.d.has(CapacityInGiB) {
		return &csi.GetCapacityResponse{AvailableCapacity: maxSize / gib}, nil
	}
	return &csi.GetCapacityResponse{AvailableCapacity: maxSize}, nil
}

func (s *controllerServer) ValidateVolumeCapabilities(_ context.Context, req *csi.ValidateVolumeCapabilitiesRequest) (
	*csi.ValidateVolumeCapabilitiesResponse, error) {
	if err := s.d.required("volume_id", req.GetVolumeId()); err != nil {
		return nil, err
	}
	if len(req.GetVolumeCapabilities()) == 0 {
		return nil, status.Error(codes.InvalidArgument, "volume_capabilities is missing")
	}
	s.d.mu.Lock()
	defer s.d.mu.Unlock()
	if s.d.has(ValidateConfirmsNothing) {
		return &csi.ValidateVolumeCapabilitiesResponse{Message: "unknown"}, nil
	}
	v := s.d.byID(req.GetVolumeId())
	if v == nil && !s.d.has(ValidateMissingSucceeds) {
		return nil, status.Errorf(codes.NotFound, "volume %s does not exist", req.GetVolumeId())
	}
	if wanted := req.GetVolumeContext(); v != nil && len(wanted) > 0 && !maps.Equal(wanted, v.context) && !s.d.has(ValidateConfirmsContext) {
		return &csi.ValidateVolumeCapabilitiesResponse{Message: "the volume has another volume_context"}, nil
	}
	for _, c := range req.GetVolumeCapabilities() {
		if c.GetAccessMode().GetMode() == csi.VolumeCapability_AccessMode_UNKNOWN && !s.d.has(ValidateConfirmsUnknown) {
			return &csi.ValidateVolumeCapabilitiesResponse{Message: "the access mode is unknown"}, nil
		}
	}
	confirmed := &csi.ValidateVolumeCapabilitiesResponse_Confirmed{VolumeContext: req.GetVolumeContext(),
		VolumeCapabilities: req.GetVolumeCapabilities(), Parameters: req.GetParameters()}
	if s.d.has(ValidateConfirmsEmpty) {
		confirmed.VolumeCapabilities = nil
	}
	return &csi.ValidateVolumeCapabilitiesResponse{Confirmed: confirmed}, nil
}
