package deployment

import (
	"fmt"
	"reflect"
	"slices"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/volsim/volsim/api"
	"github.com/volsim/volsim/internal/core/engine"
	"github.com/volsim/volsim/internal/core/store"
)

const (
	reasonAvailable = "NewReplicaSetAvailable"
	reasonTimedOut  = "ProgressDeadlineExceeded"
	reasonPaused    = "DeploymentPaused"
)

// hasDeadline reports whether a Deployment reports progress at all.
func hasDeadline(d *appsv1.Deployment) bool {
	return d.Spec.ProgressDeadlineSeconds != nil && *d.Spec.ProgressDeadlineSeconds != unlimited
}

// condition returns the condition of a type, or nil.
func condition(status *appsv1.DeploymentStatus, kind appsv1.DeploymentConditionType) *appsv1.DeploymentCondition {
	i := slices.IndexFunc(status.Conditions, func(c appsv1.DeploymentCondition) bool { return c.Type == kind })
	if i < 0 {
		return nil
	}
	return &status.Conditions[i]
}

// setCondition sets a condition. One with the same status and reason stays as it is.
func setCondition(status *appsv1.DeploymentStatus, kind appsv1.DeploymentConditionType, value corev1.ConditionStatus, reason, text string, now time.Time) {
	putCondition(status, appsv1.DeploymentCondition{Type: kind, Status: value, Reason: reason, Message: text,
		LastUpdateTime: metav1.NewTime(now), LastTransitionTime: metav1.NewTime(now)})
}

func putCondition(status *appsv1.DeploymentStatus, c appsv1.DeploymentCondition) {
	was := condition(status, c.Type)
	if was != nil && was.Status == c.Status {
		if was.Reason == c.Reason {
			return
		}
		c.LastTransitionTime = was.LastTransitionTime
	}
	removeCondition(status, c.Type)
	status.Conditions = append(status.Conditions, c)
}

func removeCondition(status *appsv1.DeploymentStatus, kind appsv1.DeploymentConditionType) {
	var others []appsv1.DeploymentCondition
	for _, c := range status.Conditions {
		if c.Type != kind {
			others = append(others, c)
		}
	}
	status.Conditions = others
}

// notePause adds the condition that a Deployment is paused or resumed (DEP-061).
func (u *rollout) notePause(p *engine.Process) error {
	if !hasDeadline(u.d) {
		return nil
	}
	c := condition(&u.d.Status, appsv1.DeploymentProgressing)
	// DEP-061: a reported lack of progress stays.
	if c != nil && c.Reason == reasonTimedOut {
		return nil
	}
	noted := c != nil && c.Reason == reasonPaused
	switch {
	case u.d.Spec.Paused && !noted:
		setCondition(&u.d.Status, appsv1.DeploymentProgressing, corev1.ConditionUnknown, reasonPaused, "Deployment is paused", p.Now())
	case !u.d.Spec.Paused && noted:
		setCondition(&u.d.Status, appsv1.DeploymentProgressing, corev1.ConditionUnknown, "DeploymentResumed", "Deployment is resumed", p.Now())
	default:
		return nil
	}
	return u.updateStatus(p)
}

// status returns the status that follows from those of the sets (DEP-070).
func (u *rollout) status(now time.Time, newSet *appsv1.ReplicaSet, old []*appsv1.ReplicaSet) *appsv1.DeploymentStatus {
	all := with(old, newSet)
	status := &appsv1.DeploymentStatus{
		ObservedGeneration: u.d.Generation, CollisionCount: u.d.Status.CollisionCount, Conditions: slices.Clone(u.d.Status.Conditions),
	}
	terminating, known := int32(0), true
	for _, set := range all {
		if set == nil {
			continue
		}
		status.Replicas += set.Status.Replicas
		status.ReadyReplicas += set.Status.ReadyReplicas
		status.AvailableReplicas += set.Status.AvailableReplicas
		switch {
		case set.Status.TerminatingReplicas != nil:
			terminating += *set.Status.TerminatingReplicas
		case set.Status.ObservedGeneration > 0:
			known = false
		}
	}
	if known {
		status.TerminatingReplicas = &terminating
	}
	if newSet != nil {
		status.UpdatedReplicas = newSet.Status.Replicas
	}
	// DEP-070: unavailable are the pods that the sets should have and that are not available.
	status.UnavailableReplicas = max(replicas(all)-status.AvailableReplicas, 0)
	_, unavailable := limits(u.d)
	if status.AvailableReplicas >= *u.d.Spec.Replicas-unavailable {
		// DEP-071: a Deployment is available while at most maxUnavailable pods are not.
		setCondition(status, appsv1.DeploymentAvailable, corev1.ConditionTrue, "MinimumReplicasAvailable", "Deployment has minimum availability.", now)
	} else {
		setCondition(status, appsv1.DeploymentAvailable, corev1.ConditionFalse, "MinimumReplicasUnavailable",
			"Deployment does not have minimum availability.", now)
	}
	return status
}

// complete reports whether all pods are updated and available, and no old ones are left.
func complete(d *appsv1.Deployment, status *appsv1.DeploymentStatus) bool {
	n := *d.Spec.Replicas
	return status.UpdatedReplicas == n && status.Replicas == n && status.AvailableReplicas == n && status.ObservedGeneration >= d.Generation
}

// progressed reports whether a status shows progress: more updated, ready or available pods, or fewer old ones.
func progressed(old, status *appsv1.DeploymentStatus) bool {
	return status.UpdatedReplicas > old.UpdatedReplicas || status.Replicas-status.UpdatedReplicas < old.Replicas-old.UpdatedReplicas ||
		status.ReadyReplicas > old.ReadyReplicas || status.AvailableReplicas > old.AvailableReplicas
}

// timedOut reports whether the last progress is older than the deadline (DEP-073).
func timedOut(d *appsv1.Deployment, status *appsv1.DeploymentStatus, now time.Time) bool {
	c := condition(status, appsv1.DeploymentProgressing)
	if c == nil || c.Reason == reasonAvailable {
		return false
	}
	return c.Reason == reasonTimedOut || c.LastUpdateTime.Add(deadline(d)).Before(now)
}

func deadline(d *appsv1.Deployment) time.Duration {
	return time.Duration(*d.Spec.ProgressDeadlineSeconds) * time.Second
}

// writeProgress writes the status with the condition Progressing (DEP-072).
func (u *rollout) writeProgress(p *engine.Process, newSet *appsv1.ReplicaSet, old []*appsv1.ReplicaSet) error {
	now := p.Now()
	status := u.status(now, newSet, old)
	if !hasDeadline(u.d) {
		removeCondition(status, appsv1.DeploymentProgressing)
	} else {
		u.addProgress(status, newSet, now)
	}
	u.addFailure(status, newSet, old)
	if reflect.DeepEqual(&u.d.Status, status) {
		u.checkLater(status, now)
		return nil
	}
	return u.writeStatus(p, status)
}

// addProgress sets the condition Progressing. After the end of a rollout it stays until the next one.
func (u *rollout) addProgress(status *appsv1.DeploymentStatus, newSet *appsv1.ReplicaSet, now time.Time) {
	was := condition(&u.d.Status, appsv1.DeploymentProgressing)
	if status.Replicas == status.UpdatedReplicas && was != nil && was.Reason == reasonAvailable {
		return
	}
	subject := fmt.Sprintf("Deployment %q", u.d.Name)
	if newSet != nil {
		subject = fmt.Sprintf("ReplicaSet %q", newSet.Name)
	}
	set := func(value corev1.ConditionStatus, reason, text string) {
		setCondition(status, appsv1.DeploymentProgressing, value, reason, subject+text, now)
	}
	switch {
	case complete(u.d, status):
		set(corev1.ConditionTrue, reasonAvailable, " has successfully progressed.")
	case progressed(&u.d.Status, status):
		// DEP-072: every progress renews the time of the condition.
		removeCondition(status, appsv1.DeploymentProgressing)
		set(corev1.ConditionTrue, "ReplicaSetUpdated", " is progressing.")
		if was != nil && was.Status == corev1.ConditionTrue {
			condition(status, appsv1.DeploymentProgressing).LastTransitionTime = was.LastTransitionTime
		}
	case timedOut(u.d, status, now):
		// DEP-073: nothing else follows from a missed deadline.
		set(corev1.ConditionFalse, reasonTimedOut, " has timed out progressing.")
	}
}

// addFailure copies the condition ReplicaFailure of a set, the new one first (DEP-074).
func (u *rollout) addFailure(status *appsv1.DeploymentStatus, newSet *appsv1.ReplicaSet, old []*appsv1.ReplicaSet) {
	for _, set := range append([]*appsv1.ReplicaSet{newSet}, old...) {
		if set == nil {
			continue
		}
		for _, c := range set.Status.Conditions {
			if c.Type == appsv1.ReplicaSetReplicaFailure {
				// DEP-074: an earlier condition with the same status and reason stays.
				putCondition(status, appsv1.DeploymentCondition{Type: appsv1.DeploymentReplicaFailure, Status: c.Status, Reason: c.Reason,
					Message: c.Message, LastUpdateTime: c.LastTransitionTime, LastTransitionTime: c.LastTransitionTime})
				return
			}
		}
	}
	removeCondition(status, appsv1.DeploymentReplicaFailure)
}

// checkLater queues a Deployment without progress for the end of its deadline (DEP-073).
func (u *rollout) checkLater(status *appsv1.DeploymentStatus, now time.Time) {
	c := condition(&u.d.Status, appsv1.DeploymentProgressing)
	if !hasDeadline(u.d) || c == nil || complete(u.d, status) || c.Reason == reasonTimedOut {
		return
	}
	after := c.LastUpdateTime.Add(deadline(u.d)).Sub(now)
	if after < time.Second {
		u.queue.AddRateLimited(u.key)
		return
	}
	// DEP-073: a second later, because conditions have whole seconds. Settle does not wait for it: the rollout waits for something else.
	u.queue.AddInBackground(u.key, after+time.Second)
}

// writeStatus writes a status that differs.
func (u *rollout) writeStatus(p *engine.Process, status *appsv1.DeploymentStatus) error {
	if reflect.DeepEqual(&u.d.Status, status) {
		return nil
	}
	u.d.Status = *status
	return u.updateStatus(p)
}

// updateStatus writes status and annotations. The version is that of the informer, so that a second write of one sync is a conflict, and
// the key is retried (DEP-012).
func (u *rollout) updateStatus(p *engine.Process) error {
	c := u.d.DeepCopy()
	c.APIVersion, c.Kind = apiVersion, kindName
	_, err := p.API().Update(p, c, api.Status, store.UpdateOptions{})
	return err
}
