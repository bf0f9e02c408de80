package specdriver

import (
	"context"
	"fmt"
	"maps"

	spec "github.com/container-storage-interface/spec/lib/go/csi"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"
)

type controller struct {
	spec.UnimplementedControllerServer
	d *Driver
}

// largest is the size of the storage system, in bytes.
const largest = 4 << 40

const zoneKey = "spec.csi.volsim.dev/zone"

func (c controller) ControllerGetCapabilities(context.Context, *spec.ControllerGetCapabilitiesRequest) (*spec.ControllerGetCapabilitiesResponse, error) {
	o, r := c.d.o, &spec.ControllerGetCapabilitiesResponse{}
	add := func(has bool, types ...spec.ControllerServiceCapability_RPC_Type) {
		for _, t := range types {
			if has {
				r.Capabilities = append(r.Capabilities, &spec.ControllerServiceCapability{
					Type: &spec.ControllerServiceCapability_Rpc{Rpc: &spec.ControllerServiceCapability_RPC{Type: t}}})
			}
		}
	}
	add(true, spec.ControllerServiceCapability_RPC_CREATE_DELETE_VOLUME)
	add(!o.NoAttach, spec.ControllerServiceCapability_RPC_PUBLISH_UNPUBLISH_VOLUME, spec.ControllerServiceCapability_RPC_PUBLISH_READONLY)
	add(!o.Unlisted, spec.ControllerServiceCapability_RPC_LIST_VOLUMES)
	add(!o.Unlisted && !o.Bare && !o.NoAttach, spec.ControllerServiceCapability_RPC_LIST_VOLUMES_PUBLISHED_NODES)
	add(!o.NoSnapshots, spec.ControllerServiceCapability_RPC_CREATE_DELETE_SNAPSHOT, spec.ControllerServiceCapability_RPC_CLONE_VOLUME)
	add(!o.NoSnapshots && !o.Unlisted, spec.ControllerServiceCapability_RPC_LIST_SNAPSHOTS)
	add(o.MultiWriter, spec.ControllerServiceCapability_RPC_SINGLE_NODE_MULTI_WRITER)
	add(o.Expansion != "none" && o.Expansion != "node", spec.ControllerServiceCapability_RPC_EXPAND_VOLUME)
	add(o.Bare, spec.ControllerServiceCapability_RPC_GET_CAPACITY)
	return r, nil
}

// bytes returns the size of a volume for a range, or an error if none is in it.
func (d *Driver) bytes(r *spec.CapacityRange) (int64, error) {
	size := max(r.GetRequiredBytes(), d.o.Smallest, 1<<20)
	if step := d.o.Step; step > 0 && size <= largest {
		size = (size + step - 1) / step * step
	}
	if size > largest || r.GetLimitBytes() > 0 && size > r.GetLimitBytes() {
		return 0, status.Errorf(codes.OutOfRange, "no volume has between %d and %d bytes", r.GetRequiredBytes(), r.GetLimitBytes())
	}
	return size, nil
}

func (c controller) CreateVolume(ctx context.Context, r *spec.CreateVolumeRequest) (*spec.CreateVolumeResponse, error) {
	d := c.d
	if err := missing("name", r.GetName()); err != nil {
		return nil, err
	}
	if err := d.check(r.GetVolumeCapabilities()...); err != nil {
		return nil, err
	}
	if len(r.GetMutableParameters()) > 0 {
		return nil, status.Error(codes.InvalidArgument, "mutable_parameters are not supported")
	}
	unlock, err := d.lock(ctx, "volume "+r.GetName())
	if err != nil {
		return nil, err
	}
	defer unlock()
	for _, v := range d.volumes {
		if v.name != r.GetName() {
			continue
		}
		limit := r.GetCapacityRange().GetLimitBytes()
		if v.size < r.GetCapacityRange().GetRequiredBytes() || limit > 0 && v.size > limit || !d.o.Parameters && !maps.Equal(v.create.GetParameters(), r.GetParameters()) ||
			!sameCapabilities(v.create, r) || !proto.Equal(v.create.GetVolumeContentSource(), r.GetVolumeContentSource()) {
			return nil, status.Errorf(codes.AlreadyExists, "volume %s exists, and is incompatible", v.name)
		}
		return &spec.CreateVolumeResponse{Volume: d.describe(v, true)}, nil
	}
	size, err := d.bytes(r.GetCapacityRange())
	if err != nil {
		return nil, err
	}
	v := &volume{name: r.GetName(), size: size, create: proto.Clone(r).(*spec.CreateVolumeRequest), users: map[string]*spec.ControllerPublishVolumeRequest{}}
	if err := d.fill(v, r.GetVolumeContentSource()); err != nil {
		return nil, err
	}
	if d.o.Zones != nil {
		v.zone = d.place(r.GetAccessibilityRequirements())
	}
	if err := d.work(ctx); err != nil {
		return nil, err
	}
	d.number++
	v.id = fmt.Sprintf("fs://pool/%06x", d.number)
	if !d.o.Bare {
		v.attributes = map[string]string{"pool": "pool"}
	}
	d.volumes[v.id] = v
	return &spec.CreateVolumeResponse{Volume: d.describe(v, true)}, nil
}

func sameCapabilities(a, b *spec.CreateVolumeRequest) bool {
	return proto.Equal(&spec.CreateVolumeRequest{VolumeCapabilities: a.GetVolumeCapabilities()}, &spec.CreateVolumeRequest{VolumeCapabilities: b.GetVolumeCapabilities()})
}

// place chooses the zone of a new volume.
func (d *Driver) place(r *spec.TopologyRequirement) string {
	for _, t := range append(r.GetPreferred(), r.GetRequisite()...) {
		return t.GetSegments()[zoneKey]
	}
	for _, n := range []string{"n1", "n2"} {
		if d.o.Zones[n] != "" {
			return d.o.Zones[n]
		}
	}
	return ""
}

// describe returns a volume for a reply. created is true for CreateVolume.
func (d *Driver) describe(v *volume, created bool) *spec.Volume {
	r := &spec.Volume{VolumeId: v.id}
	if created {
		r.ContentSource = v.create.GetVolumeContentSource()
		r.VolumeContext = v.attributes
		if d.o.Zones != nil {
			r.AccessibleTopology = []*spec.Topology{{Segments: map[string]string{zoneKey: v.zone}}}
		}
	}
	if !d.o.Bare {
		r.CapacityBytes = v.size
	}
	return r
}

// fill gives a new volume the content of its source.
func (d *Driver) fill(v *volume, source *spec.VolumeContentSource) error {
	id, size, data, grown := "", int64(0), "", int64(0)
	switch {
	case source == nil:
		return nil
	case d.o.NoSnapshots:
		return status.Error(codes.InvalidArgument, "volume_content_source is not supported")
	case source.GetSnapshot() != nil:
		id = source.GetSnapshot().GetSnapshotId()
		if s := d.snapshots[id]; s != nil {
			size, data, grown = s.size, s.data, s.size
		}
	default:
		id = source.GetVolume().GetVolumeId()
		if from := d.volumes[id]; from != nil {
			size, data, grown = from.size, from.data, from.grown
		}
	}
	switch {
	case size == 0:
		return status.Errorf(codes.NotFound, "source %s does not exist", id)
	case v.create.GetCapacityRange().GetRequiredBytes() > 0 && v.size < size:
		return status.Errorf(codes.OutOfRange, "the source has %d bytes", size)
	}
	v.size, v.data, v.grown = max(v.size, size), data, grown
	return nil
}

func (c controller) DeleteVolume(ctx context.Context, r *spec.DeleteVolumeRequest) (*spec.DeleteVolumeResponse, error) {
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
	if v == nil {
		return &spec.DeleteVolumeResponse{}, nil
	}
	if len(v.users) > 0 {
		return nil, status.Errorf(codes.FailedPrecondition, "volume %s is published", v.id)
	}
	if d.o.Linked {
		for _, s := range d.snapshots {
			if s.volume == v.id {
				return nil, status.Errorf(codes.FailedPrecondition, "volume %s has snapshot %s", v.id, s.id)
			}
		}
	}
	if err := d.work(ctx); err != nil {
		return nil, err
	}
	delete(d.volumes, v.id)
	return &spec.DeleteVolumeResponse{}, nil
}

// nameOf returns the name of a volume, or its ID if it does not exist: calls of one volume have one lock.
func (d *Driver) nameOf(id string) string {
	d.mu.Lock()
	defer d.mu.Unlock()
	if v := d.volumes[id]; v != nil {
		return v.name
	}
	return id
}

func (c controller) ValidateVolumeCapabilities(_ context.Context, r *spec.ValidateVolumeCapabilitiesRequest) (*spec.ValidateVolumeCapabilitiesResponse, error) {
	d := c.d
	if err := missing("volume_id", r.GetVolumeId()); err != nil {
		return nil, err
	}
	if len(r.GetVolumeCapabilities()) == 0 {
		return nil, status.Error(codes.InvalidArgument, "volume_capabilities are required")
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.volumes[r.GetVolumeId()] == nil {
		return nil, status.Errorf(codes.NotFound, "volume %s does not exist", r.GetVolumeId())
	}
	if err := d.check(r.GetVolumeCapabilities()...); err != nil {
		return &spec.ValidateVolumeCapabilitiesResponse{Message: err.Error()}, nil
	}
	return &spec.ValidateVolumeCapabilitiesResponse{
		Confirmed: &spec.ValidateVolumeCapabilitiesResponse_Confirmed{VolumeCapabilities: r.GetVolumeCapabilities()}}, nil
}

func (c controller) GetCapacity(context.Context, *spec.GetCapacityRequest) (*spec.GetCapacityResponse, error) {
	return &spec.GetCapacityResponse{AvailableCapacity: largest}, nil
}
