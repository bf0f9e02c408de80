package sidecars

import (
	"context"
	"fmt"
	"testing"

	spec "github.com/container-storage-interface/spec/lib/go/csi"
	"github.com/go-logr/logr"
	"github.com/kubernetes-csi/csi-lib-utils/metrics"
	"github.com/kubernetes-csi/csi-lib-utils/rpc"
	"github.com/kubernetes-csi/external-attacher/v4/pkg/attacher"
	attachcontroller "github.com/kubernetes-csi/external-attacher/v4/pkg/controller"
	provisioncontroller "github.com/kubernetes-csi/external-provisioner/v6/pkg/controller"
	resizercsi "github.com/kubernetes-csi/external-resizer/v2/pkg/csi"
	"github.com/kubernetes-csi/external-resizer/v2/pkg/modifier"
	"github.com/kubernetes-csi/external-resizer/v2/pkg/resizer"
	snapshotv1 "github.com/kubernetes-csi/external-snapshotter/client/v8/apis/volumesnapshot/v1"
	snapshotfake "github.com/kubernetes-csi/external-snapshotter/client/v8/clientset/versioned/fake"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/util/workqueue"
	csitrans "k8s.io/csi-translation-lib"
	"k8s.io/klog/v2"
	grantlisters "sigs.k8s.io/gateway-api/pkg/client/listers/apis/v1beta1"
	"sigs.k8s.io/sig-storage-lib-external-provisioner/v13/controller"

	"github.com/volsim/volsim/csi/internal/proof/requests"
	"github.com/volsim/volsim/csi/internal/testdriver"
)

// TestStories compares the requests of the sidecars in all stories of csitest with those of the real ones, on the same API objects.
func TestStories(t *testing.T) {
	klog.SetLogger(logr.Discard())
	ctx := klog.NewContext(context.Background(), logr.Discard())
	calls := requests.StoryCalls(t, "CreateVolume", "DeleteVolume", "ControllerPublishVolume", "ControllerUnpublishVolume", "ControllerExpandVolume",
		"ControllerModifyVolume", "GetCapacity")
	stub, compared, without := requests.NewStub(t), map[string]int{}, 0
	for _, c := range calls {
		t.Run(fmt.Sprintf("%s %s %d", c.Story, c.Method, c.Seq), func(t *testing.T) {
			s := &story{t: t, driver: stub, call: c}
			stub.Replay(c.Method, c.Reply)
			if !s.make(ctx) {
				without++
				return
			}
			requests.CompareCall(t, stub, c, "")
			compared[c.Method]++
		})
	}
	require.Greater(t, compared["CreateVolume"], len(calls)/10)
	require.Positive(t, compared["GetCapacity"])
	t.Logf("%d requests compared: %v; %d have no object any more", len(calls)-without, compared, without)
}

// story runs the code of a sidecar with the API objects of a story.
type story struct {
	t      *testing.T
	driver *requests.Driver
	call   *requests.Call
	grants grantlisters.ReferenceGrantLister // nil without the gate for data sources in other namespaces
}

// make makes the call. It returns false if an object is gone that the sidecar has in memory.
func (s *story) make(ctx context.Context) bool {
	if s.call.Method == "GetCapacity" {
		s.capacity(ctx)
		return true
	}
	volume := s.call.PersistentVolume()
	if volume == nil && s.call.Method != "CreateVolume" {
		return false
	}
	switch request := s.call.Request.(type) {
	case *spec.CreateVolumeRequest:
		claim := s.call.Claim(request.GetName())
		if claim == nil || s.call.Class(claim) == nil {
			return false
		}
		_ = s.create(ctx, claim.DeepCopy())
	case *spec.DeleteVolumeRequest:
		_ = s.provisioner(ctx).Delete(ctx, volume)
	case *spec.ControllerPublishVolumeRequest:
		return s.attach(ctx, volume, request.GetNodeId(), false)
	case *spec.ControllerUnpublishVolumeRequest:
		return s.attach(ctx, volume, request.GetNodeId(), true)
	case *spec.ControllerExpandVolumeRequest:
		client, _ := s.call.Client(s.t)
		driver, err := resizercsi.New(ctx, "unix://"+s.driver.Path, timeout, metrics.NewCSIMetricsManager(testdriver.Name))
		require.NoError(s.t, err)
		expander, err := resizer.NewResizerFromClient(driver, timeout, client, testdriver.Name)
		require.NoError(s.t, err)
		_, _, _ = expander.Resize(volume, *resource.NewQuantity(request.GetCapacityRange().GetRequiredBytes(), resource.BinarySI))
	case *spec.ControllerModifyVolumeRequest:
		client, factory := s.call.Client(s.t)
		driver, err := resizercsi.New(ctx, "unix://"+s.driver.Path, timeout, metrics.NewCSIMetricsManager(testdriver.Name))
		require.NoError(s.t, err)
		changer, err := modifier.NewModifierFromClient(driver, timeout, client, factory, false, testdriver.Name)
		require.NoError(s.t, err)
		_ = changer.Modify(ctx, volume, s.call.Attributes[0].Parameters)
	}
	return true
}

// create makes external-provisioner create the volume of a claim. It returns its error.
func (s *story) create(ctx context.Context, claim *corev1.PersistentVolumeClaim) error {
	claim.Spec.VolumeName, claim.Status = "", corev1.PersistentVolumeClaimStatus{}
	_, _, err := s.provisioner(ctx).Provision(ctx, controller.ProvisionOptions{StorageClass: s.call.Class(claim), PVName: "pvc-" + string(claim.UID), PVC: claim,
		SelectedNodeName: claim.Annotations["volume.kubernetes.io/selected-node"]})
	return err
}

// provisioner returns the external-provisioner with its default flags.
func (s *story) provisioner(ctx context.Context) controller.Provisioner {
	client, factory := s.call.Client(s.t)
	plugin, err := rpc.GetPluginCapabilities(ctx, s.driver.Conn)
	require.NoError(s.t, err)
	capabilities, err := rpc.GetControllerCapabilities(ctx, s.driver.Conn)
	require.NoError(s.t, err)
	storage, core := factory.Storage().V1(), factory.Core().V1()
	return provisioncontroller.NewCSIProvisioner(client, timeout, s.identity(), "pvc", -1, s.driver.Conn, s.snapshots(), testdriver.Name, plugin, capabilities,
		"", false, true, csitrans.New(), storage.StorageClasses().Lister(), storage.CSINodes().Lister(), core.Nodes().Lister(),
		core.PersistentVolumeClaims().Lister(), storage.VolumeAttachments().Lister(), s.grants, false, "", nil, true, false,
		provisioncontroller.NewInMemoryStore())
}

// identity is that of the provisioner that created the volume.
func (s *story) identity() string {
	if volume := s.call.PersistentVolume(); volume != nil {
		return volume.Spec.CSI.VolumeAttributes["storage.kubernetes.io/csiProvisionerIdentity"]
	}
	return "volsim"
}

// snapshots returns a client with the objects of external-snapshotter.
func (s *story) snapshots() *snapshotfake.Clientset {
	var objects []runtime.Object
	for _, u := range s.call.Snapshots {
		var obj runtime.Object
		switch u.GetKind() {
		case "VolumeSnapshot":
			obj = &snapshotv1.VolumeSnapshot{}
		case "VolumeSnapshotContent":
			obj = &snapshotv1.VolumeSnapshotContent{}
		default:
			obj = &snapshotv1.VolumeSnapshotClass{}
		}
		require.NoError(s.t, runtime.DefaultUnstructuredConverter.FromUnstructured(u.Object, obj))
		objects = append(objects, obj)
	}
	return snapshotfake.NewSimpleClientset(objects...)
}

// attach makes external-attacher attach the volume, or detach it.
func (s *story) attach(ctx context.Context, volume *corev1.PersistentVolume, node string, detach bool) bool {
	found := s.call.Attachment(volume.Name, node)
	if found == nil {
		return false
	}
	va := found.DeepCopy()
	if detach {
		va.DeletionTimestamp = new(metav1.Now())
	} else {
		va.DeletionTimestamp, va.Status = nil, storagev1.VolumeAttachmentStatus{}
	}
	client, factory := s.call.Client(s.t, va)
	limit := timeout
	handler := attachcontroller.NewCSIHandler(client, testdriver.Name, attacher.NewAttacher(s.driver.Conn), nil, factory.Core().V1().PersistentVolumes().Lister(),
		factory.Storage().V1().CSINodes().Lister(), factory.Storage().V1().VolumeAttachments().Lister(), &limit, true, true, csitrans.New(), "")
	queue := func() workqueue.TypedRateLimitingInterface[string] {
		return workqueue.NewTypedRateLimitingQueue(workqueue.DefaultTypedControllerRateLimiter[string]())
	}
	handler.Init(queue(), queue())
	handler.SyncNewOrUpdatedVolumeAttachment(ctx, va)
	return true
}
