package csi

import (
	spec "github.com/container-storage-interface/spec/lib/go/csi"
	corev1 "k8s.io/api/core/v1"

	"github.com/volsim/volsim/storage"
)

// capability returns a volume capability.
func (d *Driver) capability(mode corev1.PersistentVolumeAccessMode, multiWriter bool, volumeMode corev1.PersistentVolumeMode, fsType string,
	flags []string, group string) *spec.VolumeCapability {
	c := &spec.VolumeCapability{AccessMode: &spec.VolumeCapability_AccessMode{Mode: accessMode(mode, multiWriter)}}
	if volumeMode == corev1.PersistentVolumeBlock {
		c.AccessType = &spec.VolumeCapability_Block{Block: &spec.VolumeCapability_BlockVolume{}}
		return c
	}
	c.AccessType = &spec.VolumeCapability_Mount{Mount: &spec.VolumeCapability_MountVolume{FsType: fsType, MountFlags: flags,
		VolumeMountGroup: group}}
	return c
}

// accessMode returns the mode of CSI. multiWriter: the service has the capability SINGLE_NODE_MULTI_WRITER.
func accessMode(mode corev1.PersistentVolumeAccessMode, multiWriter bool) spec.VolumeCapability_AccessMode_Mode {
	switch {
	case mode == corev1.ReadOnlyMany:
		return spec.VolumeCapability_AccessMode_MULTI_NODE_READER_ONLY
	case mode == corev1.ReadWriteMany:
		return spec.VolumeCapability_AccessMode_MULTI_NODE_MULTI_WRITER
	case !multiWriter:
		return spec.VolumeCapability_AccessMode_SINGLE_NODE_WRITER
	case mode == corev1.ReadWriteOncePod:
		return spec.VolumeCapability_AccessMode_SINGLE_NODE_SINGLE_WRITER
	}
	return spec.VolumeCapability_AccessMode_SINGLE_NODE_MULTI_WRITER
}

// multiWriter reports whether the controller has the capability SINGLE_NODE_MULTI_WRITER.
func (d *Driver) multiWriter() bool {
	return d.controller[spec.ControllerServiceCapability_RPC_SINGLE_NODE_MULTI_WRITER]
}

// Create implements storage.Provisioner with CreateVolume.
func (d *Driver) Create(req storage.CreateRequest) (storage.Volume, error) {
	modes := req.Modes
	if len(modes) == 0 {
		modes = []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce}
	}
	r := &spec.CreateVolumeRequest{
		Name: req.Name, Parameters: req.Parameters,
		CapacityRange: &spec.CapacityRange{RequiredBytes: req.Size, LimitBytes: req.Limit},
	}
	for _, mode := range modes {
		r.VolumeCapabilities = append(r.VolumeCapabilities, d.capability(mode, d.multiWriter(), req.VolumeMode, "", req.MountOptions, ""))
	}
	if len(req.Requisite) > 0 || len(req.Preferred) > 0 {
		r.AccessibilityRequirements = &spec.TopologyRequirement{Requisite: topologies(req.Requisite), Preferred: topologies(req.Preferred)}
	}
	reply, err := d.invoke(rpc{method: spec.Controller_CreateVolume_FullMethodName, volume: req.Name, request: r,
		reply: &spec.CreateVolumeResponse{}})
	if err != nil {
		return storage.Volume{}, err
	}
	volume := reply.(*spec.CreateVolumeResponse).GetVolume()
	v := storage.Volume{ID: volume.GetVolumeId(), Size: volume.GetCapacityBytes(), Context: volume.GetVolumeContext(),
		Content: volume.GetContentSource() != nil}
	for _, t := range volume.GetAccessibleTopology() {
		v.Topology = append(v.Topology, t.GetSegments())
	}
	return v, nil
}

func topologies(segments []storage.Segment) []*spec.Topology {
	var all []*spec.Topology
	for _, s := range segments {
		all = append(all, &spec.Topology{Segments: s})
	}
	return all
}

// Delete implements storage.Provisioner with DeleteVolume.
func (d *Driver) Delete(req storage.DeleteRequest) error {
	_, err := d.invoke(rpc{method: spec.Controller_DeleteVolume_FullMethodName, volume: req.ID,
		request: &spec.DeleteVolumeRequest{VolumeId: req.ID}, reply: &spec.DeleteVolumeResponse{}})
	return err
}

// Attach implements storage.Attacher with ControllerPublishVolume.
func (d *Driver) Attach(req storage.NodeRequest) (map[string]string, error) {
	id, err := d.nodeID(req.Node)
	if err != nil {
		return nil, err
	}
	reply, err := d.invoke(rpc{method: spec.Controller_ControllerPublishVolume_FullMethodName, volume: req.ID,
		request: &spec.ControllerPublishVolumeRequest{
			VolumeId: req.ID, NodeId: id, Readonly: req.ReadOnly, VolumeContext: req.Context,
			VolumeCapability: d.capability(req.Mode, d.multiWriter(), req.VolumeMode, req.FSType, req.MountOptions, ""),
		},
		reply: &spec.ControllerPublishVolumeResponse{}})
	if err != nil {
		return nil, err
	}
	return reply.(*spec.ControllerPublishVolumeResponse).GetPublishContext(), nil
}

// Detach implements storage.Attacher with ControllerUnpublishVolume.
func (d *Driver) Detach(req storage.NodeRequest) error {
	id := ""
	if req.Node != "" {
		var err error
		if id, err = d.nodeID(req.Node); err != nil {
			return err
		}
	}
	_, err := d.invoke(rpc{method: spec.Controller_ControllerUnpublishVolume_FullMethodName, volume: req.ID,
		request: &spec.ControllerUnpublishVolumeRequest{VolumeId: req.ID, NodeId: id}, reply: &spec.ControllerUnpublishVolumeResponse{}})
	return err
}

// Expand implements storage.Expander with ControllerExpandVolume.
func (d *Driver) Expand(req storage.ExpandRequest) (int64, bool, error) {
	reply, err := d.invoke(rpc{method: spec.Controller_ControllerExpandVolume_FullMethodName, volume: req.ID,
		request: &spec.ControllerExpandVolumeRequest{
			VolumeId: req.ID, CapacityRange: &spec.CapacityRange{RequiredBytes: req.Size, LimitBytes: req.Limit},
		},
		reply: &spec.ControllerExpandVolumeResponse{}})
	if err != nil {
		return 0, false, err
	}
	expanded := reply.(*spec.ControllerExpandVolumeResponse)
	return expanded.GetCapacityBytes(), expanded.GetNodeExpansionRequired(), nil
}

// Modify implements storage.Modifier with ControllerModifyVolume.
func (d *Driver) Modify(req storage.ModifyRequest) error {
	_, err := d.invoke(rpc{method: spec.Controller_ControllerModifyVolume_FullMethodName, volume: req.ID,
		request: &spec.ControllerModifyVolumeRequest{VolumeId: req.ID, MutableParameters: req.Parameters},
		reply:   &spec.ControllerModifyVolumeResponse{}})
	return err
}

// Published implements storage.PublishedLister with ListVolumes. A driver without LIST_VOLUMES_PUBLISHED_NODES gives Unimplemented.
func (d *Driver) Published() (map[string][]string, error) {
	if !d.controller[spec.ControllerServiceCapability_RPC_LIST_VOLUMES_PUBLISHED_NODES] {
		return nil, storage.Errorf(storage.Unimplemented, "driver %s does not list the nodes of its volumes", d.name)
	}
	names := map[string]string{}
	for name, info := range d.infos {
		names[info.GetNodeId()] = name
	}
	published := map[string][]string{}
	for token := ""; ; {
		reply, err := d.invoke(rpc{method: spec.Controller_ListVolumes_FullMethodName, request: &spec.ListVolumesRequest{StartingToken: token},
			reply: &spec.ListVolumesResponse{}})
		if err != nil {
			return nil, err
		}
		list := reply.(*spec.ListVolumesResponse)
		for _, entry := range list.GetEntries() {
			for _, id := range entry.GetStatus().GetPublishedNodeIds() {
				published[entry.GetVolume().GetVolumeId()] = append(published[entry.GetVolume().GetVolumeId()], names[id])
			}
		}
		if token = list.GetNextToken(); token == "" {
			return published, nil
		}
	}
}
