package disruption_test

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	"github.com/volsim/volsim/api"
	"github.com/volsim/volsim/internal/controllers/disruption"
	"github.com/volsim/volsim/internal/core/engine"
	"github.com/volsim/volsim/internal/core/plain"
	"github.com/volsim/volsim/internal/core/store"
	"github.com/volsim/volsim/internal/proof/rig"
	"github.com/volsim/volsim/trace"
)

type fixture struct{ *rig.Rig }

func newFixture(t *testing.T) fixture { return newFixtureWith(t, nil) }

// newFixtureWith returns a fixture with faults.
func newFixtureWith(t *testing.T, faults engine.InjectorFunc) fixture {
	cfg := engine.Config{}
	if faults != nil {
		cfg.Injector = faults
	}
	f := fixture{rig.New(t, cfg)}
	budgets, err := f.Store().Other(store.DisruptionBudgetKind)
	f.OK(err)
	_, err = disruption.New(f.Engine, budgets)
	f.OK(err)
	return f
}

// do carries out a line and returns the error:
//
//	budget NAME SPEC, status NAME STATUS
//	owner KIND NAME REPLICAS [OWNERKIND OWNER]
//	pod NAME [OWNERKIND OWNER]    a pod with the label app=web, Running and ready
//	set POD STATUS                a merge patch of the status
//	evict POD, stale POD          the latter with another uid
//	delete POD, wait DURATION
func (f fixture) do(line string) error {
	words := strings.Fields(line)
	name, rest := words[1], strings.Join(words[min(2, len(words)):], " ")
	create := func(version, kind, meta, spec string) error {
		u := &unstructured.Unstructured{}
		text := fmt.Sprintf("{apiVersion: %s, kind: %s, metadata: {name: %s, namespace: default%s}, spec: %s}", version, kind, name, meta, spec)
		require.NoError(f.T, yaml.Unmarshal([]byte(text), &u.Object), text)
		_, err := f.Store().Create(u)
		return err
	}
	owner := func(words []string) string {
		if len(words) < 2 {
			return ""
		}
		uid := "none"
		kind, group, _ := strings.Cut(words[0], ".")
		if group == "" {
			group = "apps"
		}
		if obj, err := f.Store().Get(api.Kind(kind+"."+group), "default/"+words[1]); err == nil {
			uid = string(obj.GetUID())
		}
		return fmt.Sprintf(", ownerReferences: [{apiVersion: %s/v1, kind: %s, name: %s, uid: %s, controller: true}]", group, kind, words[1], uid)
	}
	key := "default/" + name
	switch words[0] {
	case "budget":
		return create("policy/v1", "PodDisruptionBudget", "", rest)
	case "status":
		_, err := f.Store().Patch(store.DisruptionBudgetKind, key, toJSON(f.T, "{status: "+rest+"}"), api.Status)
		return err
	case "owner":
		name = words[2]
		return create("apps/v1", words[1], owner(words[4:]), "{replicas: "+words[3]+
			", selector: {matchLabels: {app: web}}, template: {metadata: {labels: {app: web}}, spec: {containers: [{name: c, image: i}]}}}")
	case "pod":
		if err := create("v1", "Pod", ", labels: {app: web}"+owner(words[2:]), "{containers: [{name: c, image: i}]}"); err != nil {
			return err
		}
		return f.do("set " + name + " {phase: Running, conditions: [{type: Ready, status: 'True'}]}")
	case "set":
		_, err := f.Store().Patch(api.Pod, key, toJSON(f.T, "{status: "+rest+"}"), api.Status)
		return err
	case "evict":
		_, err := f.Store().Evict(key, api.DeleteOptions{})
		return err
	case "stale":
		_, err := f.Store().Evict(key, api.DeleteOptions{UID: "other"})
		return err
	case "delete":
		_, err := f.Store().Delete(api.Pod, key, api.DeleteOptions{})
		return err
	case "wait":
		d, err := time.ParseDuration(name)
		f.OK(err)
		f.Advance(d)
		return nil
	}
	f.T.Fatalf("unknown line %q", line)
	return nil
}

func toJSON(t testing.TB, text string) []byte {
	data, err := yaml.YAMLToJSON([]byte(text))
	require.NoError(t, err)
	return data
}

// budget describes the status of budget b: allowed, healthy/desired/expected, the evicted pods and the reason of the condition.
func (f fixture) budget() string {
	obj, err := f.Store().Get(store.DisruptionBudgetKind, "default/b")
	f.OK(err)
	b, err := plain.As[*policyv1.PodDisruptionBudget](obj)
	f.OK(err)
	s := b.Status
	reason := ""
	if len(s.Conditions) > 0 {
		reason = s.Conditions[0].Reason
	}
	text := fmt.Sprintf("%d, %d/%d/%d %s", s.DisruptionsAllowed, s.CurrentHealthy, s.DesiredHealthy, s.ExpectedPods, reason)
	if len(s.DisruptedPods) > 0 {
		text += " " + strings.Join(slices.Sorted(maps.Keys(s.DisruptedPods)), " ")
	}
	return text
}

// events returns the texts of the Events with a reason.
func (f fixture) events(reason string) (texts []string) {
	for e := range f.Trace().Since(0) {
		if e.Type == trace.Emitted && e.Reason == reason {
			texts = append(texts, e.Text)
		}
	}
	return texts
}

const selector = "selector: {matchLabels: {app: web}}"

func TestDisruption(t *testing.T) {
	minimum := func(n string) string { return "budget b {minAvailable: " + n + ", " + selector + "}" }
	owners := []string{"owner Deployment web 4", "owner ReplicaSet old 1 Deployment web", "owner ReplicaSet new 4 Deployment web"}
	violation := "Cannot evict pod as it would violate the pod's disruption budget."
	for _, tt := range []struct {
		rule, name string
		lines      []string
		err        string // of the last line, with its cause
		budget     string // at the end
	}{
		{"PDB-001", "a pod queues one of two budgets", []string{minimum("1"), strings.Replace(minimum("1"), " b ", " a ", 1), "pod p"}, "", "0, 0/1/0 InsufficientPods"},
		{"PDB-002", "healthy pods", []string{minimum("1"), "pod p", "pod q", "set q {conditions: [{type: Ready, status: 'False'}]}"}, "", "0, 1/1/2 InsufficientPods"},
		{"PDB-003", "a number needs no controllers", []string{minimum("1"), "pod p", "pod q"}, "", "1, 2/1/2 SufficientPods"},
		{"PDB-004", "a percentage of a Deployment with two ReplicaSets", append(slices.Clone(owners), minimum("30%"), "pod p ReplicaSet old", "pod q ReplicaSet new"), "",
			"0, 2/2/4 InsufficientPods"},
		{"PDB-004", "maxUnavailable of a StatefulSet", []string{"owner StatefulSet db 2", "budget b {maxUnavailable: 1, " + selector + "}", "pod p StatefulSet db", "pod q StatefulSet db"}, "",
			"1, 2/1/2 SufficientPods"},
		{"PDB-005", "a pod without a controller", []string{"budget b {maxUnavailable: 1, " + selector + "}", "pod p"}, "", "0, 1/0/0 InsufficientPods"},
		{"PDB-006", "no pods", []string{minimum("0")}, "", "0, 0/0/0 InsufficientPods"},
		{"PDB-007", "an evicted pod that is not deleted counts again after two minutes", []string{minimum("1"), "pod p", "pod q",
			"status b {disruptedPods: {q: '2026-01-01T00:00:00Z'}}", "wait 3m"}, "", "1, 2/1/2 SufficientPods"},
		{"PDB-008", "a controller that does not exist", []string{"budget b {maxUnavailable: 1, " + selector + "}", "pod p StatefulSet db"}, "", "0, 0/0/0 SyncFailed"},
		{"PDB-009", "a Job has no replicas", []string{"budget b {maxUnavailable: 1, " + selector + "}", "pod p Job.batch x"}, "", "0, 0/0/0 SyncFailed"},
		{"PDB-009", "the scale of a ReplicaSet whose Deployment is gone", []string{"owner ReplicaSet web 3 Deployment none", "budget b {maxUnavailable: 1, " + selector + "}",
			"pod p ReplicaSet web"}, "", "0, 1/2/3 InsufficientPods"},
		{"PDB-020", "a pod that has ended", []string{minimum("1"), "pod p", "set p {phase: Succeeded}", "evict p"}, "", ""},
		{"PDB-021", "two budgets", []string{minimum("0"), strings.Replace(minimum("0"), " b ", " a ", 1), "pod p", "evict p"},
			"This pod has more than one PodDisruptionBudget, which the eviction subresource does not support.", ""},
		{"PDB-022", "a pod that is not ready", []string{minimum("1"), "pod p", "pod q", "set q {conditions: [{type: Ready, status: 'False'}]}", "evict q"}, "", "0, 1/1/1 InsufficientPods"},
		{"PDB-022", "unless too few are healthy", []string{minimum("1"), "pod p", "set p {conditions: [{type: Ready, status: 'False'}]}", "evict p"},
			violation + " The disruption budget b needs 1 healthy pods and has 0 currently", ""},
		{"PDB-022", "the policy AlwaysAllow", []string{"budget b {minAvailable: 1, unhealthyPodEvictionPolicy: AlwaysAllow, " + selector + "}", "pod p",
			"set p {conditions: [{type: Ready, status: 'False'}]}", "evict p"}, "", ""},
		{"PDB-023", "no disruption is allowed", []string{minimum("1"), "pod p", "evict p"}, violation + " The disruption budget b needs 1 healthy pods and has 1 currently", ""},
		{"PDB-023", "a failed sync", []string{"budget b {maxUnavailable: 1, " + selector + "}", "pod p StatefulSet db", "evict p"},
			violation + ` The disruption budget b does not allow evicting pods currently because it failed sync: found no controllers for pod "p"`, ""},
		{"PDB-024", "an eviction takes one disruption", []string{minimum("1"), "pod p", "pod q", "evict p"}, "", "0, 1/1/1 InsufficientPods"},
		{"PDB-026", "preconditions", []string{minimum("0"), "pod p", "stale p"}, "precondition", ""},
	} {
		t.Run(tt.rule+" "+tt.name, func(t *testing.T) {
			f := newFixture(t)
			var err error
			for _, line := range tt.lines {
				require.NoError(t, err, line)
				err = f.do(line)
				f.Advance(time.Second)
			}
			if tt.err == "" {
				require.NoError(t, err)
			} else {
				require.ErrorContains(t, withCause(err), tt.err)
			}
			if tt.budget != "" {
				require.Equal(t, tt.budget, f.budget())
			}
		})
	}
}

// TestStaleDisruptionTarget checks that a condition DisruptionTarget gets stale, unless a kubelet set it.
func TestStaleDisruptionTarget(t *testing.T) {
	for _, tt := range []struct{ rule, reason, phase, want string }{
		{"PDB-010", "EvictionByEvictionAPI", "Running", "False "},
		{"PDB-010", "TerminationByKubelet", "Running", "True TerminationByKubelet"},
		{"PDB-010", "EvictionByEvictionAPI", "Failed", "True EvictionByEvictionAPI"},
	} {
		t.Run(tt.rule+" "+tt.reason+" "+tt.phase, func(t *testing.T) {
			f := newFixture(t)
			f.OK(f.do("pod p"))
			f.OK(f.do("set p {phase: " + tt.phase + ", conditions: [{type: DisruptionTarget, status: 'True', reason: " + tt.reason +
				", lastTransitionTime: '2026-01-01T00:00:00Z'}]}"))
			condition := func() string {
				pod, err := f.Store().Pods.Get("default/p")
				f.OK(err)
				return string(pod.Status.Conditions[0].Status) + " " + pod.Status.Conditions[0].Reason
			}
			f.Advance(time.Minute)
			require.Equal(t, "True "+tt.reason, condition())
			f.Advance(2 * time.Minute)
			require.Equal(t, tt.want, condition())
		})
	}
}

// TestUnreadController checks that a failing read of a Job does not matter, because its scale is requested, and that one of a Deployment does
// (PDB-009).
func TestUnreadController(t *testing.T) {
	for _, tt := range []struct{ rule, name, owner, want string }{
		{"PDB-009", "a kind without a scale is not read", "Job.batch", "jobs.batch does not implement the scale subresource"},
		{"PDB-009", "a kind with a scale is read", "Deployment.apps", "no quorum"},
	} {
		t.Run(tt.rule+" "+tt.name, func(t *testing.T) {
			f := newFixtureWith(t, func(call api.Call) api.Fault {
				if call.Verb == "get" {
					return api.Fault{Err: errors.New("no quorum")}
				}
				return api.Fault{}
			})
			f.OK(f.do("budget b {maxUnavailable: 1, " + selector + "}"))
			f.OK(f.do("pod p " + tt.owner + " x"))
			f.Advance(time.Second)
			require.Contains(t, f.events("CalculateExpectedPodCountFailed"), "Failed to calculate the number of expected pods: "+tt.want)
		})
	}
}

// TestUnservedController checks the Event about a pod whose controller is of a kind that is not served (PDB-009).
func TestUnservedController(t *testing.T) {
	f := newFixture(t)
	f.OK(f.do("budget b {maxUnavailable: 1, " + selector + "}"))
	f.OK(f.do("pod p Keeper.example.com x"))
	f.Advance(time.Second)
	require.Contains(t, f.events("CalculateExpectedPodCountFailed"), `Failed to calculate the number of expected pods: no matches for kind "Keeper" in version "example.com/v1"`)
}

// TestSeveralBudgets checks the Event about a pod with two budgets (PDB-001).
func TestSeveralBudgets(t *testing.T) {
	f := newFixture(t)
	for _, line := range []string{"budget a {minAvailable: 0, " + selector + "}", "budget b {minAvailable: 0, " + selector + "}", "pod p"} {
		f.OK(f.do(line))
	}
	f.Advance(time.Second)
	require.Contains(t, f.events("MultiplePodDisruptionBudgets"), `Pod "default"/"p" matches multiple PodDisruptionBudgets.  Chose "a" arbitrarily.`)
}

// withCause appends the first cause of an error to its message.
func withCause(err error) error {
	if status, ok := err.(apierrors.APIStatus); ok && status.Status().Details != nil && len(status.Status().Details.Causes) > 0 {
		return fmt.Errorf("%w %s", err, status.Status().Details.Causes[0].Message)
	}
	return err
}

// PDB-025: a budget with too many evicted pods allows no more. PDB-026: an evicted pod has a condition.
func TestEvictedPods(t *testing.T) {
	f := newFixture(t)
	f.OK(f.do("budget b {minAvailable: 0, " + selector + "}"))
	f.OK(f.do("pod p"))
	f.Advance(time.Second)
	many := []string{}
	for i := range 2001 {
		many = append(many, fmt.Sprintf("x%d: '2026-01-01T00:00:00Z'", i))
	}
	f.OK(f.do("status b {disruptedPods: {" + strings.Join(many, ", ") + "}}"))
	require.ErrorContains(t, f.do("evict p"), "DisruptedPods map too big - too many evictions not confirmed by PDB controller")
	f.Advance(time.Second)
	f.Patch(api.Pod, "default/p", `{"metadata":{"finalizers":["x/y"]}}`)
	f.OK(f.do("evict p"))
	pod, err := f.Store().Pods.Get("default/p")
	f.OK(err)
	require.True(t, slices.ContainsFunc(pod.Status.Conditions, func(c corev1.PodCondition) bool {
		return c.Type == corev1.DisruptionTarget && c.Reason == "EvictionByEvictionAPI"
	}))
	require.NotNil(t, pod.DeletionTimestamp)
	require.NotEqual(t, metav1.Time{}, *pod.DeletionTimestamp)
}
