package snapshotter

import (
	"context"
	"sync"
	"testing"
	"time"

	snapshotv1 "github.com/kubernetes-csi/external-snapshotter/client/v8/apis/volumesnapshot/v1"
	snapshotfake "github.com/kubernetes-csi/external-snapshotter/client/v8/clientset/versioned/fake"
	snapshotinformers "github.com/kubernetes-csi/external-snapshotter/client/v8/informers/externalversions"
	groupsnapshotter "github.com/kubernetes-csi/external-snapshotter/v8/pkg/group_snapshotter"
	sidecar "github.com/kubernetes-csi/external-snapshotter/v8/pkg/sidecar-controller"
	"github.com/kubernetes-csi/external-snapshotter/v8/pkg/snapshotter"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	clientfake "k8s.io/client-go/kubernetes/fake"
	"k8s.io/client-go/util/workqueue"

	"github.com/volsim/volsim/csi/internal/proof/requests"
	"github.com/volsim/volsim/csi/internal/testdriver"
)

// real runs the csi-snapshotter with the API objects of a simulated cluster.
type real struct {
	t       *testing.T
	driver  *requests.Driver
	objects *requests.Snapshots
}

// typed converts an object.
func typed[T any](t *testing.T, u *unstructured.Unstructured) *T {
	obj := new(T)
	require.NoError(t, runtime.DefaultUnstructuredConverter.FromUnstructured(u.Object, obj))
	return obj
}

// sync runs the csi-snapshotter on one content until it has made a call of a method.
func (r *real) sync(content *snapshotv1.VolumeSnapshotContent, method string) {
	call(r.t, r.driver, r.objects.Secret, method, content, typed[snapshotv1.VolumeSnapshotClass](r.t, r.objects.Class))
}

// call runs the csi-snapshotter with group snapshots, and otherwise its default flags, on API objects until it has made a call of a method.
func call(t *testing.T, driver *requests.Driver, secret *corev1.Secret, method string, objects ...runtime.Object) {
	t.Helper()
	client := snapshotfake.NewSimpleClientset(objects...)
	factory := snapshotinformers.NewSharedInformerFactory(client, 0)
	v1, groups := factory.Snapshot().V1(), factory.Groupsnapshot().V1()
	limit := func() workqueue.TypedRateLimiter[string] {
		return workqueue.DefaultTypedControllerRateLimiter[string]()
	}
	controller := sidecar.NewCSISnapshotSideCarController(client, clientfake.NewClientset(secret), testdriver.Name, v1.VolumeSnapshotContents(),
		v1.VolumeSnapshotClasses(), snapshotter.NewSnapshotter(driver.Conn), groupsnapshotter.NewGroupSnapshotter(driver.Conn), time.Minute,
		15*time.Minute, "snapshot", -1, "groupsnapshot", -1, false, limit(), true, groups.VolumeGroupSnapshotContents(),
		groups.VolumeGroupSnapshotClasses(), limit())
	ctx, stop := context.WithCancel(context.Background())
	defer stop()
	factory.Start(ctx.Done())
	go controller.Run(1, ctx.Done(), &sync.WaitGroup{})
	require.Eventually(t, func() bool { return driver.Request(method) != nil }, 20*time.Second, 10*time.Millisecond, "no %s", method)
}

// take makes the csi-snapshotter take the snapshot.
func (r *real) take() {
	content := typed[snapshotv1.VolumeSnapshotContent](r.t, r.objects.Created)
	content.Status = nil
	r.sync(content, "CreateSnapshot")
}

// list makes the csi-snapshotter ask for an imported snapshot.
func (r *real) list() {
	content := typed[snapshotv1.VolumeSnapshotContent](r.t, r.objects.Import)
	content.Status = nil
	r.sync(content, "ListSnapshots")
}

// remove makes the csi-snapshotter delete the snapshot.
func (r *real) remove() {
	content := typed[snapshotv1.VolumeSnapshotContent](r.t, r.objects.Ready)
	content.DeletionTimestamp = new(metav1.Now())
	metav1.SetMetaDataAnnotation(&content.ObjectMeta, "snapshot.storage.kubernetes.io/volumesnapshot-being-deleted", "yes")
	r.sync(content, "DeleteSnapshot")
}
