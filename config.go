package volsim

import (
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/volsim/volsim/api"
	"github.com/volsim/volsim/attach"
	"github.com/volsim/volsim/check"
	"github.com/volsim/volsim/internal/controllers/healthmonitor"
	"github.com/volsim/volsim/internal/core/actors"
	"github.com/volsim/volsim/internal/core/backends"
	"github.com/volsim/volsim/internal/core/klog"
	"github.com/volsim/volsim/internal/core/options"
	"github.com/volsim/volsim/internal/core/sidecar"
	"github.com/volsim/volsim/mount"
	"github.com/volsim/volsim/storage"
)

// Config configures a cluster. The zero value is a cluster without storage backends and without latency, in which events that are due at
// the same time run first in, first out, and which keeps a trace. Durations are virtual time.
type Config struct {
	// Seed chooses the order of events that are due at the same time. Zero is first in, first out. Any other seed shuffles them, and may
	// interrupt a controller between two API calls. The same seed gives the same run.
	Seed int64
	// Start is the time at which the cluster begins. Zero is 2026-01-01 00:00:00 UTC.
	Start time.Time
	// Backends are the storage systems, each with its own name; see package fake. A fake.Memory that a cluster has used is an error in another
	// one: make a new one for each. With none, the default, only PersistentVolumes that exist can be bound.
	Backends []storage.Backend
	// Latency is how long each API call of a controller takes. Zero is no time; negative is an error.
	Latency time.Duration
	// Lag is how long watch events take to reach a controller, by the name of the controller: persistentvolume-controller, or kubelet/n1
	// for example. The default is no time. Names that no controller has are errors, and so are those in Without; controllers added with
	// AddController have a Lag of their own.
	Lag map[string]time.Duration
	// Injector is asked for a fault before each API call of a controller and each backend call, after Cluster.Faults. Nil, the default, is
	// none.
	Injector api.Injector
	// TraceLimit is the number of entries that the trace keeps, the newest ones. Zero keeps all; negative keeps no trace, which saves time
	// and about 1 KiB per write.
	TraceLimit int
	// Log receives the log of the components as k8s.io/klog writes it, one line per Write; nil, the default, is none. See docs/log.md.
	Log io.Writer
	// LogV is the verbosity of the log, the flag -v of the real components. Zero is theirs, 0; negative is an error. From level 4 on, with
	// Seed 0, the log includes periodic work that finds nothing new.
	LogV int
	// LogModules are verbosities of source files that replace LogV, in the format of the flag --vmodule of the real components, such as
	// pv_controller*=5,pvc_protection*=5. The default is none.
	LogModules string
	// Warn is called with each warning of the API server about a request of Cluster's methods, such as that a field is deprecated, in
	// kubectl's words without "Warning: ". Nil, the default, ignores them.
	Warn func(text string)
	// SettleLimit is the time that Settle may take. Zero is 1 hour; negative is an error.
	SettleLimit time.Duration
	// Check lists the invariants that are evaluated while the cluster runs; see Cluster.Violations. check.All returns those that hold in
	// every cluster. The default is none, which costs nothing.
	Check []check.Invariant
	// Without lists controllers that do not run, by name; Kubelets stands for the kubelets of all nodes. Cluster.Controllers returns the
	// names. The default is none.
	Without []string
	// StrictNamespaces: an object can be created only in a namespace that exists as an object, as in a real cluster, which begins with
	// default, kube-system, kube-public and kube-node-lease. By default, false, a namespace that never was an object exists, too.
	StrictNamespaces bool
	// FeatureGates turns feature gates of Kubernetes on or off, by name: CrossNamespaceVolumeDataSource and CSIVolumeHealth, which are off
	// by default. All other gates have their defaults of v1.36.3; to name one is an error.
	FeatureGates map[string]bool
	// ManualNodes: only Cluster.AddNode adds nodes with a kubelet. By default, false, every Node object has one. A Node object without a
	// kubelet keeps the status that the test writes.
	ManualNodes bool

	// ResyncPeriod is the time between two syncs of all objects by the PersistentVolume controller. Zero is 15 s; negative is an error.
	ResyncPeriod time.Duration
	// DisableProvisioning disables dynamic provisioning by the PersistentVolume controller. The default is false.
	DisableProvisioning bool
	// Scheduler configures the scheduler.
	Scheduler SchedulerConfig
	// Attach configures the attach/detach controller.
	Attach attach.Config
	// Kubelet configures the kubelets of all nodes.
	Kubelet mount.Config
	// Provisioner, Attacher and Resizer configure the sidecars of each CSI driver: external-provisioner, external-attacher and
	// external-resizer.
	Provisioner, Attacher, Resizer SidecarConfig
	// HealthMonitors names the CSI drivers that have the sidecar external-health-monitor, which emits Events about the claims of abnormal
	// volumes (HEALTH-001). The default is none.
	HealthMonitors []string
	// NodeWatcher lets these sidecars also emit Events about claims on nodes that fail: --enable-node-watcher. The default is false.
	NodeWatcher bool

	internal options.Options // see package internals
}

// SchedulerConfig configures the scheduler. The zero value has the defaults of Kubernetes.
type SchedulerConfig struct {
	// Profiles are the values of spec.schedulerName whose pods it schedules. The default is default-scheduler only.
	Profiles []string
	// BindTimeout limits how long a pod waits for its claims to be bound. Zero is 10 minutes; negative is an error (SCHED-005).
	BindTimeout time.Duration
	// Score rates a node that the pod fits on, from its arguments alone, which it must not change: they are stored objects. The node with the highest score wins, ties are decided by name
	// (SCHED-026). Nil, the default, is the sum of the scores of Kubernetes' default plugins (SCHED-121).
	Score func(pod *corev1.Pod, node *corev1.Node) int64
}

// SidecarConfig configures one of the sidecars of a CSI driver.
type SidecarConfig struct {
	// RetryStart is the delay after the first error of an object; each further error doubles it. Zero is 1 s; negative is an error.
	RetryStart time.Duration
	// RetryMax is the longest delay between retries. Zero is 5 min; less than RetryStart is an error.
	RetryMax time.Duration
	// ResyncPeriod is the time between syncs of all objects. Zero is 10 min, and 15 min for the provisioner; negative is an error.
	ResyncPeriod time.Duration
	// Timeout is how long a call to the driver may take. Zero is 10 s, and 15 s for the attacher; negative is no limit.
	Timeout time.Duration
}

// defaultSettleLimit is the default of Config.SettleLimit.
const defaultSettleLimit = time.Hour

// maxStartYear leaves time to pass until the year 9999; the API writes years with four digits.
const maxStartYear = 9000

// validate returns an error for a value that no configuration has.
func (cfg *Config) validate() error {
	for _, d := range []struct {
		field string
		value time.Duration
	}{{"Latency", cfg.Latency}, {"SettleLimit", cfg.SettleLimit}, {"ResyncPeriod", cfg.ResyncPeriod}} {
		if d.value < 0 {
			return fmt.Errorf("volsim: Config.%s is %v; give zero for the default, or more", d.field, d.value)
		}
	}
	// Objects cannot contain other years.
	if year := cfg.Start.Year(); !cfg.Start.IsZero() && (year < 1 || year > maxStartYear) {
		return fmt.Errorf("volsim: Config.Start is in the year %d; give zero for the default, or a time from 1 to %d", year, maxStartYear)
	}
	if cfg.NodeWatcher && len(cfg.HealthMonitors) == 0 {
		return errors.New("volsim: Config.NodeWatcher is set, but Config.HealthMonitors names no driver; name one")
	}
	for _, of := range []struct {
		field  string
		config SidecarConfig
		resync time.Duration
	}{{"Provisioner", cfg.Provisioner, 15 * time.Minute}, {"Attacher", cfg.Attacher, 10 * time.Minute}, {"Resizer", cfg.Resizer, 10 * time.Minute}} {
		config, defaults := sidecar.Config(of.config), sidecar.Config{RetryStart: time.Second, RetryMax: 5 * time.Minute, ResyncPeriod: of.resync}
		if err := config.Complete("volsim: Config."+of.field, defaults); err != nil {
			return err
		}
	}
	for _, name := range cfg.lagging() {
		if lag := cfg.Lag[name]; lag < 0 {
			return fmt.Errorf("volsim: Config.Lag of %q is %v; give zero for none, or more", name, lag)
		}
	}
	return nil
}

// complete sets the defaults that are not zero.
func (cfg *Config) complete() {
	if cfg.SettleLimit == 0 {
		cfg.SettleLimit = defaultSettleLimit
	}
}

// lagging lists the actors in Lag, in order.
func (cfg *Config) lagging() []string {
	if len(cfg.Lag) == 0 {
		return nil // most clusters
	}
	return slices.Sorted(maps.Keys(cfg.Lag))
}

// log returns the configuration of the log, nil for none.
func (cfg *Config) log() (*klog.Config, error) {
	if cfg.LogV < 0 {
		return nil, fmt.Errorf("volsim: Config.LogV is %d; give zero or more", cfg.LogV)
	}
	modules, err := klog.ParseModules(cfg.LogModules)
	if err != nil {
		return nil, fmt.Errorf("volsim: Config.LogModules: %w", err)
	}
	if cfg.Log == nil {
		return nil, nil
	}
	return &klog.Config{Out: cfg.Log, V: cfg.LogV, Modules: modules}, nil
}

// checkMonitors returns an error for a driver that cannot have the external-health-monitor.
func (cfg *Config) checkMonitors(all *backends.Set) error {
	for _, name := range cfg.HealthMonitors {
		driver, ok := all.Driver(name)
		switch {
		case !ok:
			return fmt.Errorf("volsim: Config.HealthMonitors names %q: there is no such CSI driver", name)
		case !healthmonitor.Monitors(driver):
			return fmt.Errorf("volsim: Config.HealthMonitors names %q: the driver can neither %s nor %s; implement storage.ConditionReporter", name,
				storage.ListConditions, storage.GetCondition)
		}
	}
	return nil
}

// checkNames returns an error for the name of a controller that does not exist.
func (cfg *Config) checkNames(sidecars []component) error {
	if len(cfg.Without) == 0 && len(cfg.Lag) == 0 {
		return nil
	}
	isController := func(name string) bool {
		for part := range parts(sidecars) {
			if part.name == name {
				return true
			}
		}
		return false
	}
	// unknown describes a name that no controller has.
	unknown := func(name string) string {
		var controllers []string
		for part := range parts(sidecars) {
			controllers = append(controllers, part.name)
		}
		return actors.Unknown(name, controllers)
	}
	for _, name := range cfg.Without {
		if !isController(name) {
			return fmt.Errorf("volsim: Config.Without names %q: %s", name, unknown(name))
		}
	}
	for _, name := range cfg.lagging() {
		part, ok := name, name != Kubelets && isController(name)
		// The name of a kubelet contains that of its node, which may be created later.
		if node, isKubelet := actors.NodeOfKubelet(name); isKubelet && node != "" {
			part, ok = Kubelets, true
		}
		switch {
		case !ok:
			return fmt.Errorf("volsim: Config.Lag names %q: %s; there is one per node, such as %q", name, unknown(name), actors.Kubelet("n1"))
		case slices.Contains(cfg.Without, part):
			return fmt.Errorf("volsim: Config.Lag names %q, which does not run: Config.Without names %q; remove one of them", name, part)
		}
	}
	return nil
}
