package harness

import (
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"reflect"
	"slices"
	"sync"
	"time"
	"unsafe"

	corev1 "k8s.io/api/core/v1"

	"github.com/volsim/volsim/api"
	"github.com/volsim/volsim/fake"
	"github.com/volsim/volsim/internal/core/store"
	"github.com/volsim/volsim/internal/proof/differential"
	"github.com/volsim/volsim/internal/proof/differential/apiserver"
	"github.com/volsim/volsim/storage"
	"github.com/volsim/volsim/trace"
)

// Config configures a cluster. With the zero value nothing takes time.
type Config struct {
	// Delay is the maximum delay of a request before and after it takes effect, Lag that of a watch event. Each takes a random part of
	// its component's maximum, which is all of this or less. Components are the names of all components.
	Delay, Lag time.Duration
	Components []string
	// Controllers are those that StartController can start.
	Controllers map[string]Prepare
	// Cannot is that of the scenario.
	Cannot []storage.Op
	// Reported are components whose Events are recorded when they are written, because nothing else reports them.
	Reported []string
	// Seed of the random delays.
	Seed uint64
	// Sequenced lets one transition happen after the other, in Order as far as possible. Variation chooses what Order leaves open.
	Sequenced bool
	Order     []differential.Action
	Variation Variation
	// Latency is how long each request takes before it waits for its permit, as in differential.Options.
	Latency time.Duration
	// Log receives the log of components at level 5; nil is none. LoggerNames are the names of their loggers.
	Log         io.Writer
	LoggerNames map[string]string
	// Wait waits until every goroutine of the bubble waits: synctest.Wait. Nil means no bubble and real time; then Advance must not be
	// called.
	Wait func()
}

// Cluster is a differential.Side without controllers.
type Cluster struct {
	Server   *apiserver.Server
	Backends map[string]*differential.Backend
	// Context ends with the cluster. Running are the goroutines that Close waits for.
	Context context.Context
	Running sync.WaitGroup
	// Sequencer is nil unless Config.Sequenced.
	Sequencer *Sequencer

	cfg    Config
	faults []*fake.Faults // one for each rule, guarded by the lock of the server
	stop   context.CancelFunc
	lives  map[string]*life // by name of a controller

	mu      sync.Mutex
	random  *rand.Rand
	entries []trace.Entry // since the last observation
}

var _ differential.Side = (*Cluster)(nil)

// New starts an empty cluster.
func New(cfg Config) *Cluster {
	c := &Cluster{
		cfg: cfg, Backends: map[string]*differential.Backend{}, lives: map[string]*life{},
		random: rand.New(rand.NewPCG(cfg.Seed, 0)),
	}
	for _, name := range []string{differential.InTree, differential.NFS, differential.Driver} {
		c.Backends[name] = differential.NewBackend(name)
	}
	served := apiserver.Config{Delay: c.upTo(cfg.Delay), Lag: c.upTo(cfg.Lag), Inject: c.inject, Wrote: c.Record}
	if cfg.Sequenced {
		c.Sequencer = newSequencer(cfg, func(kind api.Kind) int { return c.Server.Changes(kind) })
		served.Await = c.Sequencer.AwaitRemote
		c.Running.Go(c.Sequencer.run)
	}
	c.Server = apiserver.New(served)
	c.Context, c.stop = context.WithCancel(context.Background())
	return c
}

// upTo returns random durations below d. Some components are much slower than others, so what one does may be over before another
// notices, as on our side when nothing takes time.
func (c *Cluster) upTo(d time.Duration) func(string) time.Duration {
	if d <= 0 {
		return nil
	}
	slowness := map[string]int64{}
	for _, name := range c.cfg.Components {
		slowness[name] = int64(d) / []int64{1, 1, 10, 100, 1_000_000}[c.random.IntN(5)]
	}
	return func(component string) time.Duration {
		c.mu.Lock()
		defer c.mu.Unlock()
		return time.Duration(c.random.Int64N(max(1, slowness[component])))
	}
}

// Record records what happened.
func (c *Cluster) Record(e trace.Entry) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.entries = append(c.entries, e)
	if event, ok := c.emitted(e); ok {
		c.entries = append(c.entries, event)
	}
}

// emitted returns the emission of an Event that a component of Config.Reported wrote.
func (c *Cluster) emitted(e trace.Entry) (trace.Entry, bool) {
	written, ok := e.New.(*corev1.Event)
	if !ok || e.Err != nil || !slices.Contains(c.cfg.Reported, e.Actor) {
		return trace.Entry{}, false
	}
	return emission(e.Actor, written), true
}

func emission(actor string, e *corev1.Event) trace.Entry {
	about := e.InvolvedObject
	return trace.Entry{
		Time: time.Now(), Actor: actor, Type: trace.Emitted, Verb: e.Type, Reason: e.Reason, Text: e.Message,
		Object: api.Ref{Kind: kindOf(about.APIVersion, about.Kind), Key: api.Key(about.Namespace, about.Name)},
	}
}

// Close ends the cluster and waits until all goroutines have ended.
func (c *Cluster) Close() {
	c.stop()
	if c.Sequencer != nil {
		c.Sequencer.close()
	}
	c.Running.Wait()
	if c.cfg.Wait != nil {
		// Running operations on volumes end first.
		time.Sleep(longestOperation)
	}
}

// longestOperation is longer than any operation takes.
const longestOperation = time.Hour

// Create creates an object.
func (c *Cluster) Create(obj api.Object) (created api.Object, err error) {
	c.Server.Do(func(s *store.Store) { created, err = s.Create(obj) })
	return created, err
}

// Update replaces an object.
func (c *Cluster) Update(obj api.Object) (err error) {
	c.Server.Do(func(s *store.Store) { _, err = s.Update(obj) })
	return err
}

// Patch applies a JSON merge patch.
func (c *Cluster) Patch(ref api.Ref, sub api.Subresource, patch string) (err error) {
	c.Server.Do(func(s *store.Store) { _, err = s.Patch(ref.Kind, ref.Key, []byte(patch), sub) })
	return err
}

// Delete deletes an object.
func (c *Cluster) Delete(ref api.Ref, opts api.DeleteOptions) (err error) {
	c.Server.Do(func(s *store.Store) { _, err = s.Delete(ref.Kind, ref.Key, opts) })
	return err
}

// Cannot lists the operations that Driver lacks.
func (c *Cluster) Cannot() []storage.Op { return c.cfg.Cannot }

// Storage returns a backend.
func (c *Cluster) Storage(name string) *differential.Backend { return c.Backends[name] }

// Objects returns the objects of a kind.
func (c *Cluster) Objects(kind api.Kind) (all []api.Object) {
	c.Server.Do(func(s *store.Store) { all = s.List(kind) })
	return all
}

// Bind gives a pod a node.
func (c *Cluster) Bind(pod, node string) (err error) {
	c.Server.Do(func(s *store.Store) { _, err = s.Bind(pod, differential.BindingTo(pod, node)) })
	return err
}

// Evict evicts a pod.
func (c *Cluster) Evict(pod string) (err error) {
	c.Server.Do(func(s *store.Store) { _, err = s.Evict(pod, api.DeleteOptions{}) })
	return err
}

// Machine fails: there are no nodes.
func (c *Cluster) Machine(node string, what differential.MachineOp) error {
	return fmt.Errorf("%s node %q: there are no nodes here", what, node)
}

// Fail adds a rule for failing requests.
func (c *Cluster) Fail(r differential.Rule) error {
	rule := fake.NewFaults()
	if err := r.Add(rule); err != nil {
		return err
	}
	c.Server.Do(func(*store.Store) { c.faults = append(c.faults, rule) })
	if c.Sequencer != nil {
		c.Sequencer.addRule()
	}
	return nil
}

// inject returns the fault of the first rule that hits a call. As on our side, a rule does not hit a request that was made before it.
func (c *Cluster) inject(call api.Call) api.Fault {
	rules := c.faults
	if c.Sequencer != nil {
		rules = rules[:min(len(rules), c.Sequencer.known())]
	}
	for _, rule := range rules {
		if fault := rule.Inject(call); fault.Err != nil {
			return fault
		}
	}
	return api.Fault{}
}

// Advance advances time, and lets every component do what is due by then.
func (c *Cluster) Advance(d time.Duration) error {
	time.Sleep(d)
	if c.Sequencer != nil {
		c.Sequencer.settle()
	} else {
		c.cfg.Wait()
	}
	return nil
}

// Observe returns the state and what happened.
func (c *Cluster) Observe() (differential.Observation, error) { return c.ObserveWith(nil) }

// ObserveWith is Observe with machines.
func (c *Cluster) ObserveWith(machines []differential.Machine) (differential.Observation, error) {
	var objects []api.Object
	c.Server.Do(func(s *store.Store) { objects = differential.Objects(s) })
	c.mu.Lock()
	entries := c.entries
	c.entries = nil
	c.mu.Unlock()
	return differential.Observe(differential.Epoch, objects, machines, c.Backends[differential.Driver].Requests(), slices.Values(entries))
}

// Unexported makes an unexported field of a struct readable and writable.
func Unexported(field reflect.Value) reflect.Value {
	return reflect.NewAt(field.Type(), unsafe.Pointer(field.UnsafeAddr())).Elem()
}
