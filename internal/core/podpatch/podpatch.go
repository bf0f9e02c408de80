// Package podpatch writes parts of a pod's status as controllers of Kubernetes do: with a strategic merge patch that contains only what
// differs from the version in their cache, and applies to the pod of that uid only.
package podpatch

import (
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/volsim/volsim/api"
	"github.com/volsim/volsim/internal/core/engine"
)

// Change is a change of the status of a pod.
type Change struct {
	// Phase is the new phase; "" leaves it, and the observed generation, as they are. With a phase, the observed generation becomes the
	// generation of the pod.
	Phase corev1.PodPhase
	// Condition is added, or replaces the one of its type; nil changes none. Its times are set.
	Condition *corev1.PodCondition
}

// Apply patches the status of a pod. A change that the given version has already makes no request.
func Apply(p *engine.Process, pod *corev1.Pod, change Change) error {
	var conditions []corev1.PodCondition
	changes := false
	if change.Condition != nil {
		conditions, changes = WithCondition(pod.Status.Conditions, *change.Condition, p.Now())
	}
	phase := change.Phase != "" && change.Phase != pod.Status.Phase
	generation := change.Phase != "" && pod.Generation != pod.Status.ObservedGeneration
	if !changes && !phase && !generation {
		return nil
	}
	patch := func(newest *corev1.Pod) error {
		newest.UID = pod.UID
		if change.Condition != nil {
			newest.Status.Conditions = MergeCondition(newest, pod, conditions, change.Condition.Type)
		}
		if phase {
			newest.Status.Phase = change.Phase
		}
		if generation {
			newest.Status.ObservedGeneration = pod.Generation
		}
		return nil
	}
	_, err := p.API().Pods.PatchWith(p, api.KeyOf(pod), patch, api.Status)
	return err
}

// WithCondition returns a copy of the conditions that contains this one, and whether that changes status, reason or message (SCHED-230).
// The transition time is now, unless a condition of the type has the status already. A condition that changes only the observed generation is
// no reason for a request, but part of one that has another reason (SCHED-231).
func WithCondition(conditions []corev1.PodCondition, condition corev1.PodCondition, now time.Time) ([]corev1.PodCondition, bool) {
	condition.LastTransitionTime = metav1.NewTime(now)
	at := slices.IndexFunc(conditions, func(c corev1.PodCondition) bool { return c.Type == condition.Type })
	if at < 0 {
		return with(conditions, condition), true
	}
	old := conditions[at]
	// SCHED-230: lastTransitionTime is the time of the last change of the status.
	if old.Status == condition.Status {
		condition.LastTransitionTime = old.LastTransitionTime
	}
	conditions = slices.Clone(conditions)
	conditions[at] = condition
	// SCHED-231: the same status, reason and message are no change.
	return conditions, old.Status != condition.Status || old.Reason != condition.Reason || old.Message != condition.Message
}

// with returns a copy of the conditions with one more.
func with(conditions []corev1.PodCondition, condition corev1.PodCondition) []corev1.PodCondition {
	all := make([]corev1.PodCondition, len(conditions)+1)
	all[copy(all, conditions)] = condition
	return all
}

// MergeCondition merges the condition of a type, as wanted, into the conditions of the newest pod of that name: the result has what differs
// between pod and wanted, and otherwise what newest has, even if that is another pod (SCHED-238).
func MergeCondition(newest, pod *corev1.Pod, wanted []corev1.PodCondition, kind corev1.PodConditionType) []corev1.PodCondition {
	ofKind := func(c corev1.PodCondition) bool { return c.Type == kind }
	before := corev1.PodCondition{Type: kind}
	if at := slices.IndexFunc(pod.Status.Conditions, ofKind); at >= 0 {
		before = pod.Status.Conditions[at]
	}
	condition := wanted[slices.IndexFunc(wanted, ofKind)]
	at := slices.IndexFunc(newest.Status.Conditions, ofKind)
	if at < 0 {
		return with(newest.Status.Conditions, overlay(corev1.PodCondition{Type: kind}, before, condition))
	}
	conditions := slices.Clone(newest.Status.Conditions)
	conditions[at] = overlay(conditions[at], before, condition)
	return conditions
}

// overlay applies to a stored condition what differs between two versions of it (SCHED-238). Other writers may have set the rest.
func overlay(stored, from, to corev1.PodCondition) corev1.PodCondition {
	if from.Status != to.Status {
		stored.Status = to.Status
	}
	if from.Reason != to.Reason {
		stored.Reason = to.Reason
	}
	if from.Message != to.Message {
		stored.Message = to.Message
	}
	if from.ObservedGeneration != to.ObservedGeneration {
		stored.ObservedGeneration = to.ObservedGeneration
	}
	if !from.LastTransitionTime.Equal(&to.LastTransitionTime) {
		stored.LastTransitionTime = to.LastTransitionTime
	}
	return stored
}
