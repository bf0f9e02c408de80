// Package disruption simulates the disruption controller of kube-controller-manager.
//
// It computes the status of PodDisruptionBudgets: how many of their pods are healthy, how many must be, and how many may be evicted now. The
// API server takes evictions from that number (store.Evict), and the scheduler prefers victims that no budget protects.
//
// The rules are PDB-001 to PDB-010 in docs/rules/disruption.md.
package disruption

import (
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/volsim/volsim/api"
	"github.com/volsim/volsim/internal/controllers/workload"
	"github.com/volsim/volsim/internal/core/actors"
	"github.com/volsim/volsim/internal/core/engine"
	"github.com/volsim/volsim/internal/core/plain"
	"github.com/volsim/volsim/internal/core/store"
)

// deletionTimeout is how long an evicted pod counts as gone before its deletion begins (PDB-007).
const deletionTimeout = 2 * time.Minute

// The kinds of owners whose replicas count.
const (
	replicaSets  api.Kind = "ReplicaSet.apps"
	deployments  api.Kind = "Deployment.apps"
	statefulSets api.Kind = "StatefulSet.apps"

	replicationControllers api.Kind = "ReplicationController"
)

// controller is one life of the disruption controller.
type controller struct {
	actor   *engine.Actor
	budgets engine.Informer[*plain.Object]
	pods    engine.Informer[*corev1.Pod]
	owners  map[api.Kind]engine.Informer[*plain.Object]
	queue   *engine.Queue
	// rechecks has the budgets to compute again when an eviction is no longer expected to end in a deletion.
	rechecks *engine.Queue
	// stale has the pods whose condition DisruptionTarget may be stale.
	stale    *engine.Queue
	recorder *engine.Recorder
}

// New adds the controller. budgets contains the PodDisruptionBudgets.
func New(e *engine.Engine, budgets store.Table[*plain.Object]) (*engine.Actor, error) {
	var live *controller
	tables := map[api.Kind]store.Table[*plain.Object]{}
	kinds := []api.Kind{replicaSets, deployments, statefulSets, replicationControllers}
	actor, err := e.NewActor(actors.Disruption, func(a *engine.Actor) {
		c := &controller{actor: a, budgets: engine.NewInformer(a, budgets), pods: engine.NewInformer(a, e.Store().Pods),
			owners: map[api.Kind]engine.Informer[*plain.Object]{}, recorder: a.NewRecorder("controllermanager")}
		live = c
		a.OnStop(func() { live = nil })
		c.queue = a.NewQueue(engine.QueueConfig{Name: "disruption", Kind: store.DisruptionBudgetKind, Sync: c.sync})
		// PDB-007: the delay of another failure is added.
		c.rechecks = a.NewQueue(engine.QueueConfig{Name: "disruption_recheck", Kind: store.DisruptionBudgetKind,
			Sync: func(_ *engine.Process, key string) error { c.queue.AddRateLimited(key); return nil }})
		c.stale = a.NewQueue(engine.QueueConfig{Name: "stale_pod_disruption", Kind: api.Pod, Sync: c.resetStale})
		for _, kind := range kinds {
			if table := tables[kind]; table != nil {
				c.owners[kind] = engine.NewInformer(a, table)
			}
		}
		c.budgets.Handle(engine.Handler[*plain.Object]{
			Add:    func(obj *plain.Object) { c.queue.Add(api.KeyOf(obj)) },
			Update: func(_, obj *plain.Object) { c.queue.Add(api.KeyOf(obj)) },
			Delete: func(obj *plain.Object) { c.queue.Add(api.KeyOf(obj)) },
		})
		c.pods.Handle(engine.Handler[*corev1.Pod]{Add: c.observed, Update: func(_, pod *corev1.Pod) { c.observed(pod) }, Delete: c.changed})
	})
	if err != nil {
		return nil, err
	}
	e.Store().OnOther(func(t store.Table[*plain.Object]) {
		if !slices.Contains(kinds, t.Kind()) {
			return
		}
		tables[t.Kind()] = t
		if live != nil {
			live.owners[t.Kind()] = engine.NewInformer(live.actor, t)
		}
	})
	return actor, nil
}

// observed handles a new or changed pod.
func (c *controller) observed(pod *corev1.Pod) {
	c.changed(pod)
	if wait, ok := c.staleAfter(pod); ok {
		c.stale.AddInBackground(api.KeyOf(pod), wait)
	}
}

// changed queues the budget of a pod (PDB-001).
func (c *controller) changed(pod *corev1.Pod) {
	var found []string
	for _, obj := range c.budgets.List() {
		budget := plain.Shared[*policyv1.PodDisruptionBudget](obj)
		selector, err := metav1.LabelSelectorAsSelector(budget.Spec.Selector)
		if err == nil && budget.Namespace == pod.Namespace && selector.Matches(labels.Set(pod.Labels)) {
			found = append(found, budget.Name)
		}
	}
	if len(found) == 0 {
		return
	}
	if len(found) > 1 {
		// PDB-001: a pod with several budgets gets an Event.
		c.actor.Go("several budgets", func(p *engine.Process) {
			c.recorder.Event(p, pod, corev1.EventTypeWarning, "MultiplePodDisruptionBudgets",
				"Pod %q/%q matches multiple PodDisruptionBudgets.  Chose %q arbitrarily.", pod.Namespace, pod.Name, found[0])
		})
	}
	// PDB-001: of several budgets one is computed. SIM: the first by name.
	c.queue.Add(api.Key(pod.Namespace, found[0]))
}

// sync computes the status of a budget, and forbids all disruptions if that fails (PDB-002, PDB-008).
func (c *controller) sync(p *engine.Process, key string) error {
	obj, ok := c.budgets.Get(key)
	if !ok {
		return nil
	}
	budget := plain.Shared[*policyv1.PodDisruptionBudget](obj)
	err := c.compute(p, budget)
	if err == nil || apierrors.IsConflict(err) {
		return err
	}
	// PDB-008: no eviction is allowed while the status cannot be computed.
	safe := budget.DeepCopy()
	safe.Status.DisruptionsAllowed = 0
	meta.SetStatusCondition(&safe.Status.Conditions, metav1.Condition{
		Type: policyv1.DisruptionAllowedCondition, Status: metav1.ConditionFalse, Reason: policyv1.SyncFailedReason, Message: err.Error(),
		ObservedGeneration: safe.Status.ObservedGeneration, LastTransitionTime: metav1.NewTime(p.Now().Truncate(time.Second)),
	})
	return c.write(p, safe)
}

func (c *controller) write(p *engine.Process, budget *policyv1.PodDisruptionBudget) error {
	_, err := p.API().Update(p, budget, api.Status, store.UpdateOptions{})
	return err
}

// compute writes the status of a budget if it changed (PDB-002 to PDB-007).
func (c *controller) compute(p *engine.Process, budget *policyv1.PodDisruptionBudget) error {
	selector, err := metav1.LabelSelectorAsSelector(budget.Spec.Selector)
	if err != nil {
		c.recorder.Event(p, budget, corev1.EventTypeWarning, "NoPods", "Failed to get pods: %v", err)
		return err
	}
	var pods []*corev1.Pod
	for _, pod := range c.pods.List() {
		if pod.Namespace == budget.Namespace && selector.Matches(labels.Set(pod.Labels)) {
			pods = append(pods, pod)
		}
	}
	if len(pods) == 0 {
		c.recorder.Event(p, budget, corev1.EventTypeNormal, "NoPods", "No matching pods found")
	}
	expected, desired, unmanaged, err := c.expected(p, budget, pods)
	if err != nil {
		c.recorder.Event(p, budget, corev1.EventTypeWarning, "CalculateExpectedPodCountFailed",
			"Failed to calculate the number of expected pods: %v", err)
		return err
	}
	if unmanaged {
		// PDB-005: a pod without a controller counts for nothing here.
		c.recorder.Event(p, budget, corev1.EventTypeWarning, "UnmanagedPods", "Pods selected by this PodDisruptionBudget (selector: %v) were found "+
			"to be unmanaged. As a result, the status of the PDB cannot be calculated correctly, which may result in undefined behavior. "+
			"To account for these pods please set \".spec.minAvailable\" field of the PDB to an integer value.", budget.Spec.Selector)
	}
	disrupted, recheck := c.disrupted(p, budget, pods)
	status := policyv1.PodDisruptionBudgetStatus{ExpectedPods: expected, DesiredHealthy: desired, DisruptedPods: disrupted,
		ObservedGeneration: budget.Generation, Conditions: slices.Clone(budget.Status.Conditions)}
	for _, pod := range pods {
		_, evicted := disrupted[pod.Name]
		// PDB-002: a ready pod that is not leaving is healthy.
		if ready := workload.Ready(pod); ready != nil && pod.DeletionTimestamp == nil && !evicted {
			status.CurrentHealthy++
		}
	}
	// PDB-006: without expected pods no disruption is allowed.
	if expected > 0 {
		status.DisruptionsAllowed = max(0, status.CurrentHealthy-desired)
	}
	counted := budget.DeepCopy()
	counted.Status = status
	if !same(&budget.Status, &counted.Status) || !conditionAllows(&budget.Status, status.DisruptionsAllowed > 0) {
		store.SetDisruptionAllowed(counted, p.Now)
		err = c.write(p, counted)
	}
	if err == nil && recheck > 0 {
		// Settle does not wait for this check: most evicted pods no longer exist by then.
		c.rechecks.AddInBackground(api.KeyOf(budget), recheck)
	}
	return err
}

// same reports whether two statuses are equal, but for their conditions. No map of evicted pods equals an empty one.
func same(a, b *policyv1.PodDisruptionBudgetStatus) bool {
	return (len(a.DisruptedPods)+len(b.DisruptedPods) == 0 || equality.Semantic.DeepEqual(a.DisruptedPods, b.DisruptedPods)) &&
		a.CurrentHealthy == b.CurrentHealthy && a.DesiredHealthy == b.DesiredHealthy && a.ExpectedPods == b.ExpectedPods &&
		a.DisruptionsAllowed == b.DisruptionsAllowed && a.ObservedGeneration == b.ObservedGeneration
}

// conditionAllows reports whether the condition DisruptionAllowed says that disruptions are allowed, or that they are not (PDB-006).
func conditionAllows(status *policyv1.PodDisruptionBudgetStatus, allowed bool) bool {
	condition := meta.FindStatusCondition(status.Conditions, policyv1.DisruptionAllowedCondition)
	switch {
	case condition == nil:
		return false
	case allowed:
		return condition.Status == metav1.ConditionTrue && condition.Reason == policyv1.SufficientPodsReason
	}
	return condition.Status == metav1.ConditionFalse && condition.Reason == policyv1.InsufficientPodsReason
}

// expected returns how many pods a budget expects, and how many of them have to be healthy. unmanaged reports pods without a controller.
func (c *controller) expected(p *engine.Process, budget *policyv1.PodDisruptionBudget, pods []*corev1.Pod) (expected, desired int32, unmanaged bool, err error) {
	given := budget.Spec.MinAvailable
	switch {
	case budget.Spec.MaxUnavailable != nil:
		given = budget.Spec.MaxUnavailable
	case given == nil:
		return 0, 0, false, nil
	case given.Type == intstr.Int:
		// PDB-003: a number of available pods needs no controllers.
		return int32(len(pods)), given.IntVal, false, nil
	}
	if expected, unmanaged, err = c.scale(p, pods); err != nil {
		return 0, 0, unmanaged, err
	}
	// PDB-004: percentages are those of the replicas of all controllers, rounded up.
	n, err := intstr.GetScaledValueFromIntOrPercent(given, int(expected), true)
	if err != nil {
		return 0, 0, unmanaged, err
	}
	if desired = int32(n); budget.Spec.MaxUnavailable != nil {
		desired = max(0, expected-desired)
	}
	return expected, desired, unmanaged, nil
}

// disrupted returns the evicted pods whose deletion the controller still expects, and the time until the first of them is no longer expected
// to go (PDB-007).
func (c *controller) disrupted(p *engine.Process, budget *policyv1.PodDisruptionBudget, pods []*corev1.Pod) (map[string]metav1.Time, time.Duration) {
	disrupted, recheck := map[string]metav1.Time{}, time.Duration(0)
	for _, pod := range pods {
		at, listed := budget.Status.DisruptedPods[pod.Name]
		if !listed || pod.DeletionTimestamp != nil {
			continue
		}
		left := at.Add(deletionTimeout).Sub(p.Now())
		if left < 0 {
			// PDB-007: a pod that was not deleted counts again. The message names the namespace twice, as Kubernetes does.
			c.recorder.Event(p, pod, corev1.EventTypeWarning, "NotDeleted", "Pod was expected by PDB %s/%s to be deleted but it wasn't",
				budget.Namespace, budget.Namespace)
			continue
		}
		disrupted[pod.Name] = at
		if recheck == 0 || left < recheck {
			recheck = max(left, time.Nanosecond)
		}
	}
	return disrupted, recheck
}
