package mount

import (
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/volsim/volsim/fake"
)

// conditionOf is a condition of a pod: "False PodFailed: message", "" if it has none.
func conditionOf(pod *corev1.Pod, kind corev1.PodConditionType) string {
	for _, c := range pod.Status.Conditions {
		if c.Type == kind {
			return string(c.Status) + " " + c.Reason + ": " + c.Message
		}
	}
	return ""
}

// place creates a pod that names its node, and lets the kubelet see it.
func (w *fixture) place(name string, change func(*corev1.Pod), options ...fake.Option) {
	w.T.Helper()
	pod := fake.Pod(name, append(options, fake.OnNode(nodeName))...)
	if change != nil {
		change(pod)
	}
	w.Create(pod)
	w.Advance(time.Second)
}

// changeNode changes the Node of the fixture.
func (w *fixture) changeNode(change func(*corev1.Node)) {
	w.T.Helper()
	node, err := w.Store().Nodes.Get(nodeName)
	w.OK(err)
	changed := node.DeepCopy()
	change(changed)
	changed, err = w.Store().Nodes.Update(changed)
	w.OK(err)
	change(changed)
	_, err = w.Store().Nodes.UpdateStatus(changed)
	w.OK(err)
	w.Advance(100 * time.Millisecond)
}

func hostPort(port int32) func(*corev1.Pod) {
	return func(pod *corev1.Pod) {
		pod.Spec.Containers[0].Ports = []corev1.ContainerPort{{ContainerPort: port, HostPort: port}}
	}
}

func selecting(key, value string) func(*corev1.Pod) {
	return func(pod *corev1.Pod) { pod.Spec.NodeSelector = map[string]string{key: value} }
}

func sysctl(name string) func(*corev1.Pod) {
	return func(pod *corev1.Pod) {
		pod.Spec.SecurityContext = &corev1.PodSecurityContext{Sysctls: []corev1.Sysctl{{Name: name, Value: "1"}}}
	}
}

// TestAdmission: a node with 2 CPUs, 4Gi and room for three pods, one of which runs, has host port 80 and requests 500m.
func TestAdmission(t *testing.T) {
	for _, tc := range []struct {
		rule, name      string
		node            func(*corev1.Node)
		pod             func(*corev1.Pod)
		options         []fake.Option
		reason, message string // of the rejection, "" if the pod runs
	}{
		{"MNT-403", "plain", nil, nil, nil, "", ""},
		{"MNT-403", "label of the node", func(n *corev1.Node) { n.Labels = map[string]string{"disk": "ssd"} }, selecting("disk", "ssd"), nil, "", ""},
		{"MNT-403", "no such label", nil, selecting("disk", "ssd"), nil, "NodeAffinity", "Predicate NodeAffinity failed: node(s) didn't match Pod's node affinity/selector"},
		{"MNT-403", "taken port", nil, hostPort(80), nil, "NodePorts", "Predicate NodePorts failed: node(s) didn't have free ports for the requested pod ports"},
		{"MNT-403", "free port", nil, hostPort(81), nil, "", ""},
		{"MNT-403", "NoExecute", func(n *corev1.Node) { n.Spec.Taints = []corev1.Taint{{Key: "k", Effect: corev1.TaintEffectNoExecute}} }, nil, nil,
			"TaintToleration", "Predicate TaintToleration failed: node(s) had taints that the pod didn't tolerate"},
		{"MNT-403", "NoSchedule", func(n *corev1.Node) { n.Spec.Taints = []corev1.Taint{{Key: "k", Effect: corev1.TaintEffectNoSchedule}} }, nil, nil, "", ""},
		{"MNT-403", "cpu", nil, nil, []fake.Option{fake.Requests("cpu", "1600m")}, "OutOfcpu",
			"Node didn't have enough resource: cpu, requested: 1600, used: 500, capacity: 2000"},
		{"MNT-403", "enough cpu", nil, nil, []fake.Option{fake.Requests("cpu", "1500m")}, "", ""},
		{"MNT-403", "memory comes before labels", nil, selecting("disk", "ssd"), []fake.Option{fake.Requests("memory", "5Gi")}, "OutOfmemory",
			"Node didn't have enough resource: memory, requested: 5368709120, used: 0, capacity: 4294967296"},
		{"MNT-403", "a resource that the node does not list", nil, func(pod *corev1.Pod) {
			pod.Spec.Containers[0].Resources.Limits = fake.Node("n", fake.Allocatable("example.com/gpu", "1")).Status.Allocatable
		}, nil, "", ""},
		{"MNT-403", "number of pods", func(n *corev1.Node) {
			n.Status.Allocatable = fake.Node("n", fake.Allocatable("pods", "1")).Status.Allocatable
		}, nil, nil,
			"OutOfpods", "Node didn't have enough resource: pods, requested: 1, used: 1, capacity: 1"},
		{"MNT-403", "another system", nil, func(pod *corev1.Pod) { pod.Spec.OS = &corev1.PodOS{Name: corev1.Windows} }, nil, "PodOSNotSupported",
			"Failed to admit pod as the OS field doesn't match node OS"},
		{"MNT-403", "its system", nil, func(pod *corev1.Pod) { pod.Spec.OS = &corev1.PodOS{Name: corev1.Linux} }, nil, "", ""},
		{"MNT-403", "label with another system", nil, nil, []fake.Option{fake.Labels(corev1.LabelOSStable, "windows")}, "PodOSSelectorNodeLabelDoesNotMatch",
			"Failed to admit pod as the `kubernetes.io/os` label doesn't match node label"},
		{"MNT-403", "unsafe sysctl", nil, sysctl("kernel/msgmax"), nil, "SysctlForbidden", `forbidden sysctl: "kernel.msgmax" not allowlisted`},
		{"MNT-403", "safe sysctl", nil, sysctl("net.ipv4.tcp_syncookies"), nil, "", ""},
	} {
		t.Run(tc.name, func(t *testing.T) {
			w := newFixture(t)
			w.changeNode(func(n *corev1.Node) {
				n.Status.Allocatable = fake.Node("n", fake.Allocatable("cpu", "2", "memory", "4Gi", "pods", "3")).Status.Allocatable
			})
			w.place("first", hostPort(80), fake.Requests("cpu", "500m"))
			if tc.node != nil {
				w.changeNode(tc.node)
			}
			w.Mark()
			w.place("p", tc.pod, tc.options...)
			status := w.stored("p").Status
			if tc.reason == "" {
				want(t, tc.rule+": phase", status.Phase, corev1.PodRunning)
				return
			}
			status.StartTime = nil
			want(t, tc.rule+": status", status, corev1.PodStatus{Phase: corev1.PodFailed, Reason: tc.reason, Message: "Pod was rejected: " + tc.message,
				QOSClass: status.QOSClass, ObservedGeneration: 1})
			want(t, tc.rule+": events", w.events(), []string{tc.reason + " default/p: " + tc.message})
		})
	}
}

// A rejected pod holds nothing, keeps its status until it changes, and then ends like every other; one that is deleted is gone at once.
func TestRejected(t *testing.T) {
	w := newFixture(t)
	w.place("p", func(pod *corev1.Pod) {
		selecting("disk", "ssd")(pod)
		hostPort(80)(pod)
		pod.Finalizers = []string{"example.com/keep"}
		addClaim(pod, "data", "c1")
	})
	w.Advance(time.Minute)
	want(t, "MNT-404: conditions", len(w.stored("p").Status.Conditions), 0)
	want(t, "MNT-404: volumes in use", len(w.inUse()), 0)
	w.place("q", hostPort(80))
	want(t, "MNT-404: the port is free", w.phase("q"), corev1.PodRunning)

	changed := w.stored("p").DeepCopy()
	changed.Labels = map[string]string{"a": "b"}
	_, err := w.Store().Pods.Update(changed)
	w.OK(err)
	w.Advance(time.Minute)
	p := w.stored("p")
	want(t, "MNT-404: reason", p.Status.Reason, "NodeAffinity")
	want(t, "MNT-404: Initialized", conditionOf(p, corev1.PodInitialized), "True : ")
	want(t, "MNT-404: Ready", conditionOf(p, corev1.PodReady), "False PodFailed: ")
	want(t, "MNT-408: PodScheduled", conditionOf(p, corev1.PodScheduled), "True : ")
	want(t, "MNT-404: container", p.Status.ContainerStatuses[0].State.Terminated.Reason, "ContainerStatusUnknown")

	r := fake.Pod("r", fake.OnNode(nodeName))
	selecting("disk", "ssd")(r)
	addClaim(r, "data", "c1")
	w.Advance(passPeriod / 2) // so that a pass of the populator comes meanwhile
	w.Create(r)
	w.Advance(rejectionTime - time.Millisecond)
	want(t, "MNT-403: a rejection takes time", w.phase("r"), corev1.PodPending)
	want(t, "MNT-404: no volume is wanted meanwhile", w.node.kubelet.populator.processed[w.stored("r").UID], false)
	w.Advance(time.Millisecond)
	want(t, "MNT-403: then the pod is rejected", w.phase("r"), corev1.PodFailed)
	w.deletePod("r")
	_, err = w.Store().Pods.Get("default/r")
	want(t, "MNT-404: deleted at once", apierrors.IsNotFound(err), true)
}

// The label that a pod selects has just been set, and the watch of the kubelet is late.
func TestLateLabel(t *testing.T) {
	w := newFixture(t)
	node, err := w.Store().Nodes.Get(nodeName)
	w.OK(err)
	labeled := node.DeepCopy()
	labeled.Labels = map[string]string{"disk": "ssd"}
	r := w.node.kubelet.refusalOf(fake.Pod("p", fake.OnNode(nodeName)), node)
	want(t, "MNT-403: a pod that selects nothing", r.refuses(), false)
	pod := fake.Pod("p", fake.OnNode(nodeName))
	selecting("disk", "ssd")(pod)
	r = w.node.kubelet.refusalOf(pod, node)
	want(t, "MNT-403: only the labels refuse", r.byLabels, true)
	_, err = w.Store().Nodes.Update(labeled)
	w.OK(err)
	w.Create(pod)
	w.Advance(time.Second)
	want(t, "MNT-403: phase", w.phase("p"), corev1.PodRunning)
}

// A kubelet that starts again checks its pods again.
func TestAdmissionAfterRestart(t *testing.T) {
	w := newFixture(t)
	w.changeNode(func(n *corev1.Node) { n.Labels = map[string]string{"disk": "ssd"} })
	w.place("p", selecting("disk", "ssd"))
	want(t, "MNT-403: phase", w.phase("p"), corev1.PodRunning)
	w.changeNode(func(n *corev1.Node) { n.Labels = nil })
	want(t, "MNT-403: it runs on", w.phase("p"), corev1.PodRunning)
	w.node.Stop()
	w.node.Start()
	w.Advance(time.Minute)
	want(t, "MNT-404: phase after the restart", w.phase("p"), corev1.PodFailed)
	want(t, "MNT-404: reason", w.stored("p").Status.Reason, "NodeAffinity")
	want(t, "MNT-404: containers", w.node.runtime.runs(w.stored("p").UID), false)
}

func critical(pod *corev1.Pod) { pod.Spec.Priority = new(int32(2_000_001_000)) }

// Pods make room for a critical one: as few as possible, those of the lowest quality of service first.
func TestKubeletPreemption(t *testing.T) {
	for _, tc := range []struct {
		rule, name string
		others     map[string][]string // their requests
		wants      []string            // requests of the critical pod
		stopped    []string
		reason     string // why the critical pod is rejected
	}{
		{"MNT-407", "room", map[string][]string{"a": {"cpu", "500m"}}, []string{"cpu", "1500m"}, nil, ""},
		{"MNT-407", "the nearest request", map[string][]string{"a": {"cpu", "300m"}, "b": {"cpu", "700m"}, "c": {"cpu", "1"}}, []string{"cpu", "600m"}, []string{"b"}, ""},
		{"MNT-407", "two pods", map[string][]string{"a": {"cpu", "1"}, "b": {"cpu", "1"}}, []string{"cpu", "1500m"}, []string{"a", "b"}, ""},
		{"MNT-407", "a pod without requests frees a place", map[string][]string{"a": {"cpu", "1"}, "b": nil, "c": {"cpu", "500m"}, "d": nil}, []string{"cpu", "500m"}, []string{"b"}, ""},
		{"MNT-407", "never room", map[string][]string{"a": {"cpu", "1"}}, []string{"cpu", "3"}, nil, "UnexpectedAdmissionError"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			w := newFixture(t)
			w.changeNode(func(n *corev1.Node) {
				n.Status.Allocatable = fake.Node("n", fake.Allocatable("cpu", "2", "pods", "4")).Status.Allocatable
			})
			for _, name := range []string{"a", "b", "c", "d"} {
				if requests, ok := tc.others[name]; ok {
					w.place(name, nil, fake.Requests(requests...))
				}
			}
			w.place("critical", critical, fake.Requests(tc.wants...))
			w.Advance(time.Minute)
			var stopped []string
			for _, name := range []string{"a", "b", "c", "d"} {
				if _, ok := tc.others[name]; ok && w.phase(name) != corev1.PodRunning {
					stopped = append(stopped, name)
					want(t, tc.rule+": condition", conditionOf(w.stored(name), corev1.DisruptionTarget), "True TerminationByKubelet: "+makesRoom)
				}
			}
			want(t, tc.rule+": stopped", stopped, tc.stopped)
			want(t, tc.rule+": reason", w.stored("critical").Status.Reason, tc.reason)
		})
	}
	p := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "p"}}
	critical(p)
	want(t, "MNT-407: equally critical", preemptable(p, p), false)
}
