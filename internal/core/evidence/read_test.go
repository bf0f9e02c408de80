package evidence_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/volsim/volsim/api"
	"github.com/volsim/volsim/fake"
	"github.com/volsim/volsim/internal/core/evidence"
	"github.com/volsim/volsim/internal/core/objects"
	"github.com/volsim/volsim/storage"
)

const driver = "disk.example.com"

var now = time.Date(2026, time.March, 1, 12, 0, 0, 0, time.UTC)

func ago(d time.Duration) metav1.Time { return metav1.NewTime(now.Add(-d)) }

func with[T api.Object](obj T, change func(T)) T {
	change(obj)
	return obj
}

// waiting is a claim that the driver has been asked to create a volume for, 3 hours ago.
func waiting() *corev1.PersistentVolumeClaim {
	return with(fake.Claim("data", "1Gi", fake.UID("c1"), fake.InClass("fast"), fake.Phase("Pending"),
		fake.Annotations(objects.AnnStorageProvisioner, driver)),
		func(c *corev1.PersistentVolumeClaim) { c.CreationTimestamp = ago(3 * time.Hour) })
}

func bound(created time.Duration) *corev1.PersistentVolume {
	return with(fake.Volume("pv", "1Gi", fake.ForClaim("data", "c1"), fake.Phase("Bound"), fake.CSISource(driver, "h1"),
		fake.Annotations(objects.AnnProvisionedBy, driver)),
		func(pv *corev1.PersistentVolume) { pv.CreationTimestamp = ago(created) })
}

// growing is a claim whose volume is expanded for an hour, and its file system is not; failed is the error of a node, if there was one.
func growing(failed string) *corev1.PersistentVolumeClaim {
	return with(fake.Claim("data", "2Gi", fake.UID("c1"), fake.VolumeName("pv"), fake.Phase("Bound")), func(c *corev1.PersistentVolumeClaim) {
		c.Status.Capacity = corev1.ResourceList{corev1.ResourceStorage: resource.MustParse("1Gi")}
		c.Status.Conditions = []corev1.PersistentVolumeClaimCondition{
			{Type: corev1.PersistentVolumeClaimFileSystemResizePending, Status: corev1.ConditionTrue, LastTransitionTime: ago(time.Hour)}}
		if failed != "" {
			c.Status.Conditions = append(c.Status.Conditions, corev1.PersistentVolumeClaimCondition{Type: corev1.PersistentVolumeClaimNodeResizeError,
				Status: corev1.ConditionTrue, LastTransitionTime: ago(time.Hour), Message: failed})
		}
	})
}

func event(about api.Object, from, reason, message string, count int32) *corev1.Event {
	return &corev1.Event{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: reason},
		InvolvedObject: corev1.ObjectReference{Kind: string(api.KindOf(about)), Namespace: about.GetNamespace(), Name: about.GetName()},
		Reason:         reason, Message: message, Count: count, Source: corev1.EventSource{Component: from},
		FirstTimestamp: ago(168 * time.Minute), LastTimestamp: ago(time.Minute)}
}

func csiDriver() *storagev1.CSIDriver {
	return &storagev1.CSIDriver{ObjectMeta: metav1.ObjectMeta{Name: driver}}
}

func registered(node string, drivers ...string) *storagev1.CSINode {
	csiNode := &storagev1.CSINode{ObjectMeta: metav1.ObjectMeta{Name: node}}
	for _, name := range drivers {
		csiNode.Spec.Drivers = append(csiNode.Spec.Drivers, storagev1.CSINodeDriver{Name: name, NodeID: node})
	}
	return csiNode
}

func attachment(failed string) *storagev1.VolumeAttachment {
	pv := "pv"
	va := &storagev1.VolumeAttachment{
		ObjectMeta: metav1.ObjectMeta{Name: objects.AttachmentName("h1", driver, "n1"), CreationTimestamp: ago(time.Hour)},
		Spec:       storagev1.VolumeAttachmentSpec{Attacher: driver, NodeName: "n1", Source: storagev1.VolumeAttachmentSource{PersistentVolumeName: &pv}}}
	if failed != "" {
		va.Status.AttachError = &storagev1.VolumeError{Time: ago(time.Minute), Message: failed}
	}
	return va
}

func heartbeat(age time.Duration) *corev1.Node {
	return with(fake.Node("n1"), func(n *corev1.Node) {
		n.Status.Conditions = []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionTrue, LastHeartbeatTime: ago(age)}}
	})
}

func lease(namespace, name string, age time.Duration) *coordinationv1.Lease {
	at := metav1.NewMicroTime(now.Add(-age))
	return &coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name},
		Spec: coordinationv1.LeaseSpec{RenewTime: &at}}
}

// TestRead: each kind of evidence, and what is assumed.
func TestRead(t *testing.T) {
	class := fake.Class("fast", driver)
	claim := waiting()
	pod := fake.Pod("p", fake.OnNode("n1"), fake.Claims("data"), fake.Phase("Pending"))
	boundClaim := fake.Claim("data", "1Gi", fake.UID("c1"), fake.VolumeName("pv"), fake.Phase("Bound"))
	attached := with(attachment(""), func(va *storagev1.VolumeAttachment) { va.Status.Attached = true })
	recycled := with(fake.Volume("nfs", "1Gi", fake.ForClaim("old", "c9"), fake.Phase("Failed")), func(pv *corev1.PersistentVolume) {
		pv.Spec.PersistentVolumeReclaimPolicy = corev1.PersistentVolumeReclaimRecycle
		pv.Spec.PersistentVolumeSource = corev1.PersistentVolumeSource{NFS: &corev1.NFSVolumeSource{Server: "s", Path: "/p"}}
	})
	waitingPod := func(reason string) *corev1.Pod {
		p := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "p", UID: "p1"}}
		p.Spec.NodeName, p.Status.Phase = "n1", corev1.PodPending
		p.Spec.Containers = []corev1.Container{{Name: "c", Image: "img"}}
		if reason != "" {
			p.Status.ContainerStatuses = []corev1.ContainerStatus{{Name: "c",
				State: corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: reason}}}}
		}
		return p
	}
	invalid := "failed to provision volume with StorageClass \"fast\": rpc error: code = InvalidArgument desc = bad type"
	inTree := with(bound(time.Hour), func(pv *corev1.PersistentVolume) {
		pv.Spec.PersistentVolumeSource = corev1.PersistentVolumeSource{AWSElasticBlockStore: &corev1.AWSElasticBlockStoreVolumeSource{VolumeID: "vol-1"}}
	})
	runner := fake.Pod("p", fake.OnNode("n1"), fake.Claims("data"), fake.Phase("Running"))
	expansionFailed := "NodeExpandVolume.NodeExpandVolume failed for volume \"pv\" : Expander.NodeExpand failed to expand the volume : " +
		"rpc error: code = Internal desc = resize2fs"
	inline := fake.Pod("p", fake.OnNode("n1"), fake.Phase("Pending"))
	inline.Spec.Volumes = []corev1.Volume{{Name: "sec", VolumeSource: corev1.VolumeSource{CSI: &corev1.CSIVolumeSource{Driver: driver}}}}
	for _, tt := range []struct {
		name string
		objs []api.Object
		want []string
	}{
		{"a driver refuses a claim", []api.Object{class, claim, csiDriver(), event(claim, driver+"_x", "ProvisioningFailed", invalid, 41)},
			[]string{"driver disk.example.com has refused claim default/data 41 times since 09:12 with InvalidArgument; assumed to continue"}},
		{"an error of the PersistentVolume controller is reproduced by the simulation", []api.Object{class,
			with(waiting(), func(c *corev1.PersistentVolumeClaim) { c.CreationTimestamp = ago(time.Second) }), csiDriver(),
			event(claim, "persistentvolume-controller", "ProvisioningFailed", "storageclass not found", 3)}, nil},
		{"a driver has worked after a transient error", []api.Object{class, claim, csiDriver(), bound(30 * time.Second),
			event(claim, driver+"_x", "ProvisioningFailed", "rpc error: code = Unavailable desc = connection refused", 2)},
			[]string{"driver disk.example.com: it failed for claim default/data with Unavailable, and has created a volume after that; assumed to work"}},
		{"a driver does not answer", []api.Object{class, claim, csiDriver(), event(claim, "persistentvolume-controller",
			"ExternalProvisioning", "waiting", 5000)},
			[]string{"the provisioner of driver disk.example.com has not answered claim default/data since 09:12 (5000 ExternalProvisioning Events); " +
				"assumed to continue"}},
		{"a driver is not installed", []api.Object{class, claim, registered("n1", "other.example.com")},
			[]string{"driver disk.example.com is not installed: no CSIDriver, CSINode, volume or Event mentions it, and it has not answered " +
				"claim default/data since 09:00; assumed to continue"}},
		{"a claim that has just been created", []api.Object{class, csiDriver(), with(waiting(),
			func(c *corev1.PersistentVolumeClaim) { c.CreationTimestamp = ago(time.Second) })}, nil},
		{"an attach error", []api.Object{bound(time.Hour), attachment("rpc error: code = Internal desc = no capacity")},
			[]string{"driver disk.example.com has refused to attach volume pv at node n1, last at 11:59, with Internal; assumed to continue"}},
		{"an attach error of the attacher is reproduced by the simulation", []api.Object{bound(time.Hour),
			attachment("CSINode n1 does not contain driver disk.example.com")}, nil},
		{"an attachment without an answer", []api.Object{bound(time.Hour), attachment(""), registered("n1", driver)},
			[]string{"the attacher of driver disk.example.com has not answered the request to attach volume pv at node n1 since 11:00; " +
				"assumed to continue"}},
		{"a mount fails", []api.Object{bound(time.Hour), boundClaim, pod, event(pod, "kubelet", "FailedMount",
			"MountVolume.SetUp failed for volume \"pv\" : rpc error: code = Internal desc = no such device", 9)},
			[]string{"driver disk.example.com has refused to mount volume pv on node n1 9 times since 09:12 with Internal; assumed to continue"}},
		{"a mount of an in-tree volume fails", []api.Object{inTree, boundClaim, pod, event(pod, "kubelet", "FailedMount",
			"MountVolume.SetUp failed for volume \"pv\" : rpc error: code = Internal desc = no such device", 9)},
			[]string{"driver ebs.csi.aws.com has refused to mount volume pv on node n1 9 times since 09:12 with Internal; assumed to continue"}},
		{"a mount times out", []api.Object{bound(time.Hour), boundClaim, pod, attached, event(pod, "kubelet", "FailedMount",
			"Unable to attach or mount volumes: unmounted volumes=[data], unattached volumes=[], failed to process volumes=[]: timed out waiting for the condition", 9)},
			[]string{"driver disk.example.com has not mounted volume pv on node n1: the kubelet has timed out 9 times since 09:12; assumed to continue"}},
		{"MNT-303: a mount of a volume in the pod itself fails", []api.Object{inline, event(inline, "kubelet", "FailedMount",
			"MountVolume.SetUp failed for volume \"sec\" : rpc error: code = Unknown desc = no such class", 9)},
			[]string{"driver disk.example.com has refused to mount volume sec on node n1 9 times since 09:12 with Unknown; assumed to continue"}},
		{"MNT-333: a kubelet changes the group of files", []api.Object{heartbeat(time.Minute), bound(time.Hour), boundClaim, pod, attached,
			event(pod, "kubelet", "VolumePermissionChangeInProgress", "Setting volume ownership for x, processed 9 files.", 3),
			event(pod, "kubelet", "FailedMount", "Unable to attach or mount volumes: timed out waiting for the condition", 9)},
			[]string{"the kubelet of node n1 has changed the group of files for pod default/p since 09:12; assumed to continue"}},
		{"MNT-339: a volume has another SELinux label", []api.Object{heartbeat(time.Minute), bound(time.Hour), boundClaim, pod, attached,
			event(pod, "kubelet", "FailedMount", "Unable to attach or mount volumes: conflicting SELinux labels of volume pv: \"a\" and \"b\"", 9)},
			[]string{"the kubelet of node n1 has failed to mount volume pv of pod default/p 9 times since 09:12; assumed to continue"}},
		{"a mount fails because of the expansion", []api.Object{bound(time.Hour), boundClaim, pod, event(pod, "kubelet", "FailedMount",
			"MountVolume.Setup failed while expanding volume for volume \"pv\" : rpc error: code = Internal desc = resize2fs", 9)},
			[]string{"driver disk.example.com has refused to mount volume pv on node n1 9 times since 09:12 with Internal; assumed to continue"}},
		{"EXP-042: the expansion of a file system fails", []api.Object{bound(time.Hour), growing(""), runner,
			event(runner, "kubelet", "VolumeResizeFailed", expansionFailed, 7)},
			[]string{"driver disk.example.com has refused to expand the file system of volume pv on node n1 7 times since 09:12 with Internal; " +
				"assumed to continue"}},
		{"EXP-042: without Events, the claim says so", []api.Object{bound(time.Hour),
			growing("failed to expand pvc with rpc error: code = Internal desc = resize2fs"), runner},
			[]string{"driver disk.example.com has refused to expand the file system of volume pv on node n1 since 11:00 with Internal; " +
				"assumed to continue"}},
		{"EXP-042: a volume in use", []api.Object{bound(time.Hour),
			growing("failed to expand pvc with rpc error: code = FailedPrecondition desc = volume is published"), runner}, nil},
		{"MNT-393: an earlier expansion has failed", []api.Object{bound(time.Hour), growing(""), runner,
			with(event(runner, "kubelet", "VolumeResizeFailed", expansionFailed, 7), func(e *corev1.Event) { e.LastTimestamp = ago(2 * time.Hour) })}, nil},
		{"a kubelet does not report", []api.Object{heartbeat(time.Hour)}, []string{"the kubelet of node n1 has not reported since 11:00; " +
			"assumed to stay cut off from the API server, with its containers running"}},
		{"a kubelet renews its lease", []api.Object{heartbeat(time.Hour), lease("kube-node-lease", "n1", time.Second)}, nil},
		{"a scheduler does not renew its lease", []api.Object{lease("kube-system", "kube-scheduler", time.Hour)},
			[]string{"kube-scheduler has not renewed its lease since 11:00; assumed to continue"}},
		{"a driver refuses a size", []api.Object{class, claim, csiDriver(), event(claim, driver+"_x", "ProvisioningFailed",
			"rpc error: code = OutOfRange desc = too large", 4)},
			[]string{"driver disk.example.com has refused a size of claim default/data with OutOfRange; assumed to accept less than 1Gi",
				"driver disk.example.com has refused claim default/data 4 times since 09:12 with OutOfRange; assumed to continue"}},
		{"a growth that was refused and given up leaves the limit", []api.Object{class, csiDriver(), bound(time.Hour),
			with(boundClaim.DeepCopy(), func(c *corev1.PersistentVolumeClaim) { c.Status.Capacity = c.Spec.Resources.Requests }),
			event(boundClaim, "external-resizer "+driver, "VolumeResizeFailed",
				"resize volume failed: rpc error: code = OutOfRange desc = Requested capacity 2199023255552 exceeds maximum allowed 1099511627776", 4)},
			[]string{"driver disk.example.com has refused a size of claim default/data with OutOfRange; assumed to accept at most 1Ti"}},
		{"a full driver has no room for other claims", []api.Object{class, claim, csiDriver(), event(claim, driver+"_x", "ProvisioningFailed",
			"rpc error: code = ResourceExhausted desc = pool is full", 4)},
			[]string{"driver disk.example.com has refused claim default/data 4 times since 09:12 with ResourceExhausted; assumed to continue",
				"driver disk.example.com has no room for claim default/data (ResourceExhausted), and so for no other volume; assumed to continue"}},
		{"a provisioner that fails for one claim runs", []api.Object{class, claim, csiDriver(),
			fake.Claim("other", "1Gi", fake.UID("c2"), fake.InClass("fast"), fake.Phase("Pending"), fake.Annotations(objects.AnnStorageProvisioner, driver)),
			event(claim, driver+"_x", "ProvisioningFailed", "rpc error: code = InvalidArgument desc = bad", 4)},
			[]string{"driver disk.example.com has refused claim default/data 4 times since 09:12 with InvalidArgument; assumed to continue"}},
		{"a recycler pod fails", []api.Object{recycled, event(recycled, "persistentvolume-controller", "VolumeFailedRecycle", "Recycle failed: no", 3)},
			[]string{"the recycler pod of volume nfs has failed 3 times since 09:12; assumed to continue"}},
		{"a recycler pod of an earlier attempt", []api.Object{recycled, event(recycled, "persistentvolume-controller", "VolumeFailedRecycle",
			"Recycle failed: old recycler pod found, will retry later", 1)}, nil},
		{"a container does not start", []api.Object{waitingPod("ImagePullBackOff")},
			[]string{"container c of pod default/p does not start (ImagePullBackOff); assumed to continue"}},
		{"a container crashes", []api.Object{waitingPod("CrashLoopBackOff")},
			[]string{"container c of pod default/p crashes (0 restarts); assumed to continue"}},
		{"a container is being created", []api.Object{waitingPod("ContainerCreating")}, nil},
		{"a pod does not stop on a Ready node", []api.Object{heartbeat(time.Minute), with(waitingPod(""), func(p *corev1.Pod) {
			p.DeletionTimestamp = new(ago(time.Hour))
		})}, []string{"the kubelet of node n1 has not ended pod default/p, which had to stop until 11:00; assumed to continue"}},
		{"a pod that has just been deleted", []api.Object{heartbeat(time.Minute), with(waitingPod(""), func(p *corev1.Pod) {
			p.DeletionTimestamp = new(ago(time.Second))
		})}, nil},
		{"a pod on a node that does not report", []api.Object{heartbeat(time.Hour), with(waitingPod(""), func(p *corev1.Pod) {
			p.DeletionTimestamp = new(ago(time.Hour))
		})}, []string{"the kubelet of node n1 has not reported since 11:00; assumed to stay cut off from the API server, with its containers running"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var got []string
			for _, a := range evidence.Read(tt.objs, now).All() {
				got = append(got, a.String())
			}
			require.Equal(t, tt.want, got)
		})
	}
}

// TestInject: calls that are assumed to fail do, and no others.
func TestInject(t *testing.T) {
	claim := waiting()
	set := evidence.Read([]api.Object{fake.Class("fast", driver), claim, csiDriver(),
		event(claim, driver+"_x", "ProvisioningFailed", "rpc error: code = InvalidArgument desc = bad type", 41)}, now)
	create := api.Call{Actor: "external-provisioner/" + driver, Target: driver, Verb: string(storage.Create), Key: "pvc-c1"}
	require.EqualError(t, set.Inject(create).Err, "rpc error: code = InvalidArgument desc = bad type")
	create.Key = "pvc-c2"
	require.NoError(t, set.Inject(create).Err)
	healthy, err := set.Override("driver=healthy")
	require.NoError(t, err)
	create.Key = "pvc-c1"
	require.NoError(t, healthy.Inject(create).Err)
	require.Equal(t, "driver disk.example.com is assumed to be healthy, as requested", healthy.All()[0].String())
	absent, err := set.Override("driver/disk.example.com=absent", "node/n1=silent")
	require.NoError(t, err)
	require.Equal(t, []string{"external-attacher/" + driver, "external-provisioner/" + driver, "external-resizer/" + driver}, absent.Stopped())
	require.Equal(t, []string{"n1"}, absent.Cut())
	recycle := api.Call{Target: "kubernetes.io/nfs", Verb: string(storage.Recycle), Key: "vol"}
	require.NoError(t, set.Inject(recycle).Err)
	failing, err := set.Override("recycler=refuses")
	require.NoError(t, err)
	require.EqualError(t, failing.Inject(recycle).Err, "rpc error: code = Internal desc = assumed to fail")
	recycle.Verb = string(storage.Publish)
	require.NoError(t, failing.Inject(recycle).Err, "mounts go on")
	_, err = set.Override("recycler=absent")
	require.EqualError(t, err, `invalid assumption "recycler=absent": a recycler is healthy, refuses or silent`)
	_, err = set.Override("driver=lazy")
	require.EqualError(t, err,
		`invalid assumption "driver=lazy": want SUBJECT=healthy, refuses, silent or absent, such as driver/disk.example.com=healthy`)
	_, err = set.Override("node/n1=absent")
	require.EqualError(t, err, `invalid assumption "node/n1=absent": a node is healthy or silent`)
}
