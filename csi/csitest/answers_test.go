package csitest

import (
	"context"
	"strings"
	"testing"

	spec "github.com/container-storage-interface/spec/lib/go/csi"
	"github.com/stretchr/testify/require"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	storagev1 "k8s.io/api/storage/v1"

	"github.com/volsim/volsim/csi"
	"github.com/volsim/volsim/csi/internal/specdriver"
	"github.com/volsim/volsim/csi/internal/testdriver"
)

// requireOne runs stories without faults, and returns the only finding.
func requireOne(t *testing.T, cfg Config, stories ...string) Finding {
	t.Helper()
	cfg.Stories, cfg.Seeds, cfg.Pairs, cfg.every = stories, -1, -1, 7
	report, err := Check(cfg)
	require.NoError(t, err)
	require.Len(t, report.Findings, 1, "%v", report.Findings)
	return report.Findings[0]
}

// A list of volumes with names of nodes is wrong if the driver has other IDs for them.
func TestListedNodeNames(t *testing.T) {
	cfg := legalConfig(specdriver.Options{}, false)
	cfg.Controller = altered{cfg.Controller, change(func(list *spec.ListVolumesResponse) {
		for _, entry := range list.GetEntries() {
			for i, id := range entry.GetStatus().GetPublishedNodeIds() {
				entry.Status.PublishedNodeIds[i] = strings.TrimPrefix(id, "i-0")
			}
		}
	})}
	f := requireOne(t, cfg, "life")
	require.Equal(t, "ListVolumes", f.Section)
	require.Contains(t, f.Detail, `is published to "n1", and no reply to NodeGetInfo has that node_id; it is published to i-0n1`)
}

// A second DeleteVolume that fails is one finding, also if the volume had snapshots.
func TestDeletedAgainWithSnapshots(t *testing.T) {
	f := requireOne(t, testConfig(testdriver.DeleteAgainFails), "snapshot-source-deleted")
	require.Equal(t, string(undone), f.Kind)
}

// picky is a connection to a driver that refuses volumes in pods without what its CSIDriver object asks for.
type picky struct{ csi.Conn }

func (p picky) Invoke(ctx context.Context, method string, request, reply any, opts ...grpc.CallOption) error {
	if r, ok := request.(*spec.NodePublishVolumeRequest); ok && r.GetVolumeId() != "" && r.GetTargetPath() != "" {
		tokens := r.GetVolumeContext()["csi.storage.k8s.io/serviceAccount.tokens"]
		if !r.GetReadonly() || !strings.Contains(tokens, `"vault"`) {
			return status.Errorf(codes.InvalidArgument, "readonly %t, tokens %q", r.GetReadonly(), tokens)
		}
	}
	return p.Conn.Invoke(ctx, method, request, reply, opts...)
}

// A driver gets what its CSIDriver object asks for. Without the object, the finding names the settings.
func TestCSIDriverObject(t *testing.T) {
	o := specdriver.Options{InlineOnly: true, NoAttach: true, NoStage: true, Expansion: "none"}
	cfg := legalConfig(o, false)
	cfg.Nodes = map[string]csi.Conn{"n1": picky{cfg.Nodes["n1"]}}
	require.Contains(t, requireOne(t, cfg, "inline").Requirement, "Config.CSIDriver (--csidriver FILE)")

	cfg.Inline, cfg.InlineReadOnly = nil, true
	cfg.CSIDriver = &storagev1.CSIDriverSpec{VolumeLifecycleModes: []storagev1.VolumeLifecycleMode{storagev1.VolumeLifecycleEphemeral},
		TokenRequests: []storagev1.TokenRequest{{Audience: "vault"}}}
	cfg.Stories, cfg.Seeds, cfg.Pairs, cfg.every = nil, -1, -1, 5
	report, err := Check(cfg)
	require.NoError(t, err)
	require.Empty(t, report.Findings)
	require.Len(t, report.Stories, 3)
}

// The reason of a call that requiresRepublish causes names it.
func TestWhyRepublished(t *testing.T) {
	for _, story := range []string{"tokens", "inline-tokens"} {
		f := requireOne(t, testConfig(testdriver.RepublishFails), story)
		require.Equal(t, "MNT-070", f.Why[0].Rule)
	}
}

// A snapshot_id that is too long is one finding, also if volumes are created from the snapshot.
func TestLongSnapshotIDOnce(t *testing.T) {
	f := requireOne(t, testConfig(testdriver.SnapshotLongID), "restore", "snapshot-queries")
	require.Contains(t, f.Requirement, "a string SHALL NOT exceed 128 bytes")
}

// A volume that is created from nothing has the requirement about its source.
func TestMissingSource(t *testing.T) {
	f := requireOne(t, testConfig(testdriver.RestoreMissingSucceeds), "snapshot-queries")
	require.Contains(t, f.Requirement, "Source does not exist: 5 NOT_FOUND")
}

// A reply to CreateVolume with zones that do not reach the volume is wrong, and not the call that attaches it.
func TestTooManyZones(t *testing.T) {
	d := testdriver.New(testdriver.CreateWithoutTopology)
	d.Zones = map[string]string{"n2": "b"}
	cfg := configOf(d)
	cfg.Controller = altered{cfg.Controller, change(func(r *spec.CreateVolumeResponse) {
		for _, zone := range []string{"a", "b"} {
			r.Volume.AccessibleTopology = append(r.Volume.AccessibleTopology, &spec.Topology{Segments: map[string]string{"topology.test.csi.volsim.dev/zone": zone}})
		}
	})}
	f := requireOne(t, cfg, "zones")
	require.Equal(t, "CreateVolume", f.Section)
	require.Contains(t, f.Requirement, "accessible from each topology in accessible_topology")
}
