package requests

import (
	"context"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"google.golang.org/grpc"
	"google.golang.org/protobuf/proto"
	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/volsim/volsim"
	"github.com/volsim/volsim/api"
	"github.com/volsim/volsim/csi"
	"github.com/volsim/volsim/csi/csitest"
	"github.com/volsim/volsim/csi/internal/internals"
	"github.com/volsim/volsim/csi/internal/testdriver"
)

// Call is a call in a story of csitest, with the API objects at that time.
type Call struct {
	csi.Call
	Story string
	Reply proto.Message // nil if the driver returned an error

	Classes     []*storagev1.StorageClass
	Claims      []*corev1.PersistentVolumeClaim
	Volumes     []*corev1.PersistentVolume
	Attachments []*storagev1.VolumeAttachment
	Attributes  []*storagev1.VolumeAttributesClass
	Nodes       []*corev1.Node
	CSINodes    []*storagev1.CSINode
	CSIDrivers  []*storagev1.CSIDriver
	Pods        []*corev1.Pod
	Secrets     []*corev1.Secret
	// Snapshots are the objects of external-snapshotter: classes, snapshots and contents.
	Snapshots []*unstructured.Unstructured
}

// NewStoryDriver returns the driver of the stories.
func NewStoryDriver() *testdriver.Driver {
	d := testdriver.New()
	d.AttachLimit, d.Zone, d.SlowSnapshots, d.MountGroup = 3, "a", 2, true
	return d
}

// StoryCalls runs all stories of csitest without faults and returns the calls of these methods, each request of a story once.
func StoryCalls(t *testing.T, methods ...string) []*Call {
	t.Helper()
	d, all := NewStoryDriver(), []*Call{}
	var current *Call
	on := func(node string) csi.Conn {
		inner := csi.Serve(func(s grpc.ServiceRegistrar) { d.Register(s, node) })
		return &listener{inner, func(request, reply any) {
			if current != nil && request == current.Request {
				current.Reply = proto.Clone(reply.(proto.Message))
			}
		}}
	}
	n1 := on("n1")
	for _, story := range csitest.Stories() {
		cfg := csitest.Config{Controller: n1, Nodes: map[string]csi.Conn{"n1": n1, "n2": on("n2")}, Attributes: map[string]string{"iops": "1000"},
			Inline: map[string]string{"size": "1"}, Reset: func() error { d.Reset(); return nil }, Restart: func(string) error { d.Restart(); return nil },
			Reboot: d.Reboot, RemoveNode: d.RemoveNode, Write: d.Write, Read: d.Read, Replay: story}
		first := len(all)
		internals.WatchCalls(&cfg, func(c *volsim.Cluster, call csi.Call) {
			current = nil
			if !slices.Contains(methods, call.Method) || slices.ContainsFunc(all[first:], func(o *Call) bool {
				return o.Node == call.Node && o.Method == call.Method && proto.Equal(o.Request, call.Request)
			}) {
				return
			}
			current = newCall(story, c, call)
			all = append(all, current)
		})
		report, err := csitest.Check(cfg)
		require.NoError(t, err)
		require.Empty(t, report.Findings)
	}
	return all
}

// Now returns the API objects of a cluster.
func Now(c *volsim.Cluster) *Call { return newCall("", c, csi.Call{}) }

func newCall(story string, c *volsim.Cluster, call csi.Call) *Call {
	s := &Call{Call: call, Story: story, Classes: c.Classes.List(), Claims: c.Claims.List(), Volumes: c.Volumes.List(), Attachments: c.Attachments.List(),
		Attributes: c.AttributesClasses.List(), Nodes: c.Nodes.List(), CSINodes: c.CSINodes.List(), CSIDrivers: c.CSIDrivers.List(), Pods: c.Pods.List(),
		Secrets: volsim.List[*corev1.Secret](c)}
	for _, kind := range []api.Kind{"VolumeSnapshotClass", "VolumeSnapshot", "VolumeSnapshotContent"} {
		s.Snapshots = append(s.Snapshots, c.Objects(kind+".snapshot.storage.k8s.io").List()...)
	}
	return s
}

// listener is a connection that reports replies.
type listener struct {
	grpc.ClientConnInterface
	replied func(request, reply any)
}

func (l *listener) Invoke(ctx context.Context, method string, request, reply any, opts ...grpc.CallOption) error {
	err := l.ClientConnInterface.Invoke(ctx, method, request, reply, opts...)
	if err == nil {
		l.replied(request, reply)
	}
	return err
}

// Objects returns the API objects for a client of client-go.
func (c *Call) Objects() []runtime.Object {
	var all []runtime.Object
	add(&all, c.Classes)
	add(&all, c.Claims)
	add(&all, c.Volumes)
	add(&all, c.Attributes)
	add(&all, c.Nodes)
	add(&all, c.CSINodes)
	add(&all, c.CSIDrivers)
	add(&all, c.Pods)
	add(&all, c.Secrets)
	return all
}

func add[T runtime.Object](all *[]runtime.Object, objects []T) {
	for _, o := range objects {
		*all = append(*all, o)
	}
}

// Claim returns the claim for which a volume is created; nil if it does not exist any more.
func (c *Call) Claim(volume string) *corev1.PersistentVolumeClaim {
	return find(c.Claims, func(o *corev1.PersistentVolumeClaim) bool { return "pvc-"+string(o.UID) == volume })
}

// Class returns the class of a claim, nil for none.
func (c *Call) Class(claim *corev1.PersistentVolumeClaim) *storagev1.StorageClass {
	return find(c.Classes, func(o *storagev1.StorageClass) bool {
		return claim.Spec.StorageClassName != nil && o.Name == *claim.Spec.StorageClassName
	})
}

// PersistentVolume returns the volume with the handle of the request, nil for none.
func (c *Call) PersistentVolume() *corev1.PersistentVolume {
	return find(c.Volumes, func(o *corev1.PersistentVolume) bool { return o.Spec.CSI != nil && o.Spec.CSI.VolumeHandle == c.Volume })
}

// Attachment returns the attachment of a volume to a node, nil for none.
func (c *Call) Attachment(volume, node string) *storagev1.VolumeAttachment {
	return find(c.Attachments, func(o *storagev1.VolumeAttachment) bool {
		return o.Spec.Source.PersistentVolumeName != nil && *o.Spec.Source.PersistentVolumeName == volume && o.Spec.NodeName == node
	})
}

// Pod returns the pod whose uid is in a path, or a pod of the node that uses a claim; nil for none.
func (c *Call) Pod(path string, claim *corev1.ObjectReference) *corev1.Pod {
	if pod := find(c.Pods, func(o *corev1.Pod) bool { return strings.Contains(path, string(o.UID)) }); pod != nil || claim == nil {
		return pod
	}
	return find(c.Pods, func(o *corev1.Pod) bool {
		return o.Spec.NodeName == c.Node && slices.ContainsFunc(o.Spec.Volumes, func(v corev1.Volume) bool {
			return v.PersistentVolumeClaim != nil && v.PersistentVolumeClaim.ClaimName == claim.Name || v.Ephemeral != nil && o.Name+"-"+v.Name == claim.Name
		})
	})
}

func find[T any](all []*T, match func(*T) bool) *T {
	if i := slices.IndexFunc(all, match); i >= 0 {
		return all[i]
	}
	return nil
}
