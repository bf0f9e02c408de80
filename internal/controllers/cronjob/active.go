package cronjob

import (
	"slices"
	"strings"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/volsim/volsim/api"
	"github.com/volsim/volsim/internal/controllers/job"
	"github.com/volsim/volsim/internal/core/engine"
	"github.com/volsim/volsim/internal/core/plain"
)

// end returns the condition with which a Job has ended, "" while it has not.
func end(j *batchv1.Job) batchv1.JobConditionType {
	for _, c := range j.Status.Conditions {
		if (c.Type == batchv1.JobComplete || c.Type == batchv1.JobFailed) && c.Status == corev1.ConditionTrue {
			return c.Type
		}
	}
	return ""
}

// trackActive brings the list of active Jobs in the status up to date.
func (u *update) trackActive(p *engine.Process) error {
	for _, j := range u.jobs {
		var err error
		switch found, how := u.active(j.UID), end(j); {
		case how == "" && !found:
			err = u.noteUnexpected(p, j)
		case how != "":
			u.noteEnd(p, j, how, found)
		}
		if err != nil {
			return err
		}
	}
	// JOB-132: a Job that is gone is not active. The informer may be late, so the API server is asked.
	for _, ref := range u.c.Status.Active {
		if slices.ContainsFunc(u.jobs, func(j *batchv1.Job) bool { return j.UID == ref.UID }) {
			continue
		}
		_, err := p.API().Get(p, api.Ref{Kind: job.Kind, Key: api.Key(ref.Namespace, ref.Name)})
		if err != nil && !apierrors.IsNotFound(err) {
			return err
		}
		if err != nil {
			u.event(p, corev1.EventTypeNormal, "MissingJob", "Active job went missing: %v", ref.Name)
			u.remove(ref.UID)
			u.changed = true
		}
	}
	return nil
}

// noteUnexpected emits an Event about an active Job that the status does not name, unless the newest version of the CronJob names it (JOB-131).
func (u *update) noteUnexpected(p *engine.Process, j *batchv1.Job) error {
	obj, err := p.API().Get(p, api.Ref{Kind: Kind, Key: u.key})
	if err != nil {
		return err
	}
	newest, err := plain.As[*batchv1.CronJob](obj)
	if err != nil {
		return err
	}
	if slices.ContainsFunc(newest.Status.Active, func(ref corev1.ObjectReference) bool { return ref.UID == j.UID }) {
		// JOB-131: the sync goes on with the newest version, and writes the older one.
		u.obj, u.c = obj, newest.DeepCopy()
		return nil
	}
	u.event(p, corev1.EventTypeWarning, "UnexpectedJob", "Saw a job that the controller did not create or forgot: %s", j.Name)
	return nil
}

// noteEnd notes the end of a Job (JOB-133).
func (u *update) noteEnd(p *engine.Process, j *batchv1.Job, how batchv1.JobConditionType, active bool) {
	st := &u.c.Status
	if active {
		u.remove(j.UID)
		u.event(p, corev1.EventTypeNormal, "SawCompletedJob", "Saw completed job: %s, condition: %v", j.Name, how)
		u.changed = true
	}
	if how != batchv1.JobComplete {
		return
	}
	if at := j.Status.CompletionTime; st.LastSuccessfulTime == nil || at != nil && at.After(st.LastSuccessfulTime.Time) {
		st.LastSuccessfulTime, u.changed = at, true
	}
}

// remove removes a Job from the active ones in the status.
func (u *update) remove(uid types.UID) {
	u.c.Status.Active = slices.DeleteFunc(slices.Clone(u.c.Status.Active), func(ref corev1.ObjectReference) bool { return ref.UID == uid })
}

// cleanUp deletes the oldest Jobs that have ended, beyond the limits of the history (JOB-140).
func (u *update) cleanUp(p *engine.Process) {
	for _, history := range []struct {
		how   batchv1.JobConditionType
		limit *int32
	}{{batchv1.JobComplete, u.c.Spec.SuccessfulJobsHistoryLimit}, {batchv1.JobFailed, u.c.Spec.FailedJobsHistoryLimit}} {
		if history.limit == nil {
			continue
		}
		ended := slices.DeleteFunc(slices.Clone(u.jobs), func(j *batchv1.Job) bool { return end(j) != history.how })
		slices.SortFunc(ended, byStart)
		for _, j := range ended[:max(0, len(ended)-int(*history.limit))] {
			p.Decide("JOB-140", u.obj, "the Job %s is one too many in the history", j.Name)
			if u.delete(p, j.Name, j.UID) {
				u.changed = true
			}
		}
	}
}

// byStart orders Jobs by their start, those that have not started last, and then by name.
func byStart(a, b *batchv1.Job) int {
	s, t := a.Status.StartTime, b.Status.StartTime
	switch {
	case s.Equal(t):
		return strings.Compare(a.Name, b.Name)
	case s == nil:
		return 1
	case t == nil:
		return -1
	}
	return s.Compare(t.Time)
}

// delete deletes a Job, its pods in the background, and its name from the active ones (JOB-141). It reports whether that succeeded.
func (u *update) delete(p *engine.Process, name string, uid types.UID) bool {
	_, err := p.API().Delete(p, api.Ref{Kind: job.Kind, Key: api.Key(u.c.Namespace, name)}, api.DeleteOptions{PropagationPolicy: metav1.DeletePropagationBackground})
	if err != nil {
		u.event(p, corev1.EventTypeWarning, "FailedDelete", "Deleted job: %v", err)
		return false
	}
	u.remove(uid)
	u.event(p, corev1.EventTypeNormal, "SuccessfulDelete", "Deleted job %v", name)
	return true
}
