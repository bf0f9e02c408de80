package mount

import (
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/volsim/volsim/engine"
	"github.com/volsim/volsim/store"
)

// computed is a status worked out from the pod as it is; unchanged says that there is nothing to write.
type computed func(pod *corev1.Pod) corev1.PodStatus

// waitingStatus is that of a pod whose containers do not run yet (MNT-384). One that has a status of containers keeps it.
func waitingStatus(pod *corev1.Pod) corev1.PodStatus {
	status := pod.Status
	if len(status.ContainerStatuses) > 0 {
		return status
	}
	// MNT-384: Pending, whatever it waits for.
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

// runningStatus is that of a pod whose containers run.
func runningStatus(pod *corev1.Pod) corev1.PodStatus {
	status := pod.Status
	if status.Phase == corev1.PodRunning && len(status.ContainerStatuses) > 0 && status.ContainerStatuses[0].State.Running != nil {
		return status
	}
	status.Phase = corev1.PodRunning
	status.InitContainerStatuses = containerStatuses(pod.Spec.InitContainers, corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{Reason: "Completed"}}, true)
	status.ContainerStatuses = containerStatuses(pod.Spec.Containers, corev1.ContainerState{Running: &corev1.ContainerStateRunning{}}, true)
	status.Conditions = withConditions(status.Conditions,
		condition(corev1.PodReadyToStartContainers, corev1.ConditionTrue, ""),
		condition(corev1.PodInitialized, corev1.ConditionTrue, ""),
		condition(corev1.PodReady, corev1.ConditionTrue, ""),
		condition(corev1.ContainersReady, corev1.ConditionTrue, ""),
	)
	return status
}

// stillRunningStatus is that of a pod whose containers ran before: once it is told, nothing more is known of them.
func stillRunningStatus(pod *corev1.Pod) corev1.PodStatus {
	if pod.Status.Phase == corev1.PodRunning {
		return pod.Status
	}
	return runningStatus(pod)
}

// terminatedStatus is that of a pod whose containers will not run again.
func terminatedStatus(pod *corev1.Pod, phase corev1.PodPhase, reason, message string) corev1.PodStatus {
	status := pod.Status
	if terminal(status.Phase) {
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
	state := corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{ExitCode: code, Reason: map[bool]string{true: "Completed", false: "Error"}[code == 0]}}
	status.ContainerStatuses = containerStatuses(pod.Spec.Containers, state, false)
	status.Conditions = withConditions(status.Conditions,
		condition(corev1.PodReadyToStartContainers, corev1.ConditionFalse, ""),
		condition(corev1.PodReady, corev1.ConditionFalse, why),
		condition(corev1.ContainersReady, corev1.ConditionFalse, why),
	)
	return status
}

func containerStatuses(containers []corev1.Container, state corev1.ContainerState, ready bool) []corev1.ContainerStatus {
	var statuses []corev1.ContainerStatus
	for i := range containers {
		statuses = append(statuses, corev1.ContainerStatus{Name: containers[i].Name, Image: containers[i].Image, State: state, Ready: ready})
	}
	return statuses
}

func condition(kind corev1.PodConditionType, status corev1.ConditionStatus, reason string) corev1.PodCondition {
	return corev1.PodCondition{Type: kind, Status: status, Reason: reason}
}

// withConditions is a copy of the conditions with some of them replaced or added.
func withConditions(conditions []corev1.PodCondition, new ...corev1.PodCondition) []corev1.PodCondition {
	conditions = slices.Clone(conditions)
	for _, c := range new {
		at := slices.IndexFunc(conditions, func(old corev1.PodCondition) bool { return old.Type == c.Type })
		switch {
		case at < 0:
			conditions = append(conditions, c)
		case conditions[at].Status != c.Status:
			conditions[at] = c
		}
	}
	return conditions
}

// stamp gives conditions and the pod the times that are new.
func stamp(status *corev1.PodStatus, now time.Time) {
	at := metav1.NewTime(now.Truncate(time.Second))
	if status.StartTime == nil {
		status.StartTime = &at
	}
	for i := range status.Conditions {
		if status.Conditions[i].LastTransitionTime.IsZero() {
			status.Conditions[i].LastTransitionTime = at
		}
	}
}

// errOtherPod says that a pod of the name is another one by now.
var errOtherPod = fmt.Errorf("the pod is gone")

// writeStatus writes a status of the pod.
func (w *worker) writeStatus(p *engine.Proc, compute computed) error {
	var err error
	for range statusTries {
		err = w.tryStatus(p, compute)
		if !apierrors.IsConflict(err) {
			break
		}
	}
	return err
}

func (w *worker) tryStatus(p *engine.Proc, compute computed) error {
	key := store.KeyOf(w.pod)
	pod, err := reach(w.k, func() (*corev1.Pod, error) { return p.API().Pods.Get(p, key) })
	if err != nil {
		return err
	}
	if pod.UID != w.uid {
		return errOtherPod
	}
	status := compute(pod)
	if slices.Equal(status.Conditions, pod.Status.Conditions) && status.Phase == pod.Status.Phase &&
		len(status.ContainerStatuses) == len(pod.Status.ContainerStatuses) {
		return nil
	}
	stamp(&status, p.Now())
	changed := *pod
	changed.Status = status
	_, err = reach(w.k, func() (*corev1.Pod, error) { return p.API().Pods.UpdateStatus(p, &changed) })
	return err
}

// publish writes the status of a pod that goes on. One that could not be written is tried again later, whether or not the pod is synced
// by then.
func (w *worker) publish(p *engine.Proc, compute computed) {
	err := w.writeStatus(p, compute)
	w.unwritten = err != nil && err != errOtherPod && !apierrors.IsNotFound(err)
	if !w.unwritten || w.publishing {
		return
	}
	w.publishing = true
	again, name := w.k.actor.After, "status of pod "+store.KeyOf(w.pod)
	if w.k.node.partitioned {
		again = w.k.actor.Background
	}
	again(w.k.cfg.RetryPeriod, name, func(p *engine.Proc) {
		w.publishing = false
		if w.unwritten && !w.ending {
			w.publish(p, w.currentStatus)
		}
	})
}

// currentStatus is that of a pod whose containers run, or do not run yet. Of one that ends others tell.
func (w *worker) currentStatus(pod *corev1.Pod) corev1.PodStatus {
	switch {
	case w.ending:
		return pod.Status
	case w.k.node.runtime.runs(w.uid):
		return runningStatus(pod)
	}
	return waitingStatus(pod)
}

// persist is writeStatus until it is written, or the pod is gone.
func (w *worker) persist(p *engine.Proc, compute computed) {
	for !w.gone {
		err := w.writeStatus(p, compute)
		if err == nil || err == errOtherPod || apierrors.IsNotFound(err) {
			return
		}
		w.k.retryLater(p)
	}
}
