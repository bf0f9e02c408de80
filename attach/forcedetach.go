package attach

import "time"

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

// DetachDecision is the result of DecideDetach.
type DetachDecision struct {
	// Detach: the volume is detached now; else the controller waits.
	Detach bool
	// Verify: it is detached only if the node, read from the API server, does not report it in use (ATT-103).
	Verify bool
	// Forced: it is detached although the node has it mounted.
	Forced bool
	// Why explains the decision in one sentence.
	Why string
}

// DecideDetach decides whether a volume that no pod wants is detached now (ATT-064).
func DecideDetach(f DetachFacts) DetachDecision {
	// ATT-064: the check is skipped for a node out of service and after 6 minutes, also if the volume is not mounted.
	verify := !f.OutOfService && !f.Expired
	switch {
	case !f.Mounted:
		return DetachDecision{Detach: true, Verify: verify, Why: "no pod on the node wants the volume, and it is not mounted there"}
	case f.OutOfService:
		// ATT-064: the taint forces the detachment at once.
		return DetachDecision{Detach: true, Forced: true,
			Why: "no pod on the node wants the volume, and the node is out of service: whether it is mounted does not matter"}
	case f.Expired && !f.Healthy:
		// ATT-064: after 6 minutes a node that is not ready cannot keep the volume.
		return DetachDecision{Detach: true, Forced: true,
			Why: "no pod on the node has wanted the volume for more than 6 minutes, and the node is not ready: it is detached by force"}
	case f.Healthy:
		// ATT-064: there is no limit for a node that is ready.
		return DetachDecision{Why: "the volume is still mounted on a node that is ready: waiting for as long as it is"}
	}
	return DetachDecision{
		Why: "the volume is still mounted on a node that is not ready: waiting for 6 minutes at most, unless forced detaching is disabled"}
}
