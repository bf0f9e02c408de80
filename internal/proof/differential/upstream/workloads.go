package upstream

import (
	"context"
	"time"

	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	appslisters "k8s.io/client-go/listers/apps/v1"
	batchlisters "k8s.io/client-go/listers/batch/v1"
	corelisters "k8s.io/client-go/listers/core/v1"
	"k8s.io/client-go/util/flowcontrol"
	"k8s.io/kubernetes/pkg/controller/cronjob"
	"k8s.io/kubernetes/pkg/controller/daemon"
	"k8s.io/kubernetes/pkg/controller/deployment"
	"k8s.io/kubernetes/pkg/controller/job"
	"k8s.io/kubernetes/pkg/controller/replicaset"
	"k8s.io/kubernetes/pkg/controller/replication"
	"k8s.io/kubernetes/pkg/controller/statefulset"
	"k8s.io/kubernetes/pkg/controller/ttlafterfinished"

	"github.com/volsim/volsim/internal/core/actors"
	"github.com/volsim/volsim/internal/proof/differential/harness"
)

func prepareStatefulSet(ctx context.Context, c *harness.Cluster, client kubernetes.Interface, shared informers.SharedInformerFactory) (func(), error) {
	real := statefulset.NewStatefulSetController(ctx, shared.Core().V1().Pods(), shared.Apps().V1().StatefulSets(),
		shared.Core().V1().PersistentVolumeClaims(), shared.Apps().V1().ControllerRevisions(), claimsInOrder{client})
	c.SequenceWorkers(ctx, actors.StatefulSet, real, "queue")
	return func() { real.Run(ctx, 5) }, nil
}

func sortedPodInformer(shared informers.SharedInformerFactory) harness.InOrder[corelisters.PodLister] {
	return harness.NewInOrder(shared.Core().V1().Pods().Informer(), corelisters.NewPodLister)
}

func sortedReplicaSets(shared informers.SharedInformerFactory) harness.InOrder[appslisters.ReplicaSetLister] {
	return harness.NewInOrder(shared.Apps().V1().ReplicaSets().Informer(), appslisters.NewReplicaSetLister)
}

func prepareReplicaSet(ctx context.Context, c *harness.Cluster, client kubernetes.Interface, shared informers.SharedInformerFactory) (func(), error) {
	real := replicaset.NewReplicaSetController(ctx, sortedReplicaSets(shared), sortedPodInformer(shared), client, replicaset.BurstReplicas)
	c.SequenceWorkers(ctx, actors.ReplicaSet, real, "queue")
	return func() { real.Run(ctx, 5) }, nil
}

func prepareReplicationController(ctx context.Context, c *harness.Cluster, client kubernetes.Interface, shared informers.SharedInformerFactory) (func(), error) {
	sets := harness.NewInOrder(shared.Core().V1().ReplicationControllers().Informer(), corelisters.NewReplicationControllerLister)
	real := replication.NewReplicationManager(ctx, sortedPodInformer(shared), sets, client, replication.BurstReplicas)
	c.SequenceWorkers(ctx, actors.ReplicationController, &real.ReplicaSetController, "queue")
	return func() { real.Run(ctx, 5) }, nil
}

func prepareDeployment(ctx context.Context, c *harness.Cluster, client kubernetes.Interface, shared informers.SharedInformerFactory) (func(), error) {
	deployments := harness.NewInOrder(shared.Apps().V1().Deployments().Informer(), appslisters.NewDeploymentLister)
	real, err := deployment.NewDeploymentController(ctx, deployments, sortedReplicaSets(shared), sortedPodInformer(shared), client)
	if err != nil {
		return nil, err
	}
	c.SequenceWorkers(ctx, actors.Deployment, real, "queue")
	return func() { real.Run(ctx, 5) }, nil
}

func prepareDaemonSet(ctx context.Context, c *harness.Cluster, client kubernetes.Interface, shared informers.SharedInformerFactory) (func(), error) {
	sets := harness.NewInOrder(shared.Apps().V1().DaemonSets().Informer(), appslisters.NewDaemonSetLister)
	revisions := harness.NewInOrder(shared.Apps().V1().ControllerRevisions().Informer(), appslisters.NewControllerRevisionLister)
	nodes := harness.NewInOrder(shared.Core().V1().Nodes().Informer(), corelisters.NewNodeLister)
	real, err := daemon.NewDaemonSetsController(ctx, sets, revisions, sortedPodInformer(shared), nodes, client, flowcontrol.NewBackOff(time.Second, 15*time.Minute))
	if err != nil {
		return nil, err
	}
	c.SequenceWorkers(ctx, actors.DaemonSet, real, "queue", "nodeUpdateQueue")
	return func() { real.Run(ctx, 2) }, nil
}

// jobWorkers are more than the 5 of kube-controller-manager. Jobs that end together are due at one instant here, and the queue, a heap, hands
// out such keys in an order of its own; in a cluster their instants differ. With a worker for each key the sequencer can choose any order.
const jobWorkers = 50

func prepareJob(ctx context.Context, c *harness.Cluster, client kubernetes.Interface, shared informers.SharedInformerFactory) (func(), error) {
	jobs := harness.NewInOrder(shared.Batch().V1().Jobs().Informer(), batchlisters.NewJobLister)
	real, err := job.NewController(ctx, client, sortedPodInformer(shared), jobs, nil, nil)
	if err != nil {
		return nil, err
	}
	c.SequenceWorkers(ctx, actors.Job, real, "queue")
	return func() { real.Run(ctx, jobWorkers) }, nil
}

func prepareTTL(ctx context.Context, c *harness.Cluster, client kubernetes.Interface, shared informers.SharedInformerFactory) (func(), error) {
	real := ttlafterfinished.New(ctx, shared.Batch().V1().Jobs(), client)
	c.SequenceWorkers(ctx, actors.TTLAfterFinished, real, "queue")
	return func() { real.Run(ctx, 5) }, nil
}

func prepareCronJob(ctx context.Context, c *harness.Cluster, client kubernetes.Interface, shared informers.SharedInformerFactory) (func(), error) {
	jobs := harness.NewInOrder(shared.Batch().V1().Jobs().Informer(), batchlisters.NewJobLister)
	real, err := cronjob.NewControllerV2(ctx, jobs, shared.Batch().V1().CronJobs(), client)
	if err != nil {
		return nil, err
	}
	c.SequenceWorkers(ctx, actors.CronJob, real, "queue")
	return func() { real.Run(ctx, 5) }, nil
}
