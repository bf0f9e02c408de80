package cronjob

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/volsim/volsim/api"
	"github.com/volsim/volsim/internal/controllers/job"
	"github.com/volsim/volsim/internal/core/cron"
	"github.com/volsim/volsim/internal/core/engine"
	"github.com/volsim/volsim/internal/core/plain"
	"github.com/volsim/volsim/internal/core/store"
)

// errNoNamespace is the error of client-go about a request for an object without a namespace.
var errNoNamespace = errors.New("an empty namespace may not be set when a resource name is provided")

// update is one sync of a CronJob.
type update struct {
	*controller
	key string
	// obj is the version that the sync works on.
	obj api.Object
	// written is a copy of the CronJob, whose status is written in the end.
	written *batchv1.CronJob
	// c is the copy that the sync works on: written, or a newer version, whose changes are not written (JOB-131).
	c    *batchv1.CronJob
	jobs []*batchv1.Job
	// changed is set if the status must be written.
	changed bool
}

// work syncs a key. A sync without an error and without a next instant leaves the failures of the key as they are.
func (c *controller) work(p *engine.Process, key string) error {
	next, err := c.sync(p, key)
	switch {
	case err != nil:
		return c.failed.Of(key, err)
	case next == nil:
		return engine.Gone
	}
	delete(c.failed, key)
	c.queue.AddInBackground(key, *next)
	return nil
}

// sync brings a CronJob up to date. It returns the time until the next sync, nil if none is planned.
func (c *controller) sync(p *engine.Process, key string) (next *time.Duration, err error) {
	obj, ok := c.cronJobs.Get(key)
	if !ok {
		return nil, nil
	}
	u := &update{controller: c, key: key, obj: obj, written: plain.Shared[*batchv1.CronJob](obj).DeepCopy()}
	u.c = u.written
	for _, other := range c.jobs.List() {
		// JOB-130: the name of the owner counts, not its uid.
		if ref := metav1.GetControllerOfNoCopy(other); other.Namespace == obj.Namespace && ref != nil && ref.Name == obj.Name {
			u.jobs = append(u.jobs, plain.Shared[*batchv1.Job](other))
		}
	}
	u.cleanUp(p)
	next, failed := u.run(p)
	if u.changed {
		u.written.APIVersion, u.written.Kind = apiVersion, kindName
		if _, err := p.API().Update(p, u.written, api.Status, store.UpdateOptions{}); err != nil {
			return nil, err
		}
	}
	if next != nil {
		return next, nil
	}
	return nil, failed
}

// run notes which Jobs have ended and creates the one that is due.
func (u *update) run(p *engine.Process) (next *time.Duration, err error) {
	now := p.Now()
	if err := u.trackActive(p); err != nil {
		return nil, err
	}
	spec := &u.c.Spec
	if u.c.DeletionTimestamp != nil {
		return nil, nil
	}
	if spec.TimeZone != nil {
		if _, err := cron.Zone(*spec.TimeZone); err != nil {
			u.event(p, corev1.EventTypeWarning, "UnknownTimeZone", "invalid timeZone: %q: %s", *spec.TimeZone, err)
			return nil, nil
		}
	}
	if spec.Suspend != nil && *spec.Suspend {
		// JOB-123: a suspended CronJob creates nothing.
		return nil, nil
	}
	schedule, due, found := u.findDue(p, now)
	if !found {
		return nil, nil
	}
	next = new(untilNext(u.c, now, schedule))
	switch {
	case due.IsZero():
	case spec.StartingDeadlineSeconds != nil && due.Add(time.Duration(*spec.StartingDeadlineSeconds)*time.Second).Before(now):
		// JOB-124: it is too late for this instant.
		u.event(p, corev1.EventTypeWarning, "MissSchedule", "Missed scheduled time to start a job: %s", due.UTC().Format(time.RFC1123Z))
	case u.started(due):
	case spec.ConcurrencyPolicy == batchv1.ForbidConcurrent && len(u.c.Status.Active) > 0:
		// JOB-125: with Forbid no Job is created while one is active.
		u.event(p, corev1.EventTypeNormal, "JobAlreadyActive", "Not starting job because prior execution is running and concurrency policy is Forbid")
	default:
		created, err := u.start(p, due)
		if !created {
			return nil, err
		}
		next = new(untilNext(u.c, now, schedule))
	}
	return next, nil
}

// findDue reads the schedule and finds the last instant that has passed and has no Job yet; zero if there is none (JOB-122). found is false if
// the schedule has no instants.
func (u *update) findDue(p *engine.Process, now time.Time) (schedule *cron.Schedule, due time.Time, found bool) {
	spec := &u.c.Spec
	if strings.Contains(spec.Schedule, "TZ") {
		u.event(p, corev1.EventTypeWarning, "UnsupportedSchedule", "CRON_TZ or TZ used in schedule %q is not officially supported, see "+
			"https://kubernetes.io/docs/concepts/workloads/controllers/cron-jobs/ for more details", spec.Schedule)
	}
	schedule, err := cron.Parse(zoned(spec))
	if err != nil {
		u.event(p, corev1.EventTypeWarning, "UnparseableSchedule", "unparseable schedule: %q : %s", spec.Schedule, err)
		return nil, time.Time{}, false
	}
	m, err := findMissed(u.c, now, schedule, true)
	if err != nil {
		u.event(p, corev1.EventTypeWarning, "InvalidSchedule", "invalid schedule: %s : %s", spec.Schedule, err)
		return nil, time.Time{}, false
	}
	if !m.last.IsZero() && m.number > manyMissed {
		// JOB-122: more than 100 instants were missed.
		u.event(p, corev1.EventTypeWarning, "TooManyMissedTimes", "too many missed start times. Set or decrease .spec.startingDeadlineSeconds or check clock skew")
	}
	return schedule, m.last, true
}

// started reports whether the instant has a Job (JOB-126).
func (u *update) started(due time.Time) bool {
	name := u.jobName(due)
	return slices.ContainsFunc(u.c.Status.Active, func(ref corev1.ObjectReference) bool { return ref.Name == name && ref.Namespace == u.c.Namespace }) ||
		u.c.Status.LastScheduleTime != nil && u.c.Status.LastScheduleTime.Time.Equal(due)
}

// start creates the Job of an instant. It reports whether the CronJob has a next instant then.
func (u *update) start(p *engine.Process, due time.Time) (bool, error) {
	if u.c.Spec.ConcurrencyPolicy == batchv1.ReplaceConcurrent {
		if err := u.replace(p); err != nil {
			return false, err
		}
	}
	created, err := u.newJob(due)
	if err != nil {
		return false, err
	}
	// JOB-091: the Job of this instant is created.
	p.Decide("JOB-127", u.obj, "the Job of %s is due", due.UTC().Format(time.RFC3339))
	stored, err := p.API().Create(p, created, store.CreateOptions{})
	switch {
	case apierrors.HasStatusCause(err, corev1.NamespaceTerminatingCause):
		return false, err
	case apierrors.IsAlreadyExists(err):
		// JOB-128: upstream asks for the Job without a namespace, which its client refuses.
		return false, errNoNamespace
	case err != nil:
		u.event(p, corev1.EventTypeWarning, "FailedCreate", "Error creating job: %v", err)
		return false, err
	default:
		u.event(p, corev1.EventTypeNormal, "SuccessfulCreate", "Created job %v", created.Name)
	}
	// JOB-127: the status names the Job and its instant.
	u.c.Status.Active = append(u.c.Status.Active, corev1.ObjectReference{Kind: "Job", APIVersion: apiVersion, Namespace: stored.GetNamespace(),
		Name: stored.GetName(), UID: stored.GetUID(), ResourceVersion: stored.GetResourceVersion()})
	u.c.Status.LastScheduleTime = new(metav1.NewTime(due))
	u.changed = true
	return true, nil
}

// replace deletes the active Jobs (JOB-125).
func (u *update) replace(p *engine.Process) error {
	for _, ref := range slices.Clone(u.c.Status.Active) {
		stored, err := p.API().Get(p, api.Ref{Kind: job.Kind, Key: api.Key(ref.Namespace, ref.Name)})
		if err != nil {
			u.event(p, corev1.EventTypeWarning, "FailedGet", "Get job: %v", err)
			return err
		}
		if !u.delete(p, stored.GetName(), stored.GetUID()) {
			return fmt.Errorf("could not replace job %s", api.KeyOf(stored))
		}
		u.changed = true
	}
	return nil
}

// newJob returns the Job of an instant (JOB-127).
func (u *update) newJob(due time.Time) (*batchv1.Job, error) {
	zone := time.UTC
	if u.c.Spec.TimeZone != nil {
		var err error
		if zone, err = cron.Zone(*u.c.Spec.TimeZone); err != nil {
			return nil, err
		}
	}
	template := u.c.Spec.JobTemplate.DeepCopy()
	created := &batchv1.Job{TypeMeta: metav1.TypeMeta{APIVersion: apiVersion, Kind: "Job"}, Spec: template.Spec}
	created.Namespace, created.Name = u.c.Namespace, u.jobName(due)
	created.Labels, created.Annotations = template.Labels, template.Annotations
	metav1.SetMetaDataAnnotation(&created.ObjectMeta, batchv1.CronJobScheduledTimestampAnnotation, due.In(zone).Format(time.RFC3339))
	created.OwnerReferences = []metav1.OwnerReference{*metav1.NewControllerRef(u.c, batchv1.SchemeGroupVersion.WithKind(kindName))}
	return created, nil
}

// jobName is the name of the Job of an instant: it contains the minutes since 1970.
func (u *update) jobName(due time.Time) string { return fmt.Sprintf("%s-%d", u.c.Name, due.Unix()/60) }

func (u *update) active(uid types.UID) bool {
	return slices.ContainsFunc(u.c.Status.Active, func(ref corev1.ObjectReference) bool { return ref.UID == uid })
}

func (u *update) event(p *engine.Process, eventType, reason, text string, args ...any) {
	u.recorder.Event(p, u.obj, eventType, reason, text, args...)
}

// zoned is the schedule of a CronJob with its time zone, if both are valid together.
func zoned(spec *batchv1.CronJobSpec) string {
	if strings.Contains(spec.Schedule, "TZ") || spec.TimeZone == nil || !cron.KnownZone(*spec.TimeZone) {
		return spec.Schedule
	}
	return "TZ=" + *spec.TimeZone + " " + spec.Schedule
}

func sameZone(a, b *string) bool { return (a == nil) == (b == nil) && (a == nil || *a == *b) }
