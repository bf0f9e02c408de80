package upstream

import (
	"context"
	"fmt"
	"reflect"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apiserver/pkg/quota/v1/generic"
	"k8s.io/client-go/discovery/cached/memory"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	appslisters "k8s.io/client-go/listers/apps/v1"
	corelisters "k8s.io/client-go/listers/core/v1"
	policylisters "k8s.io/client-go/listers/policy/v1"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/metadata/metadatainformer"
	"k8s.io/client-go/restmapper"
	"k8s.io/client-go/scale"
	"k8s.io/controller-manager/pkg/informerfactory"
	"k8s.io/kubernetes/pkg/controller"
	"k8s.io/kubernetes/pkg/controller/disruption"
	"k8s.io/kubernetes/pkg/controller/garbagecollector"
	"k8s.io/kubernetes/pkg/controller/namespace"
	"k8s.io/kubernetes/pkg/controller/resourcequota"
	quotainstall "k8s.io/kubernetes/pkg/quota/v1/install"

	"github.com/volsim/volsim/api"
	"github.com/volsim/volsim/internal/core/actors"
	"github.com/volsim/volsim/internal/proof/differential/harness"
)

func prepareDisruption(ctx context.Context, c *harness.Cluster, client kubernetes.Interface, shared informers.SharedInformerFactory) (func(), error) {
	mapper := restmapper.NewDeferredDiscoveryRESTMapper(memory.NewMemCacheClient(client.Discovery()))
	scales, err := scale.NewForConfig(c.Server.Config(actors.Disruption), mapper, dynamic.LegacyAPIPathResolverFunc,
		scale.NewDiscoveryScaleKindResolver(client.Discovery()))
	if err != nil {
		return nil, err
	}
	budgets := harness.NewInOrder(shared.Policy().V1().PodDisruptionBudgets().Informer(), policylisters.NewPodDisruptionBudgetLister)
	deployments := harness.NewInOrder(shared.Apps().V1().Deployments().Informer(), appslisters.NewDeploymentLister)
	real := disruption.NewDisruptionController(ctx, sortedPodInformer(shared), budgets, shared.Core().V1().ReplicationControllers(), sortedReplicaSets(shared),
		deployments, shared.Apps().V1().StatefulSets(), client, mapper, scales, client.Discovery())
	c.SequenceWorkers(ctx, actors.Disruption, real, "queue", "stalePodDisruptionQueue")
	c.WatchEvents(actors.Disruption, real, "broadcaster")
	return func() { real.Run(ctx) }, nil
}

// anyKind returns informers of all kinds: with their types if client-go has them, else with their metadata.
func anyKind(c *harness.Cluster, component string, shared informers.SharedInformerFactory) (informerfactory.InformerFactory, metadata.Interface, error) {
	meta, err := metadata.NewForConfig(c.Server.Config(component))
	if err != nil {
		return nil, nil, err
	}
	return informerfactory.NewInformerFactory(shared, metadatainformer.NewSharedInformerFactory(meta, 12*time.Hour)), meta, nil
}

// closed is closed: informers may start.
var closed = func() chan struct{} {
	c := make(chan struct{})
	close(c)
	return c
}()

// together runs functions until all have returned.
func together(runs ...func()) func() {
	return func() {
		var running sync.WaitGroup
		for _, run := range runs {
			running.Go(run)
		}
		running.Wait()
	}
}

// discoveryPeriod is the time between questions of controllers which kinds the API server serves.
const discoveryPeriod = 30 * time.Second

func prepareQuota(ctx context.Context, c *harness.Cluster, client kubernetes.Interface, shared informers.SharedInformerFactory) (func(), error) {
	factory, _, err := anyKind(c, actors.ResourceQuota, shared)
	if err != nil {
		return nil, err
	}
	configuration, err := quotainstall.NewQuotaConfigurationForControllers(generic.ListerFuncForResourceFunc(shared.ForResource), shared)
	if err != nil {
		return nil, err
	}
	quotas := harness.NewInOrder(shared.Core().V1().ResourceQuotas().Informer(), corelisters.NewResourceQuotaLister)
	discover := client.Discovery().ServerPreferredNamespacedResources
	real, err := resourcequota.NewController(ctx, &resourcequota.ControllerOptions{
		QuotaClient: client.CoreV1(), ResourceQuotaInformer: quotas, ResyncPeriod: controller.StaticResyncPeriodFunc(5 * time.Minute),
		InformerFactory: factory, ReplenishmentResyncPeriod: controller.StaticResyncPeriodFunc(12 * time.Hour), DiscoveryFunc: discover,
		IgnoredResourcesFunc: configuration.IgnoredResources, InformersStarted: closed, Registry: generic.NewRegistry(configuration.Evaluators()),
		UpdateFilter: quotainstall.DefaultUpdateFilter(),
	})
	if err != nil {
		return nil, err
	}
	c.SequenceWorkers(ctx, actors.ResourceQuota, real, "queue", "missingUsageQueue")
	return together(func() { real.Run(ctx, 5) }, func() { real.Sync(ctx, discover, discoveryPeriod) }), nil
}

func prepareNamespace(ctx context.Context, c *harness.Cluster, client kubernetes.Interface, shared informers.SharedInformerFactory) (func(), error) {
	meta, err := metadata.NewForConfig(c.Server.Config(actors.Namespace))
	if err != nil {
		return nil, err
	}
	real := namespace.NewNamespaceController(ctx, client, meta, client.Discovery().ServerPreferredNamespacedResources, shared.Core().V1().Namespaces(),
		5*time.Minute, corev1.FinalizerKubernetes)
	c.SequenceWorkers(ctx, actors.Namespace, real, "queue")
	return func() { real.Run(ctx, 10) }, nil
}

// nodeKey is the key of a node of the garbage collector's graph on our side. identity has a type that is not exported.
func nodeKey(identity any) string {
	id := reflect.ValueOf(identity)
	owner := id.FieldByName("OwnerReference").Interface().(metav1.OwnerReference)
	return owner.Kind + "/" + api.Key(id.FieldByName("Namespace").String(), owner.Name) + " " + string(owner.UID)
}

func prepareCollector(ctx context.Context, c *harness.Cluster, client kubernetes.Interface, shared informers.SharedInformerFactory) (func(), error) {
	factory, meta, err := anyKind(c, actors.GarbageCollector, shared)
	if err != nil {
		return nil, err
	}
	mapper := restmapper.NewDeferredDiscoveryRESTMapper(memory.NewMemCacheClient(client.Discovery()))
	real, err := garbagecollector.NewGarbageCollector(ctx, client, meta, mapper, garbagecollector.DefaultIgnoredResources(), factory, closed)
	if err != nil {
		return nil, fmt.Errorf("garbage collector: %w", err)
	}
	sequenced := c.SequenceByLog(ctx, actors.GarbageCollector, "Processing item", nodeKey)
	return together(func() { real.Run(sequenced, 20, discoveryPeriod) }, func() { real.Sync(ctx, client.Discovery(), discoveryPeriod) }), nil
}
