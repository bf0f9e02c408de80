package strategy

import (
	"cmp"
	"fmt"
	"strings"

	batchv1 "k8s.io/api/batch/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/volsim/volsim/internal/core/cron"
)

// longestCronJobName is 11 less than the longest name of a Job: the controller appends the time.
const longestCronJobName = 52

// CronJob are the rules of CronJobs.
var CronJob = typedRules[*batchv1.CronJob]{
	defaults: func(job *batchv1.CronJob) {
		spec := &job.Spec
		// JOB-110: Jobs may overlap, the last three that succeeded are kept, and the last that failed. The template of the Jobs has the defaults of
		// its pods only.
		spec.ConcurrencyPolicy = cmp.Or(spec.ConcurrencyPolicy, batchv1.AllowConcurrent)
		orDefault(&spec.Suspend, new(bool))
		orDefault(&spec.SuccessfulJobsHistoryLimit, new(int32(3)))
		orDefault(&spec.FailedJobsHistoryLimit, new(int32(1)))
		defaultFailurePolicy(spec.JobTemplate.Spec.PodFailurePolicy)
		defaultTemplate(&spec.JobTemplate.Spec.Template)
	},
	drop: func(job *batchv1.CronJob) { dropDisabledFields(&job.Spec.JobTemplate.Spec.Template.Spec, nil) }, // API-375
	validate: func(job *batchv1.CronJob) field.ErrorList {
		errs := validateCronJobSpec(&job.Spec, nil)
		// JOB-111: only a new CronJob must leave room for the time in the names of its Jobs.
		if len(job.Name) > longestCronJobName {
			errs = append(errs, field.Invalid(field.NewPath("metadata", "name"), job.Name, fmt.Sprintf("must be no more than %d characters", longestCronJobName)))
		}
		return errs
	},
	validateUpdate: func(job, old *batchv1.CronJob) field.ErrorList { return validateCronJobSpec(&job.Spec, &old.Spec) },
	wholeUpdate:    true,
}

// validateCronJobSpec validates the spec of a CronJob (JOB-111). old is that of the stored object, nil for a new one.
func validateCronJobSpec(spec, old *batchv1.CronJobSpec) field.ErrorList {
	var errs field.ErrorList
	path := field.NewPath("spec")
	if spec.Schedule == "" {
		errs = append(errs, field.Required(path.Child("schedule"), ""))
	} else {
		errs = append(errs, validateSchedule(spec, old, path.Child("schedule"))...)
	}
	if spec.StartingDeadlineSeconds != nil {
		errs = append(errs, notBelowZero(*spec.StartingDeadlineSeconds, path.Child("startingDeadlineSeconds"))...)
	}
	if old == nil || !EqualPointers(old.TimeZone, spec.TimeZone) {
		errs = append(errs, validateTimeZone(spec.TimeZone, path.Child("timeZone"))...)
	}
	policies := []batchv1.ConcurrencyPolicy{batchv1.AllowConcurrent, batchv1.ForbidConcurrent, batchv1.ReplaceConcurrent}
	errs = append(errs, OneOf(spec.ConcurrencyPolicy, path, "concurrencyPolicy", policies)...)
	errs = append(errs, validateTemplateOfJobs(&spec.JobTemplate.Spec, path.Child("jobTemplate", "spec"))...)
	if spec.SuccessfulJobsHistoryLimit != nil {
		errs = append(errs, notBelowZero(int64(*spec.SuccessfulJobsHistoryLimit), path.Child("successfulJobsHistoryLimit"))...)
	}
	if spec.FailedJobsHistoryLimit != nil {
		errs = append(errs, notBelowZero(int64(*spec.FailedJobsHistoryLimit), path.Child("failedJobsHistoryLimit"))...)
	}
	return errs
}

// validateSchedule validates a schedule (JOB-112).
func validateSchedule(spec, old *batchv1.CronJobSpec, path *field.Path) field.ErrorList {
	var errs field.ErrorList
	if _, err := cron.Parse(spec.Schedule); err != nil {
		errs = append(errs, field.Invalid(path, spec.Schedule, err.Error()))
	}
	zoned, before := strings.Contains(spec.Schedule, "TZ"), old != nil && strings.Contains(old.Schedule, "TZ")
	switch {
	// JOB-112: a schedule names a time zone only if the stored one does.
	case zoned && !before:
		errs = append(errs, field.Invalid(path, spec.Schedule, "cannot use TZ or CRON_TZ in schedule, use timeZone field instead"))
	case zoned && spec.TimeZone != nil:
		errs = append(errs, field.Invalid(path, spec.Schedule, "cannot use both timeZone field and TZ or CRON_TZ in schedule"))
	}
	return errs
}

// validateTemplateOfJobs validates the spec of the Jobs that a CronJob creates.
func validateTemplateOfJobs(template *batchv1.JobSpec, path *field.Path) field.ErrorList {
	// The template has no defaults of Jobs. Those below change no error.
	spec := *template
	orDefault(&spec.Parallelism, new(int32(1)))
	orDefault(&spec.CompletionMode, new(batchv1.NonIndexedCompletion))
	policy := batchv1.TerminatingOrFailed
	if spec.PodFailurePolicy != nil {
		policy = batchv1.Failed
	}
	orDefault(&spec.PodReplacementPolicy, &policy)
	errs := validateJobSpec(&spec, path)
	// JOB-111: the selector of each Job is generated.
	if spec.Selector != nil {
		errs = append(errs, field.Invalid(path.Child("selector"), spec.Selector, "`selector` will be auto-generated"))
	}
	if spec.ManualSelector != nil && *spec.ManualSelector {
		errs = append(errs, field.NotSupported(path.Child("manualSelector"), spec.ManualSelector, []string{"nil", "false"}))
	}
	return errs
}
