package csi_test

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"

	spec "github.com/container-storage-interface/spec/lib/go/csi"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/volsim/volsim/csi"
)

// disk is a small CSI driver in the same process.
type disk struct {
	spec.UnimplementedIdentityServer
	spec.UnimplementedControllerServer
	spec.UnimplementedNodeServer

	mu       sync.Mutex
	node     string           // what NodeGetInfo returns
	shared   *disk            // the driver whose volumes a node uses; nil: its own
	volumes  map[string]int64 // sizes
	attached map[string]string
	staged   map[string]bool // by volume and path
	log      []string
	// before runs at the start of each call, by the name of the method.
	before map[string]func(context.Context) error
}

func newDisk(node string) *disk {
	return &disk{
		node: node, volumes: map[string]int64{}, attached: map[string]string{}, staged: map[string]bool{},
		before: map[string]func(context.Context) error{},
	}
}

func (d *disk) register(s grpc.ServiceRegistrar) {
	spec.RegisterIdentityServer(s, d)
	spec.RegisterControllerServer(s, d)
	spec.RegisterNodeServer(s, d)
}

// enter begins a call.
func (d *disk) enter(ctx context.Context, method, volume string) error {
	d.mu.Lock()
	d.log = append(d.log, method+" "+volume)
	hook := d.before[method]
	d.mu.Unlock()
	if hook != nil {
		return hook(ctx)
	}
	return nil
}

func (d *disk) GetPluginInfo(context.Context, *spec.GetPluginInfoRequest) (*spec.GetPluginInfoResponse, error) {
	return &spec.GetPluginInfoResponse{Name: "disk.example.com", VendorVersion: "1"}, nil
}

func (d *disk) Probe(context.Context, *spec.ProbeRequest) (*spec.ProbeResponse, error) {
	return &spec.ProbeResponse{}, nil
}

func (d *disk) GetPluginCapabilities(context.Context, *spec.GetPluginCapabilitiesRequest) (*spec.GetPluginCapabilitiesResponse, error) {
	service := &spec.PluginCapability_Service{Type: spec.PluginCapability_Service_CONTROLLER_SERVICE}
	return &spec.GetPluginCapabilitiesResponse{
		Capabilities: []*spec.PluginCapability{{Type: &spec.PluginCapability_Service_{Service: service}}},
	}, nil
}

func (d *disk) ControllerGetCapabilities(context.Context,
	*spec.ControllerGetCapabilitiesRequest) (*spec.ControllerGetCapabilitiesResponse, error) {
	r := &spec.ControllerGetCapabilitiesResponse{}
	for _, c := range []spec.ControllerServiceCapability_RPC_Type{
		spec.ControllerServiceCapability_RPC_CREATE_DELETE_VOLUME, spec.ControllerServiceCapability_RPC_PUBLISH_UNPUBLISH_VOLUME,
		spec.ControllerServiceCapability_RPC_EXPAND_VOLUME,
	} {
		r.Capabilities = append(r.Capabilities, &spec.ControllerServiceCapability{
			Type: &spec.ControllerServiceCapability_Rpc{Rpc: &spec.ControllerServiceCapability_RPC{Type: c}},
		})
	}
	return r, nil
}

func (d *disk) NodeGetCapabilities(context.Context, *spec.NodeGetCapabilitiesRequest) (*spec.NodeGetCapabilitiesResponse, error) {
	r := &spec.NodeGetCapabilitiesResponse{}
	for _, c := range []spec.NodeServiceCapability_RPC_Type{
		spec.NodeServiceCapability_RPC_STAGE_UNSTAGE_VOLUME, spec.NodeServiceCapability_RPC_EXPAND_VOLUME,
	} {
		r.Capabilities = append(r.Capabilities, &spec.NodeServiceCapability{
			Type: &spec.NodeServiceCapability_Rpc{Rpc: &spec.NodeServiceCapability_RPC{Type: c}},
		})
	}
	return r, nil
}

func (d *disk) NodeGetInfo(context.Context, *spec.NodeGetInfoRequest) (*spec.NodeGetInfoResponse, error) {
	return &spec.NodeGetInfoResponse{NodeId: "id-of-" + d.node}, nil
}

func (d *disk) CreateVolume(ctx context.Context, r *spec.CreateVolumeRequest) (*spec.CreateVolumeResponse, error) {
	if err := d.enter(ctx, "CreateVolume", r.GetName()); err != nil {
		return nil, err
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	id := "vol-" + r.GetName()
	if _, exists := d.volumes[id]; !exists {
		d.volumes[id] = r.GetCapacityRange().GetRequiredBytes()
	}
	return &spec.CreateVolumeResponse{Volume: &spec.Volume{VolumeId: id, CapacityBytes: d.volumes[id]}}, nil
}

func (d *disk) DeleteVolume(ctx context.Context, r *spec.DeleteVolumeRequest) (*spec.DeleteVolumeResponse, error) {
	if err := d.enter(ctx, "DeleteVolume", r.GetVolumeId()); err != nil {
		return nil, err
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	delete(d.volumes, r.GetVolumeId())
	return &spec.DeleteVolumeResponse{}, nil
}

func (d *disk) ControllerPublishVolume(ctx context.Context,
	r *spec.ControllerPublishVolumeRequest) (*spec.ControllerPublishVolumeResponse, error) {
	if err := d.enter(ctx, "ControllerPublishVolume", r.GetVolumeId()); err != nil {
		return nil, err
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if node := d.attached[r.GetVolumeId()]; node != "" && node != r.GetNodeId() {
		return nil, status.Errorf(codes.FailedPrecondition, "attached to %s", node)
	}
	d.attached[r.GetVolumeId()] = r.GetNodeId()
	return &spec.ControllerPublishVolumeResponse{PublishContext: map[string]string{"device": "/dev/" + r.GetVolumeId()}}, nil
}

func (d *disk) ControllerUnpublishVolume(ctx context.Context,
	r *spec.ControllerUnpublishVolumeRequest) (*spec.ControllerUnpublishVolumeResponse, error) {
	if err := d.enter(ctx, "ControllerUnpublishVolume", r.GetVolumeId()); err != nil {
		return nil, err
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.attached[r.GetVolumeId()] == r.GetNodeId() {
		delete(d.attached, r.GetVolumeId())
	}
	return &spec.ControllerUnpublishVolumeResponse{}, nil
}

func (d *disk) ControllerExpandVolume(ctx context.Context,
	r *spec.ControllerExpandVolumeRequest) (*spec.ControllerExpandVolumeResponse, error) {
	if err := d.enter(ctx, "ControllerExpandVolume", r.GetVolumeId()); err != nil {
		return nil, err
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	d.volumes[r.GetVolumeId()] = max(d.volumes[r.GetVolumeId()], r.GetCapacityRange().GetRequiredBytes())
	return &spec.ControllerExpandVolumeResponse{CapacityBytes: d.volumes[r.GetVolumeId()], NodeExpansionRequired: true}, nil
}

func (d *disk) NodeStageVolume(ctx context.Context, r *spec.NodeStageVolumeRequest) (*spec.NodeStageVolumeResponse, error) {
	if err := d.enter(ctx, "NodeStageVolume", r.GetVolumeId()); err != nil {
		return nil, err
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	d.staged[r.GetVolumeId()+" "+r.GetStagingTargetPath()] = true
	return &spec.NodeStageVolumeResponse{}, nil
}

func (d *disk) NodeUnstageVolume(ctx context.Context, r *spec.NodeUnstageVolumeRequest) (*spec.NodeUnstageVolumeResponse, error) {
	if err := d.enter(ctx, "NodeUnstageVolume", r.GetVolumeId()); err != nil {
		return nil, err
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	delete(d.staged, r.GetVolumeId()+" "+r.GetStagingTargetPath())
	return &spec.NodeUnstageVolumeResponse{}, nil
}

func (d *disk) NodePublishVolume(ctx context.Context, r *spec.NodePublishVolumeRequest) (*spec.NodePublishVolumeResponse, error) {
	if err := d.enter(ctx, "NodePublishVolume", r.GetVolumeId()); err != nil {
		return nil, err
	}
	return &spec.NodePublishVolumeResponse{}, nil
}

func (d *disk) NodeUnpublishVolume(ctx context.Context, r *spec.NodeUnpublishVolumeRequest) (*spec.NodeUnpublishVolumeResponse, error) {
	if err := d.enter(ctx, "NodeUnpublishVolume", r.GetVolumeId()); err != nil {
		return nil, err
	}
	return &spec.NodeUnpublishVolumeResponse{}, nil
}

func (d *disk) NodeExpandVolume(ctx context.Context, r *spec.NodeExpandVolumeRequest) (*spec.NodeExpandVolumeResponse, error) {
	if err := d.enter(ctx, "NodeExpandVolume", r.GetVolumeId()); err != nil {
		return nil, err
	}
	return &spec.NodeExpandVolumeResponse{CapacityBytes: r.GetCapacityRange().GetRequiredBytes()}, nil
}

// state lists what exists, for comparisons.
func (d *disk) state() string {
	d.mu.Lock()
	defer d.mu.Unlock()
	return fmt.Sprintf("volumes %v, attached %v, staged %d", slices.Sorted(maps.Keys(d.volumes)), d.attached, len(d.staged))
}

// methods lists the methods and what became of the calls: "NodeStageVolume", or "NodeStageVolume: Unavailable".
func methods(calls []csi.Call) []string {
	var all []string
	for _, c := range calls {
		text := c.Method
		if c.Err != nil {
			text += ": " + strings.TrimPrefix(strings.SplitN(c.Err.Error(), " desc", 2)[0], "rpc error: code = ")
		}
		all = append(all, text)
	}
	return all
}
