package testdriver

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/container-storage-interface/spec/lib/go/csi"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"
)

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
		if s.d.OnNode && t == csi.ControllerServiceCapability_RPC_EXPAND_VOLUME {
			continue
		}
		if s.d.has(AttachIgnoresReadOnly) && t == csi.ControllerServiceCapability_RPC_MODIFY_VOLUME {
			t = csi.ControllerServiceCapability_RPC_PUBLISH_READONLY
		}
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
	if err := d.logIn(req.GetSecrets()); err != nil {
		if d.has(SecretWrongLeaves) {
			d.add(&volume{name: req.GetName() + " rejected", size: gib, zone: d.Zone})
		}
		return nil, err
	}
	size, limit := max(req.GetCapacityRange().GetRequiredBytes(), 0), req.GetCapacityRange().GetLimitBytes()
	if size == 0 && d.has(CreateNeedsRange) {
		return nil, status.Error(codes.InvalidArgument, "capacity_range is missing")
	}
	if size == 0 {
		size = defaultSize
		if limit > 0 {
			size = min(size, limit)
		}
	}
	if size > maxSize && d.has(CreateTooLargeInternal) {
		return nil, status.Errorf(codes.Internal, "the storage system cannot do that")
	}
	if size > maxSize && d.has(CreateFailedLeaves) {
		d.add(&volume{name: req.GetName(), zone: d.Zone})
	}
	if size > maxSize || limit > 0 && limit < size {
		return nil, status.Errorf(codes.OutOfRange, "a volume of %d bytes, at most %d, is impossible", size, limit)
	}
	key := req.GetName()
	if d.has(CreateAgainMakesSecond) || d.has(CreateCleansUp) {
		key = fmt.Sprintf("%s %p", key, req)
	}
	end, err := d.begin(key)
	if err != nil && d.has(BusyAlreadyExists) {
		return nil, status.Errorf(codes.AlreadyExists, "volume %s is being created", req.GetName())
	}
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
		if err := v.compatible(req, d.has(CreateIgnoresSize), d.has(CreateIgnoresSource)); err != nil && !d.has(CreateIgnoresProperties) {
			if d.has(CreateExistsInternal) {
				return nil, status.Errorf(codes.Internal, "volume %s exists", req.GetName())
			}
			return nil, err
		}
		if d.has(RestoreAgainWithoutSource) {
			v.from = nil
		}
		if d.has(CreateRevives) {
			if d.pause(ctx); d.byID(v.id) == nil {
				d.volumes = append(d.volumes, v)
			}
		}
		resp := s.created(v)
		if d.has(CreateAgainSmaller) {
			resp.Volume.CapacityBytes = req.GetCapacityRange().GetRequiredBytes()
		}
		return resp, nil
	}
	copied, err := d.contentFor(req, size)
	if err != nil && d.has(RestoreFailedLeaves) && status.Code(err) == codes.NotFound {
		d.created++
		d.volumes = append(d.volumes, &volume{id: fmt.Sprintf("vol-%d", d.created), name: req.GetName(), size: size, zone: d.Zone})
	}
	if err != nil {
		return nil, err
	}
	if copied.size > 0 && d.has(RestoreTooSmall) {
		size = copied.size
	}
	if d.has(CreateTooSmall) {
		size = size / 1e9 * 1e9 // the storage system counts in GB
	}
	if d.has(CreateRoundsDown) {
		size = size / gib * gib
	}
	if d.has(CreateIgnoresLimit) || d.has(CreateAgainSmaller) {
		size = (size + gib - 1) / gib * gib
	}
	if d.has(SecretInError) && d.created == 0 && len(req.GetSecrets()) > 0 {
		d.created++
		return nil, status.Errorf(codes.Unavailable, "log in to the storage system with %v: try again", req.GetSecrets())
	}
	if d.has(RestoreInterruptedEmpty) && copied.size > 0 {
		d.created++
		v = &volume{id: fmt.Sprintf("vol-%d", d.created), name: req.GetName(), size: size, parameters: maps.Clone(req.GetParameters()),
			mutable: maps.Clone(req.GetMutableParameters()), capabilities: req.GetVolumeCapabilities(), context: map[string]string{"storage": "memory"},
			from: req.GetVolumeContentSource(), zone: d.zoneFor(req)}
		d.volumes = append(d.volumes, v)
		if d.pause(ctx); ctx.Err() != nil {
			return nil, status.FromContextError(ctx.Err()).Err()
		}
		v.data, v.usable, v.copied, v.source = copied.data, copied.usable, copied.usable > 0, copied.source
		return s.created(v), nil
	}
	if d.has(CreateCleansUp) {
		d.created++
		v = &volume{id: fmt.Sprintf("vol-%d", d.created), name: req.GetName(), size: size, parameters: maps.Clone(req.GetParameters()),
			mutable: maps.Clone(req.GetMutableParameters()), capabilities: req.GetVolumeCapabilities(), context: map[string]string{"storage": "memory"},
			from: req.GetVolumeContentSource(), data: copied.data, usable: copied.usable, copied: copied.usable > 0, source: copied.source,
			zone: d.zoneFor(req)}
		d.volumes = append(d.volumes, v)
		if d.pause(ctx); ctx.Err() != nil {
			d.volumes = slices.DeleteFunc(d.volumes, func(other *volume) bool { return other == v })
			return nil, status.FromContextError(ctx.Err()).Err()
		}
		return s.created(v), nil
	}
	d.pause(ctx)
	d.created++
	if d.has(CreateReusesIDs) {
		d.created = len(d.volumes) + 1
	}
	v = &volume{id: fmt.Sprintf("vol-%d", d.created), name: req.GetName(), size: size, parameters: maps.Clone(req.GetParameters()),
		mutable: maps.Clone(req.GetMutableParameters()), capabilities: req.GetVolumeCapabilities(), context: map[string]string{"storage": "memory"},
		from: req.GetVolumeContentSource(), data: copied.data, usable: copied.usable, copied: copied.usable > 0, source: copied.source,
		zone: d.zoneFor(req)}
	if d.has(SecretInContext) {
		maps.Copy(v.context, req.GetSecrets())
	}
	if d.has(CreateLongID) {
		v.id += strings.Repeat("-0123456789abcdef", 8)
	}
	d.volumes = append(d.volumes, v)
	d.names[v.name] = v.id
	if d.has(CreateAgainEarly) && ctx.Err() != nil {
		v.unusable = true
		return nil, status.FromContextError(ctx.Err()).Err()
	}
	return s.created(v), nil
}

// add makes a volume that no reply names, unless the name has one. The driver is not locked.
func (d *Driver) add(v *volume) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.byName(v.name) == nil {
		d.created++
		v.id = fmt.Sprintf("vol-%d", d.created)
		d.volumes = append(d.volumes, v)
	}
}

func (s *controllerServer) created(v *volume) *csi.CreateVolumeResponse {
	v.answers++
	resp := &csi.Volume{VolumeId: v.id, CapacityBytes: v.size, VolumeContext: v.context, ContentSource: v.from}
	if s.d.has(RestoreWithoutSource) {
		resp.ContentSource = nil
	}
	if s.d.Zone != "" {
		zone := v.zone
		if s.d.has(CreateIgnoresTopology) {
			zone = "elsewhere"
		}
		key := zoneKey
		if s.d.has(CreateOtherTopologyKey) {
			key = "zone"
		}
		resp.AccessibleTopology = []*csi.Topology{{Segments: map[string]string{key: zone}}}
	}
	if s.d.has(CreateWithoutTopology) {
		resp.AccessibleTopology = nil
	}
	if s.d.has(CreateAgainLarger) && v.answers > 1 {
		resp.CapacityBytes += gib
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

// zoneFor returns where a new volume is made: in the first zone that is preferred, else required.
func (d *Driver) zoneFor(req *csi.CreateVolumeRequest) string {
	want := req.GetAccessibilityRequirements()
	preferred := want.GetPreferred()
	if d.has(CreateIgnoresPreferred) {
		preferred = nil
	}
	for _, t := range slices.Concat(preferred, want.GetRequisite()) {
		return t.GetSegments()[zoneKey]
	}
	return d.Zone
}

// compatible returns an error if the existing volume is not what the request asks for.
func (v *volume) compatible(req *csi.CreateVolumeRequest, ignoreSize, ignoreSource bool) error {
	r := req.GetCapacityRange()
	if !ignoreSize && (v.size < r.GetRequiredBytes() || r.GetLimitBytes() > 0 && v.size > r.GetLimitBytes()) {
		return status.Errorf(codes.AlreadyExists, "volume %s exists with %d bytes", v.name, v.size)
	}
	if !maps.Equal(v.parameters, req.GetParameters()) {
		return status.Errorf(codes.AlreadyExists, "volume %s exists with other parameters", v.name)
	}
	if !slices.EqualFunc(v.capabilities, req.GetVolumeCapabilities(), sameCapability) {
		return status.Errorf(codes.AlreadyExists, "volume %s exists with other capabilities", v.name)
	}
	if !ignoreSource && !proto.Equal(v.from, req.GetVolumeContentSource()) {
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
	case d.has(DeleteUnknownInvalid) && !strings.HasPrefix(req.GetVolumeId(), "vol-"):
		return nil, status.Errorf(codes.InvalidArgument, "volume_id %q is invalid", req.GetVolumeId())
	case v == nil && d.has(DeleteAgainFails):
		return nil, status.Errorf(codes.NotFound, "volume %s does not exist", req.GetVolumeId())
	case v == nil:
		return &csi.DeleteVolumeResponse{}, nil
	case len(v.attached) > 0 && d.has(DeleteAttachedInternal):
		return nil, status.Errorf(codes.Internal, "delete volume %s: busy", v.id)
	case len(v.attached) > 0 && d.has(DeleteAttachedAborted):
		return nil, status.Errorf(codes.Aborted, "volume %s is attached: try again", v.id)
	case len(v.attached) > 0 && d.has(DeleteAttachedInvalid):
		return nil, status.Errorf(codes.InvalidArgument, "volume %s is attached", v.id)
	case len(v.attached) > 0 && !d.has(DeleteAttached):
		return nil, status.Errorf(codes.FailedPrecondition, "volume %s is attached to node %s", v.id, v.attached[0].node)
	}
	if slices.ContainsFunc(d.snapshots, func(s *snapshot) bool { return s.volume == v.id }) && d.has(DeleteWithSnapshotsInternal) {
		return nil, status.Errorf(codes.Internal, "volume %s has snapshots", v.id)
	}
	if d.pause(ctx); d.has(DeleteRecordsEarly) && ctx.Err() != nil {
		v.hidden = true
		return nil, status.FromContextError(ctx.Err()).Err()
	}
	if d.has(DeleteLeaves) {
		return &csi.DeleteVolumeResponse{}, nil
	}
	d.endWith(v)
	d.volumes = slices.DeleteFunc(d.volumes, func(other *volume) bool { return other == v })
	return &csi.DeleteVolumeResponse{}, nil
}
