package differential

import (
	"fmt"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"

	"github.com/volsim/volsim/api"
	"github.com/volsim/volsim/internal/core/actors"
)

const jobKind api.Kind = "Job.batch"

// GenerateJobs returns the scenario of a seed about Jobs.
func GenerateJobs(seed uint64) Scenario {
	g := newWorkloadGenerator(seed, 25, jobKind, actors.Job, actors.TTLAfterFinished)
	g.requests = []string{"create Pod", "create Pod", "delete Pod", "delete Pod", "patch Pod", "patch Pod", "update-status Job.batch",
		"update-status Job.batch", "get Job.batch", "delete Job.batch"}
	create := func() { g.add(Step{Op: Create, Object: g.job()}) }
	return g.scenario(create, append(g.podMoves(), create, create, g.changeJob, g.changeJob, g.changeJob, g.delete, g.succeedPods, g.succeedPods, g.succeedPods, g.failPods, g.failPods))
}

func (g *workloadGenerator) succeedPods() {
	g.pods(Living, pick(g.generator, 1, 1, 2, 9), g.status(corev1.PodSucceeded, "False"))
}

func (g *workloadGenerator) job() *batchv1.Job {
	name := g.name()
	job := &batchv1.Job{ObjectMeta: g.meta(name)}
	job.Spec = batchv1.JobSpec{Parallelism: new(int32(g.IntN(5))), Template: g.template(name)}
	job.Spec.Template.Spec.RestartPolicy = pick(g.generator, corev1.RestartPolicyNever, corev1.RestartPolicyNever, corev1.RestartPolicyOnFailure)
	if !g.chance(4) {
		job.Spec.Completions = new(int32(g.IntN(6)))
		if g.chance(2) {
			job.Spec.CompletionMode = new(batchv1.IndexedCompletion)
		}
	}
	if g.chance(2) {
		job.Spec.BackoffLimit = new(int32(g.IntN(4)))
	}
	if g.chance(4) {
		job.Spec.ActiveDeadlineSeconds = new(int64(pick(g.generator, 5, 40, 200)))
	}
	if g.chance(4) {
		job.Spec.TTLSecondsAfterFinished = new(int32(pick(g.generator, 0, 10, 100)))
	}
	if g.chance(3) {
		job.Spec.PodReplacementPolicy = new(pick(g.generator, batchv1.Failed, batchv1.TerminatingOrFailed))
	}
	if g.chance(5) {
		job.Spec.Suspend = new(true)
	}
	if g.chance(12) {
		job.Spec.ManagedBy = new(pick(g.generator, "example.com/own", batchv1.JobControllerName))
	}
	g.policies(&job.Spec)
	return job
}

// policies adds the policies of failures and of success to some Jobs.
func (g *workloadGenerator) policies(spec *batchv1.JobSpec) {
	indexed := spec.CompletionMode != nil && *spec.CompletionMode == batchv1.IndexedCompletion
	if indexed && g.chance(2) {
		spec.BackoffLimitPerIndex = new(int32(g.IntN(3)))
		if g.chance(2) {
			spec.MaxFailedIndexes = new(int32(g.IntN(int(*spec.Completions) + 1)))
		}
		if !g.chance(4) {
			spec.BackoffLimit = nil
		}
	}
	if n := 0; indexed && g.chance(3) {
		spec.SuccessPolicy = &batchv1.SuccessPolicy{}
		n = int(*spec.Completions)
		for range 1 + g.IntN(2) {
			rule := batchv1.SuccessPolicyRule{}
			switch {
			case n == 0 || g.chance(3):
				rule.SucceededCount = new(int32(g.IntN(n + 1)))
			case n == 1 || g.chance(2):
				rule.SucceededIndexes = new("0")
			default:
				rule.SucceededIndexes, rule.SucceededCount = new(fmt.Sprintf("0-%d", n-1)), new(int32(g.IntN(n+1)))
			}
			spec.SuccessPolicy.Rules = append(spec.SuccessPolicy.Rules, rule)
		}
	}
	if !g.chance(3) {
		return
	}
	spec.Template.Spec.RestartPolicy, spec.PodReplacementPolicy = corev1.RestartPolicyNever, nil
	spec.PodFailurePolicy = &batchv1.PodFailurePolicy{}
	actions := []batchv1.PodFailurePolicyAction{batchv1.PodFailurePolicyActionIgnore, batchv1.PodFailurePolicyActionCount, batchv1.PodFailurePolicyActionFailJob}
	if spec.BackoffLimitPerIndex != nil {
		actions = append(actions, batchv1.PodFailurePolicyActionFailIndex, batchv1.PodFailurePolicyActionFailIndex)
	}
	for range 1 + g.IntN(3) {
		rule := batchv1.PodFailurePolicyRule{Action: pick(g.generator, actions...)}
		if g.chance(3) {
			rule.OnPodConditions = []batchv1.PodFailurePolicyOnPodConditionsPattern{{Type: corev1.DisruptionTarget, Status: corev1.ConditionTrue}}
		} else {
			rule.OnExitCodes = &batchv1.PodFailurePolicyOnExitCodesRequirement{
				Operator: pick(g.generator, batchv1.PodFailurePolicyOnExitCodesOpIn, batchv1.PodFailurePolicyOnExitCodesOpNotIn),
				Values:   pick(g.generator, []int32{1}, []int32{2}, []int32{1, 137})}
			if g.chance(3) {
				rule.OnExitCodes.ContainerName = new("c")
			}
		}
		spec.PodFailurePolicy.Rules = append(spec.PodFailurePolicy.Rules, rule)
	}
}

// failPods lets pods fail with an exit code, some after a disruption.
func (g *workloadGenerator) failPods() {
	at := g.now.Truncate(time.Second).Format(time.RFC3339)
	conditions := []map[string]any{{"type": "Ready", "status": "False", "lastTransitionTime": at}}
	if g.chance(3) {
		conditions = append(conditions, map[string]any{"type": corev1.DisruptionTarget, "status": "True", "lastTransitionTime": at})
	}
	end := map[string]any{"exitCode": pick(g.generator, 1, 1, 2, 137, 0), "finishedAt": at}
	g.pods(Living, pick(g.generator, 1, 1, 2, 9), map[string]any{"status": map[string]any{"phase": corev1.PodFailed, "conditions": conditions,
		"containerStatuses": []map[string]any{{"name": "c", "state": map[string]any{"terminated": end}}}}})
}

func (g *workloadGenerator) changeJob() {
	spec := map[string]any{}
	switch g.IntN(7) {
	case 0, 1:
		spec["parallelism"] = g.IntN(5)
	case 2, 3:
		spec["suspend"] = g.chance(2)
	case 4:
		spec["completions"], spec["parallelism"] = g.IntN(5), g.IntN(5)
	case 5:
		spec["activeDeadlineSeconds"] = pick[any](g.generator, 3, 60, nil)
	case 6:
		spec["ttlSecondsAfterFinished"] = pick[any](g.generator, 0, 30, nil)
	}
	g.patch(g.workload(), api.Main, map[string]any{"spec": spec})
}
