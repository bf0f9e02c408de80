package controllerruntime

import (
	"context"
	"errors"
	"fmt"
	"net/http"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/cluster"
	"sigs.k8s.io/controller-runtime/pkg/healthz"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/webhook"
)

// lifeManager is the manager of a life, as Setup sees it.
type lifeManager struct {
	manager.Manager
	life *life
}

// Add adds a runnable. It starts while its life lasts, and controllers start without a warmup, which is for managers that wait to be elected: a
// controller is locked meanwhile.
func (m lifeManager) Add(r manager.Runnable) error {
	switch r := r.(type) {
	case *manager.Server, webhook.Server: // these do not start after caches
		return m.Manager.Add(r)
	case cluster.Cluster:
		return m.Manager.Add(lifeCluster{r, m.life})
	}
	return m.Manager.Add(lifeRunnable{r, m.life})
}

// lifeCluster is a further cluster of a life.
type lifeCluster struct {
	cluster.Cluster
	life *life
}

func (c lifeCluster) GetCache() cache.Cache { return lifeCache{c.Cluster.GetCache(), c.life} }

// lifeCache is a cache of a life. Waiting for its objects returns at once after the end of the life, and in the goroutine of the test.
type lifeCache struct {
	cache.Cache
	life *life
}

func (c lifeCache) WaitForCacheSync(ctx context.Context) (synced bool) {
	c.life.pump.now(ctx, func(ctx context.Context) {
		ctx, cancel := context.WithCancel(ctx)
		defer cancel()
		defer context.AfterFunc(c.life.ctx, cancel)()
		synced = c.Cache.WaitForCacheSync(ctx) || c.life.ctx.Err() != nil
	})
	return synced
}

func (c lifeCache) Get(ctx context.Context, key client.ObjectKey, obj client.Object, opts ...client.GetOption) error {
	return c.read(ctx, func(ctx context.Context) error { return c.Cache.Get(ctx, key, obj, opts...) })
}

func (c lifeCache) List(ctx context.Context, list client.ObjectList, opts ...client.ListOption) error {
	return c.read(ctx, func(ctx context.Context) error { return c.Cache.List(ctx, list, opts...) })
}

func (c lifeCache) GetInformer(ctx context.Context, obj client.Object, opts ...cache.InformerGetOption) (made cache.Informer, err error) {
	err = c.read(ctx, func(ctx context.Context) error {
		made, err = c.Cache.GetInformer(ctx, obj, opts...)
		return err
	})
	return made, err
}

// read reads the cache. In the goroutine of the test it does not wait for objects that the cache does not have yet.
func (c lifeCache) read(ctx context.Context, fn func(context.Context) error) (err error) {
	if !c.life.pump.now(ctx, func(ctx context.Context) { err = fn(ctx) }) {
		return err
	}
	var notStarted *cache.ErrCacheNotStarted
	if apierrors.IsTimeout(err) || errors.As(err, &notStarted) {
		return fmt.Errorf("the cache of operator %q does not have these objects yet; let time pass and read again, or read with a client of NewClient: %w", c.life.op.Name, err)
	}
	return err
}

// lifeRunnable is a runnable of a life.
type lifeRunnable struct {
	manager.Runnable
	life *life
}

func (r lifeRunnable) Start(ctx context.Context) error {
	if r.life.ctx.Err() != nil {
		return nil
	}
	return r.Runnable.Start(ctx)
}

// NeedLeaderElection implements manager.LeaderElectionRunnable.
func (r lifeRunnable) NeedLeaderElection() bool {
	known, ok := r.Runnable.(manager.LeaderElectionRunnable)
	return !ok || known.NeedLeaderElection()
}

// noWebhooks is a webhook server that serves nothing.
type noWebhooks struct{ mux *http.ServeMux }

func (s noWebhooks) NeedLeaderElection() bool { return false }

func (s noWebhooks) Register(path string, hook http.Handler) { s.mux.Handle(path, hook) }

func (s noWebhooks) Start(ctx context.Context) error {
	<-ctx.Done()
	return nil
}

func (s noWebhooks) StartedChecker() healthz.Checker { return healthz.Ping }

func (s noWebhooks) WebhookMux() *http.ServeMux { return s.mux }
