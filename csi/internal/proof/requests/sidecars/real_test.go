package sidecars

import (
	"context"
	"testing"
	"time"

	"github.com/kubernetes-csi/csi-lib-utils/metrics"
	"github.com/kubernetes-csi/csi-lib-utils/rpc"
	"github.com/kubernetes-csi/external-attacher/v4/pkg/attacher"
	attachcontroller "github.com/kubernetes-csi/external-attacher/v4/pkg/controller"
	provisioncontroller "github.com/kubernetes-csi/external-provisioner/v6/pkg/controller"
	resizercsi "github.com/kubernetes-csi/external-resizer/v2/pkg/csi"
	"github.com/kubernetes-csi/external-resizer/v2/pkg/modifier"
	"github.com/kubernetes-csi/external-resizer/v2/pkg/resizer"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/util/workqueue"
	csitrans "k8s.io/csi-translation-lib"
	"sigs.k8s.io/sig-storage-lib-external-provisioner/v13/controller"

	"github.com/volsim/volsim/csi/internal/proof/requests"
	"github.com/volsim/volsim/csi/internal/testdriver"
)

// real runs the code of the sidecars with the API objects of a simulated cluster.
type real struct {
	t       *testing.T
	driver  *requests.Driver
	objects *requests.Objects
}

const timeout = 10 * time.Second

// provisioner returns the external-provisioner with its default flags.
func (r *real) provisioner(ctx context.Context) controller.Provisioner {
	client, factory := r.objects.Client(r.t)
	plugin, err := rpc.GetPluginCapabilities(ctx, r.driver.Conn)
	require.NoError(r.t, err)
	capabilities, err := rpc.GetControllerCapabilities(ctx, r.driver.Conn)
	require.NoError(r.t, err)
	storage, core := factory.Storage().V1(), factory.Core().V1()
	return provisioncontroller.NewCSIProvisioner(client, timeout, r.objects.Volume.Spec.CSI.VolumeAttributes["storage.kubernetes.io/csiProvisionerIdentity"],
		"pvc", -1, r.driver.Conn, nil, testdriver.Name, plugin, capabilities, "", false, true, csitrans.New(), storage.StorageClasses().Lister(),
		storage.CSINodes().Lister(), core.Nodes().Lister(), core.PersistentVolumeClaims().Lister(), storage.VolumeAttachments().Lister(), nil, false, "",
		nil, true, false, provisioncontroller.NewInMemoryStore())
}

// provision makes external-provisioner create the volume.
func (r *real) provision(ctx context.Context) {
	claim := r.objects.Claim.DeepCopy()
	claim.Spec.VolumeName, claim.Status = "", corev1.PersistentVolumeClaimStatus{}
	_, _, err := r.provisioner(ctx).Provision(ctx, controller.ProvisionOptions{StorageClass: r.objects.Class, PVName: "pvc-" + string(claim.UID), PVC: claim,
		SelectedNodeName: claim.Annotations["volume.kubernetes.io/selected-node"]})
	require.NoError(r.t, err)
}

// remove makes external-provisioner delete the volume.
func (r *real) remove(ctx context.Context) {
	require.NoError(r.t, r.provisioner(ctx).Delete(ctx, r.objects.Volume))
}

// attach makes external-attacher attach the volume, or detach it.
func (r *real) attach(ctx context.Context, detach bool) {
	va := r.objects.Attachment.DeepCopy()
	if detach {
		va.DeletionTimestamp = new(metav1.Now())
	} else {
		va.Status = storagev1.VolumeAttachmentStatus{}
	}
	client, factory := r.objects.Client(r.t, va)
	limit := timeout
	handler := attachcontroller.NewCSIHandler(client, testdriver.Name, attacher.NewAttacher(r.driver.Conn), nil,
		factory.Core().V1().PersistentVolumes().Lister(), factory.Storage().V1().CSINodes().Lister(), factory.Storage().V1().VolumeAttachments().Lister(),
		&limit, true, true, csitrans.New(), "")
	queue := func() workqueue.TypedRateLimitingInterface[string] {
		return workqueue.NewTypedRateLimitingQueue(workqueue.DefaultTypedControllerRateLimiter[string]())
	}
	handler.Init(queue(), queue())
	handler.SyncNewOrUpdatedVolumeAttachment(ctx, va)
}

// expand makes external-resizer grow the volume, and modify it if there is a VolumeAttributesClass.
func (r *real) expand(ctx context.Context, size resource.Quantity) {
	client, factory := r.objects.Client(r.t)
	driver, err := resizercsi.New(ctx, "unix://"+r.driver.Path, timeout, metrics.NewCSIMetricsManager(testdriver.Name))
	require.NoError(r.t, err)
	expander, err := resizer.NewResizerFromClient(driver, timeout, client, testdriver.Name)
	require.NoError(r.t, err)
	_, _, err = expander.Resize(r.objects.Volume, size)
	require.NoError(r.t, err)
	if r.objects.Changed == nil {
		return
	}
	changer, err := modifier.NewModifierFromClient(driver, timeout, client, factory, false, testdriver.Name)
	require.NoError(r.t, err)
	require.NoError(r.t, changer.Modify(ctx, r.objects.Volume, r.objects.Changed.Parameters))
}
