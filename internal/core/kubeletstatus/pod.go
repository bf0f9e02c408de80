package kubeletstatus

import (
	"slices"
	"strconv"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Terminal reports whether pods in that phase have ended: Succeeded or Failed.
func Terminal(phase corev1.PodPhase) bool {
	return phase == corev1.PodSucceeded || phase == corev1.PodFailed
}

// Waiting returns the status of a pod whose containers do not run yet (MNT-384). A pod that has statuses of containers keeps them.
func Waiting(pod *corev1.Pod) corev1.PodStatus {
	status := pod.Status
	if len(status.ContainerStatuses) > 0 {
		return status
	}
	// MNT-384: the phase is Pending, whatever the pod waits for.
	status.Phase = corev1.PodPending
	reason := "ContainerCreating"
	initialized := condition(corev1.PodInitialized, corev1.ConditionTrue, "")
	if len(pod.Spec.InitContainers) > 0 {
		reason = "PodInitializing"
		initialized = condition(corev1.PodInitialized, corev1.ConditionFalse, "ContainersNotInitialized")
	}
	state := corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: reason}}
	status.InitContainerStatuses = containerStatuses(pod.Spec.InitContainers, state, false)
	status.ContainerStatuses = containerStatuses(pod.Spec.Containers, state, false)
	status.Conditions = withConditions(status.Conditions,
		condition(corev1.PodReadyToStartContainers, corev1.ConditionFalse, ""),
		initialized,
		condition(corev1.PodReady, corev1.ConditionFalse, "ContainersNotReady"),
		condition(corev1.ContainersReady, corev1.ConditionFalse, "ContainersNotReady"),
	)
	return status
}

// Running returns the status of a pod whose containers run.
func Running(pod *corev1.Pod) corev1.PodStatus {
	status := pod.Status
	if status.Phase == corev1.PodRunning && len(status.ContainerStatuses) > 0 && status.ContainerStatuses[0].State.Running != nil {
		return status
	}
	status.Phase = corev1.PodRunning
	status.InitContainerStatuses = containerStatuses(pod.Spec.InitContainers,
		corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{Reason: "Completed"}}, true)
	status.ContainerStatuses = containerStatuses(pod.Spec.Containers, corev1.ContainerState{Running: &corev1.ContainerStateRunning{}}, true)
	status.Conditions = withConditions(status.Conditions,
		condition(corev1.PodReadyToStartContainers, corev1.ConditionTrue, ""),
		condition(corev1.PodInitialized, corev1.ConditionTrue, ""),
		gatedReady(pod, status.Conditions),
		condition(corev1.ContainersReady, corev1.ConditionTrue, ""),
	)
	return status
}

// StillRunning returns the status of a pod whose containers ran when the kubelet last saw them. A status that says so already stays.
func StillRunning(pod *corev1.Pod) corev1.PodStatus {
	if pod.Status.Phase == corev1.PodRunning {
		return pod.Status
	}
	return Running(pod)
}

// Terminated returns the status of a pod whose containers will not run again. A pod that has ended keeps its phase.
func Terminated(pod *corev1.Pod, phase corev1.PodPhase, reason, message string) corev1.PodStatus {
	status := pod.Status
	if Terminal(status.Phase) {
		phase = status.Phase
	}
	status.Phase = phase
	if reason != "" {
		status.Reason, status.Message = reason, message
	}
	why, code := "PodCompleted", int32(0)
	if phase == corev1.PodFailed {
		why, code = "PodFailed", 1
	}
	state := corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{ExitCode: code,
		Reason: map[bool]string{true: "Completed", false: "Error"}[code == 0]}}
	status.ContainerStatuses = containerStatuses(pod.Spec.Containers, state, false)
	status.Conditions = withConditions(status.Conditions,
		condition(corev1.PodReadyToStartContainers, corev1.ConditionFalse, ""),
		condition(corev1.PodReady, corev1.ConditionFalse, why),
		condition(corev1.ContainersReady, corev1.ConditionFalse, why),
	)
	return status
}

func containerStatuses(containers []corev1.Container, state corev1.ContainerState, ready bool) []corev1.ContainerStatus {
	if len(containers) == 0 {
		return nil
	}
	statuses := make([]corev1.ContainerStatus, 0, len(containers))
	for i := range containers {
		statuses = append(statuses, corev1.ContainerStatus{Name: containers[i].Name, Image: containers[i].Image, State: state, Ready: ready})
	}
	return statuses
}

func condition(kind corev1.PodConditionType, status corev1.ConditionStatus, reason string) corev1.PodCondition {
	return corev1.PodCondition{Type: kind, Status: status, Reason: reason}
}

// kubeletConditions are the conditions that a kubelet reports, in its order. Those of other components come before them.
var kubeletConditions = []corev1.PodConditionType{
	corev1.PodReadyToStartContainers, corev1.PodInitialized, corev1.PodReady, corev1.ContainersReady, corev1.PodScheduled,
}

// withConditions returns a copy of the conditions, in the order of a kubelet, in which the new ones are added, or replace those of their type
// with another status.
func withConditions(conditions []corev1.PodCondition, new ...corev1.PodCondition) []corev1.PodCondition {
	added := 0
	for i := range new {
		if !slices.ContainsFunc(conditions, func(old corev1.PodCondition) bool { return old.Type == new[i].Type }) {
			added++
		}
	}
	conditions = append(make([]corev1.PodCondition, 0, len(conditions)+added), conditions...)
	for _, c := range new {
		at := slices.IndexFunc(conditions, func(old corev1.PodCondition) bool { return old.Type == c.Type })
		switch {
		case at < 0:
			conditions = append(conditions, c)
		case conditions[at].Status != c.Status:
			conditions[at] = c
		}
	}
	slices.SortStableFunc(conditions, func(a, b corev1.PodCondition) int {
		return slices.Index(kubeletConditions, a.Type) - slices.Index(kubeletConditions, b.Type)
	})
	return conditions
}

// Same reports whether a kubelet that has stored one of the statuses need not write the other: conditions, phase and the number of
// containers are equal.
func Same(a, b *corev1.PodStatus) bool {
	return slices.Equal(a.Conditions, b.Conditions) && a.Phase == b.Phase && len(a.ContainerStatuses) == len(b.ContainerStatuses)
}

// The addresses of all nodes and pods: there is no network.
const (
	nodeAddress = "192.0.2.2"
	podAddress  = "192.168.192.168"
)

// Complete adds what a kubelet reports besides the state of the containers: times, generations, addresses and the details of containers.
func Complete(status *corev1.PodStatus, pod *corev1.Pod, now time.Time) {
	at := metav1.NewTime(now.Truncate(time.Second))
	if status.StartTime == nil {
		status.StartTime = &at
	}
	status.ObservedGeneration = pod.Generation
	status.Conditions = unshared(status.Conditions, pod.Status.Conditions)
	status.InitContainerStatuses = unshared(status.InitContainerStatuses, pod.Status.InitContainerStatuses)
	status.ContainerStatuses = unshared(status.ContainerStatuses, pod.Status.ContainerStatuses)
	for i := range status.Conditions {
		c := &status.Conditions[i]
		if c.LastTransitionTime.IsZero() {
			c.LastTransitionTime = at
		}
		if slices.Contains(kubeletConditions, c.Type) {
			c.ObservedGeneration = pod.Generation
		}
	}
	status.HostIP, status.HostIPs = nodeAddress, []corev1.HostIP{{IP: nodeAddress}}
	if pod.Spec.HostNetwork && status.PodIP == "" {
		status.PodIP, status.PodIPs = nodeAddress, []corev1.PodIP{{IP: nodeAddress}}
	}
	if status.Resources == nil {
		status.Resources = &corev1.ResourceRequirements{}
	}
	if status.PodIP == "" && slices.ContainsFunc(status.ContainerStatuses, running) {
		status.PodIP, status.PodIPs = podAddress, []corev1.PodIP{{IP: podAddress}}
	}
	ran := status.PodIP != ""
	completeContainers(status.InitContainerStatuses, pod.Spec.InitContainers, pod, ran, at)
	completeContainers(status.ContainerStatuses, pod.Spec.Containers, pod, ran, at)
}

// unshared returns a list that may be written to: a copy of one that a stored pod has.
func unshared[E any](list, stored []E) []E {
	if len(list) > 0 && len(stored) > 0 && &list[0] == &stored[0] {
		return slices.Clone(list)
	}
	return list
}

func running(status corev1.ContainerStatus) bool { return status.State.Running != nil }

// completeContainers adds the details of containers. ran reports that the pod had an address, and so a container runtime.
func completeContainers(statuses []corev1.ContainerStatus, containers []corev1.Container, pod *corev1.Pod, ran bool, at metav1.Time) {
	for i := range min(len(statuses), len(containers)) {
		status, spec := &statuses[i], &containers[i]
		if status.VolumeMounts == nil {
			status.VolumeMounts = volumeMounts(spec.VolumeMounts)
		}
		if status.State.Waiting != nil || !ran {
			continue
		}
		if status.ContainerID == "" {
			status.ContainerID = "fakeRuntime://" + pod.Name + "_" + pod.Namespace + "_" + string(pod.UID) + "_" + strconv.Itoa(i) + "_" + spec.Name + "_0"
			status.Image = withTag(spec.Image)
			status.ImageID = status.Image
			status.Resources, status.AllocatedResources = spec.Resources.DeepCopy(), spec.Resources.Requests
		}
		if state := status.State.Running; state != nil && state.StartedAt.IsZero() {
			status.State.Running = &corev1.ContainerStateRunning{StartedAt: at}
		}
	}
}

func volumeMounts(mounts []corev1.VolumeMount) []corev1.VolumeMountStatus {
	var statuses []corev1.VolumeMountStatus
	for _, m := range mounts {
		status := corev1.VolumeMountStatus{Name: m.Name, MountPath: m.MountPath, ReadOnly: m.ReadOnly}
		if m.ReadOnly {
			status.RecursiveReadOnly = new(corev1.RecursiveReadOnlyDisabled)
		}
		statuses = append(statuses, status)
	}
	return statuses
}

// withTag returns the name of an image as a container runtime reports it.
func withTag(image string) string {
	if name := image[strings.LastIndex(image, "/")+1:]; image == "" || strings.ContainsAny(name, ":@") {
		return image
	}
	return image + ":latest"
}
