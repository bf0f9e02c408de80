package upstream

import (
	"context"
	"fmt"
	"maps"
	"reflect"
	"runtime"
	"slices"
	"strings"
	"sync"
	"time"
	_ "unsafe" // for go:linkname

	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	typedcore "k8s.io/client-go/kubernetes/typed/core/v1"
	appslisters "k8s.io/client-go/listers/apps/v1"
	coordinationlisters "k8s.io/client-go/listers/coordination/v1"
	corelisters "k8s.io/client-go/listers/core/v1"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/tools/record"
	nodetopology "k8s.io/component-helpers/node/topology"
	"k8s.io/klog/v2"
	"k8s.io/kubernetes/pkg/controller"
	"k8s.io/kubernetes/pkg/controller/nodelifecycle"
	"k8s.io/kubernetes/pkg/controller/nodelifecycle/scheduler"
	"k8s.io/kubernetes/pkg/controller/podgc"
	"k8s.io/kubernetes/pkg/controller/tainteviction"

	"github.com/volsim/volsim/api"
	"github.com/volsim/volsim/internal/core/actors"
	"github.com/volsim/volsim/internal/proof/differential"
	"github.com/volsim/volsim/internal/proof/differential/harness"
)

// startNodeControllers runs the node lifecycle controller, the taint eviction controller and the pod garbage collector, each with informers of
// its own and with the settings of kube-controller-manager.
func (c *Cluster) startNodeControllers(ctx context.Context) error {
	var runs []func()
	for _, name := range differential.NodeActors {
		client, err := c.Server.Client(name)
		if err != nil {
			return err
		}
		shared := informers.NewSharedInformerFactory(client, 12*time.Hour)
		logged := klog.NewContext(ctx, c.EventLogger(name))
		pods, nodes := shared.Core().V1().Pods(), shared.Core().V1().Nodes()
		start := differential.NodesStart
		var run func()
		switch name {
		case actors.NodeLifecycle:
			real, err := nodelifecycle.NewNodeLifecycleController(logged, leaseInformer{cluster: c}, pods, nodes, daemonSetInformer{}, client,
				5*time.Second, 60*time.Second, 50*time.Second, 0.1, 0.01, 50, 0.55)
			if err != nil {
				return fmt.Errorf("node lifecycle controller: %w", err)
			}
			fields := reflect.ValueOf(real).Elem()
			zones := &zoneForgetter{taints: make(chan struct{}, 1), states: harness.Unexported(fields.FieldByName("zoneStates")).Interface().(map[string]nodelifecycle.ZoneState)}
			setField(fields, "nodeLister", func(l corelisters.NodeLister) corelisters.NodeLister { return passNodes{l, c, zones} })
			setField(fields, "computeZoneStateFunc", zones.beforeStates)
			setField(fields, "getPodsAssignedToNode", sortedPods)
			setField(fields, "podLister", func(l corelisters.PodLister) corelisters.PodLister { return workPods{l, c} })
			run = func() { runNodeLifecycle(logged, real, client, zones) }
		case actors.TaintEviction:
			if err := controller.AddPodNodeNameIndexer(pods.Informer()); err != nil {
				return fmt.Errorf("taint eviction controller: %w", err)
			}
			real, err := tainteviction.New(logged, client, pods, nodes, name)
			if err != nil {
				return fmt.Errorf("taint eviction controller: %w", err)
			}
			setField(reflect.ValueOf(real).Elem(), "getPodsAssignedToNode", func(list tainteviction.GetPodsByNodeNameFunc) tainteviction.GetPodsByNodeNameFunc {
				return sortedPods(list)
			})
			run = func() { real.Run(logged) }
		case actors.PodGC:
			real := podgc.NewPodGC(logged, client, pods, nodes, differential.TerminatedThreshold)
			setField(reflect.ValueOf(real).Elem(), "podLister", func(l corelisters.PodLister) corelisters.PodLister { return passPods{l, c} })
			start, run = differential.CollectorStart, func() { real.Run(logged) }
		}
		shared.StartWithContext(klog.NewContext(ctx, klog.LoggerWithName(harness.Discard, "quiet")))
		c.Running.Go(shared.Shutdown)
		// The informers have synced by then.
		runs = append(runs, func() {
			if sleepUntil(ctx, start) == nil {
				run()
			}
		})
	}
	for _, run := range runs {
		c.Running.Go(run)
	}
	time.Sleep(differential.CollectorStart)
	return nil
}

//go:linkname doNodeProcessingPassWorker k8s.io/kubernetes/pkg/controller/nodelifecycle.(*Controller).doNodeProcessingPassWorker
func doNodeProcessingPassWorker(nc *nodelifecycle.Controller, ctx context.Context)

//go:linkname doPodProcessingWorker k8s.io/kubernetes/pkg/controller/nodelifecycle.(*Controller).doPodProcessingWorker
func doPodProcessingWorker(nc *nodelifecycle.Controller, ctx context.Context)

//go:linkname doNoExecuteTaintingPass k8s.io/kubernetes/pkg/controller/nodelifecycle.(*Controller).doNoExecuteTaintingPass
func doNoExecuteTaintingPass(nc *nodelifecycle.Controller, ctx context.Context)

//go:linkname monitorNodeHealth k8s.io/kubernetes/pkg/controller/nodelifecycle.(*Controller).monitorNodeHealth
func monitorNodeHealth(nc *nodelifecycle.Controller, ctx context.Context) error

// runNodeLifecycle runs the controller like its method Run, except that passes of its two loops do not begin at the same instant: in a real
// process they never do. A pass of the monitor that sets the rate of a zone waits for a mutex, which the other loop holds during requests. Virtual
// time would stand still meanwhile, because a goroutine that waits for a mutex may go on at any time. So it waits before that (zoneForgetter), and
// the other loop makes no pass until it has ended (NODE-049).
func runNodeLifecycle(ctx context.Context, nc *nodelifecycle.Controller, client kubernetes.Interface, zones *zoneForgetter) {
	fields := reflect.ValueOf(nc).Elem()
	broadcaster := harness.Unexported(fields.FieldByName("broadcaster")).Interface().(record.EventBroadcaster)
	broadcaster.StartStructuredLogging(3)
	broadcaster.StartRecordingToSink(&typedcore.EventSinkImpl{Interface: client.CoreV1().Events("")})
	defer broadcaster.Shutdown()
	var running sync.WaitGroup
	defer running.Wait()
	for _, queue := range []string{"nodeUpdateQueue", "podUpdateQueue"} {
		defer harness.Unexported(fields.FieldByName(queue)).Interface().(interface{ ShutDown() }).ShutDown()
	}
	for range 8 {
		running.Go(func() { doNodeProcessingPassWorker(nc, ctx) })
	}
	for range 4 {
		running.Go(func() { doPodProcessingWorker(nc, ctx) })
	}
	running.Go(func() {
		if sleepUntil(ctx, differential.TaintOffset) == nil {
			wait.UntilWithContext(ctx, func(ctx context.Context) {
				zones.taints <- struct{}{}
				defer func() { <-zones.taints }()
				doNoExecuteTaintingPass(nc, ctx)
			}, scheduler.NodeEvictionPeriod)
		}
	})
	running.Go(func() {
		wait.UntilWithContext(ctx, func(ctx context.Context) {
			defer zones.end()
			_ = monitorNodeHealth(nc, reachableContext{ctx, zones})
		}, 5*time.Second)
	})
	<-ctx.Done()
}

// setField replaces an unexported field.
func setField[T any](fields reflect.Value, name string, change func(T) T) {
	field := harness.Unexported(fields.FieldByName(name))
	field.Set(reflect.ValueOf(change(field.Interface().(T))))
}

// passes returns when a pass of a loop may begin. A sequencer lets it begin when our order says so, or after everything else due at the
// instant.
func (c *Cluster) passes(component string, l harness.Loop) {
	if c.Sequencer != nil {
		c.Sequencer.AwaitPass(component, l, c.Context.Done())
	}
}

// passNodes lists nodes by name. The node lifecycle controller lists them only at the beginning of a pass.
type passNodes struct {
	corelisters.NodeLister
	cluster *Cluster
	zones   *zoneForgetter
}

func (l passNodes) List(selector labels.Selector) ([]*corev1.Node, error) {
	l.cluster.passes(actors.NodeLifecycle, harness.Monitor)
	found, err := l.NodeLister.List(selector)
	l.zones.begin(found)
	return byKey(found), err
}

// zoneForgetter makes a pass forget zones without nodes before it compares states. Unmodified, it does so in the order of a map until it finds
// a zone that is not fully disrupted; both are legal (NODE-048).
type zoneForgetter struct {
	states map[string]nodelifecycle.ZoneState
	counts map[string]bool // zones with a node that counts, in the pass that runs
	// taints is full while the other loop makes a pass, and from when the pass that runs is about to set rates, as sets says, to its end.
	taints chan struct{}
	sets   bool
	// changed and ready: a zone of the pass that runs was not seen in the last one, or is not fully disrupted.
	changed, ready bool
	// nodes are those of the pass that runs, reachable is how many of them were marked as reachable since states are compared.
	nodes, reachable int
	// found are the zones of the pass that runs, left those of the last pass that have not been found again.
	found, left []zoneSeen
}

// zoneSeen is the state of a zone in one pass. The harness does not know the name of the zone.
type zoneSeen struct {
	nodes int
	state nodelifecycle.ZoneState
}

func (z *zoneForgetter) begin(nodes []*corev1.Node) {
	z.counts, z.found, z.left = map[string]bool{}, nil, z.found
	z.changed, z.ready, z.nodes, z.reachable = false, false, len(nodes), 0
	for _, node := range nodes {
		if _, excluded := node.Labels["node.kubernetes.io/exclude-disruption"]; !excluded {
			z.counts[nodetopology.GetZoneKey(node)] = true
		}
	}
}

// beforeStates forgets zones when the pass computes the first state of a zone. If the last pass saw no such zone, which means that rates may be
// set, the pass waits for that of the other loop; if all zones are fully disrupted, after it marked the nodes as reachable (NODE-043).
func (z *zoneForgetter) beforeStates(compute func([]*corev1.NodeCondition) (int, nodelifecycle.ZoneState)) func([]*corev1.NodeCondition) (int, nodelifecycle.ZoneState) {
	return func(conditions []*corev1.NodeCondition) (int, nodelifecycle.ZoneState) {
		maps.DeleteFunc(z.states, func(zone string, _ nodelifecycle.ZoneState) bool { return !z.counts[zone] })
		notReady, state := compute(conditions)
		seen := zoneSeen{len(conditions), state}
		z.found = append(z.found, seen)
		if i := slices.Index(z.left, seen); i >= 0 {
			z.left = slices.Delete(z.left, i, i+1)
		} else {
			z.changed = true
		}
		z.ready = z.ready || notReady < len(conditions)
		if z.changed && z.ready {
			z.waitForTaints()
		}
		return notReady, state
	}
}

// waitForTaints waits for the pass of the other loop, unless the pass that runs did it before.
func (z *zoneForgetter) waitForTaints() {
	if !z.sets {
		z.sets = true
		z.taints <- struct{}{}
	}
}

// markedReachable is called when a node is being marked as reachable. After the last one the pass sets rates. That node's taint not-ready is removed
// later than it should be, if it has one.
func (z *zoneForgetter) markedReachable() {
	if z.changed {
		if z.reachable++; z.reachable == z.nodes {
			z.waitForTaints()
		}
	}
}

// reachableContext is the context of a pass of the monitor. The function that marks a node as reachable asks it for its logger, once, and it tells
// the zones.
type reachableContext struct {
	context.Context
	zones *zoneForgetter
}

// Value implements context.Context.
func (c reachableContext) Value(key any) any {
	const deepest = 6 // frames between this method and the function, and itself
	callers := make([]uintptr, deepest)
	frames := runtime.CallersFrames(callers[:runtime.Callers(1, callers)])
	for asked := false; ; {
		frame, more := frames.Next()
		if asked && strings.HasSuffix(frame.Function, "nodelifecycle.(*Controller).markNodeAsReachable") {
			c.zones.markedReachable()
		}
		// Only the function itself asks for its logger, not what it calls.
		if asked = strings.HasSuffix(frame.Function, "klog/v2.FromContext"); !more {
			return c.Context.Value(key)
		}
	}
}

// end ends the pass of the monitor.
func (z *zoneForgetter) end() {
	if z.sets {
		z.sets = false
		<-z.taints
	}
}

// passPods lists pods by key. The collector lists them only at the beginning of a pass.
type passPods struct {
	corelisters.PodLister
	cluster *Cluster
}

func (l passPods) List(selector labels.Selector) ([]*corev1.Pod, error) {
	l.cluster.passes(actors.PodGC, harness.Collector)
	found, err := l.PodLister.List(selector)
	return byKey(found), err
}

// workPods makes the workers that deal with pods wait for permits. They look at the cache only when they start on a pod.
type workPods struct {
	corelisters.PodLister
	cluster *Cluster
}

// Pods returns the pods of a namespace.
func (l workPods) Pods(namespace string) corelisters.PodNamespaceLister {
	return workPodsOf{l.PodLister.Pods(namespace), l.cluster, namespace}
}

type workPodsOf struct {
	corelisters.PodNamespaceLister
	cluster   *Cluster
	namespace string
}

// Get returns a pod once a worker may start on it.
func (l workPodsOf) Get(name string) (*corev1.Pod, error) {
	l.cluster.AwaitWork(actors.NodeLifecycle, api.Ref{Key: api.Key(l.namespace, name)}, l.cluster.Context.Done())
	return l.PodNamespaceLister.Get(name)
}

// sortedPods lists the pods of a node by key. Unmodified, they come from a map.
func sortedPods(list func(node string) ([]*corev1.Pod, error)) func(node string) ([]*corev1.Pod, error) {
	return func(node string) ([]*corev1.Pod, error) {
		found, err := list(node)
		return byKey(found), err
	}
}

// queueNow is the clock of the queues of nodes that wait for a taint.
//
//go:linkname queueNow k8s.io/kubernetes/pkg/controller/nodelifecycle/scheduler.now
var queueNow func() time.Time

// OrderedQueues lets the queues of nodes that wait for a taint have the order in which the nodes were added, also of those that were added
// at the same instant of a bubble. Outside of one, there are no two such.
func OrderedQueues() {
	var mu sync.Mutex
	var last time.Time
	queueNow = func() time.Time {
		mu.Lock()
		defer mu.Unlock()
		now := time.Now()
		if !now.After(last) && last.Sub(now) < time.Millisecond {
			now = last.Add(1)
		}
		last = now
		return now
	}
}

// synced is an informer that is never asked for anything but whether it has synced.
type synced struct{ cache.SharedIndexInformer }

func (synced) HasSynced() bool { return true }

// daemonSetInformer is an informer of no DaemonSets: the controller only waits for it.
type daemonSetInformer struct{}

func (daemonSetInformer) Informer() cache.SharedIndexInformer { return synced{} }
func (daemonSetInformer) Lister() appslisters.DaemonSetLister { return nil }

// leaseInformer returns Leases as the cluster's book has them: no time passes between a renewal and its arrival.
type leaseInformer struct {
	cluster *Cluster
}

func (leaseInformer) Informer() cache.SharedIndexInformer { return synced{} }
func (l leaseInformer) Lister() coordinationlisters.LeaseLister {
	return leaseLister{cluster: l.cluster}
}

type leaseLister struct {
	coordinationlisters.LeaseLister // other methods are never called
	cluster                         *Cluster
}

func (l leaseLister) Leases(string) coordinationlisters.LeaseNamespaceLister {
	return namespacedLeases{cluster: l.cluster}
}

type namespacedLeases struct {
	coordinationlisters.LeaseNamespaceLister // other methods are never called
	cluster                                  *Cluster
}

// Get returns the lease of a node. A pass asks for it when it begins to work on a node. With a sequencer it waits for a permit, so that nodes
// come one after the other, as on our side (NODE-038).
func (l namespacedLeases) Get(node string) (*coordinationv1.Lease, error) {
	if s := l.cluster.Sequencer; s != nil {
		s.AwaitWork(actors.NodeLifecycle, api.Ref{Kind: api.Node, Key: node}, l.cluster.Context.Done())
	}
	l.cluster.mu.Lock()
	defer l.cluster.mu.Unlock()
	at, ok := l.cluster.leases.Renewed(node, time.Now())
	if !ok {
		return nil, apierrors.NewNotFound(coordinationv1.Resource("leases"), node)
	}
	renewed := metav1.NewMicroTime(at)
	return &coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{Name: node}, Spec: coordinationv1.LeaseSpec{RenewTime: &renewed}}, nil
}

// renew changes how the kubelet of a node renews its lease.
func (c *Cluster) renew(node string, what differential.MachineOp) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return differential.Renew(&c.leases, node, what, time.Now())
}
