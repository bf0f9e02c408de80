package replicaset

import (
	"reflect"
	"slices"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/volsim/volsim/api"
	"github.com/volsim/volsim/internal/controllers/workload"
	"github.com/volsim/volsim/internal/core/engine"
	"github.com/volsim/volsim/internal/core/plain"
	"github.com/volsim/volsim/internal/core/store"
)

// status returns the status of a set with these active pods (RS-040). failed is the error of the change of its pods.
func (u *update) status(active []*corev1.Pod, terminating int32, failed error, now time.Time) appsv1.ReplicaSetStatus {
	status := *u.set.Status.DeepCopy()
	status.Replicas = int32(len(active))
	if u.terminating {
		status.TerminatingReplicas = &terminating
	}
	status.FullyLabeledReplicas, status.ReadyReplicas, status.AvailableReplicas = 0, 0, 0
	template := labels.SelectorFromSet(u.set.Spec.Template.Labels)
	for _, pod := range active {
		if template.Matches(labels.Set(pod.Labels)) {
			status.FullyLabeledReplicas++
		}
		if workload.Ready(pod) != nil {
			status.ReadyReplicas++
			// RS-040: with minReadySeconds a pod counts as available later.
			if workload.Available(pod, u.set.Spec.MinReadySeconds, now) {
				status.AvailableReplicas++
			}
		}
	}
	isFailure := func(c appsv1.ReplicaSetCondition) bool { return c.Type == appsv1.ReplicaSetReplicaFailure }
	had := slices.ContainsFunc(status.Conditions, isFailure)
	switch {
	case failed != nil && !had:
		// RS-041: the first error stays in the condition until a sync succeeds.
		reason := "FailedCreate"
		if len(active) > int(*u.set.Spec.Replicas) {
			reason = "FailedDelete"
		}
		status.Conditions = append(status.Conditions, appsv1.ReplicaSetCondition{Type: appsv1.ReplicaSetReplicaFailure,
			Status: corev1.ConditionTrue, LastTransitionTime: metav1.NewTime(now), Reason: reason, Message: failed.Error()})
	case failed == nil && had:
		status.Conditions = slices.DeleteFunc(status.Conditions, isFailure)
	}
	return status
}

// writeStatus writes the status if it has changed (RS-042). It returns the status that is stored.
func (u *update) writeStatus(p *engine.Process, status appsv1.ReplicaSetStatus) (*appsv1.ReplicaSetStatus, error) {
	set := u.set
	status.ObservedGeneration = set.Generation
	if len(status.Conditions) == 0 && len(set.Status.Conditions) == 0 {
		status.Conditions = set.Status.Conditions
	}
	// RS-042: an equal status is not written.
	if reflect.DeepEqual(set.Status, status) {
		return &status, nil
	}
	for attempt := 1; ; attempt++ {
		updated, err := p.API().Update(p, u.withStatus(set, status), api.Status, store.UpdateOptions{})
		if err == nil {
			u.written.Wrote(u.key, u.resource, updated)
			return &status, nil
		}
		// RS-042: a failed write is repeated once, with the newest version of the set.
		if attempt == 2 {
			return nil, err
		}
		newest, failed := p.API().Get(p, api.Ref{Kind: u.of, Key: u.key})
		if failed != nil {
			return nil, failed
		}
		set = u.controller.set(newest.(*plain.Object))
	}
}
