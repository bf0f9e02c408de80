package harness

import (
	"context"
	"fmt"
	"sync"
	"time"

	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/klog/v2"
)

// Prepare makes a controller. run runs it until the context ends.
type Prepare func(ctx context.Context, c *Cluster, client kubernetes.Interface, shared informers.SharedInformerFactory) (run func(), err error)

// life is one life of a controller.
type life struct {
	context context.Context // ends with the life
	stop    context.CancelFunc
	over    sync.WaitGroup
}

// StartController starts a controller of Config.Controllers with informers of its own.
func (c *Cluster) StartController(name string) error {
	prepare, ok := c.cfg.Controllers[name]
	if !ok {
		return fmt.Errorf("start %s: there is no such controller", name)
	}
	client, err := c.Server.Client(name)
	if err != nil {
		return err
	}
	ctx, stop := context.WithCancel(c.Context)
	l := &life{context: ctx, stop: stop}
	shared := informers.NewSharedInformerFactory(client, 12*time.Hour)
	run, err := prepare(klog.NewContext(ctx, c.EventLogger(name)), c, client, shared)
	if err != nil {
		stop()
		return fmt.Errorf("start %s: %w", name, err)
	}
	c.mu.Lock()
	c.lives[name] = l
	c.mu.Unlock()
	shared.StartWithContext(klog.NewContext(ctx, Discard))
	l.over.Go(func() {
		// Controllers ask every 100 ms whether their informers have synced. A start that takes 100 ms here and no time on our side would shift
		// what follows it past other changes. A program takes any time to start.
		shared.WaitForCacheSyncWithContext(ctx)
		run()
	})
	l.over.Go(func() { <-ctx.Done(); shared.Shutdown() })
	c.Running.Go(l.over.Wait)
	return nil
}

// over is closed when the present life of a controller has ended; nil for an actor that is no controller of Config.Controllers.
func (c *Cluster) over(name string) <-chan struct{} {
	c.mu.Lock()
	defer c.mu.Unlock()
	if l := c.lives[name]; l != nil {
		return l.context.Done()
	}
	return nil
}

// Restart ends a controller and starts it again, with empty informers.
func (c *Cluster) Restart(name string) error {
	if l := c.lives[name]; l != nil {
		l.stop()
		l.over.Wait()
	}
	return c.StartController(name)
}
