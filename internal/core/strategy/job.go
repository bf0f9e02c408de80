package strategy

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/volsim/volsim/internal/core/plain"
)

var jobRules = typedRules[*batchv1.Job]{
	defaults: func(job *batchv1.Job) {
		spec := &job.Spec
		// JOB-080: one pod and one completion, six failures, NonIndexed, and pods that are replaced when their deletion begins.
		if spec.Completions == nil && spec.Parallelism == nil {
			spec.Completions = new(int32(1))
		}
		orDefault(&spec.Parallelism, new(int32(1)))
		limit := int32(6)
		if spec.BackoffLimitPerIndex != nil {
			limit = math.MaxInt32
		}
		orDefault(&spec.BackoffLimit, &limit)
		orDefault(&spec.CompletionMode, new(batchv1.NonIndexedCompletion))
		orDefault(&spec.Suspend, new(bool))
		orDefault(&spec.ManualSelector, new(bool))
		policy := batchv1.TerminatingOrFailed
		if spec.PodFailurePolicy != nil {
			policy = batchv1.Failed
		}
		orDefault(&spec.PodReplacementPolicy, &policy)
		defaultFailurePolicy(spec.PodFailurePolicy)
		// JOB-082: a Job without labels has those of its template.
		if len(job.Labels) == 0 && spec.Template.Labels != nil {
			job.Labels = spec.Template.Labels
		}
		defaultTemplate(&spec.Template)
	},
	drop:        func(job *batchv1.Job) { dropDisabledFields(&job.Spec.Template.Spec, nil) }, // API-375
	validate:    func(job *batchv1.Job) field.ErrorList { return validateJob(job, true) },
	wholeUpdate: true,
	validateUpdate: func(job, old *batchv1.Job) field.ErrorList {
		errs := append(ValidateGenerateName(&job.ObjectMeta), validateJob(job, hasPrefixedLabels(old))...)
		return append(errs, validateJobUpdate(job, old)...)
	},
}

// Job adds the rules of Jobs.
func Job(s Of[*plain.Object]) Of[*plain.Object] {
	s = jobRules.Add(s)
	loaded := s.ValidateLoad
	s.ValidateLoad = func(obj *plain.Object) field.ErrorList {
		// Its controller finds the pods of a Job by their owner, so a dump may lack selector and labels.
		return slices.DeleteFunc(loaded(obj), func(err *field.Error) bool {
			return err.Field == "spec.selector" || strings.HasPrefix(err.Field, "spec.template.metadata.labels")
		})
	}
	create := s.PrepareCreate
	s.PrepareCreate = func(obj *plain.Object, now metav1.Time) {
		// JOB-082: labels that come from the template include the generated ones.
		given, ok := obj.Source().(*batchv1.Job)
		inherited := len(obj.Labels) == 0 || ok && SameMap(obj.Labels, given.Spec.Template.Labels)
		create(obj, now)
		job, err := plain.As[*batchv1.Job](obj)
		if err != nil {
			return // validation reports it
		}
		if !*job.Spec.ManualSelector {
			generateSelector(job)
		}
		if inherited {
			obj.Labels = maps.Clone(job.Spec.Template.Labels)
		}
		obj.SetSource(job)
	}
	return s
}

// generateSelector makes a Job select its own pods by its uid (JOB-081).
func generateSelector(job *batchv1.Job) {
	template := maps.Clone(job.Spec.Template.Labels)
	if template == nil {
		template = map[string]string{}
	}
	// JOB-081: labels that the user has given stay, and fail the validation if they differ.
	for name, value := range jobLabels(job) {
		if _, given := template[name]; !given {
			template[name] = value
		}
	}
	job.Spec.Template.Labels = template
	if job.Spec.Selector == nil {
		job.Spec.Selector = &metav1.LabelSelector{}
	}
	selected := maps.Clone(job.Spec.Selector.MatchLabels)
	if selected == nil {
		selected = map[string]string{}
	}
	if _, given := selected[batchv1.ControllerUidLabel]; !given {
		selected[batchv1.ControllerUidLabel] = string(job.UID)
	}
	job.Spec.Selector.MatchLabels = selected
}

// jobLabels are the labels of the pods of a Job.
func jobLabels(job *batchv1.Job) map[string]string {
	return map[string]string{batchv1.JobNameLabel: job.Name, batchv1.ControllerUidLabel: string(job.UID), "job-name": job.Name, "controller-uid": string(job.UID)}
}

// prefixedLabels are the names of labels that Kubernetes up to 1.26 did not generate (JOB-081).
var prefixedLabels = []string{batchv1.ControllerUidLabel, batchv1.JobNameLabel}

func hasPrefixedLabels(job *batchv1.Job) bool {
	return !slices.ContainsFunc(prefixedLabels, func(name string) bool {
		_, ok := job.Spec.Template.Labels[name]
		return !ok
	})
}

// validateJob validates a Job (JOB-083). prefixed says that it must have all generated labels, not only those without a prefix.
func validateJob(job *batchv1.Job, prefixed bool) field.ErrorList {
	var errs field.ErrorList
	spec, path := &job.Spec, field.NewPath("spec")
	if !*spec.ManualSelector && spec.Selector != nil {
		errs = append(errs, validateGeneratedLabels(job, prefixed)...)
	}
	errs = append(errs, validateJobSpec(spec, path)...)
	if spec.Selector == nil {
		errs = append(errs, field.Required(path.Child("selector"), ""))
	}
	if selector, err := metav1.LabelSelectorAsSelector(spec.Selector); err == nil && !selector.Matches(labels.Set(spec.Template.Labels)) {
		errs = append(errs, field.Invalid(path.Child("template", "metadata", "labels"), maps.Clone(spec.Template.Labels),
			"`selector` does not match template `labels`"))
	}
	if *spec.CompletionMode == batchv1.IndexedCompletion && spec.Completions != nil && *spec.Completions > 0 {
		if last := fmt.Sprintf("%s-%d", job.Name, *spec.Completions-1); len(validation.IsDNS1123Label(last)) > 0 {
			errs = append(errs, field.Invalid(field.NewPath("metadata", "name"), job.Name, "will not able to create pod with invalid DNS label: "+last))
		}
	}
	return errs
}

// validateJobSpec validates what Jobs and the template of a CronJob have in common (JOB-083). The spec has its defaults.
func validateJobSpec(spec *batchv1.JobSpec, path *field.Path) field.ErrorList {
	var errs field.ErrorList
	// JOB-083: numbers are not negative, and the pods of a Job end.
	for _, n := range []struct {
		name  string
		value *int32
	}{
		{"parallelism", spec.Parallelism}, {"completions", spec.Completions}, {"backoffLimit", spec.BackoffLimit},
		{"ttlSecondsAfterFinished", spec.TTLSecondsAfterFinished}, {"backoffLimitPerIndex", spec.BackoffLimitPerIndex},
		{"maxFailedIndexes", spec.MaxFailedIndexes},
	} {
		if n.value != nil {
			errs = append(errs, notBelowZero(int64(*n.value), path.Child(n.name))...)
		}
		if n.name == "completions" && spec.ActiveDeadlineSeconds != nil {
			errs = append(errs, notBelowZero(*spec.ActiveDeadlineSeconds, path.Child("activeDeadlineSeconds"))...)
		}
	}
	if spec.MaxFailedIndexes != nil && spec.BackoffLimitPerIndex == nil {
		errs = append(errs, field.Required(path.Child("backoffLimitPerIndex"), "when maxFailedIndexes is specified"))
	}
	errs = append(errs, validateManagedBy(spec.ManagedBy, path.Child("managedBy"))...)
	errs = append(errs, validateCompletionMode(spec, path)...)
	errs = append(errs, validateJobPolicies(spec, path)...)
	if p := *spec.PodReplacementPolicy; spec.PodFailurePolicy != nil && p != batchv1.Failed {
		// JOB-103: with a podFailurePolicy a pod is replaced when it has ended.
		errs = append(errs, field.NotSupported(path.Child("podReplacementPolicy"), p, []batchv1.PodReplacementPolicy{batchv1.Failed}))
	} else if p != batchv1.Failed && p != batchv1.TerminatingOrFailed {
		errs = append(errs, field.NotSupported(path.Child("podReplacementPolicy"), p, []batchv1.PodReplacementPolicy{batchv1.Failed, batchv1.TerminatingOrFailed}))
	}
	errs = append(errs, validateTemplate(&spec.Template, path)...)
	restart := path.Child("template", "spec", "restartPolicy")
	switch policy := spec.Template.Spec.RestartPolicy; policy {
	case corev1.RestartPolicyNever:
	case corev1.RestartPolicyOnFailure:
		if spec.PodFailurePolicy != nil {
			errs = append(errs, field.Invalid(restart, policy, `only "Never" is supported when podFailurePolicy is specified`))
		}
	case corev1.RestartPolicyAlways:
		errs = append(errs, field.Required(restart, `valid values: "OnFailure", "Never"`))
	default:
		errs = append(errs, field.NotSupported(restart, policy, []corev1.RestartPolicy{corev1.RestartPolicyOnFailure, corev1.RestartPolicyNever}))
	}
	return errs
}

// validateGeneratedLabels requires the labels and the selector of generateSelector.
func validateGeneratedLabels(job *batchv1.Job, prefixed bool) field.ErrorList {
	var errs field.ErrorList
	want, template := jobLabels(job), job.Spec.Template.Labels
	path := field.NewPath("spec", "template", "metadata", "labels")
	names := []string{"controller-uid", "job-name"}
	if prefixed {
		names = append(names, prefixedLabels...)
	} else {
		// JOB-081: an update does not add what the Job lacks.
		for _, name := range prefixedLabels {
			delete(want, name)
		}
	}
	for _, name := range names {
		text := fmt.Sprintf("must be '%s'", want[name])
		switch value, ok := template[name]; {
		case !ok:
			errs = append(errs, field.Required(path.Key(name), text))
		case value != want[name]:
			errs = append(errs, field.Invalid(path.Key(name), maps.Clone(template), text))
		}
	}
	if selector, err := metav1.LabelSelectorAsSelector(job.Spec.Selector); err == nil && !selector.Matches(labels.Set(want)) {
		errs = append(errs, field.Invalid(field.NewPath("spec", "selector"), job.Spec.Selector, "`selector` not auto-generated"))
	}
	return errs
}

func validateCompletionMode(spec *batchv1.JobSpec, path *field.Path) field.ErrorList {
	var errs field.ErrorList
	switch *spec.CompletionMode {
	case batchv1.IndexedCompletion:
		if spec.Completions == nil {
			errs = append(errs, field.Required(path.Child("completions"), "when completion mode is Indexed"))
		}
		errs = append(errs, validateIndexedLimits(spec, path)...)
	case batchv1.NonIndexedCompletion:
		if spec.BackoffLimitPerIndex != nil {
			errs = append(errs, field.Invalid(path.Child("backoffLimitPerIndex"), *spec.BackoffLimitPerIndex, requiresIndexedMode))
		}
		if spec.MaxFailedIndexes != nil {
			errs = append(errs, field.Invalid(path.Child(maxFailedIndexes), *spec.MaxFailedIndexes, requiresIndexedMode))
		}
	default:
		errs = append(errs, field.NotSupported(path.Child("completionMode"), spec.CompletionMode,
			[]batchv1.CompletionMode{batchv1.NonIndexedCompletion, batchv1.IndexedCompletion}))
	}
	return errs
}

// validateJobUpdate validates a change of a Job (JOB-084).
func validateJobUpdate(job, old *batchv1.Job) field.ErrorList {
	var errs field.ErrorList
	spec, was, path := &job.Spec, &old.Spec, field.NewPath("spec")
	unchanged := func(name string, value, before any) {
		if !SemanticEqual(value, before) {
			errs = append(errs, field.Invalid(path.Child(name), internalForm{value}, Immutable))
		}
	}
	// JOB-084: the number of completions of an indexed Job changes with its parallelism.
	if *spec.CompletionMode != batchv1.IndexedCompletion {
		unchanged("completions", spec.Completions, was.Completions)
	} else if !SemanticEqual(spec.Completions, was.Completions) && (spec.Completions == nil || *spec.Completions != *spec.Parallelism) {
		errs = append(errs, field.Invalid(path.Child("completions"), spec.Completions, "can only be modified in tandem with spec.parallelism"))
	}
	unchanged("selector", spec.Selector, was.Selector)
	errs = append(errs, validateJobTemplate(job, old)...)
	unchanged("completionMode", spec.CompletionMode, was.CompletionMode)
	unchanged("podFailurePolicy", spec.PodFailurePolicy, was.PodFailurePolicy)
	unchanged("backoffLimitPerIndex", spec.BackoffLimitPerIndex, was.BackoffLimitPerIndex)
	unchanged("managedBy", spec.ManagedBy, was.ManagedBy)
	unchanged("successPolicy", spec.SuccessPolicy, was.SuccessPolicy)
	return errs
}

// validateJobTemplate validates a change of the pod template of a Job (JOB-085).
func validateJobTemplate(job, old *batchv1.Job) field.ErrorList {
	template, path := &job.Spec.Template, field.NewPath("spec", "template")
	want := old.Spec.Template.DeepCopy()
	// JOB-085: a suspended Job without active pods may change where its pods run, their labels and annotations, and their resources.
	if !changeableTemplate(old) {
		if SemanticEqual(template, want) {
			return nil
		}
		return field.ErrorList{field.Invalid(path, internalForm{template}, Immutable)}
	}
	// JOB-085: labels and annotations are not compared at all.
	spec := &want.Spec
	if affinity := template.Spec.Affinity; affinity != nil || spec.Affinity != nil {
		spec.Affinity = withNodeAffinity(spec.Affinity, affinity)
	}
	spec.NodeSelector, spec.Tolerations, spec.SchedulingGates = template.Spec.NodeSelector, template.Spec.Tolerations, template.Spec.SchedulingGates
	takeResources(spec.Containers, template.Spec.Containers)
	takeResources(spec.InitContainers, template.Spec.InitContainers)
	if SemanticEqual(&template.Spec, spec) {
		return nil
	}
	return field.ErrorList{field.Invalid(path.Child("spec"), internalForm{&template.Spec}, Immutable)}
}

// changeableTemplate reports whether a Job is suspended, and has no pods of an earlier time.
func changeableTemplate(job *batchv1.Job) bool {
	if job.Spec.Suspend == nil || !*job.Spec.Suspend || job.Status.Active != 0 {
		return false
	}
	return job.Status.StartTime == nil || slices.ContainsFunc(job.Status.Conditions, func(c batchv1.JobCondition) bool {
		return c.Type == batchv1.JobSuspended && c.Status == corev1.ConditionTrue
	})
}

// takeResources gives containers the resources of others of the same names.
func takeResources(containers, others []corev1.Container) {
	if len(containers) != len(others) {
		return
	}
	for i := range containers {
		if containers[i].Name == others[i].Name {
			containers[i].Resources = others[i].Resources
		}
	}
}
