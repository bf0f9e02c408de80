package daemonset_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/volsim/volsim/api"
	"github.com/volsim/volsim/fake"
	"github.com/volsim/volsim/internal/controllers/daemonset"
	"github.com/volsim/volsim/internal/controllers/workload"
	"github.com/volsim/volsim/internal/core/engine"
	"github.com/volsim/volsim/internal/core/plain"
	"github.com/volsim/volsim/internal/proof/rig"
	"github.com/volsim/volsim/trace"
)

// fixture has the DaemonSet controller. Tests bind pods and make them ready.
type fixture struct{ *rig.Rig }

func newFixture(t *testing.T, cfg engine.Config) fixture {
	f := fixture{rig.New(t, cfg)}
	sets, err := f.Store().Other(daemonset.Kind)
	f.OK(err)
	_, err = daemonset.New(f.Engine, sets)
	f.OK(err)
	return f
}

// newSet is set default/agent.
func newSet(edits ...func(*appsv1.DaemonSet)) *appsv1.DaemonSet {
	labels := map[string]string{"app": "agent"}
	set := &appsv1.DaemonSet{
		ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "agent"},
		Spec: appsv1.DaemonSetSpec{
			Selector: &metav1.LabelSelector{MatchLabels: labels},
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

func rolling(surge, unavailable string) func(*appsv1.DaemonSet) {
	return func(set *appsv1.DaemonSet) {
		set.Spec.UpdateStrategy = appsv1.DaemonSetUpdateStrategy{Type: appsv1.RollingUpdateDaemonSetStrategyType,
			RollingUpdate: &appsv1.RollingUpdateDaemonSet{MaxSurge: new(intstr.Parse(surge)), MaxUnavailable: new(intstr.Parse(unavailable))}}
	}
}

func (f fixture) nodes(names ...string) {
	f.T.Helper()
	for _, name := range names {
		f.Create(fake.Node(name))
	}
	f.Advance(time.Second)
}

func (f fixture) set() *appsv1.DaemonSet {
	f.T.Helper()
	obj, err := f.Store().Get(daemonset.Kind, "default/agent")
	f.OK(err)
	set, err := plain.As[*appsv1.DaemonSet](obj)
	f.OK(err)
	return set
}

// revisions lists the numbers of the revisions.
func (f fixture) revisions() string {
	var numbers []int64
	for _, obj := range f.Store().List(workload.RevisionKind) {
		r, err := plain.As[*appsv1.ControllerRevision](obj)
		f.OK(err)
		numbers = append(numbers, r.Revision)
	}
	slices.Sort(numbers)
	return fmt.Sprint(numbers)
}

func nodeOf(pod *corev1.Pod) string {
	if pod.Spec.NodeName != "" {
		return pod.Spec.NodeName
	}
	return pod.Spec.Affinity.NodeAffinity.RequiredDuringSchedulingIgnoredDuringExecution.NodeSelectorTerms[0].MatchFields[0].Values[0]
}

// placed lists node and image of each pod; a pod that is being deleted has a minus.
func (f fixture) placed() string {
	var list []string
	for _, pod := range f.Store().Pods.List() {
		s := nodeOf(pod) + ":" + pod.Spec.Containers[0].Image[2:]
		if pod.DeletionTimestamp != nil {
			s += "-"
		}
		list = append(list, s)
	}
	slices.Sort(list)
	return strings.Join(list, " ")
}

func (f fixture) counts() string {
	st := f.set().Status
	return fmt.Sprint(st.DesiredNumberScheduled, st.CurrentNumberScheduled, st.UpdatedNumberScheduled, st.NumberReady, st.NumberAvailable,
		st.NumberUnavailable, st.NumberMisscheduled)
}

func (f fixture) patch(patch string) {
	f.T.Helper()
	f.Patch(daemonset.Kind, "default/agent", patch)
	f.Advance(time.Second)
}

func (f fixture) image(image string) {
	f.T.Helper()
	f.patch(fmt.Sprintf(`{"spec":{"template":{"spec":{"containers":[{"name":"c","image":%q}]}}}}`, image))
}

// ready binds all pods and makes them ready.
func (f fixture) ready() {
	f.T.Helper()
	for _, pod := range f.Store().Pods.List() {
		if pod.Status.Phase == corev1.PodRunning || pod.DeletionTimestamp != nil {
			continue
		}
		f.edit(pod, func(c *corev1.Pod) {
			c.Spec.NodeName, c.Status.Phase = nodeOf(pod), corev1.PodRunning
			c.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue, LastTransitionTime: metav1.NewTime(f.Now())}}
		})
	}
	f.Advance(time.Second)
}

func (f fixture) edit(pod *corev1.Pod, change func(*corev1.Pod)) {
	f.T.Helper()
	c := pod.DeepCopy()
	change(c)
	f.Load(c)
}

// purge removes the pods that are being deleted, as a kubelet does.
func (f fixture) purge() {
	f.T.Helper()
	for _, pod := range f.Store().Pods.List() {
		if pod.DeletionTimestamp != nil {
			f.DeleteNow(api.Pod, api.KeyOf(pod))
		}
	}
	f.Advance(time.Second)
}

func (f fixture) taint(node, key string, effect corev1.TaintEffect) {
	f.T.Helper()
	f.Patch(api.Node, node, fmt.Sprintf(`{"spec":{"taints":[{"key":%q,"effect":%q}]}}`, key, effect))
	f.Advance(time.Second)
}

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

// DS-003, DS-020, DS-050, DS-051: one pod per node, for that node.
func TestPlaces(t *testing.T) {
	f := newFixture(t, engine.Config{})
	f.nodes("n1", "n2")
	f.Create(newSet())
	f.Advance(time.Second)
	f.want("DS-020", "pods", f.placed(), "n1:1 n2:1")
	f.want("DS-050", "status", f.counts(), "2 2 2 0 0 2 0")
	f.ready()
	f.want("DS-050", "status", f.counts(), "2 2 2 2 2 0 0")
	pod := f.Store().Pods.List()[0]
	f.want("DS-003", "labels", fmt.Sprint(pod.Labels), fmt.Sprintf("map[app:agent controller-revision-hash:%s pod-template-generation:1]",
		f.Store().List(workload.RevisionKind)[0].GetLabels()["controller-revision-hash"]))
	f.want("DS-030", "revisions", f.revisions(), "[1]")
	f.want("DS-051", "Events", fmt.Sprint(len(f.events()), f.events()[0][:len("SuccessfulCreate: Created pod: agent-")]), "2SuccessfulCreate: Created pod: agent-")
	f.nodes("n3")
	f.want("DS-011", "pods", f.placed(), "n1:1 n2:1 n3:1")
	for _, pod := range f.Store().Pods.List() {
		if nodeOf(pod) == "n1" {
			f.Delete(api.Pod, api.KeyOf(pod))
		}
	}
	f.Advance(time.Second)
	f.want("DS-020", "a pod that is being deleted has no successor yet", f.placed(), "n1:1- n2:1 n3:1")
	f.purge()
	f.want("DS-020", "pods", f.placed(), "n1:1 n2:1 n3:1")
}

// DS-002, DS-004, DS-022: nodes that the template excludes, and taints.
func TestEligible(t *testing.T) {
	f := newFixture(t, engine.Config{})
	f.Create(fake.Node("n1", fake.Labels("disk", "ssd")), fake.Node("n2"))
	f.Create(newSet(func(set *appsv1.DaemonSet) {
		set.Spec.Template.Spec.NodeSelector = map[string]string{"disk": "ssd"}
		set.Spec.Template.Spec.Tolerations = []corev1.Toleration{{Key: corev1.TaintNodeUnreachable, Operator: corev1.TolerationOpExists,
			Effect: corev1.TaintEffectNoExecute, TolerationSeconds: new(int64(5))}}
	}))
	f.Advance(time.Second)
	f.want("DS-002", "pods", f.placed(), "n1:1")
	f.ready()
	pod := f.Store().Pods.List()[0]
	f.want("DS-004", "tolerations", fmt.Sprint(len(pod.Spec.Tolerations), pod.Spec.Tolerations[0].TolerationSeconds), "6 <nil>")
	f.taint("n1", corev1.TaintNodeUnschedulable, corev1.TaintEffectNoSchedule)
	f.want("DS-004", "status on a cordoned node", f.counts(), "1 1 1 1 1 0 0")
	f.taint("n1", "example.com/new", corev1.TaintEffectNoSchedule)
	f.patch(`{"metadata":{"labels":{"a":"b"}}}`)
	f.want("DS-002", "pods", f.placed(), "n1:1")
	f.want("DS-050", "a pod that stays is misplaced", f.counts(), "0 0 0 0 0 0 1")
	f.taint("n1", "example.com/new", corev1.TaintEffectNoExecute)
	f.want("DS-022", "pods", f.placed(), "n1:1-")
	f.purge()
	f.Patch(api.Node, "n1", `{"spec":{"taints":null}}`)
	f.Patch(api.Node, "n2", `{"metadata":{"labels":{"disk":"ssd"}}}`)
	f.Advance(time.Second)
	f.want("DS-011", "pods", f.placed(), "n1:1 n2:1")
}

// DS-023: a pod for a node that is gone before it was bound is deleted.
func TestNodeGone(t *testing.T) {
	f := newFixture(t, engine.Config{})
	f.nodes("n1", "n2")
	f.Create(newSet())
	f.Advance(time.Second)
	f.DeleteNow(api.Node, "n2")
	f.patch(`{"metadata":{"labels":{"a":"b"}}}`)
	f.want("DS-023", "pods", f.placed(), "n1:1")
}

// DS-024: failed pods are replaced, with growing pauses.
func TestFailedPod(t *testing.T) {
	f := newFixture(t, engine.Config{})
	f.nodes("n1")
	f.Create(newSet())
	f.Advance(time.Second)
	began := f.Now()
	for range 4 {
		pod := f.Store().Pods.List()[0]
		f.edit(pod, func(c *corev1.Pod) { c.Status.Phase = corev1.PodFailed })
		f.OK(f.Until(func() bool {
			pods := f.Store().Pods.List()
			return len(pods) == 1 && pods[0].Name != pod.Name
		}, time.Hour))
	}
	f.want("DS-024", "seconds", fmt.Sprint(int(f.Now().Sub(began).Seconds())), "7")
	f.want("DS-051", "Event", f.events()[1][:len("FailedDaemonPod: Found failed daemon pod default/agent-")], "FailedDaemonPod: Found failed daemon pod default/agent-")
	f.edit(f.Store().Pods.List()[0], func(c *corev1.Pod) { c.Status.Phase = corev1.PodSucceeded })
	f.Advance(time.Second)
	f.want("DS-024", "phase", string(f.Store().Pods.List()[0].Status.Phase), "Pending")
}

// DS-040, DS-041: a rolling update replaces maxUnavailable pods at a time.
func TestRollingUpdate(t *testing.T) {
	f := newFixture(t, engine.Config{})
	f.nodes("n1", "n2", "n3")
	f.Create(newSet())
	f.Advance(time.Second)
	f.ready()
	f.image("i:2")
	f.want("DS-041", "pods", f.placed(), "n1:1- n2:1 n3:1")
	f.purge()
	f.want("DS-041", "pods", f.placed(), "n1:2 n2:1 n3:1")
	f.want("DS-050", "status", f.counts(), "3 3 1 2 2 1 0")
	f.ready()
	f.want("DS-041", "pods", f.placed(), "n1:2 n2:1- n3:1")
	f.want("DS-031", "revisions", f.revisions(), "[1 2]")
	f.want("DS-062", "generation of the template", f.set().Annotations[appsv1.DeprecatedTemplateGeneration], "2")
	f.image("i:1")
	f.want("DS-031", "revisions", f.revisions(), "[2 3]")
}

// DS-042: with maxSurge the new pod comes first.
func TestSurge(t *testing.T) {
	f := newFixture(t, engine.Config{})
	f.nodes("n1", "n2")
	f.Create(newSet(rolling("1", "0")))
	f.Advance(time.Second)
	f.ready()
	f.image("i:2")
	f.want("DS-042", "pods", f.placed(), "n1:1 n1:2 n2:1")
	f.ready()
	f.want("DS-042", "pods", f.placed(), "n1:1- n1:2 n2:1 n2:2")
	f.purge()
	f.ready()
	f.purge()
	f.want("DS-042", "pods", f.placed(), "n1:2 n2:2")
}

// DS-043: with OnDelete the user deletes the pods.
func TestOnDelete(t *testing.T) {
	f := newFixture(t, engine.Config{})
	f.nodes("n1")
	f.Create(newSet(func(set *appsv1.DaemonSet) { set.Spec.UpdateStrategy.Type = appsv1.OnDeleteDaemonSetStrategyType }))
	f.Advance(time.Second)
	f.ready()
	f.image("i:2")
	f.want("DS-043", "pods", f.placed(), "n1:1")
	f.Delete(api.Pod, api.KeyOf(f.Store().Pods.List()[0]))
	f.purge()
	f.want("DS-043", "pods", f.placed(), "n1:2")
}

// DS-033: old revisions are deleted down to the limit, but not those of pods.
func TestHistory(t *testing.T) {
	f := newFixture(t, engine.Config{})
	f.nodes("n1")
	f.Create(newSet(func(set *appsv1.DaemonSet) { set.Spec.RevisionHistoryLimit = new(int32(1)) }))
	f.Advance(time.Second)
	for i := range 4 {
		f.ready()
		f.image(fmt.Sprintf("i:%d", i+2))
		f.purge()
	}
	f.ready()
	f.want("DS-033", "revisions", f.revisions(), "[4 5]")
}

// DS-001: pods are adopted and released; DS-010: a new pod without a controller is noticed.
func TestAdoption(t *testing.T) {
	f := newFixture(t, engine.Config{})
	f.nodes("n1")
	f.Create(&corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "mine", Labels: map[string]string{"app": "agent"}},
		Spec: corev1.PodSpec{NodeName: "n1", Containers: []corev1.Container{{Name: "c", Image: "i:0"}}}})
	f.Create(newSet(func(set *appsv1.DaemonSet) { set.Spec.UpdateStrategy.Type = appsv1.OnDeleteDaemonSetStrategyType }))
	f.Advance(time.Second)
	f.want("DS-001", "pods", f.placed(), "n1:0")
	pod := f.Store().Pods.List()[0]
	f.want("DS-001", "owner", pod.OwnerReferences[0].Kind, "DaemonSet")
	f.Patch(api.Pod, "default/mine", `{"metadata":{"labels":{"app":"other"}}}`)
	f.Advance(time.Second)
	pod, err := f.Store().Pods.Get("default/mine")
	f.OK(err)
	f.want("DS-010", "owners after release", fmt.Sprint(len(pod.OwnerReferences)), "0")
	f.want("DS-010", "pods", f.placed(), "n1:0 n1:1")
}

// DS-021, DS-025: failures, and namespaces that end.
func TestFailures(t *testing.T) {
	f := newFixture(t, engine.Config{})
	f.nodes("n1", "n2", "n3")
	f.Faults.Fail(fake.Match{Actor: "daemonset-controller", Verb: "create", Kind: "Pod"}, fmt.Errorf("no room")).Once()
	f.Create(newSet())
	f.Advance(time.Second)
	f.want("DS-021", "pods", f.placed(), "n1:1 n2:1 n3:1")
	f.want("DS-051", "Event", f.events()[0], "FailedCreate: Error creating: no room")

	f = newFixture(t, engine.Config{})
	f.Create(&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "default"}})
	f.Create(newSet())
	f.Advance(time.Second)
	obj, err := f.Store().Get("Namespace", "default")
	f.OK(err)
	ns := obj.DeepCopyObject().(*plain.Object)
	ns.Content()["status"] = map[string]any{"phase": "Terminating"}
	now := metav1.NewTime(f.Now())
	ns.DeletionTimestamp = &now
	f.Load(ns)
	f.nodes("n1")
	f.want("DS-025", "pods", f.placed(), "")
	f.want("DS-025", "Events", fmt.Sprint(len(f.events())), "0")
}

// DS-012: a set whose informers lag creates no more pods than it needs.
func TestLag(t *testing.T) {
	f := newFixture(t, engine.Config{Lag: map[string]time.Duration{"daemonset-controller": 10 * time.Second}})
	f.nodes("n1", "n2")
	f.Create(newSet())
	f.Advance(11 * time.Second)
	f.want("DS-012", "pods", f.placed(), "n1:1 n2:1")
	f.patch(`{"metadata":{"labels":{"a":"b"}}}`)
	f.Advance(time.Minute)
	f.want("DS-012", "pods", f.placed(), "n1:1 n2:1")
}

// DS-013: nothing is done for a set that is being deleted.
func TestDeleted(t *testing.T) {
	f := newFixture(t, engine.Config{})
	f.Create(newSet(func(set *appsv1.DaemonSet) { set.Finalizers = []string{"example.com/f"} }))
	f.Advance(time.Second)
	f.Delete(daemonset.Kind, "default/agent")
	f.nodes("n1")
	f.want("DS-013", "pods", f.placed(), "")
}

// DS-032: a revision whose name is taken counts as a collision.
func TestCollision(t *testing.T) {
	f := newFixture(t, engine.Config{})
	f.Create(newSet())
	f.Advance(time.Second)
	taken := f.Store().List(workload.RevisionKind)[0].DeepCopyObject().(*plain.Object)
	f.DeleteNow(daemonset.Kind, "default/agent")
	f.DeleteNow(workload.RevisionKind, api.KeyOf(taken))
	taken.ObjectMeta = metav1.ObjectMeta{Namespace: taken.Namespace, Name: taken.Name}
	taken.Content()["data"] = map[string]any{"spec": "other"}
	f.Create(taken)
	f.Create(newSet())
	f.Advance(time.Second)
	f.want("DS-032", "collisions", fmt.Sprint(*f.set().Status.CollisionCount), "1")
	f.want("DS-032", "revisions", f.revisions(), "[1 1]")
}

// DS-052: a failed write of the status is repeated with the newest version.
func TestStatusConflict(t *testing.T) {
	f := newFixture(t, engine.Config{})
	f.Faults.Fail(fake.Match{Actor: "daemonset-controller", Verb: "update-status"}, fmt.Errorf("no")).Once()
	f.nodes("n1")
	f.Create(newSet())
	f.Advance(time.Second)
	failed := 0
	for e := range f.Trace().Entries() {
		if e.Type == trace.KeyFailed && strings.Contains(fmt.Sprint(e.Err), "status") {
			failed++
		}
	}
	f.want("DS-052", "failed syncs", fmt.Sprint(failed), "0")
	f.want("DS-050", "status", f.counts(), "1 1 1 0 0 1 0")
}

// DS-060 to DS-062: defaults, validation and the annotation of the server.
func TestValidation(t *testing.T) {
	f := newFixture(t, engine.Config{})
	for _, row := range []struct {
		rule string
		edit func(*appsv1.DaemonSet)
		want string
	}{
		{"DS-061", rolling("0", "0"), "spec.updateStrategy.rollingUpdate.maxUnavailable: Required value: cannot be 0 when maxSurge is 0"},
		{"DS-061", rolling("1", "1"), "spec.updateStrategy.rollingUpdate.maxSurge: Invalid value: 1: may not be set when maxUnavailable is non-zero"},
		{"DS-061", rolling("101%", "0"), "must not be greater than 100%"},
		{"DS-061", func(set *appsv1.DaemonSet) { set.Spec.UpdateStrategy.Type = "x" }, `supported values: "RollingUpdate", "OnDelete"`},
		{"DS-061", func(set *appsv1.DaemonSet) { set.Spec.Template.Spec.RestartPolicy = "Never" }, `Unsupported value: "Never": supported values: "Always"`},
		{"WORK-021", func(set *appsv1.DaemonSet) { set.Spec.Template.Labels = nil }, "`selector` does not match template `labels`"},
	} {
		set := newSet(row.edit)
		set.Name = "bad"
		if _, err := f.Store().Create(set); err == nil || !strings.Contains(err.Error(), row.want) {
			t.Errorf("%s: error = %v, want %s", row.rule, err, row.want)
		}
	}
	f.Create(newSet())
	set := f.set()
	f.want("DS-060", "defaults", fmt.Sprintln(set.Spec.UpdateStrategy.Type, set.Spec.UpdateStrategy.RollingUpdate.MaxUnavailable,
		set.Spec.UpdateStrategy.RollingUpdate.MaxSurge, *set.Spec.RevisionHistoryLimit), "RollingUpdate 1 0 10\n")
	f.patch(`{"metadata":{"annotations":{"deprecated.daemonset.template.generation":"7"}}}`)
	f.want("DS-062", "generation of the template", f.set().Annotations[appsv1.DeprecatedTemplateGeneration], "1")
	_, err := f.Store().Patch(daemonset.Kind, "default/agent",
		[]byte(`{"spec":{"selector":{"matchLabels":{"x":"y"}},"template":{"metadata":{"labels":{"x":"y"}}}}}`), api.Main)
	if err == nil || !strings.Contains(err.Error(), "field is immutable") {
		t.Errorf("DS-061: error = %v", err)
	}
}
