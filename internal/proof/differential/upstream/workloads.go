package upstream

import (
	"context"
	"slices"
	"strings"
	"time"

	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	appslisters "k8s.io/client-go/listers/apps/v1"
	batchlisters "k8s.io/client-go/listers/batch/v1"
	corelisters "k8s.io/client-go/listers/core/v1"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/util/flowcontrol"
	"k8s.io/kubernetes/pkg/controller/daemon"
	"k8s.io/kubernetes/pkg/controller/deployment"
	"k8s.io/kubernetes/pkg/controller/job"
	"k8s.io/kubernetes/pkg/controller/replicaset"
	"k8s.io/kubernetes/pkg/controller/statefulset"
	"k8s.io/kubernetes/pkg/controller/ttlafterfinished"

	"github.com/volsim/volsim/internal/core/actors"
)

// inOrder is an informer whose lists have the order of keys. Unmodified, they come from maps.
type inOrder[L any] struct {
	cache.SharedIndexInformer
	lister func(cache.Indexer) L
}

func (s inOrder[L]) Informer() cache.SharedIndexInformer { return s }
func (s inOrder[L]) Lister() L                           { return s.lister(s.GetIndexer()) }
func (s inOrder[L]) GetIndexer() cache.Indexer {
	return orderedIndexer{s.SharedIndexInformer.GetIndexer()}
}

type orderedIndexer struct{ cache.Indexer }

func (s orderedIndexer) List() []any { return inKeyOrder(s.Indexer.List()) }

func (s orderedIndexer) Index(name string, obj any) ([]any, error) {
	found, err := s.Indexer.Index(name, obj)
	return inKeyOrder(found), err
}

func (s orderedIndexer) ByIndex(name, value string) ([]any, error) {
	found, err := s.Indexer.ByIndex(name, value)
	return inKeyOrder(found), err
}

func inKeyOrder(objects []any) []any {
	key := func(obj any) string {
		key, _ := cache.MetaNamespaceKeyFunc(obj) // an object of the API has one
		return key
	}
	slices.SortFunc(objects, func(a, b any) int { return strings.Compare(key(a), key(b)) })
	return objects
}

func prepareStatefulSet(ctx context.Context, c *Cluster, client kubernetes.Interface, shared informers.SharedInformerFactory) (func(), error) {
	real := statefulset.NewStatefulSetController(ctx, shared.Core().V1().Pods(), shared.Apps().V1().StatefulSets(),
		shared.Core().V1().PersistentVolumeClaims(), shared.Apps().V1().ControllerRevisions(), client)
	c.sequenceWorkers(ctx, actors.StatefulSet, real, "queue")
	return func() { real.Run(ctx, 5) }, nil
}

func sortedPodInformer(shared informers.SharedInformerFactory) inOrder[corelisters.PodLister] {
	return inOrder[corelisters.PodLister]{shared.Core().V1().Pods().Informer(), corelisters.NewPodLister}
}

func sortedReplicaSets(shared informers.SharedInformerFactory) inOrder[appslisters.ReplicaSetLister] {
	return inOrder[appslisters.ReplicaSetLister]{shared.Apps().V1().ReplicaSets().Informer(), appslisters.NewReplicaSetLister}
}

func prepareReplicaSet(ctx context.Context, c *Cluster, client kubernetes.Interface, shared informers.SharedInformerFactory) (func(), error) {
	real := replicaset.NewReplicaSetController(ctx, sortedReplicaSets(shared), sortedPodInformer(shared), client, replicaset.BurstReplicas)
	c.sequenceWorkers(ctx, actors.ReplicaSet, real, "queue")
	return func() { real.Run(ctx, 5) }, nil
}

func prepareDeployment(ctx context.Context, c *Cluster, client kubernetes.Interface, shared informers.SharedInformerFactory) (func(), error) {
	deployments := inOrder[appslisters.DeploymentLister]{shared.Apps().V1().Deployments().Informer(), appslisters.NewDeploymentLister}
	real, err := deployment.NewDeploymentController(ctx, deployments, sortedReplicaSets(shared), sortedPodInformer(shared), client)
	if err != nil {
		return nil, err
	}
	c.sequenceWorkers(ctx, actors.Deployment, real, "queue")
	return func() { real.Run(ctx, 5) }, nil
}

func prepareDaemonSet(ctx context.Context, c *Cluster, client kubernetes.Interface, shared informers.SharedInformerFactory) (func(), error) {
	sets := inOrder[appslisters.DaemonSetLister]{shared.Apps().V1().DaemonSets().Informer(), appslisters.NewDaemonSetLister}
	revisions := inOrder[appslisters.ControllerRevisionLister]{shared.Apps().V1().ControllerRevisions().Informer(), appslisters.NewControllerRevisionLister}
	nodes := inOrder[corelisters.NodeLister]{shared.Core().V1().Nodes().Informer(), corelisters.NewNodeLister}
	real, err := daemon.NewDaemonSetsController(ctx, sets, revisions, sortedPodInformer(shared), nodes, client, flowcontrol.NewBackOff(time.Second, 15*time.Minute))
	if err != nil {
		return nil, err
	}
	c.sequenceWorkers(ctx, actors.DaemonSet, real, "queue", "nodeUpdateQueue")
	return func() { real.Run(ctx, 2) }, nil
}

func prepareJob(ctx context.Context, c *Cluster, client kubernetes.Interface, shared informers.SharedInformerFactory) (func(), error) {
	jobs := inOrder[batchlisters.JobLister]{shared.Batch().V1().Jobs().Informer(), batchlisters.NewJobLister}
	real, err := job.NewController(ctx, client, sortedPodInformer(shared), jobs, nil, nil)
	if err != nil {
		return nil, err
	}
	c.sequenceWorkers(ctx, actors.Job, real, "queue")
	return func() { real.Run(ctx, 5) }, nil
}

func prepareTTL(ctx context.Context, c *Cluster, client kubernetes.Interface, shared informers.SharedInformerFactory) (func(), error) {
	real := ttlafterfinished.New(ctx, shared.Batch().V1().Jobs(), client)
	c.sequenceWorkers(ctx, actors.TTLAfterFinished, real, "queue")
	return func() { real.Run(ctx, 5) }, nil
}
