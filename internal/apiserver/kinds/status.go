package kinds

import (
	"cmp"
	"slices"

	appsv1 "k8s.io/api/apps/v1"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1validation "k8s.io/apimachinery/pkg/apis/meta/v1/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/volsim/volsim/api"
	"github.com/volsim/volsim/internal/core/plain"
)

// statusCheck returns a check of stored objects. check may append errors to a list.
func statusCheck[T api.Object](check func(c *statusErrors, obj, old T)) func(obj, old *plain.Object) field.ErrorList {
	return func(obj, old *plain.Object) field.ErrorList {
		typed, err := plain.As[T](obj)
		if err != nil {
			return field.ErrorList{field.Invalid(field.NewPath("status"), obj.Content()["status"], err.Error())}
		}
		c := &statusErrors{path: field.NewPath("status")}
		check(c, typed, plain.Shared[T](old))
		return c.list
	}
}

// statusErrors collects the errors of a status.
type statusErrors struct {
	path *field.Path
	list field.ErrorList
}

func (c *statusErrors) add(errs ...*field.Error) { c.list = append(c.list, errs...) }

// count is a number of a status.
type count struct {
	name  string
	value int64
}

// optional returns the count of a field that may be absent, which is not negative then.
func optional[N int32 | int64](name string, value *N) count {
	if value == nil {
		return count{name: name}
	}
	return count{name, int64(*value)}
}

const negative = "must be greater than or equal to 0"

// notNegative refuses negative numbers.
func (c *statusErrors) notNegative(counts ...count) {
	for _, n := range counts {
		if n.value < 0 {
			c.add(field.Invalid(c.path.Child(n.name), n.value, negative).WithOrigin("minimum"))
		}
	}
}

// atMost refuses numbers above a limit.
func (c *statusErrors) atMost(limit int32, name string, counts ...count) {
	for _, n := range counts {
		if n.value > int64(limit) {
			c.add(field.Invalid(c.path.Child(n.name), int32(n.value), "cannot be greater than "+name))
		}
	}
}

// notLess refuses a number of collisions below the stored one.
func (c *statusErrors) notLess(collisions, before *int32) {
	if before == nil || collisions != nil && *collisions >= *before {
		return
	}
	value := int32(0)
	if collisions != nil {
		value = *collisions
	}
	c.add(field.Invalid(c.path.Child("collisionCount"), value, "cannot be decremented"))
}

// checkReplicas: numbers of replicas are not negative, and no part is more than the whole (API-451).
func (c *statusErrors) checkReplicas(replicas, ready, available int32, readyName string, others, parts []count) {
	c.notNegative(others...)
	// API-451: what is counted is among the replicas, and what is available is ready.
	c.atMost(replicas, "status.replicas", parts...)
	c.atMost(ready, readyName, count{"availableReplicas", int64(available)})
}

func checkDeploymentStatus(c *statusErrors, obj, old *appsv1.Deployment) {
	s := &obj.Status
	updated, ready, available := count{"updatedReplicas", int64(s.UpdatedReplicas)}, count{"readyReplicas", int64(s.ReadyReplicas)}, count{"availableReplicas", int64(s.AvailableReplicas)}
	c.checkReplicas(s.Replicas, s.ReadyReplicas, s.AvailableReplicas, "readyReplicas", []count{
		{"observedGeneration", s.ObservedGeneration}, {"replicas", int64(s.Replicas)}, updated, ready, available,
		{"unavailableReplicas", int64(s.UnavailableReplicas)}, optional("terminatingReplicas", s.TerminatingReplicas), optional("collisionCount", s.CollisionCount),
	}, []count{updated, ready, available})
	c.notLess(s.CollisionCount, old.Status.CollisionCount)
}

func checkReplicaSetStatus(c *statusErrors, obj, _ *appsv1.ReplicaSet) {
	s := &obj.Status
	labeled, ready, available := count{"fullyLabeledReplicas", int64(s.FullyLabeledReplicas)}, count{"readyReplicas", int64(s.ReadyReplicas)}, count{"availableReplicas", int64(s.AvailableReplicas)}
	c.checkReplicas(s.Replicas, s.ReadyReplicas, s.AvailableReplicas, "readyReplicas", []count{
		{"replicas", int64(s.Replicas)}, labeled, ready, available, {"observedGeneration", s.ObservedGeneration}, optional("terminatingReplicas", s.TerminatingReplicas),
	}, []count{labeled, ready, available})
}

func checkReplicationControllerStatus(c *statusErrors, obj, _ *corev1.ReplicationController) {
	s := &obj.Status
	labeled, ready, available := count{"fullyLabeledReplicas", int64(s.FullyLabeledReplicas)}, count{"readyReplicas", int64(s.ReadyReplicas)}, count{"availableReplicas", int64(s.AvailableReplicas)}
	c.checkReplicas(s.Replicas, s.ReadyReplicas, s.AvailableReplicas, "readyReplicas", []count{
		{"replicas", int64(s.Replicas)}, labeled, ready, available, {"observedGeneration", s.ObservedGeneration},
	}, []count{labeled, ready, available})
}

func checkStatefulSetStatus(c *statusErrors, obj, old *appsv1.StatefulSet) {
	s := &obj.Status
	ready, current := count{"readyReplicas", int64(s.ReadyReplicas)}, count{"currentReplicas", int64(s.CurrentReplicas)}
	updated, available := count{"updatedReplicas", int64(s.UpdatedReplicas)}, count{"availableReplicas", int64(s.AvailableReplicas)}
	c.checkReplicas(s.Replicas, s.ReadyReplicas, s.AvailableReplicas, "status.readyReplicas", []count{
		{"replicas", int64(s.Replicas)}, ready, current, updated, available, {"observedGeneration", s.ObservedGeneration}, optional("collisionCount", s.CollisionCount),
	}, []count{ready, current, updated, available})
	c.notLess(s.CollisionCount, old.Status.CollisionCount)
}

func checkDaemonSetStatus(c *statusErrors, obj, old *appsv1.DaemonSet) {
	s := &obj.Status
	c.notNegative(count{"currentNumberScheduled", int64(s.CurrentNumberScheduled)}, count{"numberMisscheduled", int64(s.NumberMisscheduled)},
		count{"desiredNumberScheduled", int64(s.DesiredNumberScheduled)}, count{"numberReady", int64(s.NumberReady)}, count{"observedGeneration", s.ObservedGeneration},
		count{"updatedNumberScheduled", int64(s.UpdatedNumberScheduled)}, count{"numberAvailable", int64(s.NumberAvailable)},
		count{"numberUnavailable", int64(s.NumberUnavailable)}, optional("collisionCount", s.CollisionCount))
	c.notLess(s.CollisionCount, old.Status.CollisionCount)
}

func checkBudgetStatus(c *statusErrors, obj, _ *policyv1.PodDisruptionBudget) {
	s := &obj.Status
	// API-454: the conditions are valid.
	c.add(metav1validation.ValidateConditions(s.Conditions, c.path.Child("conditions"))...)
	c.notNegative(count{"disruptionsAllowed", int64(s.DisruptionsAllowed)}, count{"currentHealthy", int64(s.CurrentHealthy)},
		count{"desiredHealthy", int64(s.DesiredHealthy)}, count{"expectedPods", int64(s.ExpectedPods)})
}

func checkAutoscalerStatus(c *statusErrors, obj, _ *autoscalingv2.HorizontalPodAutoscaler) {
	c.notNegative(count{"currentReplicas", int64(obj.Status.CurrentReplicas)}, count{"desiredReplicas", int64(obj.Status.DesiredReplicas)})
}

// hasCondition reports whether a Job has a condition that is true.
func hasCondition(job *batchv1.Job, kind batchv1.JobConditionType) bool {
	return slices.ContainsFunc(job.Status.Conditions, func(c batchv1.JobCondition) bool { return c.Type == kind && c.Status == corev1.ConditionTrue })
}

// mode returns how a Job counts its completions.
func mode(job *batchv1.Job) batchv1.CompletionMode {
	return *cmp.Or(job.Spec.CompletionMode, new(batchv1.NonIndexedCompletion))
}
