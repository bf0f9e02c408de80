package store_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/volsim/volsim/internal/core/plain"
)

func cronJob(edits ...func(*batchv1.CronJob)) *batchv1.CronJob {
	job := &batchv1.CronJob{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "often"}, Spec: batchv1.CronJobSpec{Schedule: "*/5 * * * *"}}
	job.Spec.JobTemplate.Spec.Template.Spec = corev1.PodSpec{
		RestartPolicy: corev1.RestartPolicyNever, Containers: []corev1.Container{{Name: "c", Image: "i:1"}}}
	for _, edit := range edits {
		edit(job)
	}
	return job
}

func scheduled(schedule string) func(*batchv1.CronJob) {
	return func(j *batchv1.CronJob) { j.Spec.Schedule = schedule }
}

func inZone(zone string) func(*batchv1.CronJob) {
	return func(j *batchv1.CronJob) { j.Spec.TimeZone = &zone }
}

// TestCronJob: what a CronJob has when it is stored.
func TestCronJob(t *testing.T) {
	w := newFixture(t)
	stored, err := plain.As[*batchv1.CronJob](made(w, cronJob()))
	require.NoError(t, err)
	spec := stored.Spec
	assert.Equal(t, "Allow false 3 1", fmt.Sprint(spec.ConcurrencyPolicy, " ", *spec.Suspend, " ", *spec.SuccessfulJobsHistoryLimit, " ", *spec.FailedJobsHistoryLimit), "JOB-110")
	assert.Nil(t, spec.JobTemplate.Spec.BackoffLimit, "JOB-110: no defaults of Jobs")
	assert.Equal(t, corev1.DNSClusterFirst, spec.JobTemplate.Spec.Template.Spec.DNSPolicy, "JOB-110")
	assert.EqualValues(t, 1, stored.Generation)
}

// TestCronJobRefused: what is wrong with CronJobs. Without a text nothing is.
func TestCronJobRefused(t *testing.T) {
	for _, tt := range []struct {
		rule string
		edit func(*batchv1.CronJob)
		want string
	}{
		{"JOB-111", scheduled(""), "spec.schedule: Required value"},
		{"JOB-111", func(j *batchv1.CronJob) { j.Spec.ConcurrencyPolicy = "x" }, `supported values: "Allow", "Forbid", "Replace"`},
		{"JOB-111", func(j *batchv1.CronJob) { j.Spec.StartingDeadlineSeconds = new(int64(-1)) }, "startingDeadlineSeconds: Invalid value: -1"},
		{"JOB-111", func(j *batchv1.CronJob) { j.Spec.FailedJobsHistoryLimit = new(int32(-1)) }, "failedJobsHistoryLimit: Invalid value: -1"},
		{"JOB-111", func(j *batchv1.CronJob) { j.Spec.JobTemplate.Spec.Selector = &metav1.LabelSelector{} }, "`selector` will be auto-generated"},
		{"JOB-111", func(j *batchv1.CronJob) { j.Spec.JobTemplate.Spec.ManualSelector = new(true) }, `supported values: "nil", "false"`},
		{"JOB-111", func(j *batchv1.CronJob) { j.Spec.JobTemplate.Spec.Template.Spec.RestartPolicy = "" },
			"spec.jobTemplate.spec.template.spec.restartPolicy: Required value"},
		{"JOB-111", func(j *batchv1.CronJob) { j.Name = strings.Repeat("a", 53) }, "metadata.name: Invalid value: \"" + strings.Repeat("a", 53) + "\": must be no more than 52"},
		{"JOB-112", scheduled("0,15-45/5,50 */2 1-31 jan-DEC sun,6"), ""},
		{"JOB-112", scheduled("@every 1h30m"), ""},
		{"JOB-112", scheduled("@Daily"), "unrecognized descriptor: @Daily"},
		{"JOB-112", scheduled("@every soon"), "failed to parse duration @every soon"},
		{"JOB-112", scheduled("* * * *"), "expected exactly 5 fields, found 4: [* * * *]"},
		{"JOB-112", scheduled("60 * * * *"), "end of range (60) above maximum (59): 60"},
		{"JOB-112", scheduled("* * 0 * *"), "beginning of range (0) below minimum (1): 0"},
		{"JOB-112", scheduled("* 7-3 * * *"), "beginning of range (7) beyond end of range (3): 7-3"},
		{"JOB-112", scheduled("1-2-3 * * * *"), "too many hyphens: 1-2-3"},
		{"JOB-112", scheduled("*/1/2 * * * *"), "too many slashes: */1/2"},
		{"JOB-112", scheduled("*/0 * * * *"), "step of range should be a positive number: */0"},
		{"JOB-112", scheduled("a * * * *"), "failed to parse int from a"},
		{"JOB-112", scheduled("*/-5 * * * *"), "negative number (-5) not allowed: -5"},
		{"JOB-112", scheduled("TZ=UTC * * * * *"), "cannot use TZ or CRON_TZ in schedule, use timeZone field instead"},
		{"JOB-112", scheduled("TZ=UTC"), "invalid schedule format"},
		{"JOB-112", scheduled("CRON_TZ=Mars/Base @daily"), "provided bad location Mars/Base: unknown time zone Mars/Base"},
		{"JOB-113", inZone("Europe/Berlin"), ""},
		{"JOB-113", inZone(""), "timeZone must be nil or non-empty string"},
		{"JOB-113", inZone("Mars/Base"), "unknown time zone Mars/Base"},
		{"JOB-113", inZone("europe/berlin"), "unknown time zone europe/berlin"},
		{"JOB-113", inZone("../x"), "unknown time zone ../x"},
		{"JOB-113", inZone("Local"), "timeZone must be an explicit time zone"},
	} {
		_, err := newFixture(t).Create(cronJob(tt.edit))
		if tt.want == "" {
			require.NoError(t, err, tt.rule)
			continue
		}
		require.ErrorContains(t, err, tt.want, tt.rule)
	}
}

// TestCronJobUpdate: an update may keep what a new CronJob must not have.
func TestCronJobUpdate(t *testing.T) {
	w := newFixture(t)
	old := cronJob(scheduled("TZ=UTC 0 0 * * *"))
	old.Name = strings.Repeat("a", 53)
	_, err := w.Load(old)
	require.NoError(t, err)
	update := func(edit func(*batchv1.CronJob)) error {
		changed := old.DeepCopy()
		edit(changed)
		_, err := w.Update(changed)
		return err
	}
	require.NoError(t, update(scheduled("TZ=UTC 0 1 * * *")), "JOB-111, JOB-112")
	require.ErrorContains(t, update(inZone("UTC")), "cannot use both timeZone field and TZ or CRON_TZ in schedule", "JOB-112")
	require.ErrorContains(t, update(scheduled("x")), "expected exactly 5 fields", "JOB-112")
}
