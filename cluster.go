package volsim

import (
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"

	"github.com/volsim/volsim/api"
	"github.com/volsim/volsim/check"
	"github.com/volsim/volsim/controller"
	"github.com/volsim/volsim/fake"
	"github.com/volsim/volsim/internal/core/actors"
	"github.com/volsim/volsim/internal/core/apply"
	"github.com/volsim/volsim/internal/core/backends"
	"github.com/volsim/volsim/internal/core/engine"
	"github.com/volsim/volsim/internal/core/gates"
	"github.com/volsim/volsim/internal/core/internals"
	"github.com/volsim/volsim/internal/core/leases"
	"github.com/volsim/volsim/internal/core/store"
	"github.com/volsim/volsim/mount"
	"github.com/volsim/volsim/trace"
)

// Cluster is the storage control plane of one Kubernetes cluster: its API objects, its controllers, and virtual time. It is not safe for
// concurrent use. Clusters are independent of each other.
type Cluster struct {
	// The API objects, by kind. Get, List and Objects are generic alternatives, also for kinds that are not listed here.

	Volumes           Table[*corev1.PersistentVolume]
	Claims            Table[*corev1.PersistentVolumeClaim]
	Classes           Table[*storagev1.StorageClass]
	AttributesClasses Table[*storagev1.VolumeAttributesClass]
	Pods              Table[*corev1.Pod]
	Nodes             Table[*corev1.Node]
	Attachments       Table[*storagev1.VolumeAttachment]
	CSIDrivers        Table[*storagev1.CSIDriver]
	CSINodes          Table[*storagev1.CSINode]
	Capacities        Table[*storagev1.CSIStorageCapacity]

	// Faults are the rules by which calls of controllers, kubelets and sidecars to the API server and to backends fail, wait, lose their
	// reply, or crash the caller. Crash stops a controller, and the methods of Node stop and cut off a node.
	Faults *fake.Faults

	cfg      Config
	engine   *engine.Engine
	backends *backends.Set
	nodes    *mount.Nodes   // nil without kubelets
	leases   *leases.Book   // nil without kubelets
	checker  *check.Checker // nil without Config.Check
	checked  time.Duration  // the time, since the start, to which the checker has advanced

	down       []string            // controllers that crashed before they were started
	populators map[api.Kind]string // added controllers that fill volumes, by the kind of their data sources
	applied    apply.Applied       // nil before the first Apply
}

// New returns an empty cluster with running controllers. An error names the field of the configuration that is wrong, and the remedy.
func New(cfg Config) (*Cluster, error) {
	if err := cfg.validate(); err != nil {
		return nil, err
	}
	cfg.complete()
	gates, err := gates.New(cfg.FeatureGates)
	if err != nil {
		return nil, fmt.Errorf("volsim: Config.FeatureGates: %w", err)
	}
	backends, err := backends.NewSet(cfg.Backends...)
	if err != nil {
		return nil, fmt.Errorf("volsim: Config.Backends: %w", err)
	}
	c := &Cluster{cfg: cfg, backends: backends, Faults: fake.NewFaults(), populators: map[api.Kind]string{}}
	if c.checker, err = c.newChecker(); err != nil {
		return nil, err
	}
	if c.engine, err = c.newEngine(gates); err != nil {
		return nil, err
	}
	c.bindTables()
	if c.checker != nil {
		c.advanceChecker()
	}
	if !slices.Contains(cfg.Without, Kubelets) {
		c.leases = &leases.Book{}
		c.engine.Attached(leases.Key{}, func() any { return c.leases })
	}
	if err := c.startControllers(); err != nil {
		return nil, err
	}
	if err := backends.Take(); err != nil {
		return nil, fmt.Errorf("volsim: Config.Backends: %w", err)
	}
	return c, nil
}

// newEngine returns the engine of the configuration.
func (c *Cluster) newEngine(gates gates.Set) (*engine.Engine, error) {
	cfg := &c.cfg
	log, err := cfg.log()
	if err != nil {
		return nil, err
	}
	e, err := engine.New(engine.Config{
		Seed:             cfg.Seed,
		Choose:           cfg.internal.Choose,
		Start:            cfg.Start,
		Latency:          cfg.Latency,
		Lag:              cfg.Lag,
		Injector:         c.injector(),
		NoSkipping:       cfg.internal.NoSkipping,
		AssumeFiles:      cfg.internal.AssumeFiles,
		StrictNamespaces: cfg.StrictNamespaces,
		CountedNames:     cfg.internal.CountedNames,
		Gates:            gates,
		Trace:            c.newTrace(),
		Log:              log,
		Remains:          cfg.internal.Remains,
	})
	if err != nil {
		return nil, fmt.Errorf("volsim: Config: %w", err)
	}
	return e, nil
}

// bindTables connects the tables of the cluster with those of the store.
func (c *Cluster) bindTables() {
	s := c.engine.Store()
	c.Volumes = tableOf(s.Volumes)
	c.Claims = tableOf(s.Claims)
	c.Classes = tableOf(s.Classes)
	c.AttributesClasses = tableOf(s.AttributesClasses)
	c.Pods = tableOf(s.Pods)
	c.Nodes = tableOf(s.Nodes)
	c.Attachments = tableOf(s.Attachments)
	c.CSIDrivers = tableOf(s.CSIDrivers)
	c.CSINodes = tableOf(s.CSINodes)
	c.Capacities = tableOf(s.Capacities)
}

// StoredOnly lists, by name, the kinds of objects in the cluster for which Kubernetes or an operator has controllers and volsim has none. Such
// objects are stored and have no effect: an Ingress gets no address.
func (c *Cluster) StoredOnly() []api.Kind {
	s := c.engine.Store()
	return slices.DeleteFunc(s.Kinds(), func(kind api.Kind) bool { return store.HasTypedTable(kind) || s.Describe(kind).Passive })
}

// Now returns the virtual time.
func (c *Cluster) Now() time.Time { return c.engine.Now() }

// Step advances the time to the next event and runs it. It returns false if there is none, and within an event.
func (c *Cluster) Step() bool { return !c.engine.Runs() && c.engine.Step() }

// Advance runs everything that is due within d, including its end, and advances the time by d. A negative d is an error. So are events at one
// time that never end, such as two controllers that undo each other's writes: the time stays there, and the error lists the pending work. Advance, Settle,
// Until and Step are for code outside the cluster: within an event, such as the sync of a controller or a call of a backend, they are errors.
func (c *Cluster) Advance(d time.Duration) error {
	if err := c.idle("advance"); err != nil {
		return err
	}
	if d < 0 {
		return fmt.Errorf("advance %v: time does not run backwards; give zero or more", d)
	}
	if err := c.engine.Advance(d); err != nil {
		return fmt.Errorf("advance %v: %w", d, err)
	}
	return nil
}

// Settle runs until only background resyncs remain; a claim that is created together with its volumes may be bound before the
// PersistentVolume controller has seen them all, as in a real cluster, so settle after the volumes and again after the claim.
// It returns an error that lists the pending work after Config.SettleLimit of virtual time, or if events at one time never end.
func (c *Cluster) Settle() error {
	if err := c.idle("settle"); err != nil {
		return err
	}
	if err := c.engine.Settle(c.cfg.SettleLimit); err != nil {
		return fmt.Errorf("settle: %w", err)
	}
	return nil
}

// Until runs event by event until cond is true. It evaluates cond now, and then after each event. It returns an error after limit of virtual
// time, or if no event is left. cond must not write.
func (c *Cluster) Until(cond func() bool, limit time.Duration) error {
	if err := c.idle("until"); err != nil {
		return err
	}
	if cond == nil {
		return fmt.Errorf("until: the condition is nil")
	}
	if limit < 0 {
		return fmt.Errorf("until: the limit is %v; give zero or more", limit)
	}
	if err := c.engine.Until(cond, limit); err != nil {
		return fmt.Errorf("until: %w", err)
	}
	return nil
}

// Trace returns the record of every decision, write, backend call and event so far; nil if Config.TraceLimit is negative.
func (c *Cluster) Trace() *trace.Trace {
	if c.cfg.TraceLimit < 0 {
		return nil // Config.Check needs one
	}
	return c.engine.Trace()
}

// Events returns the Kubernetes Events that the API server stores, correlated and counted as client-go does, in the order of their keys.
func (c *Cluster) Events() []*corev1.Event {
	return tableOf(c.engine.Store().Events).List()
}

// Close ends the cluster. It is optional; the memory of a cluster with calls in progress is only freed after Close. Afterwards reads return the last state, and
// writes and calls that let time pass are errors. A second Close does nothing.
func (c *Cluster) Close() {
	if !c.engine.Closed() {
		c.engine.Close()
	}
}

// open returns an error for a call after Close.
func (c *Cluster) open(verb string) error {
	if c.engine.Closed() {
		return fmt.Errorf("%s: the cluster is closed", verb)
	}
	return nil
}

// idle returns an error for a call that lets time pass, after Close or within an event.
func (c *Cluster) idle(verb string) error {
	if c.engine.Runs() {
		return fmt.Errorf("%s: time passes already: the call is made within an event of the cluster, such as a sync or a call of a backend", verb)
	}
	return c.open(verb)
}

// Controllers returns the names of the controllers and kubelets that have started, as they appear as actors in the trace. Some start with the
// first object that they work on, such as statefulset-controller. Before, Crash, Restart, Config.Without and Config.Lag know their names, too.
func (c *Cluster) Controllers() []string {
	var names []string
	for _, a := range c.engine.Actors() {
		names = append(names, a.Name())
	}
	return names
}

// Crash stops a controller at once, even between two API calls, and reports an error if none has that name. Its memory is lost; what it
// wrote stays.
func (c *Cluster) Crash(controller string) error {
	if err := c.open("crash"); err != nil {
		return err
	}
	a, ok := c.engine.Actor(controller)
	switch {
	case ok:
		a.Crash()
	case slices.Contains(c.notStarted(), controller):
		c.down = append(c.down, controller)
	default:
		return fmt.Errorf("crash %q: %s", controller, c.unknown(controller))
	}
	return nil
}

// unknown says why there is no controller of a name.
func (c *Cluster) unknown(name string) string {
	part := name
	if _, isKubelet := actors.NodeOfKubelet(name); isKubelet {
		part = Kubelets
	}
	if slices.Contains(c.cfg.Without, part) {
		return fmt.Sprintf("it does not run: Config.Without names %q", part)
	}
	return actors.Unknown(name, c.allControllers())
}

// Restart starts a controller that crashed, and does nothing if it runs. It knows only what the API server stores.
func (c *Cluster) Restart(controller string) error {
	if err := c.open("restart"); err != nil {
		return err
	}
	a, ok := c.engine.Actor(controller)
	switch {
	case ok:
		a.Start()
	case slices.Contains(c.notStarted(), controller):
		c.down = slices.DeleteFunc(c.down, func(name string) bool { return name == controller })
	default:
		return fmt.Errorf("restart %q: %s", controller, c.unknown(controller))
	}
	return nil
}

// AddController adds a controller of your own and starts it. Seeds, virtual time, faults and crashes apply to it as to the others. Its
// lag is a field of Controller; Config.Lag and Config.Without name the controllers of Kubernetes only.
func (c *Cluster) AddController(ctl controller.Controller) error {
	if err := c.open("add controller"); err != nil {
		return err
	}
	if err := c.checkName(ctl.Name); err != nil {
		return fmt.Errorf("add controller %q: %w", ctl.Name, err)
	}
	if err := internals.AddController(c.engine, ctl); err != nil {
		return err
	}
	if kind := internals.Populates(ctl); kind != "" {
		c.populators[kind] = ctl.Name
	}
	return nil
}

// AddNode adds a node of that name and starts its kubelet, which creates the Node object unless it exists. By default every Node object
// has a node already; see Config.ManualNodes. It is an error if the node exists, or if the cluster runs no kubelets.
func (c *Cluster) AddNode(name string) (*mount.Node, error) {
	if err := c.open("add node"); err != nil {
		return nil, err
	}
	if c.nodes == nil {
		return nil, fmt.Errorf("add node %q: the cluster runs no kubelets; remove %q from Config.Without", name, Kubelets)
	}
	n, err := c.nodes.Add(name)
	if err != nil {
		return nil, fmt.Errorf("add node: %w", err)
	}
	return n, nil
}

// Node returns a node: its kubelet, power and network, which it can stop, cut and restore, its disk and its containers. The Node object is
// in the table Nodes. It is an error if there is no such node.
func (c *Cluster) Node(name string) (*mount.Node, error) {
	if c.nodes == nil {
		return nil, fmt.Errorf("node %q: the cluster runs no kubelets; remove %q from Config.Without", name, Kubelets)
	}
	n, ok := c.nodes.Get(name)
	if !ok {
		return nil, fmt.Errorf("node %q: there is no such node", name)
	}
	return n, nil
}
