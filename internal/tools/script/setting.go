package script

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/volsim/volsim"
	"github.com/volsim/volsim/reclaim"
)

// setting is a key of config.
type setting struct {
	key, help string
	set       func(u *setup, value string) error
}

func durationSetting(key, help string, field func(*volsim.Config) *time.Duration) setting {
	return setting{key, help, func(u *setup, value string) (err error) {
		*field(&u.config), err = time.ParseDuration(value)
		return err
	}}
}

func boolSetting(key, help string, field func(*volsim.Config) *bool) setting {
	return setting{key, help, func(u *setup, value string) (err error) {
		if value != "true" && value != "false" {
			return errors.New("it is true or false")
		}
		*field(&u.config) = value == "true"
		return nil
	}}
}

// lagPrefix begins the keys of lags, with an actor behind it.
const lagPrefix = "lag."

var settings = []setting{
	{"seed", "chooses the order of what happens at the same instant; 0, the default, keeps the order", func(u *setup, value string) (err error) {
		u.config.Seed, err = strconv.ParseInt(value, 10, 64)
		return err
	}},
	{"start", "the virtual time at which the cluster begins, as 2026-01-01T00:00:00Z", func(u *setup, value string) (err error) {
		u.config.Start, err = time.Parse(time.RFC3339, value)
		return err
	}},
	{lagPrefix + "ACTOR", "how long watch events take to reach that controller", nil},
	{"without", "controllers that do not run, with commas between them; `kubelet` is those of all nodes", func(u *setup, value string) error {
		u.config.Without = append(u.config.Without, strings.Split(value, ",")...)
		return nil
	}},
	{"check", "`all`, or names of invariants with commas between them: a violation that nobody forced fails the line at which it shows; see `violations`", func(u *setup, value string) error {
		found, err := u.watch(value)
		for _, inv := range found {
			u.must = append(u.must, inv.Name)
		}
		return err
	}},
	{"watch", "the same, but a violation is only noted, for `expect violation`", func(u *setup, value string) error {
		_, err := u.watch(value)
		return err
	}},
	durationSetting("latency", "how long each API call of a controller takes", func(c *volsim.Config) *time.Duration { return &c.Latency }),
	durationSetting("settle-limit", "how much virtual time settle may take; 1h unless said", func(c *volsim.Config) *time.Duration { return &c.SettleLimit }),
	durationSetting("resync-period", "that of the PersistentVolume controller; 15s unless said", func(c *volsim.Config) *time.Duration { return &c.ResyncPeriod }),
	boolSetting("disable-provisioning", "switches dynamic provisioning by the PersistentVolume controller off", func(c *volsim.Config) *bool { return &c.DisableProvisioning }),
	boolSetting("added-machines", "leaves it to `node add` which nodes have a machine; else every Node object gets one", func(c *volsim.Config) *bool { return &c.AddedMachines }),
	boolSetting("full-resync", "has the PersistentVolume controller look at every object at each resync; the outcome is the same", func(c *volsim.Config) *bool { return &c.FullResync }),
	durationSetting("scheduler.bind-timeout", "how long a pod waits for its claims to be bound; 10m unless said", func(c *volsim.Config) *time.Duration { return &c.Scheduler.BindTimeout }),
	durationSetting("attach.sync-period", "how often the attach/detach controller looks whether what should be attached is; 1m unless said", func(c *volsim.Config) *time.Duration { return &c.Attach.SyncPeriod }),
	boolSetting("attach.disable-sync", "switches that off", func(c *volsim.Config) *bool { return &c.Attach.DisableSync }),
	boolSetting("attach.disable-force-detach", "`--disable-force-detach-on-timeout`", func(c *volsim.Config) *bool { return &c.Attach.DisableForceDetach }),
	durationSetting("attacher.timeout", "how long the external attacher waits for a call; 15s unless said", func(c *volsim.Config) *time.Duration { return &c.Attacher.Timeout }),
	boolSetting("attacher.read-only", "the driver can attach for reading only", func(c *volsim.Config) *bool { return &c.Attacher.PublishReadOnly }),
	durationSetting("provisioner.timeout", "how long the external provisioner waits for a call; 10s unless said", func(c *volsim.Config) *time.Duration { return &c.Provisioner.Timeout }),
	boolSetting("provisioner.no-finalizer", "leaves out the external finalizer", func(c *volsim.Config) *bool { return &c.Provisioner.NoFinalizer }),
	boolSetting("provisioner.blocking-save", "has the claim wait until its volume is stored, and deletes the asset if that fails", func(c *volsim.Config) *bool { return &c.Provisioner.BlockingSave }),
	{"provisioner", "`csi`, the default, or `library`: that of the library as it comes", func(u *setup, value string) error {
		switch value {
		case "csi":
			u.config.Provisioner = reclaim.ProvisionerConfig{}
		case "library":
			u.config.Provisioner = reclaim.LibraryProvisioner()
		default:
			return errors.New("it is csi or library")
		}
		return nil
	}},
	durationSetting("resizer.timeout", "how long the external resizer waits for a call; 10s unless said", func(c *volsim.Config) *time.Duration { return &c.Resizer.Timeout }),
	boolSetting("resizer.ignore-use", "has the driver asked again although it said that it cannot expand a volume in use", func(c *volsim.Config) *bool { return &c.Resizer.IgnoreUse }),
	durationSetting("kubelet.group-change", "how long it takes to give the files of a volume to the group that a pod wants", func(c *volsim.Config) *time.Duration { return &c.Kubelet.GroupChange }),
	durationSetting("kubelet.stop-time", "how long containers take to exit when they are told to", func(c *volsim.Config) *time.Duration { return &c.Kubelet.StopTime }),
	durationSetting("kubelet.status-period", "the time between two reports of a node; 10s unless said", func(c *volsim.Config) *time.Duration { return &c.Kubelet.StatusPeriod }),
	durationSetting("kubelet.wait-limit", "how long a pod waits for its volumes at a time; 2m3s unless said", func(c *volsim.Config) *time.Duration { return &c.Kubelet.WaitLimit }),
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
		return nil, usageOf("config", "it is not said what to set")
	}
	return nil, s.add(func(u *setup) error {
		for _, arg := range args {
			key, value, ok := strings.Cut(arg, "=")
			if !ok {
				return usageOf("config", fmt.Sprintf("%q has no =", arg))
			}
			if err := u.set(key, value); err != nil {
				return err
			}
		}
		return nil
	})
}

func (u *setup) set(key, value string) error {
	if actor, ok := strings.CutPrefix(key, lagPrefix); ok {
		d, err := time.ParseDuration(value)
		if err != nil {
			return fmt.Errorf("%s: %w", key, err)
		}
		if u.config.Lag == nil {
			u.config.Lag = make(map[string]time.Duration)
		}
		u.config.Lag[actor] = d
		return nil
	}
	keys := make([]string, len(settings))
	for i, s := range settings {
		keys[i] = s.key
		if s.key != key || s.set == nil {
			continue
		}
		if err := s.set(u, value); err != nil {
			return fmt.Errorf("%s: %w", key, err)
		}
		return nil
	}
	return fmt.Errorf("there is no key %q: there are %s", key, strings.Join(keys, ", "))
}
