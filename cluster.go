package volsim

import (
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"

	"github.com/volsim/volsim/api"
	"github.com/volsim/volsim/check"
	"github.com/volsim/volsim/controller"
	"github.com/volsim/volsim/fake"
	"github.com/volsim/volsim/internal/core/backends"
	"github.com/volsim/volsim/internal/core/engine"
	"github.com/volsim/volsim/internal/core/store"
	"github.com/volsim/volsim/mount"
	"github.com/volsim/volsim/trace"
)

// Cluster is the storage control plane of one Kubernetes cluster: its API objects, its controllers, and virtual time.
// It is not safe for concurrent use; clusters are independent of each other.
type Cluster struct {
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
	checker  *check.Checker // nil without Config.Check
}

// New returns a cluster whose controllers run and that holds nothing yet. An error names the field of the configuration that is
// wrong, and what to do about it.
func New(cfg Config) (*Cluster, error) {
	if err := cfg.check(); err != nil {
		return nil, err
	}
	backends, err := backends.NewSet(cfg.Backends...)
	if err != nil {
		return nil, fmt.Errorf("volsim: Config.Backends: %w", err)
	}
	c := &Cluster{cfg: cfg, backends: backends, Faults: fake.NewFaults()}
	trace, err := c.newTrace()
	if err != nil {
		return nil, err
	}
	c.engine, err = engine.New(engine.Config{
		Seed:     cfg.Seed,
		Choose:   cfg.internal.Choose,
		Start:    cfg.Start,
		Latency:  cfg.Latency,
		Lag:      cfg.Lag,
		Injector: c.injector(),
		Trace:    trace,
	})
	if err != nil {
		return nil, fmt.Errorf("volsim: Config: %w", err)
	}
	s := c.engine.Store()
	c.Volumes = Table[*corev1.PersistentVolume]{s.Volumes}
	c.Claims = Table[*corev1.PersistentVolumeClaim]{s.Claims}
	c.Classes = Table[*storagev1.StorageClass]{s.Classes}
	c.AttributesClasses = Table[*storagev1.VolumeAttributesClass]{s.AttributesClasses}
	c.Pods = Table[*corev1.Pod]{s.Pods}
	c.Nodes = Table[*corev1.Node]{s.Nodes}
	c.Attachments = Table[*storagev1.VolumeAttachment]{s.Attachments}
	c.CSIDrivers = Table[*storagev1.CSIDriver]{s.CSIDrivers}
	c.CSINodes = Table[*storagev1.CSINode]{s.CSINodes}
	c.Capacities = Table[*storagev1.CSIStorageCapacity]{s.Capacities}
	if c.checker != nil {
		c.checker.Advance(c.engine.Now())
		c.engine.AfterEvent(func() { c.checker.Advance(c.engine.Now()) })
	}
	if err := c.startControllers(); err != nil {
		return nil, err
	}
	return c, nil
}

// Create creates objects in order, as an API server would: defaults, admission, validation, uid, finalizers. When it would refuse
// any of them, none is created. Errors are those of k8s.io/apimachinery/pkg/api/errors.
func (c *Cluster) Create(objs ...api.Object) error {
	given := make(map[api.Ref]bool, len(objs))
	for _, obj := range objs {
		if err := c.checkObject("create", obj); err != nil {
			return err
		}
		if _, err := c.engine.Store().CreateWith(obj, api.CreateOptions{DryRun: true}); err != nil {
			return describe("create", obj, err)
		}
		if ref := api.RefTo(obj); obj.GetName() != "" && given[ref] {
			return fmt.Errorf("create %s: it is given twice", ref)
		} else {
			given[ref] = true
		}
	}
	for _, obj := range objs {
		if _, err := c.engine.API().Create(c.engine.User(), deepCopy(obj), api.CreateOptions{}); err != nil {
			return describe("create", obj, err)
		}
	}
	return nil
}

// create creates one object.
func (c *Cluster) create(obj api.Object, opts api.CreateOptions) error {
	if err := c.checkObject("create", obj); err != nil {
		return err
	}
	_, err := c.engine.API().Create(c.engine.User(), deepCopy(obj), opts)
	return describe("create", obj, err)
}

// Update replaces an object, leaving its status alone. Without a resourceVersion it overwrites whatever is there, where the kind
// allows that; with one that is not the stored one it is a Conflict.
func (c *Cluster) Update(obj api.Object) error {
	return c.update(obj, api.Main, api.UpdateOptions{})
}

// UpdateStatus replaces an object's status.
func (c *Cluster) UpdateStatus(obj api.Object) error {
	return c.update(obj, api.Status, api.UpdateOptions{})
}

func (c *Cluster) update(obj api.Object, sub api.Subresource, opts api.UpdateOptions) error {
	if err := c.checkObject("update", obj); err != nil {
		return err
	}
	_, err := c.engine.API().Update(c.engine.User(), deepCopy(obj), sub, opts)
	return describe("update", obj, err)
}

// Patch applies a JSON merge patch to the object that obj names by type, namespace and name.
func (c *Cluster) Patch(obj api.Object, patch string) error { return c.patch(obj, patch, api.Main) }

// PatchStatus applies a JSON merge patch to the status of the object that obj names.
func (c *Cluster) PatchStatus(obj api.Object, patch string) error {
	return c.patch(obj, patch, api.Status)
}

func (c *Cluster) patch(obj api.Object, patch string, sub api.Subresource) error {
	if err := c.checkObject("patch", obj); err != nil {
		return err
	}
	_, err := c.engine.API().Patch(c.engine.User(), api.RefTo(obj), []byte(patch), sub)
	return describe("patch", obj, err)
}

// Delete deletes the object that obj names by type, namespace and name. One with finalizers stays, marked, until they are gone.
// A uid or resourceVersion in obj is a precondition.
func (c *Cluster) Delete(obj api.Object) error {
	return c.DeleteWith(obj, api.DeleteOptions{})
}

// DeleteWith is Delete with options; preconditions in them win over those in obj.
func (c *Cluster) DeleteWith(obj api.Object, opts api.DeleteOptions) error {
	if err := c.checkObject("delete", obj); err != nil {
		return err
	}
	if opts.UID == "" {
		opts.UID = obj.GetUID()
	}
	if opts.ResourceVersion == "" {
		opts.ResourceVersion = obj.GetResourceVersion()
	}
	_, err := c.engine.API().Delete(c.engine.User(), api.RefTo(obj), opts)
	return describe("delete", obj, err)
}

// Load stores objects as they are, status, uid, timestamps and finalizers included, as from a dump of another cluster. An object
// of the same name is replaced.
func (c *Cluster) Load(objs ...api.Object) error {
	for _, obj := range objs {
		if err := c.checkObject("load", obj); err != nil {
			return err
		}
	}
	for _, obj := range objs {
		if _, err := c.engine.API().Load(c.engine.User(), deepCopy(obj)); err != nil {
			return describe("load", obj, err)
		}
	}
	return nil
}

// Apply creates the objects of a manifest, YAML or JSON, or replaces those that exist. A manifest that cannot be read changes
// nothing; when an object is refused, those before it stay, as with kubectl.
func (c *Cluster) Apply(manifest []byte) error {
	objs, err := store.ReadManifests(manifest)
	if err != nil {
		return fmt.Errorf("apply: %w", err)
	}
	for _, obj := range objs {
		if err := c.apply(obj); err != nil {
			return err
		}
	}
	return nil
}

func (c *Cluster) apply(obj api.Object) error {
	stored, err := c.engine.Store().Get(api.KindOf(obj), api.KeyOf(obj))
	if err != nil {
		return c.Create(obj)
	}
	// API-012: some kinds are not replaced without saying which version.
	if obj.GetResourceVersion() == "" {
		obj.SetResourceVersion(stored.GetResourceVersion())
	}
	return c.Update(obj)
}

func (c *Cluster) checkObject(verb string, obj api.Object) error {
	if api.IsNil(obj) {
		return fmt.Errorf("%s: the object is nil: pass a pointer to a k8s.io/api type", verb)
	}
	if api.KindOf(obj) == "" {
		return fmt.Errorf("%s: %T is %w: the kinds are %v", verb, obj, api.ErrUnknownKind, store.Kinds())
	}
	if obj.GetName() == "" && (verb != "create" || obj.GetGenerateName() == "") {
		return fmt.Errorf("%s %s: metadata.name is empty: name the object", verb, api.KindOf(obj))
	}
	if err := fake.Err(obj); err != nil {
		return fmt.Errorf("%s %s: %w", verb, api.RefTo(obj), err)
	}
	return nil
}

// describe says which call failed, keeping the API's error underneath.
func describe(verb string, obj api.Object, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%s %s: %w", verb, api.RefTo(obj), err)
}

func deepCopy(obj api.Object) api.Object { return obj.DeepCopyObject().(api.Object) }

// Now is the virtual time.
func (c *Cluster) Now() time.Time { return c.engine.Now() }

// Step runs the next event, moving the clock to it. It reports false when nothing is queued.
func (c *Cluster) Step() bool { return c.engine.Step() }

// Advance runs everything due within d, the end included; the clock then stands at now+d. It refuses a negative d.
func (c *Cluster) Advance(d time.Duration) error {
	if d < 0 {
		return fmt.Errorf("advance %v: time does not run backwards: give zero or more", d)
	}
	c.engine.Advance(d)
	return nil
}

// Settle runs until only background resyncs remain; a claim that is created together with its volumes may be bound before the
// PersistentVolume controller has seen them all, as in a real cluster, so settle after the volumes and again after the claim.
// It gives up, listing the pending work, when Config.SettleLimit of virtual time is spent, or when events without end happen at one
// instant.
func (c *Cluster) Settle() error {
	if err := c.engine.Settle(c.cfg.SettleLimit); err != nil {
		return fmt.Errorf("settle: %w", err)
	}
	return nil
}

// Until runs event by event until cond holds, and gives up after limit of virtual time.
func (c *Cluster) Until(cond func() bool, limit time.Duration) error {
	if cond == nil {
		return fmt.Errorf("until: the condition is nil")
	}
	if err := c.engine.Until(cond, limit); err != nil {
		return fmt.Errorf("until: %w", err)
	}
	return nil
}

// Trace is every decision, write, backend call and event so far; nil with Config.NoTrace.
func (c *Cluster) Trace() *trace.Trace {
	if c.cfg.NoTrace {
		return nil // an invariant may have needed one
	}
	return c.engine.Trace()
}

// Events are the Kubernetes Events as the API server holds them, correlated and counted as client-go does, in the order of
// their keys.
func (c *Cluster) Events() []*corev1.Event {
	return Table[*corev1.Event]{c.engine.Store().Events}.List()
}

// Close ends the cluster. It need not be called, but a cluster that is dropped in the middle of something, with calls under way,
// is only collected after Close.
func (c *Cluster) Close() { c.engine.Close() }

// Controllers lists the controllers by actor name.
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
	a, ok := c.engine.Actor(controller)
	if !ok {
		return fmt.Errorf("crash %q: there is no such controller: there are %q", controller, c.Controllers())
	}
	a.Crash()
	return nil
}

// Restart starts a controller that crashed, and does nothing if it runs. It knows only what the API server stores.
func (c *Cluster) Restart(controller string) error {
	a, ok := c.engine.Actor(controller)
	if !ok {
		return fmt.Errorf("restart %q: there is no such controller: there are %q", controller, c.Controllers())
	}
	a.Start()
	return nil
}

// AddController adds a controller of your own and starts it. Seeds, virtual time, faults and crashes apply to it as to the others.
func (c *Cluster) AddController(ctl controller.Controller) error {
	return controller.Run(c.engine, ctl)
}

// AddNode adds a node of that name and starts its kubelet, which creates the Node object unless it exists. By default every Node object
// has a node already; see Config.ManualNodes. It is an error if the node exists, or if the cluster runs no kubelets.
func (c *Cluster) AddNode(name string) (*mount.Node, error) {
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
