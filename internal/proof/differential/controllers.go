package differential

import (
	"slices"
	"time"

	"github.com/volsim/volsim/internal/core/actors"
)

// followers are the controllers that our side starts with the first object of their kind, and the garbage collector.
var followers = []string{actors.GarbageCollector, actors.Namespace, actors.ResourceQuota, actors.StatefulSet, actors.ReplicaSet, actors.ReplicationController,
	actors.Deployment, actors.DaemonSet, actors.Job, actors.TTLAfterFinished, actors.CronJob, actors.Disruption, actors.Snapshot}

// controllersLead is the time of the first step of a scenario with Controllers: the fraction of a second is that of no timer.
const controllersLead = 20*time.Second + firstNodeStep

// Quiet reports whether the controllers of the scenario emit hardly any Events.
func (s Scenario) Quiet() bool {
	return len(s.Controllers) > 0 && !slices.ContainsFunc(s.Controllers, func(name string) bool {
		return name != actors.ResourceQuota && name != actors.Namespace && name != actors.GarbageCollector
	})
}
