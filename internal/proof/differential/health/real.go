package health

import (
	"context"
	"fmt"
	"io"
	"reflect"
	"sync"
	"time"
	_ "unsafe" // for go:linkname

	csipb "github.com/container-storage-interface/spec/lib/go/csi"
	"github.com/go-logr/logr"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	corev1 "k8s.io/api/core/v1"
	apiruntime "k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"
	utilfeature "k8s.io/apiserver/pkg/util/feature"
	"k8s.io/klog/v2"
	"k8s.io/kubernetes/pkg/kubelet/server/stats"
	"k8s.io/kubernetes/pkg/volume"
	"k8s.io/kubernetes/pkg/volume/csi"

	"github.com/volsim/volsim/internal/core/backends"
	"github.com/volsim/volsim/internal/proof/differential/harness"
)

func init() {
	if err := utilfeature.DefaultMutableFeatureGate.Set("CSIVolumeHealth=true"); err != nil {
		panic(err)
	}
}

// csiDrivers are the drivers that have registered with the kubelets of this process.
//
//go:linkname csiDrivers k8s.io/kubernetes/pkg/volume/csi.csiDrivers
var csiDrivers *csi.DriversStore

// newMetrics returns the real statistics of a CSI volume; the name of the driver has a private type there.
//
//go:linkname newMetrics k8s.io/kubernetes/pkg/volume/csi.NewMetricsCsi
func newMetrics(volumeID, path, driver string) volume.MetricsProvider

// real is the real side: a kubelet as far as its statistics need one.
type real struct {
	stats.Provider // other methods are never called
	s              Scenario
	mounts         map[string]map[string][]Span // by pod and volume
	*world

	mu     sync.Mutex
	pods   map[types.UID]*corev1.Pod
	log    Log
	ended  map[string]time.Duration   // when the last check of a pod began, or its last call ended
	pauses map[string][]time.Duration // between the checks of a pod
}

// RunReal runs the scenario on the real code. It must be called in a bubble, with the times in which volumes are mounted for
// pods. It returns the log, and the pauses between the checks of each pod, in order.
func RunReal(ctx context.Context, s Scenario, mounts map[string]map[string][]Span) (log Log, pauses map[string][]time.Duration) {
	k := &real{s: s, mounts: mounts, world: newWorld(), pods: map[types.UID]*corev1.Pod{}, ended: map[string]time.Duration{},
		pauses: map[string][]time.Duration{}}
	for _, d := range s.Drivers {
		csiDrivers.Set(d.Name, csi.Driver{})
		defer csiDrivers.Delete(d.Name)
	}
	// The loop that looks for pods has no end of its own. A channel from outside the bubble would stop its clock.
	end, never := make(chan struct{}), wait.NeverStop
	wait.NeverStop = end
	defer func() { wait.NeverStop = never }()
	ctx = klog.NewContext(ctx, logr.Discard())
	stats.NewResourceAnalyzer(ctx, k, time.Minute, k).Start(ctx)
	for _, step := range s.Steps {
		time.Sleep(step.At - k.now())
		k.mu.Lock()
		k.step(step)
		uid := types.UID(step.Pod)
		switch {
		case step.Pod == "":
		case step.Volumes == nil:
			delete(k.pods, uid)
		default:
			k.pods[uid] = newPod(s, step)
		}
		k.mu.Unlock()
	}
	time.Sleep(s.End - k.now())
	// The next look finds no pods, which ends their checks.
	k.mu.Lock()
	k.pods, log = map[types.UID]*corev1.Pod{}, k.log
	k.mu.Unlock()
	time.Sleep(61 * time.Second)
	close(end)
	time.Sleep(3 * time.Minute) // calls that still run
	return log, k.pauses
}

func (k *real) now() time.Duration { return time.Since(Epoch) }

// GetPods implements stats.Provider.
func (k *real) GetPods() []*corev1.Pod {
	k.mu.Lock()
	defer k.mu.Unlock()
	var pods []*corev1.Pod
	for _, pod := range k.pods {
		pods = append(pods, pod)
	}
	return pods
}

// mounted returns the volumes that are mounted for a pod now, by name.
func (k *real) mounted(pod string, block bool) map[string]volume.MetricsProvider {
	now, found := k.now(), map[string]volume.MetricsProvider{}
	for name, spans := range k.mounts[pod] {
		for _, span := range spans {
			if span.From <= now && now < span.To && k.s.volume(name).Block == block {
				found[name] = k.metrics(pod, name)
			}
		}
	}
	return found
}

// metrics returns the real statistics of a volume, connected to the driver here instead of a socket.
func (k *real) metrics(pod, name string) volume.MetricsProvider {
	m := newMetrics(name, "/"+pod+"/"+name, k.s.volume(name).Driver)
	found := reflect.ValueOf(m).MethodByName("Get").Call(nil)
	creator := harness.Unexported(found[0].Elem().Elem().FieldByName("nodeV1ClientCreator"))
	results := []reflect.Type{creator.Type().Out(0), creator.Type().Out(1), creator.Type().Out(2)}
	creator.Set(reflect.MakeFunc(creator.Type(), func([]reflect.Value) []reflect.Value {
		node, closer := reflect.New(results[0]).Elem(), reflect.New(results[1]).Elem()
		node.Set(reflect.ValueOf(&nodeClient{k: k, pod: pod, driver: k.s.driver(name)}))
		closer.Set(reflect.ValueOf(io.NopCloser(nil)))
		return []reflect.Value{node, closer, reflect.Zero(results[2])}
	}))
	return m
}

// ListVolumesForPod implements stats.Provider. It is the first thing that a check asks for.
func (k *real) ListVolumesForPod(uid types.UID) (map[string]volume.Volume, bool) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if ended, known := k.ended[string(uid)]; known {
		k.pauses[string(uid)] = append(k.pauses[string(uid)], k.now()-ended)
	}
	k.ended[string(uid)] = k.now()
	all := map[string]volume.Volume{}
	for name, m := range k.mounted(string(uid), false) {
		all[name] = fileSystem{MetricsProvider: m}
	}
	return all, len(all) > 0
}

// ListBlockVolumesForPod implements stats.Provider.
func (k *real) ListBlockVolumesForPod(uid types.UID) (map[string]volume.BlockVolume, bool) {
	k.mu.Lock()
	defer k.mu.Unlock()
	all := map[string]volume.BlockVolume{}
	for name, m := range k.mounted(string(uid), true) {
		all[name] = blockVolume{metrics: m}
	}
	return all, len(all) > 0
}

type fileSystem struct {
	volume.Volume // other methods are never called
	volume.MetricsProvider
}

func (f fileSystem) GetMetrics() (*volume.Metrics, error) { return f.MetricsProvider.GetMetrics() }

type blockVolume struct {
	volume.BlockVolume // other methods are never called
	metrics            volume.MetricsProvider
}

func (b blockVolume) SupportsMetrics() bool                { return true }
func (b blockVolume) GetMetrics() (*volume.Metrics, error) { return b.metrics.GetMetrics() }

// nodeClient is the node service of a driver, as the statistics of one pod call it.
type nodeClient struct {
	csipb.NodeClient // other methods are never called
	k                *real
	pod              string
	driver           Driver
}

func (n *nodeClient) NodeGetCapabilities(context.Context, *csipb.NodeGetCapabilitiesRequest,
	...grpc.CallOption) (*csipb.NodeGetCapabilitiesResponse, error) {
	reply := &csipb.NodeGetCapabilitiesResponse{}
	for kind, has := range map[csipb.NodeServiceCapability_RPC_Type]bool{
		csipb.NodeServiceCapability_RPC_GET_VOLUME_STATS: n.driver.Stats, csipb.NodeServiceCapability_RPC_VOLUME_CONDITION: n.driver.Condition,
	} {
		if has {
			reply.Capabilities = append(reply.Capabilities, &csipb.NodeServiceCapability{Type: &csipb.NodeServiceCapability_Rpc{
				Rpc: &csipb.NodeServiceCapability_RPC{Type: kind}}})
		}
	}
	return reply, nil
}

func (n *nodeClient) NodeGetVolumeStats(ctx context.Context, req *csipb.NodeGetVolumeStatsRequest,
	_ ...grpc.CallOption) (*csipb.NodeGetVolumeStatsResponse, error) {
	k := n.k
	defer func() {
		k.mu.Lock()
		defer k.mu.Unlock()
		k.ended[n.pod] = k.now()
		// Ours does not ask a driver without conditions.
		if n.driver.Condition {
			k.log.add(k.now(), n.pod, "call "+req.VolumeId)
		}
	}()
	select {
	case <-time.After(n.driver.Latency):
	case <-ctx.Done():
		return nil, status.FromContextError(ctx.Err()).Err()
	}
	k.mu.Lock()
	says := k.says[req.VolumeId]
	k.mu.Unlock()
	if says.Code != "" {
		return nil, status.Error(codes.Code(backends.CodeNumber(says.Code)), "no")
	}
	reply := &csipb.NodeGetVolumeStatsResponse{VolumeCondition: &csipb.VolumeCondition{Abnormal: says.Problem != "", Message: says.Problem}}
	if n.driver.Usage {
		reply.Usage = []*csipb.VolumeUsage{{Unit: csipb.VolumeUsage_BYTES, Total: 10, Used: 4, Available: 6}}
	}
	return reply, nil
}

// Event implements record.EventRecorder.
func (k *real) Event(obj apiruntime.Object, eventType, reason, message string) {
	pod := obj.(*corev1.Pod)
	k.mu.Lock()
	defer k.mu.Unlock()
	k.log.add(k.now(), pod.Name, "Event "+eventType+" "+reason+": "+message)
}

// Eventf implements record.EventRecorder.
func (k *real) Eventf(obj apiruntime.Object, eventType, reason, format string, args ...any) {
	k.Event(obj, eventType, reason, fmt.Sprintf(format, args...))
}

// AnnotatedEventf implements record.EventRecorder.
func (k *real) AnnotatedEventf(obj apiruntime.Object, _ map[string]string, eventType, reason, format string, args ...any) {
	k.Eventf(obj, eventType, reason, format, args...)
}
