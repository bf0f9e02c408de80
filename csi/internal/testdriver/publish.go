package testdriver

import (
	"context"

	"github.com/container-storage-interface/spec/lib/go/csi"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

func (s *controllerServer) ControllerPublishVolume(ctx context.Context, req *csi.ControllerPublishVolumeRequest) (
	*csi.ControllerPublishVolumeResponse, error) {
	d := s.d
	if err := d.required("volume_id", req.GetVolumeId(), "node_id", req.GetNodeId()); err != nil {
		return nil, err
	}
	if req.GetVolumeCapability() == nil {
		return nil, status.Error(codes.InvalidArgument, "volume_capability is missing")
	}
	if err := d.logIn(req.GetSecrets()); err != nil {
		return nil, err
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
	case d.has(AttachMissingAborted):
		return nil, status.Errorf(codes.Aborted, "read volume %s: try again", req.GetVolumeId())
	case d.has(AttachMissingInternal):
		return nil, status.Errorf(codes.Internal, "read volume %s: no such object", req.GetVolumeId())
	default:
		return nil, status.Errorf(codes.NotFound, "volume %s does not exist", req.GetVolumeId())
	}
	n, ok := d.nodes[d.nodeName(req.GetNodeId())]
	if v.unusable {
		return nil, status.Errorf(codes.Internal, "volume %s is not available", v.id)
	}
	if ok && v.zone != d.zoneOf(d.nodeName(req.GetNodeId())) && d.has(CreateWithoutTopology) {
		return nil, status.Errorf(codes.Internal, "volume %s cannot be reached from zone %s", v.id, d.zoneOf(d.nodeName(req.GetNodeId())))
	}
	if (!ok || n.gone) && d.has(AttachNodeGoneInternal) {
		return nil, status.Errorf(codes.Internal, "read node %s: no such object", req.GetNodeId())
	}
	if (!ok || n.gone) && !d.has(AttachNodeGoneSucceeds) {
		return nil, status.Errorf(codes.NotFound, "node %s does not exist", req.GetNodeId())
	}
	publishContext := map[string]string{"device": "/dev/disk/by-id/" + v.id}
	a := attachment{node: req.GetNodeId(), readOnly: req.GetReadonly(), capability: req.GetVolumeCapability()}
	if v.recorded == a.node {
		return &csi.ControllerPublishVolumeResponse{PublishContext: publishContext}, nil
	}
	if was := v.attachedTo(a.node); was != nil {
		switch {
		case d.has(AttachAgainFails):
			return nil, status.Errorf(codes.Internal, "volume %s is already attached to node %s", v.id, a.node)
		case was.readOnly != a.readOnly && !d.has(AttachIgnoresReadOnly) || !sameCapability(was.capability, a.capability):
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
		if d.has(AttachElsewhereInternal) {
			return nil, status.Errorf(codes.Internal, "attach volume %s: busy", v.id)
		}
		if d.has(AttachElsewhereAborted) {
			return nil, status.Errorf(codes.Aborted, "volume %s is attached to node %s: try again", v.id, other.node)
		}
		if d.has(AttachElsewhereInvalid) {
			return nil, status.Errorf(codes.InvalidArgument, "volume %s is attached to node %s", v.id, other.node)
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
	if d.pause(ctx); d.has(AttachRecordsEarly) && ctx.Err() != nil {
		v.recorded = a.node
		return nil, status.FromContextError(ctx.Err()).Err()
	}
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
	if v != nil {
		v.recorded = ""
	}
	switch {
	case v != nil && d.has(DetachRefusesStaged) && d.stagedOn(v.id, req.GetNodeId()):
		return nil, status.Errorf(codes.Internal, "volume %s is in use on node %s", v.id, req.GetNodeId())
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
		for _, other := range d.volumes {
			if d.has(DetachesOtherVolumes) {
				other.detach(req.GetNodeId())
			}
		}
	}
	return &csi.ControllerUnpublishVolumeResponse{}, nil
}

func (d *Driver) overlaps(volume string) bool { return d.busy[volume+" publish"] }

// stagedOn reports whether the volume was staged on a node and not unstaged, also if the node is off.
func (d *Driver) stagedOn(volume, node string) bool {
	n := d.nodes[node]
	return n != nil && n.marked[volume]
}
