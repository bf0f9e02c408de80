package explain

import (
	"strings"

	corev1 "k8s.io/api/core/v1"
)

// bindErrors finds the rule behind what the scheduler said when it had a node for a pod and could not bind it there. The first that is
// part of the message counts.
var bindErrors = []struct{ part, rule string }{
	{"context deadline exceeded", "SCHED-167"},
	{"failed to get node", "SCHED-150"},
	{"pod does not exist any more", "SCHED-151"},
	{"failed to check binding", "SCHED-152"},
	{"node affinity doesn't match node", "SCHED-154"},
	{"ClaimRef got reset for pv", "SCHED-155"},
	{"failed to check provisioning pvc", "SCHED-157"},
	{"selectedNode annotation reset for PVC", "SCHED-159"},
	{"provisioning failed for PVC", "SCHED-160"},
	{"running PreBind plugin", "SCHED-143"},
}

// bindFailure is why the scheduler could not bind a pod to the node it had chosen, at the last attempt; ok is false if it did not come so
// far (SCHED-169).
func bindFailure(pod *corev1.Pod) (rule, message string, ok bool) {
	for _, c := range pod.Status.Conditions {
		// SCHED-230
		if c.Type != corev1.PodScheduled || c.Status != corev1.ConditionFalse || c.Reason != "SchedulerError" {
			continue
		}
		for _, known := range bindErrors {
			if strings.Contains(c.Message, known.part) {
				return known.rule, c.Message, true
			}
		}
		return "SCHED-169", c.Message, true
	}
	return "", "", false
}
