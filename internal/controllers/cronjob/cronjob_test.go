package cronjob_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/volsim/volsim/api"
	"github.com/volsim/volsim/internal/controllers/cronjob"
	"github.com/volsim/volsim/internal/controllers/job"
	"github.com/volsim/volsim/internal/core/engine"
	"github.com/volsim/volsim/internal/core/plain"
	"github.com/volsim/volsim/internal/proof/rig"
	"github.com/volsim/volsim/trace"
)

// fixture has the controller of CronJobs, and none of Jobs: tests end them. The cluster starts at midnight.
type fixture struct{ *rig.Rig }

func newFixture(t *testing.T, cfg engine.Config) fixture {
	f := fixture{rig.New(t, cfg)}
	table, err := f.Store().Other(cronjob.Kind)
	f.OK(err)
	_, err = cronjob.New(f.Engine, table)
	f.OK(err)
	return f
}

const key = "default/backup"

// backup creates CronJob default/backup, which is due every 10 minutes.
func (f fixture) backup(edits ...func(*batchv1.CronJob)) {
	f.T.Helper()
	c := &batchv1.CronJob{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "backup"}, Spec: batchv1.CronJobSpec{Schedule: "*/10 * * * *"}}
	c.Spec.JobTemplate.Labels = map[string]string{"app": "backup"}
	c.Spec.JobTemplate.Spec.Template.Spec = corev1.PodSpec{
		RestartPolicy: corev1.RestartPolicyNever, Containers: []corev1.Container{{Name: "c", Image: "i:1"}}}
	for _, edit := range edits {
		edit(c)
	}
	f.Create(c)
}

func (f fixture) status() batchv1.CronJobStatus {
	f.T.Helper()
	obj, err := f.Store().Get(cronjob.Kind, key)
	f.OK(err)
	c, err := plain.As[*batchv1.CronJob](obj)
	f.OK(err)
	return c.Status
}

// jobs lists the Jobs with the minute of their name since the start: all, and those that the status calls active.
func (f fixture) jobs() string {
	f.T.Helper()
	minute := func(name string) string {
		var n int64
		_, err := fmt.Sscanf(name, "backup-%d", &n)
		f.OK(err)
		return fmt.Sprint(n - engine.DefaultStart.Unix()/60)
	}
	var all, active []string
	table, err := f.Store().Other(job.Kind)
	f.OK(err)
	for _, j := range table.List() {
		if strings.HasPrefix(j.Name, "backup-") {
			all = append(all, minute(j.Name))
		}
	}
	for _, ref := range f.status().Active {
		active = append(active, minute(ref.Name))
	}
	return strings.Join(all, " ") + "/" + strings.Join(active, " ")
}

func (f fixture) jobKey(minute int64) string {
	return fmt.Sprintf("%s-%d", key, engine.DefaultStart.Unix()/60+minute)
}

// end ends the Job of a minute.
func (f fixture) end(minute int64, how batchv1.JobConditionType) {
	f.T.Helper()
	at := f.Now().Format(time.RFC3339)
	condition := fmt.Sprintf(`{"type": %q, "status": "True", "lastTransitionTime": %q}`, how, at)
	completed := ""
	if how == batchv1.JobComplete {
		condition += fmt.Sprintf(`, {"type": "SuccessCriteriaMet", "status": "True", "lastTransitionTime": %q}`, at)
		completed = fmt.Sprintf(`, "completionTime": %q`, at)
	} else {
		condition += fmt.Sprintf(`, {"type": "FailureTarget", "status": "True", "lastTransitionTime": %q}`, at)
	}
	f.PatchStatus(job.Kind, f.jobKey(minute), fmt.Sprintf(`{"status": {"startTime": %q, "uncountedTerminatedPods": {}, "conditions": [%s]%s}}`, at, condition, completed))
	f.Advance(time.Second)
}

// events lists the Events about the CronJob. Equal ones in a row count as one.
func (f fixture) events() string {
	var list []string
	for e := range f.Trace().Entries() {
		if e.Type == trace.Emitted && e.Object.Kind == cronjob.Kind {
			list = append(list, e.Reason)
		}
	}
	return strings.Join(slices.Compact(list), " ")
}

func (f fixture) want(rule, what, got, want string) {
	f.T.Helper()
	if got != want {
		f.T.Errorf("%s: %s = %q, want %q", rule, what, got, want)
	}
}

func policy(p batchv1.ConcurrencyPolicy) func(*batchv1.CronJob) {
	return func(c *batchv1.CronJob) { c.Spec.ConcurrencyPolicy = p }
}

// A CronJob creates a Job at each instant, notes when it ends, and deletes those of long ago.
func TestSchedule(t *testing.T) {
	f := newFixture(t, engine.Config{})
	f.backup(func(c *batchv1.CronJob) { c.Spec.TimeZone = new("Asia/Kolkata") })
	f.OK(f.Settle(time.Hour))
	f.want("JOB-121", "Settle does not wait for the schedule", f.Elapsed().String(), "0s")
	f.Advance(10 * time.Minute)
	f.want("JOB-121", "before the padding", f.jobs(), "/")
	f.Advance(100 * time.Millisecond)
	f.want("JOB-091", "after it", f.jobs(), "10/10")
	obj, err := f.Store().Get(job.Kind, f.jobKey(10))
	f.OK(err)
	owner := metav1.GetControllerOf(obj)
	f.want("JOB-127", "the Job", fmt.Sprint(obj.GetLabels()["app"], " ", obj.GetAnnotations()[batchv1.CronJobScheduledTimestampAnnotation], " ", owner.Kind, " ", owner.Name),
		"backup 2026-01-01T05:40:00+05:30 CronJob backup")
	f.want("JOB-127", "lastScheduleTime", f.status().LastScheduleTime.UTC().Format(time.TimeOnly), "00:10:00")
	f.end(10, batchv1.JobComplete)
	f.want("JOB-133", "after its end", f.jobs(), "10/")
	f.want("JOB-133", "lastSuccessfulTime", f.status().LastSuccessfulTime.UTC().Format(time.TimeOnly), "00:10:00")
	f.want("JOB-133", "Events", f.events(), "SuccessfulCreate SawCompletedJob")
	for minute := int64(20); minute <= 40; minute += 10 {
		f.Advance(10 * time.Minute)
		f.end(minute, batchv1.JobComplete)
	}
	f.want("JOB-140", "three of four are kept", f.jobs(), "20 30 40/")
	for minute := int64(50); minute <= 60; minute += 10 {
		f.Advance(10 * time.Minute)
		f.end(minute, batchv1.JobFailed)
	}
	f.want("JOB-140", "one of two failed ones is kept", f.jobs(), "20 30 40 60/")
	f.want("JOB-133", "lastSuccessfulTime of those that succeeded", f.status().LastSuccessfulTime.UTC().Format(time.TimeOnly), "00:40:03")
	f.want("JOB-141", "last Events", strings.Join(strings.Fields(f.events())[len(strings.Fields(f.events()))-4:], " "),
		"SawCompletedJob SuccessfulCreate SuccessfulDelete SawCompletedJob")
}

// What happens at an instant while the Job of the one before is active.
func TestConcurrency(t *testing.T) {
	for _, tt := range []struct {
		rule         string
		policy       batchv1.ConcurrencyPolicy
		jobs, events string
	}{
		{"JOB-125", batchv1.AllowConcurrent, "10 20/10 20", "SuccessfulCreate"},
		{"JOB-125", batchv1.ForbidConcurrent, "10/10", "SuccessfulCreate JobAlreadyActive"},
		{"JOB-125", batchv1.ReplaceConcurrent, "20/20", "SuccessfulCreate SuccessfulDelete SuccessfulCreate"},
	} {
		t.Run(string(tt.policy), func(t *testing.T) {
			f := newFixture(t, engine.Config{})
			f.backup(policy(tt.policy))
			f.Advance(21 * time.Minute)
			f.want(tt.rule, "Jobs", f.jobs(), tt.jobs)
			f.want(tt.rule, "Events", f.events(), tt.events)
		})
	}
}

// With Forbid the instant that was missed counts as soon as the Job has ended.
func TestForbidden(t *testing.T) {
	f := newFixture(t, engine.Config{})
	f.backup(policy(batchv1.ForbidConcurrent))
	f.Advance(25 * time.Minute)
	f.end(10, batchv1.JobComplete)
	f.want("JOB-122", "Jobs", f.jobs(), "10 20/20")
}

// Changes of a CronJob.
func TestChanges(t *testing.T) {
	for _, tt := range []struct {
		rule, name string
		edit       func(*batchv1.CronJob)
		do         func(f fixture)
		jobs       string
		events     string
	}{
		{"JOB-123", "suspended", func(c *batchv1.CronJob) { c.Spec.Suspend = new(true) }, func(f fixture) { f.Advance(time.Hour) }, "/", ""},
		{"JOB-122", "resumed: the last instant that was missed", func(c *batchv1.CronJob) { c.Spec.Suspend = new(true) }, func(f fixture) {
			f.Advance(35 * time.Minute)
			f.Patch(cronjob.Kind, key, `{"spec": {"suspend": false}}`)
		}, "30/30", "SuccessfulCreate"},
		{"JOB-124", "resumed within the deadline", func(c *batchv1.CronJob) {
			c.Spec.Suspend, c.Spec.StartingDeadlineSeconds = new(true), new(int64(301))
		}, func(f fixture) {
			f.Advance(35 * time.Minute)
			f.Patch(cronjob.Kind, key, `{"spec": {"suspend": false}}`)
		}, "30/30", "SuccessfulCreate"},
		{"JOB-124", "resumed after the deadline", func(c *batchv1.CronJob) {
			c.Spec.Suspend, c.Spec.StartingDeadlineSeconds = new(true), new(int64(60))
		}, func(f fixture) {
			f.Advance(35 * time.Minute)
			f.Patch(cronjob.Kind, key, `{"spec": {"suspend": false}}`)
		}, "/", ""},
		{"JOB-122", "resumed after two days", func(c *batchv1.CronJob) { c.Spec.Suspend = new(true) }, func(f fixture) {
			f.Advance(48 * time.Hour)
			f.Patch(cronjob.Kind, key, `{"spec": {"suspend": false}}`)
		}, "2880/2880", "TooManyMissedTimes SuccessfulCreate"},
		{"JOB-121", "another schedule", nil, func(f fixture) {
			f.Advance(time.Minute)
			f.Patch(cronjob.Kind, key, `{"spec": {"schedule": "*/4 * * * *"}}`)
			f.Advance(4 * time.Minute)
		}, "4/4", "SuccessfulCreate"},
		{"JOB-122", "a schedule without instants", func(c *batchv1.CronJob) { c.Spec.Schedule = "0 0 31 2 *" }, func(f fixture) {}, "/", "InvalidSchedule"},
		{"JOB-132", "a Job that is deleted", nil, func(f fixture) {
			f.Advance(11 * time.Minute)
			f.deleteJob(10)
		}, "/", "SuccessfulCreate MissingJob"},
		{"JOB-126", "a Job that is deleted has no successor before the next instant", nil, func(f fixture) {
			f.Advance(11 * time.Minute)
			f.deleteJob(10)
			f.Advance(5 * time.Minute)
		}, "/", "SuccessfulCreate MissingJob"},
		{"JOB-131", "a Job of its own that it did not create", nil, func(f fixture) { f.adopt("backup-1", "") }, fmt.Sprint(1-engine.DefaultStart.Unix()/60, "/"), "UnexpectedJob"},
		{"JOB-130", "a Job of an earlier CronJob of that name", nil, func(f fixture) {
			f.adopt("backup-1", "earlier")
			f.Advance(11 * time.Minute)
		}, fmt.Sprint(1-engine.DefaultStart.Unix()/60, " 10/10"), "UnexpectedJob SuccessfulCreate UnexpectedJob"},
		{"JOB-128", "a Job that was created before a crash", nil, func(f fixture) {
			f.adopt(strings.TrimPrefix(f.jobKey(10), "default/"), "")
			f.Advance(11 * time.Minute)
			f.Advance(10 * time.Minute)
		}, "10 20/20", "UnexpectedJob SuccessfulCreate UnexpectedJob"},
		{"JOB-128", "a Job of that name with another owner", nil, func(f fixture) {
			f.Create(other(strings.TrimPrefix(f.jobKey(10), "default/")))
			f.Advance(11 * time.Minute)
		}, "10/", ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			f := newFixture(t, engine.Config{})
			f.backup(func(c *batchv1.CronJob) {
				if tt.edit != nil {
					tt.edit(c)
				}
			})
			f.Advance(0)
			tt.do(f)
			f.Advance(time.Second)
			f.want(tt.rule, "Jobs", f.jobs(), tt.jobs)
			f.want(tt.rule, "Events", f.events(), tt.events)
		})
	}
}

// deleteJob deletes the Job of a minute as kubectl does.
func (f fixture) deleteJob(minute int64) {
	f.T.Helper()
	_, err := f.Store().Delete(job.Kind, f.jobKey(minute), api.DeleteOptions{PropagationPolicy: metav1.DeletePropagationBackground})
	f.OK(err)
}

func other(name string) *batchv1.Job {
	j := &batchv1.Job{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name}}
	j.Spec.Template.Spec = corev1.PodSpec{RestartPolicy: corev1.RestartPolicyNever, Containers: []corev1.Container{{Name: "c", Image: "i:1"}}}
	return j
}

// adopt creates a Job whose controller is the CronJob, or one of its name with that uid.
func (f fixture) adopt(name string, uid types.UID) {
	obj, err := f.Store().Get(cronjob.Kind, key)
	f.OK(err)
	j := other(name)
	j.OwnerReferences = []metav1.OwnerReference{*metav1.NewControllerRef(obj, batchv1.SchemeGroupVersion.WithKind("CronJob"))}
	if uid != "" {
		j.OwnerReferences[0].UID = uid
	}
	f.Create(j)
}

// TestFailures: a failed request is repeated.
func TestFailures(t *testing.T) {
	for _, tt := range []struct {
		rule, request string
		jobs, events  string
	}{
		{"JOB-127", "create", "10/10", "FailedCreate SuccessfulCreate"},
		// The Job was created, and the status did not name it.
		{"JOB-128", "update-status", "10/", "SuccessfulCreate UnexpectedJob"},
	} {
		t.Run(tt.request, func(t *testing.T) {
			failed := false
			f := newFixture(t, engine.Config{Injector: injector(func(call api.Call) api.Fault {
				if failed || call.Verb != tt.request || !strings.HasPrefix(call.Key, key) || call.Actor != "cronjob-controller" {
					return api.Fault{}
				}
				failed = true
				return api.Fault{Err: errors.New("boom")}
			})})
			f.backup()
			f.Advance(10*time.Minute + time.Second)
			f.want(tt.rule, "Jobs", f.jobs(), tt.jobs)
			f.want(tt.rule, "Events", f.events(), tt.events)
		})
	}
}

type injector func(api.Call) api.Fault

func (i injector) Inject(call api.Call) api.Fault { return i(call) }
