package nodelifecycle_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/volsim/volsim/api"
	"github.com/volsim/volsim/fake"
	"github.com/volsim/volsim/internal/core/engine"
)

// registered are the Events about new nodes.
func registered(when string, names ...string) (lines []string) {
	for _, name := range names {
		lines = append(lines, when+" Normal RegisteredNode "+name+": Node "+name+" event: Registered Node "+name+" in Controller")
	}
	return lines
}

func TestKubeletStops(t *testing.T) {
	f := newFixture(t)
	f.node("", "n1", "n2")
	f.pod("db", "n2", 300)
	f.until(12)
	f.log("NODE-001, NODE-007, NODE-030", registered("5", "n1", "n2")...)
	f.leases.Stop("n2", f.Now())
	f.until(60)
	f.log("NODE-002, NODE-020, NODE-022, NODE-024: the pass at 10 s saw the last renewal")
	f.until(70)
	f.log("NODE-033 to NODE-037, NODE-046, NODE-050, NODE-051, NODE-006",
		"65 n2 Unknown",
		"65 Normal NodeNotReady n2: Node n2 status is now: NodeNotReady",
		"65 default/db Running Ready=False",
		"65 Warning NodeNotReady default/db: Node is not ready",
		"65 n2 Unknown unreachable:NoSchedule",
		"65.05 n2 Unknown unreachable:NoSchedule unreachable:NoExecute",
	)
	f.until(365)
	f.log("NODE-010, NODE-063: not yet")
	f.until(800)
	f.log("NODE-066, NODE-067",
		"365.05 Normal TaintManagerEviction default/db: Marking for deletion Pod default/db",
		"365.05 default/db Running Ready=False DisruptionTarget=True",
		"365.05 default/db Running Ready=False DisruptionTarget=True deleting",
	)
	f.leases.Start("n2", f.Now())
	f.ready("n2", "True")
	f.until(900)
	f.log("NODE-037, NODE-050: the kubelet is back",
		"800 n2 True unreachable:NoExecute",
		"805 n2 True",
	)
}

// The two loops overlap if requests take time.
func TestSlowRequests(t *testing.T) {
	f := newFixtureWith(t, engine.Config{Latency: 200 * time.Millisecond}, "nodes")
	f.node("", "n1", "n2", "n3", "n4", "n5")
	f.pod("a", "n3", 300)
	f.pod("b", "n3", 300)
	f.until(12)
	f.log("NODE-030", registered("5", "n1", "n2", "n3", "n4", "n5")...)
	f.leases.Stop("n3", f.Now())
	f.until(67)
	f.log("NODE-049: the taint does not wait for the pass of the monitor",
		"65.2 n3 Unknown",
		"65.2 Normal NodeNotReady n3: Node n3 status is now: NodeNotReady",
		"65.4 default/a Running Ready=False",
		"65.4 Warning NodeNotReady default/a: Node is not ready",
		"65.6 default/b Running Ready=False",
		"65.6 Warning NodeNotReady default/b: Node is not ready",
		"65.6 n3 Unknown unreachable:NoSchedule",
		"65.65 patch n3 failed",
		"66.15 n3 Unknown unreachable:NoSchedule unreachable:NoExecute")
	f.pod("c", "n4", 300)
	f.leases.Stop("n4", f.Now())
	f.leases.Stop("n5", f.Now())
	f.until(113)
	f.Mark()
	f.node("", "n6")
	f.until(118)
	f.log("NODE-049: the pass of the monitor ends when the taint is there, because it sets a rate", registered("116.75", "n6")...)
}

func TestPartition(t *testing.T) {
	f := newFixture(t, "nodes")
	f.node("", "n1", "n2")
	f.until(12)
	f.leases.Stop("n2", f.Now())
	f.until(58)
	f.leases.Resume("n2", f.Now())
	f.until(300)
	f.log("NODE-021, NODE-023: a renewal in time", registered("5", "n1", "n2")...)
	f.leases.Stop("n2", f.Now())
	f.until(310)
	f.ready("n2", "True")
	f.until(400)
	f.log("NODE-031, NODE-032: a heartbeat counts, and delays by another pass", "375 n2 Unknown",
		"375 Normal NodeNotReady n2: Node n2 status is now: NodeNotReady",
		"375 n2 Unknown unreachable:NoSchedule",
		"375.05 n2 Unknown unreachable:NoSchedule unreachable:NoExecute")
}

func TestNotReady(t *testing.T) {
	f := newFixture(t)
	f.node("", "n1", "n2")
	f.pod("db", "n2", 20)
	f.pod("rude", "n2", -1)
	f.until(12)
	f.ready("n2", "False")
	f.until(17)
	f.log("NODE-034: what the kubelet reports itself has no Event; NODE-037; NODE-063", append(registered("5", "n1", "n2"),
		"12 n2 False not-ready:NoSchedule",
		"15.05 n2 False not-ready:NoSchedule not-ready:NoExecute",
		"15.05 Normal TaintManagerEviction default/rude: Marking for deletion Pod default/rude",
		"15.05 default/rude Running Ready=True DisruptionTarget=True",
		"15.05 default/rude Running Ready=True DisruptionTarget=True deleting",
	)...)
	f.ready("n2", "Unknown")
	f.until(22)
	f.log("NODE-037, NODE-064: the taint is exchanged at once, and the deletion keeps its time; NODE-066",
		"17 n2 Unknown not-ready:NoSchedule not-ready:NoExecute unreachable:NoSchedule",
		"17 n2 Unknown not-ready:NoExecute unreachable:NoSchedule",
		"20 n2 Unknown not-ready:NoExecute unreachable:NoSchedule unreachable:NoExecute",
		"20 n2 Unknown unreachable:NoSchedule unreachable:NoExecute",
		"20 Normal TaintManagerEviction default/rude: Marking for deletion Pod default/rude",
		"20 default/rude Running Ready=True DisruptionTarget=True deleting",
	)
	f.pod("late", "n2", 300)
	f.until(23)
	f.log("NODE-036", "22 default/late Running Ready=False", "22 Warning NodeNotReady default/late: Node is not ready")
	f.ready("n2", "True")
	f.until(60)
	f.log("NODE-060, NODE-061, NODE-065",
		"23 n2 True unreachable:NoExecute",
		"25 n2 True",
		"25 Normal TaintManagerEviction default/db: Cancelling deletion of Pod default/db",
		"25 Normal TaintManagerEviction default/late: Cancelling deletion of Pod default/late",
	)
}

func TestStartup(t *testing.T) {
	f := newFixture(t, "nodes")
	f.Load(&corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "n1"}})
	f.node("", "n2")
	f.until(200)
	f.log("NODE-003: a node that never reported", append(registered("5", "n1", "n2"),
		"65 n1 Unknown",
		"65 n1 Unknown unreachable:NoSchedule",
		"65.05 n1 Unknown unreachable:NoSchedule unreachable:NoExecute")...)
	node, _ := f.Store().Nodes.Lookup("n1")
	if got := len(node.Status.Conditions); got != 4 {
		t.Errorf("NODE-033: the node has %d conditions, want 4", got)
	}
	f.Delete(api.Node, "n1")
	f.until(210)
	f.log("NODE-030", "205 Normal RemovingNode n1: Node n1 event: Removing Node n1 from Controller")
}

// tainted are the seconds at which nodes get a NoExecute taint.
func tainted(f *fixture) (lines []string) {
	f.T.Helper()
	for e := range f.Since() {
		text := line(e)
		if old, ok := e.Old.(*corev1.Node); ok && strings.Contains(text, "NoExecute") && len(old.Spec.Taints) < len(e.New.(*corev1.Node).Spec.Taints) {
			lines = append(lines, e.Time.Sub(zero).String()+" "+e.Object.Key)
		}
	}
	return lines
}

func TestZones(t *testing.T) {
	f := newFixture(t, "nodes")
	f.node("a", "a1", "a2", "a3", "a4", "a5")
	f.node("b", "b1", "b2")
	f.until(1)
	for _, name := range []string{"a1", "a2", "b1", "b2"} {
		f.leases.Stop(name, f.Now())
	}
	f.until(100)
	f.Want("NODE-004, NODE-042: two of five, and all of b: each zone has one taint at once, and one in 10 s",
		tainted(f), "1m0.05s a1", "1m0.05s b1", "1m10.05s a2", "1m10.05s b2")
	f.Mark()
	f.leases.Stop("a3", f.Now())
	f.leases.Stop("a4", f.Now())
	f.until(200)
	f.Want("NODE-041, NODE-042: four of five: none", tainted(f))
	f.Mark()
	f.leases.Stop("a5", f.Now())
	f.until(300)
	for name := range map[string]bool{"a1": true, "b1": true} {
		if node, _ := f.Store().Nodes.Lookup(name); len(node.Spec.Taints) != 1 {
			t.Errorf("NODE-043: node %s has taints %v, want one, without effect NoExecute", name, node.Spec.Taints)
		}
	}
	f.leases.Start("a5", f.Now())
	f.ready("a5", "True")
	f.Mark()
	f.until(326)
	f.Want("NODE-044, NODE-047: zone b has its rate again, from an empty bucket", tainted(f), "5m15.05s b1", "5m25.05s b2")
}

func TestFaults(t *testing.T) {
	f := newFixture(t, "nodes")
	f.node("", "n1", "n2")
	f.pod("db", "n2", 300)
	f.until(12)
	f.log("NODE-030", registered("5", "n1", "n2")...)
	f.leases.Stop("n2", f.Now())
	broken := errors.New("broken")
	f.Faults.Fail(fake.Match{Verb: "update-status", Kind: "Node"}, broken).Times(2)
	f.Faults.Fail(fake.Match{Verb: "update-status", Kind: "Pod"}, broken).Times(1)
	f.Faults.Fail(fake.Match{Verb: "patch", Kind: "Node"}, broken).Times(1)
	f.until(100)
	f.log("NODE-034, NODE-035, NODE-038, NODE-053",
		"65 update-status n2 failed",
		"65.02 update-status n2 failed",
		"65.04 n2 Unknown",
		"65.04 Normal NodeNotReady n2: Node n2 status is now: NodeNotReady",
		"65.04 update-status default/db failed",
		"65.04 Warning NodeNotReady default/db: Node is not ready",
		"65.04 patch n2 failed",
		"65.05 n2 Unknown unreachable:NoExecute",
		"65.05 n2 Unknown unreachable:NoExecute unreachable:NoSchedule",
		"70.04 default/db Running Ready=False",
		"70.04 Warning NodeNotReady default/db: Node is not ready",
	)
}

// How often a status that cannot be written is tried depends on how long a request takes.
func TestStatusTries(t *testing.T) {
	for _, test := range []struct {
		rule, name string
		latency    time.Duration
		want       []string
	}{
		{rule: "NODE-034", name: "each tick begins a try, and the last one follows at once", latency: 0,
			want: []string{"65", "65.02", "65.04", "65.06", "65.08", "65.1", "65.1"}},
		{rule: "NODE-034", name: "the clock runs from the end of the first try", latency: 5 * time.Millisecond,
			want: []string{"65.005", "65.035", "65.055", "65.075", "65.095", "65.115", "65.125"}},
		{rule: "NODE-034", name: "a tick during a try is lost", latency: 15 * time.Millisecond,
			want: []string{"65.015", "65.065", "65.105", "65.145", "65.175"}},
		{rule: "NODE-034", name: "the time is over during the second try", latency: 90 * time.Millisecond,
			want: []string{"65.09", "65.29", "65.47"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			f := newFixtureWith(t, engine.Config{Latency: test.latency}, "nodes")
			f.node("", "n1", "n2")
			f.until(12)
			f.Mark()
			f.leases.Stop("n2", f.Now())
			f.Faults.Fail(fake.Match{Verb: "update-status", Kind: "Node"}, errors.New("broken"))
			f.until(69)
			for i := range test.want {
				test.want[i] += " update-status n2 failed"
			}
			f.log(test.rule, test.want...)
		})
	}
}

func TestExchangeOfTaintFails(t *testing.T) {
	f := newFixture(t, "nodes")
	f.node("", "n1", "n2")
	f.until(12)
	f.ready("n2", "False")
	f.until(17)
	f.ready("n2", "Unknown")
	f.until(18)
	f.Mark()
	f.Faults.Fail(fake.Match{Verb: "get", Kind: "Node"}, errors.New("broken")).Times(3)
	f.until(60)
	f.log("NODE-037: a taint that could not be exchanged at 20, 25 and 30 s is exchanged by the next pass",
		"35 n2 Unknown not-ready:NoExecute unreachable:NoSchedule unreachable:NoExecute",
		"35 n2 Unknown unreachable:NoSchedule unreachable:NoExecute",
	)
}

func TestPodsOfMissingNode(t *testing.T) {
	f := newFixture(t, "nodes")
	f.node("", "n1", "n2")
	f.until(7)
	f.Delete(api.Node, "n2")
	f.pod("late", "n2", 300)
	f.until(13)
	f.node("", "n2")
	f.ready("n2", "False")
	f.until(14)
	f.Mark()
	f.until(18)
	f.log("NODE-036: the pod is tried again after 5 ms, 10 ms and so on up to 5.12 s, and now the node is known", append(registered("15", "n2"),
		"15.05 n2 False not-ready:NoSchedule not-ready:NoExecute",
		"17.235 default/late Running Ready=False",
		"17.235 Warning NodeNotReady default/late: Node is not ready",
	)...)
	f.DeleteNow(api.Pod, "default/late")
	f.until(60)
	f.Mark()
	f.Faults.Fail(fake.Match{Verb: "update-status", Kind: "Pod"}, errors.New("broken")).Times(1)
	f.pod("late", "n2", 300)
	f.until(80)
	f.log("NODE-036: a success does not reset the delay, which is 10.24 s now",
		"60 update-status default/late failed",
		"60 Warning NodeNotReady default/late: Node is not ready",
		"70.24 default/late Running Ready=False",
		"70.24 Warning NodeNotReady default/late: Node is not ready",
	)
}

func TestLabels(t *testing.T) {
	f := newFixture(t, "nodes")
	f.node("", "n1")
	f.Patch(api.Node, "n1", `{"metadata":{"labels":{"kubernetes.io/os":"linux","beta.kubernetes.io/arch":"arm64","kubernetes.io/arch":"amd64"}}}`)
	f.until(1)
	node, _ := f.Store().Nodes.Lookup("n1")
	if node.Labels["beta.kubernetes.io/os"] != "linux" || node.Labels["beta.kubernetes.io/arch"] != "amd64" {
		t.Errorf("NODE-052: the labels are %v", node.Labels)
	}
	conflict := apierrors.NewConflict(schema.GroupResource{Resource: "nodes"}, "n1", errors.New("another client was faster"))
	f.Faults.Fail(fake.Match{Verb: "patch", Kind: "Node", Key: "n1"}, conflict).Times(1)
	f.Patch(api.Node, "n1", `{"metadata":{"labels":{"kubernetes.io/os":"windows"}}}`)
	f.until(3)
	if node, _ = f.Store().Nodes.Lookup("n1"); node.Labels["beta.kubernetes.io/os"] != "linux" {
		t.Errorf("NODE-053: after a conflict the labels are %v", node.Labels)
	}
	f.Patch(api.Node, "n1", `{"metadata":{"labels":{"node.kubernetes.io/exclude-disruption":""}}}`)
	f.node("", "n2", "n3")
	f.leases.Stop("n2", f.Now())
	f.leases.Stop("n3", f.Now())
	f.until(200)
	f.Want("NODE-045, NODE-043: all nodes that count are not ready", tainted(f))
}

// TestIdle counts the passes of a healthy cluster and of one that has failed: there are none while nothing changes.
func TestIdle(t *testing.T) {
	f := newFixture(t)
	f.node("", "n1", "n2", "n3")
	f.until(100)
	events := 0
	f.AfterEvent(func() { events++ })
	f.until(86400)
	if events > 0 {
		t.Errorf("NODE-001: a healthy day has %d events, want none", events)
	}
	f.leases.Stop("n2", f.Now())
	f.until(86400 + 200)
	events = 0
	f.until(2 * 86400)
	if events > 0 {
		t.Errorf("NODE-001: a day with a failed node has %d events, want none", events)
	}
}
