package controllerruntime

import (
	"context"
	"fmt"
	"net/http"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/manager"

	"github.com/volsim/volsim"
	"github.com/volsim/volsim/api"
	"github.com/volsim/volsim/internal/apiserver"
	"github.com/volsim/volsim/internal/core/engine"
	"github.com/volsim/volsim/internal/core/internals"
	"github.com/volsim/volsim/internal/core/store"
	"github.com/volsim/volsim/kube"
)

// Operator describes a manager that runs in a cluster.
type Operator struct {
	// Name identifies the operator in the trace, in fault rules, and for Cluster.Crash and Restart. It is required, and must be unique.
	Name string
	// Options are those of manager.New. Leader election, webhooks, metrics and probes are switched off, and periodic resyncs unless
	// SyncPeriod is set, because their times are random. GracefulShutdownTimeout is ignored. Without a logger, a test that fails logs the last errors.
	Options manager.Options
	// Setup adds controllers to the manager. It is required. It runs again after each crash, with a new manager; what the controllers keep
	// in memory must be created here.
	Setup func(manager.Manager) error
	// Lag is how long watch events take to reach the operator's caches, in virtual time. The default zero is no time; negative is an error.
	Lag time.Duration
	// Quiet is how long Cluster.Settle waits, in virtual time, for the operator after its last write and the last event that it received.
	// Retries and requeues that are due later do not run before time passes. The default zero is 1 s; negative is an error.
	Quiet time.Duration
}

const defaultQuiet = time.Second

// Add adds an operator to the cluster and starts it. It must be called in a bubble of testing/synctest, with the t of the bubble, and
// before the test starts other goroutines:
//
//	synctest.Test(t, func(t *testing.T) {
//		c := volsimtest.New(t, volsim.Config{Seed: seed})
//		controllerruntime.Add(t, c.Cluster, controllerruntime.Operator{Name: "labeler", Setup: func(mgr manager.Manager) error {
//			return ctrl.NewControllerManagedBy(mgr).For(&corev1.PersistentVolumeClaim{}).Complete(&Labeler{mgr.GetClient()})
//		}})
//		c.Create(fake.Volume("v", "1Gi"), fake.Claim("data", "1Gi"))
//		c.Settle()
//	})
//
// The manager runs while the cluster runs: in Settle, Advance, Step and Until. Its time is that of the cluster. Each of its requests and each
// event of its watches is an event of the cluster: the seed chooses the order, Config.Latency delays requests, faults match them. With seed 0 the
// operator comes last at each instant: it hears of a write when the controllers have done what they can. Use other seeds to find races. Faults
// cannot match lists and watches, after whose failures client-go waits for a random time.
//
// In the goroutine of the test use a client of NewClient. The manager's client works there, too: it writes as that of NewClient does, and reads what the
// cache has, which may be old; reading what it does not have yet is an error.
//
// The order in which goroutines of one operator run between two requests is not controlled. Reconcilers that share memory must order their
// accesses themselves, as everywhere, or runs may differ.
func Add(t testing.TB, c *volsim.Cluster, op Operator) {
	t.Helper()
	if err := op.check(); err != nil {
		t.Fatalf("controllerruntime.Add: %v", err)
	}
	if !inBubble() {
		t.Fatalf("controllerruntime.Add: operator %q is not in a bubble; put the test into synctest.Test of testing/synctest", op.Name)
	}
	quietErrors()
	e := internals.Engine(c)
	p := pumpOf(e)
	e.SetLag(op.Name, op.Lag)
	base := kube.Handler(c).(*apiserver.Server)
	var lives []*life
	errs := &errorLog{}
	if op.Options.Logger.GetSink() == nil {
		op.Options.Logger = errs.logger()
	}
	_, err := e.NewActor(op.Name, func(a *engine.Actor) {
		l := newLife(t, p, op, a, base)
		lives = append(lives, l)
		l.start()
	})
	if err != nil {
		t.Fatalf("controllerruntime.Add: %v", err)
	}
	t.Cleanup(func() {
		errs.report(t, op.Name)
		lives[len(lives)-1].end()
		for _, l := range lives {
			<-l.stopped
		}
	})
}

// inBubble reports whether the calling goroutine is in a bubble of testing/synctest, where Wait does not panic.
func inBubble() (in bool) {
	defer func() { in = recover() == nil }()
	synctest.Wait()
	return true
}

func (op *Operator) check() error {
	switch {
	case op.Name == "":
		return fmt.Errorf("Operator.Name is empty; name the operator")
	case op.Setup == nil:
		return fmt.Errorf("operator %q: Setup is nil; give it a function that adds controllers", op.Name)
	case op.Lag < 0:
		return fmt.Errorf("operator %q: Lag is %v; give zero or more", op.Name, op.Lag)
	case op.Quiet < 0:
		return fmt.Errorf("operator %q: Quiet is %v; give zero for the default, or more", op.Name, op.Quiet)
	}
	if op.Quiet == 0 {
		op.Quiet = defaultQuiet
	}
	return nil
}

// quietErrors removes the error handler of client-go that sleeps: it remembers the time of the last error, which in another bubble may be in
// the future.
var quietErrors = sync.OnceFunc(func() {
	if len(utilruntime.ErrorHandlers) > 1 {
		utilruntime.ErrorHandlers = utilruntime.ErrorHandlers[:1]
	}
})

// life is one life of an operator, from its start to a crash.
type life struct {
	t      testing.TB
	op     Operator
	pump   *pump
	actor  *engine.Actor
	server *apiserver.Server
	base   *apiserver.Server // that of the cluster, which answers the test

	ctx     context.Context
	cancel  context.CancelFunc
	stopped chan struct{} // the manager has ended

	series  series
	process *engine.Process // that makes the request that is being served
	quiet   *engine.Timer
}

func newLife(t testing.TB, p *pump, op Operator, a *engine.Actor, base *apiserver.Server) *life {
	l := &life{t: t, op: op, pump: p, actor: a, base: base, stopped: make(chan struct{})}
	l.ctx, l.cancel = context.WithCancel(context.Background())
	l.server = apiserver.New(apiserver.Config{
		Backend:      backend{l},
		Base:         base,
		Actor:        func(*http.Request, string) string { return op.Name },
		WatchTimeout: -1, // client-go asks for a random one
		VirtualTime:  true,
		Hooks:        apiserver.Hooks{Await: l.awaitEvent},
	})
	return l
}

// start starts the manager. It makes no request yet.
func (l *life) start() {
	l.actor.OnStop(l.end)
	go l.run()
	l.busy()
	l.pump.wait()
}

// end cuts the manager off from the cluster and stops it. Its goroutines end as time passes.
func (l *life) end() {
	l.cancel()
	l.pump.wait()
}

// run runs the manager until this life ends. A manager whose context ends before its caches have synced asks again and again, without a pause,
// whether they have, and no time can pass. So the caches say at the end that they have, and then the context ends.
func (l *life) run() {
	defer close(l.stopped)
	mgr, err := manager.New(l.config(), l.options())
	if err == nil {
		err = l.op.Setup(lifeManager{mgr, l})
	}
	if err == nil {
		ctx, cancel := context.WithCancel(context.Background())
		defer cancel()
		context.AfterFunc(l.ctx, func() {
			select {
			case <-mgr.Elected(): // the last step of its start
			case <-ctx.Done():
			}
			cancel()
		})
		err = mgr.Start(ctx)
	}
	if err != nil && l.ctx.Err() == nil {
		l.t.Errorf("operator %q: %v", l.op.Name, err)
	}
}

func (l *life) config() *rest.Config {
	return &rest.Config{
		Host: "http://volsim.invalid", Transport: l, QPS: -1, UserAgent: l.op.Name,
		ContentConfig: rest.ContentConfig{ContentType: "application/json"},
	}
}

// never is longer than any test, with the random part that the cache adds.
const never = 1_000_000 * time.Hour

// grace is how long reconcilers and runnables that do not obey their context may go on after the end, with requests that fail. Those that take
// longer never end.
const grace = 24 * time.Hour

func (l *life) options() manager.Options {
	opts := l.op.Options
	opts.LeaderElection = false
	opts.Metrics.BindAddress = "0"
	opts.HealthProbeBindAddress = "0"
	opts.PprofBindAddress = ""
	opts.WebhookServer = noWebhooks{http.NewServeMux()}
	opts.GracefulShutdownTimeout = new(time.Duration(grace))
	// A second manager of the process has controllers with the same names.
	opts.Controller.SkipNameValidation = new(true)
	if opts.Cache.SyncPeriod == nil {
		opts.Cache.SyncPeriod = new(time.Duration(never))
	}
	if opts.Cache.NewInformer == nil {
		opts.Cache.NewInformer = newSortedInformer
	}
	newCache := opts.NewCache
	if newCache == nil {
		newCache = cache.New
	}
	opts.NewCache = func(config *rest.Config, opts cache.Options) (cache.Cache, error) {
		made, err := newCache(config, opts)
		return lifeCache{made, l}, err
	}
	return opts
}

// busy makes Settle wait until the operator has been quiet.
func (l *life) busy() {
	if l.quiet != nil {
		l.quiet.Stop()
	}
	l.quiet = l.actor.After(l.op.Quiet, "end of the quiet time", func(*engine.Process) {})
}

// backend is the cluster as an operator uses it.
type backend struct{ life *life }

func (b backend) Store() *store.Store { return b.life.actor.Engine().Store() }

func (b backend) Now() time.Time { return b.life.actor.Engine().Now() }

func (b backend) Call(call api.Call, fn func() (api.Object, error)) (api.Object, error) {
	if call.Verb == "get" {
		return fn()
	}
	return b.life.process.Effect(call.Verb, api.Ref{Kind: api.Kind(call.Kind), Key: call.Key}, fn)
}
