package differential

import (
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
	return g.scenario(create, append(g.podMoves(), create, create, g.changeJob, g.changeJob, g.changeJob, g.delete, g.succeedPods, g.succeedPods, g.succeedPods))
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
	return job
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
