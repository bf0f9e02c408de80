package store

import (
	"fmt"
	"maps"
	"time"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/volsim/volsim/api"
	"github.com/volsim/volsim/internal/core/plain"
)

// maxDisruptedPods is the number of evicted pods that a budget may list (PDB-025).
const maxDisruptedPods = 2000

// Evict deletes a pod unless a PodDisruptionBudget forbids it, as a POST to its eviction subresource does (PDB-020 to PDB-026). It returns
// the pod as it then is, or was last. Errors: those of Delete; TooManyRequests if a budget forbids the eviction; a server error for a pod
// with several budgets; Forbidden for a budget with a broken status.
func (s *Store) Evict(key string, opts api.DeleteOptions) (*corev1.Pod, error) {
	pod, err := s.Pods.Get(key)
	if err != nil {
		return nil, err
	}
	// PDB-020: a pod that does not run yet, or no longer, has no budget.
	ignored := pod.DeletionTimestamp != nil || pod.Status.Phase != corev1.PodRunning && pod.Status.Phase != corev1.PodUnknown &&
		pod.Status.Phase != ""
	if !ignored {
		if err := s.useBudget(pod); err != nil {
			return nil, err
		}
	}
	// PDB-026: the preconditions are checked before the condition is written.
	if opts.UID != "" && opts.UID != pod.UID || opts.ResourceVersion != "" && opts.ResourceVersion != pod.ResourceVersion {
		return s.Pods.Delete(key, opts)
	}
	marked, err := s.Pods.PatchWith(key, func(pod *corev1.Pod) error {
		condition := corev1.PodCondition{Type: corev1.DisruptionTarget, Status: corev1.ConditionTrue, Reason: "EvictionByEvictionAPI",
			Message: "Eviction API: evicting", LastTransitionTime: clock(s.now())}
		pod.Status.Conditions = withPodCondition(pod.Status.Conditions, condition)
		return nil
	}, api.Status)
	if err != nil {
		return nil, err
	}
	if opts.ResourceVersion != "" {
		opts.ResourceVersion = marked.ResourceVersion
	}
	return s.Pods.Delete(key, opts)
}

// withPodCondition returns a copy of the conditions with one set. It keeps its time if its status is the same.
func withPodCondition(conditions []corev1.PodCondition, condition corev1.PodCondition) []corev1.PodCondition {
	all := make([]corev1.PodCondition, 0, len(conditions)+1)
	found := false
	for _, c := range conditions {
		if c.Type == condition.Type {
			if found = true; c.Status == condition.Status {
				condition.LastTransitionTime = c.LastTransitionTime
			}
			c = condition
		}
		all = append(all, c)
	}
	if !found {
		all = append(all, condition)
	}
	return all
}

// useBudget takes one disruption from the budget of a pod, if it has one and needs it.
func (s *Store) useBudget(pod *corev1.Pod) error {
	var budgets []*policyv1.PodDisruptionBudget
	for _, budget := range objectsIn[*policyv1.PodDisruptionBudget](s.others.tables[DisruptionBudgetKind], pod.Namespace) {
		// PDB-021: an empty selector selects all pods, and one that cannot be parsed none.
		selector, err := metav1.LabelSelectorAsSelector(budget.Spec.Selector)
		if err == nil && selector.Matches(labels.Set(pod.Labels)) {
			budgets = append(budgets, budget)
		}
	}
	switch {
	case len(budgets) == 0:
		return nil
	case len(budgets) > 1:
		// PDB-021: several budgets are an error.
		return &apierrors.StatusError{ErrStatus: metav1.Status{Status: metav1.StatusFailure, Code: 500,
			Message: "This pod has more than one PodDisruptionBudget, which the eviction subresource does not support."}}
	}
	budget := budgets[0]
	status := &budget.Status
	if !podReady(pod) {
		always := budget.Spec.UnhealthyPodEvictionPolicy != nil && *budget.Spec.UnhealthyPodEvictionPolicy == policyv1.AlwaysAllow
		// PDB-022: a pod that is not ready needs no disruption if the policy allows it, or the others are enough.
		if always || status.CurrentHealthy >= status.DesiredHealthy && status.DesiredHealthy > 0 {
			return nil
		}
	}
	forbidden := func(reason string) error {
		return apierrors.NewForbidden(schema.GroupResource{Group: policyv1.GroupName, Resource: "poddisruptionbudget"}, budget.Name,
			fmt.Errorf("%s", reason))
	}
	switch {
	case status.ObservedGeneration < budget.Generation:
		// PDB-023: the controller has not seen the budget yet.
		return violates(10, fmt.Sprintf("The disruption budget %s is still being processed by the server.", budget.Name))
	case status.DisruptionsAllowed < 0:
		return forbidden("pdb disruptions allowed is negative")
	case len(status.DisruptedPods) > maxDisruptedPods:
		// PDB-025: the controller does not confirm evictions.
		return forbidden("DisruptedPods map too big - too many evictions not confirmed by PDB controller")
	case status.DisruptionsAllowed == 0:
		return violates(0, whyForbidden(budget))
	}
	// PDB-024: the eviction is counted before the pod is deleted.
	used := budget.DeepCopy()
	used.Status.DisruptionsAllowed--
	if used.Status.DisruptionsAllowed == 0 {
		SetDisruptionAllowed(used, s.now)
	}
	used.Status.DisruptedPods = maps.Clone(status.DisruptedPods)
	if used.Status.DisruptedPods == nil {
		used.Status.DisruptedPods = map[string]metav1.Time{}
	}
	used.Status.DisruptedPods[pod.Name] = clock(s.now())
	used.TypeMeta = metav1.TypeMeta{APIVersion: policyv1.SchemeGroupVersion.String(), Kind: "PodDisruptionBudget"}
	obj, err := plain.From(used)
	if err != nil {
		return err
	}
	_, err = s.UpdateWith(obj, api.Status, UpdateOptions{})
	return err
}

// whyForbidden returns the reason why a budget allows no disruption (PDB-023).
func whyForbidden(budget *policyv1.PodDisruptionBudget) string {
	status := &budget.Status
	condition := meta.FindStatusCondition(status.Conditions, policyv1.DisruptionAllowedCondition)
	said := condition != nil && condition.Status == metav1.ConditionFalse && condition.Message != ""
	none := fmt.Sprintf("The disruption budget %s does not allow evicting pods currently", budget.Name)
	switch {
	case said && condition.Reason == policyv1.SyncFailedReason:
		// PDB-023: after a failed sync the numbers mean nothing.
		return none + " because it failed sync: " + condition.Message
	case status.CurrentHealthy <= status.DesiredHealthy:
		return fmt.Sprintf("The disruption budget %s needs %d healthy pods and has %d currently", budget.Name, status.DesiredHealthy,
			status.CurrentHealthy)
	case said:
		return fmt.Sprintf("%s (%s): %s", none, condition.Reason, condition.Message)
	}
	return none
}

// violates is the error of an eviction that a budget forbids.
func violates(retryAfter int, cause string) error {
	err := apierrors.NewTooManyRequests("Cannot evict pod as it would violate the pod's disruption budget.", retryAfter)
	err.ErrStatus.Details.Causes = append(err.ErrStatus.Details.Causes, metav1.StatusCause{Type: policyv1.DisruptionBudgetCause, Message: cause})
	return err
}

func podReady(pod *corev1.Pod) bool {
	for i := range pod.Status.Conditions {
		if pod.Status.Conditions[i].Type == corev1.PodReady {
			return pod.Status.Conditions[i].Status == corev1.ConditionTrue
		}
	}
	return false
}

// SetDisruptionAllowed sets the condition DisruptionAllowed of a budget to what its number of allowed disruptions says (PDB-006).
func SetDisruptionAllowed(budget *policyv1.PodDisruptionBudget, now func() time.Time) {
	condition := metav1.Condition{Type: policyv1.DisruptionAllowedCondition, Status: metav1.ConditionFalse,
		Reason: policyv1.InsufficientPodsReason, ObservedGeneration: budget.Status.ObservedGeneration, LastTransitionTime: clock(now())}
	// PDB-006: the condition follows the number.
	if budget.Status.DisruptionsAllowed > 0 {
		condition.Status, condition.Reason = metav1.ConditionTrue, policyv1.SufficientPodsReason
	}
	meta.SetStatusCondition(&budget.Status.Conditions, condition)
}
