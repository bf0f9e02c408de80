package attach

import (
	"time"

	"github.com/volsim/volsim/trace"
)

// forceDetachAfter is how long a volume that no pod wants may stay mounted on a node that is not ready. After that it is detached by force
// (ATT-063, ATT-064). Kubernetes calls it ReconcilerMaxWaitForUnmountDuration.
const forceDetachAfter = 6 * time.Minute

// DetachFacts are the inputs of DecideDetach, for a volume that is attached to a node and that no pod on the node wants (ATT-063).
type DetachFacts struct {
	// Mounted: the node reports the volume in volumesInUse, or has not reported since it was attached (ATT-043).
	Mounted bool
	// OutOfService: the node has the taint node.kubernetes.io/out-of-service.
	OutOfService bool
	// Expired: no pod has wanted the volume for more than 6 minutes, and forced detaching is not disabled.
	Expired bool
	// Healthy: the node exists and is ready.
	Healthy bool
}

// DecideDetach decides what happens to an attached volume that no pod on the node wants (ATT-064). If the decision is Waiting, the volume stays
// attached for now. The caller fills in Volume, Node and Since. If verify is true, the caller reads the node from the API server first, and
// detaches the volume only if the node does not report it in use (ATT-103).
func DecideDetach(f DetachFacts) (decision trace.Detach, verify bool) {
	// ATT-064: the check is skipped for a node out of service and after 6 minutes, also if the volume is not mounted.
	verify = !f.OutOfService && !f.Expired
	switch {
	case !f.Mounted:
		return trace.Detach{Why: "no pod on the node wants the volume, and it is not mounted there"}, verify
	case f.OutOfService:
		// ATT-064: the taint forces the detachment at once.
		return trace.Detach{Forced: true,
			Why: "no pod on the node wants the volume, and the node is out of service: whether it is mounted does not matter"}, false
	case f.Expired && !f.Healthy:
		// ATT-064: after 6 minutes a node that is not ready cannot keep the volume.
		return trace.Detach{Forced: true,
			Why: "no pod on the node has wanted the volume for more than 6 minutes, and the node is not ready: it is detached by force"}, false
	case f.Healthy:
		// ATT-064: there is no limit for a node that is ready.
		return trace.Detach{Waiting: true, Why: "the volume is still mounted on a node that is ready: waiting for as long as it is"}, false
	}
	return trace.Detach{Waiting: true,
		Why: "the volume is still mounted on a node that is not ready: waiting for 6 minutes at most, unless forced detaching is disabled"}, false
}
