package job_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/volsim/volsim/api"
	"github.com/volsim/volsim/fake"
	"github.com/volsim/volsim/internal/controllers/job"
	"github.com/volsim/volsim/internal/core/engine"
	"github.com/volsim/volsim/internal/core/plain"
	"github.com/volsim/volsim/internal/proof/rig"
	"github.com/volsim/volsim/trace"
)

// fixture has the controllers of Jobs. Tests end the pods.
type fixture struct{ *rig.Rig }

func newFixture(t *testing.T, cfg engine.Config) fixture {
	f := fixture{rig.New(t, cfg)}
	jobs, err := f.Store().Other(job.Kind)
	f.OK(err)
	_, err = job.New(f.Engine, jobs)
	f.OK(err)
	_, err = job.NewTTL(f.Engine, jobs)
	f.OK(err)
	return f
}

func TestLabelsOfJob(t *testing.T) {
	for _, row := range []struct {
		rule          string
		own, template map[string]string
		want          int
	}{
		{"JOB-082", nil, nil, 4},
		{"JOB-082", nil, map[string]string{"a": "b"}, 5},
		{"JOB-082", map[string]string{"a": "b"}, map[string]string{"a": "b"}, 1},
	} {
		f := newFixture(t, engine.Config{})
		f.Create(newJob(func(j *batchv1.Job) { j.Labels, j.Spec.Template.Labels = row.own, row.template }))
		f.want(row.rule, "labels of the Job", fmt.Sprint(len(f.job().Labels)), fmt.Sprint(row.want))
	}
}

// JOB-081: an update requires the labels with a prefix only if the Job has both.
func TestLabelsOfOlderVersions(t *testing.T) {
	older := func(j *batchv1.Job) {
		j.UID = "u"
		j.Spec.Selector = &metav1.LabelSelector{MatchLabels: map[string]string{"controller-uid": "u"}}
		j.Spec.Template.Labels = map[string]string{"controller-uid": "u", "job-name": "work"}
	}
	for _, row := range []struct {
		rule  string
		edit  func(*batchv1.Job)
		patch string
		want  string
	}{
		{"JOB-081", older, `{"spec":{"parallelism":0}}`, ""},
		{"JOB-081", func(j *batchv1.Job) {
			older(j)
			delete(j.Spec.Template.Labels, "job-name")
		}, `{"spec":{"parallelism":0}}`, "spec.template.metadata.labels[job-name]: Required value"},
		{"JOB-081", func(j *batchv1.Job) {
			older(j)
			j.Spec.Template.Labels[batchv1.JobNameLabel], j.Spec.Template.Labels[batchv1.ControllerUidLabel] = "work", "other"
		}, `{"spec":{"parallelism":0}}`, "spec.template.metadata.labels[batch.kubernetes.io/controller-uid]: Invalid value"},
	} {
		f := newFixture(t, engine.Config{})
		_, err := f.Store().Load(newJob(row.edit))
		require.NoError(t, err, row.rule)
		_, err = f.Store().Patch(job.Kind, "default/work", []byte(row.patch), api.Main)
		if row.want == "" {
			require.NoError(t, err, row.rule)
		} else {
			require.ErrorContains(t, err, row.want, row.rule)
		}
	}
}

// newJob is Job default/work.
func newJob(edits ...func(*batchv1.Job)) *batchv1.Job {
	j := &batchv1.Job{
		ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "work"},
		Spec: batchv1.JobSpec{Template: corev1.PodTemplateSpec{Spec: corev1.PodSpec{
			RestartPolicy: corev1.RestartPolicyNever, Containers: []corev1.Container{{Name: "c", Image: "i:1"}}}}},
	}
	for _, edit := range edits {
		edit(j)
	}
	return j
}

func sized(completions, parallelism int32) func(*batchv1.Job) {
	return func(j *batchv1.Job) { j.Spec.Completions, j.Spec.Parallelism = &completions, &parallelism }
}

func indexed(j *batchv1.Job) { j.Spec.CompletionMode = new(batchv1.IndexedCompletion) }

func (f fixture) job() *batchv1.Job {
	f.T.Helper()
	obj, err := f.Store().Get(job.Kind, "default/work")
	f.OK(err)
	j, err := plain.As[*batchv1.Job](obj)
	f.OK(err)
	return j
}

// counts lists active, ready, terminating, succeeded and failed pods.
func (f fixture) counts() string {
	st := f.job().Status
	return fmt.Sprintf("%d %d %d %d %d", st.Active, *st.Ready, *st.Terminating, st.Succeeded, st.Failed)
}

func (f fixture) conditions() string {
	var list []string
	for _, c := range f.job().Status.Conditions {
		list = append(list, fmt.Sprintf("%s=%s:%s", c.Type, c.Status, c.Reason))
	}
	return strings.Join(list, " ")
}

// pods lists the pods that have not ended, by creation.
func (f fixture) pods() []*corev1.Pod {
	var list []*corev1.Pod
	for _, pod := range f.Store().Pods.List() {
		if pod.Status.Phase != corev1.PodSucceeded && pod.Status.Phase != corev1.PodFailed && pod.DeletionTimestamp == nil {
			list = append(list, pod)
		}
	}
	return list
}

// end ends n pods in a phase.
func (f fixture) end(n int, phase corev1.PodPhase) {
	f.T.Helper()
	for _, pod := range f.pods()[:n] {
		c := pod.DeepCopy()
		c.Spec.NodeName, c.Status.Phase = "n1", phase
		c.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionFalse, LastTransitionTime: metav1.NewTime(f.Now())}}
		f.Load(c)
	}
	f.Advance(3 * time.Second)
}

func (f fixture) patch(patch string) {
	f.T.Helper()
	f.Patch(job.Kind, "default/work", patch)
	f.Advance(3 * time.Second)
}

func (f fixture) events() string {
	var list []string
	for e := range f.Trace().Entries() {
		if e.Type == trace.Emitted {
			list = append(list, e.Reason)
		}
	}
	return strings.Join(list, " ")
}

// held counts the pods with the finalizer.
func (f fixture) held() int {
	n := 0
	for _, pod := range f.Store().Pods.List() {
		if slices.Contains(pod.Finalizers, batchv1.JobTrackingFinalizer) {
			n++
		}
	}
	return n
}

func (f fixture) want(rule, what, got, want string) {
	f.T.Helper()
	if got != want {
		f.T.Errorf("%s: %s = %q, want %q", rule, what, got, want)
	}
}

// A Job with three completions, two at a time.
func TestCompletions(t *testing.T) {
	f := newFixture(t, engine.Config{})
	f.Create(newJob(sized(3, 2)))
	f.Advance(3 * time.Second)
	f.want("JOB-020", "counts", f.counts(), "2 0 0 0 0")
	pod := f.pods()[0]
	f.want("JOB-002", "finalizers", fmt.Sprint(pod.Finalizers), "[batch.kubernetes.io/job-tracking]")
	f.want("JOB-081", "labels", fmt.Sprint(len(pod.Labels), pod.Labels[batchv1.JobNameLabel], pod.Labels["job-name"]), "4workwork")
	f.want("JOB-082", "labels of the Job", fmt.Sprint(len(f.job().Labels)), "4")
	f.end(1, corev1.PodSucceeded)
	f.want("JOB-040", "counts", f.counts(), "2 0 0 1 0")
	f.want("JOB-040", "pods with the finalizer", fmt.Sprint(f.held()), "2")
	f.end(1, corev1.PodSucceeded)
	f.want("JOB-020", "no more than are missing", f.counts(), "1 0 0 2 0")
	f.end(1, corev1.PodSucceeded)
	f.want("JOB-053", "counts", f.counts(), "0 0 0 3 0")
	f.want("JOB-054", "conditions", f.conditions(), "SuccessCriteriaMet=True:CompletionsReached Complete=True:CompletionsReached")
	f.want("JOB-055", "completion time", fmt.Sprint(f.job().Status.CompletionTime != nil, *f.job().Status.UncountedTerminatedPods), "true {[] []}")
	f.want("JOB-060", "Events", f.events(), "SuccessfulCreate SuccessfulCreate SuccessfulCreate Completed")
	f.want("JOB-040", "pods with the finalizer", fmt.Sprint(f.held()), "0")
}

// Failed pods are replaced, with growing pauses, up to backoffLimit.
func TestBackoffLimit(t *testing.T) {
	f := newFixture(t, engine.Config{})
	f.Create(newJob(func(j *batchv1.Job) { j.Spec.BackoffLimit = new(int32(1)) }))
	f.Advance(3 * time.Second)
	f.end(1, corev1.PodFailed)
	f.want("JOB-022", "before the pause ends", f.counts(), "0 0 0 0 1")
	f.Advance(10 * time.Second)
	f.want("JOB-022", "after it", f.counts(), "1 0 0 0 1")
	f.end(1, corev1.PodFailed)
	f.want("JOB-051", "conditions", f.conditions(), "FailureTarget=True:BackoffLimitExceeded Failed=True:BackoffLimitExceeded")
	f.want("JOB-030", "counts", f.counts(), "0 0 0 0 2")
	f.want("JOB-060", "Events", f.events(), "SuccessfulCreate SuccessfulCreate BackoffLimitExceeded")
}

// A Job that is active for too long fails, and its pods are deleted.
func TestDeadline(t *testing.T) {
	f := newFixture(t, engine.Config{})
	f.Create(newJob(func(j *batchv1.Job) { j.Spec.ActiveDeadlineSeconds = new(int64(20)) }))
	began := f.Now()
	f.OK(f.Settle(time.Hour))
	f.want("JOB-052", "Settle waits for the deadline", fmt.Sprint(f.Now().Sub(began) > 10*time.Second), "false")
	f.Advance(25 * time.Second)
	f.want("JOB-052", "conditions", f.conditions(), "FailureTarget=True:DeadlineExceeded Failed=True:DeadlineExceeded")
	f.want("JOB-041", "counts", f.counts(), "0 0 0 0 1")
	f.want("JOB-041", "pods", fmt.Sprint(f.Store().Pods.Len()), "0")
	f.want("JOB-060", "Events", f.events(), "SuccessfulCreate SuccessfulDelete DeadlineExceeded")
}

// A pod that is being deleted counts as failed and is replaced, or only when it has ended.
func TestReplacement(t *testing.T) {
	for _, policy := range []batchv1.PodReplacementPolicy{batchv1.TerminatingOrFailed, batchv1.Failed} {
		f := newFixture(t, engine.Config{})
		f.Create(newJob(func(j *batchv1.Job) { j.Spec.PodReplacementPolicy = &policy }))
		f.Advance(3 * time.Second)
		pod := f.pods()[0].DeepCopy()
		pod.Spec.NodeName = "n1"
		pod.Finalizers = append(pod.Finalizers, "example.com/f")
		f.Load(pod)
		f.Delete(api.Pod, api.KeyOf(pod))
		f.Advance(40 * time.Second)
		want := map[batchv1.PodReplacementPolicy]string{batchv1.TerminatingOrFailed: "1 0 1 0 1", batchv1.Failed: "0 0 1 0 0"}
		rule := map[batchv1.PodReplacementPolicy]string{batchv1.TerminatingOrFailed: "JOB-030", batchv1.Failed: "JOB-023"}
		f.want(rule[policy], "counts", f.counts(), want[policy])
	}
}

// An indexed Job has one success per index.
func TestIndexed(t *testing.T) {
	f := newFixture(t, engine.Config{})
	f.Create(newJob(sized(5, 5), indexed))
	f.Advance(3 * time.Second)
	f.want("JOB-031", "pods", fmt.Sprint(len(f.pods())), "5")
	var names []string
	for _, pod := range f.pods() {
		names = append(names, pod.GenerateName+pod.Spec.Hostname+pod.Spec.Containers[0].Env[0].Name)
		if index := pod.Annotations[batchv1.JobCompletionIndexAnnotation]; index == "0" || index == "2" || index == "3" || index == "4" {
			c := pod.DeepCopy()
			c.Status.Phase = corev1.PodSucceeded
			f.Load(c)
		}
	}
	slices.Sort(names)
	f.want("JOB-031", "a pod", names[0], "work-0-work-0JOB_COMPLETION_INDEX")
	f.Advance(3 * time.Second)
	f.want("JOB-032", "completed indexes", f.job().Status.CompletedIndexes, "0,2-4")
	f.end(1, corev1.PodFailed)
	f.Advance(10 * time.Second)
	f.want("JOB-031", "index of the new pod", f.pods()[0].Annotations[batchv1.JobCompletionIndexAnnotation], "1")
	f.end(1, corev1.PodSucceeded)
	f.want("JOB-032", "completed indexes", f.job().Status.CompletedIndexes, "0-4")
	f.want("JOB-053", "conditions", f.conditions(), "SuccessCriteriaMet=True:CompletionsReached Complete=True:CompletionsReached")
}

// A Job that is suspended has no pods, and its time begins anew.
func TestSuspend(t *testing.T) {
	f := newFixture(t, engine.Config{})
	f.Create(newJob(sized(4, 4)))
	f.Advance(3 * time.Second)
	f.patch(`{"spec":{"parallelism":1}}`)
	f.want("JOB-021", "counts", f.counts(), "1 0 0 0 0")
	f.patch(`{"spec":{"suspend":true}}`)
	f.want("JOB-024", "counts", f.counts(), "0 0 0 0 0")
	f.want("JOB-024", "conditions", f.conditions(), "Suspended=True:JobSuspended")
	f.want("JOB-024", "start", fmt.Sprint(f.job().Status.StartTime), "<nil>")
	f.patch(`{"spec":{"suspend":false}}`)
	f.want("JOB-024", "conditions", f.conditions(), "Suspended=False:JobResumed")
	f.want("JOB-024", "counts", f.counts(), "1 0 0 0 0")
}

// Finished Jobs are deleted after their TTL.
func TestTTL(t *testing.T) {
	f := newFixture(t, engine.Config{})
	f.Create(newJob(func(j *batchv1.Job) { j.Spec.TTLSecondsAfterFinished = new(int32(60)) }))
	f.Advance(3 * time.Second)
	f.end(1, corev1.PodSucceeded)
	f.Advance(50 * time.Second)
	f.want("JOB-070", "deletion", fmt.Sprint(f.job().DeletionTimestamp), "<nil>")
	f.Advance(10 * time.Second)
	f.want("JOB-070", "finalizers", fmt.Sprint(f.job().DeletionTimestamp != nil, f.job().Finalizers), "true [foregroundDeletion]")
}

// Pods are adopted and released; pods of a Job that is gone lose the finalizer.
func TestOwners(t *testing.T) {
	f := newFixture(t, engine.Config{})
	f.Create(newJob())
	f.Advance(3 * time.Second)
	pod := f.pods()[0]
	f.Patch(api.Pod, api.KeyOf(pod), `{"metadata":{"labels":{"batch.kubernetes.io/controller-uid":"x"}}}`)
	f.Advance(3 * time.Second)
	released, err := f.Store().Pods.Get(api.KeyOf(pod))
	f.OK(err)
	f.want("JOB-001", "owners and finalizers", fmt.Sprint(len(released.OwnerReferences), len(released.Finalizers)), "0 0")
	f.want("JOB-010", "a released pod has a successor", fmt.Sprint(len(f.pods())), "2")
	f.DeleteNow(api.Pod, api.KeyOf(pod))
	_, err = f.Store().Delete(job.Kind, "default/work", api.DeleteOptions{PropagationPolicy: metav1.DeletePropagationBackground})
	f.OK(err)
	f.Advance(3 * time.Second)
	f.want("JOB-042", "pods with the finalizer", fmt.Sprint(f.held()), "0")
}

// TestPodsLeftBehind: pods of a Job that is gone are released one after the other, and a failed request is not repeated.
func TestPodsLeftBehind(t *testing.T) {
	f := newFixture(t, engine.Config{})
	f.Create(newJob(sized(3, 3)))
	f.Advance(3 * time.Second)
	release := fake.Match{Actor: "job-controller", Verb: "patch", Kind: "Pod"}
	f.Faults.Add(release, api.Fault{Err: fmt.Errorf("no"), Delay: 100 * time.Millisecond}).Once()
	f.Faults.Slow(release, 100*time.Millisecond)
	_, err := f.Store().Delete(job.Kind, "default/work", api.DeleteOptions{PropagationPolicy: metav1.DeletePropagationBackground})
	f.OK(err)
	for _, want := range []string{"3", "2", "1", "1"} {
		f.Advance(110 * time.Millisecond)
		f.want("JOB-043", "pods with the finalizer", fmt.Sprint(f.held()), want)
	}
	f.Advance(time.Minute)
	f.want("JOB-043", "pods with the finalizer in the end", fmt.Sprint(f.held()), "1")
}

// Failures of calls are retried, and counted once; informers lag.
func TestFailures(t *testing.T) {
	f := newFixture(t, engine.Config{Lag: map[string]time.Duration{"job-controller": 5 * time.Second}})
	f.Faults.Fail(fake.Match{Actor: "job-controller", Verb: "create", Kind: "Pod"}, fmt.Errorf("no room")).Once()
	f.Create(newJob(sized(2, 2)))
	f.Advance(30 * time.Second)
	f.want("JOB-012", "pods", fmt.Sprint(len(f.pods())), "2")
	f.want("JOB-060", "Events", strings.Fields(f.events())[0], "FailedCreate")
	f.Faults.Fail(fake.Match{Actor: "job-controller", Verb: "patch", Kind: "Pod"}, fmt.Errorf("no")).Once()
	f.end(2, corev1.PodSucceeded)
	f.Advance(time.Minute)
	f.want("JOB-011", "counts", f.counts(), "0 0 0 2 0")
	f.want("JOB-055", "finished", fmt.Sprint(f.conditions() != ""), "true")
}

// JOB-025: in a namespace that is being deleted no pod can be created, and that is no error.
func TestNamespaceEnds(t *testing.T) {
	f := newFixture(t, engine.Config{})
	f.Create(&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "default"}})
	f.Create(newJob(func(j *batchv1.Job) { j.Spec.Suspend = new(true) }))
	f.Advance(3 * time.Second)
	obj, err := f.Store().Get("Namespace", "default")
	f.OK(err)
	ns := obj.DeepCopyObject().(*plain.Object)
	ns.Content()["status"] = map[string]any{"phase": "Terminating"}
	now := metav1.NewTime(f.Now())
	ns.DeletionTimestamp = &now
	f.Load(ns)
	f.patch(`{"spec":{"suspend":false}}`)
	f.want("JOB-025", "pods and Events", fmt.Sprint(len(f.pods()), " ", f.events()), "0 Suspended Resumed")
}

// JOB-013: Jobs that another controller manages are left alone.
func TestLeftAlone(t *testing.T) {
	f := newFixture(t, engine.Config{})
	f.Create(newJob(func(j *batchv1.Job) { j.Spec.ManagedBy = new("example.com/queue") }))
	f.Advance(3 * time.Second)
	f.want("JOB-013", "pods and Events", fmt.Sprint(len(f.pods()), " ", f.events()), "0 ")
}

// JOB-050: a Job that has failed deletes its other pods first.
func TestFailsWithOthers(t *testing.T) {
	f := newFixture(t, engine.Config{})
	f.Create(newJob(sized(2, 2), func(j *batchv1.Job) { j.Spec.BackoffLimit = new(int32(0)) }))
	f.Advance(3 * time.Second)
	f.end(1, corev1.PodFailed)
	f.want("JOB-050", "counts", f.counts(), "0 0 0 0 2")
	f.want("JOB-050", "conditions", f.conditions(), "FailureTarget=True:BackoffLimitExceeded Failed=True:BackoffLimitExceeded")
}

// JOB-080 to JOB-087: defaults and validation.
func TestValidation(t *testing.T) {
	f := newFixture(t, engine.Config{})
	for _, row := range []struct {
		rule string
		edit func(*batchv1.Job)
		want string
	}{
		{"JOB-083", func(j *batchv1.Job) { j.Spec.Parallelism = new(int32(-1)) }, "spec.parallelism: Invalid value: -1: must be greater than or equal to 0"},
		{"JOB-083", func(j *batchv1.Job) { j.Spec.Template.Spec.RestartPolicy = "" }, `restartPolicy: Required value: valid values: "OnFailure", "Never"`},
		{"JOB-083", func(j *batchv1.Job) {
			j.Spec.CompletionMode, j.Spec.Parallelism = new(batchv1.IndexedCompletion), new(int32(1))
		}, "spec.completions: Required value: when completion mode is Indexed"},
		{"JOB-083", func(j *batchv1.Job) { j.Spec.BackoffLimitPerIndex = new(int32(1)) }, "requires indexed completion mode"},
		{"JOB-087", failures(onCodes(failIndex, in, 1)), "requires the backoffLimitPerIndex to be set"},
		{"JOB-087", failures(onCodes(count, in, 0)), "must not be 0 for the In operator"},
		{"JOB-087", failures(onCodes(count, in, 2, 1)), "spec.podFailurePolicy.rules[0].onExitCodes.values: Invalid value: [2,1]: must be ordered"},
		{"JOB-087", failures(batchv1.PodFailurePolicyRule{Action: ignore}), "specifying one of OnExitCodes and OnPodConditions is required"},
		{"JOB-087", func(j *batchv1.Job) {
			failures(onDisruption(ignore))(j)
			j.Spec.Template.Spec.RestartPolicy = corev1.RestartPolicyOnFailure
		}, `only "Never" is supported when podFailurePolicy is specified`},
		{"JOB-103", func(j *batchv1.Job) {
			failures(onDisruption(ignore))(j)
			j.Spec.PodReplacementPolicy = new(batchv1.TerminatingOrFailed)
		}, `spec.podReplacementPolicy: Unsupported value: "TerminatingOrFailed": supported values: "Failed"`},
		{"JOB-087", success(batchv1.SuccessPolicyRule{SucceededCount: new(int32(1))}), "requires indexed completion mode"},
		{"JOB-087", func(j *batchv1.Job) {
			sized(3, 3)(j)
			indexed(j)
			success(batchv1.SuccessPolicyRule{SucceededIndexes: new("2,1")})(j)
		}, "error parsing succeededIndexes: non-increasing order, previous: 2, current: 1"},
		{"JOB-087", func(j *batchv1.Job) { j.Spec.MaxFailedIndexes = new(int32(1)) }, "spec.backoffLimitPerIndex: Required value: when maxFailedIndexes is specified"},
		{"JOB-087", func(j *batchv1.Job) { j.Spec.ManagedBy = new("mine") }, "spec.managedBy: Invalid value"},
		{"JOB-081", func(j *batchv1.Job) { j.Spec.Template.Labels = map[string]string{"job-name": "x"} }, "spec.template.metadata.labels[job-name]: Invalid value"},
		{"JOB-081", func(j *batchv1.Job) {
			j.Spec.Selector = &metav1.LabelSelector{MatchLabels: map[string]string{"x": "y"}}
		}, "`selector` not auto-generated"},
	} {
		if _, err := f.Store().Create(newJob(row.edit)); err == nil || !strings.Contains(err.Error(), row.want) {
			t.Errorf("%s: error = %v, want %s", row.rule, err, row.want)
		}
	}
	f.Create(newJob())
	spec := f.job().Spec
	f.want("JOB-080", "defaults", fmt.Sprintln(*spec.Completions, *spec.Parallelism, *spec.BackoffLimit, *spec.CompletionMode, *spec.PodReplacementPolicy),
		"1 1 6 NonIndexed TerminatingOrFailed\n")
	for _, patch := range []string{`{"spec":{"completions":2}}`, `{"spec":{"completionMode":"Indexed"}}`, `{"spec":{"template":{"metadata":{"annotations":{"a":"b"}}}}}`} {
		if _, err := f.Store().Patch(job.Kind, "default/work", []byte(patch), api.Main); err == nil || !strings.Contains(err.Error(), "field is immutable") {
			t.Errorf("JOB-084: %s: error = %v", patch, err)
		}
	}
	for _, row := range []struct{ rule, patch, want string }{
		{"JOB-085", `{"spec":{"suspend":true}}`, ""},
		{"JOB-085", `{"spec":{"template":{"metadata":{"annotations":{"a":"b"}},"spec":{"nodeSelector":{"a":"b"}}}}}`, ""},
		{"JOB-085", `{"spec":{"template":{"spec":{"hostname":"other"}}}}`, `spec.template.spec: Invalid value: {"Volumes":null,`},
	} {
		_, err := f.Store().Patch(job.Kind, "default/work", []byte(row.patch), api.Main)
		if failed := err != nil; failed != (row.want != "") || failed && !strings.Contains(err.Error(), row.want) {
			t.Errorf("%s: %s: error = %v, want %q", row.rule, row.patch, err, row.want)
		}
	}
}
