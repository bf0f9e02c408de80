package kubeletstatus

import (
	"slices"

	corev1 "k8s.io/api/core/v1"

	"github.com/volsim/volsim/internal/core/objects"
)

// Failure says that a container cannot be created, and why.
type Failure struct{ Container, Message string }

// configError is the reason of a container that cannot be created (MNT-378).
const configError = "CreateContainerConfigError"

// Failing returns the status of a pod some of whose containers cannot be created (MNT-378): an init container that fails holds back all after it,
// and a main container holds back none.
func Failing(l *Lists, pod *corev1.Pod, failures []Failure) corev1.PodStatus {
	status := pod.Status
	if status.Phase != corev1.PodRunning {
		status.Phase = corev1.PodPending
	}
	inits := pod.Spec.InitContainers
	failed := slices.IndexFunc(inits, func(c corev1.Container) bool { return c.Name == failures[0].Container })
	if failed < 0 {
		status.InitContainerStatuses = initialized(inits)
		status.ContainerStatuses = containerStatuses(pod.Spec.Containers, corev1.ContainerState{Running: started}, true)
	} else {
		waits := corev1.ContainerState{Waiting: initializing}
		status.InitContainerStatuses = append(initialized(inits[:failed]), containersAs(inits[failed:], waits, false)...)
		status.ContainerStatuses = containerStatuses(pod.Spec.Containers, waits, false)
	}
	for _, f := range failures {
		for _, statuses := range [][]corev1.ContainerStatus{status.InitContainerStatuses, status.ContainerStatuses} {
			for i := range statuses {
				if statuses[i].Name == f.Container {
					statuses[i].State = corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: configError, Message: f.Message}}
					statuses[i].Ready = false
				}
			}
		}
	}
	ready, containersReady := notReady(pod, &status)
	status.Conditions = l.replace(status.Conditions, condition(corev1.PodReadyToStartContainers, corev1.ConditionTrue, ""), initializedAs(pod, &status), ready,
		containersReady)
	return withEphemeral(status, pod)
}

// stopped returns the status of a pod some of whose containers ran, and are stopped, while others could not be created (MNT-378): those just wait,
// and are said to be missing when nothing of the pod is left.
func stopped(l *Lists, pod *corev1.Pod) corev1.PodStatus {
	status := pod.Status
	waits := waitingFor(pod)
	for _, list := range []*[]corev1.ContainerStatus{&status.InitContainerStatuses, &status.ContainerStatuses, &status.EphemeralContainerStatuses} {
		statuses := slices.Clone(runningEnded(*list, completed))
		for i := range statuses {
			if fails(statuses[i]) {
				statuses[i].State.Waiting = waits
			}
		}
		*list = statuses
	}
	ready, containersReady := notReady(pod, &status)
	status.Conditions = l.replace(status.Conditions, condition(corev1.PodReadyToStartContainers, corev1.ConditionFalse, ""), ready, containersReady)
	return status
}

// fails reports whether a container cannot be created.
func fails(s corev1.ContainerStatus) bool {
	return s.State.Waiting != nil && s.State.Waiting.Reason == configError
}

// Fails reports whether a container of a pod cannot be created, as its status says.
func Fails(status *corev1.PodStatus) bool {
	return slices.ContainsFunc(status.InitContainerStatuses, fails) || slices.ContainsFunc(status.ContainerStatuses, fails)
}

// initialized returns the statuses of init containers that have done their work: sidecars run, the others have completed (MNT-379).
func initialized(containers []corev1.Container) []corev1.ContainerStatus {
	statuses := containersAs(containers, corev1.ContainerState{Terminated: completed}, true)
	for i := range statuses {
		if objects.IsSidecar(&containers[i]) {
			statuses[i].State, statuses[i].Started = corev1.ContainerState{Running: started}, new(true)
		}
	}
	return statuses
}

// initializedAs returns the condition Initialized of a pod with these statuses (MNT-384).
func initializedAs(pod *corev1.Pod, status *corev1.PodStatus) corev1.PodCondition {
	missing := unready(nil, pod.Spec.InitContainers, status.InitContainerStatuses, func(*corev1.Container) bool { return true })
	if len(missing) == 0 {
		return condition(corev1.PodInitialized, corev1.ConditionTrue, "")
	}
	c := condition(corev1.PodInitialized, corev1.ConditionFalse, "ContainersNotInitialized")
	c.Message = named("containers with incomplete status: ", missing)
	return c
}

// notReady returns the conditions Ready and ContainersReady of a pod with these statuses, some of which are not ready. A message names the containers, sidecars
// first (MNT-384).
func notReady(pod *corev1.Pod, status *corev1.PodStatus) (ready, containersReady corev1.PodCondition) {
	var room [8]string
	names := unready(room[:0], pod.Spec.InitContainers, status.InitContainerStatuses, objects.IsSidecar)
	names = unready(names, pod.Spec.Containers, status.ContainerStatuses, func(*corev1.Container) bool { return true })
	const reason = "ContainersNotReady"
	ready, containersReady = condition(corev1.PodReady, corev1.ConditionFalse, reason), condition(corev1.ContainersReady, corev1.ConditionFalse, reason)
	ready.Message = named("containers with unready status: ", names)
	containersReady.Message = ready.Message
	return ready, containersReady
}

// unready appends the names of containers that count and are not ready.
func unready(names []string, containers []corev1.Container, statuses []corev1.ContainerStatus, counts func(*corev1.Container) bool) []string {
	for i := range containers {
		c := &containers[i]
		isReady := func(s corev1.ContainerStatus) bool { return s.Name == c.Name && s.Ready }
		if counts(c) && !slices.ContainsFunc(statuses, isReady) {
			names = append(names, c.Name)
		}
	}
	return names
}

// named returns a text with names after it, in brackets.
func named(text string, names []string) string {
	var room [256]byte
	b := append(append(room[:0], text...), '[')
	for i, name := range names {
		if i > 0 {
			b = append(b, ' ')
		}
		b = append(b, name...)
	}
	return string(append(b, ']'))
}
