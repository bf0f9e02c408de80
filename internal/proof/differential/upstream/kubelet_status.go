package upstream

import (
	"context"
	"reflect"
	"time"
	_ "unsafe" // for go:linkname

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/klog/v2"
	kubeletapp "k8s.io/kubernetes/pkg/kubelet"
	"k8s.io/kubernetes/pkg/kubelet/cm"
	"k8s.io/kubernetes/pkg/kubelet/nodestatus"
	"k8s.io/kubernetes/pkg/kubelet/util"
	"k8s.io/kubernetes/pkg/volume/csi/nodeinfomanager"
	"k8s.io/utils/clock"

	"github.com/volsim/volsim/internal/core/kubeletdefs"
	"github.com/volsim/volsim/internal/core/kubeletstatus"
	"github.com/volsim/volsim/internal/proof/differential"
	"github.com/volsim/volsim/internal/proof/differential/harness"
)

//go:linkname initialNode k8s.io/kubernetes/pkg/kubelet.(*Kubelet).initialNode
func initialNode(kl *kubeletapp.Kubelet, ctx context.Context) (*corev1.Node, error)

//go:linkname tryRegisterWithAPIServer k8s.io/kubernetes/pkg/kubelet.(*Kubelet).tryRegisterWithAPIServer
func tryRegisterWithAPIServer(kl *kubeletapp.Kubelet, ctx context.Context, node *corev1.Node) bool

//go:linkname updateNodeStatus k8s.io/kubernetes/pkg/kubelet.(*Kubelet).updateNodeStatus
func updateNodeStatus(kl *kubeletapp.Kubelet, ctx context.Context) error

//go:linkname recordNodeSchedulableEvent k8s.io/kubernetes/pkg/kubelet.(*Kubelet).recordNodeSchedulableEvent
func recordNodeSchedulableEvent(kl *kubeletapp.Kubelet, ctx context.Context, node *corev1.Node) error

//go:linkname recordNodeStatusEvent k8s.io/kubernetes/pkg/kubelet.(*Kubelet).recordNodeStatusEvent
func recordNodeStatusEvent(kl *kubeletapp.Kubelet, logger klog.Logger, eventType, event string)

//go:linkname csiNodeBackoff k8s.io/kubernetes/pkg/volume/csi/nodeinfomanager.updateBackoff
var csiNodeBackoff wait.Backoff

// Tries are not stretched at random.
func init() { csiNodeBackoff.Jitter = 0 }

// nodeStatus is the part of a real kubelet that registers the Node and reports its status.
type nodeStatus struct {
	kubelet *kubelet
	real    *kubeletapp.Kubelet
}

// newNodeStatus makes a kubelet of which only that part can be used.
func newNodeStatus(k *kubelet) *nodeStatus {
	s := &nodeStatus{kubelet: k, real: &kubeletapp.Kubelet{}}
	for name, value := range map[string]any{
		"hostname": k.name, "nodeName": types.NodeName(k.name), "kubeClient": k.client, "heartbeatClient": k.client,
		"nodeLister": k.nodes, "clock": clock.RealClock{}, "nodeStatusReportFrequency": kubeletdefs.ReportPeriod,
		"volumeManager": k.volumes, "enableControllerAttachDetach": true, "containerManager": cm.NewStubContainerManager(),
		"nodeStartupLatencyTracker": util.NewNodeStartupLatencyTracker(), "recorder": recorder{k}, "nodeRef": k.nodeRef(),
		"setNodeStatusFuncs": []func(context.Context, *corev1.Node) error{s.setMachine, s.setReady,
			nodestatus.VolumesInUse(k.volumes.ReconcilerStatesHasBeenSynced, k.volumes.GetVolumesInUse), s.noteSchedulable},
	} {
		s.field(name).Set(reflect.ValueOf(value))
	}
	return s
}

func (s *nodeStatus) field(name string) reflect.Value {
	return harness.Unexported(reflect.ValueOf(s.real).Elem().FieldByName(name))
}

// nodeRef names the node in Events.
func (k *kubelet) nodeRef() *corev1.ObjectReference {
	return &corev1.ObjectReference{Kind: "Node", Name: k.name, UID: types.UID(k.name)}
}

// setMachine is the setter of what depends on the machine, which is simulated.
func (s *nodeStatus) setMachine(_ context.Context, node *corev1.Node) error {
	boot := s.kubelet.bootID()
	if text := kubeletstatus.Rebooted(node, boot); text != "" {
		recorder{s.kubelet}.Eventf(s.kubelet.nodeRef(), corev1.EventTypeWarning, "Rebooted", "%s", text)
	}
	node.Status.NodeInfo = kubeletstatus.NodeInfo(node, boot)
	kubeletstatus.KnowPressure(node.Status.Conditions, time.Now())
	return nil
}

// setReady is the setter of the condition Ready of a node that has all it needs. Its resources are not simulated.
func (s *nodeStatus) setReady(ctx context.Context, node *corev1.Node) error {
	well := func() error { return nil }
	record := func(logger klog.Logger, eventType, event string) {
		recordNodeStatusEvent(s.real, logger, eventType, event)
	}
	set := nodestatus.ReadyCondition(func() time.Time { return time.Now().Truncate(time.Second) }, well, well, well,
		func() cm.Status { return cm.Status{} }, well, record, false)
	capacity := node.Status.Capacity
	node.Status.Capacity = corev1.ResourceList{corev1.ResourceCPU: {}, corev1.ResourceMemory: {}, corev1.ResourcePods: {}}
	defer func() { node.Status.Capacity = capacity }()
	return set(ctx, node)
}

func (s *nodeStatus) noteSchedulable(ctx context.Context, node *corev1.Node) error {
	return recordNodeSchedulableEvent(s.real, ctx, node)
}

// tryRegister is one attempt to register the Node.
func (s *nodeStatus) tryRegister(ctx context.Context) bool {
	node, err := initialNode(s.real, ctx)
	return err == nil && tryRegisterWithAPIServer(s.real, ctx, node)
}

// register registers the Node, if that is still to be done (MNT-365).
func (s *nodeStatus) register(ctx context.Context) {
	const longest = 7 * time.Second
	for pause := 200 * time.Millisecond; !s.kubelet.registered; pause = min(2*pause, longest) {
		if s.kubelet.registered = s.tryRegister(ctx); s.kubelet.registered || sleepUntil(ctx, pause) != nil {
			return
		}
	}
}

// run periodically reports the node's status (MNT-008, MNT-172).
func (s *nodeStatus) run(ctx context.Context) {
	for wait := kubeletdefs.StatusDelay; sleepUntil(ctx, wait) == nil; wait = kubeletdefs.StatusPeriod {
		s.kubelet.pass(harness.Report)
		s.register(ctx)
		// A report is not delayed at random.
		s.field("delayAfterNodeStatusChange").SetInt(0)
		// The next round tries again.
		_ = updateNodeStatus(s.real, ctx)
	}
}

// publishDriver makes the CSINode and lists the driver there; then it is registered (MNT-362, MNT-366).
func (k *kubelet) publishDriver(ctx context.Context, limits *limitUpdater) {
	for {
		_, err := k.client.StorageV1().CSINodes().Get(ctx, k.name, metav1.GetOptions{})
		if err == nil || apierrors.IsNotFound(err) {
			break
		}
		if sleepUntil(ctx, time.Second) != nil {
			return
		}
	}
	const tries, factor, longest = 6, 8, 2 * time.Minute
	for pause, try := 30*time.Millisecond, 1; k.csiNode.InitializeCSINodeWithAnnotation() != nil; pause, try = factor*pause, try+1 {
		if try == tries {
			pause, try = 30*time.Millisecond/factor, 0
			continue
		}
		if sleepUntil(ctx, pause) != nil {
			return
		}
	}
	for pause := 500 * time.Millisecond; k.installDriver() != nil; pause = min(2*pause, longest) {
		if sleepUntil(ctx, pause) != nil {
			return
		}
	}
	limits.register()
}

func (k *kubelet) newCSINode() nodeinfomanager.Interface {
	return nodeinfomanager.NewNodeInfoManager(types.NodeName(k.name), &volumeHost{kubelet: k}, nil)
}

func (k *kubelet) installDriver() error {
	return k.csiNode.InstallCSIDriver(differential.Driver, k.name, int64(k.cluster.Backends[differential.Driver].Limit()), nil)
}
