package kubelet

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
)

// report is what a kubelet reported in a scenario.
type report struct {
	// After are the statuses of the pods after each step, and Last those of deleted pods.
	After []map[string]string
	Last  map[string]string
	// Events are the Events of the kubelet, without those about images and the starts and ends of containers.
	Events []string
}

func (r report) String() string {
	var b strings.Builder
	list := func(title string, statuses map[string]string) {
		for _, name := range slices.Sorted(maps.Keys(statuses)) {
			fmt.Fprintf(&b, "%s %s: %s\n", title, name, statuses[name])
		}
	}
	for i := range r.After {
		list(fmt.Sprintf("after step %d", i+1), r.After[i])
	}
	list("deleted", r.Last)
	for _, e := range r.Events {
		fmt.Fprintln(&b, e)
	}
	return b.String()
}

// statusOf is the status of a pod in one line, without what is of the runtime: addresses, images, identities and times.
func statusOf(pod *corev1.Pod) string {
	var b strings.Builder
	fmt.Fprint(&b, pod.Status.Phase)
	if pod.DeletionTimestamp != nil {
		fmt.Fprint(&b, " deleting")
	}
	if pod.Status.Reason != "" || pod.Status.Message != "" {
		fmt.Fprintf(&b, " (%s: %s)", pod.Status.Reason, pod.Status.Message)
	}
	if pod.Status.ObservedGeneration != 0 {
		fmt.Fprintf(&b, " generation %d", pod.Status.ObservedGeneration)
	}
	for _, c := range pod.Status.Conditions {
		fmt.Fprintf(&b, "\n  %s=%s", c.Type, c.Status)
		if c.Reason != "" || c.Message != "" {
			fmt.Fprintf(&b, " (%s: %s)", c.Reason, c.Message)
		}
	}
	for _, list := range [][]corev1.ContainerStatus{pod.Status.InitContainerStatuses, pod.Status.ContainerStatuses, pod.Status.EphemeralContainerStatuses} {
		for _, c := range list {
			fmt.Fprintf(&b, "\n  %s ready=%t restarts=%d %s", c.Name, c.Ready, c.RestartCount, stateOf(c.State))
			if c.LastTerminationState != (corev1.ContainerState{}) {
				fmt.Fprintf(&b, ", before %s", stateOf(c.LastTerminationState))
			}
		}
	}
	return b.String()
}

func stateOf(s corev1.ContainerState) string {
	switch {
	case s.Running != nil:
		return "running"
	case s.Terminated != nil:
		return fmt.Sprintf("terminated %s %d %s", s.Terminated.Reason, s.Terminated.ExitCode, s.Terminated.Message)
	case s.Waiting != nil:
		return fmt.Sprintf("waiting %s %s", s.Waiting.Reason, s.Waiting.Message)
	}
	return "nothing"
}

var identity = regexp.MustCompile(`[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}|kube-api-access-[a-z0-9]{5}`)

// eventsOf returns the Events of kubelets, each once.
func eventsOf(events []corev1.Event) []string {
	var lines []string
	for _, e := range events {
		switch e.Reason {
		case "Pulling", "Pulled", "Created", "Started", "Killing":
			continue
		}
		if e.Source.Component == "kubelet" {
			lines = append(lines, fmt.Sprintf("%s %s %s: %s", e.InvolvedObject.Name, e.Type, e.Reason, identity.ReplaceAllString(e.Message, "ID")))
		}
	}
	slices.Sort(lines)
	return slices.Compact(lines)
}
