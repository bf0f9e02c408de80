package explore

import (
	"fmt"
	"slices"
	"time"

	"github.com/volsim/volsim"
	"github.com/volsim/volsim/api"
	"github.com/volsim/volsim/check"
	"github.com/volsim/volsim/internal/core/actors"
	"github.com/volsim/volsim/internal/core/internals"
	"github.com/volsim/volsim/internal/tools/dump"
)

// Manifest describes a model: the objects of a manifest are created in a cluster whose controllers have started, and the controllers run
// until they have settled.
type Manifest struct {
	// Data has the objects, in YAML or JSON. The storage systems are those that they name.
	Data []byte
	// Without names controllers that do not run; see volsim.Config.Without. Fewer controllers have fewer interleavings.
	Without []string
	// Seed shuffles events in a run without choose; zero runs them in order.
	Seed int64
	// Until is the virtual time that passes after the controllers have settled; zero is none.
	Until time.Duration
	// Check are the invariants that are checked; nil is none.
	Check []check.Invariant
	// Policies lets the admission policies of a cluster take effect; with nil they have none.
	Policies func(*volsim.Cluster)
	// Starting explores the orders in which controllers start, too. Otherwise they start in a fixed order before anything is created.
	Starting bool
}

// HasNodes reports whether the manifest has nodes. If it does not, its model has no controllers that act on failing nodes.
func (m Manifest) HasNodes() bool {
	d, err := dump.Read(m.Data)
	return err == nil && hasNodes(d)
}

func hasNodes(d *dump.Dump) bool {
	return slices.ContainsFunc(d.Objects, func(obj api.Object) bool { return api.KindOf(obj) == api.Node })
}

// Model returns the model. It returns an error for a manifest that cannot be read, an unknown controller, and two invariants with one name.
func (m Manifest) Model() (Model, error) {
	d, err := dump.Read(m.Data)
	if err != nil {
		return nil, fmt.Errorf("explore: %w", err)
	}
	// Make it once to report errors.
	run, err := m.run(d, nil)
	if err != nil {
		return nil, err
	}
	run.Engine.Close()
	return func(choose func(n int) int) (*Run, error) { return m.run(d, choose) }, nil
}

func (m Manifest) run(d *dump.Dump, choose func(n int) int) (*Run, error) {
	backends, _ := d.Backends(nil)
	cfg := volsim.Config{Seed: m.Seed, Backends: backends, Without: m.Without, Check: m.Check}
	if !hasNodes(d) {
		cfg.Without = append(slices.Clone(cfg.Without), actors.NodeFailure...)
	}
	// Skipped reports are communication between actors outside the API server, which a state does not include.
	internals.Options(&cfg).Kubelet.EveryReport = true
	started := m.Starting
	if choose != nil {
		internals.Options(&cfg).Choose = func(n int) int {
			if !started {
				return 0
			}
			return choose(n)
		}
	}
	c, err := volsim.New(cfg)
	if err != nil {
		return nil, fmt.Errorf("explore: %w", err)
	}
	if m.Policies != nil {
		m.Policies(c)
	}
	if !started {
		if err := c.Settle(); err != nil {
			return nil, fmt.Errorf("explore: start the controllers: %w", err)
		}
		started = true
	}
	return &Run{Engine: internals.Engine(c), Backends: backends, Violations: c.Violations, Independent: independent, Idle: idleActors,
		Execute: func() error { return m.execute(c, d.Objects) }}, nil
}

// execute creates the objects one by one, as kubectl does, and lets the controllers settle.
func (m Manifest) execute(c *volsim.Cluster, objs []api.Object) error {
	for _, obj := range objs {
		if err := c.Create(obj.DeepCopyObject().(api.Object)); err != nil {
			return err
		}
	}
	if err := c.Settle(); err != nil {
		return err
	}
	return c.Advance(m.Until)
}
