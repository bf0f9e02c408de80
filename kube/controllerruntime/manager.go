package controllerruntime

import (
	"context"
	"net/http"

	"sigs.k8s.io/controller-runtime/pkg/cache"
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

// lifeCache is a cache of a life. After the end of the life, waiting for its objects returns at once.
type lifeCache struct {
	cache.Cache
	life *life
}

func (c lifeCache) WaitForCacheSync(ctx context.Context) bool {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(c.life.ctx, cancel)()
	return c.Cache.WaitForCacheSync(ctx) || c.life.ctx.Err() != nil
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
