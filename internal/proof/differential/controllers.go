package differential

import (
	"time"

	"github.com/volsim/volsim/internal/core/actors"
)

// followers are the controllers that our side starts with the first object of their kind.
var followers = []string{actors.Namespace, actors.ResourceQuota, actors.StatefulSet, actors.ReplicaSet, actors.Deployment,
	actors.DaemonSet, actors.Job, actors.TTLAfterFinished, actors.Disruption, actors.Snapshot}

// controllersLead is the time of the first step of a scenario with Controllers: the fraction of a second is that of no timer.
const controllersLead = 20*time.Second + firstNodeStep
