package csi

import (
	"math"
	"strconv"

	spec "github.com/container-storage-interface/spec/lib/go/csi"

	"github.com/volsim/volsim/storage"
)

// NodeInfo implements storage.NodeDescriber with NodeGetInfo. The kubelet calls it when the driver registers on a node.
func (d *Driver) NodeInfo(node string) (storage.NodeInfo, error) {
	info, err := call[*spec.NodeGetInfoResponse](d, node, &spec.NodeGetInfoRequest{})
	if err != nil {
		return storage.NodeInfo{}, err
	}
	d.infos[node] = info
	return storage.NodeInfo{ID: info.GetNodeId(), Topology: info.GetAccessibleTopology().GetSegments()}, nil
}

// AttachLimit implements storage.AttachLimiter with the last reply to NodeGetInfo.
func (d *Driver) AttachLimit(node string) int32 {
	limit := d.infos[node].GetMaxVolumesPerNode()
	if limit <= 0 {
		return -1
	}
	return int32(min(limit, math.MaxInt32))
}

// nodeCapability returns the volume capability of a request to a node.
func (d *Driver) nodeCapability(req storage.NodeRequest) *spec.VolumeCapability {
	group := ""
	if req.Group != nil {
		group = strconv.FormatInt(*req.Group, 10)
	}
	multiWriter := d.node[spec.NodeServiceCapability_RPC_SINGLE_NODE_MULTI_WRITER]
	return capability(req.Mode, multiWriter, req.VolumeMode, req.FSType, req.MountOptions, group)
}

// Stage implements storage.Stager with NodeStageVolume.
func (d *Driver) Stage(req storage.NodeRequest) error {
	_, err := call[*spec.NodeStageVolumeResponse](d, req.Node, &spec.NodeStageVolumeRequest{
		VolumeId: req.ID, PublishContext: req.AttachContext, StagingTargetPath: d.path(req.Node, req.StagingPath),
		VolumeCapability: d.nodeCapability(req), VolumeContext: req.Context, Secrets: req.Secrets,
	})
	return err
}

// Unstage implements storage.Stager with NodeUnstageVolume.
func (d *Driver) Unstage(req storage.NodeRequest) error {
	_, err := call[*spec.NodeUnstageVolumeResponse](d, req.Node, &spec.NodeUnstageVolumeRequest{
		VolumeId: req.ID, StagingTargetPath: d.path(req.Node, req.StagingPath),
	})
	return err
}

// Publish implements storage.Publisher with NodePublishVolume.
func (d *Driver) Publish(req storage.NodeRequest) error {
	_, err := call[*spec.NodePublishVolumeResponse](d, req.Node, &spec.NodePublishVolumeRequest{
		VolumeId: req.ID, PublishContext: req.AttachContext, StagingTargetPath: d.path(req.Node, req.StagingPath),
		TargetPath: d.path(req.Node, req.TargetPath), VolumeCapability: d.nodeCapability(req), Readonly: req.ReadOnly,
		VolumeContext: req.Context, Secrets: req.Secrets,
	})
	return err
}

// Unpublish implements storage.Publisher with NodeUnpublishVolume.
func (d *Driver) Unpublish(req storage.NodeRequest) error {
	_, err := call[*spec.NodeUnpublishVolumeResponse](d, req.Node, &spec.NodeUnpublishVolumeRequest{
		VolumeId: req.ID, TargetPath: d.path(req.Node, req.TargetPath),
	})
	return err
}

// NodeExpand implements storage.NodeExpander with NodeExpandVolume.
func (d *Driver) NodeExpand(req storage.NodeRequest) (int64, error) {
	reply, err := call[*spec.NodeExpandVolumeResponse](d, req.Node, &spec.NodeExpandVolumeRequest{
		VolumeId: req.ID, VolumePath: d.path(req.Node, req.TargetPath), StagingTargetPath: d.path(req.Node, req.StagingPath),
		CapacityRange: &spec.CapacityRange{RequiredBytes: req.Size}, VolumeCapability: d.nodeCapability(req), Secrets: req.Secrets,
	})
	return reply.GetCapacityBytes(), err
}

// Reboot implements storage.Rebooter.
func (d *Driver) Reboot(node string) {
	if d.cfg.Reboot != nil {
		d.cfg.Reboot(node)
	}
}
