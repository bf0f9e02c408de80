package attach

import (
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/volsim/volsim/internal/core/objects"
)

// DetachFacts are what the decision to detach an undesired volume from a node rests on (ATT-063).
type DetachFacts struct {
	// Mounted: the node uses the volume, as far as is known (ATT-043).
	Mounted bool
	// OutOfService: the node has the taint of that name.
	OutOfService bool
	// Expired: it has been undesired for more than 6 minutes, and forced detaching is not disabled.
	Expired bool
	// Healthy: the node is there and ready.
	Healthy bool
}

// DetachDecision is what follows from DetachFacts.
type DetachDecision struct {
	// Detach: now; else wait.
	Detach bool
	// Verify: only if the node, asked directly, does not use the volume (ATT-103).
	Verify bool
	// Forced: it is detached although the node has it mounted.
	Forced bool
	// Why explains the decision.
	Why string
}

// DecideDetach says whether an undesired volume is detached now (ATT-064).
func DecideDetach(f DetachFacts) DetachDecision {
	// ATT-064: the check is skipped for reasons that have nothing to do with why it is detached; the node's health is none of them.
	verify := !f.OutOfService && !f.Expired
	switch {
	case !f.Mounted:
		return DetachDecision{Detach: true, Verify: verify, Why: "no pod on the node wants the volume, and it is not mounted there"}
	case f.OutOfService:
		return DetachDecision{Detach: true, Forced: true, Why: "no pod on the node wants the volume, and the node is out of service: whether it is mounted does not matter"}
	case f.Expired && !f.Healthy:
		return DetachDecision{Detach: true, Forced: true, Why: "no pod on the node has wanted the volume for more than 6 minutes, and the node is not ready: it is detached by force"}
	case f.Healthy:
		return DetachDecision{Why: "the volume is still mounted on a node that is ready: waiting for as long as it is"}
	}
	return DetachDecision{Why: "the volume is still mounted on a node that is not ready: waiting for 6 minutes at most, unless forced detaching is disabled"}
}

// Healthy reports whether a node is ready; nil is not (ATT-063).
func Healthy(node *corev1.Node) bool {
	if node == nil {
		return false
	}
	for _, condition := range node.Status.Conditions {
		// ATT-063: the first condition of the type decides; Unknown is not ready.
		if condition.Type == corev1.NodeReady {
			return condition.Status == corev1.ConditionTrue
		}
	}
	return false
}

// OutOfService reports whether a node has the taint that says that it will not come back by itself (ATT-063).
func OutOfService(node *corev1.Node) bool {
	if node == nil {
		return false
	}
	for _, taint := range node.Spec.Taints {
		// ATT-063: the key alone counts, and nobody asks whether the node is ready.
		if taint.Key == corev1.TaintNodeOutOfService {
			return true
		}
	}
	return false
}

// multiAttachText is what the Event for one pod says about a volume that it cannot have because pods elsewhere do (ATT-072).
func multiAttachText(spec objects.VolumeSpec, namespace string, blocking []*corev1.Pod) string {
	return fmt.Sprintf("Multi-Attach error for volume %q %s", spec.Name(), blockedBy(namespace, blocking))
}

func blockedBy(namespace string, blocking []*corev1.Pod) string {
	// ATT-072: the pods may be gone already; the node is not named.
	if len(blocking) == 0 {
		return "Volume is already exclusively attached to one node and can't be attached to another"
	}
	var names []string
	others := 0
	for _, pod := range blocking {
		// ATT-072: names are for those who may see them.
		if pod.Namespace == namespace {
			names = append(names, pod.Name)
		} else {
			others++
		}
	}
	switch {
	case len(names) == 0:
		return fmt.Sprintf("Volume is already used by %d pod(s) in different namespaces", others)
	case others > 0:
		return fmt.Sprintf("Volume is already used by pod(s) %s and %d pod(s) in different namespaces", strings.Join(names, ", "), others)
	}
	return "Volume is already used by pod(s) " + strings.Join(names, ", ")
}
