package mount

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/volsim/volsim/api"
	"github.com/volsim/volsim/fake"
	"github.com/volsim/volsim/internal/core/actors"
	"github.com/volsim/volsim/internal/core/internals"
	"github.com/volsim/volsim/internal/core/kubeletstatus"
	"github.com/volsim/volsim/internal/core/leases"
	"github.com/volsim/volsim/internal/core/objects"
	"github.com/volsim/volsim/trace"
)

// journal lists the requests of a kubelet about its Node and its CSINode, with the time since its start.
type journal struct {
	w     *fixture
	began time.Time
	lines []string
}

// Inject implements api.Injector.
func (j *journal) Inject(call api.Call) api.Fault {
	if kind := call.Kind; j.w != nil && call.Actor == actors.Kubelet("n2") && (kind == string(api.Node) || kind == string(api.CSINode)) {
		j.lines = append(j.lines, fmt.Sprintf("%v %s %s", j.w.Now().Sub(j.began), call.Verb, kind))
	}
	if j.w == nil {
		return api.Fault{}
	}
	return j.w.Faults.Inject(call)
}

// Active implements engine.FaultPredictor.
func (j *journal) Active(actor string) bool { return j.w != nil && j.w.Faults.Active(actor) }

// TestRegistration: what a kubelet requests of its Node and its CSINode when it starts (registerWithAPIServer, tryRegisterWithAPIServer,
// initializeCSINode, InstallCSIDriver).
func TestRegistration(t *testing.T) {
	refused := apierrors.NewForbidden(schema.GroupResource{Resource: "nodes"}, "n2", errors.New("no"))
	failing := func(times int, verb string, kind api.Kind, err error) func(*fixture) {
		return func(w *fixture) {
			w.Faults.Fail(fake.Match{Verb: verb, Kind: string(kind), Actor: actors.Kubelet("n2")}, err).Times(times)
		}
	}
	existing := func(w *fixture) { w.Create(fake.Node("n2")) }
	registered := func(w *fixture) {
		node := fake.Node("n2")
		kubeletstatus.Register(node)
		w.Create(node)
	}
	all := func(all ...func(*fixture)) func(*fixture) {
		return func(w *fixture) {
			for _, f := range all {
				f(w)
			}
		}
	}
	broken := errors.New("broken")
	for _, tc := range []struct {
		rule, name string
		given      func(*fixture)
		kind       api.Kind
		want       []string
	}{
		{"MNT-365", "the Node is created, not read before", all(), api.Node,
			[]string{"0s get", "10ms get", "60ms get", "120ms create", "120ms get", "120ms patch-status", "310ms get", "310ms get", "310ms patch-status"}},
		{"MNT-365", "a Node that exists is read after the creation", all(registered, failing(99, "get", api.CSINode, broken)), api.Node,
			[]string{"0s create", "0s get", "120ms patch-status"}},
		{"MNT-363", "and marked by a patch of its status", all(existing, failing(99, "get", api.CSINode, broken)), api.Node,
			[]string{"0s create", "0s get", "0s patch-status", "120ms patch-status"}},
		{"MNT-365", "the pauses double, up to 7 s, and no status is reported before", all(failing(9, "create", api.Node, broken), failing(99, "get", api.CSINode, broken)),
			api.Node, []string{"120ms create", "320ms create", "720ms create", "1.52s create", "3.12s create", "6.32s create", "12.72s create", "19.72s create"}},
		{"MNT-365", "a creation that is forbidden", all(existing, failing(1, "create", api.Node, refused), failing(99, "get", api.CSINode, broken)), api.Node,
			[]string{"0s create", "0s get", "0s patch-status", "120ms patch-status"}},
		{"MNT-365", "a Node that cannot be read", all(existing, failing(2, "get", api.Node, broken), failing(99, "get", api.CSINode, broken)), api.Node,
			[]string{"0s create", "0s get", "120ms create", "120ms get", "320ms create", "320ms get", "320ms patch-status", "320ms patch-status"}},
		{"MNT-365", "a Node that cannot be marked", all(existing, failing(1, "patch-status", api.Node, broken), failing(99, "get", api.CSINode, broken)), api.Node,
			[]string{"0s create", "0s get", "0s patch-status", "120ms create", "120ms get", "120ms patch-status", "120ms patch-status"}},

		{"MNT-366", "the CSINode is created without drivers", registered, api.CSINode, []string{"0s get", "0s get", "0s create", "0s get", "0s update"}},
		{"MNT-366", "the API server is asked each second", all(registered, failing(2, "get", api.CSINode, broken)), api.CSINode,
			[]string{"0s get", "1s get", "2s get", "2s get", "2s create", "2s get", "2s update"}},
		{"MNT-366", "four tries, and again", all(registered, failing(5, "create", api.CSINode, broken)), api.CSINode,
			[]string{"0s get", "0s get", "0s create", "10ms get", "10ms create", "60ms get", "60ms create", "310ms get", "310ms create", "340ms get", "340ms create",
				"350ms get", "350ms create", "350ms get", "350ms update"}},
		{"MNT-362", "four tries of a driver, and again", all(registered, failing(5, "update", api.CSINode, broken)), api.CSINode,
			[]string{"0s get", "0s get", "0s create", "0s get", "0s update", "10ms get", "10ms update", "60ms get", "60ms update", "310ms get", "310ms update",
				"810ms get", "810ms update", "820ms get", "820ms update"}},
		{"MNT-366", "that of another Node is deleted", all(registered, func(w *fixture) {
			other := w.csiNode().DeepCopy()
			other.ObjectMeta = metav1.ObjectMeta{Name: "n2", OwnerReferences: other.OwnerReferences}
			w.Create(other)
		}), api.CSINode, []string{"0s get", "0s get", "0s delete", "10ms get", "10ms create", "10ms get", "10ms update"}},
		{"MNT-362", "the Node gets the ID", registered, api.Node, []string{"0s create", "0s get", "0s get", "0s get", "0s patch-status", "120ms patch-status"}},
	} {
		t.Run(tc.rule+" "+tc.name, func(t *testing.T) {
			j := &journal{}
			w := newFixtureWith(t, j)
			j.w = w
			tc.given(w)
			j.began = w.Now()
			_, err := w.nodes.Add("n2")
			w.OK(err)
			w.Advance(20 * time.Second)
			var got []string
			for _, line := range j.lines {
				if head, ok := strings.CutSuffix(line, " "+string(tc.kind)); ok {
					got = append(got, head)
				}
			}
			want(t, tc.rule, got, tc.want)
		})
	}
}

// TestRegisteredNode: MNT-362, MNT-363, MNT-366, the Node and the CSINode of a kubelet that has registered.
func TestRegisteredNode(t *testing.T) {
	w := newFixture(t)
	node, err := w.Store().Nodes.Get(nodeName)
	w.OK(err)
	want(t, "MNT-362: ID", node.Annotations[annNodeIDs], `{"d":"n1"}`)
	want(t, "MNT-363: managed", node.Annotations[objects.AnnManagedAttach], "true")
	want(t, "MNT-366: owner", w.csiNode().OwnerReferences, []metav1.OwnerReference{{APIVersion: "v1", Kind: "Node", Name: nodeName, UID: node.UID}})
	w.Delete(api.Node, nodeName)
	w.Advance(time.Minute)
	_, there := w.Store().Nodes.Lookup(nodeName)
	want(t, "MNT-365: once", there, false)
}

// TestFirstRenewal: the first lease of a kubelet.
func TestFirstRenewal(t *testing.T) {
	for _, tc := range []struct {
		rule, name string
		exists     bool
		want       time.Duration
	}{
		{"NODE-020", "at the start", true, 0},
		{"NODE-026", "a period later, because the Node was not there", false, leases.RenewPeriod},
	} {
		t.Run(tc.rule+" "+tc.name, func(t *testing.T) {
			book := &leases.Book{}
			w := newFixture(t, func(s *setup) { s.opts.Leases = book })
			if tc.exists {
				w.Create(fake.Node("n2"))
			}
			began := w.Now()
			_, err := w.nodes.Add("n2")
			w.OK(err)
			w.Advance(19 * time.Second)
			renewed, ok := book.Renewed("n2", began.Add(tc.want))
			want(t, tc.rule+": renewed", ok && renewed.Equal(began.Add(tc.want)), true)
			_, ok = book.Renewed("n2", began.Add(tc.want-1))
			want(t, tc.rule+": before", ok, false)
		})
	}
}

// TestRounds: what a round of the status does beside the volumes in use.
func TestRounds(t *testing.T) {
	change := func(change func(*corev1.Node)) func(w *fixture) {
		return func(w *fixture) {
			node, err := w.Store().Nodes.Get(nodeName)
			w.OK(err)
			changed := node.DeepCopy()
			change(changed)
			w.Load(changed)
		}
	}
	cordon := func(on bool) func(*fixture) { return change(func(n *corev1.Node) { n.Spec.Unschedulable = on }) }
	for _, tc := range []struct {
		rule, name string
		do         []func(*fixture)
		events     []string
		labels     []string
	}{
		{"MNT-367", "missing labels", []func(*fixture){change(func(n *corev1.Node) { n.Labels = nil })}, nil, []string{"linux", "amd64", ""}},
		{"MNT-367", "another value", []func(*fixture){change(func(n *corev1.Node) { n.Labels["kubernetes.io/os"] = "windows" })}, nil,
			[]string{"windows", "amd64", "n1"}},
		{"MNT-368", "cordoned", []func(*fixture){cordon(true)}, []string{"NodeNotSchedulable n1: Node n1 status is now: NodeNotSchedulable"}, nil},
		{"MNT-368", "and no more", []func(*fixture){cordon(true), cordon(false)}, []string{"NodeNotSchedulable n1: Node n1 status is now: NodeNotSchedulable",
			"NodeSchedulable n1: Node n1 status is now: NodeSchedulable"}, nil},
		{"MNT-368", "ready again", []func(*fixture){change(func(n *corev1.Node) { n.Status.Conditions[0].Status = corev1.ConditionUnknown })},
			[]string{"NodeReady n1: Node n1 status is now: NodeReady"}, nil},
		{"MNT-172", "another text", []func(*fixture){change(func(n *corev1.Node) { n.Status.Conditions[0].Message = "fine" })}, nil, nil},
	} {
		t.Run(tc.rule+" "+tc.name, func(t *testing.T) {
			w := newFixture(t)
			w.Mark()
			for _, do := range tc.do {
				do(w)
				w.Advance(11 * time.Second)
			}
			want(t, tc.rule+": Events", w.events(), tc.events)
			node, _ := w.Store().Nodes.Lookup(nodeName)
			want(t, "MNT-172: ready", []string{string(node.Status.Conditions[0].Status), node.Status.Conditions[0].Message},
				[]string{"True", "kubelet is posting ready status"})
			if tc.labels != nil {
				want(t, tc.rule+": labels", []string{node.Labels["kubernetes.io/os"], node.Labels["kubernetes.io/arch"], node.Labels["kubernetes.io/hostname"]}, tc.labels)
			}
		})
	}
}

// TestStatusOfTheEnd: what a kubelet writes about a pod that is being deleted.
func TestStatusOfTheEnd(t *testing.T) {
	for _, tc := range []struct {
		rule, name string
		stop, slow time.Duration // of containers, of requests
		run        bool
		lose       bool
		want       []string
	}{
		{"MNT-370", "never started", 0, 0, false, false, []string{"0s Pending waiting", "0s Failed ContainerStatusUnknown 137"}},
		{"MNT-465", "it ends while the status before is written", 0, 50 * time.Millisecond, false, false,
			[]string{"50ms Pending waiting", "100ms Failed ContainerStatusUnknown 137"}},
		{"MNT-387", "running", 0, 0, true, false, []string{"0s Succeeded Completed 0"}},
		{"MNT-372", "its containers take a time to stop", 5 * time.Second, 0, true, false, []string{"0s Running runs", "5s Succeeded Completed 0"}},
		{"MNT-372", "never started, and deleted while the kubelet did not run", 0, 0, false, true,
			[]string{"0s Pending waiting", "0s Failed ContainerStatusUnknown 137"}},
		{"MNT-371", "its containers are lost", 0, 0, true, true, []string{"0s Failed waiting", "100ms Failed ContainerStatusUnknown 137"}},
	} {
		t.Run(tc.rule+" "+tc.name, func(t *testing.T) {
			w := newFixture(t, func(s *setup) { s.cfg.StopTime = tc.stop })
			if tc.run {
				w.run("p1")
			} else {
				w.pod("p1")
				w.Advance(11 * time.Second)
			}
			if tc.lose {
				w.node.PowerOff()
			}
			w.hold("p1")
			w.Faults.Slow(fake.Match{Actor: "kubelet/n1", Verb: "patch-status", Kind: "Pod"}, tc.slow)
			w.Mark()
			w.deletePod("p1")
			if tc.lose {
				w.node.Start()
			}
			w.Advance(20 * time.Second)
			got := w.Lines(func(e trace.Entry) string {
				if e.Type != trace.Write || e.Verb != "patch-status" || e.Object.Kind != api.Pod {
					return ""
				}
				status := e.New.(*corev1.Pod).Status
				state := "waiting"
				switch s := status.ContainerStatuses[0].State; {
				case s.Running != nil:
					state = "runs"
				case s.Terminated != nil:
					state = fmt.Sprintf("%s %d", s.Terminated.Reason, s.Terminated.ExitCode)
				}
				return fmt.Sprintf("%v %s %s", e.Time.Sub(w.Begin), status.Phase, state)
			})
			want(t, tc.rule, got, tc.want)
		})
	}
}

// TestReadyAfterDump: NODE-091, a pod that was not ready when a dump was made is ready when its kubelet starts its containers, not before.
func TestReadyAfterDump(t *testing.T) {
	for _, tc := range []struct {
		rule, name string
		runs       bool // the containers run on
		want       corev1.ConditionStatus
	}{
		{"NODE-091", "its containers start", false, corev1.ConditionTrue},
		{"NODE-091", "its containers run on", true, corev1.ConditionFalse},
	} {
		t.Run(tc.rule+" "+tc.name, func(t *testing.T) {
			w := newFixture(t)
			pod := fake.Pod("p1", fake.OnNode("n2"))
			w.Create(fake.Node("n2"), pod)
			running := w.stored("p1").DeepCopy()
			running.Status = kubeletstatus.Running(nil, running)
			for i := range running.Status.Conditions {
				if c := &running.Status.Conditions[i]; c.Type == corev1.PodReady {
					c.Status = corev1.ConditionFalse
				}
			}
			w.Load(running)
			n, err := w.nodes.Add("n2")
			w.OK(err)
			if tc.runs {
				w.OK(internals.Node(n).Adopt(running))
			} else {
				w.OK(internals.Node(n).Resume())
			}
			w.Advance(time.Minute)
			stored := w.stored("p1")
			for _, c := range stored.Status.Conditions {
				if c.Type == corev1.PodReady {
					want(t, tc.rule+": ready", c.Status, tc.want)
				}
			}
		})
	}
}
