package kubectl

import (
	"fmt"
	"slices"
	"strconv"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/duration"

	"github.com/volsim/volsim/internal/core/objects"
)

// podSummary summarizes the containers of a pod for the table of pods.
type podSummary struct {
	status     string
	containers string // ready/all
	restarts   int
	lastStop   time.Time // when a restarted container last ended; zero if unknown
}

// restarted returns the number of restarts, and how long ago the last one was.
func (s podSummary) restarted(now time.Time) string {
	text := strconv.Itoa(s.restarts)
	if s.restarts != 0 && !s.lastStop.IsZero() {
		text += " (" + duration.HumanDuration(now.Sub(s.lastStop)) + " ago)"
	}
	return text
}

// count adds the restarts of a container.
func (s *podSummary) count(c corev1.ContainerStatus) {
	s.restarts += int(c.RestartCount)
	if last := c.LastTerminationState.Terminated; last != nil && last.FinishedAt.After(s.lastStop) {
		s.lastStop = last.FinishedAt.Time
	}
}

// summarize summarizes a pod: init containers first; once they are done, or if there are none, the others.
func summarize(pod *corev1.Pod) podSummary {
	s := podSummary{status: string(pod.Status.Phase)}
	if pod.Status.Reason != "" {
		s.status = pod.Status.Reason
	}
	for _, c := range pod.Status.Conditions {
		if c.Type == corev1.PodScheduled && c.Reason == corev1.PodReasonSchedulingGated {
			s.status = corev1.PodReasonSchedulingGated
		}
	}
	ready, all := 0, len(pod.Spec.Containers)
	sidecars := map[string]bool{}
	for i := range pod.Spec.InitContainers {
		if c := &pod.Spec.InitContainers[i]; objects.IsSidecar(c) {
			sidecars[c.Name] = true
			all++
		}
	}
	initializing := false
	var ofSidecars podSummary
	for i, c := range pod.Status.InitContainerStatuses {
		s.count(c)
		sidecar := sidecars[c.Name]
		if sidecar {
			ofSidecars.count(c)
		}
		if c.State.Terminated != nil && c.State.Terminated.ExitCode == 0 {
			continue
		}
		if sidecar && c.Started != nil && *c.Started {
			if c.Ready {
				ready++
			}
			continue
		}
		initializing = true
		switch {
		case c.State.Terminated != nil:
			s.status = "Init:" + endOf(c.State.Terminated)
		case c.State.Waiting != nil && c.State.Waiting.Reason != "" && c.State.Waiting.Reason != "PodInitializing":
			s.status = "Init:" + c.State.Waiting.Reason
		default:
			s.status = fmt.Sprintf("Init:%d/%d", i, len(pod.Spec.InitContainers))
		}
		break
	}
	if !initializing || hasCondition(pod, corev1.PodInitialized) {
		s.restarts, s.lastStop = ofSidecars.restarts, ofSidecars.lastStop
		ready += s.addContainers(pod)
	}
	s.containers = fmt.Sprintf("%d/%d", ready, all)
	const unreachable = "NodeLost"
	ended := pod.Status.Phase == corev1.PodSucceeded || pod.Status.Phase == corev1.PodFailed
	if pod.DeletionTimestamp != nil && pod.Status.Reason == unreachable {
		s.status = "Unknown"
	} else if pod.DeletionTimestamp != nil && !ended {
		s.status = "Terminating"
	}
	return s
}

// addContainers adds the containers that are no init containers, and returns how many of them are ready.
func (s *podSummary) addContainers(pod *corev1.Pod) (ready int) {
	running, failure := false, ""
	for _, c := range slices.Backward(pod.Status.ContainerStatuses) {
		s.count(c)
		switch {
		case c.State.Waiting != nil && c.State.Waiting.Reason != "":
			s.status = c.State.Waiting.Reason
		case c.State.Terminated != nil:
			s.status = endOf(c.State.Terminated)
			if c.State.Terminated.ExitCode != 0 {
				failure = s.status
			}
		case c.Ready && c.State.Running != nil:
			running = true
			ready++
		}
	}
	if s.status == "Completed" {
		switch {
		case running && hasCondition(pod, corev1.PodReady):
			s.status = "Running"
		case failure != "":
			s.status = failure
		case running:
			s.status = "NotReady"
		}
	}
	return ready
}

// endOf returns how a container ended.
func endOf(t *corev1.ContainerStateTerminated) string {
	switch {
	case t.Reason != "":
		return t.Reason
	case t.Signal != 0:
		return fmt.Sprintf("Signal:%d", t.Signal)
	}
	return fmt.Sprintf("ExitCode:%d", t.ExitCode)
}

func hasCondition(pod *corev1.Pod, kind corev1.PodConditionType) bool {
	for _, c := range pod.Status.Conditions {
		if c.Type == kind {
			return c.Status == corev1.ConditionTrue
		}
	}
	return false
}

func readinessGates(pod *corev1.Pod) any {
	if len(pod.Spec.ReadinessGates) == 0 {
		return "<none>"
	}
	passed := 0
	for _, gate := range pod.Spec.ReadinessGates {
		if hasCondition(pod, gate.ConditionType) {
			passed++
		}
	}
	return fmt.Sprintf("%d/%d", passed, len(pod.Spec.ReadinessGates))
}
