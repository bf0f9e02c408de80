package differential_test

import (
	"context"
	"encoding/json"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/intstr"
	genericapirequest "k8s.io/apiserver/pkg/endpoints/request"
	"k8s.io/apiserver/pkg/registry/rest"
	"k8s.io/kubernetes/pkg/api/legacyscheme"
	_ "k8s.io/kubernetes/pkg/apis/apps/install"
	_ "k8s.io/kubernetes/pkg/apis/batch/install"
	_ "k8s.io/kubernetes/pkg/apis/core/install"
	"k8s.io/kubernetes/pkg/controller"
	"k8s.io/kubernetes/pkg/registry/apps/daemonset"
	"k8s.io/kubernetes/pkg/registry/apps/deployment"
	"k8s.io/kubernetes/pkg/registry/batch/cronjob"
	"k8s.io/kubernetes/pkg/registry/batch/job"

	"github.com/volsim/volsim/api"
	"github.com/volsim/volsim/internal/controllers/workload"
	"github.com/volsim/volsim/internal/core/plain"
	"github.com/volsim/volsim/internal/core/store"
)

// workloadKind is a kind of workloads with its strategy in the API server.
type workloadKind struct {
	kind     api.Kind
	internal schema.GroupVersion
	strategy interface {
		rest.RESTCreateStrategy
		rest.RESTUpdateStrategy
	}
	base func() api.Object
	// unordered: upstream reports errors in the order of a map.
	unordered bool
	// edits change fields of an object, to valid and invalid values.
	edits []func(r *rand.Rand, obj api.Object)
}

var podLabels = map[string]string{"app": "web"}

func podTemplate(policy corev1.RestartPolicy) corev1.PodTemplateSpec {
	return corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{"app": "web"}}, Spec: corev1.PodSpec{
		RestartPolicy: policy, Containers: []corev1.Container{{Name: "c", Image: "web:1"}}}}
}

func number(r *rand.Rand) *int32 { return new(choose(r, int32(-1), 0, 1, 2, 700)) }

// failurePolicy returns a podFailurePolicy of a few rules, valid or not.
func failurePolicy(r *rand.Rand) *batchv1.PodFailurePolicy {
	policy := &batchv1.PodFailurePolicy{}
	for range choose(r, 0, 1, 1, 1, 2, 21) {
		rule := batchv1.PodFailurePolicyRule{Action: choose(r, "", "x", batchv1.PodFailurePolicyActionCount, batchv1.PodFailurePolicyActionFailIndex,
			batchv1.PodFailurePolicyActionFailJob, batchv1.PodFailurePolicyActionIgnore)}
		if r.IntN(3) > 0 {
			rule.OnExitCodes = &batchv1.PodFailurePolicyOnExitCodesRequirement{
				ContainerName: choose(r, nil, new("c"), new("other")),
				Operator:      choose(r, "", "x", batchv1.PodFailurePolicyOnExitCodesOpIn, batchv1.PodFailurePolicyOnExitCodesOpIn, batchv1.PodFailurePolicyOnExitCodesOpNotIn),
				Values:        choose(r, nil, []int32{0}, []int32{1, 2}, []int32{2, 1}, []int32{1, 1}),
			}
		}
		if r.IntN(3) == 0 {
			rule.OnPodConditions = []batchv1.PodFailurePolicyOnPodConditionsPattern{{
				Type:   choose[corev1.PodConditionType](r, "", "DisruptionTarget", "a b"),
				Status: choose(r, "", "x", corev1.ConditionTrue, corev1.ConditionFalse)}}
		}
		policy.Rules = append(policy.Rules, rule)
	}
	return policy
}

// successPolicy returns a successPolicy of a few rules, valid or not.
func successPolicy(r *rand.Rand) *batchv1.SuccessPolicy {
	policy := &batchv1.SuccessPolicy{}
	for range choose(r, 0, 1, 1, 2, 21) {
		policy.Rules = append(policy.Rules, batchv1.SuccessPolicyRule{
			SucceededIndexes: choose(r, nil, new(""), new("0"), new("0,2"), new("0-2"), new("2,1"), new("2-1"), new("0-1-2"), new("x"), new("0-x"), new("7"), new("0-7")),
			SucceededCount:   choose(r, nil, nil, new(int32(0)), new(int32(1)), new(int32(2)), new(int32(7)), new(int32(-1))),
		})
	}
	return policy
}

func share(r *rand.Rand) *intstr.IntOrString {
	return new(intstr.Parse(choose(r, "0", "1", "2", "-1", "0%", "25%", "100%", "101%", "x")))
}

// edit returns an edit of a kind with that Go type.
func edit[T api.Object](fn func(r *rand.Rand, obj T)) func(*rand.Rand, api.Object) {
	return func(r *rand.Rand, obj api.Object) { fn(r, obj.(T)) }
}

func workloadKinds() []workloadKind {
	meta := func() metav1.ObjectMeta { return metav1.ObjectMeta{Namespace: "default", Name: "web"} }
	return []workloadKind{
		{kind: "Deployment.apps", internal: schema.GroupVersion{Group: "apps", Version: runtime.APIVersionInternal}, strategy: deployment.Strategy,
			base: func() api.Object {
				return &appsv1.Deployment{ObjectMeta: meta(), Spec: appsv1.DeploymentSpec{
					Selector: &metav1.LabelSelector{MatchLabels: podLabels}, Template: podTemplate("")}}
			},
			edits: []func(*rand.Rand, api.Object){
				edit(func(r *rand.Rand, d *appsv1.Deployment) { d.Spec.Replicas = number(r) }),
				edit(func(r *rand.Rand, d *appsv1.Deployment) { d.Spec.MinReadySeconds = *number(r) }),
				edit(func(r *rand.Rand, d *appsv1.Deployment) { d.Spec.RevisionHistoryLimit = number(r) }),
				edit(func(r *rand.Rand, d *appsv1.Deployment) { d.Spec.ProgressDeadlineSeconds = number(r) }),
				edit(func(r *rand.Rand, d *appsv1.Deployment) { d.Spec.Paused = !d.Spec.Paused }),
				edit(func(r *rand.Rand, d *appsv1.Deployment) {
					d.Spec.Strategy.Type = choose(r, "", "Recreate", "RollingUpdate", appsv1.DeploymentStrategyType("x"))
				}),
				edit(func(r *rand.Rand, d *appsv1.Deployment) {
					d.Spec.Strategy.RollingUpdate = &appsv1.RollingUpdateDeployment{MaxSurge: share(r), MaxUnavailable: share(r)}
				}),
				edit(func(r *rand.Rand, d *appsv1.Deployment) { d.Spec.Selector = selectorFor(r) }),
				edit(func(r *rand.Rand, d *appsv1.Deployment) { d.Annotations = map[string]string{"a": "b"} }),
				edit(func(r *rand.Rand, d *appsv1.Deployment) { changeTemplate(r, &d.Spec.Template) }),
			}},
		{kind: "DaemonSet.apps", internal: schema.GroupVersion{Group: "apps", Version: runtime.APIVersionInternal}, strategy: daemonset.Strategy,
			base: func() api.Object {
				return &appsv1.DaemonSet{ObjectMeta: meta(), Spec: appsv1.DaemonSetSpec{
					Selector: &metav1.LabelSelector{MatchLabels: podLabels}, Template: podTemplate("")}}
			},
			edits: []func(*rand.Rand, api.Object){
				edit(func(r *rand.Rand, d *appsv1.DaemonSet) { d.Spec.MinReadySeconds = *number(r) }),
				edit(func(r *rand.Rand, d *appsv1.DaemonSet) { d.Spec.RevisionHistoryLimit = number(r) }),
				edit(func(r *rand.Rand, d *appsv1.DaemonSet) {
					d.Spec.UpdateStrategy.Type = choose(r, "", "OnDelete", "RollingUpdate", appsv1.DaemonSetUpdateStrategyType("x"))
				}),
				edit(func(r *rand.Rand, d *appsv1.DaemonSet) {
					d.Spec.UpdateStrategy.RollingUpdate = &appsv1.RollingUpdateDaemonSet{MaxSurge: share(r), MaxUnavailable: share(r)}
				}),
				edit(func(r *rand.Rand, d *appsv1.DaemonSet) { d.Spec.Selector = selectorFor(r) }),
				edit(func(r *rand.Rand, d *appsv1.DaemonSet) {
					d.Annotations = map[string]string{appsv1.DeprecatedTemplateGeneration: choose(r, "3", "0")}
				}),
				edit(func(r *rand.Rand, d *appsv1.DaemonSet) { changeTemplate(r, &d.Spec.Template) }),
			}},
		{kind: "Job.batch", internal: schema.GroupVersion{Group: "batch", Version: runtime.APIVersionInternal}, strategy: job.Strategy,
			base: func() api.Object {
				return &batchv1.Job{ObjectMeta: meta(), Spec: batchv1.JobSpec{Template: podTemplate(corev1.RestartPolicyNever)}}
			},
			edits: []func(*rand.Rand, api.Object){
				edit(func(r *rand.Rand, j *batchv1.Job) { j.Spec.Completions = number(r) }),
				edit(func(r *rand.Rand, j *batchv1.Job) { j.Spec.Parallelism = number(r) }),
				edit(func(r *rand.Rand, j *batchv1.Job) { j.Spec.BackoffLimit = number(r) }),
				edit(func(r *rand.Rand, j *batchv1.Job) { j.Spec.ActiveDeadlineSeconds = new(int64(*number(r))) }),
				edit(func(r *rand.Rand, j *batchv1.Job) { j.Spec.TTLSecondsAfterFinished = number(r) }),
				edit(func(r *rand.Rand, j *batchv1.Job) {
					j.Spec.CompletionMode = new(choose(r, batchv1.IndexedCompletion, batchv1.NonIndexedCompletion, "x"))
				}),
				edit(func(r *rand.Rand, j *batchv1.Job) {
					j.Spec.PodReplacementPolicy = new(choose(r, batchv1.Failed, batchv1.TerminatingOrFailed, "x"))
				}),
				edit(func(r *rand.Rand, j *batchv1.Job) { j.Spec.Suspend = new(r.IntN(2) == 0) }),
				edit(func(r *rand.Rand, j *batchv1.Job) { j.Spec.PodFailurePolicy = failurePolicy(r) }),
				edit(func(r *rand.Rand, j *batchv1.Job) {
					j.Spec.PodFailurePolicy, j.Spec.BackoffLimitPerIndex = failurePolicy(r), number(r)
				}),
				edit(func(r *rand.Rand, j *batchv1.Job) {
					j.Spec.SuccessPolicy, j.Spec.CompletionMode, j.Spec.Completions = successPolicy(r), new(batchv1.IndexedCompletion), new(choose(r, int32(3), 9))
				}),
				edit(func(r *rand.Rand, j *batchv1.Job) {
					j.Spec.CompletionMode, j.Spec.Completions, j.Spec.BackoffLimitPerIndex = new(batchv1.IndexedCompletion), new(choose(r, int32(3), 100_001)), number(r)
				}),
				edit(func(r *rand.Rand, j *batchv1.Job) {
					j.Spec.MaxFailedIndexes = new(choose(r, int32(-1), 0, 2, 10_001, 100_001))
				}),
				edit(func(r *rand.Rand, j *batchv1.Job) {
					j.Spec.ManagedBy = new(choose(r, "example.com/own", "x", "kubernetes.io/job-controller", "example.com/"+strings.Repeat("a", 60)))
				}),
				edit(func(r *rand.Rand, j *batchv1.Job) {
					j.Spec.Template.Spec.RestartPolicy = choose[corev1.RestartPolicy](r, "", "Always", "OnFailure", "Never")
				}),
				edit(func(r *rand.Rand, j *batchv1.Job) {
					j.Spec.Template.Labels = map[string]string{choose(r, "job-name", "app"): "web"}
				}),
				edit(func(r *rand.Rand, j *batchv1.Job) { j.Labels = map[string]string{"mine": "yes"} }),
				edit(func(r *rand.Rand, j *batchv1.Job) {
					j.Spec.Template.Spec.Affinity = choose(r, nil, &corev1.Affinity{}, &corev1.Affinity{NodeAffinity: &corev1.NodeAffinity{}})
				}),
				edit(func(r *rand.Rand, j *batchv1.Job) {
					j.Spec.Template.Spec.Tolerations = []corev1.Toleration{{Key: "x", Operator: corev1.TolerationOpExists}}
				}),
				edit(func(r *rand.Rand, j *batchv1.Job) {
					j.Spec.Template.Spec.Containers[0].Resources.Requests = corev1.ResourceList{"cpu": resource.MustParse("100m")}
				}),
				edit(func(r *rand.Rand, j *batchv1.Job) { j.Spec.Template.Annotations = map[string]string{"a": "b"} }),
			}},
		{kind: "CronJob.batch", internal: schema.GroupVersion{Group: "batch", Version: runtime.APIVersionInternal}, strategy: cronjob.Strategy,
			base: func() api.Object {
				return &batchv1.CronJob{ObjectMeta: meta(), Spec: batchv1.CronJobSpec{Schedule: "*/5 * * * *",
					JobTemplate: batchv1.JobTemplateSpec{Spec: batchv1.JobSpec{Template: podTemplate(corev1.RestartPolicyNever)}}}}
			},
			edits: []func(*rand.Rand, api.Object){
				edit(func(r *rand.Rand, j *batchv1.CronJob) { j.Spec.Schedule = cronSchedule(r) }),
				edit(func(r *rand.Rand, j *batchv1.CronJob) { j.Spec.Schedule = cronSchedule(r) }),
				edit(func(r *rand.Rand, j *batchv1.CronJob) {
					j.Spec.TimeZone = new(choose(r, "", "Europe/Berlin", "UTC", "utc", "Local", "local", "Mars/Base", "a//b", "../x", "a b"))
				}),
				edit(func(r *rand.Rand, j *batchv1.CronJob) { j.Spec.StartingDeadlineSeconds = new(int64(*number(r))) }),
				edit(func(r *rand.Rand, j *batchv1.CronJob) {
					j.Spec.ConcurrencyPolicy = choose(r, "", "Forbid", "Replace", batchv1.ConcurrencyPolicy("x"))
				}),
				edit(func(r *rand.Rand, j *batchv1.CronJob) {
					j.Spec.SuccessfulJobsHistoryLimit, j.Spec.FailedJobsHistoryLimit = number(r), number(r)
				}),
				edit(func(r *rand.Rand, j *batchv1.CronJob) { j.Spec.Suspend = new(r.IntN(2) == 0) }),
				edit(func(r *rand.Rand, j *batchv1.CronJob) {
					j.Spec.JobTemplate.Spec.Selector, j.Spec.JobTemplate.Spec.ManualSelector = selectorFor(r), new(r.IntN(2) == 0)
				}),
				edit(func(r *rand.Rand, j *batchv1.CronJob) {
					j.Spec.JobTemplate.Spec.PodFailurePolicy, j.Spec.JobTemplate.Spec.BackoffLimitPerIndex = failurePolicy(r), number(r)
				}),
				edit(func(r *rand.Rand, j *batchv1.CronJob) {
					j.Spec.JobTemplate.Spec.Completions, j.Spec.JobTemplate.Spec.Parallelism = number(r), number(r)
					j.Spec.JobTemplate.Spec.CompletionMode = new(choose(r, batchv1.IndexedCompletion, batchv1.NonIndexedCompletion, "x"))
				}),
				edit(func(r *rand.Rand, j *batchv1.CronJob) {
					j.Spec.JobTemplate.Spec.PodReplacementPolicy = new(choose(r, batchv1.Failed, batchv1.TerminatingOrFailed, "x"))
				}),
				edit(func(r *rand.Rand, j *batchv1.CronJob) { changeTemplate(r, &j.Spec.JobTemplate.Spec.Template) }),
				edit(func(r *rand.Rand, j *batchv1.CronJob) {
					j.Spec.JobTemplate.Spec.Template.Spec.RestartPolicy = choose[corev1.RestartPolicy](r, "", "Always", "OnFailure", "Never")
				}),
			}},
	}
}

// cronSchedule returns a schedule of a CronJob, valid or not.
func cronSchedule(r *rand.Rand) string {
	value := func() string {
		return choose(r, "*", "*", "?", "0", "1", "5", "7", "12", "13", "23", "24", "31", "32", "59", "60", "-1", "JAN", "dec", "sun", "Sat", "x", "")
	}
	part := func() string {
		text := value()
		if r.IntN(3) == 0 {
			text += "-" + value()
		}
		if r.IntN(3) == 0 {
			text += "/" + choose(r, "1", "2", "0", "70", "-1", "x", "2/2")
		}
		if r.IntN(10) == 0 {
			text += choose(r, "-1-2", ",", ",1", ",2-4/2")
		}
		return text
	}
	if r.IntN(4) == 0 {
		return choose(r, "", "@daily", "@weekly", "@yearly", "@every 5m", "@every x", "@every", "@never", "@Daily", "TZ=UTC 0 0 * * *", "CRON_TZ=Europe/Berlin @daily",
			"TZ=Mars/Base 0 0 * * *", "TZ=UTC", "0 0 * * * TZ", " * * * * * ", "* * * *", "* * * * * *")
	}
	return strings.Join([]string{part(), part(), part(), part(), part()}, " ")
}

func selectorFor(r *rand.Rand) *metav1.LabelSelector {
	return choose(r, nil, &metav1.LabelSelector{}, &metav1.LabelSelector{MatchLabels: map[string]string{"app": "other"}},
		&metav1.LabelSelector{MatchLabels: map[string]string{"app": "web"}})
}

func changeTemplate(r *rand.Rand, template *corev1.PodTemplateSpec) {
	switch r.IntN(4) {
	case 0:
		template.Labels = nil
	case 1:
		template.Spec.ActiveDeadlineSeconds = new(int64(5))
	case 2:
		template.Spec.RestartPolicy = corev1.RestartPolicyNever
	default:
		template.Spec.Containers = []corev1.Container{{Name: "c", Image: "web:2"}}
	}
}

// answer is what a side says to a request: the object, or the error.
type answer struct{ Object, Error string }

// answerOf formats an answer. Uids differ.
func answerOf(t *testing.T, obj api.Object, err error) answer {
	t.Helper()
	uid := func(text string) string {
		if obj != nil && obj.GetUID() != "" {
			text = strings.ReplaceAll(text, string(obj.GetUID()), "UID")
		}
		return text
	}
	if err != nil {
		return answer{Error: uid(err.Error())}
	}
	data, err := json.Marshal(obj)
	require.NoError(t, err)
	var fields map[string]any
	require.NoError(t, json.Unmarshal(data, &fields))
	meta := fields["metadata"].(map[string]any)
	data, err = json.MarshalIndent(map[string]any{"spec": fields["spec"], "labels": meta["labels"], "annotations": meta["annotations"],
		"generation": meta["generation"]}, "", " ")
	require.NoError(t, err)
	return answer{Object: uid(string(data))}
}

// theirs creates an object, or updates one if old is set, as the API server does.
func (k workloadKind) theirs(t *testing.T, obj, old api.Object) (api.Object, answer) {
	t.Helper()
	external := obj.DeepCopyObject().(api.Object)
	legacyscheme.Scheme.Default(external)
	// As when a body is decoded, both forms share what they refer to: the labels of a Job may be those of its template.
	in, err := legacyscheme.Scheme.UnsafeConvertToVersion(external, k.internal)
	require.NoError(t, err)
	ctx := genericapirequest.WithNamespace(context.Background(), obj.GetNamespace())
	ctx = genericapirequest.WithRequestInfo(ctx, &genericapirequest.RequestInfo{APIGroup: k.internal.Group, APIVersion: "v1"})
	if old == nil {
		rest.FillObjectMetaSystemFields(in.(metav1.Object))
		err = rest.BeforeCreate(k.strategy, ctx, in)
	} else {
		was, failed := legacyscheme.Scheme.ConvertToVersion(old.DeepCopyObject(), k.internal)
		require.NoError(t, failed)
		err = rest.BeforeUpdate(k.strategy, ctx, in, was)
	}
	uid := in.(metav1.Object).GetUID()
	if err != nil {
		external.SetUID(uid)
		return nil, answerOf(t, external, err)
	}
	out := k.base()
	require.NoError(t, legacyscheme.Scheme.Convert(in, out, nil))
	// A stored object gets its defaults again when it is read.
	legacyscheme.Scheme.Default(out)
	return out, answerOf(t, out, nil)
}

// ours does the same in our store.
func (k workloadKind) ours(t *testing.T, s *store.Store, obj api.Object, update bool) (api.Object, answer) {
	t.Helper()
	var stored api.Object
	var err error
	if update {
		stored, err = s.UpdateWith(obj, api.Main, store.UpdateOptions{})
	} else {
		stored, err = s.CreateWith(obj, store.CreateOptions{})
	}
	if err != nil {
		c := obj.DeepCopyObject().(api.Object)
		if now, failed := s.Get(k.kind, api.KeyOf(obj)); failed == nil {
			c.SetUID(now.GetUID())
		}
		return nil, answerOf(t, c, err)
	}
	out := k.base()
	require.NoError(t, plain.Write(stored, out))
	return out, answerOf(t, out, nil)
}

// TestWorkloadValidation compares defaults, validation, generation and the hash of the template of random workloads, created and updated.
// A Job that is refused is compared without its labels, because they contain a uid that only the server knows.
func TestWorkloadValidation(t *testing.T) {
	for _, k := range slices.Concat(workloadKinds(), setKinds(), limitKinds()) {
		t.Run(string(k.kind), func(t *testing.T) {
			refused, reported := 0, 0
			for i := range *objects {
				r := rand.New(rand.NewPCG(*first+uint64(i), 7))
				s := store.New(store.Config{Now: func() time.Time { return time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC) }})
				obj := k.base()
				change := func() {
					for range 1 + r.IntN(2) {
						choose(r, k.edits...)(r, obj)
					}
				}
				if r.IntN(3) > 0 {
					change()
				}
				oursObj, ours := k.ours(t, s, obj, false)
				theirsObj, theirs := k.theirs(t, obj, nil)
				what := "create"
				if oursObj != nil && theirsObj != nil && cmp.Equal(ours, theirs) {
					if template := templateOf(theirsObj); template != nil {
						require.Equal(t, controller.ComputeHash(template, nil), workload.TemplateHash(template, nil), "hash of the template")
					}
					what, obj = "update", oursObj.DeepCopyObject().(api.Object)
					change()
					old := oursObj
					_, ours = k.ours(t, s, obj, true)
					_, theirs = k.theirs(t, obj, old)
				}
				if theirs.Error != "" {
					refused++
				}
				if what == "create" {
					ours.Error, theirs.Error = withoutLabels(ours.Error), withoutLabels(theirs.Error)
				}
				if k.unordered {
					ours.Error, theirs.Error = inAnyOrder(ours.Error), inAnyOrder(theirs.Error)
				}
				if diff := cmp.Diff(theirs, ours); diff != "" {
					if reported++; reported <= mostReported {
						t.Errorf("-first=%d, %s: -upstream +ours:\n%s", *first+uint64(i), what, diff)
					}
				}
			}
			t.Logf("%d of %d refused, %d different", refused, *objects, reported)
			require.Greater(t, refused, *objects/10)
		})
	}
}

// withoutLabels removes the labels in an error about those of a Job, and the kind of intstr, which Go prints by its package.
func withoutLabels(text string) string {
	from := strings.Index(text, "Invalid value: {")
	if from < 0 || !strings.Contains(text, "controller-uid") {
		return text
	}
	return text[:from]
}

// inAnyOrder sorts the errors in a text.
func inAnyOrder(text string) string {
	before, list, ok := strings.Cut(text, ": [")
	if !ok {
		return text
	}
	errs := strings.Split(strings.TrimSuffix(list, "]"), ", spec.")
	errs[0] = strings.TrimPrefix(errs[0], "spec.")
	slices.Sort(errs)
	return before + ": [" + strings.Join(errs, ", spec.")
}
