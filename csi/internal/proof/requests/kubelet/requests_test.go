package kubelet

import (
	"context"
	"testing"

	spec "github.com/container-storage-interface/spec/lib/go/csi"
	"github.com/go-logr/logr"
	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/klog/v2"

	"github.com/volsim/volsim/csi/internal/proof/requests"
)

// TestRequests compares the requests of the kubelet in a volume's life with those of the real one.
func TestRequests(t *testing.T) {
	klog.SetLogger(logr.Discard())
	for _, tt := range requests.Cases {
		t.Run(tt.Name, func(t *testing.T) {
			ours, objects := requests.Simulate(t, &tt)
			r := &real{t: t, driver: requests.NewDriver(t, &tt), objects: objects, root: t.TempDir()}
			methods := []string{"NodeGetInfo", "NodePublishVolume", "NodeUnpublishVolume"}
			if !tt.Inline {
				prepare(t, ours, r.driver)
				methods = append(methods, "NodeStageVolume", "NodeUnstageVolume")
			}
			size := resource.Quantity{}
			if !tt.Fixed {
				size = resource.MustParse("2Gi")
				methods = append(methods, "NodeExpandVolume")
			}
			r.mount(size)
			requests.Compare(t, r.driver, ours, r.root, methods...)
		})
	}
}

// prepare makes the calls of the sidecars that precede those of the kubelet.
func prepare(t *testing.T, from, to *requests.Driver) {
	t.Helper()
	ctx, controller := context.Background(), spec.NewControllerClient(to.Conn)
	_, err := controller.CreateVolume(ctx, from.Request("CreateVolume").(*spec.CreateVolumeRequest))
	require.NoError(t, err)
	_, err = controller.ControllerPublishVolume(ctx, from.Request("ControllerPublishVolume").(*spec.ControllerPublishVolumeRequest))
	require.NoError(t, err)
	if expand, ok := from.Request("ControllerExpandVolume").(*spec.ControllerExpandVolumeRequest); ok {
		_, err = controller.ControllerExpandVolume(ctx, expand)
		require.NoError(t, err)
	}
}
