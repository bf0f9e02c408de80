package script

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/volsim/volsim"
	"github.com/volsim/volsim/internal/core/gates"
	"github.com/volsim/volsim/internal/core/internals"
	"github.com/volsim/volsim/internal/core/options"
)

// setting is a key of the command config.
type setting struct {
	key, help string
	set       func(u *setup, value string) error
}

func durationSetting(key, help string, field func(*volsim.Config) *time.Duration) setting {
	return setting{key, help, func(u *setup, value string) (err error) {
		*field(&u.config), err = ParseDuration(value)
		return err
	}}
}

func boolSetting(key, help string, field func(*volsim.Config) *bool) setting {
	return setting{key, help, func(u *setup, value string) (err error) {
		if value != "true" && value != "false" {
			return errors.New("want true or false")
		}
		*field(&u.config) = value == "true"
		return nil
	}}
}

// lagPrefix begins the keys lag.ACTOR.
const lagPrefix = "lag."

var settings = []setting{
	{"seed", "order of events that are due at the same time: 0, the default, is first in, first out; other values shuffle",
		func(u *setup, value string) (err error) {
			u.config.Seed, err = strconv.ParseInt(value, 10, 64)
			return err
		}},
	{"start", "virtual time at which the cluster starts, such as 2026-01-01T00:00:00Z", func(u *setup, value string) (err error) {
		u.config.Start, err = time.Parse(time.RFC3339, value)
		return err
	}},
	{lagPrefix + "ACTOR", "delay of watch events to that controller", nil},
	{"without", "comma-separated controllers that do not run; `kubelet` means the kubelets of all nodes, and `all` alone every controller and kubelet",
		func(u *setup, value string) error {
			if value == "all" {
				internals.Options(&u.config).NoControllers = true
				return nil
			}
			u.config.Without = append(u.config.Without, strings.Split(value, ",")...)
			return nil
		}},
	{"check",
		"`all`, or comma-separated names of invariants: the run fails at the line where one is violated, unless a forced action explains it; see `violations`", func(u *setup, value string) error {
			found, err := u.watch(value)
			for _, inv := range found {
				u.enforced = append(u.enforced, inv.Name)
			}
			return err
		}},
	{"watch", "the same, but violations are only recorded, for `expect violation`", func(u *setup, value string) error {
		_, err := u.watch(value)
		return err
	}},
	durationSetting("latency", "duration of each API call of a controller", func(c *volsim.Config) *time.Duration { return &c.Latency }),
	durationSetting("settle-limit", "maximum virtual time of `settle`; default 1h",
		func(c *volsim.Config) *time.Duration { return &c.SettleLimit }),
	durationSetting("resync-period", "resync period of the PersistentVolume controller; default 15s",
		func(c *volsim.Config) *time.Duration { return &c.ResyncPeriod }),
	boolSetting("disable-provisioning", "disables dynamic provisioning in the PersistentVolume controller",
		func(c *volsim.Config) *bool { return &c.DisableProvisioning }),
	boolSetting("manual-nodes", "only `node add` starts kubelets; by default every Node object gets one",
		func(c *volsim.Config) *bool { return &c.ManualNodes }),
	boolSetting("no-skipping",
		"runs all periodic work of controllers and kubelets, also work that would find nothing new; the outcome is the same",
		func(c *volsim.Config) *bool { return &internals.Options(c).NoSkipping }),
	{"server", "`true`: the cluster has an API server, which the command `request` needs; objects have managedFields", func(u *setup, value string) error {
		if value != "true" && value != "false" {
			return errors.New("want true or false")
		}
		u.server = value == "true"
		return nil
	}},
	{"standard-objects", "comma-separated components that make the objects that clients of a real cluster expect, as in `volsim serve`: `kube-apiserver` (default roles, " +
		"priority classes), `service-account-controller`, `root-ca-cert-publisher`, `clusterrole-aggregation-controller`, `validatingadmissionpolicy-status-controller`; by default none",
		func(u *setup, value string) error {
			u.standard = append(u.standard, strings.Split(value, ",")...)
			return nil
		}},
	boolSetting("strict-namespaces", "namespaces must exist before their objects, as in a real cluster",
		func(c *volsim.Config) *bool { return &c.StrictNamespaces }),
	{"feature-gates",
		"comma-separated feature gates of Kubernetes, each with true or false: `CrossNamespaceVolumeDataSource=true`, `CSIVolumeHealth=true`, which are off by default",
		func(u *setup, value string) error {
			values, err := gates.Parse(value)
			if err != nil {
				return err
			}
			if u.config.FeatureGates == nil {
				u.config.FeatureGates = map[string]bool{}
			}
			maps.Copy(u.config.FeatureGates, values)
			return nil
		}},
	{"health-monitors", "comma-separated CSI drivers that have the sidecar external-health-monitor; by default none; see `volume-condition`",
		func(u *setup, value string) error {
			u.config.HealthMonitors = append(u.config.HealthMonitors, strings.Split(value, ",")...)
			return nil
		}},
	boolSetting("node-watcher", "these sidecars also emit Events about claims on nodes that fail: `--enable-node-watcher`",
		func(c *volsim.Config) *bool { return &c.NodeWatcher }),
	{"trace-limit", "how many entries the trace keeps, the newest ones; by default all", func(u *setup, value string) error {
		n, err := strconv.Atoi(value)
		if err != nil || n <= 0 {
			return errors.New("want a number above zero")
		}
		u.config.TraceLimit = n
		return nil
	}},
	durationSetting("scheduler.bind-timeout", "how long a pod waits for its claims to be bound; default 10m",
		func(c *volsim.Config) *time.Duration { return &c.Scheduler.BindTimeout }),
	durationSetting("attach.sync-period", "how often the attach/detach controller verifies that volumes are attached; default 1m",
		func(c *volsim.Config) *time.Duration { return &c.Attach.SyncPeriod }),
	{"attach.disable-sync", "disables that verification", func(u *setup, value string) error {
		off, err := strconv.ParseBool(value)
		if err != nil {
			return errors.New("want true or false")
		}
		if off {
			u.config.Attach.SyncPeriod = -1
		}
		return nil
	}},
	boolSetting("attach.disable-force-detach", "`--disable-force-detach-on-timeout`",
		func(c *volsim.Config) *bool { return &c.Attach.DisableForceDetach }),
	durationSetting("attacher.timeout", "timeout of calls of the external attacher; default 15s",
		func(c *volsim.Config) *time.Duration { return &c.Attacher.Timeout }),
	boolSetting("attacher.read-only", "the driver supports read-only attachments",
		func(c *volsim.Config) *bool { return &internals.Options(c).Attacher.PublishReadOnly }),
	durationSetting("provisioner.timeout", "timeout of calls of the external provisioner; default 10s",
		func(c *volsim.Config) *time.Duration { return &c.Provisioner.Timeout }),
	boolSetting("provisioner.no-finalizer", "does not set the external finalizer",
		func(c *volsim.Config) *bool { return &internals.Options(c).Provisioner.NoFinalizer }),
	boolSetting("provisioner.blocking-save", "waits until the PersistentVolume is stored, and deletes the new volume if that fails",
		func(c *volsim.Config) *bool { return &internals.Options(c).Provisioner.BlockingSave }),
	{"provisioner", "`csi`, the default, or `library`: the unmodified sig-storage-lib provisioner", func(u *setup, value string) error {
		switch value {
		case "csi":
			internals.Options(&u.config).Provisioner = options.Provisioner{}
		case "library":
			internals.Options(&u.config).Provisioner = options.Provisioner{Library: true}
		default:
			return errors.New("want csi or library")
		}
		return nil
	}},
	durationSetting("resizer.timeout", "timeout of calls of the external resizer; default 10s",
		func(c *volsim.Config) *time.Duration { return &c.Resizer.Timeout }),
	boolSetting("resizer.ignore-use", "retries even if the driver reported that it cannot expand a volume in use",
		func(c *volsim.Config) *bool { return &internals.Options(c).Resizer.IgnoreUse }),
	durationSetting("kubelet.group-change", "how long applying the fsGroup of a pod to a volume takes",
		func(c *volsim.Config) *time.Duration { return &c.Kubelet.GroupChange }),
	durationSetting("kubelet.stop-time", "how long containers take to exit on SIGTERM",
		func(c *volsim.Config) *time.Duration { return &c.Kubelet.StopTime }),
	durationSetting("kubelet.status-period", "how often a kubelet reports the status of its node; default 10s",
		func(c *volsim.Config) *time.Duration { return &c.Kubelet.StatusPeriod }),
	durationSetting("kubelet.wait-limit", "how long one sync of a pod waits for its volumes; default 2m3s",
		func(c *volsim.Config) *time.Duration { return &c.Kubelet.WaitLimit }),
}

func configHelp() string {
	var out strings.Builder
	for _, s := range settings {
		fmt.Fprintf(&out, "- `%s`: %s\n", s.key, s.help)
	}
	return strings.TrimSuffix(out.String(), "\n")
}

func readConfig(s *Script, args []string) (step, error) {
	if len(args) == 0 {
		return nil, usageOf("config", "missing KEY=VALUE")
	}
	return nil, s.add(func(u *setup) error {
		for _, arg := range args {
			key, value, ok := strings.Cut(arg, "=")
			if !ok {
				return usageOf("config", fmt.Sprintf("invalid argument %q", arg))
			}
			if err := u.set(key, value); err != nil {
				return err
			}
		}
		return nil
	})
}

// oldKeys maps former names of keys to the current ones.
var oldKeys = map[string]string{"added-machines": "manual-nodes"}

func (u *setup) set(key, value string) error {
	if current, ok := oldKeys[key]; ok {
		key = current
	}
	if actor, ok := strings.CutPrefix(key, lagPrefix); ok {
		d, err := ParseDuration(value)
		if err != nil {
			return fmt.Errorf("%s: %w", key, err)
		}
		if u.config.Lag == nil {
			u.config.Lag = make(map[string]time.Duration)
		}
		u.config.Lag[actor] = d
		return nil
	}
	if i := slices.IndexFunc(settings, func(s setting) bool { return s.key == key && s.set != nil }); i >= 0 {
		if err := settings[i].set(u, value); err != nil {
			return fmt.Errorf("%s: %w", key, err)
		}
		return nil
	}
	keys := make([]string, len(settings))
	for i, s := range settings {
		keys[i] = s.key
	}
	return unknownWord("key", key, keys)
}
