package job

import (
	"fmt"
	"slices"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
)

// match is the rule of a podFailurePolicy that decides about a failed pod. Without a rule, its action is "".
type match struct {
	action batchv1.PodFailurePolicyAction
	// text says why the Job fails, for action FailJob.
	text string
}

// counts reports whether the failure counts for the limits (JOB-102).
func (m match) counts() bool { return m.action != batchv1.PodFailurePolicyActionIgnore }

// matchFailure returns the first rule of the Job's podFailurePolicy that applies to a failed pod (JOB-100).
func matchFailure(job *batchv1.Job, pod *corev1.Pod) match {
	if job.Spec.PodFailurePolicy == nil {
		return match{}
	}
	for i, rule := range job.Spec.PodFailurePolicy.Rules {
		text := ""
		if rule.OnExitCodes != nil {
			status := failedContainer(&pod.Status, rule.OnExitCodes)
			if status == nil {
				continue
			}
			text = fmt.Sprintf("Container %s for pod %s/%s failed with exit code %d matching %s rule at index %d",
				status.Name, pod.Namespace, pod.Name, status.State.Terminated.ExitCode, rule.Action, i)
		} else {
			condition := matchingCondition(&pod.Status, rule.OnPodConditions)
			if condition == nil {
				continue
			}
			text = fmt.Sprintf("Pod %s/%s has condition %s matching %s rule at index %d", pod.Namespace, pod.Name, condition.Type, rule.Action, i)
		}
		if rule.Action != batchv1.PodFailurePolicyActionFailJob {
			text = ""
		}
		return match{rule.Action, text}
	}
	return match{}
}

// failedContainer returns the first container that ended with an exit code that the rule names: containers before init containers. An exit
// code of 0 never matches.
func failedContainer(status *corev1.PodStatus, rule *batchv1.PodFailurePolicyOnExitCodesRequirement) *corev1.ContainerStatus {
	for _, list := range [][]corev1.ContainerStatus{status.ContainerStatuses, status.InitContainerStatuses} {
		for i := range list {
			end := list[i].State.Terminated
			if end == nil || end.ExitCode == 0 || rule.ContainerName != nil && *rule.ContainerName != list[i].Name {
				continue
			}
			if slices.Contains(rule.Values, end.ExitCode) == (rule.Operator == batchv1.PodFailurePolicyOnExitCodesOpIn) {
				return &list[i]
			}
		}
	}
	return nil
}

func matchingCondition(status *corev1.PodStatus, patterns []batchv1.PodFailurePolicyOnPodConditionsPattern) *corev1.PodCondition {
	for i := range status.Conditions {
		c := &status.Conditions[i]
		if slices.ContainsFunc(patterns, func(p batchv1.PodFailurePolicyOnPodConditionsPattern) bool {
			return p.Type == c.Type && p.Status == c.Status
		}) {
			return c
		}
	}
	return nil
}

// failsJob returns why a failed pod ends the Job, or "" (JOB-101).
func (u *update) failsJob() string {
	if u.job.Spec.PodFailurePolicy == nil {
		return ""
	}
	for _, pod := range u.pods {
		if u.podFailed(pod) {
			if m := matchFailure(u.job, pod); m.text != "" {
				return m.text
			}
		}
	}
	return ""
}

// counted returns how many of the failed pods count (JOB-102).
func (u *update) counted(failed []*corev1.Pod) int32 {
	n := int32(0)
	for _, pod := range failed {
		if matchFailure(u.job, pod).counts() {
			n++
		}
	}
	return n
}

// succeededEarly returns the text of the condition if a rule of the successPolicy holds (JOB-108), or "".
func (u *update) succeededEarly() string {
	policy := u.job.Spec.SuccessPolicy
	if policy == nil || u.done.total() == 0 {
		return ""
	}
	for i, rule := range policy.Rules {
		text := fmt.Sprintf("Matched rules at index %d", i)
		if rule.SucceededIndexes == nil {
			if rule.SucceededCount != nil && u.done.total() >= int(*rule.SucceededCount) {
				return text
			}
			continue
		}
		wanted := parseIndexes(*rule.SucceededIndexes, int(*u.job.Spec.Completions))
		n := 0
		for _, index := range wanted {
			if u.done.has(index) {
				n++
			}
		}
		if wanted.total() > 0 && (n == wanted.total() || rule.SucceededCount != nil && n >= int(*rule.SucceededCount)) {
			return text
		}
	}
	return ""
}
