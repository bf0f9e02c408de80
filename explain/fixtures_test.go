package explain_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/volsim/volsim/attach"
	"github.com/volsim/volsim/explain"
	"github.com/volsim/volsim/fake"
	"github.com/volsim/volsim/internal/objects"
	"github.com/volsim/volsim/store"
)

const driver = "disk.example.com"

var now = time.Date(2026, time.March, 1, 12, 0, 0, 0, time.UTC)

// worldOf sorts objects into a world at the time now.
func worldOf(t testing.TB, objs ...store.Object) explain.World {
	t.Helper()
	w := explain.World{Now: now}
	for _, obj := range objs {
		require.NoError(t, fake.Err(obj))
		switch obj := obj.(type) {
		case *corev1.Pod:
			w.Pods = append(w.Pods, obj)
		case *corev1.Node:
			w.Nodes = append(w.Nodes, obj)
		case *corev1.PersistentVolume:
			w.Volumes = append(w.Volumes, obj)
		case *corev1.PersistentVolumeClaim:
			w.Claims = append(w.Claims, obj)
		case *storagev1.StorageClass:
			w.Classes = append(w.Classes, obj)
		case *storagev1.CSIDriver:
			w.Drivers = append(w.Drivers, obj)
		case *storagev1.CSINode:
			w.CSINodes = append(w.CSINodes, obj)
		case *storagev1.CSIStorageCapacity:
			w.Capacities = append(w.Capacities, obj)
		case *storagev1.VolumeAttachment:
			w.Attachments = append(w.Attachments, obj)
		case *corev1.Event:
			w.Events = append(w.Events, obj)
		default:
			t.Fatalf("no place for a %T", obj)
		}
	}
	return w
}

// with changes an object after it was made.
func with[T store.Object](obj T, change func(T)) T {
	change(obj)
	return obj
}

// deleting marks an object for deletion, a minute from now.
func deleting[T store.Object](obj T, finalizers ...string) T {
	at := metav1.NewTime(now.Add(time.Minute))
	obj.SetDeletionTimestamp(&at)
	obj.SetFinalizers(finalizers)
	return obj
}

// boundPair is a claim and its volume, of a CSI driver, as the controller leaves them.
func boundPair(opts ...fake.Option) (*corev1.PersistentVolumeClaim, *corev1.PersistentVolume) {
	claim := fake.Claim("data", "10Gi", fake.UID("c1"), fake.VolumeName("pv"), fake.Phase("Bound"),
		fake.Annotations(objects.AnnBindCompleted, "yes"), fake.Finalizers(objects.ClaimProtectionFinalizer))
	pv := fake.Volume("pv", "10Gi", append([]fake.Option{fake.ForClaim("data", "c1"), fake.Phase("Bound"), fake.CSISource(driver, "h1"),
		fake.Policy(corev1.PersistentVolumeReclaimDelete)}, opts...)...)
	return claim, pv
}

// user is a pod with the claim data mounted, on a node unless that is "".
func user(name, node string) *corev1.Pod {
	opts := []fake.Option{fake.UID(types.UID("uid-" + name)), fake.Claims("data")}
	if node != "" {
		opts = append(opts, fake.OnNode(node))
	}
	return fake.Pod(name, opts...)
}

// runs says that the containers of a pod run.
func runs(pod *corev1.Pod) *corev1.Pod {
	pod.Status.Phase = corev1.PodRunning
	pod.Status.ContainerStatuses = []corev1.ContainerStatus{{Name: "main", State: corev1.ContainerState{Running: &corev1.ContainerStateRunning{}}}}
	return pod
}

// machine is a managed node that has the volume of boundPair attached and in use, as far as said.
func machine(name string, attached, inUse bool) *corev1.Node {
	node := fake.Node(name, fake.Annotations(attach.AnnManaged, "true"))
	volume := objects.CSIVolumeName(driver, "h1")
	if attached {
		node.Status.VolumesAttached = []corev1.AttachedVolume{{Name: volume}}
	}
	if inUse {
		node.Status.VolumesInUse = []corev1.UniqueVolumeName{volume}
	}
	return node
}

func notReady(node *corev1.Node) *corev1.Node {
	node.Status.Conditions = []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionUnknown}}
	return node
}

// attachment is that of the volume of boundPair to a node.
func attachment(node string, attached bool) *storagev1.VolumeAttachment {
	pv := "pv"
	return &storagev1.VolumeAttachment{
		ObjectMeta: metav1.ObjectMeta{Name: objects.AttachmentName("h1", driver, node), CreationTimestamp: metav1.NewTime(now.Add(-time.Hour))},
		Spec:       storagev1.VolumeAttachmentSpec{Attacher: driver, NodeName: node, Source: storagev1.VolumeAttachmentSource{PersistentVolumeName: &pv}},
		Status:     storagev1.VolumeAttachmentStatus{Attached: attached},
	}
}

func event(about store.Object, reason, message string) *corev1.Event {
	return &corev1.Event{
		ObjectMeta:     metav1.ObjectMeta{Namespace: "default", Name: "e"},
		InvolvedObject: corev1.ObjectReference{Kind: string(store.KindOf(about)), Namespace: about.GetNamespace(), Name: about.GetName()},
		Reason:         reason, Message: message, LastTimestamp: metav1.NewTime(now.Add(-time.Minute)),
	}
}

// row is a question and what the answer has to be.
type row struct {
	rule, name string
	ask        string
	objs       []store.Object
	root       string       // rule at the end of the chain, "" for the same
	when       explain.When // "" is Never
	after      time.Duration
	actor      string // of the first step, "" for none
	candidate  string // rule of the first candidate that was refused
	backends   *fake.Set
}

func (r row) check(t *testing.T) {
	t.Helper()
	ref, err := explain.ParseRef(r.ask)
	require.NoError(t, err)
	world := worldOf(t, r.objs...)
	world.Backends = r.backends
	x, err := explain.Object(ref, world)
	require.NoError(t, err)
	text := x.String()
	require.Equal(t, r.rule, x.Because.Rule, text)
	if r.root == "" {
		r.root = r.rule
	}
	require.Equal(t, r.root, x.Root().Because.Rule, text)
	if r.when == "" {
		r.when = explain.Never
	}
	require.Equal(t, r.when, x.Changes.When, text)
	if r.when == explain.ByItself {
		require.Equal(t, now.Add(r.after), x.Changes.At, text)
	} else {
		require.Zero(t, x.Changes.At, text)
	}
	actor := ""
	if len(x.Next) > 0 {
		actor = x.Next[0].Actor
	}
	require.Equal(t, r.actor, actor, text)
	refused := ""
	for _, c := range x.Candidates {
		if refused == "" {
			refused = c.Rule
		}
		require.True(t, c.Rule == "" || c.Want != "" && c.Got != "", text)
	}
	require.Equal(t, r.candidate, refused, text)
}
