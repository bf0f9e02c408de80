package explore

import (
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/volsim/volsim"
	"github.com/volsim/volsim/api"
	"github.com/volsim/volsim/binder"
	"github.com/volsim/volsim/check"
	"github.com/volsim/volsim/internal/tools/dump"
	"github.com/volsim/volsim/reclaim"
)

// Manifest is a small world: the objects of a manifest are created in a cluster whose controllers have started, and the controllers then run
// until they have nothing more to do.
type Manifest struct {
	// Data are the objects, in YAML or JSON. The storage systems are those that they name.
	Data []byte
	// Without are controllers that do not run, by the names of their actors; see volsim.Config.Without. The fewer there are, the fewer
	// interleavings.
	Without []string
	// Seed shuffles when the world is played without choose; zero plays in order.
	Seed int64
	// Until is how much virtual time passes after the controllers have settled; zero is none.
	Until time.Duration
	// Check are the invariants that are checked; nil is none.
	Check []check.Invariant
	// Starting explores also in which order the controllers start. Otherwise they have started, in order, before anything is created.
	Starting bool
}

// discreet are the actors that keep to themselves, see Run.Discreet: their code was read to see that they do.
var discreet = []string{binder.ActorName, reclaim.PVProtectionName, reclaim.PVCProtectionName}

// indiscreet is the actor that an object makes break its word, "" if none: a volume that is to be recycled has the PersistentVolume controller
// watch a pod past its informers.
func indiscreet(obj api.Object) string {
	if pv, ok := obj.(*corev1.PersistentVolume); ok && pv.Spec.PersistentVolumeReclaimPolicy == corev1.PersistentVolumeReclaimRecycle {
		return binder.ActorName
	}
	return ""
}

// World makes the world. It refuses a manifest that cannot be read, a controller that does not exist, and two invariants of one name.
func (m Manifest) World() (World, error) {
	d, err := dump.Read(m.Data)
	if err != nil {
		return nil, fmt.Errorf("explore: %w", err)
	}
	// The world is made once to see whether it can be.
	run, err := m.run(d, nil)
	if err != nil {
		return nil, err
	}
	run.Engine.Close()
	return func(choose func(n int) int) (*Run, error) { return m.run(d, choose) }, nil
}

func (m Manifest) run(d *dump.Dump, choose func(n int) int) (*Run, error) {
	backends, _ := d.Backends()
	cfg := volsim.Config{Seed: m.Seed, Backends: backends, Without: m.Without, Check: m.Check}
	// What one actor tells another past the API server would be in no state.
	cfg.Kubelet.EveryReport = true
	started := m.Starting
	if choose != nil {
		cfg.Choose = func(n int) int {
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
	if !started {
		if err := c.Settle(); err != nil {
			return nil, fmt.Errorf("explore: the controllers do not start: %w", err)
		}
		started = true
	}
	return &Run{Engine: c.Engine(), Backends: backends, Violations: c.Violations, Discreet: discreet,
		Play: func() error { return m.play(c, d.Objects) }}, nil
}

// play creates the objects, each as kubectl would, and lets the controllers settle.
func (m Manifest) play(c *volsim.Cluster, objs []api.Object) error {
	for _, obj := range objs {
		if err := c.Create(obj); err != nil {
			return err
		}
	}
	if err := c.Settle(); err != nil {
		return err
	}
	return c.Advance(m.Until)
}
