package volsim

import (
	"fmt"
	"slices"

	"github.com/volsim/volsim/binder"
	"github.com/volsim/volsim/reclaim"
)

type controller struct {
	name  string
	start func(c *Cluster) error
}

// controllers are the parts of the control plane, in the order in which they start, under the names of their actors.
var controllers = []controller{
	{binder.ActorName, (*Cluster).startBinder},
	{reclaim.PVProtectionName, func(c *Cluster) error {
		_, err := reclaim.NewPVProtection(c.engine, reclaim.PVProtectionConfig{})
		return err
	}},
	{reclaim.PVCProtectionName, func(c *Cluster) error {
		_, err := reclaim.NewPVCProtection(c.engine, reclaim.PVCProtectionConfig{})
		return err
	}},
	{reclaim.EphemeralName, func(c *Cluster) error {
		_, err := reclaim.NewEphemeral(c.engine, reclaim.EphemeralConfig{})
		return err
	}},
	{reclaim.GarbageCollectorName, func(c *Cluster) error {
		_, err := reclaim.NewGarbageCollector(c.engine, reclaim.GarbageCollectorConfig{})
		return err
	}},
	{reclaim.PodRunnerName, func(c *Cluster) error {
		_, err := reclaim.NewPodRunner(c.engine, reclaim.PodRunnerConfig{Backends: c.backends})
		return err
	}},
}

// startControllers adds every controller that Config.Without does not leave out.
func (c *Cluster) startControllers() error {
	for _, name := range c.cfg.Without {
		if !slices.ContainsFunc(controllers, func(other controller) bool { return other.name == name }) {
			return fmt.Errorf("volsim: Config.Without names %q: there is no such controller", name)
		}
	}
	for _, controller := range controllers {
		if slices.Contains(c.cfg.Without, controller.name) {
			continue
		}
		if err := controller.start(c); err != nil {
			return fmt.Errorf("volsim: start %s: %w", controller.name, err)
		}
	}
	return nil
}

// startBinder adds the PersistentVolume controller with its reclaiming half. This is where the two meet.
func (c *Cluster) startBinder() error {
	_, err := binder.New(c.engine, binder.Config{
		Backends:            c.backends,
		ResyncPeriod:        c.cfg.ResyncPeriod,
		FullResync:          c.cfg.FullResync,
		DisableProvisioning: c.cfg.DisableProvisioning,
		NewReclaimer: func(host *binder.Controller) binder.Reclaimer {
			return reclaim.NewReclaimer(host, c.backends, reclaim.Config{Migrated: binder.MigratedDriver})
		},
	})
	return err
}
