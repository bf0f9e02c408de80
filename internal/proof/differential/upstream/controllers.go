package upstream

import (
	"context"

	"github.com/volsim/volsim/internal/core/actors"
	"github.com/volsim/volsim/internal/proof/differential/harness"
)

// preparations are the controllers that a scenario with Controllers may have, with the settings of kube-controller-manager.
var preparations = map[string]harness.Prepare{
	actors.StatefulSet:           prepareStatefulSet,
	actors.ReplicaSet:            prepareReplicaSet,
	actors.ReplicationController: prepareReplicationController,
	actors.Deployment:            prepareDeployment,
	actors.DaemonSet:             prepareDaemonSet,
	actors.Job:                   prepareJob,
	actors.TTLAfterFinished:      prepareTTL,
	actors.CronJob:               prepareCronJob,
	actors.Disruption:            prepareDisruption,
	actors.ResourceQuota:         prepareQuota,
	actors.Namespace:             prepareNamespace,
	actors.GarbageCollector:      prepareCollector,
}

func (c *Cluster) startControllers(context.Context) error {
	for _, name := range c.cfg.Controllers {
		if err := c.StartController(name); err != nil {
			return err
		}
	}
	return nil
}
