package volsim

import (
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/volsim/volsim/api"
	"github.com/volsim/volsim/attach"
	"github.com/volsim/volsim/check"
	"github.com/volsim/volsim/internal/controllers/expand"
	"github.com/volsim/volsim/internal/controllers/schedule"
	"github.com/volsim/volsim/internal/core/actors"
	"github.com/volsim/volsim/internal/core/options"
	"github.com/volsim/volsim/mount"
	"github.com/volsim/volsim/reclaim"
	"github.com/volsim/volsim/storage"
)

// Config sets up a cluster. The zero value is a cluster without storage backends, that plays in order, without latency, and
// keeps a trace.
type Config struct {
	// Seed chooses the order of what happens at the same instant. Zero: first in, first out. Any other seed shuffles, also in the
	// middle of what a controller does. The same seed gives the same run.
	Seed int64
	// Start is the virtual time at which the cluster begins; zero is 2026-01-01 00:00:00 UTC.
	Start time.Time
	// Backends are the storage systems, each with a name of its own. None: only volumes that exist can be bound.
	Backends []storage.Backend
	// Latency is how long each API call of a controller takes; zero is none.
	Latency time.Duration
	// Lag is how long watch events take to reach a controller, by the controller's name; a name left out has none, one that no
	// controller has is an error.
	Lag map[string]time.Duration
	// Injector is asked for a fault before each API call of a controller and each backend call, after Cluster.Faults; nil is none.
	Injector api.Injector
	// NoTrace switches the trace off, and Events with it are still stored. It saves time and about 1 KiB per write.
	NoTrace bool
	// TraceLimit is how many entries the trace keeps, the newest; zero keeps all.
	TraceLimit int
	// SettleLimit is how much virtual time Settle may take; zero is an hour.
	SettleLimit time.Duration
	// ResyncPeriod is that of the PersistentVolume controller; zero is 15 s.
	ResyncPeriod time.Duration
	// FullResync has that controller look at every object at each resync, as upstream does, instead of only at those where
	// something could happen. The outcome is the same.
	FullResync bool
	// DisableProvisioning turns dynamic provisioning by the PersistentVolume controller off.
	DisableProvisioning bool
	// Provisioner sets up the external provisioner of each CSI driver; the zero value is the CSI sidecar with its defaults.
	Provisioner reclaim.ProvisionerConfig
	// Scheduler sets up the scheduler.
	Scheduler schedule.Config
	// Attach sets up the attach/detach controller, Attacher the external attacher of each CSI driver, Kubelet the kubelets of all
	// nodes. Their Backends are filled in.
	Attach   attach.Config
	Attacher attach.AttacherConfig
	Kubelet  mount.Config
	// Resizer sets up the external resizer of each CSI driver; the zero value is one with its defaults.
	Resizer expand.ResizerConfig
	// ManualNodes: only Cluster.AddNode adds nodes with a kubelet. By default, false, every Node object has one. A Node object without a
	// kubelet keeps the status that the test writes.
	ManualNodes bool
	// Check are invariants that are checked as things happen, see Cluster.Violations; check.All() has those that hold in every
	// cluster. None: nothing is checked, and that costs nothing.
	Check []check.Invariant
	// Without lists controllers that do not run, by actor name; Kubelets is those of all nodes.
	Without []string

	internal options.Options // see package internals
}

// DefaultSettleLimit is the virtual time that Settle may take unless Config.SettleLimit says otherwise.
const DefaultSettleLimit = time.Hour

// maxStartYear leaves room for time to pass: the API writes years with four digits.
const maxStartYear = 9000

func (cfg *Config) check() error {
	for _, d := range []struct {
		field string
		value time.Duration
	}{{"Latency", cfg.Latency}, {"SettleLimit", cfg.SettleLimit}, {"ResyncPeriod", cfg.ResyncPeriod}} {
		if d.value < 0 {
			return fmt.Errorf("volsim: Config.%s is %v: give zero for the default, or more", d.field, d.value)
		}
	}
	// Times outside of these years cannot be written down in an object.
	if year := cfg.Start.Year(); !cfg.Start.IsZero() && (year < 1 || year > maxStartYear) {
		return fmt.Errorf("volsim: Config.Start is in the year %d: give zero for the default, or a time from 1 to %d", year, maxStartYear)
	}
	for _, name := range slices.Sorted(maps.Keys(cfg.Lag)) {
		if lag := cfg.Lag[name]; lag < 0 {
			return fmt.Errorf("volsim: Config.Lag of %q is %v: give zero for none, or more", name, lag)
		}
	}
	if cfg.TraceLimit < 0 {
		return fmt.Errorf("volsim: Config.TraceLimit is %d: give zero to keep all, or the number of entries to keep", cfg.TraceLimit)
	}
	if cfg.NoTrace && cfg.TraceLimit > 0 {
		return fmt.Errorf("volsim: Config.TraceLimit is %d but NoTrace is set: leave out one of them", cfg.TraceLimit)
	}
	if cfg.SettleLimit == 0 {
		cfg.SettleLimit = DefaultSettleLimit
	}
	return nil
}

// checkNames looks for names of controllers that do not exist.
func (cfg *Config) checkNames(controllers []string) error {
	for _, name := range cfg.Without {
		if !slices.Contains(controllers, name) {
			return fmt.Errorf("volsim: Config.Without names %q: there is no such controller: there are %q", name, controllers)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(cfg.Lag)) {
		// A kubelet is called after its node, which may come later.
		node, isKubelet := actors.NodeOfKubelet(name)
		if isKubelet && node != "" || name != Kubelets && slices.Contains(controllers, name) {
			continue
		}
		return fmt.Errorf("volsim: Config.Lag names %q: there is no such controller: there are %q, kubelets under the name of their node, as %q",
			name, controllers, actors.Kubelet("n1"))
	}
	return nil
}
