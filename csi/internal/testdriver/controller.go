package testdriver

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/container-storage-interface/spec/lib/go/csi"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/wrapperspb"
)

type identityServer struct {
	csi.UnimplementedIdentityServer
	d *Driver
}

func (identityServer) GetPluginInfo(context.Context, *csi.GetPluginInfoRequest) (*csi.GetPluginInfoResponse, error) {
	return &csi.GetPluginInfoResponse{Name: Name, VendorVersion: "1"}, nil
}

func (s identityServer) GetPluginCapabilities(context.Context, *csi.GetPluginCapabilitiesRequest) (*csi.GetPluginCapabilitiesResponse, error) {
	expansion := csi.PluginCapability_VolumeExpansion_ONLINE
	if s.d.Offline {
		expansion = csi.PluginCapability_VolumeExpansion_OFFLINE
	}
	resp := &csi.GetPluginCapabilitiesResponse{Capabilities: []*csi.PluginCapability{
		{Type: &csi.PluginCapability_Service_{Service: &csi.PluginCapability_Service{Type: csi.PluginCapability_Service_CONTROLLER_SERVICE}}},
		{Type: &csi.PluginCapability_VolumeExpansion_{VolumeExpansion: &csi.PluginCapability_VolumeExpansion{Type: expansion}}},
	}}
	resp.Capabilities = append(resp.Capabilities, &csi.PluginCapability{Type: &csi.PluginCapability_Service_{
		Service: &csi.PluginCapability_Service{Type: csi.PluginCapability_Service_GROUP_CONTROLLER_SERVICE}}})
	if s.d.Zone != "" {
		resp.Capabilities = append(resp.Capabilities, &csi.PluginCapability{Type: &csi.PluginCapability_Service_{
			Service: &csi.PluginCapability_Service{Type: csi.PluginCapability_Service_VOLUME_ACCESSIBILITY_CONSTRAINTS}}})
	}
	return resp, nil
}

func (s identityServer) Probe(context.Context, *csi.ProbeRequest) (*csi.ProbeResponse, error) {
	return &csi.ProbeResponse{Ready: wrapperspb.Bool(!s.d.has(ProbeNotReady))}, nil
}

type controllerServer struct {
	csi.UnimplementedControllerServer
	d *Driver
}

// zoneKey is the key of the topology.
const zoneKey = "topology.test.csi.volsim.dev/zone"

const (
	gib         = 1 << 30
	defaultSize = gib
	maxSize     = 16 << 40
)

func (s *controllerServer) ControllerGetCapabilities(context.Context, *csi.ControllerGetCapabilitiesRequest) (
	*csi.ControllerGetCapabilitiesResponse, error) {
	resp := &csi.ControllerGetCapabilitiesResponse{}
	for _, t := range append([]csi.ControllerServiceCapability_RPC_Type{
		csi.ControllerServiceCapability_RPC_CREATE_DELETE_VOLUME,
		csi.ControllerServiceCapability_RPC_PUBLISH_UNPUBLISH_VOLUME,
		csi.ControllerServiceCapability_RPC_LIST_VOLUMES,
		csi.ControllerServiceCapability_RPC_LIST_VOLUMES_PUBLISHED_NODES,
		csi.ControllerServiceCapability_RPC_EXPAND_VOLUME,
		csi.ControllerServiceCapability_RPC_SINGLE_NODE_MULTI_WRITER,
		csi.ControllerServiceCapability_RPC_MODIFY_VOLUME,
		csi.ControllerServiceCapability_RPC_GET_VOLUME,
		csi.ControllerServiceCapability_RPC_GET_CAPACITY,
		csi.ControllerServiceCapability_RPC_VOLUME_CONDITION,
	}, snapshotCapabilities...) {
		resp.Capabilities = append(resp.Capabilities, &csi.ControllerServiceCapability{
			Type: &csi.ControllerServiceCapability_Rpc{Rpc: &csi.ControllerServiceCapability_RPC{Type: t}}})
	}
	return resp, nil
}

func (s *controllerServer) CreateVolume(ctx context.Context, req *csi.CreateVolumeRequest) (*csi.CreateVolumeResponse, error) {
	d := s.d
	if err := d.required("name", req.GetName()); err != nil {
		return nil, err
	}
	if len(req.GetVolumeCapabilities()) == 0 {
		return nil, status.Error(codes.InvalidArgument, "volume_capabilities is missing")
	}
	if err := supported(req.GetMutableParameters()); err != nil {
		return nil, err
	}
	size, limit := max(req.GetCapacityRange().GetRequiredBytes(), 0), req.GetCapacityRange().GetLimitBytes()
	if size == 0 {
		size = defaultSize
		if limit > 0 {
			size = min(size, limit)
		}
	}
	if size > maxSize && d.has(CreateTooLargeInternal) {
		return nil, status.Errorf(codes.Internal, "the storage system cannot do that")
	}
	if size > maxSize || limit > 0 && limit < size {
		return nil, status.Errorf(codes.OutOfRange, "a volume of %d bytes, at most %d, is impossible", size, limit)
	}
	key := req.GetName()
	if d.has(CreateAgainMakesSecond) {
		key = fmt.Sprintf("%s %p", key, req)
	}
	end, err := d.begin(key)
	if err != nil {
		return nil, err
	}
	defer end()
	v := d.byName(req.GetName())
	if d.has(CreateForgetsNames) {
		v = d.byID(d.names[req.GetName()])
	}
	if v != nil {
		if d.has(CreateAgainFails) {
			return nil, status.Errorf(codes.AlreadyExists, "volume %s exists", req.GetName())
		}
		if err := v.compatible(req); err != nil && !d.has(CreateIgnoresProperties) {
			return nil, err
		}
		if d.has(RestoreAgainWithoutSource) {
			v.from = nil
		}
		return s.created(v), nil
	}
	copied, err := d.contentFor(req, size)
	if err != nil {
		return nil, err
	}
	if copied.size > 0 && d.has(RestoreTooSmall) {
		size = copied.size
	}
	if d.has(CreateTooSmall) {
		size = size / 1e9 * 1e9 // the storage system counts in GB
	}
	if d.has(SecretInError) && d.created == 0 && len(req.GetSecrets()) > 0 {
		d.created++
		return nil, status.Errorf(codes.Unavailable, "log in to the storage system with %v: try again", req.GetSecrets())
	}
	if d.has(RestoreInterruptedEmpty) && copied.size > 0 {
		d.created++
		v = &volume{id: fmt.Sprintf("vol-%d", d.created), name: req.GetName(), size: size, parameters: maps.Clone(req.GetParameters()),
			mutable: maps.Clone(req.GetMutableParameters()), capabilities: req.GetVolumeCapabilities(), context: map[string]string{"storage": "memory"},
			from: req.GetVolumeContentSource()}
		d.volumes = append(d.volumes, v)
		if d.pause(ctx); ctx.Err() != nil {
			return nil, status.FromContextError(ctx.Err()).Err()
		}
		v.data, v.usable, v.copied, v.source = copied.data, copied.usable, copied.usable > 0, copied.source
		return s.created(v), nil
	}
	d.pause(ctx)
	d.created++
	v = &volume{id: fmt.Sprintf("vol-%d", d.created), name: req.GetName(), size: size, parameters: maps.Clone(req.GetParameters()),
		mutable: maps.Clone(req.GetMutableParameters()), capabilities: req.GetVolumeCapabilities(), context: map[string]string{"storage": "memory"},
		from: req.GetVolumeContentSource(), data: copied.data, usable: copied.usable, copied: copied.usable > 0, source: copied.source}
	if d.has(SecretInContext) {
		maps.Copy(v.context, req.GetSecrets())
	}
	if d.has(CreateLongID) {
		v.id += strings.Repeat("-0123456789abcdef", 8)
	}
	d.volumes = append(d.volumes, v)
	d.names[v.name] = v.id
	return s.created(v), nil
}

func (s *controllerServer) created(v *volume) *csi.CreateVolumeResponse {
	v.answers++
	resp := &csi.Volume{VolumeId: v.id, CapacityBytes: v.size, VolumeContext: v.context, ContentSource: v.from}
	if s.d.has(RestoreWithoutSource) {
		resp.ContentSource = nil
	}
	if s.d.Zone != "" {
		zone := s.d.Zone
		if s.d.has(CreateIgnoresTopology) {
			zone = "elsewhere"
		}
		key := zoneKey
		if s.d.has(CreateOtherTopologyKey) {
			key = "zone"
		}
		resp.AccessibleTopology = []*csi.Topology{{Segments: map[string]string{key: zone}}}
	}
	if s.d.has(CreateWrongCapacity) {
		resp.CapacityBytes *= 2
	}
	if s.d.has(CreateWithoutID) {
		resp.VolumeId = ""
	}
	if s.d.has(CreateAgainDiffers) && v.answers > 1 {
		resp.VolumeContext = map[string]string{"storage": "unknown"}
	}
	return &csi.CreateVolumeResponse{Volume: resp}
}

// compatible returns an error if the existing volume is not what the request asks for.
func (v *volume) compatible(req *csi.CreateVolumeRequest) error {
	r := req.GetCapacityRange()
	if v.size < r.GetRequiredBytes() || r.GetLimitBytes() > 0 && v.size > r.GetLimitBytes() {
		return status.Errorf(codes.AlreadyExists, "volume %s exists with %d bytes", v.name, v.size)
	}
	if !maps.Equal(v.parameters, req.GetParameters()) {
		return status.Errorf(codes.AlreadyExists, "volume %s exists with other parameters", v.name)
	}
	if !slices.EqualFunc(v.capabilities, req.GetVolumeCapabilities(), sameCapability) {
		return status.Errorf(codes.AlreadyExists, "volume %s exists with other capabilities", v.name)
	}
	if !proto.Equal(v.from, req.GetVolumeContentSource()) {
		return status.Errorf(codes.AlreadyExists, "volume %s exists with another volume_content_source", v.name)
	}
	return nil
}

func (s *controllerServer) DeleteVolume(ctx context.Context, req *csi.DeleteVolumeRequest) (*csi.DeleteVolumeResponse, error) {
	d := s.d
	if err := d.required("volume_id", req.GetVolumeId()); err != nil {
		return nil, err
	}
	end, err := d.begin(req.GetVolumeId())
	if err != nil {
		return nil, err
	}
	defer end()
	v := d.byID(req.GetVolumeId())
	switch {
	case v == nil && d.has(DeleteAgainFails):
		return nil, status.Errorf(codes.NotFound, "volume %s does not exist", req.GetVolumeId())
	case v == nil:
		return &csi.DeleteVolumeResponse{}, nil
	case len(v.attached) > 0 && !d.has(DeleteAttached):
		return nil, status.Errorf(codes.FailedPrecondition, "volume %s is attached to node %s", v.id, v.attached[0].node)
	}
	if slices.ContainsFunc(d.snapshots, func(s *snapshot) bool { return s.volume == v.id }) && d.has(DeleteWithSnapshotsInternal) {
		return nil, status.Errorf(codes.Internal, "volume %s has snapshots", v.id)
	}
	d.pause(ctx)
	if d.has(DeleteLeaves) {
		return &csi.DeleteVolumeResponse{}, nil
	}
	d.endWith(v)
	d.volumes = slices.DeleteFunc(d.volumes, func(other *volume) bool { return other == v })
	return &csi.DeleteVolumeResponse{}, nil
}

func (s *controllerServer) ControllerPublishVolume(ctx context.Context, req *csi.ControllerPublishVolumeRequest) (
	*csi.ControllerPublishVolumeResponse, error) {
	d := s.d
	if err := d.required("volume_id", req.GetVolumeId(), "node_id", req.GetNodeId()); err != nil {
		return nil, err
	}
	if req.GetVolumeCapability() == nil {
		return nil, status.Error(codes.InvalidArgument, "volume_capability is missing")
	}
	key := req.GetVolumeId()
	if d.has(AttachDetachOverlap) {
		key += " publish"
	}
	end, err := d.begin(key)
	if err != nil {
		return nil, err
	}
	defer d.leak(ctx, key, end)()
	v := d.byID(req.GetVolumeId())
	switch {
	case v != nil:
	case d.has(AttachMissingSucceeds):
		return &csi.ControllerPublishVolumeResponse{}, nil
	case d.has(AttachMissingInternal):
		return nil, status.Errorf(codes.Internal, "read volume %s: no such object", req.GetVolumeId())
	default:
		return nil, status.Errorf(codes.NotFound, "volume %s does not exist", req.GetVolumeId())
	}
	if n, ok := d.nodes[d.nodeName(req.GetNodeId())]; (!ok || n.gone) && !d.has(AttachNodeGoneSucceeds) {
		return nil, status.Errorf(codes.NotFound, "node %s does not exist", req.GetNodeId())
	}
	publishContext := map[string]string{"device": "/dev/disk/by-id/" + v.id}
	a := attachment{node: req.GetNodeId(), readOnly: req.GetReadonly(), capability: req.GetVolumeCapability()}
	if was := v.attachedTo(a.node); was != nil {
		switch {
		case d.has(AttachAgainFails):
			return nil, status.Errorf(codes.Internal, "volume %s is already attached to node %s", v.id, a.node)
		case was.readOnly != a.readOnly || !sameCapability(was.capability, a.capability):
			return nil, status.Errorf(codes.AlreadyExists, "volume %s is attached to node %s in another way", v.id, a.node)
		case d.has(AttachAgainLosesContext), d.has(AttachForgetsContext) && !d.known[v.id]:
			publishContext = nil
		}
		return &csi.ControllerPublishVolumeResponse{PublishContext: publishContext}, nil
	}
	for _, other := range v.attached {
		if manyNodes(a.capability) && manyNodes(other.capability) || d.has(AttachManyNodes) {
			continue
		}
		if !d.has(AttachSteals) {
			return nil, status.Errorf(codes.FailedPrecondition, "volume %s is attached to node %s", v.id, other.node)
		}
		v.attached = nil
		break
	}
	limit := d.AttachLimit
	if d.has(AttachLimitTooStrict) {
		limit--
	}
	if d.AttachLimit > 0 && d.attachedTo(a.node) >= limit && !d.has(AttachIgnoresLimit) {
		return nil, status.Errorf(codes.ResourceExhausted, "node %s has %d volumes", a.node, d.AttachLimit)
	}
	d.pause(ctx)
	v.attached, v.wasOn = append(v.attached, a), append(v.wasOn, a.node)
	d.known[v.id] = true
	return &csi.ControllerPublishVolumeResponse{PublishContext: publishContext}, nil
}

func (d *Driver) attachedTo(node string) (volumes int64) {
	for _, v := range d.volumes {
		if v.attachedTo(node) != nil {
			volumes++
		}
	}
	return volumes
}

func (s *controllerServer) ControllerUnpublishVolume(ctx context.Context, req *csi.ControllerUnpublishVolumeRequest) (
	*csi.ControllerUnpublishVolumeResponse, error) {
	d := s.d
	if err := d.required("volume_id", req.GetVolumeId()); err != nil {
		return nil, err
	}
	end, err := d.begin(req.GetVolumeId())
	if err != nil {
		return nil, err
	}
	defer end()
	v := d.byID(req.GetVolumeId())
	if n, ok := d.nodes[req.GetNodeId()]; (!ok || n.gone) && req.GetNodeId() != "" && d.has(DetachNodeGoneFails) {
		return nil, status.Errorf(codes.NotFound, "node %s does not exist", req.GetNodeId())
	}
	switch {
	case v == nil && d.has(DetachMissingFails):
		return nil, status.Errorf(codes.Internal, "read volume %s: no such object", req.GetVolumeId())
	case v == nil:
		return &csi.ControllerUnpublishVolumeResponse{}, nil
	case d.has(DetachLeaves):
		return &csi.ControllerUnpublishVolumeResponse{}, nil
	case v.attachedTo(req.GetNodeId()) == nil && d.has(DetachAgainFails) && !d.overlaps(v.id):
		return nil, status.Errorf(codes.Internal, "volume %s is not attached to node %s", v.id, req.GetNodeId())
	case req.GetNodeId() == "" || d.has(DetachesAllNodes):
		d.pause(ctx)
		v.attached = nil
	default:
		d.pause(ctx)
		v.detach(req.GetNodeId())
	}
	return &csi.ControllerUnpublishVolumeResponse{}, nil
}

func (d *Driver) overlaps(volume string) bool { return d.busy[volume+" publish"] }

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
	end, err := d.begin(req.GetVolumeId())
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
	case len(v.attached) > 0 && size > v.size && (d.Offline || d.has(ExpandOnlineFails)):
		return nil, status.Errorf(codes.FailedPrecondition, "volume %s is attached to node %s", v.id, v.attached[0].node)
	case limit > 0 && v.size > limit:
		return nil, status.Errorf(codes.OutOfRange, "volume %s has %d bytes", v.id, v.size)
	}
	reported := max(v.size, size)
	if size < v.size && d.has(ExpandShrinks) {
		v.size, reported = size, size
	}
	if size > v.size && !d.has(ExpandNotDelivered) {
		d.pause(ctx)
		v.size = size
	}
	block := req.GetVolumeCapability().GetBlock() != nil
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
	if err := supported(req.GetMutableParameters()); err != nil {
		return nil, err
	}
	end, err := d.begin(req.GetVolumeId())
	if err != nil {
		return nil, err
	}
	defer end()
	v := d.byID(req.GetVolumeId())
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

func (s *controllerServer) ListVolumes(_ context.Context, req *csi.ListVolumesRequest) (*csi.ListVolumesResponse, error) {
	d := s.d
	d.mu.Lock()
	defer d.mu.Unlock()
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
	if first > 0 && d.has(ListRepeats) {
		first--
	}
	if req.GetMaxEntries() > 0 && last == len(d.volumes) && d.has(ListLosesLast) {
		last = first
	}
	for _, v := range d.volumes[first:last] {
		found := &csi.Volume{VolumeId: v.id, CapacityBytes: v.size, VolumeContext: v.context}
		if d.has(ListLosesContext) {
			found.VolumeContext = map[string]string{"storage": "disk"}
		}
		nodes := v.publishedNodes()
		if d.has(ListPublishedStale) {
			nodes = v.wasOn
		}
		resp.Entries = append(resp.Entries, &csi.ListVolumesResponse_Entry{Volume: found,
			Status: &csi.ListVolumesResponse_VolumeStatus{PublishedNodeIds: nodes, VolumeCondition: healthy()}})
	}
	return resp, nil
}

func healthy() *csi.VolumeCondition { return &csi.VolumeCondition{Message: "the volume is healthy"} }

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
	case v == nil && d.has(GetMissingSucceeds):
		return &csi.ControllerGetVolumeResponse{Volume: &csi.Volume{VolumeId: req.GetVolumeId()},
			Status: &csi.ControllerGetVolumeResponse_VolumeStatus{VolumeCondition: healthy()}}, nil
	case v == nil:
		return nil, status.Errorf(codes.NotFound, "volume %s does not exist", req.GetVolumeId())
	}
	resp := &csi.ControllerGetVolumeResponse{Volume: &csi.Volume{VolumeId: v.id, CapacityBytes: v.size, VolumeContext: v.context},
		Status: &csi.ControllerGetVolumeResponse_VolumeStatus{PublishedNodeIds: v.publishedNodes(), VolumeCondition: healthy()}}
	if d.has(GetDisagrees) {
		resp.Status.PublishedNodeIds = nil
	}
	return resp, nil
}

func (s *controllerServer) GetCapacity(context.Context, *csi.GetCapacityRequest) (*csi.GetCapacityResponse, error) {
	if s.d.has(CapacityNegative) {
		return &csi.GetCapacityResponse{AvailableCapacity: -1}, nil
	}
	if s.d.has(CapacityMaximumTooSmall) {
		return &csi.GetCapacityResponse{AvailableCapacity: maxSize, MaximumVolumeSize: wrapperspb.Int64(1 << 20)}, nil
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
	if s.d.byID(req.GetVolumeId()) == nil && !s.d.has(ValidateMissingSucceeds) {
		return nil, status.Errorf(codes.NotFound, "volume %s does not exist", req.GetVolumeId())
	}
	return &csi.ValidateVolumeCapabilitiesResponse{Confirmed: &csi.ValidateVolumeCapabilitiesResponse_Confirmed{
		VolumeContext: req.GetVolumeContext(), VolumeCapabilities: req.GetVolumeCapabilities(), Parameters: req.GetParameters()}}, nil
}
