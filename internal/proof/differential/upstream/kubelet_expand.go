package upstream

import (
	"context"
	"fmt"
	"reflect"
	"unsafe"

	csipb "github.com/container-storage-interface/spec/lib/go/csi"
	"google.golang.org/grpc"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/kubernetes/pkg/volume"
	"k8s.io/kubernetes/pkg/volume/util"

	"github.com/volsim/volsim/internal/proof/differential"
	"github.com/volsim/volsim/internal/proof/differential/harness"
	"github.com/volsim/volsim/storage"
)

// nodeExpandWithClient is the CSI plugin's code for expansion, after it has found the driver's client.
//
//go:linkname nodeExpandWithClient k8s.io/kubernetes/pkg/volume/csi.(*csiPlugin).nodeExpandWithClient
func nodeExpandWithClient(plugin unsafe.Pointer, options volume.NodeResizeOptions, source *corev1.CSIPersistentVolumeSource,
	client clientWords, filesystem bool) (bool, error)

// clientWords are the two words of an interface value: the plugin's client, whose type is private.
type clientWords struct{ table, value unsafe.Pointer }

// NodeExpand expands a volume with the driver here.
func (p *csiPlugin) NodeExpand(options volume.NodeResizeOptions) (bool, error) {
	pv := options.VolumeSpec.PersistentVolume
	if pv == nil || pv.Spec.CSI == nil {
		return false, fmt.Errorf("volume %s is none of a CSI driver", options.VolumeSpec.Name())
	}
	attacher, err := p.NewAttacher()
	if err != nil {
		return false, err
	}
	filesystem, err := util.CheckVolumeModeFilesystem(options.VolumeSpec)
	if err != nil {
		return false, err
	}
	client := harness.Unexported(reflect.ValueOf(attacher).Elem().FieldByName("csiClient"))
	return nodeExpandWithClient(reflect.ValueOf(p.realCSI).UnsafePointer(), options, pv.Spec.CSI,
		*(*clientWords)(client.Addr().UnsafePointer()), filesystem)
}

// NodeExpandVolume expands the file system or device.
func (n *csiNode) NodeExpandVolume(ctx context.Context, req *csipb.NodeExpandVolumeRequest,
	_ ...grpc.CallOption) (*csipb.NodeExpandVolumeResponse, error) {
	size := req.CapacityRange.RequiredBytes
	return &csipb.NodeExpandVolumeResponse{CapacityBytes: size}, n.call(ctx, storage.NodeExpand, req.VolumeId, "", func() error {
		n.asked(differential.NodeRequest{Op: storage.NodeExpand, ID: req.VolumeId, Path: req.VolumePath, Staging: req.StagingTargetPath,
			Size: size}, req.VolumeCapability)
		return nil
	})
}
