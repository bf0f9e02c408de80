package upstream

import (
	"context"
	"fmt"
	"sync"
	"time"

	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/klog/v2"

	"github.com/volsim/volsim/internal/core/actors"
)

// prepare makes a controller with the settings of kube-controller-manager. run runs it until the context ends.
type prepare func(ctx context.Context, c *Cluster, client kubernetes.Interface, shared informers.SharedInformerFactory) (run func(), err error)

// preparations are the controllers that a scenario with Controllers may have.
var preparations = map[string]prepare{
	actors.StatefulSet:      prepareStatefulSet,
	actors.ReplicaSet:       prepareReplicaSet,
	actors.Deployment:       prepareDeployment,
	actors.DaemonSet:        prepareDaemonSet,
	actors.Job:              prepareJob,
	actors.TTLAfterFinished: prepareTTL,
}

// life is one life of a controller of Config.Controllers.
type life struct {
	stop context.CancelFunc
	over sync.WaitGroup
}

func (c *Cluster) startControllers(context.Context) error {
	for _, name := range c.cfg.Controllers {
		if err := c.startController(name); err != nil {
			return err
		}
	}
	return nil
}

// startController starts a controller with informers of its own.
func (c *Cluster) startController(name string) error {
	prepare, ok := preparations[name]
	if !ok {
		return fmt.Errorf("start %s: there is no such controller", name)
	}
	client, err := c.server.Client(name)
	if err != nil {
		return err
	}
	ctx, stop := context.WithCancel(c.ctx)
	l := &life{stop: stop}
	shared := informers.NewSharedInformerFactory(client, 12*time.Hour)
	run, err := prepare(klog.NewContext(ctx, c.eventLogger(name)), c, client, shared)
	if err != nil {
		stop()
		return fmt.Errorf("start %s: %w", name, err)
	}
	shared.StartWithContext(klog.NewContext(ctx, discard))
	l.over.Go(run)
	l.over.Go(func() { <-ctx.Done(); shared.Shutdown() })
	c.lives[name] = l
	c.running.Go(l.over.Wait)
	return nil
}

// Restart ends a controller and starts it again, with empty informers.
func (c *Cluster) Restart(name string) error {
	if l := c.lives[name]; l != nil {
		l.stop()
		l.over.Wait()
	}
	return c.startController(name)
}
