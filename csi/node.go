package csi

import (
	"maps"
	"slices"
	"strconv"

	spec "github.com/container-storage-interface/spec/lib/go/csi"

	"github.com/volsim/volsim/storage"
)

// info asks a node for its ID, its topology and its limit, once.
func (d *Driver) info(node string) (*spec.NodeGetInfoResponse, error) {
	if info, ok := d.infos[node]; ok {
		return info, nil
	}
	reply, err := d.invoke(rpc{node: node, method: spec.Node_NodeGetInfo_FullMethodName, request: &spec.NodeGetInfoRequest{},
		reply: &spec.NodeGetInfoResponse{}})
	if err != nil {
		return nil, err
	}
	d.infos[node] = reply.(*spec.NodeGetInfoResponse)
	return d.infos[node], nil
}

// nodeID returns the name of a node at the driver.
func (d *Driver) nodeID(node string) (string, error) {
	info, err := d.info(node)
	return info.GetNodeId(), err
}

// AttachLimit implements storage.AttachLimiter with NodeGetInfo.
func (d *Driver) AttachLimit(node string) int32 {
	info, err := d.info(node)
	if err != nil || info.GetMaxVolumesPerNode() <= 0 {
		return -1
	}
	return int32(info.GetMaxVolumesPerNode())
}

// topologyKeys returns the keys of the topology of the known nodes.
func (d *Driver) topologyKeys() []string {
	keys := map[string]bool{}
	for _, info := range d.infos {
		for key := range info.GetAccessibleTopology().GetSegments() {
			keys[key] = true
		}
	}
	return slices.Sorted(maps.Keys(keys))
}

// nodeCapability returns the volume capability of a request to a node.
func (d *Driver) nodeCapability(req storage.NodeRequest) *spec.VolumeCapability {
	group := ""
	if req.Group != nil {
		group = strconv.FormatInt(*req.Group, 10)
	}
	return d.capability(req.Mode, d.node[spec.NodeServiceCapability_RPC_SINGLE_NODE_MULTI_WRITER], req.VolumeMode, req.FSType,
		req.MountOptions, group)
}

// Stage implements storage.Stager with NodeStageVolume.
func (d *Driver) Stage(req storage.NodeRequest) error {
	_, err := d.invoke(rpc{node: req.Node, method: spec.Node_NodeStageVolume_FullMethodName, volume: req.ID,
		request: &spec.NodeStageVolumeRequest{
			VolumeId: req.ID, PublishContext: req.AttachContext, StagingTargetPath: req.StagingPath, VolumeCapability: d.nodeCapability(req),
			VolumeContext: req.Context,
		},
		reply: &spec.NodeStageVolumeResponse{}})
	return err
}

// Unstage implements storage.Stager with NodeUnstageVolume.
func (d *Driver) Unstage(req storage.NodeRequest) error {
	_, err := d.invoke(rpc{node: req.Node, method: spec.Node_NodeUnstageVolume_FullMethodName, volume: req.ID,
		request: &spec.NodeUnstageVolumeRequest{VolumeId: req.ID, StagingTargetPath: req.StagingPath}, reply: &spec.NodeUnstageVolumeResponse{}})
	return err
}

// Publish implements storage.Publisher with NodePublishVolume.
func (d *Driver) Publish(req storage.NodeRequest) error {
	_, err := d.invoke(rpc{node: req.Node, method: spec.Node_NodePublishVolume_FullMethodName, volume: req.ID,
		request: &spec.NodePublishVolumeRequest{
			VolumeId: req.ID, PublishContext: req.AttachContext, StagingTargetPath: req.StagingPath, TargetPath: req.TargetPath,
			VolumeCapability: d.nodeCapability(req), Readonly: req.ReadOnly, VolumeContext: req.Context,
		},
		reply: &spec.NodePublishVolumeResponse{}})
	return err
}

// Unpublish implements storage.Publisher with NodeUnpublishVolume.
func (d *Driver) Unpublish(req storage.NodeRequest) error {
	_, err := d.invoke(rpc{node: req.Node, method: spec.Node_NodeUnpublishVolume_FullMethodName, volume: req.ID,
		request: &spec.NodeUnpublishVolumeRequest{VolumeId: req.ID, TargetPath: req.TargetPath}, reply: &spec.NodeUnpublishVolumeResponse{}})
	return err
}

// NodeExpand implements storage.NodeExpander with NodeExpandVolume.
func (d *Driver) NodeExpand(req storage.NodeRequest) (int64, error) {
	reply, err := d.invoke(rpc{node: req.Node, method: spec.Node_NodeExpandVolume_FullMethodName, volume: req.ID,
		request: &spec.NodeExpandVolumeRequest{
			VolumeId: req.ID, VolumePath: req.TargetPath, StagingTargetPath: req.StagingPath,
			CapacityRange: &spec.CapacityRange{RequiredBytes: req.Size}, VolumeCapability: d.nodeCapability(req),
		},
		reply: &spec.NodeExpandVolumeResponse{}})
	if err != nil {
		return 0, err
	}
	return reply.(*spec.NodeExpandVolumeResponse).GetCapacityBytes(), nil
}

// Reboot implements storage.Rebooter.
func (d *Driver) Reboot(node string) {
	if d.cfg.Reboot != nil {
		d.cfg.Reboot(node)
	}
}
