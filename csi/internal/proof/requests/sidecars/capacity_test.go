package sidecars

import (
	"context"
	"testing"
	"time"

	spec "github.com/container-storage-interface/spec/lib/go/csi"
	"github.com/kubernetes-csi/external-provisioner/v6/pkg/capacity"
	"github.com/kubernetes-csi/external-provisioner/v6/pkg/capacity/topology"
	"github.com/stretchr/testify/require"
	"k8s.io/client-go/util/workqueue"

	"github.com/volsim/volsim/csi/internal/testdriver"
)

// capacity runs the capacity controller of external-provisioner until it has asked the driver.
func (s *story) capacity(ctx context.Context) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	client, factory := s.call.Client(s.t)
	core, storage := factory.Core().V1(), factory.Storage().V1()
	storage.CSIStorageCapacities().Informer()
	segments := topology.NewNodeTopology(testdriver.Name, client, core.Nodes(), storage.CSINodes(), queueOf[string](s.t))
	controller := capacity.NewCentralCapacityController(spec.NewControllerClient(s.driver.Conn), testdriver.Name, capacity.NewV1ClientFactory(client),
		queueOf[capacity.QueueKey](s.t), nil, "external-provisioner", "kube-system", segments, storage.StorageClasses(), storage.CSIStorageCapacities(),
		time.Minute, false, timeout)
	factory.Start(ctx.Done())
	go segments.RunWorker(ctx)
	go controller.Run(ctx, 1, nil)
	require.Eventually(s.t, func() bool { return s.driver.Request("GetCapacity") != nil }, timeout, time.Millisecond)
}

func queueOf[K comparable](t *testing.T) workqueue.TypedRateLimitingInterface[K] {
	queue := workqueue.NewTypedRateLimitingQueue(workqueue.DefaultTypedControllerRateLimiter[K]())
	t.Cleanup(queue.ShutDown)
	return queue
}
