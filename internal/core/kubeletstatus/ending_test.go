package kubeletstatus

import (
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// TestEnding: what becomes of containers that have no end of their own (TerminatePod, hasPodInitialized, initializedContainers,
// convertToAPIContainerStatuses).
func TestEnding(t *testing.T) {
	now := metav1.NewTime(time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC))
	waiting := corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: "PodInitializing"}}
	creatingState := corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: "ContainerCreating"}}
	runs := corev1.ContainerState{Running: &corev1.ContainerStateRunning{}}
	exited := func(code int32) corev1.ContainerState {
		return corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{ExitCode: code}}
	}
	const gone, used = "The container could not be located when the pod was terminated",
		"The container could not be located when the pod was deleted.  The container used to be Running"
	unknown := func(text string) corev1.ContainerState {
		return corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{Reason: "ContainerStatusUnknown", ExitCode: 137, Message: text}}
	}
	type list []corev1.ContainerState
	for _, tc := range []struct {
		rule, name          string
		init, main          list
		sidecar             bool // the init containers go on beside the others
		how                 Ending
		phase               corev1.PodPhase
		reason              string
		wantPhase           corev1.PodPhase
		wantInit, want      list
		wantLast            corev1.ContainerState
		wantContainersReady string
	}{
		{"MNT-370", "never started", nil, list{creatingState}, false, NeverStarted, corev1.PodPending, "", corev1.PodFailed, nil, list{unknown(gone)},
			corev1.ContainerState{}, "ContainersNotReady"},
		{"MNT-370", "rejected before that", nil, list{creatingState}, false, NeverStarted, corev1.PodPending, "Full", corev1.PodFailed, nil, list{unknown(gone)},
			corev1.ContainerState{}, "PodFailed"},
		{"MNT-370", "not initialized: the first init container counts as started", list{waiting, waiting}, list{waiting}, false, NeverStarted, corev1.PodPending,
			"", corev1.PodFailed, list{unknown(gone), waiting}, list{waiting}, corev1.ContainerState{}, "ContainersNotReady"},
		{"MNT-370", "an init container has failed", list{exited(1), waiting}, list{waiting}, false, NeverStarted, corev1.PodPending,
			"", corev1.PodFailed, list{exited(1), waiting}, list{waiting}, corev1.ContainerState{}, "ContainersNotReady"},
		{"MNT-370", "the second runs", list{exited(0), runs}, list{waiting}, false, NeverStarted, corev1.PodPending,
			"", corev1.PodFailed, list{exited(0), unknown(gone)}, list{waiting}, corev1.ContainerState{}, "ContainersNotReady"},
		{"MNT-370", "initialized, not started", list{exited(0)}, list{waiting}, false, NeverStarted, corev1.PodPending,
			"", corev1.PodFailed, list{exited(0)}, list{unknown(gone)}, corev1.ContainerState{}, "ContainersNotReady"},
		{"MNT-370", "a sidecar has started", list{runs}, list{waiting}, true, NeverStarted, corev1.PodPending,
			"", corev1.PodFailed, list{unknown(gone)}, list{unknown(gone)}, corev1.ContainerState{}, "ContainersNotReady"},
		{"MNT-370", "one has ended", nil, list{exited(3), creatingState}, false, NeverStarted, corev1.PodSucceeded, "", corev1.PodSucceeded, nil,
			list{exited(3), unknown(gone)}, corev1.ContainerState{}, "PodCompleted"},
		{"MNT-387", "all have", nil, list{runs}, false, Exited, corev1.PodRunning, "", corev1.PodFailed, nil,
			list{{Terminated: &corev1.ContainerStateTerminated{Reason: "Error", ExitCode: 1}}}, corev1.ContainerState{}, "PodFailed"},
		{"MNT-371", "they are lost", nil, list{runs}, false, Lost, corev1.PodRunning, "", corev1.PodFailed, nil, list{unknown(gone)}, unknown(used), "PodFailed"},
	} {
		t.Run(tc.rule+" "+tc.name, func(t *testing.T) {
			pod := &corev1.Pod{}
			pod.Status.Phase = tc.phase
			if tc.phase == corev1.PodPending {
				pod.Status.Conditions = []corev1.PodCondition{{Type: corev1.ContainersReady, Status: corev1.ConditionFalse, Reason: "ContainersNotReady"}}
			}
			fill := func(states list) (specs []corev1.Container, statuses []corev1.ContainerStatus) {
				for i, s := range states {
					name := string(rune('a' + i))
					specs = append(specs, corev1.Container{Name: name})
					statuses = append(statuses, corev1.ContainerStatus{Name: name, State: s, Started: new(s.Running != nil)})
				}
				return specs, statuses
			}
			pod.Spec.InitContainers, pod.Status.InitContainerStatuses = fill(tc.init)
			pod.Spec.Containers, pod.Status.ContainerStatuses = fill(tc.main)
			for i := range pod.Spec.InitContainers {
				if tc.sidecar {
					pod.Spec.InitContainers[i].RestartPolicy = new(corev1.ContainerRestartPolicyAlways)
				}
			}
			status := Terminated(nil, pod, tc.how, corev1.PodFailed, tc.reason, "")
			status = Final(status, Initialized(pod), now)
			states := func(statuses []corev1.ContainerStatus) (states list) {
				for _, s := range statuses {
					states = append(states, s.State)
				}
				return states
			}
			check := func(what string, got, want any) {
				t.Helper()
				if diff := cmp.Diff(want, got); diff != "" {
					t.Errorf("%s: %s (-want +got):\n%s", tc.rule, what, diff)
				}
			}
			check("phase", status.Phase, tc.wantPhase)
			check("init containers", states(status.InitContainerStatuses), tc.wantInit)
			check("containers", states(status.ContainerStatuses), tc.want)
			check("last state", status.ContainerStatuses[0].LastTerminationState, tc.wantLast)
			at := slices.IndexFunc(status.Conditions, func(c corev1.PodCondition) bool { return c.Type == corev1.ContainersReady })
			if at >= 0 || tc.phase == corev1.PodPending {
				check("ContainersReady", status.Conditions[at].Reason, tc.wantContainersReady)
			}
		})
	}
}
