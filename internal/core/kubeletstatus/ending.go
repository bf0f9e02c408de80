package kubeletstatus

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/volsim/volsim/internal/core/objects"
)

// Ending says how the containers of a pod ended.
type Ending int

const (
	// Exited: they ran, and exited or were stopped.
	Exited Ending = iota
	// Lost: they ran, and the node does not have them any more.
	Lost
	// NeverStarted: they have not run.
	NeverStarted
	// Incomplete: some of them could not be created (MNT-378).
	Incomplete
)

// unknown is how a container ended that the kubelet cannot find.
const (
	unknownReason   = "ContainerStatusUnknown"
	unknownExitCode = 137
)

// What is known of containers that the node does not have (MNT-370, MNT-371). They are shared, like the other parts of a status.
var (
	missing = &corev1.ContainerStateTerminated{Reason: unknownReason, ExitCode: unknownExitCode,
		Message: "The container could not be located when the pod was terminated"}
	lost = &corev1.ContainerStateTerminated{Reason: unknownReason, ExitCode: unknownExitCode,
		Message: "The container could not be located when the pod was deleted.  The container used to be Running"}
)

// Terminated returns the status of a pod whose containers will not run again. A pod that has ended keeps its phase.
func Terminated(l *Lists, pod *corev1.Pod, how Ending, phase corev1.PodPhase, reason, message string) corev1.PodStatus {
	status := pod.Status
	switch {
	case Terminal(status.Phase):
		phase = status.Phase
	case how == NeverStarted && reason == "":
		// MNT-370: it ends when nothing is left of it.
		return Waiting(l, pod)
	case how == Incomplete:
		return stopped(l, pod)
	}
	status.Phase = phase
	if reason != "" {
		status.Reason, status.Message = reason, message
	}
	why, state := "PodCompleted", completed
	if phase == corev1.PodFailed {
		why = "PodFailed"
		if reason == "" {
			state = failed // with a reason, the kubelet stopped them
		}
	}
	switch how {
	case NeverStarted:
		status = withWaiting(status, pod)
	case Lost:
		// MNT-371: the node does not have them, so nobody knows how they ended.
		status.ContainerStatuses = containerStatuses(pod.Spec.Containers, corev1.ContainerState{Waiting: waitingFor(pod)}, false)
		for i := range status.ContainerStatuses {
			status.ContainerStatuses[i].LastTerminationState.Terminated = lost
		}
		status.InitContainerStatuses = runningEnded(status.InitContainerStatuses, lost)
		status.EphemeralContainerStatuses = runningEnded(status.EphemeralContainerStatuses, lost)
	default:
		status.ContainerStatuses = containerStatuses(pod.Spec.Containers, corev1.ContainerState{Terminated: state}, false)
		// MNT-379: sidecars are stopped after the main containers.
		status.InitContainerStatuses = runningEnded(status.InitContainerStatuses, completed)
		status.EphemeralContainerStatuses = runningEnded(status.EphemeralContainerStatuses, state)
	}
	status.Conditions = l.with(status.Conditions,
		condition(corev1.PodReadyToStartContainers, corev1.ConditionFalse, ""),
		condition(corev1.PodReady, corev1.ConditionFalse, why),
		condition(corev1.ContainersReady, corev1.ConditionFalse, why),
	)
	if find(status.Conditions, corev1.PodInitialized) < 0 {
		// MNT-404: a rejected pod has no conditions.
		status.Conditions = l.with(status.Conditions, initializedAs(pod, &status))
	}
	for i := range status.Conditions {
		// One that was False has another reason now.
		switch c := &status.Conditions[i]; {
		case c.Type == corev1.PodReady || c.Type == corev1.ContainersReady:
			c.Reason, c.Message = why, ""
		case c.Type == corev1.PodInitialized && phase == corev1.PodSucceeded:
			// MNT-399: this one gets the reason only if the pod has succeeded.
			c.Status, c.Reason, c.Message = corev1.ConditionTrue, why, ""
		}
	}
	return status
}

// Disrupted adds to the status of a pod that its kubelet has stopped why (MNT-407, MNT-488).
func Disrupted(l *Lists, status corev1.PodStatus, message string) corev1.PodStatus {
	status.Conditions = l.with(status.Conditions, corev1.PodCondition{Type: corev1.DisruptionTarget, Status: corev1.ConditionTrue,
		Reason: corev1.PodReasonTerminationByKubelet, Message: message})
	return status
}

// runningEnded returns the statuses of containers of which those that ran have ended (MNT-376, MNT-379).
func runningEnded(statuses []corev1.ContainerStatus, how *corev1.ContainerStateTerminated) []corev1.ContainerStatus {
	if !slices.ContainsFunc(statuses, running) {
		return statuses
	}
	statuses = slices.Clone(statuses)
	for i := range statuses {
		if running(statuses[i]) {
			statuses[i].State, statuses[i].Ready = corev1.ContainerState{Terminated: how}, false
			if statuses[i].Started != nil {
				statuses[i].Started = new(bool)
			}
		}
	}
	return statuses
}

// waitingFor returns the state of a container that does not run yet (MNT-384).
func waitingFor(pod *corev1.Pod) *corev1.ContainerStateWaiting {
	if len(pod.Spec.InitContainers) > 0 {
		return initializing
	}
	return creating
}

// withWaiting adds the statuses of containers that do not run yet, if there are none.
func withWaiting(status corev1.PodStatus, pod *corev1.Pod) corev1.PodStatus {
	if len(status.ContainerStatuses) == 0 {
		state := corev1.ContainerState{Waiting: waitingFor(pod)}
		status.InitContainerStatuses = containersAs(pod.Spec.InitContainers, state, false)
		status.ContainerStatuses = containerStatuses(pod.Spec.Containers, state, false)
	}
	return status
}

// Final returns the last status of a pod of which nothing is left on its node (MNT-370): each container has ended, and so has the pod. status is what
// the kubelet knows; initialized says whether the pod had been initialized when its end began.
func Final(status corev1.PodStatus, initialized bool, now metav1.Time) corev1.PodStatus {
	if initialized {
		status.ContainerStatuses = allEnded(status.ContainerStatuses, len(status.ContainerStatuses))
	}
	status.InitContainerStatuses = allEnded(status.InitContainerStatuses, attempted(status.InitContainerStatuses))
	if !Terminal(status.Phase) {
		status.Phase = corev1.PodFailed
	}
	if status.StartTime == nil {
		status.StartTime = &now
	}
	return status
}

// allEnded returns the statuses of which the first n have ended.
func allEnded(statuses []corev1.ContainerStatus, n int) []corev1.ContainerStatus {
	at := slices.IndexFunc(statuses[:n], func(c corev1.ContainerStatus) bool { return c.State.Terminated == nil })
	if at < 0 {
		return statuses
	}
	statuses = slices.Clone(statuses)
	for i := at; i < n; i++ {
		if statuses[i].State.Terminated == nil {
			statuses[i].State = corev1.ContainerState{Terminated: missing}
		}
	}
	return statuses
}

// Initialized reports whether a pod has been initialized, as far as its status shows: a container has left the state in which it waits, or its
// last init container has completed or, if it goes on beside the others, has started.
func Initialized(pod *corev1.Pod) bool {
	if len(pod.Spec.InitContainers) == 0 || slices.ContainsFunc(pod.Status.ContainerStatuses, begun) {
		return true
	}
	n := len(pod.Status.InitContainerStatuses)
	if n == 0 || n > len(pod.Spec.InitContainers) {
		return false
	}
	c, spec := &pod.Status.InitContainerStatuses[n-1], &pod.Spec.InitContainers[n-1]
	if objects.IsSidecar(spec) {
		return c.State.Running != nil && c.Started != nil && *c.Started
	}
	return succeeded(c.State) || succeeded(c.LastTerminationState)
}

func succeeded(s corev1.ContainerState) bool {
	return s.Terminated != nil && s.Terminated.ExitCode == 0
}

// begun reports whether a container has ever been started.
func begun(c corev1.ContainerStatus) bool {
	return c.State.Waiting == nil || c.LastTerminationState.Terminated != nil
}

// attempted returns how many init containers have been started: all but those at the end that wait, and always the first.
func attempted(statuses []corev1.ContainerStatus) int {
	for i := len(statuses) - 1; i > 0; i-- {
		if begun(statuses[i]) {
			return i + 1
		}
	}
	return min(1, len(statuses))
}
