package job_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/volsim/volsim/internal/core/engine"
)

// fail ends the pod of an index, -1 for the first of all, with an exit code.
func (f fixture) fail(index int, code int32, conditions ...corev1.PodCondition) {
	f.T.Helper()
	f.finish(index, corev1.PodFailed, code, conditions...)
}

func (f fixture) finish(index int, phase corev1.PodPhase, code int32, conditions ...corev1.PodCondition) {
	f.T.Helper()
	for _, pod := range f.pods() {
		if index >= 0 && pod.Annotations[batchv1.JobCompletionIndexAnnotation] != fmt.Sprint(index) {
			continue
		}
		c := pod.DeepCopy()
		c.Spec.NodeName, c.Status.Phase, c.Status.Conditions = "n1", phase, conditions
		c.Status.ContainerStatuses = []corev1.ContainerStatus{{Name: "c", State: corev1.ContainerState{
			Terminated: &corev1.ContainerStateTerminated{ExitCode: code, FinishedAt: metav1.NewTime(f.Now())}}}}
		f.Load(c)
		f.Advance(3 * time.Second)
		return
	}
	f.T.Fatalf("no pod of index %d", index)
}

func onCodes(action batchv1.PodFailurePolicyAction, op batchv1.PodFailurePolicyOnExitCodesOperator, codes ...int32) batchv1.PodFailurePolicyRule {
	return batchv1.PodFailurePolicyRule{Action: action, OnExitCodes: &batchv1.PodFailurePolicyOnExitCodesRequirement{Operator: op, Values: codes}}
}

func onDisruption(action batchv1.PodFailurePolicyAction) batchv1.PodFailurePolicyRule {
	return batchv1.PodFailurePolicyRule{Action: action, OnPodConditions: []batchv1.PodFailurePolicyOnPodConditionsPattern{{Type: corev1.DisruptionTarget}}}
}

func failures(rules ...batchv1.PodFailurePolicyRule) func(*batchv1.Job) {
	return func(j *batchv1.Job) { j.Spec.PodFailurePolicy = &batchv1.PodFailurePolicy{Rules: rules} }
}

func perIndex(limit int32) func(*batchv1.Job) {
	return func(j *batchv1.Job) { j.Spec.BackoffLimitPerIndex = &limit }
}

func success(rules ...batchv1.SuccessPolicyRule) func(*batchv1.Job) {
	return func(j *batchv1.Job) { j.Spec.SuccessPolicy = &batchv1.SuccessPolicy{Rules: rules} }
}

// marks lists the counts of failures that the pods have, by index.
func (f fixture) marks() string {
	var list []string
	for _, pod := range f.pods() {
		a := pod.Annotations
		list = append(list, strings.TrimSpace(a[batchv1.JobCompletionIndexAnnotation]+":"+a[batchv1.JobIndexFailureCountAnnotation]+" "+
			a[batchv1.JobIndexIgnoredFailureCountAnnotation]))
	}
	return strings.Join(list, ", ")
}

// failed returns the failed indexes of the status.
func (f fixture) failed() string {
	if failed := f.job().Status.FailedIndexes; failed != nil {
		return *failed
	}
	return "none"
}

const (
	failJob   = batchv1.PodFailurePolicyActionFailJob
	ignore    = batchv1.PodFailurePolicyActionIgnore
	count     = batchv1.PodFailurePolicyActionCount
	failIndex = batchv1.PodFailurePolicyActionFailIndex
	in        = batchv1.PodFailurePolicyOnExitCodesOpIn
	notIn     = batchv1.PodFailurePolicyOnExitCodesOpNotIn
)

// TestPolicies lets pods of Jobs with policies end, and compares what the Job does.
func TestPolicies(t *testing.T) {
	disruption := corev1.PodCondition{Type: corev1.DisruptionTarget, Status: corev1.ConditionTrue}
	limit := func(n int32) func(*batchv1.Job) { return func(j *batchv1.Job) { j.Spec.BackoffLimit = &n } }
	end := func(f fixture) string { return f.conditions() }
	counts := func(f fixture) string { return f.counts() }
	for _, tc := range []struct {
		rule, name string
		job        *batchv1.Job
		run        func(f fixture)
		got        func(f fixture) string
		want       string
	}{
		{"JOB-086", "a limit per index replaces the other one", newJob(sized(2, 2), indexed, perIndex(1)), func(fixture) {},
			func(f fixture) string { return fmt.Sprint(*f.job().Spec.BackoffLimit) }, "2147483647"},
		{"JOB-086", "conditions are True", newJob(failures(onDisruption(ignore))), func(fixture) {},
			func(f fixture) string {
				return string(f.job().Spec.PodFailurePolicy.Rules[0].OnPodConditions[0].Status)
			}, "True"},
		{"JOB-100", "the first rule that applies decides", newJob(limit(0), failures(onCodes(ignore, in, 7), onCodes(failJob, notIn, 1))),
			func(f fixture) { f.fail(-1, 7) }, end, ""},
		{"JOB-100", "the other code", newJob(failures(onCodes(ignore, in, 7), onCodes(failJob, notIn, 1))), func(f fixture) { f.fail(-1, 8) },
			end, "FailureTarget=True:PodFailurePolicy Failed=True:PodFailurePolicy"},
		{"JOB-100", "exit code 0 never applies", newJob(failures(onCodes(failJob, notIn, 1))), func(f fixture) { f.fail(-1, 0) }, end, ""},
		{"JOB-101", "the text names the container", newJob(failures(onCodes(failJob, in, 3))), func(f fixture) { f.fail(-1, 3) },
			func(f fixture) string {
				text := f.job().Status.Conditions[0].Message
				return text[:strings.Index(text, "work")] + text[strings.Index(text, " failed"):]
			}, "Container c for pod default/ failed with exit code 3 matching FailJob rule at index 0"},
		{"JOB-102", "ignored failures do not count", newJob(limit(0), failures(onDisruption(ignore))), func(f fixture) { f.fail(-1, 1, disruption) },
			counts, "0 0 0 0 0"},
		{"JOB-102", "the pod is replaced after a pause", newJob(limit(0), failures(onDisruption(ignore))), func(f fixture) {
			f.fail(-1, 1, disruption)
			f.Advance(15 * time.Second)
		}, counts, "1 0 0 0 0"},
		{"JOB-102", "others do", newJob(limit(0), failures(onDisruption(ignore), onDisruption(count))), func(f fixture) { f.fail(-1, 1) }, end,
			"FailureTarget=True:BackoffLimitExceeded Failed=True:BackoffLimitExceeded"},
		{"JOB-103", "Failed is the default", newJob(failures(onDisruption(ignore))), func(fixture) {},
			func(f fixture) string { return string(*f.job().Spec.PodReplacementPolicy) }, "Failed"},
		{"JOB-104", "an index fails after one retry", newJob(sized(2, 2), indexed, perIndex(1)), func(f fixture) {
			f.fail(0, 1)
			f.Advance(12 * time.Second)
			f.fail(0, 1)
		}, func(f fixture) string { return f.failed() + ", " + f.marks() }, "0, 1:0"},
		{"JOB-104", "FailIndex at once", newJob(sized(2, 2), indexed, perIndex(5), failures(onCodes(failIndex, in, 9))),
			func(f fixture) { f.fail(1, 9) }, func(f fixture) string { return f.failed() + ", " + f.marks() }, "1, 0:0"},
		{"JOB-105", "the new pod has the number of failures", newJob(sized(2, 2), indexed, perIndex(2), failures(onDisruption(ignore))), func(f fixture) {
			f.fail(0, 1)
			f.Advance(12 * time.Second)
			f.fail(0, 1, disruption)
			f.Advance(22 * time.Second)
		}, func(f fixture) string { return f.marks() }, "0:1 1, 1:0"},
		{"JOB-105", "the failed pod waits for it", newJob(sized(2, 2), indexed, perIndex(2)), func(f fixture) { f.fail(0, 1) },
			func(f fixture) string { return fmt.Sprint(f.held()) }, "2"},
		{"JOB-106", "an index does not wait for another", newJob(sized(3, 2), indexed, perIndex(2)), func(f fixture) { f.fail(0, 1) },
			func(f fixture) string { return f.marks() }, "1:0"},
		{"JOB-107", "too many failed indexes", newJob(sized(3, 3), indexed, perIndex(0), func(j *batchv1.Job) { j.Spec.MaxFailedIndexes = new(int32(0)) }),
			func(f fixture) { f.fail(1, 1) }, end, "FailureTarget=True:MaxFailedIndexesExceeded Failed=True:MaxFailedIndexesExceeded"},
		{"JOB-107", "no index is left", newJob(sized(2, 2), indexed, perIndex(0)), func(f fixture) {
			f.fail(1, 1)
			f.finish(0, corev1.PodSucceeded, 0)
		}, end, "FailureTarget=True:FailedIndexes Failed=True:FailedIndexes"},
		{"JOB-108", "one index is enough", newJob(sized(3, 3), indexed, success(batchv1.SuccessPolicyRule{SucceededIndexes: new("1-2"), SucceededCount: new(int32(1))})),
			func(f fixture) { f.finish(1, corev1.PodSucceeded, 0) },
			func(f fixture) string { return f.conditions() + " " + f.counts() }, "SuccessCriteriaMet=True:SuccessPolicy Complete=True:SuccessPolicy 0 0 0 1 0"},
		{"JOB-108", "another index is not", newJob(sized(3, 3), indexed, success(batchv1.SuccessPolicyRule{SucceededIndexes: new("1-2"), SucceededCount: new(int32(1))})),
			func(f fixture) { f.finish(0, corev1.PodSucceeded, 0) }, counts, "2 0 0 1 0"},
		{"JOB-108", "a number of any indexes", newJob(sized(3, 3), indexed, success(batchv1.SuccessPolicyRule{SucceededCount: new(int32(1))})),
			func(f fixture) { f.finish(2, corev1.PodSucceeded, 0) }, end, "SuccessCriteriaMet=True:SuccessPolicy Complete=True:SuccessPolicy"},
	} {
		t.Run(tc.rule+" "+tc.name, func(t *testing.T) {
			f := newFixture(t, engine.Config{})
			f.Create(tc.job)
			f.Advance(3 * time.Second)
			tc.run(f)
			f.want(tc.rule, tc.name, tc.got(f), tc.want)
		})
	}
}
