package csi

import (
	spec "github.com/container-storage-interface/spec/lib/go/csi"
	corev1 "k8s.io/api/core/v1"

	"github.com/volsim/volsim/storage"
)

// capability returns a volume capability. multiWriter: the service has the capability SINGLE_NODE_MULTI_WRITER.
func capability(mode corev1.PersistentVolumeAccessMode, multiWriter bool, volumeMode corev1.PersistentVolumeMode, fsType string,
	flags []string, group string) *spec.VolumeCapability {
	c := &spec.VolumeCapability{AccessMode: &spec.VolumeCapability_AccessMode{Mode: accessMode(mode, multiWriter)}}
	if volumeMode == corev1.PersistentVolumeBlock {
		c.AccessType = &spec.VolumeCapability_Block{Block: &spec.VolumeCapability_BlockVolume{}}
		return c
	}
	c.AccessType = &spec.VolumeCapability_Mount{Mount: &spec.VolumeCapability_MountVolume{FsType: fsType, MountFlags: flags, VolumeMountGroup: group}}
	return c
}

// accessMode returns the mode of CSI for a mode of the API (ATT-176, MNT-309).
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
	r := &spec.CreateVolumeRequest{
		Name: req.Name, Parameters: req.Parameters, MutableParameters: req.Mutable, Secrets: req.Secrets, VolumeContentSource: contentSource(req),
		CapacityRange: &spec.CapacityRange{RequiredBytes: req.Size, LimitBytes: req.Limit},
	}
	modes := req.Modes
	if len(modes) == 0 {
		modes = []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce}
	}
	for _, mode := range modes {
		r.VolumeCapabilities = append(r.VolumeCapabilities, capability(mode, d.multiWriter(), req.VolumeMode, req.FSType, req.MountOptions, ""))
	}
	if len(req.Requisite) > 0 || len(req.Preferred) > 0 {
		r.AccessibilityRequirements = &spec.TopologyRequirement{Requisite: topologies(req.Requisite), Preferred: topologies(req.Preferred)}
	}
	reply, err := call[*spec.CreateVolumeResponse](d, "", r)
	if err != nil {
		return storage.Volume{}, err
	}
	volume := reply.GetVolume()
	d.names[volume.GetVolumeId()] = req.Name
	v := storage.Volume{
		ID: volume.GetVolumeId(), Size: volume.GetCapacityBytes(), Context: volume.GetVolumeContext(), Content: volume.GetContentSource() != nil,
	}
	for _, t := range volume.GetAccessibleTopology() {
		v.Topology = append(v.Topology, t.GetSegments())
	}
	return v, nil
}

// contentSource returns what the new volume is a copy of, nil for an empty volume.
func contentSource(req storage.CreateRequest) *spec.VolumeContentSource {
	switch {
	case req.Content == nil || req.ContentID == "":
		return nil
	case req.Content.Kind == "VolumeSnapshot":
		return &spec.VolumeContentSource{Type: &spec.VolumeContentSource_Snapshot{
			Snapshot: &spec.VolumeContentSource_SnapshotSource{SnapshotId: req.ContentID},
		}}
	}
	return &spec.VolumeContentSource{Type: &spec.VolumeContentSource_Volume{
		Volume: &spec.VolumeContentSource_VolumeSource{VolumeId: req.ContentID},
	}}
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
	_, err := call[*spec.DeleteVolumeResponse](d, "", &spec.DeleteVolumeRequest{VolumeId: req.ID, Secrets: req.Secrets})
	return err
}

// Attach implements storage.Attacher with ControllerPublishVolume.
func (d *Driver) Attach(req storage.NodeRequest) (map[string]string, error) {
	reply, err := call[*spec.ControllerPublishVolumeResponse](d, "", &spec.ControllerPublishVolumeRequest{
		VolumeId: req.ID, NodeId: req.NodeID, Readonly: req.ReadOnly, VolumeContext: req.Context, Secrets: req.Secrets,
		VolumeCapability: capability(req.Mode, d.multiWriter(), req.VolumeMode, req.FSType, req.MountOptions, ""),
	})
	return reply.GetPublishContext(), err
}

// Detach implements storage.Attacher with ControllerUnpublishVolume.
func (d *Driver) Detach(req storage.NodeRequest) error {
	_, err := call[*spec.ControllerUnpublishVolumeResponse](d, "", &spec.ControllerUnpublishVolumeRequest{
		VolumeId: req.ID, NodeId: req.NodeID, Secrets: req.Secrets,
	})
	return err
}

// Expand implements storage.Expander with ControllerExpandVolume.
func (d *Driver) Expand(req storage.ExpandRequest) (int64, bool, error) {
	reply, err := call[*spec.ControllerExpandVolumeResponse](d, "", &spec.ControllerExpandVolumeRequest{
		VolumeId: req.ID, CapacityRange: &spec.CapacityRange{RequiredBytes: req.Size, LimitBytes: req.Limit}, Secrets: req.Secrets,
		VolumeCapability: capability(req.Mode, d.multiWriter(), req.VolumeMode, req.FSType, req.MountOptions, ""),
	})
	return reply.GetCapacityBytes(), reply.GetNodeExpansionRequired(), err
}

// Modify implements storage.Modifier with ControllerModifyVolume.
func (d *Driver) Modify(req storage.ModifyRequest) error {
	_, err := call[*spec.ControllerModifyVolumeResponse](d, "", &spec.ControllerModifyVolumeRequest{
		VolumeId: req.ID, MutableParameters: req.Parameters, Secrets: req.Secrets,
	})
	return err
}

// Capacity implements storage.CapacityReporter with GetCapacity.
func (d *Driver) Capacity(req storage.CapacityRequest) (storage.Capacity, error) {
	reply, err := call[*spec.GetCapacityResponse](d, "", &spec.GetCapacityRequest{
		Parameters: req.Parameters, AccessibleTopology: &spec.Topology{Segments: req.Segment},
	})
	return storage.Capacity{Available: reply.GetAvailableCapacity(), Largest: reply.GetMaximumVolumeSize().GetValue()}, err
}

// Published implements storage.PublishedLister with ListVolumes. A driver without LIST_VOLUMES_PUBLISHED_NODES gives Unimplemented.
func (d *Driver) Published() (map[string][]string, error) {
	if !d.controller[spec.ControllerServiceCapability_RPC_LIST_VOLUMES] ||
		!d.controller[spec.ControllerServiceCapability_RPC_LIST_VOLUMES_PUBLISHED_NODES] {
		return nil, storage.Errorf(storage.Unimplemented, "driver %s does not list the nodes of its volumes", d.name)
	}
	names := map[string]string{}
	for name, info := range d.infos {
		names[info.GetNodeId()] = name
	}
	published := map[string][]string{}
	err := d.listVolumes(func(entry *spec.ListVolumesResponse_Entry) {
		id := entry.GetVolume().GetVolumeId()
		for _, node := range entry.GetStatus().GetPublishedNodeIds() {
			published[id] = append(published[id], names[node])
		}
	})
	if err != nil {
		return nil, err
	}
	return published, nil
}
