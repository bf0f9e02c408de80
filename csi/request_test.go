package csi_test

import (
	"context"
	"crypto/sha256"
	"fmt"
	"testing"
	"time"

	spec "github.com/container-storage-interface/spec/lib/go/csi"
	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"
	"google.golang.org/grpc"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/testing/protocmp"
	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/volsim/volsim"
	"github.com/volsim/volsim/csi"
	"github.com/volsim/volsim/fake"
	"github.com/volsim/volsim/storage"
)

// zoned is a disk with topology, ReadWriteOncePod and modifications.
type zoned struct{ *disk }

func (d zoned) GetPluginCapabilities(context.Context, *spec.GetPluginCapabilitiesRequest) (*spec.GetPluginCapabilitiesResponse, error) {
	r := &spec.GetPluginCapabilitiesResponse{}
	for _, c := range []spec.PluginCapability_Service_Type{
		spec.PluginCapability_Service_CONTROLLER_SERVICE, spec.PluginCapability_Service_VOLUME_ACCESSIBILITY_CONSTRAINTS,
	} {
		r.Capabilities = append(r.Capabilities, &spec.PluginCapability{
			Type: &spec.PluginCapability_Service_{Service: &spec.PluginCapability_Service{Type: c}},
		})
	}
	return r, nil
}

func (d zoned) ControllerGetCapabilities(ctx context.Context, r *spec.ControllerGetCapabilitiesRequest) (*spec.ControllerGetCapabilitiesResponse, error) {
	reply, err := d.disk.ControllerGetCapabilities(ctx, r)
	for _, c := range []spec.ControllerServiceCapability_RPC_Type{
		spec.ControllerServiceCapability_RPC_SINGLE_NODE_MULTI_WRITER, spec.ControllerServiceCapability_RPC_MODIFY_VOLUME,
		spec.ControllerServiceCapability_RPC_CLONE_VOLUME,
	} {
		reply.Capabilities = append(reply.Capabilities, &spec.ControllerServiceCapability{
			Type: &spec.ControllerServiceCapability_Rpc{Rpc: &spec.ControllerServiceCapability_RPC{Type: c}},
		})
	}
	return reply, err
}

func (d zoned) NodeGetInfo(context.Context, *spec.NodeGetInfoRequest) (*spec.NodeGetInfoResponse, error) {
	return &spec.NodeGetInfoResponse{
		NodeId: "i-" + d.node, MaxVolumesPerNode: 3, AccessibleTopology: &spec.Topology{Segments: map[string]string{"example.com/zone": "a"}},
	}, nil
}

func (d zoned) CreateVolume(ctx context.Context, r *spec.CreateVolumeRequest) (*spec.CreateVolumeResponse, error) {
	reply, err := d.disk.CreateVolume(ctx, r)
	reply.GetVolume().AccessibleTopology = r.GetAccessibilityRequirements().GetPreferred()[:1]
	reply.GetVolume().VolumeContext = map[string]string{"pool": "p"}
	reply.GetVolume().ContentSource = r.GetVolumeContentSource()
	return reply, err
}

func (d zoned) ControllerModifyVolume(context.Context, *spec.ControllerModifyVolumeRequest) (*spec.ControllerModifyVolumeResponse, error) {
	return &spec.ControllerModifyVolumeResponse{}, nil
}

// Every request has the fields that the sidecars and the kubelet send, and no others.
func TestRequests(t *testing.T) {
	d := zoned{newDisk("n1")}
	class := fake.Class("fast", "disk.example.com", fake.Expandable(), fake.WaitForFirstConsumer())
	class.MountOptions = []string{"noatime"}
	class.Parameters = map[string]string{
		"type": "ssd", "csi.storage.k8s.io/fstype": "xfs", "csi.storage.k8s.io/secret-name": "key", "csi.storage.k8s.io/secret-namespace": "storage",
	}
	secrets := map[string]string{"token": "x"}
	server := csi.Serve(func(s grpc.ServiceRegistrar) {
		spec.RegisterIdentityServer(s, d)
		spec.RegisterControllerServer(s, d)
		spec.RegisterNodeServer(s, d)
	})
	driver, err := csi.New(context.Background(), csi.Config{Controller: server})
	require.NoError(t, err)
	c, err := volsim.New(volsim.Config{Backends: []storage.Backend{driver}})
	require.NoError(t, err)
	defer c.Close()
	gold := &storagev1.VolumeAttributesClass{ObjectMeta: metav1.ObjectMeta{Name: "gold"}, DriverName: "disk.example.com", Parameters: map[string]string{"iops": "9"}}
	object := &storagev1.CSIDriver{ObjectMeta: metav1.ObjectMeta{Name: "disk.example.com"}, Spec: storagev1.CSIDriverSpec{PodInfoOnMount: new(true)}}
	secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: "storage", Name: "key"}, StringData: secrets}
	require.NoError(t, c.Create(secret, fake.Node("n1"), class, gold, object))
	require.NoError(t, c.Advance(time.Minute))
	node, err := c.Nodes.Get("n1")
	require.NoError(t, err)
	require.Equal(t, "a", node.Labels["example.com/zone"])
	csiNode, err := c.CSINodes.Get("n1")
	require.NoError(t, err)
	require.Equal(t, []storagev1.CSINodeDriver{{Name: "disk.example.com", NodeID: "i-n1", TopologyKeys: []string{"example.com/zone"},
		Allocatable: &storagev1.VolumeNodeResources{Count: new(int32(3))}}}, csiNode.Spec.Drivers)

	claim := fake.Claim("data", "1Gi", fake.InClass("fast"), fake.Modes("RWOP"))
	pod := fake.Pod("web", fake.Claims("data"))
	pod.Spec.ServiceAccountName = "default"
	require.NoError(t, c.Create(claim, pod))
	require.NoError(t, c.Advance(time.Minute))
	require.NoError(t, c.Patch(claim, `{"spec":{"resources":{"requests":{"storage":"2Gi"}},"volumeAttributesClassName":"gold"}}`))
	require.NoError(t, c.Advance(5*time.Minute))
	require.NoError(t, c.Delete(pod))
	require.NoError(t, c.Advance(10*time.Minute))
	stored, err := c.Claims.Get("default/data")
	require.NoError(t, err)
	pv, err := c.Volumes.Get(stored.Spec.VolumeName)
	require.NoError(t, err)
	require.NoError(t, c.Delete(stored))
	require.NoError(t, c.Advance(10*time.Minute))

	id := "vol-" + pv.Name
	mount := func(mode spec.VolumeCapability_AccessMode_Mode) *spec.VolumeCapability {
		return &spec.VolumeCapability{
			AccessMode: &spec.VolumeCapability_AccessMode{Mode: mode},
			AccessType: &spec.VolumeCapability_Mount{Mount: &spec.VolumeCapability_MountVolume{FsType: "xfs", MountFlags: []string{"noatime"}}},
		}
	}
	// The nodes of this driver lack SINGLE_NODE_MULTI_WRITER.
	single, writer := mount(spec.VolumeCapability_AccessMode_SINGLE_NODE_SINGLE_WRITER), mount(spec.VolumeCapability_AccessMode_SINGLE_NODE_WRITER)
	topology := []*spec.Topology{{Segments: map[string]string{"example.com/zone": "a"}}}
	staging := fmt.Sprintf("/var/lib/kubelet/plugins/kubernetes.io/csi/disk.example.com/%x/globalmount", sha256.Sum256([]byte(id)))
	target := "/var/lib/kubelet/pods/" + string(pod.UID) + "/volumes/kubernetes.io~csi/" + pv.Name + "/mount"
	attributes := pv.Spec.CSI.VolumeAttributes
	ofPod := map[string]string{
		"csi.storage.k8s.io/pod.name": "web", "csi.storage.k8s.io/pod.namespace": "default", "csi.storage.k8s.io/pod.uid": string(pod.UID),
		"csi.storage.k8s.io/serviceAccount.name": "default", "csi.storage.k8s.io/ephemeral": "false",
	}
	for key, value := range attributes {
		ofPod[key] = value
	}
	device := map[string]string{"device": "/dev/" + id}
	want := []proto.Message{
		&spec.NodeGetInfoRequest{},
		&spec.CreateVolumeRequest{
			Name: pv.Name, CapacityRange: &spec.CapacityRange{RequiredBytes: 1 << 30}, VolumeCapabilities: []*spec.VolumeCapability{single},
			Parameters: map[string]string{"type": "ssd"}, Secrets: secrets,
			AccessibilityRequirements: &spec.TopologyRequirement{Requisite: topology, Preferred: topology},
		},
		&spec.ControllerPublishVolumeRequest{VolumeId: id, NodeId: "i-n1", VolumeCapability: single, Secrets: secrets, VolumeContext: attributes},
		&spec.NodeStageVolumeRequest{VolumeId: id, PublishContext: device, StagingTargetPath: staging, VolumeCapability: writer, Secrets: secrets, VolumeContext: attributes},
		&spec.NodePublishVolumeRequest{VolumeId: id, PublishContext: device, StagingTargetPath: staging, TargetPath: target, VolumeCapability: writer, Secrets: secrets, VolumeContext: ofPod},
		&spec.ControllerExpandVolumeRequest{VolumeId: id, CapacityRange: &spec.CapacityRange{RequiredBytes: 2 << 30}, Secrets: secrets, VolumeCapability: single},
		&spec.ControllerModifyVolumeRequest{VolumeId: id, Secrets: secrets, MutableParameters: map[string]string{"iops": "9"}},
		&spec.NodeExpandVolumeRequest{VolumeId: id, VolumePath: target, CapacityRange: &spec.CapacityRange{RequiredBytes: 2 << 30}, StagingTargetPath: staging, VolumeCapability: writer, Secrets: secrets},
		&spec.NodeUnpublishVolumeRequest{VolumeId: id, TargetPath: target},
		&spec.NodeUnstageVolumeRequest{VolumeId: id, StagingTargetPath: staging},
		&spec.ControllerUnpublishVolumeRequest{VolumeId: id, NodeId: "i-n1", Secrets: secrets},
		&spec.DeleteVolumeRequest{VolumeId: id, Secrets: secrets},
	}
	var got []proto.Message
	for _, call := range driver.Calls() {
		got = append(got, call.Request)
	}
	if diff := cmp.Diff(want, got, protocmp.Transform()); diff != "" {
		t.Errorf("requests (-want +got):\n%s", diff)
	}
	require.Equal(t, "xfs", pv.Spec.CSI.FSType)
	require.Equal(t, corev1.NodeSelectorRequirement{Key: "example.com/zone", Operator: "In", Values: []string{"a"}},
		pv.Spec.NodeAffinity.Required.NodeSelectorTerms[0].MatchExpressions[0])
}
