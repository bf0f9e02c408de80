package replicaset_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/volsim/volsim/api"
	"github.com/volsim/volsim/fake"
	"github.com/volsim/volsim/internal/controllers/replicaset"
	"github.com/volsim/volsim/internal/core/engine"
	"github.com/volsim/volsim/internal/core/plain"
	"github.com/volsim/volsim/internal/proof/rig"
	"github.com/volsim/volsim/trace"
)

type fixture struct{ *rig.Rig }

func newFixture(t *testing.T) fixture {
	f := fixture{rig.New(t, engine.Config{})}
	sets, err := f.Store().Other(replicaset.Kind)
	f.OK(err)
	_, err = replicaset.New(f.Engine, sets)
	f.OK(err)
	return f
}

// newSet is set default/web.
func newSet(replicas int32, edits ...func(*appsv1.ReplicaSet)) *appsv1.ReplicaSet {
	labels := map[string]string{"app": "web"}
	set := &appsv1.ReplicaSet{
		ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "web"},
		Spec: appsv1.ReplicaSetSpec{
			Replicas: &replicas, Selector: &metav1.LabelSelector{MatchLabels: labels},
			Template: corev1.PodTemplateSpec{
				ObjectMeta: metav1.ObjectMeta{Labels: labels},
				Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "c", Image: "i:1"}}},
			},
		},
	}
	for _, edit := range edits {
		edit(set)
	}
	return set
}

func newPod(name string, edits ...func(*corev1.Pod)) *corev1.Pod {
	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name, Labels: map[string]string{"app": "web"}},
		Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "c", Image: "i:1"}}},
	}
	for _, edit := range edits {
		edit(pod)
	}
	return pod
}

// set returns the stored set.
func (f fixture) set() *appsv1.ReplicaSet {
	f.T.Helper()
	obj, err := f.Store().Get(replicaset.Kind, "default/web")
	f.OK(err)
	set, err := plain.As[*appsv1.ReplicaSet](obj)
	f.OK(err)
	return set
}

// patch changes the spec of the set.
func (f fixture) patch(spec string) {
	f.T.Helper()
	_, err := f.Store().Patch(replicaset.Kind, "default/web", []byte(`{"spec":`+spec+`}`), api.Main)
	f.OK(err)
	f.Advance(time.Second)
}

// edit changes a pod and its status.
func (f fixture) edit(name string, change func(*corev1.Pod)) {
	f.T.Helper()
	pod, err := f.Store().Pods.Get("default/" + name)
	f.OK(err)
	c := pod.DeepCopy()
	change(c)
	f.Load(c)
	f.Advance(time.Second)
}

func ready(since time.Time) func(*corev1.Pod) {
	return func(pod *corev1.Pod) {
		pod.Status.Phase = corev1.PodRunning
		pod.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue, LastTransitionTime: metav1.NewTime(since)}}
	}
}

// count counts the pods: active, being deleted.
func (f fixture) count() string {
	active, deleted := 0, 0
	for _, pod := range f.Store().Pods.List() {
		if pod.DeletionTimestamp != nil {
			deleted++
		} else if pod.Status.Phase != corev1.PodFailed {
			active++
		}
	}
	return fmt.Sprint(active, " ", deleted)
}

func (f fixture) names() string {
	var names []string
	for _, pod := range f.Store().Pods.List() {
		names = append(names, pod.Name)
	}
	return strings.Join(names, " ")
}

func (f fixture) counts() string {
	st := f.set().Status
	return fmt.Sprint(st.Replicas, st.FullyLabeledReplicas, st.ReadyReplicas, st.AvailableReplicas, *st.TerminatingReplicas, st.ObservedGeneration)
}

// events lists the reasons and messages of the Events.
func (f fixture) events() []string {
	var list []string
	for e := range f.Trace().Entries() {
		if e.Type == trace.Emitted {
			list = append(list, e.Reason+": "+e.Text)
		}
	}
	return list
}

func (f fixture) want(rule, what, got, want string) {
	f.T.Helper()
	if got != want {
		f.T.Errorf("%s: %s = %q, want %q", rule, what, got, want)
	}
}

// RS-020, RS-040, RS-050: a set has as many pods as replicas.
func TestScale(t *testing.T) {
	f := newFixture(t)
	f.Create(newSet(3))
	f.Advance(time.Second)
	f.want("RS-020", "pods", f.count(), "3 0")
	f.want("RS-040", "status", f.counts(), "3 3 0 0 0 1")
	pod := f.Store().Pods.List()[0]
	f.want("RS-001", "owner and name", fmt.Sprint(pod.OwnerReferences[0].Kind, " ", pod.OwnerReferences[0].Name, " ", pod.GenerateName), "ReplicaSet web web-")
	for _, pod := range f.Store().Pods.List() {
		f.edit(pod.Name, ready(f.Now()))
	}
	f.want("RS-040", "status", f.counts(), "3 3 3 3 0 1")
	f.patch(`{"replicas":1}`)
	f.want("RS-020", "pods", f.count(), "1 0")
	f.want("RS-040", "status", f.counts(), "1 1 1 1 0 2")
	f.want("RS-050", "kinds of Events", fmt.Sprint(len(f.events())), "5")
	f.want("RS-050", "first Event", f.events()[0][:len("SuccessfulCreate: Created pod: web-")], "SuccessfulCreate: Created pod: web-")
	f.want("RS-050", "last Event", f.events()[4][:len("SuccessfulDelete: Deleted pod: web-")], "SuccessfulDelete: Deleted pod: web-")
}

// RS-021: a pod that is being deleted on a node has a successor at once, and so has one that failed.
func TestSuccessor(t *testing.T) {
	f := newFixture(t)
	f.Create(newSet(1))
	f.Advance(time.Second)
	name := f.names()
	f.edit(name, func(pod *corev1.Pod) { pod.Spec.NodeName = "n1" })
	f.Delete(api.Pod, "default/"+name)
	f.Advance(time.Second)
	f.want("RS-021", "pods", f.count(), "1 1")
	f.want("RS-040", "status", f.counts(), "1 1 0 0 1 1")
	for _, pod := range f.Store().Pods.List() {
		f.edit(pod.Name, func(pod *corev1.Pod) { pod.Status.Phase = corev1.PodFailed })
	}
	f.want("RS-021", "pods", f.count(), "1 1")
	f.want("RS-040", "status", f.counts(), "1 1 0 0 0 1")
}

// RS-010, RS-012: orphans are adopted instead of created, but not those that have ended; relabelled pods are released and replaced.
func TestAdopt(t *testing.T) {
	f := newFixture(t)
	f.Load(newPod("a"), newPod("failed", func(pod *corev1.Pod) { pod.Status.Phase = corev1.PodFailed }))
	f.Create(newSet(1))
	f.Advance(time.Second)
	f.want("RS-012", "pods", f.names(), "a failed")
	owners := func(name string) string {
		pod, err := f.Store().Pods.Get("default/" + name)
		f.OK(err)
		return fmt.Sprint(len(pod.OwnerReferences))
	}
	f.want("RS-012", "owners", owners("a")+owners("failed"), "10")
	f.edit("a", func(pod *corev1.Pod) { pod.Labels = nil })
	f.want("RS-010", "owners", owners("a"), "0")
	f.want("RS-010", "pods", f.count(), "2 0")
}

// WORK-009, RS-033: own pods come before those that are adopted, whatever their names.
func TestAdoptedLast(t *testing.T) {
	for _, row := range []struct {
		rule, name, adopted, uid string
		own                      []string // the uids of the own pods
		older                    time.Duration
		deleted                  string
	}{
		{"WORK-009", "equal pods", "a", "2", []string{"1"}, 0, "own-0"},
		{"WORK-009", "equal pods, the adopted one last by name", "z", "0", []string{"1"}, 0, "own-0"},
		{"RS-033", "before all own pods", "a", "1", []string{"2", "3"}, time.Second, "a"},
		{"RS-033", "an own pod before it ends the search", "a", "2", []string{"3", "1"}, time.Second, "own-0"},
	} {
		t.Run(row.rule+" "+row.name, func(t *testing.T) {
			f := newFixture(t)
			f.Create(newSet(0))
			created := metav1.NewTime(f.Now())
			f.Advance(time.Hour)
			set := f.set()
			for i, uid := range row.own {
				f.Load(newPod(fmt.Sprint("own-", i), func(pod *corev1.Pod) {
					pod.UID, pod.CreationTimestamp = types.UID(uid), created
					pod.OwnerReferences = []metav1.OwnerReference{*metav1.NewControllerRef(set, appsv1.SchemeGroupVersion.WithKind("ReplicaSet"))}
				}))
			}
			f.Load(newPod(row.adopted, func(pod *corev1.Pod) {
				pod.UID, pod.CreationTimestamp = types.UID(row.uid), metav1.NewTime(created.Add(-row.older))
			}))
			f.patch(fmt.Sprintf(`{"replicas":%d}`, len(row.own)))
			f.want(row.rule, "Events", fmt.Sprint(f.events()), "[SuccessfulDelete: Deleted pod: "+row.deleted+"]")
		})
	}
}

// RS-041: the error of a creation is in the condition until a sync succeeds.
func TestFailure(t *testing.T) {
	f := newFixture(t)
	// The API server refuses such a set now. One that an earlier version has stored exists.
	_, err := f.Store().Load(newSet(1, func(set *appsv1.ReplicaSet) { set.Spec.Template.Spec.Containers[0].Name = "Not valid" }))
	f.OK(err)
	f.Advance(time.Second)
	conditions := f.set().Status.Conditions
	if len(conditions) != 1 {
		t.Fatalf("RS-041: conditions = %v, want ReplicaFailure", conditions)
	}
	f.want("RS-041", "condition", fmt.Sprint(conditions[0].Type, " ", conditions[0].Status, " ", conditions[0].Reason), "ReplicaFailure True FailedCreate")
	f.want("RS-050", "Event", f.events()[0], "FailedCreate: Error creating: "+conditions[0].Message)
	f.patch(`{"replicas":0,"template":{"spec":{"containers":[{"name":"web","image":"web"}]}}}`)
	f.want("RS-041", "conditions", fmt.Sprint(len(f.set().Status.Conditions)), "0")
}

// RS-040: with minReadySeconds a ready pod is available later.
func TestMinReady(t *testing.T) {
	f := newFixture(t)
	f.Create(newSet(1, func(set *appsv1.ReplicaSet) { set.Spec.MinReadySeconds = 10 }))
	f.Advance(time.Second)
	f.edit(f.names(), ready(f.Now()))
	f.want("RS-040", "status", f.counts(), "1 1 1 0 0 1")
	f.Advance(10 * time.Second)
	f.want("RS-040", "status", f.counts(), "1 1 1 1 0 1")
}

// RS-022: a set that is being deleted creates no pods.
func TestDeleted(t *testing.T) {
	f := newFixture(t)
	f.Create(newSet(1, func(set *appsv1.ReplicaSet) { set.Finalizers = []string{"example.com/f"} }))
	f.Advance(time.Second)
	f.Delete(replicaset.Kind, "default/web")
	f.Delete(api.Pod, "default/"+f.names())
	f.Advance(time.Second)
	f.want("RS-022", "pods", f.count(), "0 0")
	f.want("RS-022", "status", f.counts()[:1], "0")
}

// The order in which pods are deleted.
func TestVictims(t *testing.T) {
	node := func(name string) func(*corev1.Pod) { return func(pod *corev1.Pod) { pod.Spec.NodeName = name } }
	phase := func(phase corev1.PodPhase) func(*corev1.Pod) {
		return func(pod *corev1.Pod) { pod.Status.Phase = phase }
	}
	start := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	readyFor := func(d time.Duration) func(*corev1.Pod) { return ready(start.Add(-d)) }
	cost := func(value string) func(*corev1.Pod) {
		return func(pod *corev1.Pod) { pod.Annotations = map[string]string{corev1.PodDeletionCost: value} }
	}
	uid := func(pod *corev1.Pod) { pod.UID = "0" }
	restarts := func(n int32) func(*corev1.Pod) {
		return func(pod *corev1.Pod) {
			pod.Status.ContainerStatuses = []corev1.ContainerStatus{{Name: "c", RestartCount: n}}
		}
	}
	age := func(d time.Duration) func(*corev1.Pod) {
		return func(pod *corev1.Pod) { pod.CreationTimestamp = metav1.NewTime(start.Add(-d)) }
	}
	type edits = []func(*corev1.Pod)
	for _, row := range []struct {
		rule, name   string
		victim, kept edits
		onNode       map[string]int
	}{
		{"RS-030", "no node", edits{readyFor(time.Hour)}, edits{node("n")}, nil},
		{"RS-030", "pending", edits{node("n"), phase(corev1.PodPending)}, edits{node("n"), phase(corev1.PodRunning)}, nil},
		{"RS-030", "unknown", edits{node("n"), phase(corev1.PodUnknown)}, edits{node("n"), phase(corev1.PodRunning)}, nil},
		{"RS-030", "not ready", edits{node("n"), phase(corev1.PodRunning)}, edits{node("n"), readyFor(time.Second)}, nil},
		{"RS-030", "lower cost", edits{cost("-1")}, edits{restarts(1)}, nil},
		{"RS-030", "a cost that is not valid is 0", edits{cost("+5")}, edits{cost("1"), restarts(1)}, nil},
		{"RS-030", "fuller node", edits{node("full")}, edits{node("n"), restarts(1)}, map[string]int{"full": 2, "n": 1}},
		{"RS-031", "ready for a shorter time", edits{readyFor(time.Minute)}, edits{readyFor(time.Hour), restarts(1)}, nil},
		{"RS-031", "ready for a similar time", edits{readyFor(61 * time.Minute), uid}, edits{readyFor(time.Hour), restarts(1)}, nil},
		{"RS-032", "more restarts", edits{restarts(2)}, edits{restarts(1), age(time.Second)}, nil},
		{"RS-032", "younger", edits{age(time.Minute)}, edits{age(time.Hour)}, nil},
		{"RS-032", "of a similar age", edits{age(61 * time.Minute), uid}, edits{age(time.Hour)}, nil},
	} {
		t.Run(row.rule+" "+row.name, func(t *testing.T) {
			a, b := newPod("a", row.victim...), newPod("b", row.kept...)
			if b.UID = "1"; a.UID == "" {
				a.UID = "2"
			}
			if replicaset.Before(a, b, row.onNode, start) >= 0 || replicaset.Before(b, a, row.onNode, start) <= 0 {
				t.Errorf("the other pod is deleted first")
			}
		})
	}
}

// RS-060 to RS-062: defaults and validation.
func TestValidation(t *testing.T) {
	for _, row := range []struct {
		rule string
		edit func(*appsv1.ReplicaSet)
		want string
	}{
		{"RS-061", func(s *appsv1.ReplicaSet) { s.Spec.Replicas = new(int32(-1)) }, "spec.replicas: Invalid value: -1: must be greater than or equal to 0"},
		{"RS-061", func(s *appsv1.ReplicaSet) { s.Spec.MinReadySeconds = -1 }, "spec.minReadySeconds: Invalid value: -1: must be greater"},
		{"RS-061", func(s *appsv1.ReplicaSet) { s.Spec.Selector = &metav1.LabelSelector{} }, "empty selector is invalid for deployment"},
		{"WORK-021", func(s *appsv1.ReplicaSet) { s.Spec.Selector = nil }, "[spec.selector: Required value, spec.template.metadata.labels: Invalid value"},
		{"WORK-021", func(s *appsv1.ReplicaSet) { s.Spec.Template.Labels = nil }, "`selector` does not match template `labels`"},
		{"RS-061", func(s *appsv1.ReplicaSet) { s.Spec.Template.Spec.RestartPolicy = "Never" }, `Unsupported value: "Never": supported values: "Always"`},
		{"RS-061", func(s *appsv1.ReplicaSet) { s.Spec.Template.Spec.ActiveDeadlineSeconds = new(int64(1)) }, "activeDeadlineSeconds in ReplicaSet is not Supported"},
	} {
		f := newFixture(t)
		_, err := f.Store().Create(newSet(1, row.edit))
		if err == nil || !strings.Contains(err.Error(), row.want) {
			t.Errorf("%s: error = %v, want %s", row.rule, err, row.want)
		}
	}
	f := newFixture(t)
	f.Create(newSet(0, func(s *appsv1.ReplicaSet) { s.Spec.Replicas = nil }))
	f.want("RS-060", "defaults", fmt.Sprint(*f.set().Spec.Replicas, " ", f.set().Spec.Template.Spec.RestartPolicy), "1 Always")
	_, err := f.Store().Patch(replicaset.Kind, "default/web",
		[]byte(`{"spec":{"selector":{"matchLabels":{"x":"y"}},"template":{"metadata":{"labels":{"x":"y"}}}}}`), api.Main)
	if err == nil || !strings.Contains(err.Error(), "spec.selector: Invalid value: ") || !strings.Contains(err.Error(), "field is immutable") {
		t.Errorf("RS-062: error = %v", err)
	}
}

// RS-011: a set whose informers lag creates no more pods than it needs.
func TestLag(t *testing.T) {
	f := fixture{rig.New(t, engine.Config{Lag: map[string]time.Duration{"replicaset-controller": 10 * time.Second}})}
	sets, err := f.Store().Other(replicaset.Kind)
	f.OK(err)
	_, err = replicaset.New(f.Engine, sets)
	f.OK(err)
	f.Create(newSet(2))
	f.Advance(11 * time.Second)
	f.want("RS-011", "pods", f.count(), "2 0")
	_, err = f.Store().Patch(replicaset.Kind, "default/web", []byte(`{"metadata":{"labels":{"a":"b"}}}`), api.Main)
	f.OK(err)
	f.Advance(time.Minute)
	f.want("RS-011", "pods", f.count(), "2 0")
}

// RS-023: in a namespace that is being deleted no pod can be created, and that is no error.
func TestNamespaceEnds(t *testing.T) {
	f := newFixture(t)
	f.Create(&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "default"}})
	f.Create(newSet(0))
	f.Advance(time.Second)
	obj, err := f.Store().Get("Namespace", "default")
	f.OK(err)
	ns := obj.DeepCopyObject().(*plain.Object)
	ns.Content()["status"] = map[string]any{"phase": "Terminating"}
	now := metav1.NewTime(f.Now())
	ns.DeletionTimestamp = &now
	f.Load(ns)
	f.patch(`{"replicas":1}`)
	f.want("RS-023", "pods", f.count(), "0 0")
	f.want("RS-023", "Events", fmt.Sprint(len(f.events())), "0")
	f.want("RS-023", "conditions", fmt.Sprint(len(f.set().Status.Conditions)), "0")
}

// RS-042: a sync that counts the same writes no status.
func TestStatusWrites(t *testing.T) {
	f := newFixture(t)
	f.Create(newSet(1))
	f.Advance(time.Second)
	version := f.set().ResourceVersion
	f.edit(f.names(), func(pod *corev1.Pod) { pod.Status.Message = "no matter" })
	f.want("RS-042", "version", f.set().ResourceVersion, version)
}

// RS-042: a failed write of the status is repeated once with the newest version; after a second failure the sync fails.
func TestStatusRepeated(t *testing.T) {
	failures := func(f fixture) (n int) {
		for e := range f.Trace().Entries() {
			if e.Type == trace.KeyFailed {
				n++
			}
		}
		return n
	}
	f := newFixture(t)
	f.Faults.Fail(fake.Match{Actor: "replicaset-controller", Verb: "update-status"}, fmt.Errorf("no")).Once()
	f.Create(newSet(1))
	f.Advance(time.Second)
	f.want("RS-042", "status", f.counts(), "1 1 0 0 0 1")
	f.want("RS-042", "failed syncs", fmt.Sprint(failures(f)), "0")

	f = newFixture(t)
	f.Faults.Fail(fake.Match{Actor: "replicaset-controller", Verb: "update-status"}, fmt.Errorf("no")).Times(2)
	f.Create(newSet(1))
	f.Advance(time.Second)
	f.want("RS-042", "status", f.counts(), "1 1 0 0 0 1")
	f.want("RS-042", "failed syncs", fmt.Sprint(failures(f)), "1")
}

// RS-041: two creations that a quota refuses at the same time are one error.
func TestFailures(t *testing.T) {
	f := newFixture(t)
	one := corev1.ResourceList{corev1.ResourcePods: resource.MustParse("1")}
	_, err := f.Store().Load(&corev1.ResourceQuota{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "pods"}, Spec: corev1.ResourceQuotaSpec{Hard: one},
		Status: corev1.ResourceQuotaStatus{Hard: one, Used: corev1.ResourceList{corev1.ResourcePods: resource.MustParse("0")}}})
	f.OK(err)
	f.Create(newSet(3))
	f.Advance(time.Millisecond)
	conditions := f.set().Status.Conditions
	if len(conditions) != 1 {
		t.Fatalf("RS-041: conditions = %v, want ReplicaFailure", conditions)
	}
	failed := slices.DeleteFunc(f.events(), func(event string) bool { return !strings.HasPrefix(event, "FailedCreate") })
	if len(failed) < 2 {
		t.Fatalf("RS-041: Events = %v, want two failures at once", f.events())
	}
	f.want("RS-041", "first error", "FailedCreate: Error creating: "+conditions[0].Message, failed[0])
}
