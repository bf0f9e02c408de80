package snapshotter

import (
	"context"
	"reflect"
	"sync"
	"time"

	clientset "github.com/kubernetes-csi/external-snapshotter/client/v8/clientset/versioned"
	"github.com/kubernetes-csi/external-snapshotter/client/v8/clientset/versioned/scheme"
	snapshotinformers "github.com/kubernetes-csi/external-snapshotter/client/v8/informers/externalversions"
	grouplisters "github.com/kubernetes-csi/external-snapshotter/client/v8/listers/volumegroupsnapshot/v1"
	listers "github.com/kubernetes-csi/external-snapshotter/client/v8/listers/volumesnapshot/v1"
	common "github.com/kubernetes-csi/external-snapshotter/v8/pkg/common-controller"
	"github.com/kubernetes-csi/external-snapshotter/v8/pkg/metrics"
	sidecar "github.com/kubernetes-csi/external-snapshotter/v8/pkg/sidecar-controller"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	clientscheme "k8s.io/client-go/kubernetes/scheme"
	corelisters "k8s.io/client-go/listers/core/v1"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/util/workqueue"

	"github.com/volsim/volsim/internal/core/actors"
	"github.com/volsim/volsim/internal/proof/differential"
	"github.com/volsim/volsim/internal/proof/differential/compare"
	"github.com/volsim/volsim/internal/proof/differential/harness"
)

// The flags of both programs, with their defaults.
const (
	workers      = 10
	resyncPeriod = 15 * time.Minute
	callTimeout  = time.Minute
	retryStart   = time.Second
	retryMax     = 5 * time.Minute
)

// preparations are the controllers of a scenario.
var preparations = map[string]harness.Prepare{
	actors.Snapshot:                         prepareCommon,
	actors.Snapshotter(differential.Driver): prepareSidecar,
}

// real makes the side that runs the controllers of external-snapshotter.
func real(s differential.Scenario, c compare.Conditions, wait func()) (compare.Side, error) {
	cluster := harness.New(harness.Config{
		Delay: c.Delay, Lag: c.Lag, Seed: c.Seed, Sequenced: c.Sequenced, Order: c.Order, Variation: c.Variation, Latency: c.Latency, Wait: wait,
		Components: s.Controllers, Controllers: preparations, Cannot: s.Cannot,
	})
	for _, name := range s.Controllers {
		if err := cluster.StartController(name); err != nil {
			cluster.Close()
			return nil, err
		}
	}
	return cluster, nil
}

// snapshotFactory returns a client and informers of the kinds of external-snapshotter.
func snapshotFactory(c *harness.Cluster, component string) (clientset.Interface, snapshotinformers.SharedInformerFactory, error) {
	client, err := clientset.NewForConfig(c.Server.Config(component))
	if err != nil {
		return nil, nil, err
	}
	return client, snapshotinformers.NewSharedInformerFactory(client, resyncPeriod), nil
}

func limiter() workqueue.TypedRateLimiter[string] {
	return workqueue.NewTypedItemExponentialFailureRateLimiter[string](retryStart, retryMax)
}

// controller is the interface of the snapshot controller and of the sidecar.
type controller interface {
	Run(workers int, stop <-chan struct{}, running *sync.WaitGroup)
}

// synced are informers that a controller waits for when it starts.
type synced []cache.DoneChecker

// wait returns when the informers have their objects, or when the context ends. The programs ask every 100 ms, so a start would take 100 ms
// here and no time on our side; then a retry would come after a change here that it precedes there. A program takes any time to start.
func (s synced) wait(ctx context.Context) { cache.WaitFor(ctx, "", s...) }

// inOrder is harness.NewInOrder for an informer that the controller waits for.
func inOrder[L any](s *synced, informer cache.SharedIndexInformer, lister func(cache.Indexer) L) harness.InOrder[L] {
	*s = append(*s, informer.HasSyncedChecker())
	return harness.NewInOrder(informer, lister)
}

// run returns a function that runs a controller with its informers until the context ends.
func run(ctx context.Context, c *harness.Cluster, component string, client kubernetes.Interface, real controller, factory snapshotinformers.SharedInformerFactory, start synced, queues ...string) func() {
	c.SequenceWorkers(ctx, component, real, queues...)
	recorder := harness.Unexported(reflect.ValueOf(real).Elem().FieldByName("eventRecorder"))
	recorder.Set(reflect.ValueOf(c.RecordEvents(ctx, component, client, clientscheme.Scheme)))
	factory.Start(ctx.Done())
	return func() {
		var running sync.WaitGroup
		start.wait(ctx)
		real.Run(workers, ctx.Done(), &running)
		running.Wait()
		factory.Shutdown()
	}
}

func prepareCommon(ctx context.Context, c *harness.Cluster, client kubernetes.Interface, shared informers.SharedInformerFactory) (func(), error) {
	snapshots, factory, err := snapshotFactory(c, actors.Snapshot)
	if err != nil {
		return nil, err
	}
	var start synced
	v1, groups, core := factory.Snapshot().V1(), factory.Groupsnapshot().V1(), shared.Core().V1()
	real := common.NewCSISnapshotCommonController(snapshots, client,
		inOrder(&start, v1.VolumeSnapshots().Informer(), listers.NewVolumeSnapshotLister),
		inOrder(&start, v1.VolumeSnapshotContents().Informer(), listers.NewVolumeSnapshotContentLister),
		inOrder(&start, v1.VolumeSnapshotClasses().Informer(), listers.NewVolumeSnapshotClassLister),
		inOrder(&start, groups.VolumeGroupSnapshots().Informer(), grouplisters.NewVolumeGroupSnapshotLister),
		inOrder(&start, groups.VolumeGroupSnapshotContents().Informer(), grouplisters.NewVolumeGroupSnapshotContentLister),
		inOrder(&start, groups.VolumeGroupSnapshotClasses().Informer(), grouplisters.NewVolumeGroupSnapshotClassLister),
		inOrder(&start, core.PersistentVolumeClaims().Informer(), corelisters.NewPersistentVolumeClaimLister),
		inOrder(&start, core.PersistentVolumes().Informer(), corelisters.NewPersistentVolumeLister),
		nil, metrics.NewMetricsManager(), resyncPeriod, limiter(), limiter(), limiter(), limiter(), false, true, true)
	return run(ctx, c, actors.Snapshot, client, real, factory, start, "snapshotQueue", "contentQueue", "groupSnapshotQueue", "groupSnapshotContentQueue"), nil
}

func prepareSidecar(ctx context.Context, c *harness.Cluster, client kubernetes.Interface, _ informers.SharedInformerFactory) (func(), error) {
	name := actors.Snapshotter(differential.Driver)
	snapshots, factory, err := snapshotFactory(c, name)
	if err != nil {
		return nil, err
	}
	var start synced
	v1, groups := factory.Snapshot().V1(), factory.Groupsnapshot().V1()
	d := &driver{c, name}
	controller := sidecar.NewCSISnapshotSideCarController(snapshots, client, differential.Driver,
		inOrder(&start, v1.VolumeSnapshotContents().Informer(), listers.NewVolumeSnapshotContentLister),
		inOrder(&start, v1.VolumeSnapshotClasses().Informer(), listers.NewVolumeSnapshotClassLister),
		d, d, callTimeout, resyncPeriod, "snapshot", -1, "groupsnapshot", -1, false, limiter(), true,
		inOrder(&start, groups.VolumeGroupSnapshotContents().Informer(), grouplisters.NewVolumeGroupSnapshotContentLister),
		inOrder(&start, groups.VolumeGroupSnapshotClasses().Informer(), grouplisters.NewVolumeGroupSnapshotClassLister), limiter())
	end := leftovers(controller)
	begin := run(ctx, c, name, client, controller, factory, start, "contentQueue", "groupSnapshotContentQueue")
	return func() {
		defer end()
		begin()
	}, nil
}

// leftovers returns a function that ends what the csi-snapshotter leaves running: the queue of group snapshots, and the broadcaster of its
// Events, which only its recorder knows.
func leftovers(controller controller) func() {
	fields := reflect.ValueOf(controller).Elem()
	queue := harness.Unexported(fields.FieldByName("groupSnapshotContentQueue")).Interface().(workqueue.TypedRateLimitingInterface[string])
	recorder := reflect.ValueOf(harness.Unexported(fields.FieldByName("eventRecorder")).Interface()).Elem()
	broadcaster := harness.Unexported(recorder.FieldByName("recorderImpl")).Elem().FieldByName("Broadcaster").Interface().(*watch.Broadcaster)
	return func() {
		queue.ShutDown()
		broadcaster.Shutdown()
	}
}

func init() {
	// As the programs do: Events name objects of these kinds.
	if err := scheme.AddToScheme(clientscheme.Scheme); err != nil {
		panic(err)
	}
}
