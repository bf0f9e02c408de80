package kinds

import (
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// jobStatusCheck compares two versions of a Job. What has been wrong before may stay.
type jobStatusCheck struct {
	*statusErrors
	job, old *batchv1.Job
}

// checkJobStatus validates the status of a Job (API-452).
func checkJobStatus(c *statusErrors, job, old *batchv1.Job) {
	s := &job.Status
	c.notNegative(count{"active", int64(s.Active)}, count{"succeeded", int64(s.Succeeded)}, count{"failed", int64(s.Failed)},
		optional("ready", s.Ready), optional("terminating", s.Terminating))
	c.checkUncounted(s.UncountedTerminatedPods)
	j := &jobStatusCheck{c, job, old}
	j.checkTimes()
	j.checkFinished()
	j.checkIndexes()
	j.checkPods()
	j.checkSuccess()
	j.checkProgress()
}

// changed reports that a condition has become true, or is so no more.
func (c *jobStatusCheck) changed(kind batchv1.JobConditionType) bool {
	return hasCondition(c.job, kind) != hasCondition(c.old, kind)
}

func (c *jobStatusCheck) has(kind batchv1.JobConditionType) bool { return hasCondition(c.job, kind) }

func finished(job *batchv1.Job) bool {
	return hasCondition(job, batchv1.JobComplete) || hasCondition(job, batchv1.JobFailed)
}

// conditions refuses the conditions as they are.
func (c *jobStatusCheck) conditions(why string) {
	c.add(field.Invalid(c.path.Child("conditions"), field.OmitValueType{}, why))
}

// checkUncounted: pods that have ended have a uid, and come once.
func (c *statusErrors) checkUncounted(pods *batchv1.UncountedTerminatedPods) {
	if pods == nil {
		return
	}
	seen := map[types.UID]bool{}
	for _, part := range []struct {
		name string
		uids []types.UID
	}{{"succeeded", pods.Succeeded}, {"failed", pods.Failed}} {
		for i, uid := range part.uids {
			at := c.path.Child("uncountedTerminatedPods", part.name).Index(i)
			switch {
			case uid == "":
				c.add(field.Invalid(at, uid, "must not be empty"))
			case seen[uid]:
				c.add(field.Duplicate(at, uid))
			}
			seen[uid] = true
		}
	}
}

// checkTimes: a Job is either complete or failed, and only a complete one has a time of completion, which is not before its start.
func (c *jobStatusCheck) checkTimes() {
	s, at := &c.job.Status, c.path.Child("completionTime")
	complete, failed := c.has(batchv1.JobComplete), c.has(batchv1.JobFailed)
	completeChanged, timeChanged := c.changed(batchv1.JobComplete), !sameTime(s.CompletionTime, c.old.Status.CompletionTime)
	if (completeChanged || c.changed(batchv1.JobFailed)) && complete && failed {
		c.conditions("cannot set Complete=True and Failed=true conditions")
	}
	if (completeChanged || c.changed(batchv1.JobFailureTarget)) && complete && c.has(batchv1.JobFailureTarget) {
		c.conditions("cannot set Complete=True and FailureTarget=true conditions")
	}
	if completeChanged || timeChanged {
		switch {
		case s.CompletionTime != nil && !complete:
			c.add(field.Invalid(at, s.CompletionTime, "cannot set completionTime when there is no Complete=True condition"))
		case s.CompletionTime == nil && complete:
			c.add(field.Required(at, "completionTime is required for Complete jobs"))
		}
	}
	if (timeChanged || !sameTime(s.StartTime, c.old.Status.StartTime)) && s.StartTime != nil && s.CompletionTime != nil && s.CompletionTime.Before(s.StartTime) {
		c.add(field.Invalid(at, s.CompletionTime, "must be equal to or after `startTime`"))
	}
}

// checkFinished: before a Job fails or is complete, it says so; then it has started, and has no pods left.
func (c *jobStatusCheck) checkFinished() {
	s, was := &c.job.Status, &c.old.Status
	done := finished(c.job)
	doneChanged := done != finished(c.old)
	if (c.changed(batchv1.JobFailed) || !samePointer(s.FailedIndexes, was.FailedIndexes)) && c.has(batchv1.JobFailed) && !c.has(batchv1.JobFailureTarget) {
		c.conditions("cannot set Failed=True condition without the FailureTarget=true condition")
	}
	if (c.changed(batchv1.JobComplete) || c.changed(batchv1.JobSuccessCriteriaMet)) && c.has(batchv1.JobComplete) && !c.has(batchv1.JobSuccessCriteriaMet) {
		c.conditions("cannot set Complete=True condition without the SuccessCriteriaMet=true condition")
	}
	if !done {
		return
	}
	if (doneChanged || s.Active != was.Active) && s.Active > 0 {
		c.add(field.Invalid(c.path.Child("active"), s.Active, "active>0 is invalid for finished job"))
	}
	unused := c.job.Spec.Suspend != nil && *c.job.Spec.Suspend && c.job.Spec.Completions != nil && *c.job.Spec.Completions == 0
	if (doneChanged || !sameTime(s.StartTime, was.StartTime)) && !unused && s.StartTime == nil {
		c.add(field.Required(c.path.Child("startTime"), "startTime is required for finished job"))
	}
	if pods := s.UncountedTerminatedPods; pods != nil && (doneChanged || !reflect.DeepEqual(pods, was.UncountedTerminatedPods)) && len(pods.Failed)+len(pods.Succeeded) > 0 {
		// The server shows the names of the fields in Go.
		shown := struct{ Succeeded, Failed []types.UID }{pods.Succeeded, pods.Failed}
		c.add(field.Invalid(c.path.Child("uncountedTerminatedPods"), shown, "must be empty for finished job"))
	}
}

// checkIndexes: lists of indexes have intervals that ascend, below the number of completions, and belong to Jobs that have indexes.
func (c *jobStatusCheck) checkIndexes() {
	s, spec := &c.job.Status, &c.job.Spec
	completedChanged, failedChanged := s.CompletedIndexes != c.old.Status.CompletedIndexes, !samePointer(s.FailedIndexes, c.old.Status.FailedIndexes)
	completed, failed := c.path.Child("completedIndexes"), c.path.Child("failedIndexes")
	var parts, failedParts []interval
	if spec.Completions != nil {
		var err error
		if parts, err = parseIntervals(s.CompletedIndexes, *spec.Completions); err != nil && completedChanged {
			c.add(field.Invalid(completed, s.CompletedIndexes, "error parsing completedIndexes: "+err.Error()))
		}
		if s.FailedIndexes != nil {
			if failedParts, err = parseIntervals(*s.FailedIndexes, *spec.Completions); err != nil && failedChanged && spec.BackoffLimitPerIndex != nil {
				c.add(field.Invalid(failed, s.FailedIndexes, "error parsing failedIndexes: "+err.Error()))
			}
		}
	}
	if completedChanged && s.CompletedIndexes != "" && mode(c.job) != batchv1.IndexedCompletion {
		c.add(field.Invalid(completed, s.CompletedIndexes, "cannot set non-empty completedIndexes when non-indexed completion mode"))
	}
	if failedChanged && s.FailedIndexes != nil && spec.BackoffLimitPerIndex == nil {
		c.add(field.Invalid(failed, *s.FailedIndexes, "cannot set non-null failedIndexes when backoffLimitPerIndex is null"))
	}
	if completedChanged || failedChanged {
		for _, part := range failedParts {
			if i := slices.IndexFunc(parts, part.overlaps); i >= 0 {
				c.add(field.Invalid(failed, *s.FailedIndexes, fmt.Sprintf("failedIndexes and completedIndexes overlap at index: %d", max(part.first, parts[i].first))))
				break
			}
		}
	}
}

// interval is a range of indexes, including its ends.
type interval struct{ first, last int }

func (i interval) overlaps(other interval) bool {
	return i.first <= other.last && other.first <= i.last
}

// parseIntervals reads a list of indexes such as 1,3-5. It returns those that are right also with an error, that about the first that is not.
func parseIntervals(text string, completions int32) (list []interval, err error) {
	if text == "" {
		return nil, nil
	}
	last := -1
	for part := range strings.SplitSeq(text, ",") {
		i, e := parseInterval(part, int(completions))
		if e == nil && last >= i.first {
			e = fmt.Errorf("non-increasing order, previous: %d, current: %d", last, i.first)
		} else if e == nil {
			last = i.last
		}
		if err == nil {
			err = e
		}
		if e == nil {
			list = append(list, i)
		}
	}
	return list, err
}

func parseInterval(text string, completions int) (interval, error) {
	first, last, isRange := strings.Cut(text, "-")
	if strings.Contains(last, "-") {
		return interval{}, fmt.Errorf("the fragment %q violates the requirement that an index interval can have at most two parts separated by '-'", text)
	}
	number := func(text string) (int, error) {
		n, err := strconv.Atoi(text)
		if err != nil {
			return 0, fmt.Errorf("cannot convert string to integer for index: %q", text)
		}
		if n >= completions {
			return 0, fmt.Errorf("too large index: %q", text)
		}
		return n, nil
	}
	x, err := number(first)
	if err != nil || !isRange {
		return interval{x, x}, err
	}
	y, err := number(last)
	if err == nil && x >= y {
		err = errors.New("non-increasing order, previous: " + first + ", current: " + last)
	}
	return interval{x, y}, err
}

// checkPods: no pods are left in a finished Job, and not more are ready than there are.
func (c *jobStatusCheck) checkPods() {
	s, was := &c.job.Status, &c.old.Status
	done := finished(c.job)
	if (done != finished(c.old) || !samePointer(s.Terminating, was.Terminating)) && done && s.Terminating != nil && *s.Terminating > 0 {
		c.add(field.Invalid(c.path.Child("terminating"), s.Terminating, "terminating>0 is invalid for finished job"))
	}
	if (s.Active != was.Active || !samePointer(s.Ready, was.Ready)) && s.Ready != nil && *s.Ready > s.Active {
		c.add(field.Invalid(c.path.Child("ready"), *s.Ready, "cannot set more ready pods than active"))
	}
}

// checkSuccess: a Job that has succeeded does not fail.
func (c *jobStatusCheck) checkSuccess() {
	met := c.has(batchv1.JobSuccessCriteriaMet)
	if met && c.has(batchv1.JobFailed) {
		c.conditions("cannot set SuccessCriteriaMet=True and Failed=true conditions")
	}
	if met && c.has(batchv1.JobFailureTarget) {
		c.conditions("cannot set SuccessCriteriaMet=True and FailureTarget=true conditions")
	}
	if c.job.Spec.SuccessPolicy != nil && !met && c.has(batchv1.JobComplete) {
		c.conditions("cannot set Complete=True for Job with SuccessPolicy unless SuccessCriteriaMet=True")
	}
}

// checkProgress: what has happened stays so.
func (c *jobStatusCheck) checkProgress() {
	s, was, spec := &c.job.Status, &c.old.Status, &c.job.Spec
	for _, kind := range []batchv1.JobConditionType{batchv1.JobFailed, batchv1.JobComplete, batchv1.JobFailureTarget} {
		if hasCondition(c.old, kind) && !c.has(kind) {
			c.conditions(fmt.Sprintf("cannot disable the terminal %s=True condition", kind))
		}
	}
	if s.Failed < was.Failed {
		c.add(field.Invalid(c.path.Child("failed"), s.Failed, "cannot decrease the failed counter"))
	}
	// API-452: an indexed Job that can be scaled down may lose completions.
	scalable := mode(c.job) == batchv1.IndexedCompletion && samePointer(spec.Completions, spec.Parallelism)
	if s.Succeeded < was.Succeeded && !scalable {
		c.add(field.Invalid(c.path.Child("succeeded"), s.Succeeded, "cannot decrease the succeeded counter"))
	}
	if s.CompletionTime != nil && was.CompletionTime != nil && !sameTime(s.CompletionTime, was.CompletionTime) {
		c.add(field.Invalid(c.path.Child("completionTime"), s.CompletionTime, "field is immutable"))
	}
	resumes := hasCondition(c.old, batchv1.JobSuspended) && slices.ContainsFunc(s.Conditions, func(c batchv1.JobCondition) bool {
		return c.Type == batchv1.JobSuspended && c.Status == corev1.ConditionFalse
	})
	if was.StartTime != nil && !sameTime(s.StartTime, was.StartTime) && !resumes && (spec.Suspend == nil || !*spec.Suspend) {
		c.add(field.Invalid(c.path.Child("startTime"), s.StartTime, "field is immutable for unsuspended job once set"))
	}
	met, before := c.has(batchv1.JobSuccessCriteriaMet), hasCondition(c.old, batchv1.JobSuccessCriteriaMet)
	if before && !met {
		c.conditions("cannot disable the SuccessCriteriaMet=True condition")
	}
	if hasCondition(c.old, batchv1.JobComplete) && !before && met {
		c.conditions("cannot set SuccessCriteriaMet=True for Job already has Complete=true conditions")
	}
}

func sameTime(a, b *metav1.Time) bool { return a == b || a != nil && b != nil && a.Equal(b) }

func samePointer[T comparable](a, b *T) bool { return a == b || a != nil && b != nil && *a == *b }
