package differential

import (
	"fmt"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/volsim/volsim/api"
	"github.com/volsim/volsim/internal/core/actors"
)

const cronJobKind api.Kind = "CronJob.batch"

// schedules are due every minute, or a few times in a scenario, or never. Scenarios begin at midnight in UTC.
var schedules = []string{"* * * * *", "* * * * *", "* * * * *", "*/2 * * * *", "1-59/2 0,1 * * *", "@every 45s", "@every 100s", "@hourly", "*/3 0 * * mon-sun",
	"0 0 31 2 *", "2,4,5 5 * * *"}

// GenerateCronJobs returns the scenario of a seed about CronJobs and their Jobs.
func GenerateCronJobs(seed uint64) Scenario {
	g := newWorkloadGenerator(seed, 47, cronJobKind, actors.CronJob, actors.Job, actors.TTLAfterFinished)
	g.requests = []string{"create Job.batch", "create Job.batch", "delete Job.batch", "delete Job.batch", "update-status CronJob.batch", "update-status CronJob.batch",
		"get Job.batch", "get CronJob.batch"}
	create := func() { g.add(Step{Op: Create, Object: g.cronJob()}) }
	pass := func() {
		g.add(Step{Op: Advance})
		g.wait(pick(g.generator, 30, 61, 90, 150, 700))
	}
	return g.scenario(create, []func(){create, pass, pass, pass, pass, pass, g.changeCronJob, g.changeCronJob, g.delete, g.succeedPods, g.succeedPods, g.succeedPods, g.failPods,
		g.removePods, g.deleteJob, g.deleteJob, g.createOwned})
}

func (g *workloadGenerator) cronJob() *batchv1.CronJob {
	name := g.name()
	c := &batchv1.CronJob{ObjectMeta: g.meta(name)}
	c.Spec = batchv1.CronJobSpec{Schedule: pick(g.generator, schedules...),
		ConcurrencyPolicy: pick(g.generator, batchv1.AllowConcurrent, batchv1.ForbidConcurrent, batchv1.ForbidConcurrent, batchv1.ReplaceConcurrent, batchv1.ReplaceConcurrent)}
	c.Spec.JobTemplate.Labels = map[string]string{"app": name}
	c.Spec.JobTemplate.Spec.Template = g.template(name)
	c.Spec.JobTemplate.Spec.Template.Spec.RestartPolicy = corev1.RestartPolicyNever
	if g.chance(3) {
		c.Spec.TimeZone = new(pick(g.generator, "Europe/Berlin", "Asia/Kolkata", "Etc/UTC"))
	}
	if g.chance(2) {
		c.Spec.JobTemplate.Spec.BackoffLimit = new(int32(0))
	}
	if g.chance(4) {
		c.Spec.JobTemplate.Spec.TTLSecondsAfterFinished = new(int32(pick(g.generator, 0, 100)))
	}
	if g.chance(3) {
		c.Spec.StartingDeadlineSeconds = new(int64(pick(g.generator, 0, 5, 30, 200)))
	}
	if g.chance(2) {
		c.Spec.SuccessfulJobsHistoryLimit, c.Spec.FailedJobsHistoryLimit = new(int32(g.IntN(2))), new(int32(g.IntN(2)))
	}
	if g.chance(6) {
		c.Spec.Suspend = new(true)
	}
	return c
}

func (g *workloadGenerator) changeCronJob() {
	spec := map[string]any{}
	switch g.IntN(6) {
	case 0, 1:
		spec["schedule"] = pick(g.generator, schedules...)
	case 2:
		spec["timeZone"] = pick[any](g.generator, "Asia/Kolkata", nil)
	case 3:
		spec["suspend"] = g.chance(3)
	case 4:
		spec["concurrencyPolicy"] = pick(g.generator, batchv1.AllowConcurrent, batchv1.ForbidConcurrent, batchv1.ReplaceConcurrent)
	case 5:
		spec["startingDeadlineSeconds"], spec["successfulJobsHistoryLimit"] = pick[any](g.generator, 10, nil), g.IntN(3)
	}
	g.patchSpec(spec)
}

// deleteJob deletes a Job that exists when the step runs.
func (g *workloadGenerator) deleteJob() {
	g.add(Step{Op: Delete, Ref: api.Ref{Kind: jobKind, Key: nthKey(g.IntN(4))}, Cascade: metav1.DeletePropagationBackground})
}

// createOwned creates a Job with the name of one of a CronJob, which the CronJob may not own.
func (g *workloadGenerator) createOwned() {
	j := g.job()
	j.Name = fmt.Sprintf("%s-%d", g.name(), g.now.Unix()/60+int64(g.IntN(3)))
	if g.chance(2) {
		j.OwnerReferences = []metav1.OwnerReference{{APIVersion: "batch/v1", Kind: "CronJob", Name: "db", UID: "other", Controller: new(true)}}
	}
	g.add(Step{Op: Create, Object: j})
}
