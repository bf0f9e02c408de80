package csi_test

import (
	"context"
	"encoding/json"
	"testing"
	"time"

	spec "github.com/container-storage-interface/spec/lib/go/csi"
	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"
	"google.golang.org/grpc"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/testing/protocmp"
	"google.golang.org/protobuf/types/known/timestamppb"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/volsim/volsim"
	"github.com/volsim/volsim/csi"
	"github.com/volsim/volsim/fake"
	"github.com/volsim/volsim/storage"
)

// copier is a disk with snapshots, clones and groups. Its snapshots are ready when they are requested a second time.
type copier struct {
	spec.UnimplementedGroupControllerServer
	zoned
	asked map[string]int
}

func (d *copier) GetPluginCapabilities(ctx context.Context, r *spec.GetPluginCapabilitiesRequest) (*spec.GetPluginCapabilitiesResponse, error) {
	reply, err := d.zoned.GetPluginCapabilities(ctx, r)
	reply.Capabilities = append(reply.Capabilities, &spec.PluginCapability{Type: &spec.PluginCapability_Service_{
		Service: &spec.PluginCapability_Service{Type: spec.PluginCapability_Service_GROUP_CONTROLLER_SERVICE}}})
	return reply, err
}

func (d *copier) ControllerGetCapabilities(ctx context.Context, r *spec.ControllerGetCapabilitiesRequest) (*spec.ControllerGetCapabilitiesResponse, error) {
	reply, err := d.zoned.ControllerGetCapabilities(ctx, r)
	for _, c := range []spec.ControllerServiceCapability_RPC_Type{
		spec.ControllerServiceCapability_RPC_CREATE_DELETE_SNAPSHOT, spec.ControllerServiceCapability_RPC_LIST_SNAPSHOTS,
	} {
		reply.Capabilities = append(reply.Capabilities, &spec.ControllerServiceCapability{
			Type: &spec.ControllerServiceCapability_Rpc{Rpc: &spec.ControllerServiceCapability_RPC{Type: c}},
		})
	}
	return reply, err
}

func (d *copier) GroupControllerGetCapabilities(context.Context, *spec.GroupControllerGetCapabilitiesRequest) (*spec.GroupControllerGetCapabilitiesResponse, error) {
	return &spec.GroupControllerGetCapabilitiesResponse{Capabilities: []*spec.GroupControllerServiceCapability{{
		Type: &spec.GroupControllerServiceCapability_Rpc{Rpc: &spec.GroupControllerServiceCapability_RPC{
			Type: spec.GroupControllerServiceCapability_RPC_CREATE_DELETE_GET_VOLUME_GROUP_SNAPSHOT}}}}}, nil
}

func (d *copier) snapshot(id, volume string) *spec.Snapshot {
	d.asked[id]++
	return &spec.Snapshot{SnapshotId: id, SourceVolumeId: volume, SizeBytes: 1 << 30, CreationTime: timestamppb.New(time.Unix(1000, 0)),
		ReadyToUse: d.asked[id] > 1}
}

func (d *copier) CreateSnapshot(_ context.Context, r *spec.CreateSnapshotRequest) (*spec.CreateSnapshotResponse, error) {
	return &spec.CreateSnapshotResponse{Snapshot: d.snapshot("of-"+r.GetSourceVolumeId(), r.GetSourceVolumeId())}, nil
}

func (d *copier) DeleteSnapshot(context.Context, *spec.DeleteSnapshotRequest) (*spec.DeleteSnapshotResponse, error) {
	return &spec.DeleteSnapshotResponse{}, nil
}

func (d *copier) ListSnapshots(_ context.Context, r *spec.ListSnapshotsRequest) (*spec.ListSnapshotsResponse, error) {
	if r.GetSnapshotId() == "gone" {
		return &spec.ListSnapshotsResponse{}, nil
	}
	return &spec.ListSnapshotsResponse{Entries: []*spec.ListSnapshotsResponse_Entry{{Snapshot: d.snapshot(r.GetSnapshotId(), "v")}}}, nil
}

func (d *copier) group(id string, volumes ...string) *spec.VolumeGroupSnapshot {
	g := &spec.VolumeGroupSnapshot{GroupSnapshotId: id, CreationTime: timestamppb.New(time.Unix(2000, 0)), ReadyToUse: true}
	for _, volume := range volumes {
		g.Snapshots = append(g.Snapshots, &spec.Snapshot{SnapshotId: id + "-" + volume, SourceVolumeId: volume, GroupSnapshotId: id, ReadyToUse: true})
	}
	return g
}

func (d *copier) CreateVolumeGroupSnapshot(_ context.Context, r *spec.CreateVolumeGroupSnapshotRequest) (*spec.CreateVolumeGroupSnapshotResponse, error) {
	return &spec.CreateVolumeGroupSnapshotResponse{GroupSnapshot: d.group("group", r.GetSourceVolumeIds()...)}, nil
}

func (d *copier) DeleteVolumeGroupSnapshot(context.Context, *spec.DeleteVolumeGroupSnapshotRequest) (*spec.DeleteVolumeGroupSnapshotResponse, error) {
	return &spec.DeleteVolumeGroupSnapshotResponse{}, nil
}

func (d *copier) GetVolumeGroupSnapshot(_ context.Context, r *spec.GetVolumeGroupSnapshotRequest) (*spec.GetVolumeGroupSnapshotResponse, error) {
	return &spec.GetVolumeGroupSnapshotResponse{GroupSnapshot: d.group(r.GetGroupSnapshotId(), "a", "b")}, nil
}

func newCopier() csi.Conn {
	d := &copier{zoned: zoned{newDisk("n1")}, asked: map[string]int{}}
	return csi.Serve(func(s grpc.ServiceRegistrar) {
		spec.RegisterIdentityServer(s, d)
		spec.RegisterControllerServer(s, d)
		spec.RegisterGroupControllerServer(s, d)
		spec.RegisterNodeServer(s, d)
	})
}

func snapshotObject(kind, namespace, name string, fields map[string]any) *unstructured.Unstructured {
	u := &unstructured.Unstructured{Object: fields}
	u.SetAPIVersion("snapshot.storage.k8s.io/v1")
	u.SetKind(kind)
	u.SetNamespace(namespace)
	u.SetName(name)
	return u
}

// Requests about snapshots and copies have the fields that csi-snapshotter and external-provisioner send, and no others. The recording
// replays without the driver.
func TestSnapshotRequests(t *testing.T) {
	var wanted []proto.Message
	run := func(cfg csi.Config) *csi.Driver {
		driver, err := csi.New(context.Background(), cfg)
		require.NoError(t, err)
		c, err := volsim.New(volsim.Config{Backends: []storage.Backend{driver}})
		require.NoError(t, err)
		defer c.Close()
		driver.Clock = c.Now
		pass := func() { require.NoError(t, c.Advance(time.Minute)) }
		require.NoError(t, c.Create(fake.Node("n1"), fake.Class("fast", "disk.example.com"),
			&corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "key"}, StringData: map[string]string{"token": "x"}},
			snapshotObject("VolumeSnapshotClass", "", "snap", map[string]any{"driver": "disk.example.com", "deletionPolicy": "Delete",
				"parameters": map[string]any{"where": "far", "csi.storage.k8s.io/snapshotter-secret-name": "key",
					"csi.storage.k8s.io/snapshotter-secret-namespace": "default", "csi.storage.k8s.io/snapshotter-list-secret-name": "key",
					"csi.storage.k8s.io/snapshotter-list-secret-namespace": "default"}})))
		pass()
		data := fake.Claim("data", "1Gi", fake.InClass("fast"))
		require.NoError(t, c.Create(data))
		pass()
		snapshot := snapshotObject("VolumeSnapshot", "default", "s", map[string]any{"spec": map[string]any{"volumeSnapshotClassName": "snap",
			"source": map[string]any{"persistentVolumeClaimName": "data"}}})
		require.NoError(t, c.Create(snapshot))
		pass()
		restored, clone := fake.Claim("restored", "2Gi", fake.InClass("fast")), fake.Claim("clone", "1Gi", fake.InClass("fast"))
		restored.Spec.DataSource = &corev1.TypedLocalObjectReference{APIGroup: new("snapshot.storage.k8s.io"), Kind: "VolumeSnapshot", Name: "s"}
		clone.Spec.DataSource = &corev1.TypedLocalObjectReference{Kind: "PersistentVolumeClaim", Name: "data"}
		require.NoError(t, c.Create(restored))
		pass()
		require.NoError(t, c.Create(clone))
		pass()
		require.NoError(t, c.Delete(snapshotObject("VolumeSnapshot", "default", "s", nil)))
		pass()
		require.NoError(t, c.Create(snapshotObject("VolumeSnapshotContent", "", "imported", map[string]any{"spec": map[string]any{
			"driver": "disk.example.com", "deletionPolicy": "Retain", "volumeSnapshotClassName": "snap", "source": map[string]any{"snapshotHandle": "old"},
			"volumeSnapshotRef": map[string]any{"namespace": "default", "name": "i"}}})))
		pass()

		name := func(claim string) string {
			stored, err := c.Claims.Get("default/" + claim)
			require.NoError(t, err)
			require.NotEmpty(t, stored.Spec.VolumeName, claim)
			return stored.Spec.VolumeName
		}
		writer := &spec.VolumeCapability{AccessMode: &spec.VolumeCapability_AccessMode{Mode: spec.VolumeCapability_AccessMode_SINGLE_NODE_MULTI_WRITER},
			AccessType: &spec.VolumeCapability_Mount{Mount: &spec.VolumeCapability_MountVolume{}}}
		topology := []*spec.Topology{{Segments: map[string]string{"example.com/zone": "a"}}}
		create := func(claim string, size int64, source *spec.VolumeContentSource) *spec.CreateVolumeRequest {
			return &spec.CreateVolumeRequest{Name: name(claim), CapacityRange: &spec.CapacityRange{RequiredBytes: size << 30}, VolumeContentSource: source,
				VolumeCapabilities:        []*spec.VolumeCapability{writer},
				AccessibilityRequirements: &spec.TopologyRequirement{Requisite: topology, Preferred: topology}}
		}
		id, secrets := "vol-"+name("data"), map[string]string{"token": "x"}
		take := &spec.CreateSnapshotRequest{SourceVolumeId: id, Name: "snapshot-" + string(snapshot.GetUID()), Secrets: secrets,
			Parameters: map[string]string{"where": "far"}}
		find := &spec.ListSnapshotsRequest{SnapshotId: "old", Secrets: secrets}
		wanted = []proto.Message{
			&spec.NodeGetInfoRequest{}, create("data", 1, nil), take, take,
			create("restored", 2, &spec.VolumeContentSource{Type: &spec.VolumeContentSource_Snapshot{
				Snapshot: &spec.VolumeContentSource_SnapshotSource{SnapshotId: "of-" + id}}}),
			create("clone", 1, &spec.VolumeContentSource{Type: &spec.VolumeContentSource_Volume{
				Volume: &spec.VolumeContentSource_VolumeSource{VolumeId: id}}}),
			&spec.DeleteSnapshotRequest{SnapshotId: "of-" + id, Secrets: secrets}, find, find,
		}
		return driver
	}
	driver := run(csi.Config{Controller: newCopier()})
	var got []proto.Message
	for _, call := range driver.Calls() {
		got = append(got, call.Request)
	}
	if diff := cmp.Diff(wanted, got, protocmp.Transform()); diff != "" {
		t.Errorf("requests (-want +got):\n%s", diff)
	}
	data, err := json.Marshal(driver.Recording())
	require.NoError(t, err)
	var recording csi.Recording
	require.NoError(t, json.Unmarshal(data, &recording))
	repeated, err := json.Marshal(run(csi.Config{Replay: &recording}).Recording())
	require.NoError(t, err)
	require.JSONEq(t, string(data), string(repeated))
}

// Calls about groups, and errors.
func TestGroupSnapshots(t *testing.T) {
	driver, err := csi.New(context.Background(), csi.Config{Controller: newCopier()})
	require.NoError(t, err)
	require.True(t, driver.HasGroup(spec.GroupControllerServiceCapability_RPC_CREATE_DELETE_GET_VOLUME_GROUP_SNAPSHOT))
	secrets := map[string]string{"token": "x"}
	group, err := driver.CreateGroupSnapshot(storage.GroupSnapshotRequest{Name: "g", VolumeIDs: []string{"a", "b"}, Secrets: secrets})
	require.NoError(t, err)
	epoch := time.Unix(0, 0).UTC() // a snapshot without creation_time
	want := storage.GroupSnapshot{ID: "group", Created: time.Unix(2000, 0).UTC(), Ready: true, Snapshots: []storage.Snapshot{
		{ID: "group-a", VolumeID: "a", Created: epoch, Ready: true, GroupID: "group"},
		{ID: "group-b", VolumeID: "b", Created: epoch, Ready: true, GroupID: "group"},
	}}
	require.Equal(t, want, group)
	ref := storage.GroupSnapshotRef{ID: "group", SnapshotIDs: []string{"group-a", "group-b"}, Secrets: secrets}
	group, err = driver.GetGroupSnapshot(ref)
	require.NoError(t, err)
	require.Equal(t, want, group)
	require.NoError(t, driver.DeleteGroupSnapshot(ref))
	var got []proto.Message
	for _, call := range driver.Calls() {
		got = append(got, call.Request)
	}
	requests := []proto.Message{
		&spec.CreateVolumeGroupSnapshotRequest{Name: "g", SourceVolumeIds: []string{"a", "b"}, Secrets: secrets},
		&spec.GetVolumeGroupSnapshotRequest{GroupSnapshotId: "group", SnapshotIds: ref.SnapshotIDs, Secrets: secrets},
		&spec.DeleteVolumeGroupSnapshotRequest{GroupSnapshotId: "group", SnapshotIds: ref.SnapshotIDs, Secrets: secrets},
	}
	if diff := cmp.Diff(requests, got, protocmp.Transform()); diff != "" {
		t.Errorf("requests (-want +got):\n%s", diff)
	}
	_, err = driver.GetSnapshot(storage.SnapshotRef{ID: "gone"})
	require.Equal(t, storage.NotFound, storage.CodeOf(err))

	plain, err := csi.New(context.Background(), csi.Config{Controller: csi.Serve(newDisk("n1").register)})
	require.NoError(t, err)
	for _, op := range []storage.Op{storage.CreateSnapshot, storage.DeleteSnapshot, storage.GetSnapshot, storage.CreateGroupSnapshot,
		storage.DeleteGroupSnapshot, storage.GetGroupSnapshot} {
		require.Contains(t, plain.Capabilities().Without, op)
		require.NotContains(t, driver.Capabilities().Without, op)
	}
}
