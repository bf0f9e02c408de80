package reasons

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/volsim/volsim/api"
	"github.com/volsim/volsim/fake"
	"github.com/volsim/volsim/internal/core/backends"
	"github.com/volsim/volsim/internal/core/objects"
	"github.com/volsim/volsim/internal/core/plain"
	"github.com/volsim/volsim/internal/core/snapshot"
	"github.com/volsim/volsim/storage"
)

const Driver = "disk.example.com"

var Now = time.Date(2026, time.March, 1, 12, 0, 0, 0, time.UTC)

// SnapshotOf sorts objects into a snapshot at the time Now.
func SnapshotOf(t testing.TB, objs ...api.Object) snapshot.Snapshot {
	t.Helper()
	s := snapshot.Snapshot{Now: Now}
	for _, obj := range objs {
		require.NoError(t, fake.Err(obj))
		switch obj := obj.(type) {
		case *corev1.Pod:
			s.Pods = append(s.Pods, obj)
		case *corev1.Node:
			s.Nodes = append(s.Nodes, obj)
		case *corev1.PersistentVolume:
			s.Volumes = append(s.Volumes, obj)
		case *corev1.PersistentVolumeClaim:
			s.Claims = append(s.Claims, obj)
		case *storagev1.StorageClass:
			s.Classes = append(s.Classes, obj)
		case *storagev1.VolumeAttributesClass:
			s.AttributesClasses = append(s.AttributesClasses, obj)
		case *storagev1.CSIDriver:
			s.Drivers = append(s.Drivers, obj)
		case *storagev1.CSINode:
			s.CSINodes = append(s.CSINodes, obj)
		case *storagev1.CSIStorageCapacity:
			s.Capacities = append(s.Capacities, obj)
		case *storagev1.VolumeAttachment:
			s.Attachments = append(s.Attachments, obj)
		case *corev1.Event:
			s.Events = append(s.Events, obj)
		case *plain.Object:
			s.Workloads = append(s.Workloads, obj)
		default:
			t.Fatalf("no place for a %T", obj)
		}
	}
	return s
}

// With changes an object after it was built.
func With[T api.Object](obj T, change func(T)) T {
	change(obj)
	return obj
}

// Deleting sets the deletionTimestamp, a minute from now.
func Deleting[T api.Object](obj T, finalizers ...string) T {
	at := metav1.NewTime(Now.Add(time.Minute))
	obj.SetDeletionTimestamp(&at)
	obj.SetFinalizers(finalizers)
	return obj
}

// BoundPair returns a claim and its volume, of a CSI driver, as the controller leaves them.
func BoundPair(opts ...fake.Option) (*corev1.PersistentVolumeClaim, *corev1.PersistentVolume) {
	claim := fake.Claim("data", "10Gi", fake.UID("c1"), fake.VolumeName("pv"), fake.Phase("Bound"),
		fake.Annotations(objects.AnnBindCompleted, "yes"), fake.Finalizers(objects.ClaimProtectionFinalizer))
	objects.SetClaimCapacity(claim, resource.MustParse("10Gi"))
	pv := fake.Volume("pv", "10Gi", append([]fake.Option{fake.ForClaim("data", "c1"), fake.Phase("Bound"), fake.CSISource(Driver, "h1"),
		fake.Policy(corev1.PersistentVolumeReclaimDelete)}, opts...)...)
	return claim, pv
}

// User returns a pod with the claim data, on a node unless that is "".
func User(name, node string) *corev1.Pod {
	opts := []fake.Option{fake.UID(types.UID("uid-" + name)), fake.Claims("data")}
	if node != "" {
		opts = append(opts, fake.OnNode(node))
	}
	return fake.Pod(name, opts...)
}

// Runs marks the containers of a pod as running.
func Runs(pod *corev1.Pod) *corev1.Pod {
	pod.Status.Phase = corev1.PodRunning
	pod.Status.ContainerStatuses = []corev1.ContainerStatus{{Name: "main",
		State: corev1.ContainerState{Running: &corev1.ContainerStateRunning{}}}}
	return pod
}

// ManagedNode returns a managed node that has the volume of BoundPair attached and in use, as given.
func ManagedNode(name string, attached, inUse bool) *corev1.Node {
	node := fake.Node(name, fake.Annotations(objects.AnnManagedAttach, "true"))
	volume := objects.CSIVolumeName(Driver, "h1")
	if attached {
		node.Status.VolumesAttached = []corev1.AttachedVolume{{Name: volume}}
	}
	if inUse {
		node.Status.VolumesInUse = []corev1.UniqueVolumeName{volume}
	}
	return node
}

func NotReady(node *corev1.Node) *corev1.Node {
	node.Status.Conditions = []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionUnknown}}
	return node
}

// Attachment returns the VolumeAttachment of BoundPair's volume to a node.
func Attachment(node string, attached bool) *storagev1.VolumeAttachment {
	pv := "pv"
	return &storagev1.VolumeAttachment{
		ObjectMeta: metav1.ObjectMeta{Name: objects.AttachmentName("h1", Driver, node), CreationTimestamp: metav1.NewTime(Now.Add(-time.Hour))},
		Spec: storagev1.VolumeAttachmentSpec{Attacher: Driver, NodeName: node,
			Source: storagev1.VolumeAttachmentSource{PersistentVolumeName: &pv}},
		Status: storagev1.VolumeAttachmentStatus{Attached: attached},
	}
}

func Event(about api.Object, reason, message string) *corev1.Event {
	return &corev1.Event{
		ObjectMeta:     metav1.ObjectMeta{Namespace: "default", Name: "e"},
		InvolvedObject: corev1.ObjectReference{Kind: string(api.KindOf(about)), Namespace: about.GetNamespace(), Name: about.GetName()},
		Reason:         reason, Message: message, LastTimestamp: metav1.NewTime(Now.Add(-time.Minute)),
	}
}

func selected(node string) fake.Option { return fake.Annotations(objects.AnnSelectedNode, node) }

func tainted(node *corev1.Node, key string) *corev1.Node {
	node.Spec.Taints = append(node.Spec.Taints, corev1.Taint{Key: key, Value: "x", Effect: corev1.TaintEffectNoSchedule})
	return node
}

// notDetached returns an attachment that is being deleted, and that the driver could not detach.
func notDetached(va *storagev1.VolumeAttachment) *storagev1.VolumeAttachment {
	va.Status.DetachError = &storagev1.VolumeError{Time: metav1.NewTime(Now), Message: "rpc error: code = Internal desc = not permitted"}
	return Deleting(va, objects.AttacherFinalizerPrefix+"disk-example-com")
}

// taintedFor is how long nodes of unreachable have been so.
const taintedFor = time.Minute

// unreachable returns a node that is not ready and has the taint by which its pods are evicted.
func unreachable(node *corev1.Node) *corev1.Node {
	added := metav1.NewTime(Now.Add(-taintedFor))
	node.Spec.Taints = append(node.Spec.Taints,
		corev1.Taint{Key: corev1.TaintNodeUnreachable, Effect: corev1.TaintEffectNoExecute, TimeAdded: &added})
	return NotReady(node)
}

// stays returns a pod that tolerates NoExecute taints, for that many seconds unless they are negative.
func stays(pod *corev1.Pod, seconds int64) *corev1.Pod {
	all := corev1.Toleration{Operator: corev1.TolerationOpExists, Effect: corev1.TaintEffectNoExecute}
	if seconds >= 0 {
		all.TolerationSeconds = &seconds
	}
	pod.Spec.Tolerations = append(pod.Spec.Tolerations, all)
	return pod
}

// notReady returns a pod whose condition Ready is False for that reason.
func notReady(pod *corev1.Pod, reason string) *corev1.Pod {
	pod.Status.Conditions = append(pod.Status.Conditions, corev1.PodCondition{Type: corev1.PodReady, Status: corev1.ConditionFalse, Reason: reason})
	return pod
}

func labelled(node *corev1.Node, key, value string) *corev1.Node {
	node.Labels[key] = value
	return node
}

func ephemeral(name string) *corev1.Pod {
	return fake.Pod(name, fake.UID("uid-p"), fake.Ephemeral("scratch", "1Gi", "fast"))
}

func withCount(node string, count int32) *storagev1.CSINode {
	return &storagev1.CSINode{ObjectMeta: metav1.ObjectMeta{Name: node}, Spec: storagev1.CSINodeSpec{
		Drivers: []storagev1.CSINodeDriver{{Name: Driver, NodeID: node, Allocatable: &storagev1.VolumeNodeResources{Count: &count}}}}}
}

func Available(name, size string, opts ...fake.Option) *corev1.PersistentVolume {
	return fake.Volume(name, size, append(opts, fake.Phase("Available"))...)
}

func CSIDriver() *storagev1.CSIDriver {
	return &storagev1.CSIDriver{ObjectMeta: metav1.ObjectMeta{Name: Driver}}
}

// InTree returns an in-tree plugin that provisions volumes.
const InTree = "kubernetes.io/example"

// recycled returns a Released volume with policy Recycle.
func recycled(name, size string, opts ...fake.Option) *corev1.PersistentVolume {
	return fake.Volume(name, size,
		append([]fake.Option{fake.ForClaim("before", "c0"), fake.Phase("Released"), fake.NFSSource("server", "/share"),
			fake.Policy(corev1.PersistentVolumeReclaimRecycle)}, opts...)...)
}

// set returns a set of backends.
func set(all ...storage.Backend) *backends.Set {
	s, err := backends.NewSet(all...)
	if err != nil {
		panic(err)
	}
	return s
}

// attributes returns a VolumeAttributesClass of the driver.
func attributes(name string) *storagev1.VolumeAttributesClass {
	return &storagev1.VolumeAttributesClass{ObjectMeta: metav1.ObjectMeta{Name: name}, DriverName: Driver}
}
